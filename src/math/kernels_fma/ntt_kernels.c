/* Levels of transforms for CPUs with AVX2 and FMA: split and join in four lanes, the rest as it is. */
#define NTT_VECTOR "math/kernels_fma/ntt_lanes.h"
#include "math/kernels/ntt_kernels.c"
