/* add_pairs of msm_template.h for G1 in eight lanes; included from the template in place of the plain version.
 *
 * Lanes hold eight neighbouring pairs; each lane has a running product of its own, and the eight are inverted together.
 * Points stay in memory as they are: they are transposed on the way in and out. Powers of two, R = 2^416 against 2^384
 * in memory: the running product loses 2^32 a step and so does its inverse on the way back, which cancels; with the
 * inverse times 2^816 at the start, slopes come out times 2^400, their squares times 2^384 again, and for y the other
 * factor is shifted by 16 bits.
 *
 * A group of eight with an unusual pair (x equal, or an x of zero as infinity has) takes the plain version's decisions
 * lane by lane; its doublings stay in the batch.
 */
#include "math/kernels_ifma/fp8.h"

typedef struct {
    __m512i x[6], y[6]; /* words */
} g1_words;

FP8_INLINE void g1_load(g1_words *out, const g1_affine *const p[8]) {
    __m512i r[8], s[4], t[4];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) r[i] = _mm512_loadu_si512(p[i]);
    fp8_transpose(r);
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) out->x[i] = r[i];
    out->y[0] = r[6];
    out->y[1] = r[7];
#define G1_TAIL(i) _mm256_loadu_si256((const __m256i *)&p[i]->y.l[2])
#define G1_TWO(i, j) _mm512_inserti64x4(_mm512_castsi256_si512(G1_TAIL(i)), G1_TAIL(j), 1)
    s[0] = G1_TWO(0, 2);
    s[1] = G1_TWO(1, 3);
    s[2] = G1_TWO(4, 6);
    s[3] = G1_TWO(5, 7);
#undef G1_TWO
#undef G1_TAIL
    t[0] = _mm512_unpacklo_epi64(s[0], s[1]); /* words 0, 2 of lanes 0 1, then of 2 3 */
    t[1] = _mm512_unpackhi_epi64(s[0], s[1]);
    t[2] = _mm512_unpacklo_epi64(s[2], s[3]);
    t[3] = _mm512_unpackhi_epi64(s[2], s[3]);
    out->y[2] = _mm512_shuffle_i64x2(t[0], t[2], 0x88);
    out->y[3] = _mm512_shuffle_i64x2(t[1], t[3], 0x88);
    out->y[4] = _mm512_shuffle_i64x2(t[0], t[2], 0xdd);
    out->y[5] = _mm512_shuffle_i64x2(t[1], t[3], 0xdd);
}

/* x alone. */
FP8_INLINE void g1_load_x(__m512i x[6], const g1_affine *const p[8]) {
    __m512i r[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) r[i] = _mm512_loadu_si512(p[i]);
    fp8_transpose(r);
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) x[i] = r[i];
}

FP8_INLINE void g1_store(g1_affine *const p[8], const fp8 *x, const fp8 *y, unsigned lanes) {
    __m512i r[8], xw[6], yw[6], s[8];
    fp8_to_words(xw, x);
    fp8_to_words(yw, y);
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) r[i] = xw[i];
    r[6] = yw[0];
    r[7] = yw[1];
    fp8_transpose(r); /* a transposition is its own inverse */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) s[i] = yw[2 + i];
    /* words 2 .. 5 of y: unpack to pairs of words, then quarters */
    __m512i a0 = _mm512_unpacklo_epi64(s[0], s[1]), a1 = _mm512_unpackhi_epi64(s[0], s[1]);
    __m512i b0 = _mm512_unpacklo_epi64(s[2], s[3]), b1 = _mm512_unpackhi_epi64(s[2], s[3]);
    __m256i tail[8];
#define G1_QUARTERS(k, a, b)                                                                                           \
    tail[k] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm512_extracti64x2_epi64(a, (k) / 2)),                   \
                                      _mm512_extracti64x2_epi64(b, (k) / 2), 1)
    G1_QUARTERS(0, a0, b0);
    G1_QUARTERS(1, a1, b1);
    G1_QUARTERS(2, a0, b0);
    G1_QUARTERS(3, a1, b1);
    G1_QUARTERS(4, a0, b0);
    G1_QUARTERS(5, a1, b1);
    G1_QUARTERS(6, a0, b0);
    G1_QUARTERS(7, a1, b1);
#undef G1_QUARTERS
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        if (!(lanes >> i & 1)) continue;
        _mm512_storeu_si512(p[i], r[i]);
        _mm256_storeu_si256((__m256i *)&p[i]->y.l[2], tail[i]);
    }
}

FP8_INLINE __mmask8 g1_zero_words(const __m512i w[6]) {
    __m512i any = _mm512_or_si512(_mm512_or_si512(w[0], w[1]), _mm512_or_si512(w[2], w[3]));
    any = _mm512_or_si512(any, _mm512_or_si512(w[4], w[5]));
    return _mm512_testn_epi64_mask(any, any);
}

FP8_INLINE __mmask8 g1_equal_words(const __m512i a[6], const __m512i b[6]) {
    __mmask8 m = _mm512_cmpeq_epi64_mask(a[0], b[0]);
#pragma GCC unroll 6
    for (int i = 1; i < 6; i++) m = _mm512_mask_cmpeq_epi64_mask(m, a[i], b[i]);
    return m;
}

FP8_INLINE void g1_pointers(const g1_msm_pair *pairs, const g1_affine *left[8], const g1_affine *right[8]) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        left[i] = pairs[i].left;
        right[i] = pairs[i].right;
    }
}

#define UNUSUAL_LANES 8
#define UNUSUAL_LANE_T fp8
#define UNUSUAL_LANE_SET fp8_set
#include "math/kernels/unusual_pairs.h"

/* The inverses of eight lanes, times 2^816: fp_inv takes x to 2^768 / x, and 2^432 as a Montgomery factor brings 2^48.
 */
static void g1_invert_lanes(fp8 *a) {
    static const fp factor = {{0x48aca8e9fde36676, 0x7f3e81ec2e0c7cea, 0x6547e4c7fba1f6b3, 0xd4221fc8e41ccfd2,
                               0x0a003db64c9a1624, 0x07173ac25996deeb}};
    fp x[8], scratch[8];
    fp8_reduce_last(a);
    for (int i = 0; i < 8; i++) fp8_get(&x[i], a, i);
    fp_batch_inv(x, 8, scratch);
    for (int i = 0; i < 8; i++) {
        fp_mul(&x[i], &x[i], &factor);
        fp8_set(a, i, &x[i]);
    }
}

FP8_INLINE void g1_product_store(g1_product *to, const fp8 *a) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) _mm512_storeu_si512(&to[j], a->v[j]);
}

FP8_INLINE void g1_product_load(fp8 *a, const g1_product *from) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) a->v[j] = _mm512_loadu_si512(&from[j]);
}

/* Eight denominators into the running products. */
FP8_INLINE void g1_forward(g1_msm_pair *pairs, fp8 *acc, g1_product *products) {
    const g1_affine *left[8], *right[8];
    __m512i x1[6], x2[6];
    fp8 a, b;
    g1_pointers(pairs, left, right);
    g1_load_x(x1, left);
    g1_load_x(x2, right);
    unsigned unusual = (unsigned)g1_zero_words(x1) | g1_zero_words(x2) | g1_equal_words(x1, x2);
    fp8_from_words(&a, x1);
    fp8_from_words(&b, x2);
    fp8_sub_lazy(&b, &b, &a, 1);
    fp8_carry(&b);
    pairs[0].kind = 0;
    if (__builtin_expect(unusual != 0, 0)) g1_msm_unusual_denominators(pairs, &b);
    g1_product_store(products, acc);
    fp8_mul(acc, acc, &b);
}

/* Eight sums. */
FP8_INLINE void g1_backward(g1_msm_pair *pairs, fp8 *acc, const g1_product *products) {
    const g1_affine *left[8], *right[8];
    g1_affine *to[8];
    g1_words l, r;
    fp8 x1, x2, y1, y2, d, slope, t;
    __mmask8 negative = 0;
    unsigned lanes = 0xff;
    g1_pointers(pairs, left, right);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        negative = (__mmask8)(negative | pairs[i].negative << i);
        to[i] = pairs[i].left;
    }
    g1_load(&l, left);
    g1_load(&r, right);
    fp8_from_words(&x1, l.x);
    fp8_from_words(&x2, r.x);
    fp8_from_words(&y1, l.y);
    fp8_from_words(&y2, r.y);
    fp8_sub_lazy(&d, &x2, &x1, 1);
    fp8_carry(&d);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) y2.v[j] = _mm512_mask_sub_epi64(y2.v[j], negative, fp8_p_limb(j), y2.v[j]);
    fp8_sub_lazy(&slope, &y2, &y1, 1);
    fp8_carry(&slope);
    if (__builtin_expect((pairs[0].kind & MSM_UNUSUAL) != 0, 0)) lanes = g1_msm_unusual_lanes(pairs, &d, &slope);
    g1_product_load(&t, products);
    fp8_mul(&t, acc, &t);
    fp8_mul(acc, acc, &d);
    fp8_mul(&slope, &slope, &t);
    fp8_mul(&t, &slope, &slope);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) x2.v[j] = _mm512_add_epi64(x1.v[j], x2.v[j]);
    fp8_sub_lazy(&x2, &t, &x2, 2); /* x3, below 3p */
    fp8_carry(&x2);
    fp8_reduce(&x2, 2);
    fp8_reduce_last(&x2);
    fp8_sub_lazy(&t, &x1, &x2, 1);
    fp8_carry(&t);
    const __m512i mask = _mm512_set1_epi64((long long)FP8_MASK);
#pragma GCC unroll 8
    for (int j = 7; j > 0; j--) { /* 2^16 (x1 - x3) */
        t.v[j] =
            _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi64(t.v[j], 16), mask), _mm512_srli_epi64(t.v[j - 1], 36));
    }
    t.v[0] = _mm512_and_si512(_mm512_slli_epi64(t.v[0], 16), mask);
    fp8_mul(&t, &slope, &t);
    fp8_sub_lazy(&t, &t, &y1, 1);
    fp8_carry(&t);
    fp8_reduce_last(&t);
    g1_store(to, &x2, &t, lanes);
}

static void g1_add_pairs_vector(g1_msm_pair *pairs, size_t n, g1_product *products) {
    fp8 acc = {{_mm512_setzero_si512()}};
    fp one;
    fp_set_one(&one);
    for (int i = 0; i < 8; i++) fp8_set(&acc, i, &one);
    for (size_t i = 0; i < n; i += 8) {
        if (i + 24 <= n) {
            for (size_t j = i + 16; j < i + 24; j++) {
                __builtin_prefetch(pairs[j].right);
                __builtin_prefetch((const char *)pairs[j].right + 64);
            }
        }
        g1_forward(pairs + i, &acc, products + i);
    }
    g1_invert_lanes(&acc);
    for (size_t i = n; i > 0; i -= 8) g1_backward(pairs + i - 8, &acc, products + i - 8);
}

/* Whole groups in lanes. The last few pairs come first, by themselves: nobody else reads what they change. */
static void g1_msm_add_pairs(g1_msm_pair *pairs, size_t n, g1_product *products) {
    size_t whole = n < 16 ? 0 : n / 8 * 8;
    if (whole == 0) {
        g1_msm_add_pairs_plain(pairs, n, (fp *)products);
        return;
    }
    if (n > whole) g1_msm_add_pairs_plain(pairs + whole, n - whole, (fp *)products);
    g1_add_pairs_vector(pairs, whole, products);
}
