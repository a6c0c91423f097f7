/* The full sizes of tests/engine/test_load.c: 40 jobs of 10 partitions of at least 256 MiB each, with a budget of
 * three; 1,000 proofs; 200 jobs on devices that return wrong results. Figures: bench/results/engine.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/log.h"
#include "engine/load.h"
#include "ref/groth16_case.h"

static const uint64_t mib = 1 << 20;
static char folder[256];

static double mibs(uint64_t bytes) {
    return (double)bytes / (double)mib;
}

static engine_view view_of(cuzk_engine *e) {
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(e, &v, &err), CUZK_OK);
    return v;
}

typedef struct setting {
    unsigned pw, gw, clients;
} setting;

/* jobs × 10 partitions with a budget of three; returns seconds from the device's first to its last work. */
static double run_load_of(const setting *s, const sim_options *sim, unsigned jobs) {
    cuzk_engine_options o = engine_case_options();
    o.request_bytes = 4 * mib;
    o.memory_bytes = o.request_bytes + 3 * load_plan(sim, 1024, o.threads) + 8 * mib;
    o.synthesis_workers = s->pw;
    o.device_workers = s->gw;
    uint64_t tracked = buffer_total_stats().live_bytes, rss = cpu_rss_bytes();
    cuzk_engine *e = load_engine(&o, sim, false, false);
    load l = {.engine = e, .jobs = jobs, .partitions = 10, .clients = s->clients, .bytes = 1024};
    memory_watch w;
    memory_watch_start(&w);
    load_run(&l);
    memory_watch_stop(&w);
    engine_view v = view_of(e);
    sim_stats device = backend_sim_stats(0);
    double span = device.last_busy - device.first_busy;
    print_message("pw %2u gw %u j %2u: budget %.0f MiB, RSS at most %.0f above the start, tracked %.0f, unexplained "
                  "%.1f, in flight %u, busy %.2f %%, %.3f s a partition\n",
                  s->pw, s->gw, s->clients, mibs(o.memory_bytes), mibs(w.peak_rss), mibs(w.peak_tracked),
                  (double)w.worst_unexplained / (double)mib, v.peak_synthesized_in_flight,
                  100 * device.busy_seconds / span, span / (10 * jobs));
    assert_int_equal(l.completed, jobs);
    assert_int_equal(l.wrong + l.failed, 0);
    assert_true(w.peak_rss <= o.memory_bytes + memory_slack(o.memory_bytes));
    assert_true(w.peak_tracked <= o.memory_bytes);
    assert_true(w.worst_unexplained < (int64_t)memory_slack(w.peak_rss));
    assert_true(w.peak_tracked >= sim->host_bytes);
    assert_true(v.peak_synthesized_in_flight <= 3 + s->gw);
    engine_view_free(&v);
    sleep(5);
    assert_true(cpu_rss_bytes() < rss + memory_slack(rss));
    load_engine_stop(e);
    assert_int_equal(buffer_total_stats().live_bytes, tracked);
    return span;
}

static void forty_jobs_of_ten_partitions(void **state) {
    (void)state;
    static const setting settings[] = {{1, 1, 40}, {1, 2, 1},   {2, 2, 40},  {8, 1, 64},
                                       {8, 2, 8},  {64, 2, 40}, {64, 4, 64}, {16, 3, 64}};
    sim_options sim = {.devices = 1,
                       .memory_bytes = (uint64_t)32 << 30,
                       .host_bytes = 256 * mib,
                       .device_bytes = (uint64_t)4 << 30,
                       .upload_seconds = 0.01,
                       .compute_seconds = 0.1};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) run_load_of(&settings[i], &sim, 40);
}

/* The device is what takes time: more synthesis workers than it needs change nothing. */
static void workers_do_not_cost_throughput(void **state) {
    (void)state;
    static const setting settings[] = {{2, 2, 8}, {4, 2, 8}, {16, 2, 8}, {64, 2, 8}, {64, 3, 8}};
    enum { N = sizeof settings / sizeof *settings };
    sim_options sim = {.devices = 1,
                       .memory_bytes = (uint64_t)32 << 30,
                       .host_bytes = 32 * mib,
                       .device_bytes = (uint64_t)4 << 30,
                       .upload_seconds = 0.02,
                       .compute_seconds = 0.2};
    double seconds[N], best = 1e9;
    for (int i = 0; i < N; i++) {
        seconds[i] = run_load_of(&settings[i], &sim, 8);
        if (seconds[i] < best) best = seconds[i];
    }
    for (int i = 0; i < N; i++) {
        if (seconds[i] > 1.05 * best) { /* once more: something else may have held it up */
            double again = run_load_of(&settings[i], &sim, 8);
            if (again < seconds[i]) seconds[i] = again;
        }
        print_message("pw %2u gw %u: %.1f %% over the best\n", settings[i].pw, settings[i].gw,
                      100 * (seconds[i] / best - 1));
        assert_true(seconds[i] <= 1.05 * best);
    }
}

/* Resident bytes after 1,000 proofs and after 1,000 more, each when finished jobs have been purged. */
static void a_thousand_proofs(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.retention_seconds = 1;
    cuzk_engine *e = engine_case_start(&o, NULL, 0, NULL);
    uint64_t at[2];
    for (unsigned i = 0; i < 2; i++) {
        load l = {.engine = e, .jobs = 1000, .partitions = 1, .clients = 4, .bytes = 1024};
        l.name = i ? "thousand" : "warm";
        load_run(&l);
        assert_int_equal(l.completed, l.jobs);
        sleep(35); /* the purge comes every 30 s */
        at[i] = cpu_rss_bytes();
    }
    double growth = (double)at[1] / (double)at[0] - 1;
    print_message("RSS after 1,000 proofs %.2f MiB, after 1,000 more %.2f MiB: %+.2f %%\n", mibs(at[0]), mibs(at[1]),
                  100 * growth);
    assert_true(growth < 0.01);
    cuzk_engine_stop(e, 0);
}

static void one_result_in_twenty_is_wrong(void **state) {
    (void)state;
    sim_options sim = {.devices = 3, .memory_bytes = (uint64_t)8 << 30, .device_bytes = mib, .compute_seconds = 0.002};
    cuzk_engine_options o = engine_case_options();
    cuzk_engine *e = load_engine(&o, &sim, true, false);
    for (unsigned d = 0; d < 2; d++) backend_sim_faults(d, &(sim_faults){.flip_every = 20});
    load l = {.engine = e, .jobs = 200, .partitions = 2, .clients = 16, .bytes = 1024};
    load_run(&l);
    engine_view v = view_of(e);
    uint64_t wrong = backend_sim_stats(0).wrong + backend_sim_stats(1).wrong;
    print_message("%llu wrong results were found, %llu partitions made again, %u jobs right\n",
                  (unsigned long long)v.verify_failures, (unsigned long long)v.retries, (unsigned)l.completed);
    assert_int_equal(l.completed, 200);
    assert_int_equal(l.wrong + l.failed, 0);
    assert_true(wrong > 0);
    assert_int_equal(v.verify_failures, wrong);
    assert_true(v.devices[0].quarantined || v.devices[1].quarantined);
    engine_view_free(&v);
    load_engine_stop(e);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_proofs),
        cmocka_unit_test(one_result_in_twenty_is_wrong),
        cmocka_unit_test(workers_do_not_cost_throughput),
        cmocka_unit_test(forty_jobs_of_ten_partitions),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    load_warm(1024);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_folder_remove(folder);
    return failed;
}
