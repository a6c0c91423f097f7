/* Multi-scalar multiplication for CPUs with AVX2 and FMA: the common algorithm with batched additions in four lanes. */
#define MSM_G1_VECTOR "math/kernels_fma/g1_pairs.h"
#define MSM_G2_VECTOR "math/kernels_fma/g2_pairs.h"
#include "math/kernels/msm_kernels.c"
