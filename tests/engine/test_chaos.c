/* Everything at once, for a few seconds: clients that submit, cancel, let deadlines pass, evict, preload and look at
 * every document, while devices fail, return wrong results and hang for a moment. What completes is right, everything
 * ends, and everything is given back. Meant for the thread sanitizer, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "engine/load.h"
#include "ref/groth16_case.h"

#define CLIENTS 6
#define SECONDS 3.0

static char folder[256];
static const uint64_t sizes[] = {1024, 2048, 4096};

typedef struct chaos {
    cuzk_engine *e;
    double until;
    atomic_uint completed, failed, cancelled, wrong, refused, stuck;
    unsigned seed;
} chaos;

static void nap(unsigned ms) {
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static void await_job(chaos *c, const char *id, uint64_t bytes, unsigned partitions, uint64_t start) {
    cuzk_job_result r;
    cuzk_error err;
    if (cuzk_engine_await(c->e, id, 120, &r, &err)) {
        atomic_fetch_add(&c->stuck, 1);
        return;
    }
    switch (r.state) {
    case CUZK_JOB_COMPLETED:
        if (toy_verify(&toy_kind, bytes, partitions, start, r.proof, r.proof_bytes))
            atomic_fetch_add(&c->completed, 1);
        else
            atomic_fetch_add(&c->wrong, 1);
        break;
    case CUZK_JOB_FAILED: atomic_fetch_add(&c->failed, 1); break;
    case CUZK_JOB_CANCELLED: atomic_fetch_add(&c->cancelled, 1); break;
    default: atomic_fetch_add(&c->stuck, 1);
    }
    cuzk_job_result_free(&r);
}

static void one_job(chaos *c, unsigned *seed, unsigned client, unsigned number) {
    char id[64];
    cuzk_job_ticket ticket;
    cuzk_error err;
    bool was;
    unsigned which = (unsigned)rand_r(seed) % 3, partitions = 1 + (unsigned)rand_r(seed) % 4;
    uint64_t start = 100000 * (uint64_t)client + 10 * (uint64_t)number;
    snprintf(id, sizeof id, "chaos-%u-%u", client, number);
    char *request = toy_request(sizes[which], partitions, start, -1, (unsigned)rand_r(seed) % 4);
    cuzk_submission s = engine_case_toy(id, request);
    s.priority = (cuzk_priority)((unsigned)rand_r(seed) % 5);
    if (rand_r(seed) % 6 == 0) s.deadline_seconds = 0.02 + 0.001 * (rand_r(seed) % 100);
    cuzk_status st = cuzk_engine_submit(c->e, &s, &ticket, &err);
    free(request);
    if (st) {
        atomic_fetch_add(&c->refused, 1);
        return;
    }
    if (rand_r(seed) % 4 == 0) {
        nap((unsigned)rand_r(seed) % 40);
        cuzk_engine_cancel(c->e, id, &was, &err);
    }
    await_job(c, id, sizes[which], partitions, start);
}

static void look_around(chaos *c, unsigned *seed) {
    static const char *const names[] = {"toy-1kib", "toy-2kib", "toy-4kib"};
    char *text = NULL;
    bool flag;
    uint64_t bytes;
    double seconds;
    cuzk_error err;
    engine_view v;
    switch (rand_r(seed) % 6) {
    case 0: cuzk_engine_status_json(c->e, &text, &err); break;
    case 1: cuzk_engine_metrics_text(c->e, &text, &err); break;
    case 2: cuzk_engine_trace_json(c->e, NULL, &text, &err); break;
    case 3: cuzk_engine_evict(c->e, names[rand_r(seed) % 3], &flag, &bytes, &err); break;
    case 4: cuzk_engine_preload(c->e, names[rand_r(seed) % 3], &flag, &seconds, &err); break;
    default:
        if (!engine_view_get(c->e, &v, &err)) engine_view_free(&v);
    }
    cuzk_text_free(text);
}

typedef struct client {
    chaos *c;
    unsigned number;
    pthread_t thread;
} client;

static void *be_client(void *user) {
    client *me = user;
    unsigned seed = me->c->seed + me->number;
    for (unsigned i = 0; cpu_monotonic_seconds() < me->c->until; i++) {
        one_job(me->c, &seed, me->number, i);
        if (rand_r(&seed) % 3 == 0) look_around(me->c, &seed);
    }
    return NULL;
}

static void *be_fate(void *user) {
    chaos *c = user;
    unsigned seed = c->seed;
    while (cpu_monotonic_seconds() < c->until) {
        sim_faults f = {0};
        switch (rand_r(&seed) % 5) {
        case 0: f.allocation_every = 20; break;
        case 1: f.launch_every = 50; break;
        case 2: f.flip_every = 30; break;
        case 3: f.hang = true; break; /* for less than the time that counts as hanging, mostly */
        default: f.slow = 10;
        }
        backend_sim_faults((unsigned)rand_r(&seed) % 2, &f);
        nap(20 + (unsigned)rand_r(&seed) % 100);
        for (unsigned d = 0; d < 2; d++) backend_sim_faults(d, &(sim_faults){0});
    }
    return NULL;
}

static bool devices_are_empty(void *user) {
    (void)user;
    return backend_sim_stats(0).live_bytes + backend_sim_stats(1).live_bytes == 0;
}

static void everything_at_once(void **state) {
    (void)state;
    sim_options sim = {.devices = 2,
                       .memory_bytes = (uint64_t)4 << 30,
                       .host_bytes = (uint64_t)3 << 20,
                       .device_bytes = (uint64_t)1 << 30,
                       .upload_seconds = 0.001,
                       .compute_seconds = 0.004,
                       .finish_seconds = 0.001};
    cuzk_engine_options o = engine_case_options();
    uint64_t plan = load_plan(&sim, 4096, o.threads);
    o.request_bytes = (uint64_t)1 << 20;
    o.critical_bytes = plan + ((uint64_t)6 << 20);
    o.memory_bytes = o.request_bytes + o.critical_bytes + 3 * plan + ((uint64_t)6 << 20);
    o.synthesis_workers = 6;
    o.device_workers = 2;
    o.device_timeout = 0.5;
    o.idle_eviction_seconds = 0.05;
    uint64_t tracked = buffer_total_stats().live_bytes;
    chaos c = {.seed = (unsigned)time(NULL)};
    print_message("seed %u\n", c.seed);
    c.e = load_engine(&o, &sim, true, false);
    buffer_reset_peaks();
    c.until = cpu_monotonic_seconds() + SECONDS;
    client clients[CLIENTS];
    pthread_t fate;
    assert_int_equal(pthread_create(&fate, NULL, be_fate, &c), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (client){.c = &c, .number = i};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, be_client, &clients[i]), 0);
    }
    for (unsigned i = 0; i < CLIENTS; i++) pthread_join(clients[i].thread, NULL);
    pthread_join(fate, NULL);
    assert_true(engine_case_until(devices_are_empty, NULL));
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(c.e, &v, &err), CUZK_OK);
    print_message(
        "%u completed, %u failed, %u cancelled, %u refused; %llu retries, %llu wrong results found, %llu hung\n",
        (unsigned)c.completed, (unsigned)c.failed, (unsigned)c.cancelled, (unsigned)c.refused,
        (unsigned long long)v.retries, (unsigned long long)v.verify_failures, (unsigned long long)v.hung);
    assert_int_equal(c.wrong, 0);
    assert_int_equal(c.stuck, 0);
    assert_int_equal(c.refused, 0);
    assert_true(c.completed > 0);
    assert_true(v.host.peak_reserved <= o.memory_bytes);
    assert_int_equal(backend_sim_stats(0).refused_bytes + backend_sim_stats(1).refused_bytes, 0);
    assert_int_equal(backend_sim_stats(0).keys_used_after + backend_sim_stats(1).keys_used_after, 0);
    engine_view_free(&v);
    load_engine_stop(c.e);
    assert_int_equal(buffer_total_stats().live_bytes, tracked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_at_once),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    for (int i = 0; i < 3; i++) load_warm(sizes[i]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_folder_remove(folder);
    return failed;
}
