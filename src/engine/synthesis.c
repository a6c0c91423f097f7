/* Synthesis workers: they prepare jobs, get a partition its bytes, and make its witness. */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/log.h"

/* Whether key and shape are there, so that asking for them takes no time. */
static bool is_loaded(cuzk_engine *e, const char *name) {
    resource_view v[64];
    size_t n = resources_view(e->keys, v, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        if (!strcmp(v[i].circuit, name)) return v[i].tier != RESOURCE_DISK && !v[i].loading;
    return false;
}

/* The partition's reference to key and shape and the bytes of its plan, in one step. Others that want bytes wait
 * meanwhile, so that they go in order; but not while a key is loaded. *again: not now. */
static cuzk_status take_bytes(attempt *a, uint64_t bytes, bool *again, cuzk_error *err) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    bool loaded = is_loaded(e, a->prep->j.circuit.name), did = false;
    double start = cpu_monotonic_seconds();
    if (!loaded) {
        pthread_mutex_lock(&e->lock);
        j->loading = true;
        e->loading[a->cls]++;
        e->taking[a->critical] = false;
        engine_changed_locked(e);
        pthread_mutex_unlock(&e->lock);
    }
    resource_use use = {.bytes = bytes, .critical = a->critical, .on_host = a->cls == CLASS_CPU, .loaded_only = loaded};
    cuzk_control control = {.cancel = &a->cancel};
    *again = false;
    cuzk_status s = resources_acquire(e->keys, &a->prep->j.circuit, use, &a->key, &a->host, &did, again, &control, err);
    if (s == CUZK_MEMORY && *again) prepare_give_way(e, j);
    if (did) trace_record(e->events, TRACE_KEY_LOADED, j->seq, TRACE_NO_PARTITION, "");
    pthread_mutex_lock(&e->lock);
    if (loaded) {
        e->taking[a->critical] = false;
    } else {
        j->loading = false;
        e->loading[a->cls]--;
    }
    if (!loaded && !s) j->times.key_load += cpu_monotonic_seconds() - start;
    pthread_mutex_unlock(&e->lock);
    return s;
}

/* No bytes now: the partition is as if it had not been picked. Nobody is woken, as nothing came free. */
static void put_back(attempt *a, const cuzk_error *why) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    bool never = false;
    pthread_mutex_lock(&e->lock);
    if (!a->abandoned) {
        j->partitions[a->partition].current = NULL;
        j->n_active--;
        never = schedule_refused_locked(e, j, a->seen);
        attempt_permit_back_locked(a);
        j->uses++;
    }
    bool abandoned = a->abandoned;
    pthread_mutex_unlock(&e->lock);
    attempt_free(a);
    if (never) jobs_end(e, j, CUZK_JOB_FAILED, why);
    if (!abandoned) jobs_unuse(e, j);
}

/* A device's backend that takes no lazy witness gets a whole one; which device it will be is not known yet. */
static bool wants_whole(const cuzk_engine *e, const attempt *a) {
    for (size_t i = 0; i < e->n_devices; i++)
        if (devices_suits(&e->devices[i], a->cls, a->excluded, a->prep->fits) && !e->devices[i].b->lazy_witness)
            return true;
    return false;
}

static cuzk_status make_witness(attempt *a, cuzk_error *err) {
    cuzk_engine *e = a->engine;
    const job *j = &a->prep->j;
    const shape *sh = resource_shape(a->key);
    cuzk_control control = {.cancel = &a->cancel};
    cuzk_status s = job_witness_until(&a->w, j, sh, a->partition, &control, err);
    if (!s) s = api_inputs_agree(j, a->partition, &a->w, err);
    if (!s && witness_is_lazy(&a->w) && wants_whole(e, a))
        s = witness_materialise(&a->w, sh, e->context->pool, &control, err);
    return s;
}

/* Under the lock: the partition begins. */
static void begin_locked(attempt *a, lane *l) {
    cuzk_engine *e = a->engine;
    engine_job *j = a->job;
    partition *p = &j->partitions[a->partition];
    double now = cpu_monotonic_seconds();
    p->state = PARTITION_SYNTHESIZING;
    p->attempts++;
    p->synth_start = now;
    p->synth_seconds = p->device_start = p->device_seconds = 0;
    if (p->attempts > j->attempts) j->attempts = p->attempts;
    if (!j->started) {
        j->started = true;
        j->started_mono = now;
        double waited = now - j->submitted_mono - j->times.key_load - j->times.vanilla_check;
        j->times.queue_wait = waited > 0 ? waited : 0;
        kind_counters *k = jobs_counters_locked(e, j->kind);
        k->pending--;
        k->running++;
        j->state = CUZK_JOB_RUNNING;
    }
    schedule_began_locked(e, j);
    a->started = now;
    lane_busy_locked(l, j, a->partition);
    engine_changed_locked(e);
}

/* Under the lock: the witness is there. False: the partition has turned its back. *early: to be released. */
static bool hand_over_locked(attempt *a, double seconds, reservation *early) {
    cuzk_engine *e = a->engine;
    if (a->abandoned) return false;
    partition *p = &a->job->partitions[a->partition];
    p->state = PARTITION_QUEUED;
    p->synth_seconds = seconds;
    a->job->times.synthesis += seconds;
    a->synthesized = true;
    a->since = cpu_monotonic_seconds();
    schedule_made_locked(e, a->cls);
    if (++e->in_flight > e->peak_in_flight) e->peak_in_flight = e->in_flight;
    if (e->fault_release_early) {
        *early = a->host;
        memset(&a->host, 0, sizeof a->host);
        attempt_permit_back_locked(a);
    }
    devices_queue_locked(e, a);
    engine_changed_locked(e);
    return true;
}

static void synthesize(cuzk_engine *e, attempt *a, uint64_t bytes, lane *l) {
    bool again;
    cuzk_error err;
    reservation early = {0};
    uint64_t seq = a->job->seq;
    unsigned k = a->partition;
    cuzk_status s = take_bytes(a, bytes, &again, &err);
    if (s && again) {
        put_back(a, &err);
        return;
    }
    if (s) {
        attempt_failed(a, &err, false);
        return;
    }
    pthread_mutex_lock(&e->lock);
    bool wanted = !a->abandoned;
    if (wanted) begin_locked(a, l);
    pthread_mutex_unlock(&e->lock);
    if (!wanted) {
        attempt_free(a);
        return;
    }
    trace_record(e->events, TRACE_SYNTH_START, seq, k, l->trace_name);
    double start = cpu_monotonic_seconds();
    s = make_witness(a, &err);
    trace_record(e->events, TRACE_SYNTH_DONE, seq, k, l->trace_name);
    if (s) {
        attempt_failed(a, &err, false);
    } else {
        pthread_mutex_lock(&e->lock);
        wanted = hand_over_locked(a, cpu_monotonic_seconds() - start, &early);
        attempt *chain = devices_requeue_locked(e);
        if (chain) engine_changed_locked(e);
        pthread_mutex_unlock(&e->lock);
        if (!wanted) attempt_free(a);
        attempts_free(chain);
        budget_release(&early);
    }
    pthread_mutex_lock(&e->lock);
    lane_idle_locked(l);
    pthread_mutex_unlock(&e->lock);
}

/* Under the lock: the next thing to do; false when the engine stops. Whoever comes looks for itself before it waits,
 * and whoever leaves the lead wakes one that follows, which looks in its turn. */
static bool next_locked(cuzk_engine *e, const lane *l, pick *p) {
    while (!e->stopping) {
        schedule_pick_locked(e, l->critical_only, p);
        if (p->what != PICK_NONE) {
            if (!e->led) pthread_cond_signal(&e->follow);
            return true;
        }
        if (l->critical_only) {
            engine_wait_locked(e, -1);
        } else if (e->led) {
            pthread_cond_wait(&e->follow, &e->lock);
        } else {
            e->led = true;
            engine_wait_locked(e, -1);
            e->led = false;
        }
    }
    pthread_cond_broadcast(&e->follow);
    return false;
}

void *synthesis_lane(void *arg) {
    lane *l = arg;
    cuzk_engine *e = l->engine;
    pthread_mutex_lock(&e->lock);
    for (pick p; next_locked(e, l, &p);) {
        pthread_mutex_unlock(&e->lock);
        if (p.what == PICK_PREPARE && p.crowded) prepare_give_way(e, p.job);
        if (p.what == PICK_PREPARE) prepare_job(e, p.job, l);
        if (p.what == PICK_FAIL) jobs_end(e, p.job, CUZK_JOB_FAILED, &p.why);
        if (p.what == PICK_SYNTHESIZE)
            synthesize(e, p.attempt, p.bytes, l);
        else
            jobs_unuse(e, p.job);
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
