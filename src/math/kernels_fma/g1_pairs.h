/* add_pairs of msm_template.h for G1 in four lanes; included from the template in place of the plain version.
 *
 * Lanes hold four neighbouring pairs, and each lane has two running products: one of even groups of four, one of odd
 * groups, so that two chains of products run side by side. All eight are inverted together. Points stay in memory as
 * they are: limbs are taken from their bytes on the way in, words are transposed on the way out.
 *
 * A group with an unusual pair (x equal, or infinity, or one that merely looks so in its lowest limb) takes the plain
 * version's decisions lane by lane; its doublings stay in the batch.
 */
#include "math/kernels_fma/fpx4.h"

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

#define G1_LANES 4
#define G1_LANE_T fpx4
#define G1_LANE_SET fpx4_set
#include "math/kernels/g1_unusual.h"

/* The inverses of all running products. */
static void g1_invert_lanes(fpx4 acc[2]) {
    fp x[8], scratch[8];
    fpx4_get(x, &acc[0]);
    fpx4_get(x + 4, &acc[1]);
    fp_batch_inv(x, 8, scratch);
    for (int i = 0; i < 8; i++) fpx4_set(&acc[i / 4], i % 4, &x[i]);
}

X4_INLINE void g1_product_store(g1_product *to, const fpx4 *a) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) _mm256_storeu_pd((double *)to + 4 * j, a->v[j]);
}

X4_INLINE void g1_product_load(fpx4 *a, const g1_product *from) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) a->v[j] = _mm256_loadu_pd((const double *)from + 4 * j);
}

/* Four denominators into the running products. */
static void g1_forward(g1_msm_pair *pairs, fpx4 *acc, g1_product *products) {
    g1_from left, right;
    fpx4_int x1, x2;
    fpx4 d;
    g1_pointers(pairs, &left, &right);
    fpx4_load(&x1, left.x);
    fpx4_load(&x2, right.x);
    const __m256i zero = _mm256_setzero_si256();
    __m256i unusual = _mm256_or_si256(_mm256_cmpeq_epi64(x1.v[0], zero), _mm256_cmpeq_epi64(x2.v[0], zero));
    unusual = _mm256_or_si256(unusual, _mm256_cmpeq_epi64(x1.v[0], x2.v[0]));
    fpx4_difference(&d, &x2, &x1);
    pairs[0].kind = 0;
    if (__builtin_expect(!_mm256_testz_si256(unusual, unusual), 0)) g1_unusual_denominators(pairs, &d);
    g1_product_store(products, acc);
    fpx4_mul(acc, acc, &d);
}

/* y2 - y1, or p - y2 - y1 in lanes that are negative, with p's limbs made such that differences stay below 1.5 2^48. */
X4_INLINE void g1_slope(fpx4 *r, const g1_msm_pair *pairs, const fpx4_int *y1, const fpx4_int *y2) {
    if (!(pairs[0].negative | pairs[1].negative | pairs[2].negative | pairs[3].negative)) {
        fpx4_difference(r, y2, y1);
        return;
    }
    const __m256i sign = _mm256_setr_epi64x(-(int64_t)pairs[0].negative, -(int64_t)pairs[1].negative,
                                            -(int64_t)pairs[2].negative, -(int64_t)pairs[3].negative);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        int64_t p = (int64_t)fpx4_p[0][j][0] + (j < 7 ? INT64_C(1) << 48 : 0) - (j > 0 ? 1 : 0);
        __m256i y = _mm256_sub_epi64(_mm256_xor_si256(y2->v[j], sign), sign);
        y = _mm256_add_epi64(y, _mm256_and_si256(sign, _mm256_set1_epi64x(p)));
        r->v[j] = fpx4_double(_mm256_sub_epi64(y, y1->v[j]));
    }
}

/* Four sums. */
static void g1_backward(g1_msm_pair *pairs, fpx4 *acc, const g1_product *products) {
    g1_from left, right;
    fpx4_int x1, x2, y1, y2;
    fpx4 d, slope, t;
    unsigned lanes = 0xf;
    g1_pointers(pairs, &left, &right);
    fpx4_load(&x1, left.x);
    fpx4_load(&x2, right.x);
    fpx4_difference(&d, &x2, &x1);
    fpx4_load(&y1, left.y);
    fpx4_load(&y2, right.y);
    g1_slope(&slope, pairs, &y1, &y2);
    if (__builtin_expect((pairs[0].kind & G1_UNUSUAL) != 0, 0)) lanes = g1_unusual_lanes(pairs, &d, &slope);
    g1_product_load(&t, products);
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

/* The last pairs, filled up to a group with additions that nobody asked for. */
typedef struct {
    g1_msm_pair pairs[4];
    g1_product products[4];
    g1_affine left[4], right;
} g1_tail;

static void g1_tail_fill(g1_tail *tail, const g1_msm_pair *pairs, size_t n) {
    fp_set_one(&tail->right.x);
    fp_set_one(&tail->right.y);
    for (size_t i = 0; i < 4; i++) {
        if (i < n) {
            tail->pairs[i] = pairs[i];
            continue;
        }
        tail->left[i] = tail->right;
        fp_dbl(&tail->left[i].x, &tail->left[i].x);
        tail->pairs[i] = (g1_msm_pair){.left = &tail->left[i], .right = &tail->right};
    }
}

static void g1_add_pairs_vector(g1_msm_pair *pairs, size_t n, g1_product *products) {
    fpx4 acc[2] = {{{_mm256_setzero_pd()}}};
    g1_tail tail;
    size_t whole = n / 4 * 4, last = whole / 4;
    fp one;
    fp_set_one(&one);
    for (int i = 0; i < 8; i++) fpx4_set(&acc[i / 4], i % 4, &one);
    for (size_t i = 0; i < whole; i += 4) {
        if (i + 12 <= n) {
            for (size_t j = i + 8; j < i + 12; j++) {
                __builtin_prefetch(pairs[j].right);
                __builtin_prefetch((const char *)pairs[j].right + 64);
            }
        }
        g1_forward(pairs + i, &acc[i / 4 & 1], products + i);
    }
    if (whole < n) {
        g1_tail_fill(&tail, pairs + whole, n - whole);
        g1_forward(tail.pairs, &acc[last & 1], tail.products);
    }
    g1_invert_lanes(acc);
    if (whole < n) g1_backward(tail.pairs, &acc[last & 1], tail.products);
    for (size_t i = whole; i > 0; i -= 4) g1_backward(pairs + i - 4, &acc[(i - 4) / 4 & 1], products + i - 4);
}

static void g1_msm_add_pairs(g1_msm_pair *pairs, size_t n, g1_product *products) {
    if (n < 11) { /* an inversion of eight is what a few products cost */
        g1_msm_add_pairs_plain(pairs, n, (fp *)products);
    } else {
        g1_add_pairs_vector(pairs, n, products);
    }
}
