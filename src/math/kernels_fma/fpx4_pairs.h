/* What batched additions in four lanes share between G1 and G2 (g1_pairs.h, g2_pairs.h). */
#ifndef CUZK_MATH_KERNELS_FMA_FPX4_PAIRS_H
#define CUZK_MATH_KERNELS_FMA_FPX4_PAIRS_H

#include "math/kernels_fma/fpx4.h"

/* The inverses of eight running products. */
static void fpx4_invert_two(fpx4 acc[2]) {
    fp x[8], scratch[8];
    fpx4_get(x, &acc[0]);
    fpx4_get(x + 4, &acc[1]);
    fp_batch_inv(x, 8, scratch);
    for (int i = 0; i < 8; i++) fpx4_set(&acc[i / 4], i % 4, &x[i]);
}

/* To and from the list of products, 32 words. */
X4_INLINE void fpx4_keep(void *to, const fpx4 *a) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) _mm256_storeu_pd((double *)to + 4 * j, a->v[j]);
}

X4_INLINE void fpx4_kept(fpx4 *a, const void *from) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) a->v[j] = _mm256_loadu_pd((const double *)from + 4 * j);
}

/* Lanes that a common slow path has to look at: an x of zero as infinity has, or equal ones, judged by the lowest limb.
 */
X4_INLINE bool fpx4_unusual(const fpx4_int *x1, const fpx4_int *x2) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i unusual = _mm256_or_si256(_mm256_cmpeq_epi64(x1->v[0], zero), _mm256_cmpeq_epi64(x2->v[0], zero));
    unusual = _mm256_or_si256(unusual, _mm256_cmpeq_epi64(x1->v[0], x2->v[0]));
    return !_mm256_testz_si256(unusual, unusual);
}

/* y2 - y1, or p - y2 - y1 in lanes that are negative, with p's limbs made such that differences stay below 1.5 2^48. */
X4_INLINE void fpx4_slope(fpx4 *r, const uint32_t negative[4], const fpx4_int *y1, const fpx4_int *y2) {
    if (!(negative[0] | negative[1] | negative[2] | negative[3])) {
        fpx4_difference(r, y2, y1);
        return;
    }
    const __m256i sign =
        _mm256_setr_epi64x(-(int64_t)negative[0], -(int64_t)negative[1], -(int64_t)negative[2], -(int64_t)negative[3]);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        int64_t p = (int64_t)fpx4_p[0][j][0] + (j < 7 ? INT64_C(1) << 48 : 0) - (j > 0 ? 1 : 0);
        __m256i y = _mm256_sub_epi64(_mm256_xor_si256(y2->v[j], sign), sign);
        y = _mm256_add_epi64(y, _mm256_and_si256(sign, _mm256_set1_epi64x(p)));
        r->v[j] = fpx4_double(_mm256_sub_epi64(y, y1->v[j]));
    }
}

#endif
