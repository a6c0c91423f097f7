/* Four elements of fp side by side, one in each 64-bit lane, for CPUs with AVX2 and FMA.
 *
 * An element is eight limbs of 48 bits, v[j] holding limb j of all lanes: doubles that hold integers, which may be
 * negative or longer than 48 bits, so sums are formed limb by limb without carries. Products are Montgomery products
 * with R = 2^384, as in memory.
 *
 * Products are split exactly at 2^48. A column of the product has two accumulators: `high` near 1.5 2^100, where
 * doubles are 2^48 apart, and `low`. high' = fma(a, b, high) takes the product rounded to a multiple of 2^48;
 * what rounding left out is fma(a, b, high - high'), at most 2^47, and is added to low. Two multiply-adds and two
 * sums a product of limbs. (Emmart, Zheng, Weems, "Faster modular exponentiation using double precision floating point
 * arithmetic on the GPU", ARITH 2018, split each product by itself.)
 *
 * Reduction. A column's value below 2^48, r, is cancelled by adding r (P 2^(48 s) - 1) = r k p, with k = -1/p modulo
 * 2^(48 s): no multiplier has to be computed, and with s = 3 two more columns pass before the next one needs r. P takes
 * s columns more than the row has, so the last rows have s = 2, 1, and 0, which is Montgomery's own.
 *
 * Bounds. Limbs: max|a_i| max|b_j| <= 1.5 2^48 (2^47 + 2^5), say a difference of sums times a product. A column's sum
 * is below 2^98.8 then, so high stays between 2^100 and 2^101; low stays below 16 2^47 + 1.5 2^52 = 2^53. A product's
 * limbs are at most 2^47 + 2^4, its value is at most |a b| / R + 0.6 p; R is 9.8 p.
 *
 * All this needs rounding to nearest (the default of every thread; nothing here or in the callers changes MXCSR) and a
 * compiler that keeps formulas as they are: no -ffast-math.
 */
#ifndef CUZK_MATH_KERNELS_FMA_FPX4_H
#define CUZK_MATH_KERNELS_FMA_FPX4_H

#include <immintrin.h>
#include "math/field.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FPX4_INLINE MATH_CALL
#else
#define FPX4_INLINE static inline __attribute__((always_inline))
#endif

typedef struct {
    __m256d v[8];
} fpx4;

#define FPX4_ALL(x)                                                                                                    \
    { x, x, x, x }
/* Limbs in [-2^47, 2^47]: p itself, then P for s = 1, 2, 3. */
static const double fpx4_p[4][8][4] __attribute__((aligned(32))) = {
    {FPX4_ALL(-21845.0), FPX4_ALL(-86500641359361.0), FPX4_ALL(-10839982866433.0), FPX4_ALL(113459389855409.0),
     FPX4_ALL(83034393350847.0), FPX4_ALL(73992301405303.0), FPX4_ALL(-27924617254986.0), FPX4_ALL(28591897852288.0)},
    {FPX4_ALL(-72534179196412.0), FPX4_ALL(-68635456181239.0), FPX4_ALL(121460628512125.0), FPX4_ALL(11698276670028.0),
     FPX4_ALL(2409099498876.0), FPX4_ALL(127248567318644.0), FPX4_ALL(-53058248458658.0), FPX4_ALL(-1308853186.0)},
    {FPX4_ALL(-83146701621553.0), FPX4_ALL(34196145513397.0), FPX4_ALL(-58219313200097.0), FPX4_ALL(-42042423577127.0),
     FPX4_ALL(-123254071121429.0), FPX4_ALL(126507098703886.0), FPX4_ALL(122515998197500.0),
     FPX4_ALL(-4264580963130.0)},
    {FPX4_ALL(8798385607263.0), FPX4_ALL(-126994497802556.0), FPX4_ALL(62150138893351.0), FPX4_ALL(-60622868074983.0),
     FPX4_ALL(122103476782718.0), FPX4_ALL(74862850281075.0), FPX4_ALL(-136438167962855.0), FPX4_ALL(1260038987749.0)}};

#define FPX4_HIGH 0x1.8p100                 /* a column's `high` at the start */
#define FPX4_BIAS 0x1.8p52                  /* the same as the next column's `low` sees it */
#define FPX4_NEG_INV (-(double)0x300030003) /* -1/p modulo 2^48 */

FPX4_INLINE __m256d fpx4_p_limb(int s, int j) {
    return _mm256_load_pd(fpx4_p[s][j]);
}

/* Row i's s. */
#define FPX4_SKIP(i) ((i) < 5 ? 3 : 7 - (i))

typedef struct {
    __m256d high[16], low[16];
} fpx4_columns;

/* Column k gets x y. */
FPX4_INLINE void fpx4_column_first(fpx4_columns *c, int k, const __m256d *x, __m256d y) {
    const __m256d high = _mm256_set1_pd(FPX4_HIGH), bias = _mm256_set1_pd(k ? FPX4_HIGH - FPX4_BIAS : FPX4_HIGH);
    c->high[k] = _mm256_fmadd_pd(*x, y, high);
    c->low[k] = _mm256_fmadd_pd(*x, y, _mm256_sub_pd(bias, c->high[k]));
}

FPX4_INLINE void fpx4_column_add(fpx4_columns *c, int k, const __m256d *x, __m256d y) {
    __m256d t;
    __asm__("vmovapd %[x], %[t]\n\t"
            "vfmadd213pd %[h], %[y], %[t]\n\t"
            "vsubpd %[t], %[h], %[h]\n\t"
            "vfmadd231pd %[x], %[y], %[h]\n\t"
            "vaddpd %[h], %[l], %[l]"
            : [t] "=&x"(t), [h] "+x"(c->high[k]), [l] "+x"(c->low[k])
            : [x] "m"(*x), [y] "x"(y));
    c->high[k] = t;
}

/* Column k's whole value with what the one below carries. */
FPX4_INLINE __m256d fpx4_column_value(const fpx4_columns *c, int k) {
    if (k == 0) return c->low[0];
    if (k == 15) return _mm256_fmadd_pd(c->high[14], _mm256_set1_pd(0x1p-48), _mm256_set1_pd(-FPX4_BIAS));
    return _mm256_fmadd_pd(c->high[k - 1], _mm256_set1_pd(0x1p-48), c->low[k]);
}

/* Column k's value in [-2^47, 2^47], the rest carried into its `high`. */
FPX4_INLINE __m256d fpx4_column_finish(fpx4_columns *c, int k) {
    __m256d v = fpx4_column_value(c, k);
    __m256d t = _mm256_add_pd(c->high[k], v);
    v = _mm256_add_pd(v, _mm256_sub_pd(c->high[k], t));
    c->high[k] = t;
    return v;
}

/* The last row of the reduction: cancels column 7, whose value is r, and returns the multiplier. */
FPX4_INLINE __m256d fpx4_last_row(fpx4_columns *c, __m256d r) {
    const __m256d high = _mm256_set1_pd(FPX4_HIGH), inv = _mm256_set1_pd(FPX4_NEG_INV);
    __m256d m = _mm256_fmadd_pd(r, inv, _mm256_sub_pd(high, _mm256_fmadd_pd(r, inv, high)));
    c->high[7] = _mm256_add_pd(c->high[7], _mm256_fmadd_pd(m, fpx4_p_limb(0, 0), r));
    return m;
}

/* Row i of a b in columns [from, from + 4). Of a square only half of the rows is left, times two off the diagonal. */
FPX4_INLINE void fpx4_row(fpx4_columns *c, const fpx4 *a, const fpx4 *b, bool square, int from, int i) {
    __m256d y = b->v[i], twice = _mm256_add_pd(y, y);
#pragma GCC unroll 4
    for (int k = from; k < from + 4; k++) {
        int j = k - i;
        if (j < (square ? i : 0) || j > 7) continue;
        if (k < 8 ? i == 0 : j == 7) {
            fpx4_column_first(c, k, &a->v[j], square && j > i ? twice : y);
        } else {
            fpx4_column_add(c, k, &a->v[j], square && j > i ? twice : y);
        }
    }
}

/* Row i of the reduction. */
FPX4_INLINE void fpx4_reduction_row(fpx4_columns *c, __m256d r, int from, int i) {
#pragma GCC unroll 4
    for (int k = from; k < from + 4; k++) {
        int j = k - i - FPX4_SKIP(i);
        if (j >= 0 && j < 8) fpx4_column_add(c, k, (const __m256d *)fpx4_p[FPX4_SKIP(i)][j], r);
    }
}

/* Columns 8 to 15 become limbs. */
FPX4_INLINE void fpx4_result(fpx4 *r, const fpx4_columns *c) {
    const __m256d high = _mm256_set1_pd(FPX4_HIGH), down = _mm256_set1_pd(-0x1p-48);
    __m256d value[8], carry[8]; /* carry: the negative of what goes up */
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        value[j] = fpx4_column_value(c, 8 + j);
        if (j == 7) break;
        carry[j] = _mm256_sub_pd(high, _mm256_add_pd(value[j], high));
        value[j] = _mm256_add_pd(value[j], carry[j]);
    }
    r->v[0] = value[0];
#pragma GCC unroll 7
    for (int j = 1; j < 8; j++) r->v[j] = _mm256_fmadd_pd(carry[j - 1], down, value[j]);
}

/* Four columns at a time, as registers allow. The reduction's chain of dependences is mixed with rows of the next
 * columns, which do not wait for it: processors look ahead by fewer instructions than a product has. */
FPX4_INLINE void fpx4_product(fpx4 *r, const fpx4 *a, const fpx4 *b, bool square) {
    fpx4_columns c;
    __m256d m[8];
#define ROW(from, i) fpx4_row(&c, a, b, square, from, i)
#define REDUCE(from, i) fpx4_reduction_row(&c, m[i], from, i)
#define FINISH(i) m[i] = fpx4_column_finish(&c, i)
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
    fpx4_result(r, &c);
}

/* a b / R and a a / R. r may be an argument. */
MATH_CALL void fpx4_mul(fpx4 *r, const fpx4 *a, const fpx4 *b) {
    fpx4_product(r, a, b, false);
}

MATH_CALL void fpx4_sqr(fpx4 *r, const fpx4 *a) {
    fpx4_product(r, a, a, true);
}

/* ---- to and from memory ---- */

/* The same as integers, in [0, 2^48) except where said. */
typedef struct {
    __m256i v[8];
} fpx4_int;

/* Four elements, 48 bytes each: a limb is six bytes. */
FPX4_INLINE void fpx4_load(fpx4_int *r, const fp *const from[4]) {
    const __m256i limbs = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1, /* twice */
                                           0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1);
    const __m256i last = _mm256_setr_epi8(4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1, /* twice */
                                          4, 5, 6, 7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        int at = i < 3 ? 12 * i : 32; /* not beyond the end */
#define FPX4_16(lane) _mm_loadu_si128((const __m128i *)((const char *)from[lane] + at))
        __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(FPX4_16(0)), FPX4_16(2), 1);
        __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(FPX4_16(1)), FPX4_16(3), 1);
#undef FPX4_16
        even = _mm256_shuffle_epi8(even, i < 3 ? limbs : last);
        odd = _mm256_shuffle_epi8(odd, i < 3 ? limbs : last);
        r->v[2 * i] = _mm256_unpacklo_epi64(even, odd);
        r->v[2 * i + 1] = _mm256_unpackhi_epi64(even, odd);
    }
}

FPX4_INLINE void fpx4_to_words(__m256i w[6], const fpx4_int *a) {
    const __m256i *v = a->v;
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++, v += 4, w += 3) {
        w[0] = _mm256_or_si256(v[0], _mm256_slli_epi64(v[1], 48));
        w[1] = _mm256_or_si256(_mm256_srli_epi64(v[1], 16), _mm256_slli_epi64(v[2], 32));
        w[2] = _mm256_or_si256(_mm256_srli_epi64(v[2], 32), _mm256_slli_epi64(v[3], 16));
    }
}

/* Integers between -2^51 and 2^51 as doubles. */
FPX4_INLINE __m256d fpx4_double(__m256i a) {
    const __m256d bias = _mm256_set1_pd(FPX4_BIAS);
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(a, _mm256_castpd_si256(bias))), bias);
}

/* a - b limb by limb. */
FPX4_INLINE void fpx4_difference(fpx4 *r, const fpx4_int *a, const fpx4_int *b) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) r->v[j] = fpx4_double(_mm256_sub_epi64(a->v[j], b->v[j]));
}

#define FPX4_MASK ((INT64_C(1) << 48) - 1)
#define FPX4_TOP INT64_C(0x1a0111ea397f) /* of p in limbs from 0 */
static const int64_t fpx4_p_words[8] = {0xffffffffaaab, 0xb153ffffb9fe, 0xf6241eabfffe, 0x6730d2a0f6b0,
                                        0x4b84f38512bf, 0x434bacd76477, 0xe69a4b1ba7b6, FPX4_TOP};

/* One lane below 0 or not below p, by less than p. */
static inline void fpx4_correct_lane(int64_t a[8]) {
    int sign = a[7] < 0 ? 1 : -1;
    int64_t t[8], carry = 0;
    for (int j = 0; j < 8; j++) {
        t[j] = a[j] + sign * fpx4_p_words[j] + carry;
        carry = t[j] >> 48;
        if (j < 7) t[j] &= FPX4_MASK;
    }
    if (t[7] >= 0) memcpy(a, t, sizeof t);
}

static __attribute__((noinline)) void fpx4_correct(fpx4_int *a) {
    int64_t l[8][4], lane[8];
    memcpy(l, a, sizeof l);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 8; j++) lane[j] = l[j][i];
        fpx4_correct_lane(lane);
        for (int j = 0; j < 8; j++) l[j][i] = lane[j];
    }
    memcpy(a, l, sizeof l);
}

/* a - b modulo p, in [0, p): a as products are, b sums of up to two. */
FPX4_INLINE void fpx4_reduce(fpx4_int *r, const fpx4 *a, const fpx4_int *b) {
    const __m256d bias = _mm256_set1_pd(FPX4_BIAS);
    const __m256i mask = _mm256_set1_epi64x(FPX4_MASK);
    /* The quotient's floor by the top limb, which may be one too large or small next to a multiple of p. */
    __m256d q = _mm256_sub_pd(fpx4_double(b->v[7]), a->v[7]);
    q = _mm256_ceil_pd(_mm256_mul_pd(q, _mm256_set1_pd(1 / 28591897852287.903)));
    __m256i carry = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        __m256d v = _mm256_fmadd_pd(q, fpx4_p_limb(0, j), _mm256_add_pd(a->v[j], bias));
        /* 2^52 more keeps limbs positive, so that the carry is a logical shift, and is 16 in the next limb. */
        const int64_t take = INT64_C(0x4338000000000000) - (j < 7 ? INT64_C(1) << 52 : 0) + (j > 0 ? 16 : 0);
        __m256i t = _mm256_sub_epi64(_mm256_castpd_si256(v), _mm256_add_epi64(b->v[j], _mm256_set1_epi64x(take)));
        t = _mm256_add_epi64(t, carry);
        carry = _mm256_srli_epi64(t, 48);
        r->v[j] = j < 7 ? _mm256_and_si256(t, mask) : t;
    }
    __m256i beyond = _mm256_or_si256(r->v[7], _mm256_sub_epi64(_mm256_set1_epi64x(FPX4_TOP - 1), r->v[7]));
    if (__builtin_expect(_mm256_movemask_pd(_mm256_castsi256_pd(beyond)) != 0, 0)) fpx4_correct(r);
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
        int64_t v = (int64_t)(limb & FPX4_MASK) + carry;
        carry = v >> 47;
        if (j < 7) v -= carry * (INT64_C(1) << 48);
        all[j][lane] = (double)v;
    }
    memcpy(a, all, sizeof all);
}

/* All lanes to memory form, from a product. */
static inline void fpx4_get(fp x[4], const fpx4 *a) {
    fpx4_int zero, u;
    __m256i w[6];
    uint64_t all[6][4];
    memset(&zero, 0, sizeof zero);
    fpx4_reduce(&u, a, &zero);
    fpx4_to_words(w, &u);
    memcpy(all, w, sizeof all);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 6; j++) x[i].l[j] = all[j][i];
    }
}

#endif
