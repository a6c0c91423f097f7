/* Awaiting a job: with a thread that waits, or without. Whoever waits keeps a superseded job alive. */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "format/bellperson.h"

uint64_t engine_find(cuzk_engine *e, const char *job_id) {
    pthread_mutex_lock(&e->lock);
    const engine_job *j = jobs_find_locked(e, job_id);
    uint64_t seq = j ? j->seq : 0;
    pthread_mutex_unlock(&e->lock);
    return seq;
}

uint64_t engine_wait_begin(cuzk_engine *e, const char *job_id) {
    pthread_mutex_lock(&e->lock);
    engine_job *j = jobs_find_locked(e, job_id);
    if (j) j->waiters++;
    uint64_t seq = j ? j->seq : 0;
    pthread_mutex_unlock(&e->lock);
    return seq;
}

/* When the last waiter of a superseded job goes, the job goes; and so when the last one wishes it. */
static void wait_over(cuzk_engine *e, engine_job *j, bool wishes_end) {
    cuzk_error why;
    pthread_mutex_lock(&e->lock);
    j->waiters--;
    bool superseded = j->superseded;
    bool drop = (superseded || wishes_end) && !j->waiters && !jobs_ended(j) && !j->ending && !e->stopping;
    if (drop && superseded) e->superseded++;
    pthread_mutex_unlock(&e->lock);
    if (!drop) return;
    cuzk_fail(&why, CUZK_CANCELLED,
              superseded ? "a newer submission of the same id took its place, and nobody waits for it"
                         : "its client went away and wanted it to end then");
    jobs_end(e, j, CUZK_JOB_CANCELLED, &why);
}

void engine_wait_end(cuzk_engine *e, uint64_t seq, bool wishes_end) {
    pthread_mutex_lock(&e->lock);
    engine_job *j = seq ? jobs_find_seq_locked(e, seq) : NULL;
    if (j) j->uses++;
    pthread_mutex_unlock(&e->lock);
    if (!j) return;
    wait_over(e, j, wishes_end);
    jobs_unuse(e, j);
}

/* A store keeps no checksums. Bytes that were damaged there are hardly ever points of the right groups still. */
static cuzk_status check_stored(const char *job_id, unsigned partitions, const buffer *b, cuzk_error *err) {
    cuzk_error why;
    groth16_proof proof;
    bool sound = b->bytes > 0 && b->bytes == (size_t)partitions * PROOF_BYTES;
    for (unsigned k = 0; sound && k < partitions; k++)
        sound = proof_read(&proof, (const uint8_t *)b->data + (size_t)k * PROOF_BYTES, &why) == CUZK_OK;
    if (sound) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "the job's proof is damaged in the store");
    cuzk_fail_where(err, "job %.150s", job_id);
    return cuzk_fail_hint(err, "see whether the disk fails; submit the job under another id to prove it again");
}

/* The proofs, from the store or (while it could not take them) from here. The job is used. */
static cuzk_status proofs_of(cuzk_engine *e, engine_job *j, cuzk_job_result *out, cuzk_error *err) {
    pthread_mutex_lock(&e->lock);
    unsigned partitions = j->n_partitions;
    bool here = j->proofs != NULL;
    if (here) {
        out->proof = malloc(j->proof_bytes);
        if (out->proof) memcpy(out->proof, j->proofs, out->proof_bytes = j->proof_bytes);
    }
    pthread_mutex_unlock(&e->lock);
    if (here) return out->proof ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the proof");
    buffer b = {0};
    cuzk_status s = e->st->ops->result(e->st, j->seq, &b, err);
    if (!s) s = check_stored(j->id, partitions, &b, err);
    if (!s && !(out->proof = malloc(b.bytes))) s = cuzk_fail(err, CUZK_MEMORY, "no memory for the proof");
    if (!s) memcpy(out->proof, b.data, out->proof_bytes = b.bytes);
    buffer_free(&b);
    return s;
}

/* Waits for a job that is used by the caller. */
static cuzk_status await_job(cuzk_engine *e, engine_job *j, double timeout, cuzk_job_result *out, cuzk_error *err) {
    double until = timeout < 0 ? -1 : cpu_monotonic_seconds() + timeout;
    pthread_mutex_lock(&e->lock);
    if (timeout != 0) engine_wait_end_locked(e, j, until);
    out->state = j->state;
    if (j->error) out->error = *j->error;
    out->attempts = j->attempts;
    out->times = j->times;
    pthread_mutex_unlock(&e->lock);
    return out->state == CUZK_JOB_COMPLETED ? proofs_of(e, j, out, err) : CUZK_OK;
}

static cuzk_status await_found(cuzk_engine *e, const char *id, uint64_t seq, double timeout, cuzk_job_result *out,
                               cuzk_error *err) {
    bool waits = timeout != 0; /* who only looks keeps nothing alive */
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&e->lock);
    engine_job *j = id ? jobs_find_locked(e, id) : jobs_find_seq_locked(e, seq);
    if (j) {
        e->calls++;
        j->uses++;
        j->waiters += waits;
    }
    pthread_mutex_unlock(&e->lock);
    if (!j) return CUZK_OK;
    cuzk_status s = await_job(e, j, timeout, out, err);
    if (waits) wait_over(e, j, false);
    pthread_mutex_lock(&e->lock);
    j->uses--;
    engine_call_over_locked(e);
    pthread_mutex_unlock(&e->lock);
    return s;
}

cuzk_status cuzk_engine_await(cuzk_engine *e, const char *job_id, double timeout_seconds, cuzk_job_result *out,
                              cuzk_error *err) {
    return await_found(e, job_id, 0, timeout_seconds, out, err);
}

cuzk_status engine_await_seq(cuzk_engine *e, uint64_t seq, double timeout_seconds, cuzk_job_result *out,
                             cuzk_error *err) {
    return await_found(e, NULL, seq, timeout_seconds, out, err);
}

void cuzk_job_result_free(cuzk_job_result *result) {
    free(result->proof);
    result->proof = NULL;
    result->proof_bytes = 0;
}
