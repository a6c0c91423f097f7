/* HTTP beside gRPC: the live page, status, metrics, health, events and traces. Read-only; over libmicrohttpd.
 *
 * GET and HEAD of / (page), /status (JSON), /metrics (Prometheus text), /healthz (200, or 503 and why), /events
 * (server-sent events), /trace and /trace?job=ID (Chrome trace JSON); everything else is refused. Connections, header
 * sizes and event streams are bounded. With a token, all but /healthz want "Authorization: Bearer TOKEN", or a cookie
 * that the page gets by being opened as /?token=TOKEN. What each answers: docs/instruments.md.
 */
#ifndef CUZK_HTTP_SERVER_H
#define CUZK_HTTP_SERVER_H

#include "cuzk/engine.h"

typedef struct http_server http_server;

typedef struct http_options {
    const char *listen; /* "127.0.0.1:9821", "[::1]:9821", "0.0.0.0:9821"; port 0: any free one */
    const char *token;  /* NULL or "": none */
} http_options;

/* Returned; free with http_server_stop, before the engine stops. Texts are copied. USAGE: not an address. IO: it cannot
 * be listened on (in use, not allowed). */
cuzk_status http_server_start(http_server **out, cuzk_engine *engine, const http_options *options, cuzk_error *err);
/* Whether it can be a token: USAGE. NULL and "" can. */
cuzk_status http_token_check(const char *token, cuzk_error *err);
/* The token from now on; NULL or "": none. USAGE: it cannot be one, and the old one stays. */
cuzk_status http_server_renew(http_server *s, const char *token, cuzk_error *err);
/* Ends event streams, waits for answers being made. Accepts NULL. */
void http_server_stop(http_server *s);
/* "127.0.0.1:9821", with the port really taken. Valid until stop. */
const char *http_server_address(const http_server *s);

#endif
