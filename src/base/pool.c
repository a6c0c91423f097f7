/* The thread pool; see base/pool.h.
 *
 * A run lives on its caller's stack and is in the pool's list while it has unclaimed tiles. The caller works on its own
 * run and on nothing else, so it can always finish it alone: nested and concurrent runs cannot wait for each other in a
 * circle. Idle workers join the listed run with the fewest threads, and stay until its tiles are claimed. A thread
 * joins a run at most once, so the number of joins is a slot number below the pool's size. Tiles are claimed by one
 * atomic counter; everything else is under the pool's mutex, which also publishes the tiles' results to the caller.
 *
 * Progress callbacks are serialised by one lock for the process, since one control may be used by several runs.
 * Limit: a run's workers do not move to another run before its last tile is claimed; tiles should take well under a
 * second.
 */
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cpu.h"

typedef struct run {
    const cuzk_control *control;
    const char *stage;
    pool_tile fn;
    void *ctx;
    size_t tiles, told; /* told: tiles reported, under progress_lock */
    atomic_size_t next;
    unsigned joined, active; /* under the pool's lock */
    bool listed;
    pthread_cond_t left; /* signalled when active reaches 0 */
    struct run *newer, *older;
} run;

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    unsigned threads, started;
    unsigned callers; /* runs in progress */
    bool stop;
    run *newest;
    pthread_t *workers; /* threads - 1 */
};

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;

static bool cancelled(const run *r) {
    return r->control && r->control->cancel && atomic_load_explicit(r->control->cancel, memory_order_relaxed);
}

static void tell(run *r) {
    if (!r->control || !r->control->progress || !r->stage) return;
    pthread_mutex_lock(&progress_lock);
    r->control->progress(r->control->user, r->stage, ++r->told, r->tiles);
    pthread_mutex_unlock(&progress_lock);
}

/* Runs tiles until none is left or the run is cancelled. */
static void work_on(run *r, unsigned slot) {
    while (!cancelled(r)) {
        size_t tile = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
        if (tile >= r->tiles) break;
        r->fn(r->ctx, tile, slot);
        tell(r);
    }
}

static void list_locked(pool *p, run *r) {
    r->older = p->newest;
    r->newer = NULL;
    if (p->newest) p->newest->newer = r;
    p->newest = r;
    r->listed = true;
}

static void unlist_locked(pool *p, run *r) {
    if (!r->listed) return;
    if (r->newer)
        r->newer->older = r->older;
    else
        p->newest = r->older;
    if (r->older) r->older->newer = r->newer;
    r->listed = false;
}

static run *choose_locked(pool *p) {
    run *best = NULL;
    for (run *r = p->newest; r; r = r->older)
        if (!best || r->active < best->active) best = r;
    return best;
}

static void *worker(void *arg) {
    pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        run *r;
        while (!(r = choose_locked(p)) && !p->stop) pthread_cond_wait(&p->work, &p->lock);
        if (!r) break;
        unsigned slot = r->joined++;
        assert(slot < p->threads);
        r->active++;
        pthread_mutex_unlock(&p->lock);
        work_on(r, slot);
        pthread_mutex_lock(&p->lock);
        unlist_locked(p, r); /* nothing is left to claim */
        if (!--r->active) pthread_cond_signal(&r->left);
        /* r may be gone as soon as the lock is */
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void stop_workers(pool *p) {
    pthread_mutex_lock(&p->lock);
    while (p->callers) pthread_cond_wait(&p->idle, &p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++) pthread_join(p->workers[i], NULL);
}

void pool_destroy(pool *p) {
    if (!p) return;
    stop_workers(p);
    pthread_cond_destroy(&p->idle);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

/* Signals go to the threads of the program, which know what to do with them. */
static int start_workers(pool *p) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = 0;
    while (!rc && p->started < p->threads - 1) {
        rc = pthread_create(&p->workers[p->started], NULL, worker, p);
        if (!rc) pthread_setname_np(p->workers[p->started++], "cuzk-pool");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

pool *pool_create(unsigned threads, cuzk_error *err) {
    if (!threads) threads = cpu_get()->threads;
    pool *p = calloc(1, sizeof *p);
    if (p) p->workers = calloc(threads, sizeof *p->workers);
    if (!p || !p->workers) {
        free(p);
        cuzk_fail(err, CUZK_MEMORY, "no memory for a pool of %u threads", threads);
        return NULL;
    }
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->idle, NULL);
    int rc = start_workers(p);
    if (rc) {
        unsigned started = p->started;
        pool_destroy(p);
        cuzk_fail_errno(err, rc, NULL, "a thread cannot be started");
        cuzk_fail_found(err, "%u threads wanted, %u started", threads, started + 1);
        cuzk_fail_hint(err, "use fewer threads or raise the limit of processes (ulimit -u)");
        err->status = CUZK_MEMORY;
        return NULL;
    }
    return p;
}

unsigned pool_threads(const pool *p) {
    return p ? p->threads : 1;
}

static void run_shared(pool *p, run *r) {
    pthread_cond_init(&r->left, NULL);
    pthread_mutex_lock(&p->lock);
    r->joined = r->active = 1; /* the caller has slot 0 */
    p->callers++;
    list_locked(p, r);
    size_t woken = r->tiles - 1 < p->threads - 1 ? r->tiles - 1 : p->threads - 1;
    for (size_t i = 0; i < woken; i++) pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    work_on(r, 0);
    pthread_mutex_lock(&p->lock);
    unlist_locked(p, r);
    r->active--;
    while (r->active) pthread_cond_wait(&r->left, &p->lock);
    if (!--p->callers) pthread_cond_broadcast(&p->idle);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_destroy(&r->left);
}

cuzk_status pool_run(pool *p, const cuzk_control *control, const char *stage, size_t tiles, pool_tile fn, void *ctx,
                     cuzk_error *err) {
    run r = {.control = control, .stage = stage, .fn = fn, .ctx = ctx, .tiles = tiles};
    if (p && p->threads > 1 && tiles > 1)
        run_shared(p, &r);
    else
        work_on(&r, 0);
    size_t ran = atomic_load_explicit(&r.next, memory_order_relaxed);
    if (ran >= tiles) return CUZK_OK;
    cuzk_fail(err, CUZK_CANCELLED, "cancelled");
    return cuzk_fail_where(err, "%s, after %zu of %zu tiles", stage ? stage : "work", ran, tiles);
}
