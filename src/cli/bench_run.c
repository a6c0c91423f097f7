/* One run of a batch: client threads that submit and wait, one thread that samples memory, and the figures of it. */
#include "cli/bench.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/cpu.h"

enum { MAX_SAMPLES = 20000 };

typedef struct batch {
    const args *a;
    bench_target *target;
    const bench_input *in;
    bench_run *run;
    double start;
    size_t count;
    atomic_size_t next, ended;
    atomic_bool done; /* the sampler may end */
    size_t room;
} batch;

typedef struct client {
    batch *b;
    unsigned number;
    pthread_t thread;
} client;

static bool cancelled(const batch *b) {
    return b->a->control->cancel && atomic_load(b->a->control->cancel);
}

/* ---- clients ---- */

static void prove_one(batch *b, unsigned number, size_t i) {
    bench_proof *p = &b->run->proofs[i];
    cuzk_submission s = b->in->submission;
    cuzk_job_result result = {0};
    snprintf(p->id, sizeof p->id, "bench-%d-pw%u-gw%u-%zu", (int)getpid(), b->run->pw, b->run->gw, i);
    s.request_id = p->id;
    p->submitted = cpu_monotonic_seconds() - b->start;
    cuzk_status status = b->target->ops->prove(b->target, number, &s, &result, &p->error);
    p->ended = cpu_monotonic_seconds() - b->start;
    p->state = status ? CUZK_JOB_FAILED : result.state;
    p->attempts = result.attempts;
    p->times = result.times;
    if (!status && result.state != CUZK_JOB_COMPLETED) p->error = result.error;
    cuzk_job_result_free(&result);
}

static void *run_client(void *user) {
    client *c = user;
    for (;;) {
        size_t i = atomic_fetch_add(&c->b->next, 1);
        if (i >= c->b->count || cancelled(c->b)) return NULL;
        prove_one(c->b, c->number, i);
        atomic_fetch_add(&c->b->ended, 1);
    }
}

/* ---- samples ---- */

/* When the room is used up every second sample goes and the distance doubles, so that any length fits. */
static void thin(batch *b) {
    bench_run *r = b->run;
    for (size_t i = 0; i < r->n_samples / 2; i++) r->samples[i] = r->samples[2 * i];
    r->n_samples /= 2;
    b->target->sample_every *= 2;
}

static void take_sample(batch *b) {
    cuzk_error err;
    bench_run *r = b->run;
    bench_sample s = {0};
    double at = cpu_monotonic_seconds() - b->start;
    if (b->target->ops->sample(b->target, &s, &err)) return;
    s.at = at;
    if (s.rss > r->peak_rss) r->peak_rss = s.rss, r->unexplained = s.unexplained;
    if (s.budget > r->budget) r->budget = s.budget;
    if (r->n_samples == MAX_SAMPLES) thin(b);
    r->samples[r->n_samples++] = s;
}

static void *run_sampler(void *user) {
    batch *b = user;
    double next = 0;
    while (!atomic_load(&b->done)) {
        double now = cpu_monotonic_seconds();
        if (now >= next) {
            take_sample(b);
            next = now + b->target->sample_every;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    take_sample(b);
    return NULL;
}

/* ---- the run ---- */

static cuzk_status run_clients(batch *b, unsigned concurrency, cuzk_error *err) {
    client *clients = calloc(concurrency, sizeof *clients);
    pthread_t sampler;
    unsigned started = 0;
    int rc = clients ? pthread_create(&sampler, NULL, run_sampler, b) : 0;
    if (!clients || rc) {
        free(clients);
        return cuzk_fail(err, CUZK_MEMORY, "no thread for the samples");
    }
    for (unsigned i = 0; i < concurrency && !rc; i++) {
        clients[i] = (client){.b = b, .number = i};
        rc = pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
        started += !rc;
    }
    if (rc) atomic_store(&b->next, b->count);
    while (started && atomic_load(&b->ended) < b->count && !cancelled(b) && !rc) {
        if (b->a->control->progress) {
            b->a->control->progress(b->a->control->user, "proofs", atomic_load(&b->ended), b->count);
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    for (unsigned i = 0; i < started; i++) pthread_join(clients[i].thread, NULL);
    b->run->seconds = cpu_monotonic_seconds() - b->start;
    atomic_store(&b->done, true);
    pthread_join(sampler, NULL);
    free(clients);
    if (rc) return cuzk_fail_errno(err, rc, NULL, "a client's thread cannot be started");
    if (cancelled(b)) return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
    return CUZK_OK;
}

/* The kernel's mark of the highest RSS starts again, so that each run of a sweep has its own. */
static void reset_peaks(void) {
    cuzk_memory_reset_peaks();
    FILE *f = fopen("/proc/self/clear_refs", "we");
    if (!f) return; /* then the peak is that of all runs so far */
    fputs("5", f);
    fclose(f);
}

/* A run without a waterfall is a run all the same. */
static void take_slices(batch *b) {
    cuzk_error err;
    char *json = NULL;
    double asked = cpu_monotonic_seconds() - b->start;
    cuzk_status s = b->target->ops->trace(b->target, &json, &err);
    if (!s) s = bench_slices_read(b->run, json, asked, &err);
    if (s) note("the plot has no waterfall: %s", err.what);
    free(json);
}

cuzk_status bench_run_make(bench_run *r, const args *a, bench_target *t, const bench_input *in, size_t count,
                           unsigned concurrency, cuzk_error *err) {
    batch b = {.a = a, .target = t, .in = in, .run = r, .count = count};
    r->proofs = calloc(count, sizeof *r->proofs);
    r->samples = calloc(MAX_SAMPLES, sizeof *r->samples);
    if (!r->proofs || !r->samples) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu proofs", count);
    r->n_proofs = count;
    reset_peaks();
    b.start = cpu_monotonic_seconds();
    cuzk_status s = run_clients(&b, concurrency < count ? concurrency : (unsigned)count, err);
    for (size_t i = 0; i < count; i++) r->completed += r->proofs[i].state == CUZK_JOB_COMPLETED;
    if (!s) s = t->ops->finish(t, r, err);
    if (!s) take_slices(&b);
    return s;
}

void bench_run_free(bench_run *r) {
    free(r->proofs);
    free(r->samples);
    free(r->slices);
    *r = (bench_run){0};
}

/* ---- figures ---- */

double bench_latency(const bench_proof *p) {
    return p->ended - p->submitted;
}

double bench_quantile(const double *sorted, size_t n, double q) {
    if (!n) return 0;
    size_t rank = (size_t)ceil(q * (double)n);
    return sorted[rank ? rank - 1 : 0];
}

double bench_seconds_per_proof(const bench_run *r) {
    return r->completed ? r->seconds / (double)r->completed : 0;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *bench_sorted_latencies(const bench_run *r, size_t *n) {
    double *v = calloc(r->n_proofs + 1, sizeof *v);
    *n = 0;
    if (!v) return NULL;
    for (size_t i = 0; i < r->n_proofs; i++) {
        if (r->proofs[i].state == CUZK_JOB_COMPLETED) v[(*n)++] = bench_latency(&r->proofs[i]);
    }
    qsort(v, *n, sizeof *v, by_value);
    return v;
}

const char *bench_stage(size_t i, const cuzk_job_times *t, double *seconds) {
    static const struct {
        const char *name;
        size_t offset;
    } stages[] = {
        {"queue_wait", offsetof(cuzk_job_times, queue_wait)},
        {"key_load", offsetof(cuzk_job_times, key_load)},
        {"vanilla_check", offsetof(cuzk_job_times, vanilla_check)},
        {"synthesis", offsetof(cuzk_job_times, synthesis)},
        {"device_wait", offsetof(cuzk_job_times, device_wait)},
        {"device", offsetof(cuzk_job_times, device)},
        {"finish", offsetof(cuzk_job_times, finish)},
        {"verify", offsetof(cuzk_job_times, verify)},
        {"total", offsetof(cuzk_job_times, total)},
    };
    if (i >= sizeof stages / sizeof *stages) return NULL;
    memcpy(seconds, (const char *)t + stages[i].offset, sizeof *seconds);
    return stages[i].name;
}
