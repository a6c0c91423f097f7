/* What the elements in lanes share (math/kernels_fma/x4_template.h). */
#ifndef CUZK_MATH_KERNELS_FMA_X4_H
#define CUZK_MATH_KERNELS_FMA_X4_H

#include <immintrin.h>
#include "math/field.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define X4_INLINE MATH_CALL
#else
#define X4_INLINE static inline __attribute__((always_inline))
#endif

#define X4_ALL(x)                                                                                                      \
    { x, x, x, x }

/* The transpose of 4 by 4 words. */
X4_INLINE void x4_transpose(__m256i r[4], const __m256i v[4]) {
    __m256i a = _mm256_unpacklo_epi64(v[0], v[1]), b = _mm256_unpackhi_epi64(v[0], v[1]);
    __m256i c = _mm256_unpacklo_epi64(v[2], v[3]), d = _mm256_unpackhi_epi64(v[2], v[3]);
    r[0] = _mm256_permute2x128_si256(a, c, 0x20);
    r[1] = _mm256_permute2x128_si256(b, d, 0x20);
    r[2] = _mm256_permute2x128_si256(a, c, 0x31);
    r[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

#endif
