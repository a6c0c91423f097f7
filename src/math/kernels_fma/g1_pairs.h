/* add_pairs of msm_template.h for G1 in four lanes (pairs_template.h); included from the template in place of the plain
 * version.
 *
 * Points stay in memory as they are: limbs are taken from their bytes on the way in, words are transposed on the way
 * out.
 *
 * A group with an unusual pair (x equal, or infinity, or one that merely looks so in its lowest limb) takes the plain
 * version's decisions lane by lane; its doublings stay in the batch.
 */
#include "math/kernels_fma/fpx4_pairs.h"

typedef struct {
    const fp *x[4], *y[4];
} g1_from;

X4_INLINE void g1_pointers(const g1_msm_pair *pairs, g1_from *left, g1_from *right) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        left->x[i] = &pairs[i].left->x;
        left->y[i] = &pairs[i].left->y;
        right->x[i] = &pairs[i].right->x;
        right->y[i] = &pairs[i].right->y;
    }
}

X4_INLINE void g1_store(const g1_msm_pair *pairs, const fpx4_int *x, const fpx4_int *y, unsigned lanes) {
    __m256i w[12], out[3][4];
    fpx4_to_words(w, x);
    fpx4_to_words(w + 6, y);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        x4_transpose(out[i], w + 4 * i);
    }
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; lane++) {
        if (!(lanes >> lane & 1)) continue;
        __m256i *to = (__m256i *)pairs[lane].left;
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++) _mm256_storeu_si256(to + i, out[i][lane]);
    }
}

#define UNUSUAL_LANES 4
#define UNUSUAL_LANE_T fpx4
#define UNUSUAL_LANE_SET fpx4_set
#include "math/kernels/unusual_pairs.h"

/* Four denominators into the running products. */
static void g1_forward(g1_msm_pair *pairs, fpx4 *acc, g1_product *products) {
    g1_from left, right;
    fpx4_int x1, x2;
    fpx4 d;
    g1_pointers(pairs, &left, &right);
    fpx4_load(&x1, left.x);
    fpx4_load(&x2, right.x);
    fpx4_difference(&d, &x2, &x1);
    pairs[0].kind = 0;
    if (__builtin_expect(fpx4_unusual(&x1, &x2), 0)) g1_msm_unusual_denominators(pairs, &d);
    fpx4_keep(products, acc);
    fpx4_mul(acc, acc, &d);
}

/* Four sums. */
static void g1_backward(g1_msm_pair *pairs, fpx4 *acc, const g1_product *products) {
    g1_from left, right;
    fpx4_int x1, x2, y1, y2;
    fpx4 d, slope, t;
    const uint32_t negative[4] = {pairs[0].negative, pairs[1].negative, pairs[2].negative, pairs[3].negative};
    unsigned lanes = 0xf;
    g1_pointers(pairs, &left, &right);
    fpx4_load(&x1, left.x);
    fpx4_load(&x2, right.x);
    fpx4_difference(&d, &x2, &x1);
    fpx4_load(&y1, left.y);
    fpx4_load(&y2, right.y);
    fpx4_slope(&slope, negative, &y1, &y2);
    if (__builtin_expect((pairs[0].kind & MSM_UNUSUAL) != 0, 0)) lanes = g1_msm_unusual_lanes(pairs, &d, &slope);
    fpx4_kept(&t, products);
    fpx4_mul(&t, acc, &t);
    fpx4_mul(acc, acc, &d);
    fpx4_mul(&slope, &slope, &t);
    fpx4_sqr(&t, &slope);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) x2.v[j] = _mm256_add_epi64(x1.v[j], x2.v[j]);
    fpx4_reduce(&x2, &t, &x2); /* x3 */
    fpx4_difference(&t, &x1, &x2);
    fpx4_mul(&t, &t, &slope);
    fpx4_reduce(&y2, &t, &y1);
    g1_store(pairs, &x2, &y2, lanes);
}

#define PAIRS_LEAST 11
#include "math/kernels_fma/pairs_template.h"
