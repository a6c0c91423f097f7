/* The threads beside the loop: workers that call the engine, and the watcher of awaited jobs.
 *
 * A waiting call is in one list. The watcher sleeps in engine_generation and looks at every awaited job after each
 * change; the loop takes calls out when their clients leave or their time is over. Whoever takes a call out of the list
 * answers it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rpc/internal.h"

#define QUICK_WORKERS 4
#define SLOW_WORKERS 2
#define WATCH_SECONDS 0.25 /* also how long stopping may wait for it */

struct wait_end {
    wait_end *next;
    uint64_t seq;
    bool wishes_end;
};

/* ---- workers ---- */

static wait_end *next_end(rpc_server *s, const work_queue *q) {
    wait_end *end = q == &s->quick ? s->ends : NULL;
    if (end) s->ends = end->next;
    return end;
}

static void work(rpc_server *s, work_queue *q) {
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        wait_end *end = next_end(s, q);
        rpc_call *c = end ? NULL : q->first;
        if (c) {
            q->first = c->work_next;
            if (!q->first) q->last = &q->first;
        } else if (!end) {
            if (s->closed) break;
            pthread_cond_wait(&q->more, &s->mutex);
            continue;
        }
        pthread_mutex_unlock(&s->mutex);
        if (end)
            engine_wait_end(s->engine, end->seq, end->wishes_end);
        else
            c->method->run(c);
        free(end);
        pthread_mutex_lock(&s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
}

static void *quick_worker(void *server) {
    rpc_server *s = server;
    work(s, &s->quick);
    return NULL;
}

static void *slow_worker(void *server) {
    rpc_server *s = server;
    work(s, &s->slow);
    return NULL;
}

void work_push(rpc_server *s, rpc_call *c) {
    work_queue *q = c->method->slow ? &s->slow : &s->quick;
    c->work_next = NULL;
    pthread_mutex_lock(&s->mutex);
    *q->last = c;
    q->last = &c->work_next;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&s->mutex);
}

void work_done(rpc_call *c) {
    rpc_server *s = c->server;
    pthread_mutex_lock(&s->mutex);
    c->done_next = s->done;
    s->done = c;
    pthread_mutex_unlock(&s->mutex);
    server_wake(s);
}

/* ---- waiting calls ---- */

static void unlink_locked(rpc_server *s, rpc_call *c) {
    if (c->await_before)
        c->await_before->await_next = c->await_next;
    else
        s->awaiting = c->await_next;
    if (c->await_next) c->await_next->await_before = c->await_before;
    c->await_next = c->await_before = NULL;
    c->awaited = false;
}

/* A worker tells the engine, which may have to end the job: that writes to the store and frees memory, and the loop has
 * no time for it. */
static void end_wait(rpc_server *s, uint64_t seq, bool wishes_end) {
    wait_end *end = malloc(sizeof *end);
    if (!end) {
        engine_wait_end(s->engine, seq, wishes_end);
        return;
    }
    *end = (wait_end){.seq = seq, .wishes_end = wishes_end};
    pthread_mutex_lock(&s->mutex);
    end->next = s->ends;
    s->ends = end;
    pthread_cond_signal(&s->quick.more);
    pthread_mutex_unlock(&s->mutex);
}

bool await_take(rpc_call *c, bool client_left) {
    rpc_server *s = c->server;
    pthread_mutex_lock(&s->mutex);
    bool mine = c->awaited;
    if (mine) unlink_locked(s, c);
    pthread_mutex_unlock(&s->mutex);
    if (mine) end_wait(s, c->seq, client_left && c->cancel_on_disconnect);
    return mine;
}

rpc_call *await_expired(rpc_server *s, double now, double *next) {
    rpc_call *found = NULL;
    pthread_mutex_lock(&s->mutex);
    for (rpc_call *c = s->awaiting; c && !found; c = c->await_next) {
        if (c->await_deadline <= 0) continue;
        if (now >= c->await_deadline)
            found = c;
        else if (c->await_deadline < *next)
            *next = c->await_deadline;
    }
    if (found) unlink_locked(s, found);
    pthread_mutex_unlock(&s->mutex);
    if (found) end_wait(s, found->seq, false);
    return found;
}

/* The call of this number, taken out of the list; NULL when somebody else has it. Calls are named by number here, since
 * the loop may free one that is in the list. */
static rpc_call *take_by_id(rpc_server *s, uint64_t id) {
    pthread_mutex_lock(&s->mutex);
    rpc_call *c = s->awaiting;
    while (c && c->id != id) c = c->await_next;
    if (c) unlink_locked(s, c);
    pthread_mutex_unlock(&s->mutex);
    return c;
}

/* Answers the call when its job has ended. */
static void look(rpc_server *s, uint64_t id, uint64_t seq) {
    cuzk_error err;
    cuzk_job_result result;
    cuzk_status status = engine_await_seq(s->engine, seq, 0, &result, &err);
    bool goes_on = !status && (result.state == CUZK_JOB_QUEUED || result.state == CUZK_JOB_RUNNING);
    rpc_call *c = goes_on ? NULL : take_by_id(s, id);
    if (c) {
        if (status)
            call_fail_status(c, &err);
        else
            answer_result(c, &result, false);
        engine_wait_end(s->engine, seq, false);
        work_done(c);
    }
    if (!status) cuzk_job_result_free(&result);
}

void await_add(rpc_call *c) {
    rpc_server *s = c->server;
    uint64_t id = c->id, seq = c->seq;
    pthread_mutex_lock(&s->mutex);
    c->await_before = NULL;
    c->await_next = s->awaiting;
    if (c->await_next) c->await_next->await_before = c;
    s->awaiting = c;
    c->awaited = true;
    pthread_mutex_unlock(&s->mutex);
    look(s, id, seq); /* it may have ended before it was in the list */
    server_wake(s);   /* for its deadline, or as its client left meanwhile */
}

/* ---- the watcher ---- */

typedef struct watched {
    uint64_t id, seq;
} watched;

static size_t snapshot(rpc_server *s, watched *out, size_t room) {
    size_t n = 0;
    pthread_mutex_lock(&s->mutex);
    for (rpc_call *c = s->awaiting; c && n < room; c = c->await_next) out[n++] = (watched){c->id, c->seq};
    pthread_mutex_unlock(&s->mutex);
    return n;
}

static bool is_closed(rpc_server *s) {
    pthread_mutex_lock(&s->mutex);
    bool closed = s->closed;
    pthread_mutex_unlock(&s->mutex);
    return closed;
}

static void *watch(void *server) {
    rpc_server *s = server;
    uint64_t seen = engine_generation(s->engine, UINT64_MAX, 0);
    watched *all = calloc(s->max_calls, sizeof *all);
    while (all && !is_closed(s)) {
        size_t n = snapshot(s, all, s->max_calls);
        for (size_t i = 0; i < n; i++) look(s, all[i].id, all[i].seq);
        /* Many waiters are looked after less often: together they cost a few percent of a processor at most. */
        usleep((useconds_t)(n * 20));
        seen = engine_generation(s->engine, seen, WATCH_SECONDS);
    }
    free(all);
    return NULL;
}

/* ---- start and stop ---- */

static cuzk_status start_queue(rpc_server *s, work_queue *q, unsigned n, void *(*run)(void *), cuzk_error *err) {
    while (q->n_threads < n) {
        int rc = pthread_create(&q->threads[q->n_threads], NULL, run, s);
        if (rc) return cuzk_fail_errno(err, rc, "", "starting a thread of the server");
        q->n_threads++;
    }
    return CUZK_OK;
}

cuzk_status work_start(rpc_server *s, cuzk_error *err) {
    cuzk_status status = start_queue(s, &s->quick, QUICK_WORKERS, quick_worker, err);
    if (!status) status = start_queue(s, &s->slow, SLOW_WORKERS, slow_worker, err);
    if (status) return status;
    int rc = pthread_create(&s->watcher, NULL, watch, s);
    if (rc) return cuzk_fail_errno(err, rc, "", "starting a thread of the server");
    s->watcher_runs = true;
    return CUZK_OK;
}

static void join_queue(work_queue *q) {
    for (unsigned i = 0; i < q->n_threads; i++) pthread_join(q->threads[i], NULL);
    q->n_threads = 0;
}

void work_stop(rpc_server *s) {
    pthread_mutex_lock(&s->mutex);
    s->closed = true;
    pthread_cond_broadcast(&s->quick.more);
    pthread_cond_broadcast(&s->slow.more);
    pthread_mutex_unlock(&s->mutex);
    join_queue(&s->quick);
    join_queue(&s->slow);
    if (s->watcher_runs) pthread_join(s->watcher, NULL);
    s->watcher_runs = false;
}
