/* fr and fp: every CPU version against the schoolbook field, golden vectors, edge values, and each other. */
#include "math/math_test.h"
#include "ref/field_ref.h"

#define CASE(x) fr_case_##x
#define FF(x) fr_##x
#define FF_T fr
#define FF_C fr_canon
#define FF_LIMBS 4
#define FF_KERNEL(x) fr_##x
#define FF_VECTORS "fr.jsonl"
#include "math/field_cases.h"

#define CASE(x) fp_case_##x
#define FF(x) fp_##x
#define FF_T fp
#define FF_C fp_canon
#define FF_LIMBS 6
#define FF_KERNEL(x) fp_##x
#define FF_VECTORS "fp.jsonl", "fp-random.jsonl"
#include "math/field_cases.h"

/* The array kernels that only one of the fields has. */
static void array_kernels(void **state) {
    (void)state;
    size_t n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (size_t k = 0; k < n; k++) {
        const struct field_kernels *f = all[k]->field;
        fr a[40], b[40], scratch[40];
        fr_canon c[40], d;
        fp x[8], y[8], z;
        for (int i = 0; i < 40; i++) c[i] = test_scalar();
        memset(&c[7], 0, sizeof c[7]);
        f->fr_from_canon(a, c, 40);
        for (int i = 0; i < 40; i++) {
            fr_to_canon(&d, &a[i]);
            assert_memory_equal(&d, &c[i], sizeof d);
        }
        memcpy(b, a, sizeof b);
        f->fr_batch_inv(b, 40, scratch);
        for (int i = 0; i < 40; i++) {
            fr_mul(&b[i], &b[i], &a[i]);
            assert_true(i == 7 ? fr_is_zero(&b[i]) : fr_is_one(&b[i]));
        }
        f->fr_to_canon(c, a, 40);
        f->fr_from_canon(b, c, 40);
        assert_memory_equal(a, b, sizeof a);
        for (int i = 0; i < 8; i++) x[i] = fp_case_random();
        f->fp_inv(y, x, 8);
        for (int i = 0; i < 8; i++) {
            fp_mul(&z, &x[i], &y[i]);
            assert_true(fp_is_one(&z));
        }
    }
}

/* Not a test of randomness: results are reduced, differ, and use the upper half of the range too. */
static void random_elements(void **state) {
    (void)state;
    cuzk_error err;
    fr a[64];
    int high = 0;
    for (int i = 0; i < 64; i++) {
        assert_int_equal(fr_random(&a[i], &err), CUZK_OK);
        assert_true(fr_limbs_reduced(a[i].l));
        high += fr_is_larger_half(&a[i]);
        for (int j = 0; j < i; j++) assert_false(fr_eq(&a[i], &a[j]));
    }
    assert_true(high > 4 && high < 60);
}

#define FIELD_TESTS(f)                                                                                                 \
    cmocka_unit_test(f##_case_vectors), cmocka_unit_test(f##_case_edge_values),                                        \
        cmocka_unit_test(f##_case_random_values), cmocka_unit_test(f##_case_versions_agree),                           \
        cmocka_unit_test(f##_case_inversion), cmocka_unit_test(f##_case_powers), cmocka_unit_test(f##_case_roots),     \
        cmocka_unit_test(f##_case_bytes)

int main(void) {
    const struct CMUnitTest tests[] = {
        FIELD_TESTS(fr),
        FIELD_TESTS(fp),
        cmocka_unit_test(array_kernels),
        cmocka_unit_test(random_elements),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
