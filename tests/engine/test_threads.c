/* Many callers at once: submitting, awaiting, cancelling, looking, loading and evicting keys, over few ids and a store
 * that fails now and then. Every answer is a right one: a completed job's proofs verify for what was submitted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "engine/engine_case.h"
#include "engine/store_case.h"
#include "engine/view.h"
#include "ref/groth16_case.h"

#define CALLERS 6u
#define IDS 4u
#define STARTS 3u
#define SECONDS 2.0

static char folder[256];
static cuzk_engine *engine;
static store_case kept;
static atomic_uint completed, ended, refused, odd;

static int make_folder(void **state) {
    (void)state;
    case_folder_make(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    case_folder_remove(folder);
    return 0;
}

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

/* The job that this caller submitted, whatever others do with its id. */
static void submit_and_wait(unsigned *seed) {
    char id[8], *request;
    unsigned start = next_random(seed) % STARTS, partitions = 1 + next_random(seed) % 3;
    cuzk_job_ticket ticket;
    cuzk_job_result r;
    cuzk_error err;
    uint64_t seq;
    snprintf(id, sizeof id, "%u", next_random(seed) % IDS);
    request = toy_request(1024, partitions, start, -1, next_random(seed) % 4);
    cuzk_submission s = engine_case_toy(id, request);
    s.priority = (cuzk_priority)(1 + next_random(seed) % 4);
    if (next_random(seed) % 8 == 0) s.deadline_seconds = 0.02;
    cuzk_status st = engine_submit_wait(engine, &s, &ticket, &seq, &err);
    if (st) {
        atomic_fetch_add(st == CUZK_DISK ? &refused : &odd, 1);
    } else {
        do {
            if (engine_await_seq(engine, seq, 0.5, &r, &err)) atomic_fetch_add(&odd, 1);
            if (r.state == CUZK_JOB_COMPLETED) {
                atomic_fetch_add(&completed, 1);
                if (!toy_verify(&toy_kind, 1024, partitions, start, r.proof, r.proof_bytes)) atomic_fetch_add(&odd, 1);
            } else if (r.state == CUZK_JOB_CANCELLED) {
                atomic_fetch_add(&ended, 1);
            } else if (r.state != CUZK_JOB_QUEUED && r.state != CUZK_JOB_RUNNING) {
                atomic_fetch_add(&odd, 1);
            }
            cuzk_job_result_free(&r);
        } while (r.state == CUZK_JOB_QUEUED || r.state == CUZK_JOB_RUNNING);
        engine_wait_end(engine, seq, false);
    }
    free(request);
}

static void await_or_cancel(unsigned *seed) {
    char id[8];
    bool there;
    cuzk_job_result r;
    cuzk_error err;
    snprintf(id, sizeof id, "%u", next_random(seed) % IDS);
    if (next_random(seed) % 4 == 0) {
        cuzk_engine_cancel(engine, id, &there, &err);
        return;
    }
    if (cuzk_engine_await(engine, id, 0.02, &r, &err)) atomic_fetch_add(&odd, 1);
    cuzk_job_result_free(&r);
}

static void look_around(unsigned *seed) {
    engine_view v;
    cuzk_error err;
    bool flag;
    double seconds;
    uint64_t freed;
    char *text;
    switch (next_random(seed) % 5) {
    case 0:
        if (engine_view_get(engine, &v, &err)) atomic_fetch_add(&odd, 1);
        engine_view_free(&v);
        break;
    case 1:
        if (cuzk_engine_status_json(engine, &text, &err)) atomic_fetch_add(&odd, 1);
        cuzk_text_free(text);
        break;
    case 2: cuzk_engine_preload(engine, "toy-2kib", &flag, &seconds, &err); break;
    case 3: cuzk_engine_evict(engine, next_random(seed) % 2 ? "toy-2kib" : "toy-1kib", &flag, &freed, &err); break;
    default:
        if (engine_request_try(engine, 3 << 20)) engine_request_done(engine, 3 << 20);
    }
}

typedef struct caller {
    pthread_t thread;
    unsigned seed;
} caller;

static void *call(void *user) {
    caller *c = user;
    double until = cpu_monotonic_seconds() + SECONDS;
    while (cpu_monotonic_seconds() < until) {
        switch (next_random(&c->seed) % 4) {
        case 0: await_or_cancel(&c->seed); break;
        case 1: look_around(&c->seed); break;
        default: submit_and_wait(&c->seed);
        }
        if (next_random(&c->seed) % 16 == 0) atomic_store(&kept.failing, CUZK_DISK);
        if (next_random(&c->seed) % 2 == 0) atomic_store(&kept.failing, 0);
    }
    return NULL;
}

static void many_callers(void **state) {
    (void)state;
    caller callers[CALLERS];
    uint64_t live = buffer_total_stats().live_bytes;
    unsigned seed = (unsigned)(cpu_monotonic_seconds() * 1000);
    cuzk_engine_options o = engine_case_options();
    o.memory_bytes = (uint64_t)64 << 20;
    print_message("seed %u\n", seed);
    store_case_open(&kept);
    engine = engine_case_start(&o, NULL, 0, &kept.base);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].seed = seed + 7919 * i;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) pthread_join(callers[i].thread, NULL);
    print_message("%u completed, %u cancelled, %u refused\n", completed, ended, refused);
    assert_int_equal(odd, 0);
    assert_true(completed > 0);
    atomic_store(&kept.failing, 0);
    cuzk_engine_stop(engine, 10);
    store_case_close(&kept);
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_callers)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
