/* Fixed-base multiplication: every table width, edge scalars, any base, each CPU version, against double-and-add. */
#include "math/math_test.h"
#include "math/msm.h"
#include "ref/msm_ref.h"
#include "ref/sanitized.h"

#define FIXED_TEST(G)                                                                                                  \
    static void G##_check(const G##_affine *base, size_t expected, const fr_canon *scalars, size_t n) {                \
        size_t versions;                                                                                               \
        cuzk_error err;                                                                                                \
        const struct math_kernels *const *all = math_kernels_all(&versions);                                           \
        G##_affine *want = test_alloc((n + 1) * sizeof *want), *got = test_alloc((n + 1) * sizeof *got);               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            G t;                                                                                                       \
            ref_msm_##G(&t, base, NULL, &scalars[i], 1);                                                               \
            G##_to_affine(&want[i], &t);                                                                               \
        }                                                                                                              \
        for (size_t v = 0; v < versions; v++) {                                                                        \
            fixed_base_##G *t;                                                                                         \
            math_kernels_use(all[v]);                                                                                  \
            assert_int_equal(fixed_base_##G##_create(&t, base, expected, test_pools[1 + v % 3], &err), CUZK_OK);       \
            uint64_t live = buffer_class_stats(BUFFER_SETUP).live_bytes;                                               \
            assert_true(live >= fixed_base_##G##_bytes(expected));                                                     \
            assert_true(live < fixed_base_##G##_bytes(expected) + 4096);                                               \
            memset(got, 0xff, n * sizeof *got);                                                                        \
            fixed_base_##G##_mul(t, got, scalars, n);                                                                  \
            assert_memory_equal(got, want, n * sizeof *got);                                                           \
            fixed_base_##G##_destroy(t);                                                                               \
            assert_int_equal(buffer_class_stats(BUFFER_SETUP).live_bytes, 0);                                          \
        }                                                                                                              \
        math_kernels_use(NULL);                                                                                        \
        free(want);                                                                                                    \
        free(got);                                                                                                     \
    }                                                                                                                  \
    static fr_canon *G##_edges(size_t n) {                                                                             \
        fr_canon *s = test_scalars(n);                                                                                 \
        memset(&s[0], 0, sizeof s[0]);                                                                                 \
        s[1] = (fr_canon){{1}};                                                                                        \
        s[2] = (fr_canon){{2}};                                                                                        \
        s[3] = test_minus_one();                                                                                       \
        s[4] = (fr_canon){{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX >> 2}};                                      \
        s[5] = (fr_canon){{0, 0, 0, UINT64_C(1) << 62}};                                                               \
        for (size_t i = 0; i < 60; i++) {                                                                              \
            s[6 + i] = (fr_canon){{0}};                                                                                \
            s[6 + i].l[i % 4] = UINT64_C(1) << i;                                                                      \
        }                                                                                                              \
        return s;                                                                                                      \
    }                                                                                                                  \
    static void G##_widths(void **state) {                                                                             \
        (void)state;                                                                                                   \
        static const size_t expected[] = {0, 1, 5, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000};        \
        G##_affine base;                                                                                               \
        fr_canon *scalars = G##_edges(90);                                                                             \
        G##_generator_affine(&base);                                                                                   \
        for (size_t i = 0; i < sizeof expected / sizeof expected[0] - (TEST_SANITIZED ? 2 : 0); i++)                   \
            G##_check(&base, expected[i], scalars, 90);                                                                \
        free(scalars);                                                                                                 \
    }                                                                                                                  \
    static void G##_batches_and_bases(void **state) {                                                                  \
        (void)state;                                                                                                   \
        static const size_t sizes[] = {0, 1, 2, 511, 512, 513, 1100};                                                  \
        G##_affine base;                                                                                               \
        G t;                                                                                                           \
        G##_generator_affine(&base);                                                                                   \
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {                                                  \
            fr_canon *scalars = test_scalars(sizes[i]);                                                                \
            ref_msm_##G(&t, &base, NULL, &scalars[sizes[i]], 1);                                                       \
            G##_to_affine(&base, &t);                                                                                  \
            G##_check(&base, 200, scalars, sizes[i]);                                                                  \
            free(scalars);                                                                                             \
        }                                                                                                              \
        fr_canon *scalars = G##_edges(80);                                                                             \
        G##_affine_set_infinity(&base);                                                                                \
        G##_check(&base, 80, scalars, 80);                                                                             \
        free(scalars);                                                                                                 \
    }

FIXED_TEST(g1)
FIXED_TEST(g2)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g1_widths),
        cmocka_unit_test(g2_widths),
        cmocka_unit_test(g1_batches_and_bases),
        cmocka_unit_test(g2_batches_and_bases),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
