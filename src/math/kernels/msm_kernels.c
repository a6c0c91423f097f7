/* Multi-scalar multiplication in G1 and G2, one CPU version. The algorithm is in msm_template.h. */
#include "math/kernels.h"
#include "math/kernels/msm_digits.h"

#define MSM(x) g1_msm_##x
#define MSM_F fp
#define MSM_FN(x) fp_##x
#define MSM_AFFINE g1_affine
#define MSM_JACOBIAN g1
#define MSM_GROUP(x) g1_##x
#define MSM_SEGMENT 2048u
#define MSM_PASS ((size_t)1 << 18)
#ifdef MSM_G1_VECTOR
#define MSM_VECTOR MSM_G1_VECTOR
typedef struct {
    uint64_t word[8]; /* eight of them: one limb of eight lanes each */
} g1_product;
#define MSM_PRODUCT g1_product
#else
#define MSM_PRODUCT fp
#endif
#include "math/kernels/msm_template.h"

#define MSM(x) g2_msm_##x
#define MSM_F fp2
#define MSM_FN(x) fp2_##x
#define MSM_AFFINE g2_affine
#define MSM_JACOBIAN g2
#define MSM_GROUP(x) g2_##x
#define MSM_SEGMENT 2048u
#define MSM_PASS ((size_t)1 << 17)
#ifdef MSM_G2_VECTOR
#define MSM_VECTOR MSM_G2_VECTOR
typedef struct {
    uint64_t word[16]; /* four of them: eight limbs of four lanes each, twice */
} g2_product;
#define MSM_PRODUCT g2_product
#else
#define MSM_PRODUCT fp2
#endif
#include "math/kernels/msm_template.h"

const struct msm_kernels KERNEL_NAME(msm_kernels) = {
    .g1_window_bytes = g1_msm_window_bytes,
    .g1_window = g1_msm_window,
    .g1_combine = g1_msm_combine,
    .g1_sum_bytes = g1_msm_sum_bytes,
    .g1_sum = g1_msm_sum,
    .g1_fixed_row = g1_msm_fixed_row,
    .g1_fixed_mul = g1_msm_fixed_mul,
    .g2_window_bytes = g2_msm_window_bytes,
    .g2_window = g2_msm_window,
    .g2_combine = g2_msm_combine,
    .g2_sum_bytes = g2_msm_sum_bytes,
    .g2_sum = g2_msm_sum,
    .g2_fixed_row = g2_msm_fixed_row,
    .g2_fixed_mul = g2_msm_fixed_mul,
};
