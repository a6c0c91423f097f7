/* The watchdog: deadlines, devices that do not answer, samples of memory, a budget that follows the machine, retention,
 * and ends of jobs that the store did not take. And the warmer, which sets up the share for critical jobs. */
#include "engine/engine_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/log.h"
#include "base/text.h"

#define TICK 0.05
#define SAMPLE_EVERY 1.0
#define BUDGET_EVERY 5.0
#define SAVE_EVERY 2.0
#define PURGE_EVERY 30.0
#define UNEXPLAINED_MIN ((uint64_t)100 << 20)

/* ---- deadlines ---- */

static engine_job *past_deadline_locked(cuzk_engine *e) {
    double now = engine_epoch();
    for (engine_job *j = e->live_first; j; j = j->live_after) {
        if (j->deadline == 0 || j->deadline > now || j->arriving || j->ending) continue;
        j->uses++;
        return j;
    }
    return NULL;
}

static void end_late_jobs(cuzk_engine *e) {
    for (;;) {
        pthread_mutex_lock(&e->lock);
        engine_job *j = past_deadline_locked(e);
        pthread_mutex_unlock(&e->lock);
        if (!j) return;
        cuzk_error why;
        cuzk_fail(&why, CUZK_CANCELLED, "the job's deadline has passed");
        jobs_end(e, j, CUZK_JOB_CANCELLED, &why);
        jobs_unuse(e, j);
    }
}

/* ---- devices that do not answer ---- */

static void mark_stuck_locked(cuzk_engine *e, const attempt *a, bool *finalizer) {
    *finalizer = false;
    for (lane *l = e->lanes; l; l = l->next) {
        if (!l->busy || l->job_seq != a->job->seq || l->partition != a->partition) continue;
        if (l->kind == LANE_SYNTHESIS || (l->kind == LANE_DEVICE && l->device != a->device)) continue;
        l->stuck = true;
        *finalizer = l->kind == LANE_FINISH;
    }
}

/* Under the lock: an attempt whose device has been silent for too long. */
static attempt *find_hung_locked(cuzk_engine *e) {
    long long now = (long long)(cpu_monotonic_seconds() * 1000), most = (long long)(e->o.device_timeout * 1000);
    for (engine_job *j = e->live_first; j; j = j->live_after) {
        for (unsigned k = 0; j->n_active && k < j->n_partitions; k++) {
            attempt *a = j->partitions[k].current;
            if (!a || !a->device || a->device->is_cpu || a->device->b->own_machine) continue;
            long long alive = atomic_load(&a->alive_ms);
            if (alive && now - alive > most) return a;
        }
    }
    return NULL;
}

static unsigned count_finalizers(cuzk_engine *e) {
    unsigned n = 0;
    pthread_mutex_lock(&e->lock);
    for (const lane *l = e->lanes; l; l = l->next) n += l->kind == LANE_FINISH;
    pthread_mutex_unlock(&e->lock);
    return n;
}

/* Under the lock: the device hangs. Attempts to be freed without it are chained. */
static attempt *put_aside_locked(cuzk_engine *e, engine_dev *d, char *what, size_t n) {
    d->hung = true;
    snprintf(what, n, "it did not answer for %.1f s", e->o.device_timeout);
    return device_fault_locked(e, d, what, false, true);
}

/* The partition goes elsewhere; the thread that waits for the device frees the rest when it returns. */
static void end_hung_attempts(cuzk_engine *e) {
    for (;;) {
        char what[160];
        cuzk_error why, ignored;
        pthread_mutex_lock(&e->lock);
        attempt *a = find_hung_locked(e);
        if (!a) {
            pthread_mutex_unlock(&e->lock);
            return;
        }
        engine_job *j = a->job;
        engine_dev *d = a->device;
        partition *p = &j->partitions[a->partition];
        unsigned k = a->partition;
        bool finalizer, fail;
        mark_stuck_locked(e, a, &finalizer);
        attempt_abandon_locked(e, p); /* in a thread's hand: nothing to free here */
        p->state = PARTITION_PENDING;
        p->excluded |= 1u << d->index;
        double silent = e->o.device_timeout;
        fail = p->attempts >= e->o.attempts;
        e->hung++;
        if (!fail) e->retries++;
        j->uses++;
        trace_record(e->events, TRACE_DEVICE_FAULT, j->seq, k, d->id);
        attempt *chain = put_aside_locked(e, d, what, sizeof what);
        engine_changed_locked(e);
        pthread_mutex_unlock(&e->lock);
        attempts_free(chain);
        cuzk_fail(&why, CUZK_DEVICE, "device %s hangs: %s", d->id, what);
        e->st->ops->attempt(e->st, j->seq, k, d->id, silent, &why, &ignored);
        if (fail) jobs_end(e, j, CUZK_JOB_FAILED, &why);
        /* Finalizers are shared: one that is stuck is replaced. The device's own workers are not, it has no work now.
         */
        if (finalizer) lane_start(e, LANE_FINISH, NULL, count_finalizers(e), false, &ignored);
        jobs_unuse(e, j);
    }
}

/* A device that was asked to give up a key and does not answer; told once. */
static engine_dev *find_hung_device_locked(cuzk_engine *e) {
    double now = cpu_monotonic_seconds();
    for (size_t i = 0; i < e->n_devices; i++) {
        engine_dev *d = &e->devices[i];
        if (d->forgets && !d->hung && !d->is_cpu && now - d->forgets_since > e->o.device_timeout) return d;
    }
    return NULL;
}

static lane *find_hung_lane_locked(cuzk_engine *e) {
    double now = cpu_monotonic_seconds();
    for (lane *l = e->lanes; l; l = l->next) {
        if (!l->asks || l->asks->is_cpu || l->asks->b->own_machine) continue;
        if (now - l->asks_since > e->o.device_timeout) return l;
    }
    return NULL;
}

/* Who asked a device something beside a proof and has no answer. */
static void end_hung_questions(cuzk_engine *e) {
    for (;;) {
        char what[160];
        cuzk_error ignored;
        pthread_mutex_lock(&e->lock);
        lane *l = find_hung_lane_locked(e);
        engine_dev *d = l ? l->asks : find_hung_device_locked(e);
        if (!d) {
            pthread_mutex_unlock(&e->lock);
            return;
        }
        if (l) {
            l->asks_since = INFINITY; /* told */
            l->stuck = true;
        }
        bool finalizer = l && l->kind == LANE_FINISH;
        attempt *chain = put_aside_locked(e, d, what, sizeof what);
        engine_changed_locked(e);
        pthread_mutex_unlock(&e->lock);
        attempts_free(chain);
        if (finalizer) lane_start(e, LANE_FINISH, NULL, count_finalizers(e), false, &ignored);
    }
}

/* ---- memory ---- */

/* Somebody waits for bytes: asked again now and then, whatever else happens. A job that is refused although nothing is
 * under way can never have them (synthesis.c). */
static void ask_again(cuzk_engine *e) {
    pthread_mutex_lock(&e->lock);
    bool any = false;
    for (const engine_job *j = e->live_first; j && !any; j = j->live_after) any = j->blocked_at == e->rooms;
    if (any) engine_room_locked(e);
    pthread_mutex_unlock(&e->lock);
}

static void sample(cuzk_engine *e) {
    budget_stats b = budget_get(e->host);
    trace_sample s = {
        .at = cpu_monotonic_seconds(), .rss = cpu_rss_bytes(), .budget_total = b.total, .budget_reserved = b.reserved};
    uint64_t tracked = 0;
    for (unsigned i = 0; i < BUFFER_CLASSES; i++) {
        s.classes[i] = buffer_class_stats((buffer_class)i).live_bytes;
        tracked += s.classes[i];
    }
    trace_sample_add(e->events, &s);
    /* Pages of mapped keys and shapes, and of the program itself, have files behind them and are not meant. */
    uint64_t held = cpu_anonymous_bytes(), known = tracked + e->untracked_at_start;
    uint64_t may = known / 20 > UNEXPLAINED_MIN ? known / 20 : UNEXPLAINED_MIN;
    if (held <= known + may || e->unexplained_told) return;
    e->unexplained_told = true;
    char all[24], explained[24];
    text_size(all, held);
    text_size(explained, known);
    log_warn("the process holds %s of memory, of which %s are accounted for", all, explained);
}

static void follow_machine(cuzk_engine *e) {
    pthread_mutex_lock(&e->lock);
    uint64_t fixed = e->o.memory_bytes, margin = e->o.memory_margin_bytes;
    pthread_mutex_unlock(&e->lock);
    if (fixed) return;
    budget_stats now = budget_get(e->host);
    uint64_t total = budget_machine_bytes(margin);
    if (total && total != now.total) budget_resize(e->host, total, now.critical_share);
}

static void purge(cuzk_engine *e) {
    cuzk_error err;
    uint64_t gone;
    pthread_mutex_lock(&e->lock);
    double before = engine_epoch() - e->o.retention_seconds;
    pthread_mutex_unlock(&e->lock);
    jobs_forget_old(e, before);
    if (e->st->ops->purge(e->st, before, &gone, &err)) log_warn("old jobs stay in the store: %s", err.what);
}

void *watchdog_lane(void *arg) {
    cuzk_engine *e = arg;
    double sampled = 0, followed = cpu_monotonic_seconds(), saved = followed, purged = followed;
    pthread_mutex_lock(&e->lock);
    while (!e->stopping) {
        pthread_mutex_unlock(&e->lock);
        double now = cpu_monotonic_seconds();
        end_late_jobs(e);
        end_hung_attempts(e);
        end_hung_questions(e);
        if (now - sampled >= SAMPLE_EVERY) sample(e), ask_again(e), sampled = now;
        if (now - followed >= BUDGET_EVERY) follow_machine(e), followed = now;
        if (now - saved >= SAVE_EVERY) jobs_save_unsaved(e), saved = now;
        if (now - purged >= PURGE_EVERY) purge(e), purged = now;
        pthread_mutex_lock(&e->lock);
        double until = cpu_monotonic_seconds() + TICK;
        while (!e->stopping && cpu_monotonic_seconds() < until) engine_wait_locked(e, until);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- the critical share ---- */

/* Host bytes of a critical proof of c: plan, key, shape. */
static uint64_t critical_need(cuzk_engine *e, const circuit *c, const cuzk_control *control) {
    const circuit_plan *plan;
    cuzk_error err;
    uint64_t most = 0;
    if (prepare_plan(e, c, &plan, control, &err)) return 0;
    for (size_t i = 0; i < e->n_devices; i++)
        if (plan->on[i].made && plan->on[i].host_bytes > most) most = plan->on[i].host_bytes;
    return most + plan->need.key_bytes + plan->need.shape_bytes + ((uint64_t)8 << 20); /* its input */
}

/* The same share of each device's memory. */
static void share_devices(cuzk_engine *e, const circuit *c, const cuzk_control *control) {
    const circuit_plan *plan;
    cuzk_error ignored;
    if (prepare_plan(e, c, &plan, control, &ignored)) return;
    for (size_t i = 0; i < e->n_devices; i++) {
        uint64_t bytes = plan->on[i].device_bytes, total;
        if (!e->devices[i].memory || !plan->on[i].made) continue;
        total = budget_get(e->devices[i].memory).total;
        if (bytes <= total / 2) budget_resize(e->devices[i].memory, total, bytes);
    }
}

static void pin(cuzk_engine *e, const circuit *c, const cuzk_control *control) {
    resource *res;
    bool loaded, again;
    cuzk_error err;
    resource_use use = {.critical = true, .on_host = e->n_devices == 1 && e->devices[0].is_cpu};
    if (resources_acquire(e->keys, c, use, &res, NULL, &loaded, &again, control, &err)) {
        if (err.status != CUZK_CANCELLED) log_warn("the key of %s is not kept ready: %s", c->name, err.what);
        return;
    }
    resource_pin(res);
    resources_release(res);
    if (loaded) trace_record(e->events, TRACE_KEY_LOADED, 0, TRACE_NO_PARTITION, "");
}

/* The circuit of the largest need among those of winning-post that are enabled and have a key. */
static void warm(cuzk_engine *e) {
    cuzk_control control = {.cancel = &e->cancel_all};
    const circuit_kind *kind = circuit_kind_find("winning-post");
    uint64_t share = 0;
    circuit best = {0};
    if (e->o.critical_bytes != UINT64_MAX) return;
    for (const uint64_t *size = kind->sizes; *size; size++) {
        circuit c;
        cuzk_error ignored;
        if (circuit_open_kind(&c, kind, *size, "", &ignored)) continue;
        uint64_t need =
            engine_circuit_enabled(e, c.name) && prepare_key_is_here(e, &c) ? critical_need(e, &c, &control) : 0;
        if (need > share) {
            circuit_close(&best);
            share = need;
            best = c;
        } else {
            circuit_close(&c);
        }
    }
    if (!share) return;
    budget_stats now = budget_get(e->host);
    if (share > (now.total - e->o.request_bytes) / 2) {
        log_warn("the memory budget is too small to keep a share for %s", best.name);
    } else {
        budget_resize(e->host, now.total, share);
        share_devices(e, &best, &control);
        pin(e, &best, &control);
        engine_changed(e);
    }
    circuit_close(&best);
}

void *warmer_lane(void *arg) {
    cuzk_engine *e = arg;
    warm(e);
    pthread_mutex_lock(&e->lock);
    e->warming = false;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
