/* The gRPC server: cuzk.v1.ProvingEngine, cuzk.v1.Inspection and grpc.health.v1.Health over unix sockets and TCP.
 *
 * One thread drives every connection (HTTP/2 by nghttp2, TLS by OpenSSL), a few more call the engine, one watches the
 * jobs that are awaited; an awaiting call holds no thread. A message is read only after the engine gave room for it:
 * its size is known from its first five bytes, and what was announced is received into one mapping of that size.
 * Senders that wait for room are held back by HTTP/2's flow control. What the services answer: docs/grpc.md.
 */
#ifndef CUZK_RPC_SERVER_H
#define CUZK_RPC_SERVER_H

#include "cuzk/engine.h"

#define RPC_DEFAULT_ADDRESS "unix:///run/cuzk/cuzk.sock"
#define RPC_MAX_LISTEN 8

typedef struct rpc_server rpc_server;

typedef struct rpc_options {
    /* "unix:///run/cuzk/cuzk.sock", "127.0.0.1:9820", "[::1]:9820", "0.0.0.0:9820"; port 0: any free one. */
    const char *const *listen;
    size_t n_listen;          /* at most RPC_MAX_LISTEN; 0: RPC_DEFAULT_ADDRESS */
    unsigned socket_mode;     /* of unix sockets; 0: 0660 */
    const char *socket_owner; /* of unix sockets: "user", "user:group", ":group"; NULL or "": this process's */
    /* PEM files, for TCP. Certificate and key: both or none. With a client CA, only clients with a certificate of it.
     */
    const char *tls_cert, *tls_key, *tls_client_ca;
    const char *token;          /* wanted on TCP as metadata "authorization: Bearer TOKEN"; NULL or "": none */
    bool allow_plain;           /* TCP without TLS on an address that is not loopback */
    uint64_t max_message_bytes; /* 0: 256 MiB */
    uint64_t request_bytes;     /* the engine's request_bytes; 0: 512 MiB */
    double request_timeout;     /* seconds that a message may take to arrive once there is room for it; 0: 120 */
    unsigned max_calls;         /* open at once; 0: 1024 */
    unsigned max_connections;   /* 0: 256 */
} rpc_options;

/* Returned; free with rpc_server_stop, before the engine stops. Texts are copied. USAGE: not an address, or plain TCP
 * beyond loopback without allow_plain. IO: it cannot be listened on (a living daemon's socket, a port in use, rights).
 * MALFORMED: a certificate or key that cannot be read. */
cuzk_status rpc_server_start(rpc_server **out, cuzk_engine *engine, const rpc_options *options, cuzk_error *err);
/* Reads certificate, key and client CA anew and takes the options' token; all else stays as it was. Connections that
 * are there go on; new ones and further calls find the new ones. Whether there is TLS stays, too: USAGE when that would
 * change. After a failure everything is as before. MALFORMED as above. */
cuzk_status rpc_server_renew(rpc_server *s, const rpc_options *options, cuzk_error *err);
/* Health says NOT_SERVING from now on; calls go on, submissions are the engine's to refuse. For SIGTERM, with
 * engine_drain. */
void rpc_server_drain(rpc_server *s);
/* Takes no new connections and calls, waits at most grace seconds for calls to end, ends the rest with UNAVAILABLE,
 * joins all threads, removes the unix sockets. Accepts NULL. */
void rpc_server_stop(rpc_server *s, double grace);
/* The i-th address as a client names it ("unix:///…", "127.0.0.1:9820" with the port really taken); NULL: no such.
 * Valid until stop. */
const char *rpc_server_address(const rpc_server *s, size_t i);

#endif
