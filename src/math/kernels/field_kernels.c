/* Field operations over arrays, once per CPU version. They serve loops that live outside the kernels, and they are how
 * the tests reach each version's products. */
#include "math/kernels.h"

#define ARRAY_2(F, op)                                                                                                 \
    static void F##_##op##_array(F *r, const F *a, const F *b, size_t n) {                                             \
        for (size_t i = 0; i < n; i++) F##_##op(&r[i], &a[i], &b[i]);                                                  \
    }
#define ARRAY_1(F, op)                                                                                                 \
    static void F##_##op##_array(F *r, const F *a, size_t n) {                                                         \
        for (size_t i = 0; i < n; i++) F##_##op(&r[i], &a[i]);                                                         \
    }

ARRAY_2(fr, add)
ARRAY_2(fr, sub)
ARRAY_2(fr, mul)
ARRAY_1(fr, sqr)
ARRAY_2(fp, add)
ARRAY_2(fp, sub)
ARRAY_2(fp, mul)
ARRAY_1(fp, sqr)
ARRAY_1(fp, inv)

static void fr_from_canon_array(fr *r, const fr_canon *a, size_t n) {
    for (size_t i = 0; i < n; i++) fr_from_canon(&r[i], &a[i]);
}

static void fr_to_canon_array(fr_canon *r, const fr *a, size_t n) {
    for (size_t i = 0; i < n; i++) fr_to_canon(&r[i], &a[i]);
}

static void fr_batch_inv_array(fr *a, size_t n, fr *scratch) {
    fr_batch_inv(a, n, scratch);
}

const struct field_kernels KERNEL_NAME(field_kernels) = {
    .fr_add = fr_add_array,
    .fr_sub = fr_sub_array,
    .fr_mul = fr_mul_array,
    .fr_sqr = fr_sqr_array,
    .fr_from_canon = fr_from_canon_array,
    .fr_to_canon = fr_to_canon_array,
    .fr_batch_inv = fr_batch_inv_array,
    .fp_add = fp_add_array,
    .fp_sub = fp_sub_array,
    .fp_mul = fp_mul_array,
    .fp_sqr = fp_sqr_array,
    .fp_inv = fp_inv_array,
};
