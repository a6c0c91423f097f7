/* Faults of devices: nothing wrong comes out, nothing dies, the device is put in quarantine and shown, and jobs finish
 * elsewhere. */
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
#include "ref/sanitized.h"

static char folder[256];

static sim_options two_devices(void) {
    return (sim_options){.devices = 2,
                         .memory_bytes = (uint64_t)8 << 30,
                         .host_bytes = (uint64_t)2 << 20,
                         .device_bytes = (uint64_t)1 << 30,
                         .compute_seconds = 0.002};
}

static cuzk_engine_options options(void) {
    cuzk_engine_options o = engine_case_options();
    o.device_workers = 2;
    return o;
}

static engine_view view_of(cuzk_engine *e) {
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(e, &v, &err), CUZK_OK);
    return v;
}

/* 12 jobs of three partitions under these faults of device 0; the other device and the CPU are sound. All complete. */
static engine_view under(const char *what, const sim_faults *f, sim_stats *stats) {
    sim_options sim = two_devices();
    cuzk_engine_options o = options();
    uint64_t tracked = buffer_total_stats().live_bytes;
    cuzk_engine *e = load_engine(&o, &sim, true, false);
    backend_sim_faults(0, f);
    load l = {.engine = e, .jobs = 12, .partitions = 3, .clients = 6, .bytes = 1024};
    load_run(&l);
    if (l.failed) print_message("%s: %s (%s)\n", what, l.first_error.what, l.first_error.where);
    assert_int_equal(l.wrong, 0);
    assert_int_equal(l.failed, 0);
    assert_int_equal(l.completed, 12);
    engine_view v = view_of(e);
    *stats = backend_sim_stats(0);
    print_message("%s: %llu faults, %llu wrong proofs, %s; %llu retries, %llu on the CPU\n", what,
                  (unsigned long long)v.devices[0].faults, (unsigned long long)v.devices[0].wrong_proofs,
                  v.devices[0].quarantined ? v.devices[0].why : "no quarantine", (unsigned long long)v.retries,
                  (unsigned long long)v.cpu_fallbacks);
    assert_false(v.devices[1].quarantined);
    load_engine_stop(e);
    assert_int_equal(buffer_total_stats().live_bytes, tracked);
    return v;
}

static void allocations_fail(void **state) {
    (void)state;
    sim_stats s;
    for (unsigned every = 1; every <= 40; every = TEST_SANITIZED ? every * 7 + 5 : every * 4 + 3) {
        engine_view v = under("allocations", &(sim_faults){.allocation_every = every}, &s);
        if (every <= 7) assert_true(v.devices[0].quarantined); /* three a proof: at least three in seven proofs */
        if (every > 20) assert_false(v.devices[0].quarantined);
        assert_int_equal(v.devices[0].wrong_proofs, 0);
        engine_view_free(&v);
    }
}

static void launches_fail(void **state) {
    (void)state;
    sim_stats s;
    for (unsigned every = 1; every <= 130; every = TEST_SANITIZED ? every * 13 + 6 : every * 4 + 9) {
        engine_view v = under("launches", &(sim_faults){.launch_every = every}, &s);
        assert_true(v.devices[0].faults > 0 || 8 * s.started < every); /* eight a proof; the other may take most */
        if (every <= 20) {
            assert_true(v.devices[0].quarantined);
            assert_non_null(strstr(v.devices[0].why, "illegal access"));
        }
        if (every > 60) assert_false(v.devices[0].quarantined);
        engine_view_free(&v);
    }
}

static void results_come_out_wrong(void **state) {
    (void)state;
    sim_stats s;
    engine_view v = under("one in 20 wrong", &(sim_faults){.flip_every = 20}, &s);
    assert_int_equal(v.verify_failures, s.wrong);
    engine_view_free(&v);
    v = under("one in 2 wrong", &(sim_faults){.flip_every = 2}, &s);
    assert_true(s.wrong > 0);
    assert_int_equal(v.devices[0].wrong_proofs, s.wrong);
    assert_int_equal(v.verify_failures, s.wrong);
    assert_true(v.devices[0].quarantined);
    assert_non_null(strstr(v.devices[0].why, "wrong"));
    engine_view_free(&v);
}

static void a_device_is_lost(void **state) {
    (void)state;
    sim_stats s;
    engine_view v = under("lost", &(sim_faults){.dead = true}, &s);
    assert_true(v.devices[0].quarantined);
    assert_int_equal(v.devices[0].proofs, 0);
    engine_view_free(&v);
}

/* Both devices are lost: the CPU by policy, or an error that names the device. */
static void all_devices_are_lost(void **state) {
    (void)state;
    sim_options sim = two_devices();
    for (int require = 0; require < 2; require++) {
        cuzk_engine_options o = options();
        if (require) o.policy = CUZK_REQUIRE_GPU;
        cuzk_engine *e = load_engine(&o, &sim, true, false);
        for (unsigned d = 0; d < 2; d++) backend_sim_faults(d, &(sim_faults){.dead = true});
        load l = {.engine = e, .jobs = 4, .partitions = 3, .clients = 4, .bytes = 1024};
        load_run(&l);
        engine_view v = view_of(e);
        assert_true(v.devices[0].quarantined && v.devices[1].quarantined);
        assert_int_equal(l.wrong, 0);
        if (require) {
            assert_int_equal(l.failed, 4);
            assert_int_equal(l.first_error.status, CUZK_DEVICE);
            assert_int_equal(v.cpu_fallbacks, 0);
        } else {
            assert_int_equal(l.completed, 4);
            assert_true(v.cpu_fallbacks > 0);
        }
        engine_view_free(&v);
        load_engine_stop(e);
    }
}

static bool nothing_on_the_device(void *user) {
    (void)user;
    return backend_sim_stats(0).live_bytes == 0;
}

static void a_device_hangs(void **state) {
    (void)state;
    sim_options sim = two_devices();
    cuzk_engine_options o = options();
    o.device_timeout = 0.5;
    uint64_t tracked = buffer_total_stats().live_bytes;
    cuzk_engine *e = load_engine(&o, &sim, true, false);
    backend_sim_faults(0, &(sim_faults){.hang = true});
    load l = {.engine = e, .jobs = 6, .partitions = 3, .clients = 6, .bytes = 1024};
    load_run(&l);
    if (l.failed) print_message("%s (%s)\n", l.first_error.what, l.first_error.where);
    assert_int_equal(l.completed, 6);
    engine_view v = view_of(e);
    assert_true(v.hung > 0);
    assert_true(v.devices[0].quarantined);
    print_message("hung %llu times, %s, %.2f s\n", (unsigned long long)v.hung, v.devices[0].why, l.seconds);
    engine_view_free(&v);
    backend_sim_faults(0, &(sim_faults){0}); /* it comes back: what it held is freed */
    assert_true(engine_case_until(nothing_on_the_device, NULL));
    load_engine_stop(e);
    assert_int_equal(buffer_total_stats().live_bytes, tracked);
}

/* The first attempt alone is wrong: the job itself tries again, and both attempts are in its history. */
static void only_the_first_attempt(void **state) {
    (void)state;
    sim_options sim = two_devices();
    cuzk_engine_options o = options();
    cuzk_job_result r;
    cuzk_error err;
    cuzk_engine *e = load_engine(&o, &sim, false, false);
    for (unsigned d = 0; d < 2; d++) backend_sim_faults(d, &(sim_faults){.flip_every = 1});
    char *request = toy_request(1024, 1, 5, -1, 200);
    cuzk_submission s = engine_case_toy("twice", request);
    engine_case_submit(e, &s, false);
    while (backend_sim_stats(0).wrong + backend_sim_stats(1).wrong == 0)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    for (unsigned d = 0; d < 2; d++) backend_sim_faults(d, &(sim_faults){0});
    assert_int_equal(cuzk_engine_await(e, "twice", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    assert_int_equal(r.attempts, 2);
    assert_true(toy_verify(&toy_kind, 1024, 1, 5, r.proof, r.proof_bytes));
    engine_view v = view_of(e);
    assert_int_equal(v.verify_failures, 1);
    assert_int_equal(v.retries, 1);
    engine_view_free(&v);
    cuzk_job_result_free(&r);
    free(request);
    load_engine_stop(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_fail),       cmocka_unit_test(launches_fail),
        cmocka_unit_test(results_come_out_wrong), cmocka_unit_test(a_device_is_lost),
        cmocka_unit_test(all_devices_are_lost),   cmocka_unit_test(a_device_hangs),
        cmocka_unit_test(only_the_first_attempt),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    load_warm(1024);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_folder_remove(folder);
    return failed;
}
