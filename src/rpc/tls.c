/* TLS contexts and links. TLS 1.2 or later with HTTP/2 by ALPN, as gRPC wants it. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rpc/net.h"

static const unsigned char h2[] = {2, 'h', '2'};

static cuzk_status tls_fail(cuzk_error *err, cuzk_status s, const char *what, const char *file) {
    char text[160] = "";
    unsigned long code = ERR_peek_error(); /* the first is the cause */
    if (code) ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    cuzk_fail(err, s, "%s", what);
    if (file) cuzk_fail_where(err, "%s", file);
    return cuzk_fail_found(err, "%s", text);
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in, unsigned in_n,
                     void *unused) {
    (void)ssl, (void)unused;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_n, h2, sizeof h2, in, in_n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *new_context(const SSL_METHOD *method) {
    SSL_CTX *c = SSL_CTX_new(method);
    if (!c) return NULL;
    (void)SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    (void)SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    return c;
}

cuzk_status net_tls_own(SSL_CTX *c, const char *cert, const char *key, cuzk_error *err) {
    if (SSL_CTX_use_certificate_chain_file(c, cert) != 1)
        return tls_fail(err, CUZK_MALFORMED, "the TLS certificate cannot be read", cert);
    if (SSL_CTX_use_PrivateKey_file(c, key, SSL_FILETYPE_PEM) != 1)
        return tls_fail(err, CUZK_MALFORMED, "the TLS key cannot be read, or is not the certificate's", key);
    return CUZK_OK;
}

cuzk_status net_tls_server(SSL_CTX **out, const char *cert, const char *key, const char *client_ca, cuzk_error *err) {
    SSL_CTX *c = new_context(TLS_server_method());
    if (!c) return tls_fail(err, CUZK_INTERNAL, "TLS cannot be set up", NULL);
    cuzk_status s = net_tls_own(c, cert, key, err);
    if (!s && client_ca && SSL_CTX_load_verify_locations(c, client_ca, NULL) != 1) {
        s = tls_fail(err, CUZK_MALFORMED, "the clients' certificate authority cannot be read", client_ca);
    }
    if (s) {
        SSL_CTX_free(c);
        return s;
    }
    if (client_ca) {
        SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(client_ca));
        SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    (void)SSL_CTX_set_session_id_context(c, (const unsigned char *)"cuzk", 4);
    SSL_CTX_set_alpn_select_cb(c, choose_h2, NULL);
    *out = c;
    return CUZK_OK;
}

cuzk_status net_tls_client(SSL_CTX **out, const char *ca, cuzk_error *err) {
    SSL_CTX *c = new_context(TLS_client_method());
    if (!c) return tls_fail(err, CUZK_INTERNAL, "TLS cannot be set up", NULL);
    int ok = ca ? SSL_CTX_load_verify_locations(c, ca, NULL) : SSL_CTX_set_default_verify_paths(c);
    if (ok != 1 || SSL_CTX_set_alpn_protos(c, h2, sizeof h2) != 0) {
        SSL_CTX_free(c);
        return tls_fail(err, CUZK_MALFORMED, "the certificate authority cannot be read", ca);
    }
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    *out = c;
    return CUZK_OK;
}

/* ---- links ---- */

static bool set_host(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *p = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1) return true; /* an address: no SNI */
    ERR_clear_error();
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

cuzk_status net_link_open(net_link *out, int fd, SSL_CTX *ctx, const char *host, cuzk_error *err) {
    *out = (net_link){.fd = fd};
    if (!ctx) return CUZK_OK;
    out->ssl = SSL_new(ctx);
    if (!out->ssl || SSL_set_fd(out->ssl, fd) != 1 || (host && !set_host(out->ssl, host))) {
        net_link_close(out);
        return tls_fail(err, CUZK_INTERNAL, "TLS cannot be set up", NULL);
    }
    if (host)
        SSL_set_connect_state(out->ssl);
    else
        SSL_set_accept_state(out->ssl);
    return CUZK_OK;
}

void net_link_close(net_link *l) {
    if (l->ssl) {
        (void)SSL_shutdown(l->ssl); /* says that this is the end; the answer is not waited for */
        ERR_clear_error();
        SSL_free(l->ssl);
    }
    if (l->fd >= 0) close(l->fd);
    *l = (net_link){.fd = -1};
}

static long failed(net_link *l, const char *text) {
    snprintf(l->why, sizeof l->why, "%s", text);
    return NET_FAILED;
}

/* What an SSL call that moved nothing means. */
static long tls_outcome(net_link *l, int rc) {
    int number = errno;
    long verified;
    switch (SSL_get_error(l->ssl, rc)) {
    case SSL_ERROR_WANT_READ: return NET_AGAIN;
    case SSL_ERROR_WANT_WRITE: l->wants_output = true; return NET_AGAIN;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL: return failed(l, number ? strerror(number) : "the connection ended in the middle");
    default: break;
    }
    verified = SSL_get_verify_result(l->ssl);
    if (verified != X509_V_OK) {
        snprintf(l->why, sizeof l->why, "certificate: %s", X509_verify_cert_error_string(verified));
    } else {
        const char *reason = ERR_reason_error_string(ERR_peek_error());
        snprintf(l->why, sizeof l->why, "TLS: %s", reason ? reason : "failed");
    }
    ERR_clear_error();
    return NET_FAILED;
}

long net_link_read(net_link *l, void *to, size_t n) {
    l->wants_output = false;
    if (l->ssl) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_read(l->ssl, to, n > 1 << 30 ? 1 << 30 : (int)n);
        return rc > 0 ? rc : tls_outcome(l, rc);
    }
    ssize_t rc = recv(l->fd, to, n, 0);
    if (rc >= 0) return rc;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? NET_AGAIN : failed(l, strerror(errno));
}

long net_link_write(net_link *l, const void *from, size_t n) {
    l->wants_output = false;
    if (l->ssl) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_write(l->ssl, from, n > 1 << 30 ? 1 << 30 : (int)n);
        return rc > 0 ? rc : tls_outcome(l, rc);
    }
    ssize_t rc = send(l->fd, from, n, MSG_NOSIGNAL);
    if (rc >= 0) return rc;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return failed(l, strerror(errno));
    l->wants_output = true;
    return NET_AGAIN;
}
