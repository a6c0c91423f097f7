/* Window PoSt with lazy witnesses, on the reference's sets: the same assignment, evaluation, sums and proof as with the
 * whole witness, the plan's memory, and nothing left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "backend/cpu/cpu.h"
#include "base/log.h"
#include "circuit/job.h"
#include "ref/groth16_case.h"
#include "ref/sources.h"

#define DATA TEST_DATA "/"

static cuzk_error err;
static pool *workers;
static char folder[256];
static groth16_case key; /* one circuit, one key; its shape is lazy */
static shape *plain;     /* the same shape for whole witnesses */

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

#define SETS 3
static void open_set(job *j, unsigned set) {
    char request[512], vanilla[3][512];
    const char *names[3] = {vanilla[0], vanilla[1], vanilla[2]};
    snprintf(request, sizeof request, DATA "window-post-2kib-%u/request.json", set + 1);
    for (unsigned i = 0; i <= set; i++)
        snprintf(vanilla[i], sizeof vanilla[i], DATA "window-post-2kib-%u/vanilla-%u.bin", set + 1, i);
    job_source sources[3];
    job_files files = {.request.path = request, .vanilla = sources_of(sources, names, set + 1), .n_vanilla = set + 1};
    OK(job_open(j, "window-post", &files, false, &err));
}

static void assignment(void **state) {
    (void)state;
    for (unsigned set = 0; set < SETS; set++) {
        job j;
        open_set(&j, set);
        for (unsigned k = 0; k < j.partitions; k++) {
            witness whole, lazy;
            uint8_t digest[2][2][32];
            uint64_t bad;
            OK(job_witness(&whole, &j, plain, k, &err));
            OK(job_witness(&lazy, &j, key.shape, k, &err));
            assert_true(witness_is_lazy(&lazy) && !witness_is_lazy(&whole));
            OK(witness_digests(&whole, plain, digest[0][0], digest[0][1], NULL, NULL, &err));
            OK(witness_digests(&lazy, key.shape, digest[1][0], digest[1][1], NULL, NULL, &err));
            assert_memory_equal(digest[0], digest[1], sizeof digest[0]);
            OK(witness_check(&lazy, key.shape, &bad, workers, NULL, &err));
            assert_true(bad == UINT64_MAX);
            size_t m = (size_t)1 << shape_domain_log2(plain);
            fr *v[2] = {calloc(3 * m, sizeof(fr)), calloc(3 * m, sizeof(fr))};
            OK(cpu_evaluate(v[0], v[0] + m, v[0] + 2 * m, plain, &whole, workers, NULL, &err));
            OK(cpu_evaluate(v[1], v[1] + m, v[1] + 2 * m, key.shape, &lazy, workers, NULL, &err));
            assert_memory_equal(v[0], v[1], 3 * m * sizeof(fr));
            free(v[0]);
            free(v[1]);
            OK(witness_materialise(&lazy, key.shape, workers, NULL, &err));
            assert_memory_equal(lazy.memory.data, whole.memory.data, whole.memory.bytes);
            witness_free(&lazy);
            witness_free(&whole);
        }
        job_close(&j);
    }
}

static void start(witness *w, const shape *s, const fr *r, pending_proof **out, pool *p) {
    prove_request q = {.key = &key.key, .shape = s, .witness = w, .r = *r, .s = *r};
    OK(backend_cpu()->prove_start(0, out, &q, p, NULL, &err));
    assert_null(w->memory.data);
}

/* A backend that takes whole witnesses only: groth16_prove makes them so. */
static cuzk_status whole_start(unsigned device, pending_proof **out, prove_request *req, pool *p,
                               const cuzk_control *control, cuzk_error *e) {
    if (witness_is_lazy(req->witness)) fail_msg("the witness is lazy");
    return backend_cpu()->prove_start(device, out, req, p, control, e);
}

static bool same_sums(const groth16_sums *a, const groth16_sums *b) {
    return g1_eq(&a->h, &b->h) && g1_eq(&a->l, &b->l) && g1_eq(&a->a, &b->a) && g1_eq(&a->b_g1, &b->b_g1) &&
           g2_eq(&a->b_g2, &b->b_g2);
}

static void sums_and_proofs(void **state) {
    (void)state;
    backend other = *backend_cpu();
    other.lazy_witness = false;
    other.prove_start = whole_start;
    uint64_t live = buffer_total_stats().live_bytes;
    for (unsigned set = 0; set < SETS; set++) {
        job j;
        open_set(&j, set);
        for (unsigned k = 0; k < j.partitions; k++) {
            witness w;
            pending_proof *a, *b;
            groth16_proof proof[3];
            uint8_t bytes[3][192];
            fr r;
            fr_from_u64(&r, 1234567 + k);
            OK(job_witness(&w, &j, plain, k, &err));
            start(&w, plain, &r, &a, workers);
            OK(job_witness(&w, &j, key.shape, k, &err));
            start(&w, key.shape, &r, &b, k == 0 ? workers : NULL);
            assert_true(same_sums(&a->sums, &b->sums));
            OK(backend_cpu()->prove_finish(a, &proof[0], NULL, &err));
            OK(backend_cpu()->prove_finish(b, &proof[1], NULL, &err));
            if (set == 0) { /* verified inside */
                prove_request q = {.key = &key.key, .shape = key.shape, .witness = &w, .r = r, .s = r};
                OK(job_witness(&w, &j, key.shape, k, &err));
                OK(groth16_prove(&other, 0, &proof[2], NULL, &q, workers, NULL, &err));
                assert_null(w.memory.data);
            } else {
                proof[2] = proof[1];
            }
            for (int i = 0; i < 3; i++) proof_write(&proof[i], bytes[i]);
            for (int i = 1; i < 3; i++) assert_memory_equal(bytes[0], bytes[i], 192);
        }
        job_close(&j);
    }
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

static void plan_is_the_measured_peak(void **state) {
    (void)state;
    job j;
    open_set(&j, 1);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        prove_plan plan;
        witness w;
        pending_proof *pending;
        groth16_proof proof;
        fr r;
        fr_from_u64(&r, 5);
        pool *p = pool_create(threads, &err);
        OK(backend_cpu()->plan(0, key.shape, threads, 0, 0, &plan, &err));
        uint64_t live = buffer_total_stats().live_bytes, class_live[BUFFER_CLASSES];
        for (buffer_class k = 0; k < BUFFER_CLASSES; k++) class_live[k] = buffer_class_stats(k).live_bytes;
        OK(job_witness(&w, &j, key.shape, 0, &err));
        buffer_reset_peaks();
        start(&w, key.shape, &r, &pending, p);
        OK(backend_cpu()->prove_finish(pending, &proof, NULL, &err));
        uint64_t peak = buffer_total_stats().peak_bytes - live;
        print_message("%u threads: plan %llu, measured %llu\n", threads, (unsigned long long)plan.host_bytes,
                      (unsigned long long)peak);
        assert_true(peak <= plan.host_bytes && (double)peak >= 0.97 * (double)plan.host_bytes);
        for (buffer_class k = 0; k < BUFFER_CLASSES; k++) {
            uint64_t measured = buffer_class_stats(k).peak_bytes - class_live[k];
            if (measured > plan.host_by_class[k] || (double)measured < 0.97 * (double)plan.host_by_class[k])
                fail_msg("class %s: plan %llu, measured %llu", buffer_class_name(k),
                         (unsigned long long)plan.host_by_class[k], (unsigned long long)measured);
        }
        assert_int_equal(buffer_total_stats().live_bytes, live);
        for (int i = 0; i < 6; i++) assert_true(plan.seconds[i] > 0);
        pool_destroy(p);
    }
    job_close(&j);
}

/* The circuit makes another input than the verifier derives: found when the witness is read, nothing comes out. */
static void other_inputs(void **state) {
    (void)state;
    job j;
    witness w;
    open_set(&j, 0);
    uint64_t live = buffer_total_stats().live_bytes;
    OK(job_witness(&w, &j, key.shape, 0, &err));
    fr_add(&w.inputs[12], &w.inputs[12], &w.inputs[0]);
    prove_request q = {.key = &key.key, .shape = key.shape, .witness = &w};
    groth16_proof proof;
    assert_int_equal(groth16_prove(backend_cpu(), 0, &proof, NULL, &q, workers, NULL, &err), CUZK_INTERNAL);
    assert_non_null(strstr(err.what, "public inputs"));
    assert_non_null(strstr(err.where, "sector"));
    assert_null(w.memory.data);
    assert_int_equal(buffer_total_stats().live_bytes, live);
    job_close(&j);
}

static void which_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < circuit_kind_count(); i++) {
        const circuit_kind *k = circuit_kind_at(i);
        assert_int_equal(k->lazy_blocks, strcmp(k->name, "window-post") == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignment),   cmocka_unit_test(sums_and_proofs), cmocka_unit_test(plan_is_the_measured_peak),
        cmocka_unit_test(other_inputs), cmocka_unit_test(which_kinds),
    };
    circuit c;
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    workers = pool_create(3, &err);
    if (!workers || circuit_open(&c, "window-post", 2048, "", &err) ||
        case_make(&key, folder, "window", c.kind->synthesize, c.params, NULL, NULL, workers, &err) ||
        shape_record(&plain, c.kind->synthesize, c.params, NULL, &err)) {
        fprintf(stderr, "%s\n", err.what);
        return 1;
    }
    shape_make_lazy(key.shape);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    shape_destroy(plain);
    case_free(&key);
    circuit_close(&c);
    pool_destroy(workers);
    case_folder_remove(folder);
    return failed;
}
