/* The simulated device: right proofs, plans that are kept, turns, faults, hanging, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "backend/sim/sim.h"
#include "base/cpu.h"
#include "base/log.h"
#include "ref/groth16_case.h"

static cuzk_error err;
static pool *workers;
static char folder[256];
static groth16_case c;
static fr x0;
static chain_circuit chain = {300, 2, 20};

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

static const uint64_t mib = 1 << 20;

static const backend *make(sim_options o) {
    const backend *b = backend_sim_create(&o, &err);
    assert_non_null(b);
    return b;
}

static const sim_options quick = {
    .devices = 2, .memory_bytes = 100 << 20, .host_bytes = 6 << 20, .device_bytes = 40 << 20};

typedef struct one {
    pthread_t thread;
    const backend *b;
    unsigned device;
    const cuzk_control *control;
    cuzk_status start, finish, verify;
    cuzk_error err;
    double seconds;
} one;

static void *prove(void *user) {
    one *o = user;
    witness w;
    groth16_proof proof;
    pending_proof *pending;
    double t = cpu_monotonic_seconds();
    fr inputs[2];
    o->finish = o->verify = CUZK_INTERNAL;
    o->start = witness_write(&w, c.shape, c.run, c.params, c.instance, &o->err);
    if (o->start) return NULL;
    memcpy(inputs, w.inputs + 1, sizeof inputs);
    prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w};
    groth16_blinding(&q.r, &q.s, &o->err);
    o->start = o->b->prove_start(o->device, &pending, &q, workers, o->control, &o->err);
    assert_null(w.memory.data);
    if (!o->start) o->finish = o->b->prove_finish(pending, &proof, NULL, &o->err);
    if (!o->start && !o->finish) {
        cuzk_error ignored;
        o->verify = groth16_verify(&c.key.vk, &proof, inputs, 2, &ignored);
    }
    o->seconds = cpu_monotonic_seconds() - t;
    return NULL;
}

static one run(const backend *b, unsigned device, const cuzk_control *control) {
    one o = {.b = b, .device = device, .control = control};
    prove(&o);
    return o;
}

static void the_plan_is_really_held(void **state) {
    (void)state;
    prove_plan plan;
    const backend *b = make(quick);
    assert_null(backend_sim_create(&quick, &err));
    uint64_t live = buffer_total_stats().live_bytes;
    OK(b->plan(1, c.shape, pool_threads(workers), 0, 0, &plan, &err));
    assert_true(plan.host_bytes > 6 * mib);
    assert_int_equal(plan.device_bytes, 40 * mib);
    assert_int_equal(b->plan(1, c.shape, 1, plan.host_bytes / 2, 0, &plan, &err), CUZK_MEMORY);
    assert_int_equal(b->plan(1, c.shape, 1, 0, 40 * mib - 1, &plan, &err), CUZK_MEMORY);
    OK(b->plan(1, c.shape, pool_threads(workers), 0, 0, &plan, &err));
    buffer_reset_peaks();
    one o = run(b, 1, NULL);
    assert_int_equal(o.verify, CUZK_OK);
    uint64_t peak = buffer_total_stats().peak_bytes - live;
    assert_true(peak <= plan.host_bytes && (double)peak > 0.97 * (double)plan.host_bytes);
    assert_int_equal(buffer_total_stats().live_bytes, live);
    sim_stats s = backend_sim_stats(1);
    assert_int_equal(s.started, 1);
    assert_int_equal(s.finished, 1);
    assert_int_equal(s.peak_bytes, 40 * mib);
    assert_int_equal(s.live_bytes, 0);
    assert_int_equal(backend_sim_stats(0).started, 0);
    backend_sim_destroy();
}

typedef struct told {
    uint64_t live, last;
    unsigned words;
} told;

static void hear(void *user, uint64_t bytes) {
    told *t = user;
    assert_true(bytes < t->last);
    assert_true(buffer_total_stats().live_bytes - t->live <= bytes);
    t->last = bytes;
    t->words++;
}

static void what_is_still_held_is_told(void **state) {
    (void)state;
    const backend *b = make(quick);
    witness w;
    groth16_proof proof;
    pending_proof *pending;
    told t = {.live = buffer_total_stats().live_bytes, .last = UINT64_MAX};
    OK(witness_write(&w, c.shape, c.run, c.params, c.instance, &err));
    prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w, .holds = hear, .holds_user = &t};
    groth16_blinding(&q.r, &q.s, &err);
    OK(b->prove_start(0, &pending, &q, workers, NULL, &err));
    assert_true(t.words >= 2);
    assert_int_equal(buffer_total_stats().live_bytes - t.live, t.last);
    assert_true(t.last <= 2 * mib + 8192);
    OK(b->prove_finish(pending, &proof, NULL, &err));
    OK(witness_write(&w, c.shape, c.run, c.params, c.instance, &err));
    q.holds = NULL;
    OK(b->prove_start(0, &pending, &q, workers, NULL, &err));
    b->prove_abandon(pending);
    b->prove_abandon(NULL);
    assert_int_equal(backend_sim_stats(0).abandoned, 1);
    assert_int_equal(buffer_total_stats().live_bytes, t.live);
    backend_sim_destroy();
}

static void one_computes_while_others_upload(void **state) {
    (void)state;
    sim_options o = quick;
    o.upload_seconds = 0.1;
    o.compute_seconds = 0.2;
    const backend *b = make(o);
    one two[2];
    for (int i = 0; i < 2; i++) {
        two[i] = (one){.b = b, .device = 0};
        pthread_create(&two[i].thread, NULL, prove, &two[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(two[i].thread, NULL);
        assert_int_equal(two[i].verify, CUZK_OK);
    }
    sim_stats s = backend_sim_stats(0);
    assert_true(s.busy_seconds >= 0.4);
    assert_true(s.last_busy - s.first_busy >= 0.4);
    assert_true(s.busy_seconds / (s.last_busy - s.first_busy) > 0.9);
    assert_int_equal(s.peak_bytes, 80 * mib);
    backend_sim_destroy();
}

static void a_full_device_refuses(void **state) {
    (void)state;
    sim_options o = quick;
    o.memory_bytes = 40 * mib - 1;
    const backend *b = make(o);
    assert_int_equal(run(b, 0, NULL).start, CUZK_MEMORY);
    assert_int_equal(backend_sim_stats(0).refused_bytes, 1);
    backend_sim_destroy();
}

static void faults_come_as_often_as_asked(void **state) {
    (void)state;
    const backend *b = make(quick);
    uint64_t live = buffer_total_stats().live_bytes;
    unsigned memory = 0, device = 0, stages = 0, wrong = 0;
    backend_sim_faults(0, &(sim_faults){.allocation_every = 5});
    for (int i = 0; i < 20; i++) memory += run(b, 0, NULL).start == CUZK_MEMORY;
    assert_true(memory >= 8 && memory <= 12);
    for (unsigned every = 1; every <= 8; every++) { /* each stage fails once */
        backend_sim_destroy();
        b = make(quick);
        backend_sim_faults(0, &(sim_faults){.launch_every = every});
        one o = run(b, 0, NULL);
        device += o.start == CUZK_DEVICE || o.finish == CUZK_DEVICE;
        static const char *const names[] = {"upload", "eval", "ntt", "h MSM", "l MSM", "a MSM", "b MSM", "results"};
        stages += strstr(o.err.where, names[every - 1]) != NULL;
        assert_int_equal(buffer_total_stats().live_bytes, live);
    }
    assert_int_equal(device, 8);
    assert_int_equal(stages, 8);
    backend_sim_faults(1, &(sim_faults){.flip_every = 3});
    for (int i = 0; i < 12; i++) wrong += run(b, 1, NULL).verify == CUZK_FALSE;
    assert_int_equal(wrong, 4);
    assert_int_equal(backend_sim_stats(1).wrong, 4);
    backend_sim_faults(1, &(sim_faults){.dead = true});
    assert_int_equal(run(b, 1, NULL).start, CUZK_DEVICE);
    assert_int_equal(buffer_total_stats().live_bytes, live);
    assert_int_equal(backend_sim_stats(1).live_bytes, 0);
    backend_sim_destroy();
}

static void nap(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void cancelling_is_quick_but_not_of_one_that_hangs(void **state) {
    (void)state;
    sim_options o = quick;
    o.compute_seconds = 30;
    const backend *b = make(o);
    uint64_t live = buffer_total_stats().live_bytes;
    atomic_int stop = 0;
    cuzk_control control = {.cancel = &stop};
    one two[2];
    for (int i = 0; i < 2; i++) { /* the second waits for its turn */
        two[i] = (one){.b = b, .device = 0, .control = &control};
        pthread_create(&two[i].thread, NULL, prove, &two[i]);
    }
    nap(0.1);
    stop = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(two[i].thread, NULL);
        assert_int_equal(two[i].start, CUZK_CANCELLED);
        assert_true(two[i].seconds < 2);
    }
    assert_int_equal(buffer_total_stats().live_bytes, live);
    stop = 0;
    backend_sim_faults(0, &(sim_faults){.hang = true});
    two[0] = (one){.b = b, .device = 0, .control = &control};
    pthread_create(&two[0].thread, NULL, prove, &two[0]);
    while (buffer_total_stats().live_bytes == live) nap(0.01);
    stop = 1;
    nap(0.2);
    assert_true(buffer_total_stats().live_bytes > live); /* it is still there */
    backend_sim_faults(0, &(sim_faults){0});
    pthread_join(two[0].thread, NULL);
    assert_int_equal(two[0].start, CUZK_CANCELLED);
    backend_sim_destroy();
}

static void keys_are_forgotten(void **state) {
    (void)state;
    const backend *b = make(quick);
    run(b, 0, NULL);
    run(b, 0, NULL);
    run(b, 1, NULL);
    assert_int_equal(backend_sim_stats(0).keys_seen, 1);
    for (unsigned d = 0; d < 2; d++) b->forget_key(d, &c.key), b->forget_key(d, &c.key);
    assert_int_equal(backend_sim_stats(0).keys_forgotten, 1);
    assert_int_equal(backend_sim_stats(1).keys_forgotten, 1);
    run(b, 1, NULL);
    assert_int_equal(backend_sim_stats(1).keys_used_after, 1);
    backend_sim_destroy();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_is_really_held),
        cmocka_unit_test(what_is_still_held_is_told),
        cmocka_unit_test(one_computes_while_others_upload),
        cmocka_unit_test(a_full_device_refuses),
        cmocka_unit_test(faults_come_as_often_as_asked),
        cmocka_unit_test(cancelling_is_quick_but_not_of_one_that_hangs),
        cmocka_unit_test(keys_are_forgotten),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    workers = pool_create(2, &err);
    if (!workers) return 1;
    fr_from_u64(&x0, 11);
    if (case_make(&c, folder, "sim", chain_run, &chain, &x0, NULL, workers, &err)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_free(&c);
    pool_destroy(workers);
    case_folder_remove(folder);
    return failed;
}
