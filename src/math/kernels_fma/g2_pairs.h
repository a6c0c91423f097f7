/* add_pairs of msm_template.h for G2 in four lanes (pairs_template.h); included from the template in place of the plain
 * version.
 *
 * Of a denominator d only the norm enters the running products, which therefore are in fp: 1/d is d's conjugate over
 * the norm. That is 2 squares and 5 products in fp for a share of the inversion, where three products in fp2 would be
 * 9. The norm is kept beside the running product, so that the way back need not form it again.
 *
 * Points in memory and unusual pairs are as in g1_pairs.h, judged by the x's first coordinates.
 */
#include "math/kernels_fma/fp2x4.h"
#include "math/kernels_fma/fpx4_pairs.h"

typedef struct {
    const fp2 *x[4], *y[4];
} g2_from;

X4_INLINE void g2_pointers(const g2_msm_pair *pairs, g2_from *left, g2_from *right) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        left->x[i] = &pairs[i].left->x;
        left->y[i] = &pairs[i].left->y;
        right->x[i] = &pairs[i].right->x;
        right->y[i] = &pairs[i].right->y;
    }
}

X4_INLINE void g2_store(const g2_msm_pair *pairs, const fp2x4_int *x, const fp2x4_int *y, unsigned lanes) {
    __m256i w[24], out[6][4];
    fpx4_to_words(w, &x->c0);
    fpx4_to_words(w + 6, &x->c1);
    fpx4_to_words(w + 12, &y->c0);
    fpx4_to_words(w + 18, &y->c1);
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) x4_transpose(out[i], w + 4 * i);
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; lane++) {
        if (!(lanes >> lane & 1)) continue;
        __m256i *to = (__m256i *)pairs[lane].left;
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) _mm256_storeu_si256(to + i, out[i][lane]);
    }
}

#define UNUSUAL_LANES 4
#define UNUSUAL_LANE_T fp2x4
#define UNUSUAL_LANE_SET fp2x4_set
#include "math/kernels/unusual_pairs.h"

/* Four denominators into the running products. Of the list of products each pair has a quarter of what is kept: the
 * running product, then the norm. */
static void g2_forward(g2_msm_pair *pairs, fpx4 *acc, g2_product *products) {
    g2_from left, right;
    fp2x4_int x1, x2;
    fp2x4 d;
    fpx4 norm;
    g2_pointers(pairs, &left, &right);
    fp2x4_load(&x1, left.x);
    fp2x4_load(&x2, right.x);
    fp2x4_difference(&d, &x2, &x1);
    pairs[0].kind = 0;
    if (__builtin_expect(fpx4_unusual(&x1.c0, &x2.c0), 0)) g2_msm_unusual_denominators(pairs, &d);
    fp2x4_carry(&d);
    fp2x4_norm(&norm, &d);
    fpx4_keep(products, acc);
    fpx4_keep(products + 2, &norm);
    fpx4_mul(acc, acc, &norm);
}

/* Four sums. */
static void g2_backward(g2_msm_pair *pairs, fpx4 *acc, const g2_product *products) {
    g2_from left, right;
    fp2x4_int x1, x2, y1, y2;
    fp2x4 d, slope, t;
    fpx4 norm, inverse;
    const uint32_t negative[4] = {pairs[0].negative, pairs[1].negative, pairs[2].negative, pairs[3].negative};
    unsigned lanes = 0xf;
    g2_pointers(pairs, &left, &right);
    fp2x4_load(&x1, left.x);
    fp2x4_load(&x2, right.x);
    fp2x4_difference(&d, &x2, &x1);
    fp2x4_load(&y1, left.y);
    fp2x4_load(&y2, right.y);
    fpx4_slope(&slope.c0, negative, &y1.c0, &y2.c0);
    fpx4_slope(&slope.c1, negative, &y1.c1, &y2.c1);
    if (__builtin_expect((pairs[0].kind & MSM_UNUSUAL) != 0, 0)) lanes = g2_msm_unusual_lanes(pairs, &d, &slope);
    fp2x4_carry(&d);
    fp2x4_carry(&slope);
    fpx4_kept(&inverse, products);
    fpx4_kept(&norm, products + 2);
    fpx4_mul(&inverse, acc, &inverse);
    fp2x4_mul_conj(&t, &slope, &d); /* waits for nothing before it */
    fpx4_mul(acc, acc, &norm);
    fpx4_mul(&slope.c0, &t.c0, &inverse);
    fpx4_mul(&slope.c1, &t.c1, &inverse);
    fp2x4_sqr(&t, &slope);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        x2.c0.v[j] = _mm256_add_epi64(x1.c0.v[j], x2.c0.v[j]);
        x2.c1.v[j] = _mm256_add_epi64(x1.c1.v[j], x2.c1.v[j]);
    }
    fp2x4_reduce(&x2, &t, &x2); /* x3 */
    fp2x4_difference(&d, &x1, &x2);
    fp2x4_carry(&d);
    fp2x4_mul(&t, &d, &slope);
    fp2x4_reduce(&y2, &t, &y1);
    g2_store(pairs, &x2, &y2, lanes);
}

#define PAIRS_LEAST 4
#include "math/kernels_fma/pairs_template.h"
