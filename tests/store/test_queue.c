/* A long queue of large jobs: their inputs are in the store, not in memory. The full size (100 jobs of 51 MB) is in
 * test_queue_slow.c, which includes this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "engine/load.h"
#include "ref/groth16_case.h"
#include "store/sqlite.h"

#ifndef QUEUE_JOBS
#define QUEUE_JOBS 12u
#define QUEUE_BYTES ((size_t)12 << 20)
#define QUEUE_MOST ((uint64_t)100 << 20) /* resident, above the start */
#endif

static char folder[256];

/* {"partitions": 1, "start": N, "pad": "xxxx…"}; the number has always the same width. */
static char *large_request(unsigned start) {
    char *text = malloc(QUEUE_BYTES + 1);
    assert_non_null(text);
    memset(text, 'x', QUEUE_BYTES);
    int n = snprintf(text, QUEUE_BYTES, "{\"partitions\": 1, \"start\": %6u, \"pad\": \"", start);
    text[n] = 'x';
    memcpy(text + QUEUE_BYTES - 2, "\"}", 3);
    return text;
}

static bool all_but_few_are_queued(void *user) {
    engine_view v;
    cuzk_error err;
    unsigned queued = 0;
    if (engine_view_get(user, &v, &err)) return false;
    for (size_t i = 0; i < v.n_jobs; i++) queued += v.jobs[i].state == CUZK_JOB_QUEUED;
    engine_view_free(&v);
    return queued >= QUEUE_JOBS - 8;
}

static void inputs_are_in_the_store(void **state) {
    (void)state;
    char path[300], id[32];
    store *st;
    cuzk_error err;
    snprintf(path, sizeof path, "%s/jobs.db", folder);
    assert_int_equal(store_sqlite_open(&st, path, &err), CUZK_OK);
    sim_options sim = {.devices = 1, .memory_bytes = (uint64_t)1 << 30, .device_bytes = 1 << 20};
    const backend *b = backend_sim_create(&sim, &err);
    assert_non_null(b);
    engine_device device = {.backend = b};
    cuzk_engine_options o = engine_case_options();
    o.memory_bytes = (uint64_t)1 << 30;
    o.request_bytes = 4 * QUEUE_BYTES;
    cuzk_engine *e = engine_case_start(&o, &device, 1, st);
    backend_sim_faults(0, &(sim_faults){.slow = 1, .hang = true}); /* the first stays where it is */
    memory_watch w;
    memory_watch_start(&w);
    double start = cpu_monotonic_seconds();
    for (unsigned i = 0; i < QUEUE_JOBS; i++) {
        char *request = large_request(10 * i + 3);
        snprintf(id, sizeof id, "large-%u", i);
        cuzk_submission s = engine_case_toy(id, request);
        engine_case_submit(e, &s, false);
        free(request);
    }
    double submitted = cpu_monotonic_seconds() - start;
    assert_true(all_but_few_are_queued(e));
    memory_watch_stop(&w);
    print_message("%u jobs of %.1f MB queued in %.1f s: RSS at most %.1f MiB above the start\n", QUEUE_JOBS,
                  (double)QUEUE_BYTES / 1e6, submitted, (double)w.peak_rss / (1 << 20));
    assert_true(LOAD_INSTRUMENTED || w.peak_rss <= QUEUE_MOST);
    memory_watch_start(&w);
    backend_sim_faults(0, &(sim_faults){0});
    for (unsigned i = 0; i < QUEUE_JOBS; i++) {
        snprintf(id, sizeof id, "large-%u", i);
        engine_case_expect(e, id, CUZK_JOB_COMPLETED, 1024, 1, 10 * i + 3);
    }
    memory_watch_stop(&w);
    print_message("all proved after %.1f s: RSS at most %.1f MiB above the start of that\n",
                  cpu_monotonic_seconds() - start, (double)w.peak_rss / (1 << 20));
    assert_true(LOAD_INSTRUMENTED || w.peak_rss <= QUEUE_MOST);
    cuzk_engine_stop(e, 0);
    backend_sim_destroy();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_in_the_store),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    load_warm(1024);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_folder_remove(folder);
    return failed;
}
