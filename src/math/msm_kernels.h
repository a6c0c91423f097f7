/* What a CPU version offers to math/msm.c (members of math_kernels in math/kernels.h). */
#ifndef CUZK_MATH_MSM_KERNELS_H
#define CUZK_MATH_MSM_KERNELS_H

#include "math/curve.h"

/* window: out = sum of digit(scalar_i, window) * point_i (math/kernels/msm_digits.h) in scratch of window_bytes(n,
 * bits). combine: out = sum over windows w of 2^(bits w) * (the sum of its `ranges` parts, sums[w * ranges + range]).
 * fixed_row: row[j] = (j + 1) * base for j < n. fixed_mul: out[i] = scalars[i] * base from the table of all rows. */
struct msm_kernels {
    size_t (*g1_window_bytes)(size_t n, unsigned bits);
    void (*g1_window)(g1 *out, const g1_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n,
                      unsigned bits, unsigned window, void *scratch);
    void (*g1_combine)(g1 *out, const g1 *sums, unsigned windows, size_t ranges, unsigned bits);
    size_t (*g1_sum_bytes)(void);
    void (*g1_sum)(g1 *out, const g1_affine *points, const uint32_t *index, size_t n, void *scratch);
    void (*g1_fixed_row)(g1_affine *row, const g1_affine *base, size_t n);
    void (*g1_fixed_mul)(const g1_affine *table, unsigned bits, g1_affine *out, const fr_canon *scalars, size_t n);
    size_t (*g2_window_bytes)(size_t n, unsigned bits);
    void (*g2_window)(g2 *out, const g2_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n,
                      unsigned bits, unsigned window, void *scratch);
    void (*g2_combine)(g2 *out, const g2 *sums, unsigned windows, size_t ranges, unsigned bits);
    size_t (*g2_sum_bytes)(void);
    void (*g2_sum)(g2 *out, const g2_affine *points, const uint32_t *index, size_t n, void *scratch);
    void (*g2_fixed_row)(g2_affine *row, const g2_affine *base, size_t n);
    void (*g2_fixed_mul)(const g2_affine *table, unsigned bits, g2_affine *out, const fr_canon *scalars, size_t n);
};

#endif
