/* Devices through the engine, on the simulated device: faults, wrong results, hanging, policies, memory, business. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "backend/sim/sim.h"
#include "base/cpu.h"
#include "engine/engine_case.h"
#include "engine/engine_internal.h"
#include "engine/view.h"
#include "ref/groth16_case.h"

#define MIB ((uint64_t)1 << 20)
/* A device that is well is silent for shorter even where the machine is busy with other things. */
#define HANG_SECONDS 3

static char folder[256];
static cuzk_engine *engine;

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

/* n simulated devices, and the CPU after them when asked for. */
static void open_engine(sim_options sim, bool cpu, cuzk_engine_options o) {
    cuzk_error err;
    engine_device d[SIM_MAX_DEVICES + 1];
    size_t n = 0;
    const backend *b = backend_sim_create(&sim, &err);
    assert_non_null(b);
    for (unsigned i = 0; i < sim.devices; i++) d[n++] = (engine_device){b, i, false};
    if (cpu) d[n++] = (engine_device){backend_cpu(), 0, true};
    engine = engine_case_start(&o, d, n, NULL);
}

static void close_engine(void) {
    cuzk_engine_stop(engine, 0);
    engine = NULL;
    backend_sim_destroy();
}

static sim_options quick(unsigned devices) {
    return (sim_options){.devices = devices,
                         .memory_bytes = 64 * MIB,
                         .host_bytes = 2 * MIB,
                         .device_bytes = 8 * MIB,
                         .compute_seconds = 0.01};
}

static void submit(const char *id, unsigned partitions, uint64_t start, cuzk_device_policy policy) {
    char *request = toy_request(1024, partitions, start, -1, 0);
    cuzk_submission s = engine_case_toy(id, request);
    s.policy = policy;
    engine_case_submit(engine, &s, false);
    free(request);
}

static engine_view look(void) {
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    return v;
}

static void on_devices(void **state) {
    (void)state;
    open_engine(quick(2), false, engine_case_options());
    submit("a", 10, 4, CUZK_REQUIRE_GPU);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 10, 4);
    engine_view v = look();
    assert_int_equal(v.n_devices, 2);
    assert_string_equal(v.devices[0].id, "sim:0");
    assert_int_equal(v.devices[0].proofs + v.devices[1].proofs, 10);
    assert_int_equal(v.retries + v.cpu_fallbacks + v.verify_failures, 0);
    for (int i = 0; i < 2; i++) assert_int_equal(backend_sim_stats((unsigned)i).refused_bytes, 0);
    engine_view_free(&v);
    close_engine();
}

/* A dead device is put aside; its partitions are proved by the other. */
static void dead_device(void **state) {
    (void)state;
    open_engine(quick(2), false, engine_case_options());
    backend_sim_faults(0, &(sim_faults){.dead = true});
    submit("a", 12, 4, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 12, 4);
    engine_view v = look();
    assert_true(v.devices[0].quarantined);
    assert_true(v.devices[0].why[0] != 0);
    assert_int_equal(v.devices[0].faults, 3);
    assert_false(v.devices[1].quarantined);
    assert_int_equal(v.devices[1].proofs, 12);
    assert_int_equal(v.retries, 3);
    engine_view_free(&v);
    close_engine();
}

/* The only one dies: the CPU takes over by policy, is told once and counted; or the job fails. */
static void last_device_dies(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.attempts = 5;
    open_engine(quick(1), true, o);
    backend_sim_faults(0, &(sim_faults){.dead = true});
    submit("must", 2, 4, CUZK_REQUIRE_GPU);
    engine_case_expect(engine, "must", CUZK_JOB_FAILED, 0, 0, 0);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, "must", 0, &r, &err), CUZK_OK);
    assert_int_equal(r.error.status, CUZK_DEVICE);
    submit("may", 3, 5, CUZK_PREFER_GPU);
    engine_case_expect(engine, "may", CUZK_JOB_COMPLETED, 1024, 3, 5);
    submit("cpu", 2, 6, CUZK_CPU);
    engine_case_expect(engine, "cpu", CUZK_JOB_COMPLETED, 1024, 2, 6);
    engine_view v = look();
    assert_true(v.devices[0].quarantined);
    assert_int_equal(v.devices[1].proofs, 5);
    assert_int_equal(v.cpu_fallbacks, 3);
    engine_view_free(&v);
    cuzk_submission s = engine_case_toy("again", "{}");
    s.policy = CUZK_REQUIRE_GPU;
    cuzk_job_ticket ticket;
    assert_int_equal(cuzk_engine_submit(engine, &s, &ticket, &err), CUZK_DEVICE);
    close_engine();
}

/* The device goes while a witness is made for it: the witness goes, the partition goes to the CPU. */
static bool synthesizing(void *user) {
    engine_view v = look();
    bool yes = false;
    for (size_t i = 0; i < v.n_jobs; i++)
        for (unsigned k = 0; v.jobs[i].partitions && k < v.jobs[i].n_partitions; k++)
            yes |= v.jobs[i].partitions[k].state == PARTITION_SYNTHESIZING;
    engine_view_free(&v);
    (void)user;
    return yes;
}

static void device_dies_during_synthesis(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.attempts = 5;
    open_engine(quick(1), true, o);
    submit("warm", 1, 1, CUZK_DEVICE_DEFAULT); /* the key is there afterwards */
    engine_case_expect(engine, "warm", CUZK_JOB_COMPLETED, 1024, 1, 1);
    backend_sim_faults(0, &(sim_faults){.dead = true});
    char *request = toy_request(1024, 1, 7, -1, 1500);
    cuzk_submission s = engine_case_toy("slow", request);
    engine_case_submit(engine, &s, false);
    assert_true(engine_case_until(synthesizing, NULL));
    submit("quick", 4, 5, CUZK_DEVICE_DEFAULT); /* its failures put the device into quarantine */
    engine_case_expect(engine, "quick", CUZK_JOB_COMPLETED, 1024, 4, 5);
    engine_case_expect(engine, "slow", CUZK_JOB_COMPLETED, 1024, 1, 7);
    free(request);
    close_engine();
}

/* Allocations and launches that fail now and then: every job ends well. */
static void faults_now_and_then(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.attempts = 8;
    open_engine(quick(2), true, o);
    backend_sim_faults(0, &(sim_faults){.allocation_every = 7});
    backend_sim_faults(1, &(sim_faults){.launch_every = 19});
    for (unsigned i = 0; i < 6; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        submit(id, 5, 10 * i, CUZK_DEVICE_DEFAULT);
    }
    for (unsigned i = 0; i < 6; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        engine_case_expect(engine, id, CUZK_JOB_COMPLETED, 1024, 5, 10 * i);
    }
    engine_view v = look();
    assert_true(v.devices[0].faults > 0);
    assert_true(v.devices[1].faults > 0);
    assert_true(v.retries >= v.devices[0].faults);
    engine_view_free(&v);
    close_engine();
}

/* Wrong results never leave; after three of them the device gets no more work. */
static void wrong_results(void **state) {
    (void)state;
    open_engine(quick(2), false, engine_case_options());
    backend_sim_faults(0, &(sim_faults){.flip_every = 3});
    for (unsigned i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        submit(id, 10, 100 * i, CUZK_DEVICE_DEFAULT);
    }
    for (unsigned i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        engine_case_expect(engine, id, CUZK_JOB_COMPLETED, 1024, 10, 100 * i);
    }
    engine_view v = look();
    uint64_t wrong = backend_sim_stats(0).wrong;
    assert_true(wrong > 0);
    assert_int_equal(v.verify_failures, wrong);
    assert_int_equal(v.devices[0].wrong_proofs, wrong);
    assert_int_equal(v.devices[0].quarantined, wrong >= 3);
    engine_view_free(&v);
    close_engine();
}

/* A device that stands still is put aside; the job ends elsewhere, and what the device held is back when it returns. */
static bool all_back(void *user) {
    engine_view v = look();
    bool back = v.host.reserved - *(uint64_t *)user == 8 * MIB && v.devices[0].budget.reserved == 0;
    engine_view_free(&v);
    return back;
}

static uint64_t charged(void) {
    engine_view v = look();
    uint64_t bytes = 0;
    for (size_t i = 0; i < v.n_resources; i++) bytes += v.resources[i].charged_bytes;
    engine_view_free(&v);
    return bytes;
}

static void hanging_device(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.device_timeout = HANG_SECONDS;
    open_engine(quick(2), false, o);
    backend_sim_faults(0, &(sim_faults){.hang = true});
    double start = cpu_monotonic_seconds();
    submit("a", 6, 4, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 6, 4);
    assert_true(cpu_monotonic_seconds() - start < 30);
    engine_view v = look();
    assert_true(v.devices[0].quarantined);
    assert_non_null(strstr(v.devices[0].why, "did not answer"));
    assert_int_equal(v.hung, 1);
    assert_true(v.devices[0].budget.reserved > 0); /* the thread is in there still */
    engine_view_free(&v);
    uint64_t keys = charged();
    assert_false(all_back(&keys));
    backend_sim_faults(0, &(sim_faults){0});
    assert_true(engine_case_until(all_back, &keys));
    close_engine();
}

/* In mid-proof on a device: memory is back within a second, the next proof is right. */
static bool proving(void *user) {
    engine_view v = look();
    bool yes = false;
    for (size_t i = 0; i < v.n_jobs; i++)
        for (unsigned k = 0; v.jobs[i].partitions && k < v.jobs[i].n_partitions; k++)
            yes |= v.jobs[i].partitions[k].state == PARTITION_PROVING;
    engine_view_free(&v);
    (void)user;
    return yes;
}

static void cancelled_in_mid_proof(void **state) {
    (void)state;
    bool there;
    cuzk_error err;
    sim_options sim = quick(1);
    sim.compute_seconds = 20;
    sim.host_bytes = 64 * MIB;
    open_engine(sim, false, engine_case_options());
    double took = 10;
    for (int round = 0; round < 3 && took >= 1; round++) { /* once more when the machine is busy with others */
        char id[2] = {(char)('k' + round), 0};
        submit(id, 5, 4, CUZK_DEVICE_DEFAULT);
        assert_true(engine_case_until(proving, NULL));
        uint64_t keys = charged();
        double start = cpu_monotonic_seconds();
        assert_int_equal(cuzk_engine_cancel(engine, id, &there, &err), CUZK_OK);
        assert_true(there);
        assert_true(engine_case_until(all_back, &keys));
        took = cpu_monotonic_seconds() - start;
        print_message("memory back after %.3f s\n", took);
    }
    assert_true(took < 1);
    assert_int_equal(buffer_class_stats(BUFFER_WITNESS).live_bytes, 0);
    assert_int_equal(backend_sim_stats(0).live_bytes, 0);
    backend_sim_faults(0, &(sim_faults){.slow = 0.01});
    submit("b", 1, 9, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 1024, 1, 9);
    close_engine();
}

/* A plan that the device's memory can never hold is refused with the need. */
static void device_too_small(void **state) {
    (void)state;
    sim_options sim = quick(1);
    sim.device_bytes = 65 * MIB;
    open_engine(sim, false, engine_case_options());
    submit("a", 1, 4, CUZK_REQUIRE_GPU);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, "a", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_FAILED);
    assert_int_equal(r.error.status, CUZK_TOO_LARGE);
    close_engine();
}

/* A device that proves as the CPU does; of the 30 MiB of a proof there, 20 are the circuit's. */
static cuzk_status shared_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit,
                               uint64_t device_limit, prove_plan *out, cuzk_error *err) {
    (void)device_limit;
    cuzk_status st = backend_cpu()->plan(device, s, threads, host_limit, 0, out, err);
    out->device_bytes = 30 * MIB;
    out->device_shared_bytes = 20 * MIB;
    return st;
}

static cuzk_status shared_info(unsigned device, backend_device_info *out, cuzk_error *err) {
    (void)device, (void)err;
    *out = (backend_device_info){.name = "shares", .memory_bytes = 60 * MIB, .free_bytes = 60 * MIB};
    return CUZK_OK;
}

static atomic_uint keys_forgotten;

static void count_forgotten(unsigned device, const proving_key *key) {
    (void)device, (void)key;
    atomic_fetch_add(&keys_forgotten, 1);
}

static atomic_uint plans_refused;
static atomic_bool no_memory_to_plan;

static cuzk_status refused_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit,
                                uint64_t device_limit, prove_plan *out, cuzk_error *err) {
    (void)device, (void)s, (void)threads, (void)host_limit, (void)device_limit, (void)out;
    if (atomic_load(&no_memory_to_plan)) return cuzk_fail(err, CUZK_MEMORY, "no memory to plan");
    atomic_fetch_add(&plans_refused, 1);
    cuzk_fail(err, CUZK_TOO_LARGE, "the proof does not fit the device");
    cuzk_fail_expected(err, "2000 bytes");
    return cuzk_fail_found(err, "a limit of 1000 bytes");
}

/* What passes is asked again for the next job; what does not is told as the device said it, and kept. */
static void plan_refused(void **state) {
    (void)state;
    backend b = *backend_cpu();
    b.name = "refuses";
    b.own_machine = false;
    b.plan = refused_plan;
    b.device_info = shared_info;
    engine_device d = {&b, 0, false};
    cuzk_engine_options o = engine_case_options();
    atomic_store(&plans_refused, 0);
    atomic_store(&no_memory_to_plan, true);
    unsigned asked = 0;
    engine = engine_case_start(&o, &d, 1, NULL);
    static const cuzk_status wanted[] = {CUZK_MEMORY, CUZK_TOO_LARGE, CUZK_TOO_LARGE};
    for (unsigned i = 0; i < 3; i++) {
        char id[8];
        cuzk_job_result r;
        cuzk_error err;
        snprintf(id, sizeof id, "%u", i);
        submit(id, 1, 4, CUZK_REQUIRE_GPU);
        assert_int_equal(cuzk_engine_await(engine, id, 60, &r, &err), CUZK_OK);
        assert_int_equal(r.state, CUZK_JOB_FAILED);
        assert_int_equal(r.error.status, wanted[i]);
        assert_non_null(strstr(r.error.where, "refuses"));
        atomic_store(&no_memory_to_plan, false);
        if (i == 0) continue;
        assert_string_equal(r.error.expected, "2000 bytes");
        assert_string_equal(r.error.found, "a limit of 1000 bytes");
        if (i == 1) asked = atomic_load(&plans_refused);
    }
    assert_true(asked > 0);
    assert_int_equal(atomic_load(&plans_refused), asked);
    close_engine();
}

/* Key and shape are in the device's memory once, for several proofs, and after them; another circuit's put them out. */
static void shared_in_the_device(void **state) {
    (void)state;
    backend b = *backend_cpu();
    b.name = "shares";
    b.own_machine = false;
    b.plan = shared_plan;
    b.device_info = shared_info;
    b.forget_key = count_forgotten;
    engine_device d = {&b, 0, false};
    cuzk_engine_options o = engine_case_options();
    o.device_workers = 2;
    atomic_store(&keys_forgotten, 0);
    engine = engine_case_start(&o, &d, 1, NULL);
    submit("a", 8, 4, CUZK_REQUIRE_GPU);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 8, 4);
    engine_view v = look();
    assert_true(v.devices[0].budget.peak_reserved >= 40 * MIB); /* two at once, which 30 each would not allow */
    assert_true(v.devices[0].budget.peak_reserved <= 60 * MIB);
    assert_int_equal(v.n_resources, 1);
    assert_int_equal(v.resources[0].tier, RESOURCE_RESIDENT);
    engine_view_free(&v);
    static const uint64_t sizes[] = {2048, 4096, 1024};
    for (unsigned i = 0; i < 3; i++) {
        char id[8], *request = toy_request(sizes[i], 3, i, -1, 0);
        snprintf(id, sizeof id, "%u", i);
        cuzk_submission s = engine_case_toy(id, request);
        engine_case_submit(engine, &s, false);
        engine_case_expect(engine, id, CUZK_JOB_COMPLETED, sizes[i], 3, i);
        free(request);
    }
    v = look();
    assert_true(v.devices[0].budget.peak_reserved <= 60 * MIB);
    assert_true(v.devices[0].budget.reserved >= 20 * MIB);
    engine_view_free(&v);
    bool was;
    uint64_t freed;
    cuzk_error err;
    for (unsigned i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "toy-%ukib", 1u << i);
        assert_int_equal(cuzk_engine_evict(engine, name, &was, &freed, &err), CUZK_OK);
    }
    assert_true(atomic_load(&keys_forgotten) >= 3);
    v = look();
    assert_int_equal(v.devices[0].budget.reserved, 0);
    engine_view_free(&v);
    cuzk_engine_stop(engine, 0);
}

/* ---- a device that hangs holds up nobody else ---- */

/* All three finalizers are in the device, and a proof waits for one. */
static bool proof_waits(void) {
    engine_view v = look();
    unsigned busy = 0;
    for (size_t i = 0; i < v.n_workers; i++) busy += v.workers[i].busy && !strncmp(v.workers[i].lane, "finish", 6);
    bool yes = v.pending_proofs > 0 && busy == 3;
    engine_view_free(&v);
    return yes;
}

/* True: so it is, and the device hangs. */
static bool hangs_while_a_proof_waits(void *user) {
    (void)user;
    if (!proof_waits()) return false;
    backend_sim_faults(0, &(sim_faults){.hang = true});
    if (proof_waits()) return true; /* nothing moves any more */
    backend_sim_faults(0, &(sim_faults){0});
    return false;
}

static bool abandoned(void *user) {
    (void)user;
    return backend_sim_stats(0).abandoned > 0;
}

static void *hang_for_4_s(void *unused) {
    (void)unused;
    nanosleep(&(struct timespec){4, 0}, NULL);
    backend_sim_faults(0, &(sim_faults){0});
    return NULL;
}

static bool quarantined(void *user) {
    (void)user;
    engine_view v = look();
    bool yes = v.devices[0].quarantined;
    engine_view_free(&v);
    return yes;
}

/* A job is cancelled of whose proofs one waits for a finalizer, and the device hangs: who cancels is not held up, and
 * what the device has comes back when it returns. */
static void cancelled_on_a_hung_device(void **state) {
    (void)state;
    bool there;
    cuzk_error err;
    pthread_t t;
    cuzk_engine_options o = engine_case_options();
    o.device_workers = 2;
    sim_options sim = quick(1);
    sim.finish_seconds = 3; /* three finalizers are in it, while the device has four proofs */
    open_engine(sim, false, o);
    submit("a", 12, 4, CUZK_DEVICE_DEFAULT);
    assert_true(engine_case_until(hangs_while_a_proof_waits, NULL));
    assert_int_equal(pthread_create(&t, NULL, hang_for_4_s, NULL), 0);
    double start = cpu_monotonic_seconds();
    assert_int_equal(cuzk_engine_cancel(engine, "a", &there, &err), CUZK_OK);
    assert_true(there);
    assert_true(cpu_monotonic_seconds() - start < 2);
    pthread_join(t, NULL);
    assert_true(engine_case_until(abandoned, NULL));
    uint64_t keys = charged();
    assert_true(engine_case_until(all_back, &keys));
    close_engine();
}

/* Nothing is proved on it, and it hangs: found by looking at its memory. Its keys go all the same. */
static void hung_while_idle(void **state) {
    (void)state;
    bool was;
    uint64_t freed;
    cuzk_error err;
    cuzk_engine_options o = engine_case_options();
    o.device_timeout = HANG_SECONDS;
    open_engine(quick(2), false, o);
    submit("a", 6, 4, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 6, 4);
    backend_sim_faults(0, &(sim_faults){.hang = true});
    assert_true(engine_case_until(quarantined, NULL));
    double start = cpu_monotonic_seconds();
    assert_int_equal(cuzk_engine_evict(engine, "toy-1kib", &was, &freed, &err), CUZK_OK);
    assert_true(was && cpu_monotonic_seconds() - start < 10);
    assert_int_equal(backend_sim_stats(1).keys_forgotten, 1);
    submit("b", 3, 7, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 1024, 3, 7);
    backend_sim_faults(0, &(sim_faults){0});
    close_engine();
}

static bool forgotten_at_last(void *user) {
    (void)user;
    return backend_sim_stats(0).keys_forgotten == 1;
}

/* It hangs while it is asked to give up a key, and nobody has noticed yet: who evicts waits no longer than the watchdog
 * does. */
static void hangs_at_an_eviction(void **state) {
    (void)state;
    bool was;
    uint64_t freed;
    cuzk_error err;
    cuzk_engine_options o = engine_case_options();
    o.device_timeout = HANG_SECONDS;
    open_engine(quick(2), false, o);
    submit("a", 6, 4, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 6, 4);
    backend_sim_faults(0, &(sim_faults){.hang = true});
    double start = cpu_monotonic_seconds();
    assert_int_equal(cuzk_engine_evict(engine, "toy-1kib", &was, &freed, &err), CUZK_OK);
    assert_true(was && cpu_monotonic_seconds() - start < 10);
    assert_true(quarantined(NULL));
    submit("b", 3, 7, CUZK_DEVICE_DEFAULT);
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 1024, 3, 7);
    backend_sim_faults(0, &(sim_faults){0});
    assert_true(engine_case_until(forgotten_at_last, NULL));
    close_engine();
}

static cuzk_status large_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit,
                              uint64_t device_limit, prove_plan *out, cuzk_error *err) {
    cuzk_status st = shared_plan(device, s, threads, host_limit, device_limit, out, err);
    out->device_bytes = 55 * MIB;
    return st;
}

/* A plan that fills the device, of which a share is kept: it gets the whole, and does not wait for ever. */
static void larger_than_beside_the_share(void **state) {
    (void)state;
    backend b = *backend_cpu();
    b.name = "shares";
    b.own_machine = false;
    b.plan = large_plan;
    b.device_info = shared_info;
    engine_device d = {&b, 0, false};
    cuzk_engine_options o = engine_case_options();
    engine = engine_case_start(&o, &d, 1, NULL);
    budget_resize(engine->devices[0].memory, 60 * MIB, 10 * MIB);
    submit("a", 3, 4, CUZK_REQUIRE_GPU);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 3, 4);
    engine_view v = look();
    assert_true(v.devices[0].budget.peak_reserved <= 60 * MIB);
    engine_view_free(&v);
    close_engine();
}

static pthread_barrier_t together;

static void *plan_in_thread(void *user) {
    cuzk_error err;
    const circuit_plan *plan = NULL;
    pthread_barrier_wait(&together);
    assert_int_equal(prepare_plan(engine, user, &plan, NULL, &err), CUZK_OK);
    return (void *)(uintptr_t)plan;
}

/* Jobs of one circuit that are prepared at once share its plan: a device's room for its key is counted by it. */
static void one_plan_a_circuit(void **state) {
    (void)state;
    enum { N = 8 };
    open_engine(quick(1), true, engine_case_options());
    pthread_barrier_init(&together, NULL, N);
    for (uint64_t bytes = 1024; bytes <= 4096; bytes *= 2) {
        circuit c;
        cuzk_error err;
        pthread_t threads[N];
        void *first, *other;
        assert_int_equal(circuit_open_kind(&c, &toy_kind, bytes, "", &err), CUZK_OK);
        for (int i = 0; i < N; i++) assert_int_equal(pthread_create(&threads[i], NULL, plan_in_thread, &c), 0);
        pthread_join(threads[0], &first);
        assert_non_null(first);
        for (int i = 1; i < N; i++) {
            pthread_join(threads[i], &other);
            assert_ptr_equal(first, other);
        }
        circuit_close(&c);
    }
    pthread_barrier_destroy(&together);
    close_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_plan_a_circuit),
        cmocka_unit_test(on_devices),
        cmocka_unit_test(dead_device),
        cmocka_unit_test(last_device_dies),
        cmocka_unit_test(device_dies_during_synthesis),
        cmocka_unit_test(faults_now_and_then),
        cmocka_unit_test(wrong_results),
        cmocka_unit_test(hanging_device),
        cmocka_unit_test(cancelled_in_mid_proof),
        cmocka_unit_test(device_too_small),
        cmocka_unit_test(plan_refused),
        cmocka_unit_test(shared_in_the_device),
        cmocka_unit_test(larger_than_beside_the_share),
        cmocka_unit_test(cancelled_on_a_hung_device),
        cmocka_unit_test(hung_while_idle),
        cmocka_unit_test(hangs_at_an_eviction),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
