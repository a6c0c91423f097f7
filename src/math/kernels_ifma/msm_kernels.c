/* Multi-scalar multiplication for CPUs with AVX-512 IFMA: the common algorithm with G1's batched additions in eight
 * lanes. */
#define MSM_G1_VECTOR "math/kernels_ifma/g1_pairs.h"
#include "math/kernels/msm_kernels.c"
