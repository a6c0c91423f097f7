/* See engine/load.h. */
#include "engine/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cpu.h"

static _Noreturn void give_up(const char *what, const cuzk_error *err) {
    fprintf(stderr, "load: %s: %s (%s) expected %s found %s\n", what, err->what, err->where, err->expected, err->found);
    abort();
}

/* ---- memory ---- */

static void *watch(void *user) {
    memory_watch *w = user;
    int64_t before = INT64_MIN;
    while (!atomic_load(&w->stop)) {
        /* The tracked bytes on both sides, as buffers come and go between the two readings. */
        uint64_t t1 = buffer_total_stats().live_bytes, rss = cpu_rss_bytes(), t2 = buffer_total_stats().live_bytes;
        uint64_t tracked = t1 > t2 ? t1 : t2;
        int64_t unexplained = (int64_t)(rss - w->start_rss) - (int64_t)(tracked - w->start_tracked);
        if (rss > w->start_rss && rss - w->start_rss > w->peak_rss) {
            w->peak_rss = rss - w->start_rss;
            w->tracked_at_peak_rss = (int64_t)(tracked - w->start_tracked);
        }
        if (tracked > w->start_tracked && tracked - w->start_tracked > w->peak_tracked)
            w->peak_tracked = tracked - w->start_tracked;
        int64_t both = unexplained < before ? unexplained : before; /* one sample alone may fall into an unmapping */
        if (both > w->worst_unexplained) w->worst_unexplained = both;
        before = unexplained;
        w->samples++;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return NULL;
}

void memory_watch_start(memory_watch *w) {
    memset(w, 0, sizeof *w);
    w->start_rss = cpu_rss_bytes();
    w->start_tracked = buffer_total_stats().live_bytes;
    if (pthread_create(&w->thread, NULL, watch, w)) abort();
}

void memory_watch_stop(memory_watch *w) {
    atomic_store(&w->stop, true);
    pthread_join(w->thread, NULL);
}

uint64_t memory_slack(uint64_t bytes) {
    const uint64_t least = (uint64_t)100 << 20;
    return bytes / 20 > least ? bytes / 20 : least;
}

/* ---- load ---- */

typedef struct client {
    load *l;
    pthread_t thread;
    atomic_uint *next;
    pthread_mutex_t *lock;
} client;

static void note_failure(client *c, const cuzk_error *why) {
    if (atomic_fetch_add(&c->l->failed, 1)) return;
    pthread_mutex_lock(c->lock);
    c->l->first_error = *why;
    pthread_mutex_unlock(c->lock);
}

static void one_job(client *c, unsigned number) {
    load *l = c->l;
    char id[128];
    cuzk_job_ticket ticket;
    cuzk_job_result r;
    cuzk_error err;
    uint64_t start = 1000 * (uint64_t)number + 17;
    snprintf(id, sizeof id, "%s-%u", l->name ? l->name : "load", number);
    char *request = toy_request(l->bytes, l->partitions, start, -1, l->witness_ms);
    cuzk_submission s = engine_case_toy(id, request);
    s.priority = l->priority;
    cuzk_status st = cuzk_engine_submit(l->engine, &s, &ticket, &err);
    free(request);
    if (!st) st = cuzk_engine_await(l->engine, id, 600, &r, &err);
    if (st) {
        note_failure(c, &err);
        return;
    }
    if (r.state != CUZK_JOB_COMPLETED)
        note_failure(c, &r.error);
    else if (!toy_verify(&toy_kind, l->bytes, l->partitions, start, r.proof, r.proof_bytes))
        atomic_fetch_add(&l->wrong, 1);
    else
        atomic_fetch_add(&l->completed, 1);
    cuzk_job_result_free(&r);
}

static void *be_client(void *user) {
    client *c = user;
    for (unsigned i; (i = atomic_fetch_add(c->next, 1)) < c->l->jobs;) one_job(c, i);
    return NULL;
}

void load_run(load *l) {
    atomic_uint next = 0;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    client *clients = calloc(l->clients, sizeof *clients);
    if (!clients) abort();
    double start = cpu_monotonic_seconds();
    for (unsigned i = 0; i < l->clients; i++) {
        clients[i] = (client){.l = l, .next = &next, .lock = &lock};
        if (pthread_create(&clients[i].thread, NULL, be_client, &clients[i])) abort();
    }
    for (unsigned i = 0; i < l->clients; i++) pthread_join(clients[i].thread, NULL);
    l->seconds = cpu_monotonic_seconds() - start;
    free(clients);
}

/* ---- engine ---- */

cuzk_engine *load_engine(const cuzk_engine_options *o, const sim_options *sim, bool with_cpu, bool release_early) {
    static const circuit_kind *const kinds[] = {&toy_kind, &toy_lazy_kind};
    engine_device devices[SIM_MAX_DEVICES + 1];
    cuzk_error err;
    cuzk_engine *e;
    const backend *b = backend_sim_create(sim, &err);
    if (!b) give_up("simulation", &err);
    size_t n = 0;
    for (; n < sim->devices; n++) devices[n] = (engine_device){.backend = b, .device = (unsigned)n};
    if (with_cpu) devices[n++] = (engine_device){.backend = backend_cpu(), .is_cpu = true};
    engine_setup setup = {
        .devices = devices, .n_devices = n, .kinds = kinds, .n_kinds = 2, .fault_release_early = release_early};
    if (engine_start(&e, o, &setup, &err)) give_up("start", &err);
    return e;
}

void load_engine_stop(cuzk_engine *e) {
    cuzk_engine_stop(e, 0);
    backend_sim_destroy();
}

uint64_t load_plan(const sim_options *sim, uint64_t bytes, unsigned threads) {
    uint64_t early = (sim->host_bytes / 3 * 2 + 4095) & ~(uint64_t)4095;
    uint64_t late = (sim->host_bytes - sim->host_bytes / 3 * 2 + 4095) & ~(uint64_t)4095;
    return engine_case_plan(bytes, threads) + early + late;
}

void load_warm(uint64_t bytes) {
    cuzk_engine_options o = engine_case_options();
    cuzk_engine *e = engine_case_start(&o, NULL, 0, NULL);
    char *request = toy_request(bytes, 1, 1, -1, 0);
    cuzk_submission s = engine_case_toy("warm", request);
    engine_case_submit(e, &s, false);
    engine_case_expect(e, "warm", CUZK_JOB_COMPLETED, bytes, 1, 1);
    free(request);
    cuzk_engine_stop(e, 0);
}
