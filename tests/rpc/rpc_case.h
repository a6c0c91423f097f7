/* A server over an engine in this process for tests: the toy kind under the names of the real ones, since only those
 * can be asked for over the wire. */
#ifndef CUZK_TESTS_RPC_RPC_CASE_H
#define CUZK_TESTS_RPC_RPC_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"
#include "cuzk/v1/proving.pb-c.h"
#include "engine/engine_case.h"
#include "ref/groth16_case.h"
#include "rpc/client.h"
#include "rpc/pb.h"
#include "rpc/server.h"

#define PROVING "cuzk.v1.ProvingEngine/"
#define INSPECTION "cuzk.v1.Inspection/"

enum { POREP = 1, SNAP, WINDOW, WINNING };

static circuit_kind rpc_case_kinds[4];

typedef struct rpc_case {
    char folder[256], socket[300];
    cuzk_engine *engine;
    rpc_server *server;
} rpc_case;

static inline void rpc_case_fault(const char *what, const cuzk_error *err) {
    fail_msg("%s: %s (%s) expected %s found %s", what, err->what, err->where, err->expected, err->found);
}

/* o may be NULL. A unix socket is added to what it listens on. */
static inline void rpc_case_start(rpc_case *c, uint64_t request_bytes, const rpc_options *o) {
    static const char *const names[] = {"porep", "snap", "window-post", "winning-post"};
    const circuit_kind *kinds[4];
    const char *listen[RPC_MAX_LISTEN];
    cuzk_error err;
    rpc_options options = {0};
    if (o) options = *o;
    for (int i = 0; i < 4; i++) {
        rpc_case_kinds[i] = toy_kind;
        rpc_case_kinds[i].name = names[i];
        kinds[i] = &rpc_case_kinds[i];
    }
    case_folder_make(c->folder);
    snprintf(c->socket, sizeof c->socket, "unix://%s/s", c->folder);
    cuzk_engine_options e = engine_case_options();
    if (request_bytes) e.memory_bytes += e.request_bytes = request_bytes;
    engine_setup setup = {.kinds = kinds, .n_kinds = 4};
    if (engine_start(&c->engine, &e, &setup, &err)) rpc_case_fault("engine", &err);
    listen[0] = c->socket;
    for (size_t i = 0; i < options.n_listen; i++) listen[i + 1] = options.listen[i];
    options.listen = listen;
    options.n_listen++;
    if (!options.request_bytes) options.request_bytes = e.request_bytes;
    if (rpc_server_start(&c->server, c->engine, &options, &err)) rpc_case_fault("server", &err);
}

static inline void rpc_case_stop(rpc_case *c) {
    rpc_server_stop(c->server, 5);
    cuzk_engine_stop(c->engine, 0);
    case_folder_remove(c->folder);
}

static inline rpc_client *rpc_case_client(const rpc_case *c) {
    cuzk_error err;
    rpc_client *client;
    const rpc_client_options o = {.address = c->socket};
    if (rpc_client_open(&client, &o, &err)) rpc_case_fault("client", &err);
    return client;
}

/* A SubmitProofRequest with this request of the toy kind. Returned; free with free(). */
static inline uint8_t *rpc_case_job(int kind, const char *id, const char *request, size_t *n) {
    Cuzk__V1__SubmitProofRequest q = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    q.proof_kind = (Cuzk__V1__ProofKind)kind;
    q.request_id = (char *)(uintptr_t)id;
    q.request_json = (ProtobufCBinaryData){strlen(request), (uint8_t *)(uintptr_t)request};
    if (kind == POREP) q.vanilla_proof = (ProtobufCBinaryData){1, (uint8_t *)(uintptr_t) "x"};
    *n = cuzk__v1__submit_proof_request__get_packed_size(&q);
    uint8_t *out = malloc(*n);
    cuzk__v1__submit_proof_request__pack(&q, out);
    return out;
}

static inline cuzk_status rpc_case_submit(rpc_client *c, int kind, const char *id, const char *request, bool *joined,
                                          cuzk_error *err) {
    size_t n, reply_n;
    uint8_t *message = rpc_case_job(kind, id, request, &n), *reply;
    cuzk_status s = rpc_client_call(c, PROVING "SubmitProof", &(cuzk_bytes){message, n}, 1, 0, &reply, &reply_n, err);
    free(message);
    if (s) return s;
    Cuzk__V1__SubmitProofResponse *r = cuzk__v1__submit_proof_response__unpack(NULL, reply_n, reply);
    assert_non_null(r);
    if (id[0]) assert_string_equal(r->job_id, id);
    if (joined) *joined = r->joined;
    cuzk__v1__submit_proof_response__free_unpacked(r, NULL);
    free(reply);
    return s;
}

/* Free with cuzk__v1__await_proof_response__free_unpacked. */
static inline Cuzk__V1__AwaitProofResponse *rpc_case_await(rpc_client *c, const char *id, uint64_t timeout_ms) {
    cuzk_error err;
    Cuzk__V1__AwaitProofRequest q = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    q.job_id = (char *)(uintptr_t)id;
    q.timeout_ms = timeout_ms;
    uint8_t message[512], *reply;
    size_t n = cuzk__v1__await_proof_request__pack(&q, message), reply_n;
    if (rpc_client_call(c, PROVING "AwaitProof", &(cuzk_bytes){message, n}, 1, 0, &reply, &reply_n, &err))
        rpc_case_fault("await", &err);
    Cuzk__V1__AwaitProofResponse *r = cuzk__v1__await_proof_response__unpack(NULL, reply_n, reply);
    free(reply);
    assert_non_null(r);
    assert_string_equal(r->job_id, id);
    return r;
}

/* A ProveRequest's bytes. Returned; free with free(). */
static inline uint8_t *rpc_case_prove_message(int kind, const char *id, const char *request, bool cancel, size_t *n) {
    size_t inner;
    uint8_t *submit = rpc_case_job(kind, id, request, &inner), head[16], tail[4];
    size_t t = cancel ? pb_put_varint_field(tail, 101, 1) : 0, h = pb_put_bytes_head(head, 1, inner + t);
    uint8_t *out = malloc(h + inner + t);
    memcpy(out, head, h);
    memcpy(out + h, submit, inner);
    memcpy(out + h + inner, tail, t);
    *n = h + inner + t;
    free(submit);
    return out;
}

/* Free with cuzk__v1__prove_response__free_unpacked. */
static inline Cuzk__V1__ProveResponse *rpc_case_prove(rpc_client *c, int kind, const char *id, const char *request) {
    cuzk_error err;
    size_t n, reply_n;
    uint8_t *message = rpc_case_prove_message(kind, id, request, false, &n), *reply;
    if (rpc_client_call(c, PROVING "Prove", &(cuzk_bytes){message, n}, 1, 0, &reply, &reply_n, &err))
        rpc_case_fault("prove", &err);
    free(message);
    Cuzk__V1__ProveResponse *r = cuzk__v1__prove_response__unpack(NULL, reply_n, reply);
    free(reply);
    assert_non_null(r);
    assert_non_null(r->result);
    return r;
}

static inline bool rpc_case_right_of(const Cuzk__V1__AwaitProofResponse *r, uint64_t bytes, unsigned partitions,
                                     uint64_t start) {
    return r->status == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED && r->proof.len == 192u * partitions &&
           toy_verify(&toy_kind, bytes, partitions, start, r->proof.data, r->proof.len);
}

/* Of the 1 KiB circuit. */
static inline bool rpc_case_right(const Cuzk__V1__AwaitProofResponse *r, unsigned partitions, uint64_t start) {
    return rpc_case_right_of(r, 1024, partitions, start);
}

#endif
