/* A client of the daemon: one connection, one call at a time, blocking. Not thread-safe. */
#ifndef CUZK_RPC_CLIENT_H
#define CUZK_RPC_CLIENT_H

#include <stdatomic.h>
#include "cuzk/engine.h"

typedef struct rpc_client rpc_client;

typedef struct rpc_client_options {
    const char *address;            /* NULL: $CUZK_ADDR, else the daemon's default */
    const char *token;              /* NULL: none */
    const char *tls_ca;             /* TLS with this authority (PEM), or "system" for the system's; NULL: plain */
    const char *tls_cert, *tls_key; /* the client's own, if the daemon wants them; both or none */
    double connect_timeout;         /* seconds; 0: 10 */
    const atomic_int *cancel;       /* ends a call when not 0; may be NULL */
} rpc_client_options;

/* Connects. Returned; free with rpc_client_close. USAGE (not an address), UNREACHABLE, MALFORMED (a TLS file). */
cuzk_status rpc_client_open(rpc_client **out, const rpc_client_options *options, cuzk_error *err);
void rpc_client_close(rpc_client *c); /* accepts NULL */
const char *rpc_client_address(const rpc_client *c);

/* One unary call. method: "cuzk.v1.ProvingEngine/Prove". The message is the parts one after the other, borrowed until
 * return. timeout in seconds, 0: none. *reply is malloc'd, at least one byte. UNREACHABLE when the connection ends
 * before the answer, CANCELLED, or what the daemon answered. */
cuzk_status rpc_client_call(rpc_client *c, const char *method, const cuzk_bytes *parts, size_t n_parts, double timeout,
                            uint8_t **reply, size_t *reply_n, cuzk_error *err);

#endif
