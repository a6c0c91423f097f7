/* Sockets and TLS for server and client: addresses, listening, connecting, and a link that reads and writes either way.
 * Everything is non-blocking. A link belongs to one thread.
 */
#ifndef CUZK_RPC_NET_H
#define CUZK_RPC_NET_H

#include <openssl/types.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "cuzk/error.h"

typedef struct net_address {
    bool is_unix, loopback; /* unix sockets count as loopback */
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_storage room;
    } socket;
    socklen_t socket_bytes;
    char text[280]; /* "unix:///run/cuzk/cuzk.sock", "127.0.0.1:9820" */
    char host[256]; /* of TCP, without brackets */
} net_address;

/* "unix:///PATH", "unix:PATH", "HOST:PORT", "[V6]:PORT". names: host names are looked up (clients); otherwise the host
 * is an address. USAGE; UNREACHABLE for a name that is not known. */
cuzk_status net_parse(net_address *out, const char *text, bool names, cuzk_error *err);

/* Of IPv4 or IPv6. */
bool net_is_loopback(const struct sockaddr *a);

/* A listening socket. Of a unix socket: the folder is made, a dead socket is removed (a living one is IO), mode and
 * owner ("user", "user:group", ":group", or "") are set before it can be connected to. a->text gets the port really
 * taken. */
cuzk_status net_listen(int *fd, net_address *a, unsigned mode, const char *owner, cuzk_error *err);
/* Connected within timeout seconds, or UNREACHABLE. */
cuzk_status net_connect(int *fd, const net_address *a, double timeout, cuzk_error *err);

/* PEM files. MALFORMED names the file. Returned; free with SSL_CTX_free. ca NULL: no client certificates (server), or
 * the system's authorities (client). */
cuzk_status net_tls_server(SSL_CTX **out, const char *cert, const char *key, const char *client_ca, cuzk_error *err);
cuzk_status net_tls_client(SSL_CTX **out, const char *ca, cuzk_error *err);
/* The client's own certificate. */
cuzk_status net_tls_own(SSL_CTX *ctx, const char *cert, const char *key, cuzk_error *err);

typedef struct net_link {
    int fd;
    SSL *ssl;          /* NULL: plain */
    bool wants_output; /* nothing goes on before the socket takes more */
    char why[160];     /* of NET_FAILED, for people */
} net_link;

enum { NET_AGAIN = -1, NET_FAILED = -2 };

/* Takes fd. ctx NULL: plain. host: a client's, checked against the certificate; NULL: the server's side. */
cuzk_status net_link_open(net_link *out, int fd, SSL_CTX *ctx, const char *host, cuzk_error *err);
void net_link_close(net_link *l);
/* Bytes moved, 0 at the end of the input, or one of the above. */
long net_link_read(net_link *l, void *to, size_t n);
long net_link_write(net_link *l, const void *from, size_t n);

#endif
