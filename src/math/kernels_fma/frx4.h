/* Four elements of fr in lanes (math/kernels_fma/x4_template.h): six limbs of 43 bits, R = 2^258, 8.8 times r. The form
 * in memory has R = 2^256, so factors are taken times 4 (frx4_factor).
 *
 * Bounds: max|a_i| <= 2^49 when b is a product or a factor, with limbs of at most 2^42 + 2^9.
 */
#ifndef CUZK_MATH_KERNELS_FMA_FRX4_H
#define CUZK_MATH_KERNELS_FMA_FRX4_H

#include "math/field.h"
#include "math/kernels_fma/x4.h"

/* The modulus, and P for s = 1, 2, 3. */
static const double frx4_p[4][6][4]
    __attribute__((aligned(32))) = {{X4_ALL(-4294967295.0), X4_ALL(-225487880192.0), X4_ALL(-2959390798848.0),
                                     X4_ALL(-4380785841149.0), X4_ALL(2026494964638.0), X4_ALL(995816810067.0)},
                                    {X4_ALL(225489977344.0), X4_ALL(-1438545610752.0), X4_ALL(-28700556804.0),
                                     X4_ALL(2794597397061.0), X4_ALL(845734660422.0), X4_ALL(-486238677.0)},
                                    {X4_ALL(-1438435508224.0), X4_ALL(-2234828277763.0), X4_ALL(-258434160318.0),
                                     X4_ALL(2384377351699.0), X4_ALL(295108295300.0), X4_ALL(-25528005374.0)},
                                    {X4_ALL(-36507383299.0), X4_ALL(1840364027548.0), X4_ALL(-161221498201.0),
                                     X4_ALL(3450141774218.0), X4_ALL(393097104825.0), X4_ALL(162847102193.0)}};
static const int64_t frx4_words[6] = {0x7ff00000001, 0x7cb7fdfffff, 0x54ef6900bff,
                                      0x40404d0ec02, 0x1d7d483339d, 0xe7db4ea653};

#define X4(x) frx4_##x
#define X4_T frx4
#define X4_LIMBS 6
#define X4_BITS 43
#define X4_HIGH 0x1.8p95
#define X4_DOWN 0x1p-43
#define X4_NEG_INV (-(double)0x100000001)
#define X4_TOP_REAL 995816810067.2303
#include "math/kernels_fma/x4_template.h"

/* a b / R; r may be an argument. Four columns at a time, the order as in fpx4_product. */
MATH_CALL void frx4_mul(frx4 *r, const frx4 *a, const frx4 *b) {
    frx4_columns c;
    __m256d m[6];
#define ROW(from, i) frx4_row(&c, a, b, false, frx4_ALONE, from, i)
#define REDUCE(from, i) frx4_reduction_row(&c, m[i], from, i)
#define FINISH(i) m[i] = frx4_column_finish(&c, i, false)
    ROW(0, 0), ROW(0, 1), FINISH(0), ROW(0, 2), ROW(0, 3), FINISH(1), ROW(4, 0), ROW(4, 1), FINISH(2), ROW(4, 2);
    REDUCE(0, 0), ROW(4, 3), REDUCE(4, 0), FINISH(3), ROW(4, 4), REDUCE(4, 1), FINISH(4), ROW(4, 5), REDUCE(4, 2);
    REDUCE(4, 3), ROW(8, 3), REDUCE(4, 4), ROW(8, 4), ROW(8, 5), REDUCE(8, 0), REDUCE(8, 1), FINISH(5);
    REDUCE(8, 2), REDUCE(8, 3), m[5] = frx4_last_row(&c, m[5]), REDUCE(8, 4), REDUCE(4, 5), REDUCE(8, 5);
#undef ROW
#undef REDUCE
#undef FINISH
    frx4_result(r, &c, false);
}

/* Limbs from words: the elements at p[0 .. 3]. */
X4_INLINE void frx4_load(frx4 *r, const fr *const p[4]) {
    const __m256i mask = _mm256_set1_epi64x((int64_t)(UINT64_MAX >> 21));
    const __m256d one = _mm256_set1_pd(0x1p52);
    __m256i w[4], l[6];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) w[i] = _mm256_loadu_si256((const __m256i *)p[i]);
    x4_transpose(w, w);
#define FRX4_JOIN(lo, right, hi, left) _mm256_or_si256(_mm256_srli_epi64(lo, right), _mm256_slli_epi64(hi, left))
    l[0] = _mm256_and_si256(w[0], mask);
    l[1] = _mm256_and_si256(FRX4_JOIN(w[0], 43, w[1], 21), mask);
    l[2] = _mm256_and_si256(FRX4_JOIN(w[1], 22, w[2], 42), mask);
    l[3] = _mm256_and_si256(_mm256_srli_epi64(w[2], 1), mask);
    l[4] = _mm256_and_si256(FRX4_JOIN(w[2], 44, w[3], 20), mask);
    l[5] = _mm256_srli_epi64(w[3], 23);
#undef FRX4_JOIN
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) {
        __m256d d = _mm256_castsi256_pd(_mm256_or_si256(l[j], _mm256_castpd_si256(one)));
        r->v[j] = _mm256_sub_pd(d, one);
    }
}

/* Fully reduced, to p[0 .. 3]. */
X4_INLINE void frx4_store(fr *const p[4], const frx4 *a) {
    frx4_int u;
    __m256i w[4];
    const __m256i *l = u.v;
    frx4_reduce(&u, a, NULL);
    w[0] = _mm256_or_si256(l[0], _mm256_slli_epi64(l[1], 43));
    w[1] = _mm256_or_si256(_mm256_srli_epi64(l[1], 21), _mm256_slli_epi64(l[2], 22));
    w[2] = _mm256_or_si256(_mm256_srli_epi64(l[2], 42), _mm256_slli_epi64(l[3], 1));
    w[2] = _mm256_or_si256(w[2], _mm256_slli_epi64(l[4], 44));
    w[3] = _mm256_or_si256(_mm256_srli_epi64(l[4], 20), _mm256_slli_epi64(l[5], 23));
    x4_transpose(w, w);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) _mm256_storeu_si256((__m256i *)p[i], w[i]);
}

/* As a factor: times 4 modulo r, in [-r/2 - 1, r/2 + 1], negative where `negative` has its sign bit set. */
X4_INLINE void frx4_factor(frx4 *a, __m256d negative) {
    const __m256d four = _mm256_set1_pd(4);
    __m256d q = _mm256_mul_pd(a->v[5], _mm256_set1_pd(-4 / 995816810067.2303));
    q = _mm256_round_pd(q, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) {
        a->v[j] = _mm256_fmadd_pd(q, frx4_p_limb(0, j), _mm256_mul_pd(a->v[j], four));
        a->v[j] = _mm256_xor_pd(a->v[j], negative);
    }
    frx4_carry(a);
}

#endif
