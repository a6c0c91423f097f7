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

#define PASS_BYTES_PER_SECOND 30e9 /* about what a pass takes */
#define LOOK_SECONDS 0.1           /* between looks at a cancel flag … */
#define LINGER_LOOK 0.005          /* … and, while others may come, at who is there */

/* One proof that waits for its pass, or rides in it; on its thread's stack until it has ended. */
typedef struct rider {
    gpu_proof *proof;
    const resident *key, *shape;
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

static bool together(const rider *a, const rider *b) {
    return a->key == b->key && a->shape == b->shape;
}

static unsigned waiting_with_locked(const pass_queue *q, const rider *leader) {
    unsigned n = 0;
    for (const rider *r = q->waiting; r; r = r->next) n += together(r, leader);
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

/* Those that are cancelled find that out for themselves. */
static void take_along_locked(pass *p, const rider *leader) {
    rider *next;
    for (rider *r = p->q->waiting; r && p->n < GPU_PASS_MOST; r = next) {
        next = r->next;
        if (!together(r, leader) || (r != leader && cancelled(r))) continue;
        remove_locked(p->q, r);
        r->state = RIDING;
        p->proofs[p->n] = r->proof;
        p->riders[p->n++] = r;
    }
}

/* Waits for those that the key was laid out for: as long as there are others with this key, which are on their way or
 * end and make room for the next, and a twentieth of a pass longer; half a pass at most, which is what sharing saves.
 */
static void linger_locked(pass_queue *q, const rider *leader, unsigned expected, double pass_seconds) {
    double start = cpu_monotonic_seconds(), alone_since = start;
    for (;;) {
        unsigned here = waiting_with_locked(q, leader);
        double now = cpu_monotonic_seconds();
        if (here >= expected || cancelled(leader)) return;
        if (resident_users(leader->key) > here) alone_since = now;
        if (now - alone_since >= pass_seconds / 20 || now - start >= pass_seconds / 2) return;
        wait_locked(q, LINGER_LOOK);
    }
}

/* Under the lock, given up meanwhile. */
static void ride_locked(pass *p, unsigned device, const proving_key *key, const gpu_key_layout *layout, pool *workers) {
    cuzk_error why = {0};
    uint64_t held = 0;
    cuzk_control control = {.cancel = &p->cancel, .progress = step, .user = p};
    pthread_mutex_unlock(&p->q->lock);
    cuzk_status st = stream_run(p->proofs, p->n, device, key, layout, &held, workers, &control, &why);
    pthread_mutex_lock(&p->q->lock);
    for (unsigned i = 0; i < p->n; i++) {
        p->riders[i]->status = st;
        p->riders[i]->why = why;
        p->riders[i]->held = held;
        p->riders[i]->state = ENDED;
    }
    if (st != CUZK_OK) return;
    p->q->passes++;
    p->q->carried += p->n;
}

/* The first that waits leads, unless it is cancelled meanwhile. */
static void lead_locked(pass_queue *q, const rider *leader, unsigned device, const proving_key *key, pool *workers) {
    gpu_key_layout layout = cuda_module()->key_layout(leader->key->object);
    gpu_key_source source = stream_source(key);
    q->running = true;
    linger_locked(q, leader, layout.together,
                  (double)stream_missing_bytes(&source, layout.sections) / PASS_BYTES_PER_SECOND);
    if (!cancelled(leader)) {
        pass p = {.q = q};
        take_along_locked(&p, leader);
        ride_locked(&p, device, key, &layout, workers);
    }
    q->running = false;
    pthread_cond_broadcast(&q->changed);
}

/* A sign of life when the pass goes on; without the lock, since the callback may take its time. */
static void tell_locked(pass_queue *q, const cuzk_control *control, uint64_t *seen) {
    uint64_t steps = atomic_load(&q->steps);
    if (steps == *seen || !control || !control->progress) return;
    *seen = steps;
    pthread_mutex_unlock(&q->lock);
    control->progress(control->user, "key to device", 0, 0);
    pthread_mutex_lock(&q->lock);
}

cuzk_status pass_run(gpu_proof *proof, unsigned device, const proving_key *key, const resident *key_there,
                     const resident *shape_there, uint64_t *held, pool *workers, const cuzk_control *control,
                     cuzk_error *err) {
    pass_queue *q = queue_of(device);
    rider me = {.proof = proof, .key = key_there, .shape = shape_there, .control = control, .state = WAITING};
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
            continue;
        }
        wait_locked(q, LOOK_SECONDS);
        tell_locked(q, control, &seen);
    }
    pthread_mutex_unlock(&q->lock);
    *held = me.held;
    if (me.status != CUZK_OK) *err = me.why;
    return me.status;
}
