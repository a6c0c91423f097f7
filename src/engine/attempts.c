/* Attempts: one try of one partition each, from picking to its proof or its failure. */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/log.h"

attempt *attempt_create(cuzk_engine *e, engine_job *j, unsigned k, device_class cls) {
    attempt *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    partition *p = &j->partitions[k];
    a->engine = e;
    a->job = j;
    a->partition = k;
    a->prep = prepared_use(j->prep);
    a->cls = cls;
    a->critical = schedule_is_critical(j);
    a->excluded = p->excluded;
    j->uses++;
    j->n_active++;
    p->current = a;
    return a;
}

void attempt_free(attempt *a) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    uint64_t seq = j->seq;
    bool held = a->host.bytes > 0;
    assert(!a->pending);
    witness_free(&a->w);
    pthread_mutex_lock(&e->lock);
    device_memory_give_locked(a);
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    budget_release(&a->host);
    resources_release(a->key);
    prepared_drop(a->prep);
    if (held) trace_record(e->events, TRACE_DEALLOC_DONE, seq, a->partition, "");
    free(a);
    jobs_unuse(e, j);
}

void attempts_free(attempt *chain) {
    while (chain) {
        attempt *a = chain;
        chain = a->next;
        attempt_free(a);
    }
}

void attempt_drop(attempt *a, lane *l) {
    cuzk_engine *e = a->engine;
    if (a->pending) {
        pthread_mutex_lock(&e->lock);
        lane_asks_locked(l, a->device);
        pthread_mutex_unlock(&e->lock);
        a->device->b->prove_abandon(a->pending);
        a->pending = NULL;
        pthread_mutex_lock(&e->lock);
        lane_asks_locked(l, NULL);
        pthread_mutex_unlock(&e->lock);
    }
    attempt_free(a);
}

void attempt_permit_back_locked(attempt *a) {
    if (!a->permit) return;
    a->permit = false;
    a->engine->permits[a->cls]--;
    if (a->on_device) a->engine->starting[a->cls]--;
}

static bool unlink_from(attempt **list, attempt *a) {
    for (; *list; list = &(*list)->next) {
        if (*list != a) continue;
        *list = a->next;
        a->next = NULL;
        return true;
    }
    return false;
}

attempt *attempt_abandon_locked(cuzk_engine *e, partition *p) {
    attempt *a = p->current;
    if (!a) return NULL;
    p->current = NULL;
    a->job->n_active--;
    a->abandoned = true;
    atomic_store(&a->cancel, 1);
    attempt_permit_back_locked(a);
    if (p->state == PARTITION_QUEUED && unlink_from(&e->queue, a)) {
        e->queued[a->cls]--;
        e->in_flight--;
        return a;
    }
    return NULL;
}

/* ---- failure ---- */

/* What a further try may cure. A device that says that a witness is wrong may be wrong itself: a second opinion is
 * asked for. */
static bool worth_another(const attempt *a, const partition *p, const cuzk_error *why, bool wrong_proof) {
    if (wrong_proof || why->status == CUZK_DEVICE || why->status == CUZK_MEMORY) return true;
    return why->status == CUZK_UNSATISFIED && a->device && !a->device->b->own_machine && !p->suspects;
}

/* A key whose points are damaged makes proofs that are wrong wherever they are made: tell so. */
static void doubt_key(const attempt *a, cuzk_error *why) {
    cuzk_error found;
    cuzk_control control = {.cancel = &a->engine->cancel_all};
    if (api_key_doubt(a->engine->context, resource_key(a->key), &control, &found) == CUZK_KEY_DAMAGED) *why = found;
}

/* Under the lock: the partition is free again; true when it is to be tried again. */
static bool try_again_locked(attempt *a, const cuzk_error *why, bool wrong_proof) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    partition *p = &j->partitions[a->partition];
    if (!(a->started > 0)) p->attempts++; /* its bytes or its key could not be had: not counted where it begins */
    if (a->no_room) p->attempts--;
    bool again = a->no_room || (worth_another(a, p, why, wrong_proof) && p->attempts < e->o.attempts);
    p->current = NULL;
    j->n_active--;
    p->state = PARTITION_PENDING;
    if (a->device) {
        p->device = a->device;
        if (!a->device->is_cpu && !a->no_room) p->excluded |= 1u << a->device->index;
        if (why->status == CUZK_UNSATISFIED) p->suspects |= 1u << a->device->index;
    }
    if (again) {
        e->retries++;
        trace_record(e->events, TRACE_RETRY, j->seq, a->partition, "");
    }
    return again;
}

void attempt_failed(attempt *a, const cuzk_error *why, bool wrong_proof) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    const char *where = a->device ? a->device->id : "synthesis";
    cuzk_error told = *why, ignored;
    pthread_mutex_lock(&e->lock);
    bool abandoned = a->abandoned;
    if (abandoned) attempt_permit_back_locked(a);
    pthread_mutex_unlock(&e->lock);
    if (abandoned) {
        attempt_free(a);
        return;
    }
    double seconds = a->started > 0 ? cpu_monotonic_seconds() - a->started : 0;
    e->st->ops->attempt(e->st, j->seq, a->partition, where, seconds, why, &ignored);
    pthread_mutex_lock(&e->lock);
    attempt_permit_back_locked(a);
    bool again = true;
    abandoned = a->abandoned;
    if (!abandoned) {
        again = try_again_locked(a, why, wrong_proof);
        if (!again) j->partitions[a->partition].state = PARTITION_FAILED;
        j->uses++;
        engine_changed_locked(e);
    }
    pthread_mutex_unlock(&e->lock);
    unsigned k = a->partition;
    if (!again && wrong_proof && a->key) doubt_key(a, &told);
    attempt_free(a);
    if (abandoned) return;
    log_warn("job %.100s, partition %u, %s: %s%s", j->id, k, where, why->what, again ? "; it is tried again" : "");
    if (!again) {
        cuzk_fail_within(&told, "partition %u, %s", k, where);
        jobs_end(e, j, CUZK_JOB_FAILED, &told);
    }
    jobs_unuse(e, j);
}
