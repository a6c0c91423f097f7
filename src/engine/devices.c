/* Devices: which there are, their workers and memory, their faults.
 *
 * A worker takes the first of the queue that suits its device, starts its proof and takes the next; what a proof still
 * needs afterwards a finalizer does. Bytes of the device are reserved when the partition is taken; who holds such bytes
 * never waits for others. A device that fails several times in a row, returns wrong proofs, or does not answer is put
 * in quarantine: it gets no more work, and what was queued for it goes elsewhere.
 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backend/cuda/backend.h"
#include "base/cpu.h"
#include "base/log.h"

/* A fault weighs as much as so many right proofs; a device that collects this much is out: three in a row, or for long
 * more than one in five. */
#define FAULT_WEIGHT 4u
#define FAULT_LIMIT 12u
/* Proofs begun on a device for each of its workers, so that urgent ones have few before them. */
#define IN_HAND_EACH 2u
#define WRONG_PROOFS 3u
/* Seconds that a device rests when others have its memory, and for how long that is borne. */
#define SHORT_REST 0.25
#define SHORT_MOST 60.0
#define LOOK_EVERY 2.0 /* seconds between looks at what is free on a device */

/* ---- which there are ---- */

static cuzk_status add(cuzk_engine *e, const backend *b, unsigned number, bool is_cpu, cuzk_error *err) {
    if (e->n_devices == ENGINE_MAX_DEVICES) return cuzk_fail(err, CUZK_USAGE, "too many devices");
    engine_dev *d = &e->devices[e->n_devices];
    backend_device_info info = {0};
    if (b->version != BACKEND_VERSION) return cuzk_fail(err, CUZK_DEVICE, "backend %s has another version", b->name);
    if (b->device_info(number, &info, err)) return err->status;
    if (b->self_test && b->self_test(number, NULL, err)) return err->status;
    d->b = b;
    d->number = number;
    d->index = (unsigned)e->n_devices;
    d->is_cpu = is_cpu;
    if (is_cpu && b == backend_cpu())
        snprintf(d->id, sizeof d->id, "cpu");
    else
        snprintf(d->id, sizeof d->id, "%.16s:%u", b->name, number);
    snprintf(d->name, sizeof d->name, "%s", info.name);
    d->memory_bytes = info.memory_bytes;
    d->free_bytes = info.free_bytes;
    d->looked = cpu_monotonic_seconds();
    if (!is_cpu) {
        uint64_t total = info.free_bytes;
        if (e->o.device_memory_bytes && e->o.device_memory_bytes < total) total = e->o.device_memory_bytes;
        if (b->limit_memory) b->limit_memory(number, total); /* plans are made for what the budget holds */
        if (b->proofs_at_once) b->proofs_at_once(number, e->o.device_workers);
        d->memory = budget_create(total, 0, NULL, NULL, err);
        if (!d->memory) return err->status;
    }
    e->n_devices++;
    return CUZK_OK;
}

static cuzk_status add_cuda(cuzk_engine *e, cuzk_error *err) {
    const char *list = e->o.devices, *why;
    const backend *cuda = backend_cuda(&why);
    if (!strcmp(list, "auto")) {
        for (unsigned d = 0; cuda && d < cuda->device_count(); d++)
            if (add(e, cuda, d, false, err)) log_error("CUDA device %u is not used: %s", d, err->what);
        return CUZK_OK;
    }
    if (!strcmp(list, "cpu")) return CUZK_OK;
    while (*list) {
        unsigned number;
        int used = 0;
        if (sscanf(list, "cuda:%3u%n", &number, &used) != 1 || (list[used] && list[used] != ',')) {
            cuzk_fail(err, CUZK_USAGE, "the list of devices is not understood");
            cuzk_fail_expected(err, "auto, cpu, or cuda:N with commas between them");
            return cuzk_fail_found(err, "%s", e->o.devices);
        }
        if (!cuda || number >= cuda->device_count()) {
            cuzk_fail(err, CUZK_DEVICE, "there is no CUDA device %u", number);
            return cuzk_fail_found(err, "%s", cuda ? "fewer devices" : why);
        }
        if (add(e, cuda, number, false, err)) return err->status;
        list += used;
        list += *list == ',';
    }
    return CUZK_OK;
}

cuzk_status devices_open(cuzk_engine *e, const engine_setup *setup, cuzk_error *err) {
    for (size_t i = 0; i < setup->n_devices; i++) {
        const engine_device *d = &setup->devices[i];
        if (add(e, d->backend, d->device, d->is_cpu, err)) return err->status;
    }
    if (setup->n_devices) return CUZK_OK;
    if (add_cuda(e, err)) return err->status;
    if (!e->n_devices && e->o.policy == CUZK_REQUIRE_GPU) {
        cuzk_fail(err, CUZK_DEVICE, "the policy wants a device, and none can be used");
        const char *why = "";
        backend_cuda(&why);
        return cuzk_fail_found(err, "%s", why);
    }
    return add(e, backend_cpu(), 0, true, err);
}

void devices_close(cuzk_engine *e) {
    for (size_t i = 0; i < e->n_devices; i++) {
        device_memory_forget_locked(&e->devices[i], 0);
        budget_destroy(e->devices[i].memory);
    }
}

bool devices_read_files(const cuzk_engine *e) {
    bool any = false;
    for (size_t i = 0; i < e->n_devices; i++) {
        if (e->devices[i].is_cpu) continue;
        if (!e->devices[i].b->makes_keys) return false;
        any = true;
    }
    return any;
}

/* ---- where a partition may go ---- */

cuzk_device_policy devices_policy_locked(const cuzk_engine *e, cuzk_device_policy policy) {
    return policy == CUZK_DEVICE_DEFAULT ? e->o.policy : policy;
}

cuzk_status devices_for_policy(cuzk_engine *e, cuzk_device_policy policy, cuzk_error *err) {
    bool any = false;
    pthread_mutex_lock(&e->lock);
    policy = devices_policy_locked(e, policy);
    for (size_t i = 0; i < e->n_devices && !any; i++) {
        const engine_dev *d = &e->devices[i];
        any = d->is_cpu ? policy != CUZK_REQUIRE_GPU : policy != CUZK_CPU && !d->quarantined;
    }
    pthread_mutex_unlock(&e->lock);
    if (any) return CUZK_OK;
    cuzk_fail(err, CUZK_DEVICE, "there is no device that works for this policy");
    return cuzk_fail_expected(err, "%s", policy == CUZK_CPU ? "the CPU among the engine's devices" : "a GPU");
}

bool devices_suits(const engine_dev *d, device_class cls, uint32_t excluded, uint32_t fits) {
    uint32_t bit = 1u << d->index;
    if (d->quarantined || d->is_cpu != (cls == CLASS_CPU) || !(fits & bit)) return false;
    return d->is_cpu || !(excluded & bit);
}

/* Most host bytes that a proof takes on any device of the class; 0: no device suits. */
static uint64_t class_bytes(const cuzk_engine *e, const prepared *prep, device_class cls, uint32_t excluded) {
    uint64_t most = 0;
    for (size_t i = 0; i < e->n_devices; i++) {
        uint64_t bytes = prep->plan->on[i].host_bytes;
        if (devices_suits(&e->devices[i], cls, excluded, prep->fits) && bytes + 1 > most) most = bytes + 1;
    }
    return most;
}

static bool has_gpu(const cuzk_engine *e) {
    for (size_t i = 0; i < e->n_devices; i++)
        if (!e->devices[i].is_cpu) return true;
    return false;
}

static void tell_fallback_locked(cuzk_engine *e) {
    e->cpu_fallbacks++;
    if (e->cpu_told) return;
    e->cpu_told = true;
    log_warn("no device can be used now; proofs are made on the CPU, as the policy allows");
}

/* The CPU when the policy says so, a device that has not failed this partition, the CPU when the policy allows it, a
 * device that has. */
bool devices_class_locked(cuzk_engine *e, const engine_job *j, const partition *p, device_class *cls,
                          uint64_t *host_bytes, cuzk_error *why) {
    cuzk_device_policy policy = devices_policy_locked(e, j->policy);
    uint64_t cpu = policy == CUZK_REQUIRE_GPU ? 0 : class_bytes(e, j->prep, CLASS_CPU, 0);
    uint64_t best = policy == CUZK_CPU ? 0 : class_bytes(e, j->prep, CLASS_DEVICE, p->excluded);
    *cls = CLASS_DEVICE;
    if (!best && cpu) {
        best = cpu;
        *cls = CLASS_CPU;
    } else if (!best && policy != CUZK_CPU && p->excluded) {
        best = class_bytes(e, j->prep, CLASS_DEVICE, 0);
    }
    if (best) {
        *host_bytes = best - 1;
        return true;
    }
    cuzk_fail(why, CUZK_DEVICE, "no device is left for this job");
    for (size_t i = 0; i < e->n_devices; i++) {
        const engine_dev *d = &e->devices[i];
        if (d->quarantined) cuzk_fail_found(why, "%s: %s", d->id, d->why);
    }
    cuzk_fail_hint(why, "see `cuzk status`; a device in quarantine is taken up again when the engine starts anew");
    return false;
}

/* ---- the queue ---- */

void devices_queue_locked(cuzk_engine *e, attempt *a) {
    attempt **at = &e->queue;
    while (*at) at = &(*at)->next;
    a->next = NULL;
    *at = a;
    e->queued[a->cls]++;
    trace_record(e->events, TRACE_DEVICE_QUEUED, a->job->seq, a->partition, "");
}

/* The partition's own exclusions do not bind when no other device is left (devices_class_locked let it pass). */
static uint32_t exclusions(const cuzk_engine *e, const attempt *a) {
    return class_bytes(e, a->prep, a->cls, a->excluded) ? a->excluded : 0;
}

static bool goes_before(const cuzk_engine *e, const attempt *a, const attempt *b, double now) {
    if (a->job != b->job) return schedule_before(e, a->job, b->job, now);
    return a->partition < b->partition;
}

static attempt *take_locked(cuzk_engine *e, engine_dev *d, bool critical_only) {
    attempt *best = NULL;
    double now = cpu_monotonic_seconds();
    if (d->quarantined || now < d->short_until) return NULL;
    for (attempt *a = e->queue; a; a = a->next) {
        if ((critical_only && !a->critical) || !devices_suits(d, a->cls, exclusions(e, a), a->prep->fits)) continue;
        if (!best || goes_before(e, a, best, now)) best = a;
    }
    if (!best) return NULL;
    if (!best->critical && d->in_hand >= IN_HAND_EACH * e->o.device_workers) return NULL;
    if (!device_memory_try_locked(d, best)) return NULL;
    attempt **at = &e->queue;
    while (*at != best) at = &(*at)->next;
    *at = best->next;
    best->next = NULL;
    e->queued[best->cls]--;
    return best;
}

/* ---- work ---- */

void device_busy_locked(engine_dev *d, int by) {
    double now = cpu_monotonic_seconds();
    if (by > 0 && !d->busy) d->busy_since = now;
    d->busy += (unsigned)by;
    if (by < 0 && !d->busy) d->busy_seconds += now - d->busy_since;
}

static long long now_ms(void) {
    return (long long)(cpu_monotonic_seconds() * 1000);
}

static void sign_of_life(void *user, const char *stage, uint64_t done, uint64_t total) {
    attempt *a = user;
    (void)stage, (void)done, (void)total;
    atomic_store_explicit(&a->alive_ms, now_ms(), memory_order_relaxed);
}

/* The proof holds fewer bytes now. The attempt is in this thread's hand. */
static void holds(void *user, uint64_t bytes) {
    attempt *a = user;
    if (!a->abc_told) trace_record(a->engine->events, TRACE_ABC_FREED, a->job->seq, a->partition, a->lane);
    a->abc_told = true;
    budget_shrink(&a->host, bytes);
}

/* Another may be made while the device is given the key. */
static void witness_gone(void *user) {
    attempt *a = user;
    pthread_mutex_lock(&a->engine->lock);
    attempt_permit_back_locked(a);
    engine_changed_locked(a->engine);
    pthread_mutex_unlock(&a->engine->lock);
}

/* Under the lock: the device has it now; its place in the queue is free, and its permit once its witness is gone. */
static void taken_locked(attempt *a, engine_dev *d, lane *l) {
    cuzk_engine *e = a->engine;
    partition *p = &a->job->partitions[a->partition];
    double now = cpu_monotonic_seconds();
    a->device = d;
    a->on_device = true;
    d->in_hand++;
    d->starving = false;
    if (a->permit) e->starting[a->cls]++;
    snprintf(a->lane, sizeof a->lane, "%s", l->trace_name);
    a->wait = now - a->since;
    a->job->times.device_wait += a->wait;
    p->state = PARTITION_PROVING;
    p->device = d;
    p->device_start = now;
    if (d->is_cpu && devices_policy_locked(e, a->job->policy) == CUZK_PREFER_GPU && has_gpu(e)) tell_fallback_locked(e);
    device_busy_locked(d, 1);
    lane_busy_locked(l, a->job, a->partition);
    atomic_store(&a->alive_ms, now_ms());
    engine_changed_locked(e);
}

static cuzk_status start(attempt *a, engine_dev *d, cuzk_error *err) {
    prove_request q = {.key = &resource_key(a->key)->key,
                       .shape = resource_shape(a->key),
                       .witness = &a->w,
                       .holds = a->engine->fault_release_early ? NULL : holds,
                       .witness_gone = witness_gone,
                       .holds_user = a};
    cuzk_control control = {.cancel = &a->cancel, .progress = sign_of_life, .user = a};
    cuzk_status s = groth16_blinding(&q.r, &q.s, err);
    if (!s) s = d->b->prove_start(d->number, &a->pending, &q, a->engine->context->pool, &control, err);
    secure_wipe(&q.r, sizeof q.r);
    secure_wipe(&q.s, sizeof q.s);
    if (s) a->pending = NULL;
    return s;
}

/* Under the lock: a proof did not find the memory on its device that its plan and the budget had promised: others have
 * taken it. The device rests a little; false when that has gone on for too long. */
static bool device_short_locked(engine_dev *d) {
    double now = cpu_monotonic_seconds();
    if (!(d->short_since > 0)) {
        d->short_since = now;
        log_warn("device %s: others have its memory; it is waited for", d->id);
    }
    d->short_until = now + SHORT_REST;
    return now - d->short_since < SHORT_MOST;
}

/* What a failed start says about the device. */
static void started_badly(attempt *a, const cuzk_error *why) {
    cuzk_engine *e = a->engine;
    bool fault = !a->device->b->own_machine && (why->status == CUZK_DEVICE || why->status == CUZK_MEMORY);
    pthread_mutex_lock(&e->lock);
    /* What is free has changed since, perhaps: once it was short it counts as short until a proof was begun. */
    if (fault && why->status == CUZK_MEMORY && (a->no_room || a->device->short_since > 0))
        a->no_room = device_short_locked(a->device);
    if (a->no_room) fault = false;
    /* Proofs that were under way together (in one pass over a key, say) fail together: that is one fault. */
    double now = cpu_monotonic_seconds();
    if (fault && a->since + a->wait < a->device->fault_at) fault = false;
    if (fault) a->device->fault_at = now;
    attempt *chain = fault && !a->abandoned ? device_fault_locked(e, a->device, why->what, false, false) : NULL;
    if (fault) trace_record(e->events, TRACE_DEVICE_FAULT, a->job->seq, a->partition, a->lane);
    pthread_mutex_unlock(&e->lock);
    attempts_free(chain);
    attempt_failed(a, why, false);
}

/* After a start without memory: whether the device has less of it free than this proof wants. Otherwise it fails to
 * give what it has. */
static bool others_have_it(attempt *a, engine_dev *d) {
    const device_plan *plan = &a->prep->plan->on[d->index];
    backend_device_info info;
    cuzk_error ignored;
    if (!d->memory || d->b->device_info(d->number, &info, &ignored)) return false;
    pthread_mutex_lock(&a->engine->lock);
    bool there = a->resident && a->resident->shown;
    pthread_mutex_unlock(&a->engine->lock);
    bool makes = !there && resource_key(a->key)->key.recipe;
    return info.free_bytes < device_memory_most(plan, makes) - (there ? plan->shared_bytes : 0);
}

static void prove(cuzk_engine *e, attempt *a, engine_dev *d, lane *l) {
    cuzk_error err;
    trace_record(e->events, TRACE_DEVICE_TAKEN, a->job->seq, a->partition, l->trace_name);
    double begin = cpu_monotonic_seconds();
    cuzk_status s = start(a, d, &err);
    double took = cpu_monotonic_seconds() - begin;
    if (!s && d->b->forget_key) device_memory_show(a);
    if (s == CUZK_MEMORY) a->no_room = others_have_it(a, d);
    pthread_mutex_lock(&e->lock);
    atomic_store(&a->alive_ms, 0);
    e->in_flight--;
    attempt_permit_back_locked(a);
    device_busy_locked(d, -1);
    lane_idle_locked(l);
    l->stuck = false;
    if (!s) device_memory_started_locked(a);
    if (!s) d->short_since = 0;
    a->device_seconds = took;
    bool wanted = !a->abandoned;
    if (wanted && !s) {
        a->job->times.device += took;
        a->job->partitions[a->partition].state = PARTITION_FINISHING;
        a->next = NULL;
        attempt **at = &e->pending;
        while (*at) at = &(*at)->next;
        *at = a;
        e->n_pending++;
        trace_record(e->events, TRACE_PENDING, a->job->seq, a->partition, l->trace_name);
    }
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    if (!wanted)
        attempt_drop(a, l);
    else if (s)
        started_badly(a, &err);
}

/* Under the lock, given up meanwhile: what is free on a device changes with what others do there. Its worker for
 * critical work asks, since nobody else has the time for a device that hangs. */
static void look_locked(engine_dev *d, lane *l) {
    cuzk_engine *e = l->engine;
    backend_device_info info;
    cuzk_error ignored;
    lane_asks_locked(l, d);
    l->stuck = true; /* a healthy one answers at once: a stop need not wait long */
    pthread_mutex_unlock(&e->lock);
    cuzk_status s = d->b->device_info(d->number, &info, &ignored);
    pthread_mutex_lock(&e->lock);
    lane_asks_locked(l, NULL);
    if (!s) d->free_bytes = info.free_bytes;
    d->looked = cpu_monotonic_seconds();
}

static void idle_locked(engine_dev *d, lane *l) {
    double due = d->looked + LOOK_EVERY;
    if (cpu_monotonic_seconds() < d->short_until)
        engine_wait_locked(l->engine, d->short_until);
    else if (!l->critical_only || d->quarantined)
        engine_wait_locked(l->engine, -1);
    else if (cpu_monotonic_seconds() < due)
        engine_wait_locked(l->engine, due);
    else
        look_locked(d, l);
}

void *device_lane(void *arg) {
    lane *l = arg;
    cuzk_engine *e = l->engine;
    engine_dev *d = l->device;
    pthread_mutex_lock(&e->lock);
    while (!e->stopping) {
        attempt *a = take_locked(e, d, l->critical_only);
        if (!a) {
            idle_locked(d, l);
            continue;
        }
        taken_locked(a, d, l);
        pthread_mutex_unlock(&e->lock);
        prove(e, a, d, l);
        pthread_mutex_lock(&e->lock);
    }
    l->left = true;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- faults ---- */

attempt *devices_requeue_locked(cuzk_engine *e) {
    attempt *chain = NULL, *next;
    for (attempt *a = e->queue; a; a = next) {
        next = a->next;
        if (class_bytes(e, a->prep, a->cls, exclusions(e, a))) continue;
        partition *p = &a->job->partitions[a->partition];
        if (!attempt_abandon_locked(e, p)) continue;
        p->state = PARTITION_PENDING;
        if (p->attempts) p->attempts--; /* no try of a device's */
        a->next = chain;
        chain = a;
    }
    return chain;
}

attempt *device_fault_locked(cuzk_engine *e, engine_dev *d, const char *what, bool wrong_proof, bool at_once) {
    d->fault_weight += FAULT_WEIGHT;
    if (wrong_proof)
        d->wrong_proofs++;
    else
        d->faults++;
    if (d->quarantined || d->is_cpu) return NULL;
    if (!at_once && d->fault_weight < FAULT_LIMIT && d->wrong_proofs < WRONG_PROOFS) return NULL;
    d->quarantined = true;
    snprintf(d->why, sizeof d->why, "%.159s", what);
    log_error("device %s is in quarantine: %s", d->id, d->why);
    trace_record(e->events, TRACE_QUARANTINED, 0, TRACE_NO_PARTITION, d->id);
    engine_room_locked(e); /* its work may go where other bytes are needed */
    return devices_requeue_locked(e);
}
