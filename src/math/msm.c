/* Multi-scalar multiplication: the plan (window bits, ranges of points), its scratch and its spread over a pool.
 *
 * A tile of work is one window over one range of points; each yields one sum, and `combine` puts them together. The
 * plan is a function of n and the number of threads alone, so that scratch can be told beforehand: bits and ranges are
 * those of least cost in units of one batched affine addition, with the rounds that the tiles need on the threads.
 * Constants of the model are from measurements (docs/math/msm.md); they choose speed, never the result. The group's
 * part of the text is msm_group.h.
 */
#include "math/msm.h"

#include "base/buffer.h"
#include "math/kernels.h"
#include "math/kernels/msm_digits.h"

/* Points of one tile, at whose end a proof can be cancelled: seconds. */
#define MSM_RANGE_MAX ((size_t)1 << 22)
/* Up to so many terms are multiplied one by one: buckets cost about as much as 20 of them, however few the terms. */
#define MSM_FEW 16u

typedef struct msm_plan {
    unsigned bits, windows;
    size_t ranges, range_len;
} msm_plan;

/* One tile in additions: entries with their sort, then the buckets' weighted sum in lanes. */
static double msm_tile_cost(double entries, unsigned bits) {
    double buckets = (double)(1u << (bits - 1));
    double lanes = buckets / 64 < 256 ? buckets / 64 : 256;
    /* The inversions of the tree's levels, and the last steps over the lanes, one by one. */
    double fixed = 80 + 10 * (lanes < 1 ? buckets : lanes);
    return 1.1 * entries + 2.2 * buckets + fixed;
}

static size_t msm_div_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

static msm_plan msm_plan_for(size_t n, unsigned threads) {
    msm_plan best = {0};
    double best_cost = 0;
    size_t ranges_min = msm_div_up(n, MSM_RANGE_MAX), ranges_max = ranges_min + 4 + threads / 4;
    for (unsigned bits = 2; bits <= MSM_BITS_MAX; bits++) {
        unsigned windows = msm_digit_windows(bits);
        for (size_t ranges = ranges_min; ranges <= ranges_max && ranges <= n; ranges++) {
            double rounds = (double)msm_div_up(ranges * windows, threads);
            double cost =
                rounds * msm_tile_cost((double)msm_div_up(n, ranges), bits) + 4.0 * (double)(ranges * windows);
            if (best.bits != 0 && cost >= best_cost) continue;
            best_cost = cost;
            best = (msm_plan){.bits = bits, .windows = windows, .ranges = ranges, .range_len = msm_div_up(n, ranges)};
        }
    }
    best.ranges = msm_div_up(n, best.range_len); /* none empty */
    return best;
}

/* Every thread's part begins on its own cache line. */
static size_t msm_round(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static unsigned msm_threads(const pool *p) {
    return p != NULL ? pool_threads(p) : 1;
}

#define MSM_PUBLIC(a, b) a##_g1##b
#define MSM_G(x) g1_##x
#define MSM_KERNEL(x) msm->g1_##x
#define MSM_AFFINE g1_affine
#define MSM_JACOBIAN g1
#include "math/msm_group.h"

#define MSM_PUBLIC(a, b) a##_g2##b
#define MSM_G(x) g2_##x
#define MSM_KERNEL(x) msm->g2_##x
#define MSM_AFFINE g2_affine
#define MSM_JACOBIAN g2
#include "math/msm_group.h"
