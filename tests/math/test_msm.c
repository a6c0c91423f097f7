/* Multi-scalar multiplication and sums of points: sizes, edges of points and scalars, golden vectors, known logarithms;
 * each CPU version, with and without an index, over 1 to 3 threads. */
#include "math/math_test.h"
#include "math/msm.h"
#include "ref/msm_ref.h"
#include "ref/sanitized.h"

static size_t g1_case_scratch_bytes(size_t n, unsigned threads) {
    return msm_g1_scratch_bytes(n, threads);
}
static size_t g2_case_scratch_bytes(size_t n, unsigned threads) {
    return msm_g2_scratch_bytes(n, threads);
}
static size_t g1_case_sum_scratch_bytes(size_t n) {
    return msm_sum_g1_scratch_bytes(n);
}
static size_t g2_case_sum_scratch_bytes(size_t n) {
    return msm_sum_g2_scratch_bytes(n);
}

/* The uncompressed ZCash form, without help from the code under test. */
static void g1_case_encode(uint8_t *out, const g1_affine *p) {
    memset(out, 0, 96);
    if (g1_affine_is_infinity(p)) {
        out[0] = 0x40;
        return;
    }
    fp_to_be_bytes(out, &p->x);
    fp_to_be_bytes(out + 48, &p->y);
}
static void g2_case_encode(uint8_t *out, const g2_affine *p) {
    memset(out, 0, 192);
    if (g2_affine_is_infinity(p)) {
        out[0] = 0x40;
        return;
    }
    fp_to_be_bytes(out, &p->x.c1);
    fp_to_be_bytes(out + 48, &p->x.c0);
    fp_to_be_bytes(out + 96, &p->y.c1);
    fp_to_be_bytes(out + 144, &p->y.c0);
}

#define CASE(x) g1_case_##x
#define CASE_G(x) g1_##x
#define CASE_AFFINE g1_affine
#define CASE_JACOBIAN g1
#define CASE_MSM msm_g1
#define CASE_SUM msm_sum_g1
#define CASE_REF ref_msm_g1
#define CASE_FIXED(x) fixed_base_g1##x
#define CASE_KEY "g1"
#define CASE_LARGE (TEST_SANITIZED ? 8192 : 65536)
#include "math/msm_cases.h"

#define CASE(x) g2_case_##x
#define CASE_G(x) g2_##x
#define CASE_AFFINE g2_affine
#define CASE_JACOBIAN g2
#define CASE_MSM msm_g2
#define CASE_SUM msm_sum_g2
#define CASE_REF ref_msm_g2
#define CASE_FIXED(x) fixed_base_g2##x
#define CASE_KEY "g2"
#define CASE_LARGE (TEST_SANITIZED ? 2048 : 16384)
#include "math/msm_cases.h"

/* (0, 2) has order 3 on G1's curve: no member of the subgroup, and its multiples meet equal and opposite points all the
 * time. */
static void outside_the_subgroup(void **state) {
    (void)state;
    g1_affine points[40];
    fr_canon *scalars = test_scalars(40);
    for (size_t i = 0; i < 40; i++) {
        fp_set_zero(&points[i].x);
        fp_from_u64(&points[i].y, 2);
        if (i % 3 == 1) fp_neg(&points[i].y, &points[i].y);
    }
    assert_true(g1_affine_on_curve(&points[0]) && g1_affine_on_curve(&points[1]));
    g1_case_check_ref(points, NULL, scalars, 40, "points of order 3");
    free(scalars);
}

/* Points of G2's curve whose x agree in the first coordinate, or have 0 there: like equal points and infinity at first
 * sight. Outside the subgroup, too. */
static void alike_in_one_coordinate(void **state) {
    (void)state;
    const size_t n = 60;
    g2_affine points[60];
    fr_canon *scalars = test_scalars(n);
    size_t have = 0;
    for (uint64_t c1 = 0; have < n; c1++) {
        for (uint64_t c0 = 0; c0 < 2 && have < n; c0++) {
            g2_affine *p = &points[have];
            fp2 t, four;
            fp_from_u64(&p->x.c0, c0);
            fp_from_u64(&p->x.c1, c1);
            fp2_sqr(&t, &p->x);
            fp2_mul(&t, &t, &p->x);
            fp_from_u64(&four.c0, 4);
            four.c1 = four.c0;
            fp2_add(&t, &t, &four);
            if (!fp2_sqrt(&p->y, &t)) continue;
            if (have % 3 == 1) fp2_neg(&p->y, &p->y);
            assert_true(g2_affine_on_curve(p));
            have++;
        }
    }
    for (int pattern = 0; pattern < 4; pattern++) {
        for (size_t i = 0; i < n; i++) {
            if (pattern == 1) scalars[i] = (fr_canon){{1 + i % 2}};    /* all in two buckets */
            if (pattern == 2 && i % 5 == 4) points[i] = points[i - 2]; /* equal ones among those alike */
            if (pattern == 3 && i % 5 == 4) g2_affine_neg(&points[i], &points[i - 2]);
        }
        g2_case_check_ref(points, NULL, scalars, n, "points alike in one coordinate");
    }
    free(scalars);
}

static void cancelled(void **state) {
    (void)state;
    g1_affine points[32];
    fr_canon scalars[32] = {{{5}}, {{6}}};
    atomic_int stop = 1;
    cuzk_control control = {.cancel = &stop};
    cuzk_error err;
    g1 out;
    g1_generator_affine(&points[0]);
    for (int i = 1; i < 32; i++) points[i] = points[0];
    assert_int_equal(msm_g1(&out, points, NULL, scalars, 32, test_pools[2], &control, "x", &err), CUZK_CANCELLED);
    assert_int_equal(buffer_class_stats(BUFFER_MSM_SCRATCH).live_bytes, 0);
}

/* 2^22 full-width terms in G1 on two threads fit 350 MiB. */
static void scratch_is_bounded(void **state) {
    (void)state;
    assert_true(msm_g1_scratch_bytes((size_t)1 << 22, 2) <= (size_t)350 << 20);
    assert_true(msm_g1_scratch_bytes((size_t)1 << 27, 2) <= (size_t)350 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g1_case_sizes),
        cmocka_unit_test(g2_case_sizes),
        cmocka_unit_test(g1_case_points_edges),
        cmocka_unit_test(g2_case_points_edges),
        cmocka_unit_test(g1_case_scalars_edges),
        cmocka_unit_test(g2_case_scalars_edges),
        cmocka_unit_test(g1_case_golden),
        cmocka_unit_test(g2_case_golden),
        cmocka_unit_test(g1_case_sums),
        cmocka_unit_test(g2_case_sums),
        cmocka_unit_test(g1_case_large),
        cmocka_unit_test(g2_case_large),
        cmocka_unit_test(outside_the_subgroup),
        cmocka_unit_test(alike_in_one_coordinate),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(scratch_is_bounded),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
