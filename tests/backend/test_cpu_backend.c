/* The CPU backend as a backend: plans, memory given back, cancellation, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/log.h"
#include "ref/groth16_case.h"
#include "ref/sanitized.h"

static cuzk_error err;
static pool *workers;
static char folder[256];

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

static fr start_value(uint64_t v) {
    fr x;
    fr_from_u64(&x, v);
    return x;
}

/* The peak of tracked bytes while a proof is made is the plan's, in total and by class. */
static void plan_is_the_measured_peak(const groth16_case *c, unsigned threads) {
    prove_plan plan;
    witness w;
    groth16_proof proof;
    prove_times times;
    pool *p = pool_create(threads, &err);
    assert_non_null(p);
    OK(backend_cpu()->plan(0, c->shape, threads, 0, 0, &plan, &err));
    assert_int_equal(plan.device_bytes, 0);
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w};
    OK(groth16_blinding(&q.r, &q.s, &err));
    uint64_t live = buffer_total_stats().live_bytes, class_live[BUFFER_CLASSES];
    for (buffer_class k = 0; k < BUFFER_CLASSES; k++) class_live[k] = buffer_class_stats(k).live_bytes;
    OK(witness_write(&w, c->shape, c->run, c->params, c->instance, &err));
    buffer_reset_peaks();
    pending_proof *pending;
    OK(backend_cpu()->prove_start(0, &pending, &q, p, NULL, &err));
    OK(backend_cpu()->prove_finish(pending, &proof, &times, &err));
    uint64_t peak = buffer_total_stats().peak_bytes - live;
    print_message("%u threads, %llu rows: plan %llu, measured %llu\n", threads,
                  (unsigned long long)shape_rows(c->shape), (unsigned long long)plan.host_bytes,
                  (unsigned long long)peak);
    assert_true(peak <= plan.host_bytes);
    assert_true((double)peak >= 0.97 * (double)plan.host_bytes);
    for (buffer_class k = 0; k < BUFFER_CLASSES; k++) {
        uint64_t measured = buffer_class_stats(k).peak_bytes - class_live[k];
        if (measured > plan.host_by_class[k] || (double)measured < 0.97 * (double)plan.host_by_class[k]) {
            fail_msg("class %s: plan %llu, measured %llu", buffer_class_name(k),
                     (unsigned long long)plan.host_by_class[k], (unsigned long long)measured);
        }
    }
    assert_int_equal(buffer_total_stats().live_bytes, live);
    assert_true(times.total > 0 && times.eval > 0 && times.msm_h > 0 && times.finish > 0);
    for (int i = 0; i < 6; i++) assert_true(plan.seconds[i] > 0);
    /* One byte less is refused, with both figures; exactly as much is enough. */
    OK(backend_cpu()->plan(0, c->shape, threads, plan.host_bytes, 0, &plan, &err));
    assert_int_equal(backend_cpu()->plan(0, c->shape, threads, plan.host_bytes - 1, 0, &plan, &err), CUZK_MEMORY);
    char need[32];
    snprintf(need, sizeof need, "%llu bytes", (unsigned long long)plan.host_bytes);
    assert_non_null(strstr(err.expected, need));
    pool_destroy(p);
}

/* From each word of what may still be held on, the peak stays at or below it, and comes near it where it can. */
typedef struct told {
    uint64_t live, last, words, worst_over, least_used_percent;
} told;

static void look_at_peak(told *t) {
    uint64_t peak = buffer_total_stats().peak_bytes - t->live;
    if (peak > t->last && peak - t->last > t->worst_over) t->worst_over = peak - t->last;
    uint64_t percent = peak * 100 / t->last;
    if (percent < t->least_used_percent) t->least_used_percent = percent;
    buffer_reset_peaks();
}

static void hear(void *user, uint64_t bytes) {
    told *t = user;
    look_at_peak(t);
    assert_true(bytes < t->last);
    assert_true(buffer_total_stats().live_bytes - t->live <= bytes);
    t->last = bytes;
    t->words++;
}

static void holds_are_kept(const groth16_case *c, unsigned threads) {
    prove_plan plan;
    witness w;
    groth16_proof proof;
    pending_proof *pending;
    pool *p = pool_create(threads, &err);
    assert_non_null(p);
    OK(backend_cpu()->plan(0, c->shape, threads, 0, 0, &plan, &err));
    told t = {.live = buffer_total_stats().live_bytes, .last = plan.host_bytes, .least_used_percent = 100};
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w, .holds = hear, .holds_user = &t};
    OK(groth16_blinding(&q.r, &q.s, &err));
    OK(witness_write(&w, c->shape, c->run, c->params, c->instance, &err));
    buffer_reset_peaks();
    OK(backend_cpu()->prove_start(0, &pending, &q, p, NULL, &err));
    assert_true(t.words >= 1 && t.words <= 3);
    assert_int_equal(t.last, buffer_total_stats().live_bytes - t.live); /* the pending proof alone */
    OK(backend_cpu()->prove_finish(pending, &proof, NULL, &err));
    assert_int_equal(buffer_total_stats().live_bytes, t.live);
    assert_int_equal(t.worst_over, 0);
    assert_true(t.least_used_percent >= 97);
    pool_destroy(p);
}

static void plans(void **state) {
    (void)state;
    static const chain_circuit sizes[] = {{5, 1, 2}, {1000, 3, 900}, {9000, 10, 0}, {18000, 2, 17900}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += TEST_SANITIZED ? 2 : 1) {
        groth16_case c;
        char name[32];
        fr x = start_value(11);
        snprintf(name, sizeof name, "plan-%zu", i);
        OK(case_make(&c, folder, name, chain_run, &sizes[i], &x, NULL, workers, &err));
        for (unsigned threads = 1; threads <= 4; threads *= TEST_SANITIZED ? 4 : 2) {
            plan_is_the_measured_peak(&c, threads);
            holds_are_kept(&c, threads);
        }
        case_free(&c);
    }
}

/* A limit on the process below the plan makes every allocation that passes it fail: MEMORY, nothing kept. */
static void too_little_memory(void **state) {
    (void)state;
    chain_circuit chain = {5000, 2, 100};
    groth16_case c;
    prove_plan plan;
    groth16_proof proof;
    fr x = start_value(11);
    OK(case_make(&c, folder, "limit", chain_run, &chain, &x, NULL, workers, &err));
    OK(backend_cpu()->plan(0, c.shape, pool_threads(workers), 0, 0, &plan, &err));
    uint64_t live = buffer_total_stats().live_bytes, refused = 0;
    for (uint64_t part = 1; part <= 8; part++) {
        buffer_set_limit(live + plan.host_bytes * part / 8);
        cuzk_status st = case_prove(&c, NULL, NULL, NULL, &proof, workers, NULL, &err);
        buffer_set_limit(0);
        if (st != CUZK_OK) assert_int_equal(st, CUZK_MEMORY);
        refused += st != CUZK_OK;
        assert_int_equal(buffer_total_stats().live_bytes, live);
    }
    assert_int_equal(refused, 7); /* the whole plan is enough */
    case_free(&c);
}

static atomic_int cancel_flag;
typedef struct cancel_at {
    const char *stage;
    uint64_t done;
} cancel_at;

static void look(void *user, const char *stage, uint64_t done, uint64_t total) {
    const cancel_at *at = user;
    (void)total;
    if (strcmp(stage, at->stage) == 0 && done >= at->done) atomic_store(&cancel_flag, 1);
}

static void cancelled_in_every_stage(void **state) {
    (void)state;
    static const char *const stages[] = {"evaluate", "h MSM", "l MSM", "a MSM", "b_g1 MSM", "b_g2 MSM"};
    chain_circuit chain = {20000, 2, 18000};
    groth16_case c;
    groth16_proof proof;
    fr x = start_value(11);
    pool *single = pool_create(1, &err);
    assert_non_null(single);
    OK(case_make(&c, folder, "cancel", chain_run, &chain, &x, NULL, workers, &err));
    for (size_t i = 0; i < 2 * (sizeof stages / sizeof *stages); i += TEST_SANITIZED ? 5 : 1) {
        /* Alone, the flag is seen before the next tile; with others, the last tiles of the last stage may be running.
         */
        bool alone = i % 2 == 0, last = i / 2 + 1 == sizeof stages / sizeof *stages;
        cancel_at at = {stages[i / 2], 1};
        cuzk_control control = {&cancel_flag, look, &at};
        uint64_t live = buffer_total_stats().live_bytes, count = buffer_total_stats().live_count;
        atomic_store(&cancel_flag, 0);
        cuzk_status st = case_prove(&c, NULL, NULL, NULL, &proof, alone ? single : workers, &control, &err);
        if (!atomic_load(&cancel_flag)) fail_msg("stage %s never told its progress", at.stage);
        if (st != CUZK_CANCELLED && (alone || !last || st != CUZK_OK)) {
            fail_msg("stage %s: %s", at.stage, cuzk_status_name(st));
        }
        assert_int_equal(buffer_total_stats().live_bytes, live);
        assert_int_equal(buffer_total_stats().live_count, count);
    }
    pool_destroy(single);
    case_free(&c);
}

/* ---- threads ---- */

typedef struct finisher {
    pending_proof *pending;
    groth16_proof proof;
    cuzk_status status;
} finisher;

static void *finish(void *user) {
    finisher *f = user;
    cuzk_error e;
    f->status = backend_cpu()->prove_finish(f->pending, &f->proof, NULL, &e);
    return NULL;
}

/* Proof k is finished by another thread while proof k + 1 is started. */
static void finished_while_the_next_starts(void **state) {
    (void)state;
    chain_circuit chain = {500, 2, 100};
    groth16_case c;
    enum { ROUNDS = 12 };
    finisher f[ROUNDS];
    pthread_t threads[ROUNDS];
    fr inputs[ROUNDS][2], x = start_value(1);
    OK(case_make(&c, folder, "threads", chain_run, &chain, &x, NULL, workers, &err));
    uint64_t live = buffer_total_stats().live_bytes;
    for (int i = 0; i < ROUNDS; i++) {
        witness w;
        x = start_value((uint64_t)i + 2);
        OK(witness_write(&w, c.shape, chain_run, &chain, &x, &err));
        memcpy(inputs[i], w.inputs + 1, sizeof inputs[i]);
        prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w};
        OK(groth16_blinding(&q.r, &q.s, &err));
        OK(backend_cpu()->prove_start(0, &f[i].pending, &q, workers, NULL, &err));
        if (i % 4 == 3) { /* some are given up */
            backend_cpu()->prove_abandon(f[i].pending);
            continue;
        }
        assert_int_equal(pthread_create(&threads[i], NULL, finish, &f[i]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 4 == 3) continue;
        pthread_join(threads[i], NULL);
        assert_int_equal(f[i].status, CUZK_OK);
        OK(groth16_verify(&c.key.vk, &f[i].proof, inputs[i], 2, &err));
        for (int j = 0; j < ROUNDS; j++) { /* each with its own inputs only */
            if (j == i) continue;
            assert_int_equal(groth16_verify(&c.key.vk, &f[i].proof, inputs[j], 2, &err), CUZK_FALSE);
        }
    }
    assert_int_equal(buffer_total_stats().live_bytes, live);
    case_free(&c);
}

typedef struct prover {
    const groth16_case *c;
    uint64_t seed;
    unsigned failures;
} prover;

static void *prove_some(void *user) {
    prover *p = user;
    for (uint64_t i = 0; i < 2; i++) {
        groth16_proof proof;
        cuzk_error e;
        fr x = start_value(p->seed * 100 + i);
        p->failures += case_prove(p->c, &x, NULL, NULL, &proof, workers, NULL, &e) != CUZK_OK;
    }
    return NULL;
}

/* Sixteen threads share a key, a shape and a pool; each proof is verified inside. */
static void sixteen_provers(void **state) {
    (void)state;
    chain_circuit chain = {60, 2, 20};
    groth16_case c;
    prover p[16];
    pthread_t threads[16];
    fr x = start_value(1);
    OK(case_make(&c, folder, "sixteen", chain_run, &chain, &x, NULL, workers, &err));
    uint64_t live = buffer_total_stats().live_bytes;
    for (unsigned i = 0; i < 16; i++) {
        p[i] = (prover){&c, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, prove_some, &p[i]), 0);
    }
    for (unsigned i = 0; i < 16; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(p[i].failures, 0);
    }
    assert_int_equal(buffer_total_stats().live_bytes, live);
    case_free(&c);
}

static void the_device(void **state) {
    (void)state;
    backend_device_info info;
    const backend *b = backend_cpu();
    assert_int_equal(b->version, BACKEND_VERSION);
    assert_int_equal(b->device_count(), 1);
    OK(b->device_info(0, &info, &err));
    assert_true(info.memory_bytes > 0 && info.free_bytes <= info.memory_bytes && info.name[0]);
    assert_int_equal(b->device_info(1, &info, &err), CUZK_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),
        cmocka_unit_test(too_little_memory),
        cmocka_unit_test(cancelled_in_every_stage),
        cmocka_unit_test(finished_while_the_next_starts),
        cmocka_unit_test(sixteen_provers),
        cmocka_unit_test(the_device),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    workers = pool_create(3, &err);
    if (!workers) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(workers);
    case_folder_remove(folder);
    return failed;
}
