/* G1 and G2: every formula against chord and tangent, golden vectors, and the fast subgroup tests against [r] P = 0 on
 * points of all kinds. */
#include <assert.h>
#include "math/math_vectors.h"

#pragma GCC diagnostic ignored "-Wpedantic" /* unsigned __int128 */

#define CASE(x) g1_case_##x
#define GG(x) g1_##x
#define GG_T g1
#define GG_AFFINE g1_affine
#define GG_XYZZ g1_xyzz
#define GG_FILE "g1.jsonl"
#define GG_BYTES 96
#define CO(x) fp_##x
#define CO_T fp
#define CO_RANDOM test_fp
/* (x - 1)^2 / 3 */
#define COFACTOR                                                                                                       \
    { 0x8c00aaab0000aaab, 0x396c8c005555e156 }
#define COFACTOR_LIMBS 2
#define COFACTOR_PRIMES 3, 11, 10177, 859267
#include "math/curve_cases.h"

#define CASE(x) g2_case_##x
#define GG(x) g2_##x
#define GG_T g2
#define GG_AFFINE g2_affine
#define GG_XYZZ g2_xyzz
#define GG_FILE "g2.jsonl"
#define GG_BYTES 192
#define CO(x) fp2_##x
#define CO_T fp2
#define CO_RANDOM test_fp2
/* (x^8 - 4x^7 + 5x^6 - 4x^4 + 6x^3 - 4x^2 - 4x + 13) / 9 */
#define COFACTOR                                                                                                       \
    {                                                                                                                  \
        0xcf1c38e31c7238e5, 0x1616ec6e786f0c70, 0x21537e293a6691ae, 0xa628f1cb4d9e82ef, 0xa68a205b2e5a7ddf,            \
            0xcd91de4547085aba, 0x091d50792876a202, 0x05d543a95414e7f1                                                 \
    }
#define COFACTOR_LIMBS 8
#define COFACTOR_PRIMES 13, 23, 2713, 11953, 262069
#include "math/curve_cases.h"

/* A point with x = 0 has order three and is fixed by phi. */
static void order_three(void **state) {
    (void)state;
    g1_affine p, t;
    fp_set_zero(&p.x);
    fp_from_u64(&p.y, 2);
    assert_true(g1_affine_on_curve(&p));
    assert_false(g1_affine_in_subgroup(&p));
    t = g1_case_slow_add(&p, &p);
    t = g1_case_slow_add(&t, &p);
    assert_true(g1_affine_is_infinity(&t));
    g1_case_check_sum(&p, &p);
}

#define CURVE_TESTS(g)                                                                                                 \
    cmocka_unit_test(g##_case_vectors), cmocka_unit_test(g##_case_sums), cmocka_unit_test(g##_case_multiples),         \
        cmocka_unit_test(g##_case_batches), cmocka_unit_test(g##_case_membership)

int main(void) {
    const struct CMUnitTest tests[] = {CURVE_TESTS(g1), CURVE_TESTS(g2), cmocka_unit_test(order_three)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
