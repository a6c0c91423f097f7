/* Eight elements of fp side by side, one in each 64-bit lane, for CPUs with AVX-512 IFMA.
 *
 * An element is eight limbs of 52 bits, v[j] holding limb j of all lanes. Products are Montgomery products with R =
 * 2^416: fp8_mul(a, b) = a b / 2^416 mod p. The 35 bits between p and R are slack: for a b < 2^32 p^2 the product is
 * below p + p / 2^2. Sums are formed limb by limb, may be negative in between, and are made proper by fp8_carry
 * (signed, the whole is not negative). In memory elements keep the form of math/field.h, residues times 2^384; callers
 * count the powers of two.
 */
#ifndef CUZK_MATH_KERNELS_IFMA_FP8_H
#define CUZK_MATH_KERNELS_IFMA_FP8_H

#include <immintrin.h>
#include "math/field.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FP8_INLINE MATH_CALL
#else
#define FP8_INLINE static inline __attribute__((always_inline))
#endif

typedef struct {
    __m512i v[8];
} fp8;

#define FP8_ALL(x)                                                                                                     \
    { x, x, x, x, x, x, x, x }
static const uint64_t fp8_p[8][8] __attribute__((aligned(64))) = {
    FP8_ALL(0xeffffffffaaab), FP8_ALL(0xfeb153ffffb9f), FP8_ALL(0x6b0f6241eabff), FP8_ALL(0x12bf6730d2a0f),
    FP8_ALL(0x764774b84f385), FP8_ALL(0x1ba7b6434bacd), FP8_ALL(0x1ea397fe69a4b), FP8_ALL(0x1a011)};
/* -1/p mod 2^52 */
#define FP8_NEG_INV 0x3fffcfffcfffd
#define FP8_MASK ((UINT64_C(1) << 52) - 1)

FP8_INLINE __m512i fp8_p_limb(int j) {
    return _mm512_load_si512(fp8_p[j]);
}

/* Limbs back into [0, 2^52); the value is not negative and fits. */
FP8_INLINE void fp8_carry(fp8 *a) {
    const __m512i mask = _mm512_set1_epi64((long long)FP8_MASK);
#pragma GCC unroll 8
    for (int j = 0; j < 7; j++) {
        __m512i c = _mm512_srai_epi64(a->v[j], 52);
        a->v[j] = _mm512_and_si512(a->v[j], mask);
        a->v[j + 1] = _mm512_add_epi64(a->v[j + 1], c);
    }
}

/* Row by row: t = (t + a b_i + m p) / 2^52. Limbs of t grow to 58 bits at most. r may be a or b. */
FP8_INLINE void fp8_mul(fp8 *r, const fp8 *a, const fp8 *b) {
    const __m512i neg_inv = _mm512_set1_epi64(FP8_NEG_INV), zero = _mm512_setzero_si512();
    __m512i t[9];
#pragma GCC unroll 9
    for (int j = 0; j < 9; j++) t[j] = zero;
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        __m512i bi = b->v[i];
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) t[j] = _mm512_madd52lo_epu64(t[j], a->v[j], bi);
        __m512i m = _mm512_madd52lo_epu64(zero, t[0], neg_inv);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], a->v[j], bi);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) t[j] = _mm512_madd52lo_epu64(t[j], fp8_p_limb(j), m);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], fp8_p_limb(j), m);
        t[1] = _mm512_add_epi64(t[1], _mm512_srli_epi64(t[0], 52));
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) t[j] = t[j + 1];
        t[8] = zero;
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) r->v[j] = t[j];
    fp8_carry(r);
}

/* r = a - b + k p, before carrying. */
FP8_INLINE void fp8_sub_lazy(fp8 *r, const fp8 *a, const fp8 *b, int k) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        __m512i p = k == 2 ? _mm512_slli_epi64(fp8_p_limb(j), 1) : fp8_p_limb(j);
        r->v[j] = _mm512_add_epi64(_mm512_sub_epi64(a->v[j], b->v[j]), p);
    }
}

/* a -= k p where that is not negative; k is 1 or 2. */
FP8_INLINE void fp8_reduce(fp8 *a, int k) {
    fp8 d;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        __m512i p = k == 2 ? _mm512_slli_epi64(fp8_p_limb(j), 1) : fp8_p_limb(j);
        d.v[j] = _mm512_sub_epi64(a->v[j], p);
    }
    fp8_carry(&d);
    __mmask8 fits = _knot_mask8(_mm512_movepi64_mask(d.v[7]));
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) a->v[j] = _mm512_mask_mov_epi64(a->v[j], fits, d.v[j]);
}

/* From below 2p and a little more to below p. A second subtraction is needed so rarely that it is behind a look at the
 * top limb. */
FP8_INLINE void fp8_reduce_last(fp8 *a) {
    fp8_reduce(a, 1);
    if (__builtin_expect(_mm512_cmpge_epu64_mask(a->v[7], fp8_p_limb(7)) != 0, 0)) fp8_reduce(a, 1);
}

/* Six words of 64 bits a lane to eight limbs, and back. */
FP8_INLINE void fp8_from_words(fp8 *r, const __m512i w[6]) {
    const __m512i mask = _mm512_set1_epi64((long long)FP8_MASK);
#define FP8_JOIN(lo, right, hi, left)                                                                                  \
    _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(lo, right), _mm512_slli_epi64(hi, left)), mask)
    r->v[0] = _mm512_and_si512(w[0], mask);
    r->v[1] = FP8_JOIN(w[0], 52, w[1], 12);
    r->v[2] = FP8_JOIN(w[1], 40, w[2], 24);
    r->v[3] = FP8_JOIN(w[2], 28, w[3], 36);
    r->v[4] = FP8_JOIN(w[3], 16, w[4], 48);
    r->v[5] = _mm512_and_si512(_mm512_srli_epi64(w[4], 4), mask);
    r->v[6] = FP8_JOIN(w[4], 56, w[5], 8);
    r->v[7] = _mm512_srli_epi64(w[5], 44);
#undef FP8_JOIN
}

FP8_INLINE void fp8_to_words(__m512i w[6], const fp8 *a) {
    const __m512i *v = a->v;
    w[0] = _mm512_or_si512(v[0], _mm512_slli_epi64(v[1], 52));
    w[1] = _mm512_or_si512(_mm512_srli_epi64(v[1], 12), _mm512_slli_epi64(v[2], 40));
    w[2] = _mm512_or_si512(_mm512_srli_epi64(v[2], 24), _mm512_slli_epi64(v[3], 28));
    w[3] = _mm512_or_si512(_mm512_srli_epi64(v[3], 36), _mm512_slli_epi64(v[4], 16));
    w[4] = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi64(v[4], 48), _mm512_slli_epi64(v[5], 4)),
                           _mm512_slli_epi64(v[6], 56));
    w[5] = _mm512_or_si512(_mm512_srli_epi64(v[6], 8), _mm512_slli_epi64(v[7], 44));
}

/* Row r of eight words becomes lane r. */
FP8_INLINE void fp8_transpose(__m512i r[8]) {
    __m512i a[8], b[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) { /* pairs of rows: words 0 2 4 6 and 1 3 5 7 */
        a[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) { /* i: odd words. Quarters 0 2 and 1 3 of row pairs 01 23, 45 67 */
        b[4 * i] = _mm512_shuffle_i64x2(a[i], a[2 + i], 0x88);
        b[4 * i + 1] = _mm512_shuffle_i64x2(a[4 + i], a[6 + i], 0x88);
        b[4 * i + 2] = _mm512_shuffle_i64x2(a[i], a[2 + i], 0xdd);
        b[4 * i + 3] = _mm512_shuffle_i64x2(a[4 + i], a[6 + i], 0xdd);
        r[i] = _mm512_shuffle_i64x2(b[4 * i], b[4 * i + 1], 0x88);
        r[4 + i] = _mm512_shuffle_i64x2(b[4 * i], b[4 * i + 1], 0xdd);
        r[2 + i] = _mm512_shuffle_i64x2(b[4 * i + 2], b[4 * i + 3], 0x88);
        r[6 + i] = _mm512_shuffle_i64x2(b[4 * i + 2], b[4 * i + 3], 0xdd);
    }
}

/* One lane, as words in memory form. */
static inline void fp8_get(fp *r, const fp8 *a, int lane) {
    uint64_t l[8];
    for (int j = 0; j < 8; j++) {
        uint64_t all[8];
        _mm512_storeu_si512(all, a->v[j]);
        l[j] = all[lane];
    }
    r->l[0] = l[0] | l[1] << 52;
    r->l[1] = l[1] >> 12 | l[2] << 40;
    r->l[2] = l[2] >> 24 | l[3] << 28;
    r->l[3] = l[3] >> 36 | l[4] << 16;
    r->l[4] = l[4] >> 48 | l[5] << 4 | l[6] << 56;
    r->l[5] = l[6] >> 8 | l[7] << 44;
}

static inline void fp8_set(fp8 *a, int lane, const fp *x) {
    __m512i w[6];
    fp8 all;
    for (int i = 0; i < 6; i++) w[i] = _mm512_set1_epi64((long long)x->l[i]);
    fp8_from_words(&all, w);
    __mmask8 m = (__mmask8)(1u << lane);
    for (int j = 0; j < 8; j++) a->v[j] = _mm512_mask_mov_epi64(a->v[j], m, all.v[j]);
}

#endif
