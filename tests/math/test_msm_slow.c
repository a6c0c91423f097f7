/* Multi-scalar multiplication against an outside oracle (blst) and with itself at larger sizes. The oracle is used
 * where tools/oracles/fetch_blst.sh has built it; that part is skipped elsewhere. */
#include "math/math_test.h"
#include "math/msm.h"
#include "ref/blst_oracle.h"

#define FALLBACK TEST_DATA "/../../build/oracles/libblst.so"

#define SLOW_TEST(G)                                                                                                   \
    static G##_affine *G##_points(const fr_canon *logs, size_t n) {                                                    \
        G##_affine *points = test_alloc(n * sizeof *points), base;                                                     \
        fixed_base_##G *table;                                                                                         \
        cuzk_error err;                                                                                                \
        G##_generator_affine(&base);                                                                                   \
        assert_int_equal(fixed_base_##G##_create(&table, &base, n, test_pools[2], &err), CUZK_OK);                     \
        fixed_base_##G##_mul(table, points, logs, n);                                                                  \
        fixed_base_##G##_destroy(table);                                                                               \
        return points;                                                                                                 \
    }                                                                                                                  \
    /* Random points and scalars with every tenth point infinite or repeated, and runs of equal scalars. Not one point \
     * alone, which blst 0.2.11 gets wrong (it is compared with double-and-add in math_msm). */                        \
    static void G##_against_blst(void **state) {                                                                       \
        (void)state;                                                                                                   \
        blst_oracle blst = {0};                                                                                        \
        if (!blst_open(&blst, FALLBACK)) {                                                                             \
            printf("SKIPPED: no blst (tools/oracles/fetch_blst.sh)\n");                                                \
            skip();                                                                                                    \
        }                                                                                                              \
        const size_t most = (size_t)1 << 16;                                                                           \
        fr_canon *logs = test_scalars(most), *scalars = test_scalars(most);                                            \
        G##_affine *points = G##_points(logs, most);                                                                   \
        for (size_t i = 9; i < most; i += 10) {                                                                        \
            if (i % 20 == 9) G##_affine_set_infinity(&points[i]);                                                      \
            if (i % 20 != 9) points[i] = points[i - 1], scalars[i] = scalars[i - 1];                                   \
        }                                                                                                              \
        for (size_t i = 1000; i < 4000; i++) scalars[i] = scalars[1000];                                               \
        for (size_t n = 2; n <= most; n = n * 5 / 2 + 1) {                                                             \
            size_t versions;                                                                                           \
            cuzk_error err;                                                                                            \
            const struct math_kernels *const *all = math_kernels_all(&versions);                                       \
            G want, got;                                                                                               \
            double t0 = thread_seconds();                                                                              \
            blst_msm_##G(&blst, &want, points, scalars, n);                                                            \
            double theirs = thread_seconds() - t0;                                                                     \
            for (size_t v = 0; v < versions; v++) {                                                                    \
                math_kernels_use(all[v]);                                                                              \
                t0 = thread_seconds();                                                                                 \
                assert_int_equal(msm_##G(&got, points, NULL, scalars, n, NULL, NULL, NULL, &err), CUZK_OK);            \
                printf("%s %zu %s: %.2f times blst\n", #G, n, all[v]->isa, theirs / (thread_seconds() - t0));          \
                assert_true(G##_eq(&got, &want));                                                                      \
            }                                                                                                          \
            math_kernels_use(NULL);                                                                                    \
        }                                                                                                              \
        free(logs);                                                                                                    \
        free(scalars);                                                                                                 \
        free(points);                                                                                                  \
    }                                                                                                                  \
    /* The sum over all terms is the sum over two parts, and that of a permutation; no other code is involved. */      \
    static void G##_splits(void **state) {                                                                             \
        (void)state;                                                                                                   \
        const size_t n = ((size_t)1 << 17) + 1, cut = 40000;                                                           \
        cuzk_error err;                                                                                                \
        fr_canon *logs = test_scalars(n), *scalars = test_scalars(n), *turned = test_scalars(n);                       \
        G##_affine *points = G##_points(logs, n);                                                                      \
        uint32_t *index = test_index(n, 1);                                                                            \
        G whole, left, right, indexed;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            index[i] = (uint32_t)(n - 1 - i);                                                                          \
            turned[i] = scalars[n - 1 - i];                                                                            \
        }                                                                                                              \
        pool *p = test_pools[3];                                                                                       \
        assert_int_equal(msm_##G(&whole, points, NULL, scalars, n, p, NULL, NULL, &err), CUZK_OK);                     \
        assert_int_equal(msm_##G(&left, points, NULL, scalars, cut, p, NULL, NULL, &err), CUZK_OK);                    \
        assert_int_equal(msm_##G(&right, points + cut, NULL, scalars + cut, n - cut, p, NULL, NULL, &err), CUZK_OK);   \
        assert_int_equal(msm_##G(&indexed, points, index, turned, n, p, NULL, NULL, &err), CUZK_OK);                   \
        G##_add(&left, &left, &right);                                                                                 \
        assert_true(G##_eq(&left, &whole));                                                                            \
        assert_true(G##_eq(&indexed, &whole));                                                                         \
        free(logs);                                                                                                    \
        free(scalars);                                                                                                 \
        free(turned);                                                                                                  \
        free(points);                                                                                                  \
        free(index);                                                                                                   \
    }

SLOW_TEST(g1)
SLOW_TEST(g2)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g1_against_blst),
        cmocka_unit_test(g2_against_blst),
        cmocka_unit_test(g1_splits),
        cmocka_unit_test(g2_splits),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
