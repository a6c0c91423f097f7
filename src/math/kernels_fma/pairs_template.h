/* Batches of pairs in four lanes, for one group; included by g1_pairs.h and g2_pairs.h, in the middle of
 * msm_template.h, after these functions and this macro:
 *   MSM_GROUP(forward)(pairs, acc, products)   four denominators into the running products *acc, which are kept before
 *   MSM_GROUP(backward)(pairs, acc, products)  four sums, with the inverses of the running products
 *   PAIRS_LEAST  batches of fewer pairs go without lanes: an inversion of eight is what a few products cost
 *
 * Lanes hold four neighbouring pairs, and each lane has two running products: one of even groups of four, one of odd
 * groups, so that two chains of products run side by side. All eight are inverted together.
 */

/* The last pairs, filled up to a group with additions that nobody asked for. */
typedef struct {
    MSM(pair) pairs[4];
    MSM_PRODUCT products[4];
    MSM_AFFINE left[4], right;
} MSM(tail);

static void MSM(tail_fill)(MSM(tail) * tail, const MSM(pair) * pairs, size_t n) {
    MSM_FN(set_one)(&tail->right.x);
    MSM_FN(set_one)(&tail->right.y);
    for (size_t i = 0; i < 4; i++) {
        if (i < n) {
            tail->pairs[i] = pairs[i];
            continue;
        }
        tail->left[i] = tail->right;
        MSM_FN(dbl)(&tail->left[i].x, &tail->left[i].x);
        tail->pairs[i] = (MSM(pair)){.left = &tail->left[i], .right = &tail->right};
    }
}

static void MSM(add_pairs_vector)(MSM(pair) * pairs, size_t n, MSM_PRODUCT *products) {
    fpx4 acc[2] = {{{_mm256_setzero_pd()}}};
    MSM(tail) tail;
    size_t whole = n / 4 * 4, last = whole / 4;
    fp one;
    fp_set_one(&one);
    for (int i = 0; i < 8; i++) fpx4_set(&acc[i / 4], i % 4, &one);
    for (size_t i = 0; i < whole; i += 4) {
        if (i + 12 <= n) {
            for (size_t j = i + 8; j < i + 12; j++) {
                const char *ahead = (const char *)pairs[j].right;
                for (size_t line = 0; line < sizeof(MSM_AFFINE); line += 64) __builtin_prefetch(ahead + line);
            }
        }
        MSM_GROUP(forward)(pairs + i, &acc[i / 4 & 1], products + i);
    }
    if (whole < n) {
        MSM(tail_fill)(&tail, pairs + whole, n - whole);
        MSM_GROUP(forward)(tail.pairs, &acc[last & 1], tail.products);
    }
    fpx4_invert_two(acc);
    if (whole < n) MSM_GROUP(backward)(tail.pairs, &acc[last & 1], tail.products);
    for (size_t i = whole; i > 0; i -= 4) MSM_GROUP(backward)(pairs + i - 4, &acc[(i - 4) / 4 & 1], products + i - 4);
}

static void MSM(add_pairs)(MSM(pair) * pairs, size_t n, MSM_PRODUCT *products) {
    if (n < PAIRS_LEAST) {
        MSM(add_pairs_plain)(pairs, n, (MSM_F *)products);
    } else {
        MSM(add_pairs_vector)(pairs, n, products);
    }
}

#undef PAIRS_LEAST
