/* Obvious twins of math/msm.h: double-and-add, one term after the other, in the complete group law. */
#ifndef CUZK_TESTS_REF_MSM_REF_H
#define CUZK_TESTS_REF_MSM_REF_H

#include "math/curve.h"

void ref_msm_g1(g1 *out, const g1_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n);
void ref_msm_g2(g2 *out, const g2_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n);

#endif
