/* Multi-scalar multiplication for CPUs with AVX2 and FMA: the common algorithm with G1's batched additions in four
 * lanes. */
#define MSM_G1_VECTOR "math/kernels_fma/g1_pairs.h"
#include "math/kernels/msm_kernels.c"
