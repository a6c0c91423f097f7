/* What a SubmitProofRequest (or a ProveRequest around one) means as a submission to the engine. */
#ifndef CUZK_RPC_SUBMISSION_H
#define CUZK_RPC_SUBMISSION_H

#include "cuzk/engine.h"

typedef struct rpc_submission {
    cuzk_submission job; /* bytes are views of the message, or owned here */
    bool cancel_on_disconnect;
    char request_id[256];
    char *json; /* the request made from the message's fields; NULL when the message has one */
    cuzk_bytes *vanilla;
} rpc_submission;

/* prove: the message is a ProveRequest. message: borrowed until rpc_submission_free. Bounded work and memory whatever
 * the bytes. USAGE (no such kind, nothing submitted), MALFORMED. Free with rpc_submission_free, also after a failure.
 */
cuzk_status rpc_submission_read(rpc_submission *out, const void *message, size_t n, bool prove, cuzk_error *err);
void rpc_submission_free(rpc_submission *s);

/* A circuit as the engine names it ("porep-32gib") for the older daemon's name of it ("porep-32g"); other names are
 * copied. And back: NULL when the older daemon had none. */
void rpc_circuit_name(char out[64], const char *id);
const char *rpc_circuit_old_name(const char *circuit);

#endif
