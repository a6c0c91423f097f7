/* See engine/store_case.h. */
#include "engine/store_case.h"

#include <stdlib.h>

#define INNER(s) (((store_case *)(s))->inner)

static cuzk_status failing(store *s, cuzk_error *err) {
    cuzk_status status = (cuzk_status)atomic_load(&((store_case *)s)->failing);
    return status ? cuzk_fail(err, status, "the store fails as it was told") : CUZK_OK;
}

static cuzk_status put(store *s, const store_job *job, const cuzk_submission *payload, cuzk_error *err) {
    return failing(s, err) ? err->status : INNER(s)->ops->put(INNER(s), job, payload, err);
}

static cuzk_status payload_parts(store *s, uint64_t seq, size_t *parts, cuzk_error *err) {
    return INNER(s)->ops->payload_parts(INNER(s), seq, parts, err);
}

static cuzk_status payload(store *s, uint64_t seq, size_t part, buffer *out, cuzk_error *err) {
    return INNER(s)->ops->payload(INNER(s), seq, part, out, err);
}

static cuzk_status update(store *s, const store_job *job, cuzk_error *err) {
    if (job->state == CUZK_JOB_RUNNING) atomic_fetch_add(&((store_case *)s)->runs, 1);
    return failing(s, err) ? err->status : INNER(s)->ops->update(INNER(s), job, err);
}

static cuzk_status put_proof(store *s, uint64_t seq, unsigned k, const uint8_t proof[192], cuzk_error *err) {
    atomic_fetch_add(&((store_case *)s)->proofs, 1);
    return failing(s, err) ? err->status : INNER(s)->ops->put_proof(INNER(s), seq, k, proof, err);
}

static cuzk_status complete(store *s, const store_job *job, const uint8_t *proofs, size_t bytes, cuzk_error *err) {
    atomic_fetch_add(&((store_case *)s)->completes, 1);
    return failing(s, err) ? err->status : INNER(s)->ops->complete(INNER(s), job, proofs, bytes, err);
}

static cuzk_status proofs(store *s, uint64_t seq, void (*each)(void *user, unsigned partition, const uint8_t *proof),
                          void *user, cuzk_error *err) {
    return INNER(s)->ops->proofs(INNER(s), seq, each, user, err);
}

static cuzk_status result(store *s, uint64_t seq, buffer *out, cuzk_error *err) {
    return INNER(s)->ops->result(INNER(s), seq, out, err);
}

static cuzk_status attempt(store *s, uint64_t seq, unsigned k, const char *device, double seconds,
                           const cuzk_error *outcome, cuzk_error *err) {
    atomic_fetch_add(&((store_case *)s)->attempts, 1);
    return INNER(s)->ops->attempt(INNER(s), seq, k, device, seconds, outcome, err);
}

static cuzk_status each_job(store *s, void (*each)(void *user, const store_job *job), void *user, cuzk_error *err) {
    return INNER(s)->ops->each(INNER(s), each, user, err);
}

static cuzk_status purge(store *s, double before, uint64_t *gone, cuzk_error *err) {
    return INNER(s)->ops->purge(INNER(s), before, gone, err);
}

static cuzk_status probe(store *s, cuzk_error *err) {
    return failing(s, err);
}

static void stay_open(store *s) {
    (void)s;
}

void store_case_open(store_case *s) {
    static const store_ops ops = {
        .put = put,
        .payload_parts = payload_parts,
        .payload = payload,
        .update = update,
        .put_proof = put_proof,
        .complete = complete,
        .proofs = proofs,
        .result = result,
        .attempt = attempt,
        .each = each_job,
        .purge = purge,
        .probe = probe,
        .close = stay_open,
    };
    cuzk_error err;
    *s = (store_case){.base.ops = &ops, .inner = store_memory_create(&err)};
    if (!s->inner) abort();
}

void store_case_close(store_case *s) {
    s->inner->ops->close(s->inner);
}
