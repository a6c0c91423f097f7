/* Multi-scalar multiplication in G1 and G2, and sums of selected points.
 *
 * Pippenger's bucket method with signed digits and batched affine bucket additions (one inversion for many additions;
 * see docs/math/msm.md). Right for points at infinity, equal and opposite points, and zero scalars, in any mixture.
 *
 * points: affine, Montgomery, (0,0) is infinity, assumed on the curve (need not be in the subgroup).
 * index:  NULL, or n indices: term i uses points[index[i]].
 * scalars: canonical 256-bit little-endian limbs, below r. 0/1 scalars are right but not treated apart: callers use
 * msm_*_sum for those.
 *
 * Time depends on the data. Thread-safe; work is split on `p` (NULL: the calling thread alone). Scratch comes from the
 * tracked allocator, class MSM_SCRATCH, and is at most msm_*_scratch_bytes(n, threads); it is wiped.
 */
#ifndef CUZK_MATH_MSM_H
#define CUZK_MATH_MSM_H

#include "base/pool.h"
#include "math/curve.h"

size_t msm_g1_scratch_bytes(size_t n, unsigned threads);
size_t msm_g2_scratch_bytes(size_t n, unsigned threads);

cuzk_status msm_g1(g1 *out, const g1_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n, pool *p,
                   const cuzk_control *control, const char *stage, cuzk_error *err);
cuzk_status msm_g2(g2 *out, const g2_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n, pool *p,
                   const cuzk_control *control, const char *stage, cuzk_error *err);

/* out = sum of points[index[i]], i < n, by pairwise batched affine additions in `scratch`
 * (msm_sum_g*_scratch_bytes(n)), on the calling thread. The costs: n affine additions at about 6 field products. */
size_t msm_sum_g1_scratch_bytes(size_t n);
size_t msm_sum_g2_scratch_bytes(size_t n);
void msm_sum_g1(g1 *out, const g1_affine *points, const uint32_t *index, size_t n, void *scratch);
void msm_sum_g2(g2 *out, const g2_affine *points, const uint32_t *index, size_t n, void *scratch);

/* Fixed-base multiplication for key making: out[i] = scalars[i] * base, affine. The table is built once (bytes told
 * beforehand, class SETUP). */
typedef struct fixed_base_g1 fixed_base_g1;
typedef struct fixed_base_g2 fixed_base_g2;
size_t fixed_base_g1_bytes(size_t expected_scalars);
size_t fixed_base_g2_bytes(size_t expected_scalars);
cuzk_status fixed_base_g1_create(fixed_base_g1 **out, const g1_affine *base, size_t expected_scalars, pool *p,
                                 cuzk_error *err);
cuzk_status fixed_base_g2_create(fixed_base_g2 **out, const g2_affine *base, size_t expected_scalars, pool *p,
                                 cuzk_error *err);
void fixed_base_g1_destroy(fixed_base_g1 *t);
void fixed_base_g2_destroy(fixed_base_g2 *t);
/* Batches of up to a few thousand scalars on the calling thread; callers tile over the pool. scalars as above. out may
 * not overlap scalars. */
void fixed_base_g1_mul(const fixed_base_g1 *t, g1_affine *out, const fr_canon *scalars, size_t n);
void fixed_base_g2_mul(const fixed_base_g2 *t, g2_affine *out, const fr_canon *scalars, size_t n);

#endif
