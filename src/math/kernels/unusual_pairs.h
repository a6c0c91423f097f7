/* What pairs without a chord, or with a doubling, do in a group of lanes: each lane takes the plain version's decision.
 * For the pairs of a group (g1_pairs.h, g2_pairs.h) of the versions in lanes, in the middle of msm_template.h; included
 * after defining
 *   UNUSUAL_LANES           pairs in a group
 *   UNUSUAL_LANE_T          a coordinate in each lane
 *   UNUSUAL_LANE_SET(a, i, x)  lane i of *a becomes *x, a coordinate in memory form
 * The macros are undefined at the end.
 */

/* Set in the kind of a group's first pair when the lanes have kinds of their own. */
#define MSM_UNUSUAL 0x100u

/* Denominators of lanes that have none of their own become 1 (any number but zero would do). */
static __attribute__((noinline)) void MSM(unusual_denominators)(MSM(pair) * pairs, UNUSUAL_LANE_T *d) {
    for (int i = 0; i < UNUSUAL_LANES; i++) {
        MSM_F x;
        if (!MSM(denominator)(&pairs[i], &x)) MSM_FN(set_one)(&x);
        UNUSUAL_LANE_SET(d, i, &x);
    }
    pairs[0].kind |= MSM_UNUSUAL;
}

/* Fills the group's denominators and slopes of doublings, and does at once what needs none. The lanes that have a sum
 * to store. */
static __attribute__((noinline)) unsigned MSM(unusual_lanes)(MSM(pair) * pairs, UNUSUAL_LANE_T *d,
                                                             UNUSUAL_LANE_T *slope) {
    unsigned lanes = 0;
    pairs[0].kind &= ~MSM_UNUSUAL;
    for (int i = UNUSUAL_LANES - 1; i >= 0; i--) { /* a right point may be an earlier pair's left one */
        MSM(pair) *p = &pairs[i];
        MSM_F x, t;
        if (p->kind == MSM(ADD)) {
            lanes |= 1u << i;
            continue;
        }
        MSM_FN(set_one)(&x);
        if (p->kind == MSM(DOUBLE)) {
            lanes |= 1u << i;
            MSM_FN(sqr)(&t, &p->left->x);
            MSM_FN(dbl)(&x, &t);
            MSM_FN(add)(&t, &x, &t);
            UNUSUAL_LANE_SET(slope, i, &t);
            MSM_FN(dbl)(&x, &p->left->y); /* the signed right y equals the left one */
        }
        UNUSUAL_LANE_SET(d, i, &x);
        if (p->kind == MSM(TAKE)) {
            *p->left = *p->right;
            if (p->negative) MSM_FN(neg)(&p->left->y, &p->left->y);
        }
        if (p->kind == MSM(CLEAR)) memset(p->left, 0, sizeof *p->left);
    }
    return lanes;
}

#undef UNUSUAL_LANES
#undef UNUSUAL_LANE_T
#undef UNUSUAL_LANE_SET
