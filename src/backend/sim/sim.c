/* The simulated device; see backend/sim/sim.h.
 *
 * Stages of a proof: upload (device and host memory are taken and written), compute (in turn; the CPU proof runs, and
 * what it did not use of compute_seconds is slept), finish. Sleeping is in short
 * slices on one condition, so that cancelling and changed faults are seen at once. "launches" are counted one a stage:
 * upload, eval, ntt, the four kinds of sums, and the reading of results.
 */
#include "backend/sim/sim.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpu.h"

#define SLICE_SECONDS 0.004
#define KEYS 64u

typedef struct sim_key {
    uint64_t id; /* 0: free */
    bool forgotten;
} sim_key;

typedef struct waiter {
    struct waiter *next;
} waiter;

typedef struct sim_device {
    sim_faults faults;
    sim_stats stats;
    uint64_t allocations, launches, results;
    bool computing;
    struct waiter *first_waiter; /* for their turn to compute, in the order of their coming */
    sim_key keys[KEYS];
} sim_device;

typedef struct simulation {
    sim_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    sim_device device[SIM_MAX_DEVICES];
} simulation;

static simulation *sim;

/* The backend's own; the CPU's, beneath, is another type of the same name. */
struct pending_proof {
    unsigned device;
    pending_proof *beneath;
    buffer early, late;
    uint64_t device_bytes;
};

/* ---- time ---- */

static void wait_slice_locked(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)(SLICE_SECONDS * 1e9);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&sim->changed, &sim->lock, &t);
}

static bool is_cancelled(const cuzk_control *control) {
    return control && control->cancel && atomic_load(control->cancel);
}

static cuzk_status cancelled(cuzk_error *err) {
    return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
}

static cuzk_status dead(unsigned device, const char *stage, cuzk_error *err) {
    cuzk_fail(err, CUZK_DEVICE, "the simulated device is lost");
    return cuzk_fail_where(err, "device %u, %s", device, stage);
}

/* As long as the device hangs. */
static void hang_locked(unsigned device) {
    while (sim->device[device].faults.hang) pthread_cond_wait(&sim->changed, &sim->lock);
}

/* A sign of life without the lock, as a real device gives one after each tile. */
static void give_sign_locked(const cuzk_control *control, const char *stage) {
    if (!control || !control->progress) return;
    pthread_mutex_unlock(&sim->lock);
    control->progress(control->user, stage, 0, 0);
    pthread_mutex_lock(&sim->lock);
}

/* Lets `seconds` since `start` pass; a device that hangs gives no sign and hears none. */
static cuzk_status pass_time_locked(unsigned device, double start, double seconds, const char *stage,
                                    const cuzk_control *control, cuzk_error *err) {
    for (;;) {
        const sim_faults *f = &sim->device[device].faults;
        if (f->dead) return dead(device, stage, err);
        if (!f->hang) {
            if (is_cancelled(control)) return cancelled(err);
            if (cpu_monotonic_seconds() - start >= seconds * (f->slow > 0 ? f->slow : 1)) return CUZK_OK;
            give_sign_locked(control, stage);
        }
        wait_slice_locked();
    }
}

/* ---- faults ---- */

static bool every(uint64_t *count, unsigned n) {
    return n && ++*count % n == 0;
}

static cuzk_status launch_locked(unsigned device, const char *stage, cuzk_error *err) {
    sim_device *d = &sim->device[device];
    if (d->faults.dead) return dead(device, stage, err);
    if (!every(&d->launches, d->faults.launch_every)) return CUZK_OK;
    cuzk_fail(err, CUZK_DEVICE, "the simulated device reports an illegal access");
    cuzk_fail_where(err, "device %u, %s", device, stage);
    return cuzk_fail_hint(err, "a fault that was asked for");
}

static cuzk_status allocation_locked(unsigned device, const char *what, cuzk_error *err) {
    sim_device *d = &sim->device[device];
    if (!every(&d->allocations, d->faults.allocation_every)) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "the simulated device has no memory for %s", what);
    return cuzk_fail_where(err, "device %u", device);
}

/* ---- memory ---- */

static uint64_t pages(uint64_t bytes) {
    return (bytes + 4095) & ~(uint64_t)4095;
}

/* Of host_bytes: what goes after computing, and what stays until the end. */
static uint64_t early_bytes(void) {
    return pages(sim->options.host_bytes / 3 * 2);
}
static uint64_t late_bytes(void) {
    return pages(sim->options.host_bytes - sim->options.host_bytes / 3 * 2);
}

static void touch(buffer *b) {
    uint8_t *p = b->data;
    for (size_t i = 0; i < b->bytes; i += 4096) p[i] = 1;
}

static cuzk_status host_memory(unsigned device, buffer *b, buffer_class cls, uint64_t bytes, const char *what,
                               cuzk_error *err) {
    pthread_mutex_lock(&sim->lock);
    cuzk_status st = allocation_locked(device, what, err);
    pthread_mutex_unlock(&sim->lock);
    if (st == CUZK_OK) st = buffer_alloc(b, cls, (size_t)bytes, err);
    if (st == CUZK_OK) touch(b);
    return st;
}

static cuzk_status device_memory(pending_proof *p, cuzk_error *err) {
    const sim_options *o = &sim->options;
    pthread_mutex_lock(&sim->lock);
    sim_stats *s = &sim->device[p->device].stats;
    cuzk_status st = allocation_locked(p->device, "the proof", err);
    if (st == CUZK_OK && o->device_bytes > o->memory_bytes - s->live_bytes) {
        s->refused_bytes++;
        cuzk_fail(err, CUZK_MEMORY, "the simulated device's memory is full");
        cuzk_fail_where(err, "device %u", p->device);
        cuzk_fail_expected(err, "%" PRIu64 " bytes free", o->device_bytes);
        st = cuzk_fail_found(err, "%" PRIu64 " of %" PRIu64, o->memory_bytes - s->live_bytes, o->memory_bytes);
    }
    if (st == CUZK_OK) {
        p->device_bytes = o->device_bytes;
        s->live_bytes += p->device_bytes;
        if (s->live_bytes > s->peak_bytes) s->peak_bytes = s->live_bytes;
    }
    pthread_mutex_unlock(&sim->lock);
    return st;
}

static void free_pending(pending_proof *p) {
    buffer_free(&p->early);
    buffer_free(&p->late);
    pthread_mutex_lock(&sim->lock);
    sim->device[p->device].stats.live_bytes -= p->device_bytes;
    pthread_mutex_unlock(&sim->lock);
    free(p);
}

/* ---- keys ---- */

static void see_key(unsigned device, uint64_t id) {
    pthread_mutex_lock(&sim->lock);
    sim_device *d = &sim->device[device];
    sim_key *free_slot = NULL, *k;
    for (k = d->keys; k < d->keys + KEYS && k->id != id; k++)
        if (!free_slot && (!k->id || k->forgotten)) free_slot = k;
    if (k < d->keys + KEYS) {
        if (k->forgotten) d->stats.keys_used_after++;
    } else {
        d->stats.keys_seen++;
        if (free_slot) *free_slot = (sim_key){.id = id};
    }
    pthread_mutex_unlock(&sim->lock);
}

static void sim_forget_key(unsigned device, const proving_key *key) {
    if (!sim) return;
    sim_device *d = &sim->device[device];
    pthread_mutex_lock(&sim->lock);
    hang_locked(device);
    for (sim_key *k = d->keys; k < d->keys + KEYS; k++) {
        if (k->id != key->id || k->forgotten) continue;
        k->forgotten = true;
        d->stats.keys_forgotten++;
    }
    pthread_mutex_unlock(&sim->lock);
}

/* ---- proving ---- */

static cuzk_status upload(pending_proof *p, const cuzk_control *control, cuzk_error *err) {
    const sim_options *o = &sim->options;
    double start = cpu_monotonic_seconds();
    cuzk_status st = device_memory(p, err);
    if (st == CUZK_OK) st = host_memory(p->device, &p->early, BUFFER_EVAL_ABC, early_bytes(), "evaluations", err);
    if (st == CUZK_OK) st = host_memory(p->device, &p->late, BUFFER_MSM_SCRATCH, late_bytes(), "sums", err);
    if (st != CUZK_OK) return st;
    pthread_mutex_lock(&sim->lock);
    st = launch_locked(p->device, "upload", err);
    if (st == CUZK_OK) st = pass_time_locked(p->device, start, o->upload_seconds, "upload", control, err);
    pthread_mutex_unlock(&sim->lock);
    return st;
}

static void leave_queue_locked(sim_device *d, const waiter *w) {
    waiter **at = &d->first_waiter;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
}

/* Waits for the device to compute this proof next. */
static cuzk_status take_turn(unsigned device, const cuzk_control *control, cuzk_error *err) {
    sim_device *d = &sim->device[device];
    waiter self = {0}, **end = &d->first_waiter;
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&sim->lock);
    while (*end) end = &(*end)->next;
    *end = &self;
    while (st == CUZK_OK && (d->computing || d->first_waiter != &self)) {
        if (!d->faults.hang) give_sign_locked(control, "wait for the device");
        if (d->computing || d->first_waiter != &self) wait_slice_locked();
        if (!d->faults.hang && is_cancelled(control)) st = cancelled(err);
    }
    leave_queue_locked(d, &self);
    if (st == CUZK_OK) {
        d->computing = true;
        if (d->stats.first_busy == 0) d->stats.first_busy = cpu_monotonic_seconds();
    }
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    return st;
}

typedef struct telling {
    void (*holds)(void *user, uint64_t host_bytes);
    void *user;
    uint64_t more; /* this backend's own bytes */
    uint64_t beneath;
} telling;

static void tell(void *user, uint64_t host_bytes) {
    telling *t = user;
    t->beneath = host_bytes;
    if (t->holds) t->holds(t->user, host_bytes + t->more);
}

/* The proof itself, in the device's turn. */
static cuzk_status compute(pending_proof *p, prove_request *req, pool *workers, const cuzk_control *control,
                           cuzk_error *err) {
    static const char *const stages[] = {"eval", "ntt", "h MSM", "l MSM", "a MSM", "b MSM"};
    sim_device *d = &sim->device[p->device];
    double start = cpu_monotonic_seconds();
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&sim->lock);
    for (unsigned i = 0; i < sizeof stages / sizeof *stages && st == CUZK_OK; i++)
        st = launch_locked(p->device, stages[i], err);
    pthread_mutex_unlock(&sim->lock);
    if (st == CUZK_OK) st = backend_cpu()->prove_start(0, &p->beneath, req, workers, control, err);
    pthread_mutex_lock(&sim->lock);
    if (st == CUZK_OK) st = pass_time_locked(p->device, start, sim->options.compute_seconds, "compute", control, err);
    d->stats.last_busy = cpu_monotonic_seconds();
    d->stats.busy_seconds += d->stats.last_busy - start;
    d->computing = false;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    return st;
}

static void count(uint64_t *which) {
    pthread_mutex_lock(&sim->lock);
    ++*which;
    pthread_mutex_unlock(&sim->lock);
}

static cuzk_status sim_start(unsigned device, pending_proof **out, prove_request *req, pool *workers,
                             const cuzk_control *control, cuzk_error *err) {
    assert(device < sim->options.devices);
    sim_stats *stats = &sim->device[device].stats;
    *out = NULL;
    count(&stats->started);
    see_key(device, req->key->id);
    pending_proof *p = calloc(1, sizeof *p);
    if (!p) {
        witness_free(req->witness);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a proof");
    }
    p->device = device;
    telling t = {req->holds, req->holds_user, early_bytes() + late_bytes(), 0};
    prove_request beneath = *req;
    beneath.holds = tell;
    beneath.holds_user = &t;
    beneath.witness_gone = NULL; /* the simulated device has it as long as it computes */
    cuzk_status st = upload(p, control, err);
    if (st == CUZK_OK) st = take_turn(device, control, err);
    if (st == CUZK_OK) st = compute(p, &beneath, workers, control, err);
    secure_wipe(&beneath, sizeof beneath);
    witness_free(req->witness);
    if (st == CUZK_OK) {
        buffer_free(&p->early);
        if (t.holds) t.holds(t.user, t.beneath + late_bytes());
        *out = p;
        return CUZK_OK;
    }
    backend_cpu()->prove_abandon(p->beneath);
    free_pending(p);
    count(&stats->failed);
    return st;
}

/* Another point of the curve, or one bit of a coordinate. */
static void spoil(groth16_proof *proof, uint64_t which) {
    if (which % 2) {
        g1_affine_neg(&proof->c, &proof->c);
    } else {
        proof->a.x.l[0] ^= 4;
    }
}

static cuzk_status sim_finish(pending_proof *p, groth16_proof *out, prove_times *times, cuzk_error *err) {
    sim_device *d = &sim->device[p->device];
    double start = cpu_monotonic_seconds();
    pthread_mutex_lock(&sim->lock);
    cuzk_status st = launch_locked(p->device, "results", err);
    if (st == CUZK_OK) st = pass_time_locked(p->device, start, sim->options.finish_seconds, "finish", NULL, err);
    pthread_mutex_unlock(&sim->lock);
    if (st == CUZK_OK)
        st = backend_cpu()->prove_finish(p->beneath, out, times, err);
    else
        backend_cpu()->prove_abandon(p->beneath);
    pthread_mutex_lock(&sim->lock);
    ++*(st == CUZK_OK ? &d->stats.finished : &d->stats.failed);
    if (st == CUZK_OK && every(&d->results, d->faults.flip_every)) spoil(out, d->stats.wrong++);
    pthread_mutex_unlock(&sim->lock);
    free_pending(p);
    return st;
}

static void sim_abandon(pending_proof *p) {
    if (!p) return;
    pthread_mutex_lock(&sim->lock);
    hang_locked(p->device);
    sim->device[p->device].stats.abandoned++;
    pthread_mutex_unlock(&sim->lock);
    backend_cpu()->prove_abandon(p->beneath);
    free_pending(p);
}

/* ---- facts ---- */

static unsigned sim_count(void) {
    return sim->options.devices;
}

static cuzk_status sim_info(unsigned device, backend_device_info *out, cuzk_error *err) {
    if (device >= sim->options.devices) return cuzk_fail(err, CUZK_DEVICE, "there is no simulated device %u", device);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "simulated device %u", device);
    pthread_mutex_lock(&sim->lock);
    hang_locked(device);
    out->memory_bytes = sim->options.memory_bytes;
    out->free_bytes = sim->options.memory_bytes - sim->device[device].stats.live_bytes;
    pthread_mutex_unlock(&sim->lock);
    return CUZK_OK;
}

static cuzk_status sim_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit,
                            uint64_t device_limit, prove_plan *out, cuzk_error *err) {
    const sim_options *o = &sim->options;
    cuzk_status st = backend_cpu()->plan(device, s, threads, 0, 0, out, err);
    if (st != CUZK_OK) return st;
    out->host_bytes += early_bytes() + late_bytes();
    out->host_by_class[BUFFER_EVAL_ABC] += early_bytes();
    out->host_by_class[BUFFER_MSM_SCRATCH] += late_bytes();
    out->device_bytes = o->device_bytes;
    bool host = host_limit && out->host_bytes > host_limit;
    if (!host && !(device_limit && out->device_bytes > device_limit)) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "the proof does not fit the %s memory limit", host ? "host" : "device");
    cuzk_fail_expected(err, "%" PRIu64 " bytes", host ? out->host_bytes : out->device_bytes);
    return cuzk_fail_found(err, "a limit of %" PRIu64 " bytes", host ? host_limit : device_limit);
}

sim_stats backend_sim_stats(unsigned device) {
    pthread_mutex_lock(&sim->lock);
    sim_stats s = sim->device[device].stats;
    pthread_mutex_unlock(&sim->lock);
    return s;
}

void backend_sim_faults(unsigned device, const sim_faults *faults) {
    pthread_mutex_lock(&sim->lock);
    sim->device[device].faults = *faults;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
}

const backend *backend_sim_create(const sim_options *options, cuzk_error *err) {
    static const backend b = {
        .version = BACKEND_VERSION,
        .name = "sim",
        .lazy_witness = true,
        .device_count = sim_count,
        .device_info = sim_info,
        .plan = sim_plan,
        .prove_start = sim_start,
        .prove_finish = sim_finish,
        .prove_abandon = sim_abandon,
        .forget_key = sim_forget_key,
    };
    assert(options->devices >= 1 && options->devices <= SIM_MAX_DEVICES);
    if (sim) {
        cuzk_fail(err, CUZK_USAGE, "there is a simulation already");
        return NULL;
    }
    sim = calloc(1, sizeof *sim);
    if (!sim) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for a simulation");
        return NULL;
    }
    sim->options = *options;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sim->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&sim->lock, NULL);
    return &b;
}

void backend_sim_destroy(void) {
    if (!sim) return;
    pthread_cond_destroy(&sim->changed);
    pthread_mutex_destroy(&sim->lock);
    free(sim);
    sim = NULL;
}
