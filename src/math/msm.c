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

/* Windows [fine_windows, windows) are cut into `coarse` ranges of points each, those below into `fine` ones. Buckets
 * cost the less, the longer the ranges; the fine ones even out what each thread has to do. */
typedef struct msm_plan {
    unsigned bits, windows, fine_windows;
    size_t coarse, fine;
} msm_plan;

/* One tile: sums[sum] of the points [begin, end). */
typedef struct msm_tile_at {
    unsigned window;
    size_t begin, end, sum;
} msm_tile_at;

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

static double msm_rounds_cost(size_t n, size_t windows, size_t ranges, unsigned bits, unsigned threads) {
    size_t tiles = windows * ranges;
    return (double)msm_div_up(tiles, threads) * msm_tile_cost((double)msm_div_up(n, ranges), bits) +
           4.0 * (double)tiles;
}

/* Windows in `coarse` ranges each, as many as give all threads the same number of tiles; the rest in fine ranges. */
static unsigned msm_fine_windows(unsigned windows, size_t coarse, unsigned threads) {
    unsigned step = 1;
    while (step * coarse % threads != 0) step++;
    return windows % step;
}

static msm_plan msm_plan_for(size_t n, unsigned threads) {
    msm_plan best = {0};
    double best_cost = 0;
    size_t coarse = msm_div_up(n, MSM_RANGE_MAX), fine_max = coarse + 4 + threads / 4;
    for (unsigned bits = 2; bits <= MSM_BITS_MAX; bits++) {
        unsigned windows = msm_digit_windows(bits), fine_windows = msm_fine_windows(windows, coarse, threads);
        for (size_t fine = coarse; fine <= fine_max && fine <= n; fine++) {
            double cost = msm_rounds_cost(n, windows - fine_windows, coarse, bits, threads) +
                          msm_rounds_cost(n, fine_windows, fine, bits, threads);
            if (best.bits != 0 && cost >= best_cost) continue;
            best_cost = cost;
            best = (msm_plan){
                .bits = bits, .windows = windows, .fine_windows = fine_windows, .coarse = coarse, .fine = fine};
        }
    }
    best.fine = msm_div_up(n, msm_div_up(n, best.fine)); /* none empty */
    return best;
}

static size_t msm_plan_tiles(const msm_plan *plan) {
    return (plan->windows - plan->fine_windows) * plan->coarse + plan->fine_windows * plan->fine;
}

/* Sums a window has at most: coarse windows leave the others at infinity. */
static size_t msm_plan_ranges(const msm_plan *plan) {
    return plan->fine > plan->coarse ? plan->fine : plan->coarse;
}

/* Coarse tiles come first, the top window, which has most buckets, before all. */
static msm_tile_at msm_plan_tile(const msm_plan *plan, size_t n, size_t tile) {
    size_t first_fine = (plan->windows - plan->fine_windows) * plan->coarse;
    size_t ranges = tile < first_fine ? plan->coarse : plan->fine, top = plan->windows - 1;
    if (tile >= first_fine) {
        tile -= first_fine;
        top = plan->fine_windows - 1;
    }
    size_t window = top - tile / ranges, range = tile % ranges, len = msm_div_up(n, ranges), begin = range * len;
    return (msm_tile_at){.window = (unsigned)window,
                         .begin = begin,
                         .end = n - begin < len ? n : begin + len,
                         .sum = window * msm_plan_ranges(plan) + range};
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
