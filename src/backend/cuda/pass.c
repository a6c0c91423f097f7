/* Passes over the part of a key that its device does not hold: proofs that come while one is under way share the next;
 * see backend/cuda/resident.h.
 *
 * The first of those that wait leads: it takes the others of its key along, reads the key for all, and tells each how
 * it went. One pass at a time on a device, since the pinned buffers and the host's memory would be shared by two. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "backend/cuda/resident.h"
#include "base/cpu.h"

/* A leader waits for those that its key was laid out for, but no longer than a twentieth of what a pass takes. */
#define LINGER_BYTES_PER_SECOND 360e9
#define LOOK_SECONDS 0.1 /* between looks at a cancel flag */

/* One proof that waits for its pass, or rides in it; on its thread's stack until it has ended. */
typedef struct rider {
    gpu_proof *proof;
    const gpu_key *key;
    const cuzk_control *control;
    enum { WAITING, RIDING, ENDED } state;
    cuzk_status status;
    cuzk_error why;
    uint64_t held;
    struct rider *next; /* of those that wait */
} rider;

typedef struct pass_queue { /* of a device */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    rider *waiting;         /* in the order of their coming */
    bool running;
    uint64_t passes, carried;    /* so far */
    atomic_uint_least64_t steps; /* of all passes, as signs of life */
} pass_queue;

static pass_queue queues[GPU_DEVICES];
static pthread_once_t queues_made = PTHREAD_ONCE_INIT;

static void make_queues(void) {
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    for (unsigned d = 0; d < GPU_DEVICES; d++) {
        pthread_mutex_init(&queues[d].lock, NULL);
        pthread_cond_init(&queues[d].changed, &clock);
    }
    pthread_condattr_destroy(&clock);
}

static pass_queue *queue_of(unsigned device) {
    assert(device < GPU_DEVICES);
    pthread_once(&queues_made, make_queues);
    return &queues[device];
}

void backend_cuda_pass_counts(unsigned device, uint64_t *passes, uint64_t *proofs) {
    pass_queue *q = queue_of(device);
    pthread_mutex_lock(&q->lock);
    *passes = q->passes;
    *proofs = q->carried;
    pthread_mutex_unlock(&q->lock);
}

static void wait_locked(pass_queue *q, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&q->changed, &q->lock, &until);
}

static void append_locked(pass_queue *q, rider *r) {
    rider **at = &q->waiting;
    while (*at) at = &(*at)->next;
    *at = r;
    pthread_cond_broadcast(&q->changed);
}

static void remove_locked(pass_queue *q, const rider *r) {
    rider **at = &q->waiting;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
}

static unsigned of_key_locked(const pass_queue *q, const gpu_key *key) {
    unsigned n = 0;
    for (const rider *r = q->waiting; r; r = r->next) n += r->key == key;
    return n;
}

static bool cancelled(const rider *r) {
    cuzk_error ignored;
    return upload_cancelled(r->control, &ignored) != CUZK_OK;
}

/* ---- the pass ---- */

typedef struct pass {
    pass_queue *q;
    rider *riders[GPU_PASS_MOST]; /* the leader is the first */
    gpu_proof *proofs[GPU_PASS_MOST];
    unsigned n;
    atomic_int cancel; /* nobody wants it any more */
} pass;

static void step(void *user, const char *stage, uint64_t done, uint64_t total) {
    pass *p = user;
    const cuzk_control *leader = p->riders[0]->control;
    unsigned gone = 0;
    atomic_fetch_add(&p->q->steps, 1);
    for (unsigned i = 0; i < p->n; i++) gone += cancelled(p->riders[i]);
    if (gone == p->n) atomic_store(&p->cancel, 1);
    if (leader && leader->progress) leader->progress(leader->user, stage, done, total);
}

static void take_along_locked(pass *p, const rider *leader) {
    rider *next;
    for (rider *r = p->q->waiting; r && p->n < GPU_PASS_MOST; r = next) {
        next = r->next;
        if (r->key != leader->key) continue;
        remove_locked(p->q, r);
        r->state = RIDING;
        p->proofs[p->n] = r->proof;
        p->riders[p->n++] = r;
    }
}

/* Under the lock, given up meanwhile. */
static void lead_locked(pass_queue *q, const rider *leader, unsigned device, const proving_key *key, pool *workers) {
    gpu_key_layout layout = cuda_module()->key_layout(leader->key);
    gpu_key_source source = stream_source(key);
    double linger = (double)stream_missing_bytes(&source, layout.sections) / LINGER_BYTES_PER_SECOND;
    double until = cpu_monotonic_seconds() + linger;
    q->running = true;
    while (of_key_locked(q, leader->key) < layout.together && !cancelled(leader)) {
        double left = until - cpu_monotonic_seconds();
        if (left <= 0) break;
        wait_locked(q, left < LOOK_SECONDS ? left : LOOK_SECONDS);
    }
    pass p = {.q = q};
    take_along_locked(&p, leader);
    pthread_mutex_unlock(&q->lock);
    cuzk_error why = {0};
    uint64_t held = 0;
    cuzk_control control = {.cancel = &p.cancel, .progress = step, .user = &p};
    cuzk_status st = stream_run(p.proofs, p.n, device, key, layout.sections, &held, workers, &control, &why);
    pthread_mutex_lock(&q->lock);
    for (unsigned i = 0; i < p.n; i++) {
        p.riders[i]->status = st;
        p.riders[i]->why = why;
        p.riders[i]->held = held;
        p.riders[i]->state = ENDED;
    }
    q->passes++;
    q->carried += p.n;
    q->running = false;
    pthread_cond_broadcast(&q->changed);
}

cuzk_status pass_run(gpu_proof *proof, unsigned device, const proving_key *key, const gpu_key *on_device,
                     uint64_t *held, pool *workers, const cuzk_control *control, cuzk_error *err) {
    pass_queue *q = queue_of(device);
    rider me = {.proof = proof, .key = on_device, .control = control, .state = WAITING};
    uint64_t seen = atomic_load(&q->steps);
    pthread_mutex_lock(&q->lock);
    append_locked(q, &me);
    while (me.state != ENDED) {
        if (me.state == WAITING && cancelled(&me)) {
            remove_locked(q, &me);
            pthread_cond_broadcast(&q->changed); /* another may lead now */
            me.status = upload_cancelled(control, &me.why);
            break;
        }
        if (me.state == WAITING && !q->running && q->waiting == &me) {
            lead_locked(q, &me, device, key, workers);
            break;
        }
        wait_locked(q, LOOK_SECONDS);
        uint64_t steps = atomic_load(&q->steps);
        if (steps != seen && control && control->progress) control->progress(control->user, "key to device", 0, 0);
        seen = steps;
    }
    pthread_mutex_unlock(&q->lock);
    *held = me.held;
    if (me.status != CUZK_OK) *err = me.why;
    return me.status;
}
