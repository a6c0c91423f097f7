/* Four elements of fp in lanes (math/kernels_fma/x4_template.h): eight limbs of 48 bits, R = 2^384 as in memory, 9.8 p.
 *
 * Bounds: max|a_i| max|b_j| <= 1.5 2^48 (2^47 + 2^5), say a difference of sums times a product; a column's sum is below
 * 2^98.8 then. Of two products that are reduced together the bound holds for the sum of both. A product's limbs are at
 * most 2^47 + 2^5.
 */
#ifndef CUZK_MATH_KERNELS_FMA_FPX4_H
#define CUZK_MATH_KERNELS_FMA_FPX4_H

#include "math/field.h"
#include "math/kernels_fma/x4.h"

/* The modulus, and P for s = 1, 2, 3. */
static const double fpx4_p[4][8][4] __attribute__((aligned(32))) = {
    {X4_ALL(-21845.0), X4_ALL(-86500641359361.0), X4_ALL(-10839982866433.0), X4_ALL(113459389855409.0),
     X4_ALL(83034393350847.0), X4_ALL(73992301405303.0), X4_ALL(-27924617254986.0), X4_ALL(28591897852288.0)},
    {X4_ALL(-72534179196412.0), X4_ALL(-68635456181239.0), X4_ALL(121460628512125.0), X4_ALL(11698276670028.0),
     X4_ALL(2409099498876.0), X4_ALL(127248567318644.0), X4_ALL(-53058248458658.0), X4_ALL(-1308853186.0)},
    {X4_ALL(-83146701621553.0), X4_ALL(34196145513397.0), X4_ALL(-58219313200097.0), X4_ALL(-42042423577127.0),
     X4_ALL(-123254071121429.0), X4_ALL(126507098703886.0), X4_ALL(122515998197500.0), X4_ALL(-4264580963130.0)},
    {X4_ALL(8798385607263.0), X4_ALL(-126994497802556.0), X4_ALL(62150138893351.0), X4_ALL(-60622868074983.0),
     X4_ALL(122103476782718.0), X4_ALL(74862850281075.0), X4_ALL(-136438167962855.0), X4_ALL(1260038987749.0)}};
static const int64_t fpx4_words[8] = {0xffffffffaaab, 0xb153ffffb9fe, 0xf6241eabfffe, 0x6730d2a0f6b0,
                                      0x4b84f38512bf, 0x434bacd76477, 0xe69a4b1ba7b6, 0x1a0111ea397f};

#define X4(x) fpx4_##x
#define X4_T fpx4
#define X4_LIMBS 8
#define X4_BITS 48
#define X4_HIGH 0x1.8p100
#define X4_DOWN 0x1p-48
#define X4_NEG_INV (-(double)0x300030003)
#define X4_TOP_REAL 28591897852287.903
#include "math/kernels_fma/x4_template.h"

/* Row i of a b, and of a2 b2 unless that is NULL. */
X4_INLINE void fpx4_rows(fpx4_columns *c, const fpx4 *a, const fpx4 *b, const fpx4 *a2, const fpx4 *b2, bool square,
                         int from, int i) {
    fpx4_row(c, a, b, square, a2 != NULL ? fpx4_FIRST : fpx4_ALONE, from, i);
    if (a2 != NULL) fpx4_row(c, a2, b2, square, fpx4_SECOND, from, i);
}

/* a b / R, or (a b + a2 b2) / R unless a2 is NULL; square: b is a, b2 is a2.
 * Four columns at a time, as registers allow. The reduction's chain of dependences is mixed with rows of the next
 * columns, which do not wait for it: processors look ahead by fewer instructions than a product has. */
X4_INLINE void fpx4_product(fpx4 *r, const fpx4 *a, const fpx4 *b, const fpx4 *a2, const fpx4 *b2, bool square) {
    const bool two = a2 != NULL;
    fpx4_columns c;
    __m256d m[8];
#define ROW(from, i) fpx4_rows(&c, a, b, a2, b2, square, from, i)
#define REDUCE(from, i) fpx4_reduction_row(&c, m[i], from, i)
#define FINISH(i) m[i] = fpx4_column_finish(&c, i, two)
    ROW(0, 0), ROW(0, 1), FINISH(0), ROW(0, 2), ROW(0, 3), FINISH(1), ROW(4, 0), ROW(4, 1), FINISH(2), ROW(4, 2);
    REDUCE(0, 0), ROW(4, 3), ROW(4, 4), FINISH(3), REDUCE(4, 0), ROW(4, 5), REDUCE(4, 1), ROW(4, 6), ROW(4, 7);
    ROW(8, 1), FINISH(4), REDUCE(4, 2), ROW(8, 2), FINISH(5), REDUCE(4, 3), ROW(8, 3), REDUCE(4, 4), FINISH(6);
    REDUCE(4, 5), ROW(8, 4), REDUCE(4, 6), ROW(8, 5), ROW(8, 6), ROW(8, 7), REDUCE(8, 0), FINISH(7);
    REDUCE(8, 1), REDUCE(8, 2), REDUCE(8, 3), m[7] = fpx4_last_row(&c, m[7]), REDUCE(8, 4), REDUCE(8, 5);
    ROW(12, 5), REDUCE(8, 6), ROW(12, 6), ROW(12, 7), REDUCE(8, 7);
    REDUCE(12, 2), REDUCE(12, 3), REDUCE(12, 4), REDUCE(12, 5), REDUCE(12, 6), REDUCE(12, 7);
#undef ROW
#undef REDUCE
#undef FINISH
    fpx4_result(r, &c, two);
}

/* a b / R and a a / R. r may be an argument. */
MATH_CALL void fpx4_mul(fpx4 *r, const fpx4 *a, const fpx4 *b) {
    fpx4_product(r, a, b, NULL, NULL, false);
}

MATH_CALL void fpx4_sqr(fpx4 *r, const fpx4 *a) {
    fpx4_product(r, a, a, NULL, NULL, true);
}

/* (a b + a2 b2) / R and (a a + a2 a2) / R, reduced once. */
MATH_CALL void fpx4_mul_add(fpx4 *r, const fpx4 *a, const fpx4 *b, const fpx4 *a2, const fpx4 *b2) {
    fpx4_product(r, a, b, a2, b2, false);
}

MATH_CALL void fpx4_sqr_add(fpx4 *r, const fpx4 *a, const fpx4 *a2) {
    fpx4_product(r, a, a, a2, a2, true);
}

X4_INLINE void fpx4_neg(fpx4 *r, const fpx4 *a) {
    const __m256d sign = _mm256_set1_pd(-0.0);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) r->v[j] = _mm256_xor_pd(a->v[j], sign);
}

/* ---- to and from memory ---- */

/* Four elements, 48 bytes each: a limb is six bytes. */
X4_INLINE void fpx4_load(fpx4_int *r, const fp *const from[4]) {
    const __m256i limbs = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1, /* twice */
                                           0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1);
    const __m256i last = _mm256_setr_epi8(4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1, /* twice */
                                          4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        int at = i < 3 ? 12 * i : 32; /* not beyond the end */
#define X4_16(lane) _mm_loadu_si128((const __m128i *)((const char *)from[lane] + at))
        __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(X4_16(0)), X4_16(2), 1);
        __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(X4_16(1)), X4_16(3), 1);
#undef X4_16
        even = _mm256_shuffle_epi8(even, i < 3 ? limbs : last);
        odd = _mm256_shuffle_epi8(odd, i < 3 ? limbs : last);
        r->v[2 * i] = _mm256_unpacklo_epi64(even, odd);
        r->v[2 * i + 1] = _mm256_unpackhi_epi64(even, odd);
    }
}

X4_INLINE void fpx4_to_words(__m256i w[6], const fpx4_int *a) {
    const __m256i *v = a->v;
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++, v += 4, w += 3) {
        w[0] = _mm256_or_si256(v[0], _mm256_slli_epi64(v[1], 48));
        w[1] = _mm256_or_si256(_mm256_srli_epi64(v[1], 16), _mm256_slli_epi64(v[2], 32));
        w[2] = _mm256_or_si256(_mm256_srli_epi64(v[2], 32), _mm256_slli_epi64(v[3], 16));
    }
}

/* One lane from memory form, limbs in [-2^47, 2^47]. */
static inline void fpx4_set(fpx4 *a, int lane, const fp *x) {
    double all[8][4];
    int64_t carry = 0;
    memcpy(all, a, sizeof all);
    for (int j = 0; j < 8; j++) {
        unsigned bit = 48 * (unsigned)j;
        uint64_t limb = x->l[bit / 64] >> bit % 64;
        if (bit % 64 > 16) limb |= x->l[bit / 64 + 1] << (64 - bit % 64);
        int64_t v = (int64_t)(limb & (int64_t)(UINT64_MAX >> 16)) + carry;
        carry = (v + (INT64_C(1) << 47)) >> 48;
        if (j < 7) v -= carry * (INT64_C(1) << 48);
        all[j][lane] = (double)v;
    }
    memcpy(a, all, sizeof all);
}

/* All lanes to memory form, from a product. */
static inline void fpx4_get(fp x[4], const fpx4 *a) {
    fpx4_int u;
    __m256i w[6];
    uint64_t all[6][4];
    fpx4_reduce(&u, a, NULL);
    fpx4_to_words(w, &u);
    memcpy(all, w, sizeof all);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 6; j++) x[i].l[j] = all[j][i];
    }
}

#endif
