/* What pairs without a chord, or with a doubling, do in a group of lanes: each lane takes the plain version's decision.
 * For the g1_pairs.h of the versions in lanes; included after defining
 *   G1_LANES           pairs in a group
 *   G1_LANE_T          a field element in each lane
 *   G1_LANE_SET(a, i, x)  lane i of *a becomes *x, an element in memory form
 */
#ifndef CUZK_MATH_KERNELS_G1_UNUSUAL_H
#define CUZK_MATH_KERNELS_G1_UNUSUAL_H

/* Set in the kind of a group's first pair when the lanes have kinds of their own. */
#define G1_UNUSUAL 0x100u

/* Denominators of lanes that have none of their own become 1 (any number but zero would do). */
static __attribute__((noinline)) void g1_unusual_denominators(g1_msm_pair *pairs, G1_LANE_T *d) {
    for (int i = 0; i < G1_LANES; i++) {
        fp x;
        if (!g1_msm_denominator(&pairs[i], &x)) fp_set_one(&x);
        G1_LANE_SET(d, i, &x);
    }
    pairs[0].kind |= G1_UNUSUAL;
}

/* Fills the group's denominators and slopes of doublings, and does at once what needs none. The lanes that have a sum
 * to store. */
static __attribute__((noinline)) unsigned g1_unusual_lanes(g1_msm_pair *pairs, G1_LANE_T *d, G1_LANE_T *slope) {
    unsigned lanes = 0;
    pairs[0].kind &= ~G1_UNUSUAL;
    for (int i = G1_LANES - 1; i >= 0; i--) { /* a right point may be an earlier pair's left one */
        g1_msm_pair *p = &pairs[i];
        fp x, t;
        if (p->kind == g1_msm_ADD) {
            lanes |= 1u << i;
            continue;
        }
        fp_set_one(&x);
        if (p->kind == g1_msm_DOUBLE) {
            lanes |= 1u << i;
            fp_sqr(&t, &p->left->x);
            fp_dbl(&x, &t);
            fp_add(&t, &x, &t);
            G1_LANE_SET(slope, i, &t);
            fp_dbl(&x, &p->left->y); /* the signed right y equals the left one */
        }
        G1_LANE_SET(d, i, &x);
        if (p->kind == g1_msm_TAKE) {
            *p->left = *p->right;
            if (p->negative) fp_neg(&p->left->y, &p->left->y);
        }
        if (p->kind == g1_msm_CLEAR) memset(p->left, 0, sizeof *p->left);
    }
    return lanes;
}

#endif
