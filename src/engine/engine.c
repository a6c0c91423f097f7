/* Start, stop and the small parts of the engine; see cuzk/engine.h and engine/engine_internal.h.
 *
 * Lanes: pw synthesis workers and one more that takes critical work only; for each device gw workers and one more for
 * critical work only; as many finalizers as device workers; a watchdog; a warmer that fills the critical share at start
 * and ends.
 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cpu.h"
#include "base/log.h"

#define TRACE_EVENTS ((size_t)1 << 16)
#define TRACE_SAMPLES ((size_t)3600)
#define DEFAULT_REQUEST_BYTES ((uint64_t)512 << 20)

/* ---- time and waiting ---- */

double engine_epoch(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void engine_changed_locked(cuzk_engine *e) {
    e->generation++;
    pthread_cond_broadcast(&e->changed);
}

void engine_changed(cuzk_engine *e) {
    pthread_mutex_lock(&e->lock);
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
}

void engine_room_locked(cuzk_engine *e) {
    e->rooms++;
    engine_changed_locked(e);
}

static void on_release(void *user) {
    cuzk_engine *e = user;
    pthread_mutex_lock(&e->lock);
    engine_room_locked(e);
    pthread_mutex_unlock(&e->lock);
}

/* False: the time is over. */
static bool wait_on(cuzk_engine *e, pthread_cond_t *c, double until) {
    if (until < 0) return pthread_cond_wait(c, &e->lock) == 0;
    double far = cpu_monotonic_seconds() + 1e6; /* a time_t holds it */
    if (until > far) until = far;
    struct timespec t = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    return pthread_cond_timedwait(c, &e->lock, &t) == 0;
}

void engine_wait_locked(cuzk_engine *e, double until) {
    uint64_t seen = e->generation;
    while (e->generation == seen && wait_on(e, &e->changed, until)) continue;
}

void engine_wait_end_locked(cuzk_engine *e, const engine_job *j, double until) {
    while (!jobs_ended(j) && !e->stopping && wait_on(e, &e->ended, until)) continue;
}

uint64_t engine_generation(cuzk_engine *e, uint64_t seen, double timeout) {
    double until = cpu_monotonic_seconds() + (timeout > 0 ? timeout : 0);
    pthread_mutex_lock(&e->lock);
    e->calls++;
    while (e->generation == seen && !e->stopping && cpu_monotonic_seconds() < until) engine_wait_locked(e, until);
    uint64_t now = e->generation;
    engine_call_over_locked(e);
    pthread_mutex_unlock(&e->lock);
    return now;
}

void engine_call_over_locked(cuzk_engine *e) {
    e->calls--;
    if (e->stopping) engine_changed_locked(e);
}

trace *engine_trace(cuzk_engine *e) {
    return e->events;
}

/* ---- circuits ---- */

const circuit_kind *engine_kind(const cuzk_engine *e, const char *name) {
    for (size_t i = 0; i < e->n_kinds; i++)
        if (!strcmp(e->kinds[i]->name, name)) return e->kinds[i];
    return circuit_kind_find(name);
}

bool engine_circuit_enabled(const cuzk_engine *e, const char *name) {
    for (size_t i = 0; i < e->o.n_circuits; i++)
        if (!strcmp(e->o.circuits[i], name)) return true;
    return !e->o.n_circuits;
}

/* The circuit of this kind with this name. */
static bool of_kind(const circuit_kind *k, circuit *out, const char *name) {
    size_t n = strlen(k->name);
    if (strncmp(k->name, name, n) != 0 || name[n] != '-') return false;
    for (const char *const *variant = k->variants; *variant; variant++) {
        for (const uint64_t *size = k->sizes; *size; size++) {
            cuzk_error ignored; /* not all variants have all sizes */
            if (circuit_open_kind(out, k, *size, *variant, &ignored)) continue;
            if (!strcmp(out->name, name)) return true;
            circuit_close(out);
        }
    }
    return false;
}

cuzk_status engine_circuit_by_name(const cuzk_engine *e, circuit *out, const char *name, cuzk_error *err) {
    for (size_t i = 0; i < e->n_kinds; i++)
        if (of_kind(e->kinds[i], out, name)) return CUZK_OK;
    for (size_t i = 0; i < circuit_kind_count(); i++)
        if (of_kind(circuit_kind_at(i), out, name)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "there is no circuit of this name");
    cuzk_fail_found(err, "%.100s", name);
    return cuzk_fail_hint(err, "`cuzk circuit list` names them all");
}

/* ---- lanes ---- */

void lane_busy_locked(lane *l, const engine_job *j, unsigned k) {
    l->busy = true;
    l->job_seq = j->seq;
    l->partition = k;
    l->since = cpu_monotonic_seconds();
    snprintf(l->job_id, sizeof l->job_id, "%s", j->id);
    snprintf(l->job_kind, sizeof l->job_kind, "%s", j->kind);
}

void lane_idle_locked(lane *l) {
    l->busy = false;
    l->job_seq = 0;
    l->job_id[0] = 0;
}

void lane_asks_locked(lane *l, engine_dev *d) {
    l->asks = d;
    l->asks_since = cpu_monotonic_seconds();
    if (!d) l->stuck = false;
}

static void lane_names(lane *l, unsigned number) {
    const char *critical = l->critical_only ? " (critical)" : "";
    switch (l->kind) {
    case LANE_SYNTHESIS:
        snprintf(l->name, sizeof l->name, "synthesis %u%s", number, critical);
        snprintf(l->trace_name, sizeof l->trace_name, "synthesis %u", number);
        break;
    case LANE_DEVICE:
        snprintf(l->name, sizeof l->name, "%.20s worker %u%s", l->device->id, number, critical);
        snprintf(l->trace_name, sizeof l->trace_name, "%.18s/%u", l->device->id, number);
        break;
    case LANE_FINISH:
        snprintf(l->name, sizeof l->name, "finish %u", number);
        snprintf(l->trace_name, sizeof l->trace_name, "finish %u", number);
        break;
    }
}

cuzk_status lane_start(cuzk_engine *e, lane_kind kind, engine_dev *d, unsigned number, bool critical_only,
                       cuzk_error *err) {
    static void *(*const run[])(void *) = {synthesis_lane, device_lane, finish_lane};
    lane *l = calloc(1, sizeof *l);
    if (!l) return cuzk_fail(err, CUZK_MEMORY, "no memory for a worker");
    l->engine = e;
    l->kind = kind;
    l->device = d;
    l->critical_only = critical_only;
    lane_names(l, number);
    pthread_mutex_lock(&e->lock);
    int failed = pthread_create(&l->thread, NULL, run[kind], l);
    if (!failed) {
        lane **at = &e->lanes;
        while (*at) at = &(*at)->next;
        *at = l;
    }
    pthread_mutex_unlock(&e->lock);
    if (!failed) return CUZK_OK;
    free(l);
    return cuzk_fail(err, CUZK_INTERNAL, "a worker thread cannot be started");
}

static cuzk_status lanes_start(cuzk_engine *e, cuzk_error *err) {
    cuzk_status s = CUZK_OK;
    unsigned finalizers = 0;
    for (unsigned i = 0; i <= e->o.synthesis_workers && !s; i++)
        s = lane_start(e, LANE_SYNTHESIS, NULL, i, i == e->o.synthesis_workers, err);
    for (size_t d = 0; d < e->n_devices && !s; d++) {
        for (unsigned i = 0; i <= e->o.device_workers && !s; i++, finalizers++)
            s = lane_start(e, LANE_DEVICE, &e->devices[d], i, i == e->o.device_workers, err);
    }
    for (unsigned i = 0; i < finalizers && !s; i++) s = lane_start(e, LANE_FINISH, NULL, i, false, err);
    if (!s && !(e->has_watchdog = !pthread_create(&e->watchdog, NULL, watchdog_lane, e)))
        s = cuzk_fail(err, CUZK_INTERNAL, "the watchdog thread cannot be started");
    if (!s && !(e->has_warmer = !pthread_create(&e->warmer, NULL, warmer_lane, e)))
        s = cuzk_fail(err, CUZK_INTERNAL, "a thread cannot be started");
    return s;
}

/* ---- start ---- */

static unsigned or_else(unsigned given, unsigned otherwise) {
    return given ? given : otherwise;
}

static unsigned usual_queue_depth(const cuzk_engine *e) {
    return 2 * e->o.device_workers * (unsigned)e->n_devices;
}

static char *copy_text(const char *text) {
    return text ? strdup(text) : NULL;
}

/* Options with texts of our own and no zeros that mean something else. */
static cuzk_status take_options(cuzk_engine *e, const cuzk_engine_options *given, cuzk_error *err) {
    static const cuzk_engine_options none;
    if (!given) given = &none;
    memset(&e->o, 0, sizeof e->o);
    memcpy(&e->o, given, given->size && given->size < sizeof e->o ? given->size : sizeof e->o);
    cuzk_engine_options *o = &e->o;
    o->params_folder = copy_text(o->params_folder ? o->params_folder : cuzk_key_official_folder());
    o->devices = copy_text(o->devices ? o->devices : "auto");
    const char *const *names = o->circuits;
    char **own = calloc(o->n_circuits ? o->n_circuits : 1, sizeof *own);
    o->circuits = (const char *const *)own;
    if (!own || !o->params_folder || !o->devices) return cuzk_fail(err, CUZK_MEMORY, "no memory for the options");
    for (size_t i = 0; i < o->n_circuits; i++) {
        circuit c;
        own[i] = copy_text(names[i]);
        if (!own[i]) return cuzk_fail(err, CUZK_MEMORY, "no memory for the options");
        if (engine_circuit_by_name(e, &c, names[i], err)) return err->status;
        circuit_close(&c);
    }
    if (!o->request_bytes) o->request_bytes = DEFAULT_REQUEST_BYTES;
    if (o->policy == CUZK_DEVICE_DEFAULT) o->policy = CUZK_PREFER_GPU;
    o->attempts = or_else(o->attempts, 3);
    o->device_workers = or_else(o->device_workers, 2);
    if (!(o->device_timeout > 0)) o->device_timeout = 600;
    if (!(o->starvation_seconds > 0)) o->starvation_seconds = 1800;
    if (!(o->idle_eviction_seconds > 0)) o->idle_eviction_seconds = 300;
    if (!(o->retention_seconds > 0)) o->retention_seconds = 86400;
    return CUZK_OK;
}

static void free_options(cuzk_engine *e) {
    for (size_t i = 0; e->o.circuits && i < e->o.n_circuits; i++) free((char *)e->o.circuits[i]);
    free((void *)e->o.circuits);
    free((char *)e->o.params_folder);
    free((char *)e->o.devices);
}

static cuzk_status open_budget(cuzk_engine *e, cuzk_error *err) {
    uint64_t total = e->o.memory_bytes ? e->o.memory_bytes : budget_machine_bytes(e->o.memory_margin_bytes);
    uint64_t share = e->o.critical_bytes == UINT64_MAX ? 0 : e->o.critical_bytes; /* the warmer finds it */
    e->host = budget_create(total, share, on_release, e, err);
    if (!e->host) return err->status;
    if (budget_try(e->host, &e->request_share, e->o.request_bytes, false)) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "the memory budget does not hold the room for inputs");
    cuzk_fail_expected(err, "more than %llu bytes", (unsigned long long)(e->o.request_bytes + share));
    cuzk_fail_found(err, "%llu bytes", (unsigned long long)total);
    return cuzk_fail_hint(err, "raise the budget, or lower the bytes for inputs or for critical jobs");
}

/* Devices keep copies of keys; those go before the key does. */
static void key_unloads(void *user, const cuzk_key *key) {
    cuzk_engine *e = user;
    for (size_t i = 0; i < e->n_devices; i++) {
        device_memory_forget_key(e, &e->devices[i], key->key.id);
    }
    trace_record(e->events, TRACE_KEY_EVICTED, 0, TRACE_NO_PARTITION, "");
}

static cuzk_status open_parts(cuzk_engine *e, const engine_setup *setup, cuzk_error *err) {
    cuzk_settings settings = {.threads = e->o.threads, .device = "cpu"};
    if (cuzk_context_create(&e->context, &settings, err)) return err->status;
    e->o.threads = cuzk_context_threads(e->context);
    unsigned half = e->o.threads / 2;
    e->o.synthesis_workers = or_else(e->o.synthesis_workers, half > 2 ? half : 2);
    e->events = trace_create(TRACE_EVENTS, TRACE_SAMPLES, err);
    if (!e->events) return err->status;
    e->store_is_memory = !e->st;
    if (!e->st && !(e->st = store_memory_create(err))) return err->status;
    if (open_budget(e, err) || devices_open(e, setup, err)) return err->status;
    e->o.queue_depth = or_else(e->o.queue_depth, usual_queue_depth(e));
    bool files = devices_read_files(e);
    e->keys_on_devices = files && e->o.policy == CUZK_REQUIRE_GPU;
    resources_options keys = {.context = e->context,
                              .host = e->host,
                              .development_keys = e->o.development_keys,
                              .files_to_devices = files,
                              .made_on_devices = e->keys_on_devices,
                              .params_folder = e->o.params_folder,
                              .idle_seconds = e->o.idle_eviction_seconds};
    e->keys = resources_create(&keys, err);
    if (!e->keys) return err->status;
    resources_on_unload(e->keys, key_unloads, e);
    uint64_t tracked = buffer_total_stats().live_bytes, held = cpu_anonymous_bytes();
    e->untracked_at_start = held > tracked ? held - tracked : 0;
    return jobs_restore(e, err);
}

cuzk_status engine_start(cuzk_engine **out, const cuzk_engine_options *options, const engine_setup *setup,
                         cuzk_error *err) {
    static const engine_setup no_setup;
    if (!setup) setup = &no_setup;
    *out = NULL;
    cuzk_engine *e = calloc(1, sizeof *e);
    if (!e) {
        if (setup->store) setup->store->ops->close(setup->store);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for an engine");
    }
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, &clock);
    pthread_cond_init(&e->ended, &clock);
    pthread_cond_init(&e->follow, NULL);
    pthread_condattr_destroy(&clock);
    e->st = setup->store;
    e->fault_release_early = setup->fault_release_early;
    e->crashed = setup->crashed;
    e->started = cpu_monotonic_seconds();
    e->generation = e->rooms = 1;
    e->warming = true;
    e->n_kinds = setup->n_kinds;
    e->kinds = calloc(setup->n_kinds + 1, sizeof *e->kinds);
    cuzk_status s = e->kinds ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for an engine");
    for (size_t i = 0; !s && i < setup->n_kinds; i++) e->kinds[i] = setup->kinds[i];
    if (!s) s = take_options(e, options, err);
    if (!s) s = open_parts(e, setup, err);
    if (!s) s = lanes_start(e, err);
    if (s) {
        cuzk_engine_stop(e, 0);
        return s;
    }
    *out = e;
    return CUZK_OK;
}

cuzk_status cuzk_engine_start(cuzk_engine **out, const cuzk_engine_options *options, cuzk_error *err) {
    return engine_start(out, options, NULL, err);
}

/* ---- stop ---- */

void engine_drain(cuzk_engine *e) {
    pthread_mutex_lock(&e->lock);
    e->draining = true;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
}

void engine_stop_loads(cuzk_engine *e) {
    atomic_store(&e->cancel_all, 1);
}

static bool work_left_locked(const cuzk_engine *e) {
    for (const engine_job *j = e->live_first; j; j = j->live_after)
        if (j->started) return true;
    return false;
}

/* All partitions turn their backs on their attempts; jobs stay what they are in the store. */
static void abandon_all(cuzk_engine *e) {
    attempt *free_list = NULL;
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_cond_broadcast(&e->ended);
    atomic_store(&e->cancel_all, 1);
    for (engine_job *j = e->live_first; j; j = j->live_after) {
        atomic_store(&j->cancel, 1);
        for (unsigned k = 0; j->partitions && k < j->n_partitions; k++) {
            attempt *a = attempt_abandon_locked(e, &j->partitions[k]);
            if (!a) continue;
            a->next = free_list;
            free_list = a;
        }
    }
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    attempts_free(free_list);
}

/* Waits for a lane that a device may hold back: a little when it is known to hang, else as long as a device may be
 * silent. */
static bool lane_leaves(cuzk_engine *e, const lane *l) {
    double start = cpu_monotonic_seconds();
    pthread_mutex_lock(&e->lock);
    while (!l->left) {
        double until = start + STUCK_GRACE + (l->stuck ? 0 : e->o.device_timeout);
        if (cpu_monotonic_seconds() >= until) break;
        engine_wait_locked(e, until);
    }
    bool left = l->left;
    pthread_mutex_unlock(&e->lock);
    return left;
}

/* Joins all lanes; false when some stay in a device that hangs. */
static bool lanes_join(cuzk_engine *e) {
    bool all = true;
    for (lane *l = e->lanes; l; l = l->next) {
        if (l->kind != LANE_SYNTHESIS && !(l->device && l->device->is_cpu) && !lane_leaves(e, l)) {
            log_error("%s is still in its device, which does not answer; its thread and memory are left behind",
                      l->name);
            pthread_detach(l->thread);
            all = false;
            continue;
        }
        pthread_join(l->thread, NULL);
    }
    return all;
}

static void engine_free(cuzk_engine *e) {
    while (e->lanes) {
        lane *l = e->lanes;
        e->lanes = l->next;
        free(l);
    }
    jobs_free_all(e);
    resources_destroy(e->keys);
    while (e->plans) {
        circuit_plan *p = e->plans;
        e->plans = p->next;
        free(p);
    }
    if (e->st) e->st->ops->close(e->st);
    devices_close(e);
    budget_release(&e->request_share);
    budget_destroy(e->host);
    trace_destroy(e->events);
    cuzk_context_destroy(e->context);
    free(e->candidates);
    free(e->kinds);
    free_options(e);
    pthread_cond_destroy(&e->changed);
    pthread_cond_destroy(&e->ended);
    pthread_cond_destroy(&e->follow);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void cuzk_engine_stop(cuzk_engine *e, double drain_seconds) {
    if (!e) return;
    engine_drain(e);
    double until = cpu_monotonic_seconds() + (drain_seconds > 0 ? drain_seconds : 0);
    pthread_mutex_lock(&e->lock);
    while (work_left_locked(e) && cpu_monotonic_seconds() < until) engine_wait_locked(e, until);
    pthread_mutex_unlock(&e->lock);
    abandon_all(e);
    if (e->has_watchdog) pthread_join(e->watchdog, NULL); /* it starts lanes */
    if (e->has_warmer) pthread_join(e->warmer, NULL);
    bool all = lanes_join(e);
    pthread_mutex_lock(&e->lock);
    while (e->calls) engine_wait_locked(e, cpu_monotonic_seconds() + 1);
    pthread_mutex_unlock(&e->lock);
    if (e->st) jobs_give_back(e);
    if (all) engine_free(e);
}

void engine_reload(cuzk_engine *e, const cuzk_engine_options *options) {
    pthread_mutex_lock(&e->lock);
    cuzk_engine_options *o = &e->o;
    o->memory_bytes = options->memory_bytes;
    o->memory_margin_bytes = options->memory_margin_bytes;
    o->queue_depth = or_else(options->queue_depth, usual_queue_depth(e));
    if (options->attempts) o->attempts = options->attempts;
    if (options->policy != CUZK_DEVICE_DEFAULT) o->policy = options->policy;
    if (options->device_timeout > 0) o->device_timeout = options->device_timeout;
    if (options->starvation_seconds > 0) o->starvation_seconds = options->starvation_seconds;
    if (options->retention_seconds > 0) o->retention_seconds = options->retention_seconds;
    pthread_mutex_unlock(&e->lock);
    uint64_t total = options->memory_bytes ? options->memory_bytes : budget_machine_bytes(options->memory_margin_bytes);
    uint64_t share = budget_get(e->host).critical_share;
    budget_resize(e->host, total, options->critical_bytes == UINT64_MAX ? share : options->critical_bytes);
    engine_changed(e);
}

uint64_t engine_usable_bytes(cuzk_engine *e, bool critical) {
    budget_stats s = budget_get(e->host);
    uint64_t kept = e->o.request_bytes + (critical ? 0 : s.critical_share);
    return s.total > kept ? s.total - kept : 0;
}

/* ---- keys by name ---- */

cuzk_status cuzk_engine_preload(cuzk_engine *e, const char *name, bool *already, double *seconds, cuzk_error *err) {
    double start = cpu_monotonic_seconds();
    circuit c;
    if (engine_circuit_by_name(e, &c, name, err)) return err->status;
    cuzk_status s = CUZK_OK;
    bool loaded = false, again = false;
    resource *res = NULL;
    pthread_mutex_lock(&e->lock);
    e->calls++; /* a stop ends the load and waits for this call */
    pthread_mutex_unlock(&e->lock);
    if (!engine_circuit_enabled(e, name)) {
        cuzk_fail(err, CUZK_USAGE, "this engine does not prove this circuit");
        s = cuzk_fail_found(err, "%s", name);
    } else {
        cuzk_control control = {.cancel = &e->cancel_all};
        bool host = e->n_devices == 1 && e->devices[0].is_cpu;
        resource_use use = {.on_host = host};
        s = resources_acquire(e->keys, &c, use, &res, NULL, &loaded, &again, &control, err);
    }
    if (!s) resources_release(res);
    circuit_close(&c);
    *already = !s && !loaded;
    *seconds = cpu_monotonic_seconds() - start;
    if (loaded) trace_record(e->events, TRACE_KEY_LOADED, 0, TRACE_NO_PARTITION, "");
    pthread_mutex_lock(&e->lock);
    if (loaded) engine_changed_locked(e);
    engine_call_over_locked(e);
    pthread_mutex_unlock(&e->lock);
    return s;
}

cuzk_status cuzk_engine_evict(cuzk_engine *e, const char *name, bool *was_loaded, uint64_t *freed, cuzk_error *err) {
    cuzk_status s = resources_evict(e->keys, name, was_loaded, freed, err);
    engine_changed(e);
    return s;
}

cuzk_status cuzk_engine_trace_json(cuzk_engine *e, const char *job_id, char **json, cuzk_error *err) {
    uint64_t seq = job_id ? engine_find(e, job_id) : 0;
    *json = NULL;
    if (job_id && !seq) {
        cuzk_fail(err, CUZK_IO, "there is no job of this id");
        return cuzk_fail_found(err, "%.150s", job_id);
    }
    return trace_chrome_json(e->events, seq, json, err);
}
