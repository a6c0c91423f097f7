/* Finalizers: what a proof still needs after its start, verification, and the end of the job.
 *
 * Every proof is verified when it is finished, so that a wrong one is made again at once and right ones can be kept by
 * the store. Before the proofs of a job leave, all of them are verified together once more, in their order, against the
 * public inputs that the verifier derives: that also covers those that an earlier process left in the store.
 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/log.h"

static fr *inputs_of(const job *j, unsigned k, size_t *n) {
    const circuit_kind *kind = j->circuit.kind;
    *n = kind->public_count(&j->circuit);
    fr *inputs = calloc(*n ? *n : 1, sizeof *inputs);
    if (inputs) kind->public_inputs(j, k, inputs);
    return inputs;
}

static cuzk_status verify_one(const prepared *prep, const resource *key, unsigned k, const groth16_proof *proof,
                              cuzk_error *err) {
    size_t n;
    fr *inputs = inputs_of(&prep->j, k, &n);
    if (!inputs) return cuzk_fail(err, CUZK_MEMORY, "no memory for the public inputs");
    cuzk_status s = groth16_verify(&resource_key(key)->key.vk, proof, inputs, n, err);
    free(inputs);
    return s;
}

/* ---- a whole job ---- */

static cuzk_status verify_together(cuzk_engine *e, const prepared *prep, const resource *key,
                                   const groth16_proof *proofs, unsigned n, cuzk_error *err) {
    size_t n_inputs = 0;
    fr **inputs = calloc(n, sizeof *inputs);
    cuzk_status s = inputs ? CUZK_OK : CUZK_MEMORY;
    for (unsigned k = 0; k < n && !s; k++)
        if (!(inputs[k] = inputs_of(&prep->j, k, &n_inputs))) s = CUZK_MEMORY;
    if (s)
        cuzk_fail(err, s, "no memory for the public inputs");
    else
        s = groth16_verify_batch(&resource_key(key)->key.vk, proofs, (const fr *const *)inputs, n_inputs, n,
                                 e->context->pool, err);
    for (unsigned k = 0; inputs && k < n; k++) free(inputs[k]);
    free(inputs);
    return s;
}

/* Together they are wrong: those that are wrong alone are made again. */
static void find_wrong(cuzk_engine *e, engine_job *j, const prepared *prep, const resource *key,
                       const groth16_proof *proofs, unsigned n) {
    unsigned wrong = 0;
    for (unsigned k = 0; k < n; k++) {
        cuzk_error ignored;
        if (verify_one(prep, key, k, &proofs[k], &ignored) == CUZK_OK) continue;
        wrong++;
        log_error("job %.100s, partition %u: its proof is wrong; it is made again", j->id, k);
        pthread_mutex_lock(&e->lock);
        e->verify_failures++;
        e->retries++;
        if (!j->ending) {
            j->partitions[k].has_proof = j->partitions[k].from_store = false;
            j->partitions[k].state = PARTITION_PENDING;
            j->n_done--;
        }
        pthread_mutex_unlock(&e->lock);
    }
    pthread_mutex_lock(&e->lock);
    j->verifying = false;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    if (wrong) return;
    cuzk_error why;
    cuzk_fail(&why, CUZK_INTERNAL, "the proofs do not verify together, although each does alone");
    jobs_end(e, j, CUZK_JOB_FAILED, &why);
}

/* Under the lock: copies of all proofs when the job has them all and nobody sees to it yet. */
static groth16_proof *all_proofs_locked(engine_job *j, bool *no_memory) {
    *no_memory = false;
    if (j->ending || j->verifying || !j->n_partitions || j->n_done < j->n_partitions) return NULL;
    groth16_proof *proofs = malloc(j->n_partitions * sizeof *proofs);
    *no_memory = !proofs;
    if (!proofs) return NULL;
    for (unsigned k = 0; k < j->n_partitions; k++) proofs[k] = j->partitions[k].proof;
    j->verifying = true;
    return proofs;
}

void finish_job_if_done(cuzk_engine *e, engine_job *j, prepared *prep, const resource *key, const char *lane_name) {
    pthread_mutex_lock(&e->lock);
    bool no_memory;
    groth16_proof *proofs = all_proofs_locked(j, &no_memory);
    unsigned n = j->n_partitions;
    pthread_mutex_unlock(&e->lock);
    cuzk_error err;
    cuzk_status s = CUZK_OK;
    if (no_memory) {
        cuzk_fail(&err, CUZK_MEMORY, "no memory for the proofs");
        jobs_end(e, j, CUZK_JOB_FAILED, &err);
    }
    if (!proofs) return;
    if (n > 1) {
        double start = cpu_monotonic_seconds();
        trace_record(e->events, TRACE_VERIFY_START, j->seq, TRACE_NO_PARTITION, lane_name);
        s = verify_together(e, prep, key, proofs, n, &err);
        trace_record(e->events, TRACE_VERIFIED, j->seq, TRACE_NO_PARTITION, lane_name);
        pthread_mutex_lock(&e->lock);
        j->times.verify += cpu_monotonic_seconds() - start;
        pthread_mutex_unlock(&e->lock);
    }
    if (s == CUZK_FALSE) {
        find_wrong(e, j, prep, key, proofs, n);
    } else if (s) {
        jobs_end(e, j, CUZK_JOB_FAILED, &err);
    } else {
        uint8_t *bytes = malloc((size_t)n * PROOF_BYTES);
        for (unsigned k = 0; bytes && k < n; k++) proof_write(&proofs[k], bytes + (size_t)k * PROOF_BYTES);
        if (bytes) {
            jobs_complete(e, j, bytes, (size_t)n * PROOF_BYTES);
        } else {
            cuzk_fail(&err, CUZK_MEMORY, "no memory for the proofs");
            jobs_end(e, j, CUZK_JOB_FAILED, &err);
        }
    }
    free(proofs);
}

/* ---- one proof ---- */

static void fault(attempt *a, const char *what, bool wrong_proof) {
    cuzk_engine *e = a->engine;
    pthread_mutex_lock(&e->lock);
    if (wrong_proof) e->verify_failures++;
    attempt *chain = device_fault_locked(e, a->device, what, wrong_proof, false);
    trace_record(e->events, TRACE_DEVICE_FAULT, a->job->seq, a->partition, a->lane);
    pthread_mutex_unlock(&e->lock);
    attempts_free(chain);
}

/* Devices that called this partition's witness wrong were wrong themselves. */
static attempt *blame_locked(cuzk_engine *e, uint32_t suspects) {
    attempt *chain = NULL;
    for (size_t i = 0; i < e->n_devices; i++) {
        if (!(suspects >> i & 1)) continue;
        attempt *more = device_fault_locked(e, &e->devices[i], "called a right witness wrong", true, false), *last;
        if (!more) continue;
        for (last = more; last->next;) last = last->next;
        last->next = chain;
        chain = more;
    }
    return chain;
}

/* The proof is right. */
static void keep(attempt *a, const groth16_proof *proof, double verify) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    unsigned k = a->partition;
    attempt *chain = NULL;
    uint8_t bytes[PROOF_BYTES];
    cuzk_error ignored;
    e->st->ops->attempt(e->st, j->seq, k, a->device->id, a->device_seconds + a->finish,
                        &(cuzk_error){.status = CUZK_OK}, &ignored);
    proof_write(proof, bytes);
    if (j->n_partitions > 1) e->st->ops->put_proof(e->st, j->seq, k, bytes, &ignored); /* else it is made again */
    pthread_mutex_lock(&e->lock);
    a->device->proofs++;
    if (a->device->fault_weight) a->device->fault_weight--;
    bool wanted = !a->abandoned;
    if (wanted) {
        partition *p = &j->partitions[k];
        p->current = NULL;
        j->n_active--;
        p->proof = *proof;
        p->has_proof = true;
        p->state = PARTITION_DONE;
        p->device_seconds = a->device_seconds + a->finish;
        j->n_done++;
        j->times.finish += a->finish;
        j->times.verify += verify;
        chain = blame_locked(e, p->suspects);
        p->suspects = 0;
    }
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    attempts_free(chain);
    if (wanted) finish_job_if_done(e, j, a->prep, a->key, "");
    attempt_free(a);
}

static void wrong(attempt *a) {
    cuzk_error why;
    bool own = a->device->b->own_machine;
    cuzk_fail(&why, own ? CUZK_INTERNAL : CUZK_DEVICE, "the finished proof does not verify; it was not returned");
    cuzk_fail_where(&why, "%s", resource_key(a->key)->key.path);
    cuzk_fail_found(&why, "a wrong proof from %s", a->device->id);
    cuzk_fail_hint(&why, "the key may belong to another circuit of the same size, or be damaged: see `cuzk key verify "
                         "--full`; otherwise this program or the device has a fault");
    fault(a, "it returned wrong proofs", true);
    attempt_failed(a, &why, true);
}

static void finish(cuzk_engine *e, attempt *a, lane *l) {
    cuzk_error err;
    groth16_proof proof;
    double start = cpu_monotonic_seconds();
    trace_record(e->events, TRACE_FINISH_START, a->job->seq, a->partition, l->trace_name);
    cuzk_status s = a->device->b->prove_finish(a->pending, &proof, &a->times, &err);
    a->pending = NULL;
    a->finish = cpu_monotonic_seconds() - start;
    trace_record(e->events, TRACE_FINISHED, a->job->seq, a->partition, l->trace_name);
    bool held = a->host.bytes > 0;
    budget_release(&a->host);
    if (held) trace_record(e->events, TRACE_DEALLOC_DONE, a->job->seq, a->partition, l->trace_name);
    pthread_mutex_lock(&e->lock);
    device_memory_give_locked(a);
    engine_changed_locked(e);
    atomic_store(&a->alive_ms, 0);
    device_busy_locked(a->device, -1);
    l->stuck = false;
    bool wanted = !a->abandoned;
    pthread_mutex_unlock(&e->lock);
    if (!wanted) {
        attempt_free(a);
        return;
    }
    if (s) {
        /* Not when it says that the witness is wrong: that may be so (attempts.c asks another). */
        if (!a->device->b->own_machine && (s == CUZK_DEVICE || s == CUZK_MEMORY)) fault(a, err.what, false);
        attempt_failed(a, &err, false);
        return;
    }
    start = cpu_monotonic_seconds();
    trace_record(e->events, TRACE_VERIFY_START, a->job->seq, a->partition, l->trace_name);
    s = verify_one(a->prep, a->key, a->partition, &proof, &err);
    trace_record(e->events, TRACE_VERIFIED, a->job->seq, a->partition, l->trace_name);
    if (s == CUZK_OK)
        keep(a, &proof, cpu_monotonic_seconds() - start);
    else if (s == CUZK_FALSE)
        wrong(a);
    else
        attempt_failed(a, &err, false);
}

static attempt *take_locked(cuzk_engine *e) {
    double now = cpu_monotonic_seconds();
    attempt **best = NULL;
    for (attempt **at = &e->pending; *at; at = &(*at)->next) {
        if (best && (*best)->abandoned) break; /* those give bytes back at once */
        if (!best || (*at)->abandoned || schedule_before(e, (*at)->job, (*best)->job, now)) best = at;
    }
    if (!best) return NULL;
    attempt *a = *best;
    *best = a->next;
    a->next = NULL;
    e->n_pending--;
    return a;
}

void *finish_lane(void *arg) {
    lane *l = arg;
    cuzk_engine *e = l->engine;
    pthread_mutex_lock(&e->lock);
    for (attempt *a; (a = take_locked(e)) || !e->stopping;) {
        if (!a) {
            engine_wait_locked(e, -1);
            continue;
        }
        if (a->abandoned) { /* at a stop all are */
            pthread_mutex_unlock(&e->lock);
            attempt_drop(a, l);
            pthread_mutex_lock(&e->lock);
            continue;
        }
        device_busy_locked(a->device, 1);
        lane_busy_locked(l, a->job, a->partition);
        atomic_store(&a->alive_ms, (long long)(cpu_monotonic_seconds() * 1000));
        pthread_mutex_unlock(&e->lock);
        finish(e, a, l);
        pthread_mutex_lock(&e->lock);
        lane_idle_locked(l);
    }
    l->left = true;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
