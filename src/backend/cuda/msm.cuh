/* Multi-scalar multiplication on the device: Pippenger's buckets with signed digits.
 *
 * For a group of windows at once: digits become (bucket, point) pairs, a radix sort brings each bucket's points
 * together. Full buckets are first reduced to an eighth by affine additions (reduce.cuh; each bucket filled up to a
 * multiple of eight). Then buckets are cut into segments of bounded length (so that no thread works long, however the
 * scalars repeat), a thread sums a segment in XYZZ coordinates, a block joins the segments of a large bucket, and the
 * weighted sum of a window's buckets is taken by running sums over slices. The windows' results go to the host, which
 * joins them by doublings. Points at infinity, equal and opposite points and zero scalars are right in any mixture
 * (complete additions).
 *
 * Signed digits without carries: with K = sum over windows of 2^(c w + c - 1), digit w of s is ((s + K) >> c w mod 2^c)
 * - 2^(c-1).
 */
#ifndef CUZK_CUDA_MSM_CUH
#define CUZK_CUDA_MSM_CUH

#include "curve.cuh"
#include "device.cuh"

struct msm_plan {
    size_t n;
    unsigned c;       /* window bits, 2..22 */
    unsigned windows; /* ceil(257 / c) */
    unsigned group;   /* windows handled at once */
    bool reduced;     /* affine additions first */
    size_t bytes;     /* of workspace */
};

/* Chooses the window by n and the largest window group that fits into `budget` bytes. */
template <class F> msm_plan msm_plan_for(size_t n, size_t budget);

/* Enqueues on `stream`; results: plan.windows sums in `window_sums` (device memory, windows[w] = sum of digit_w(s_i)
 * P_i). index may be NULL. */
template <class F>
cuzk_status msm_enqueue(const msm_plan &plan, xyzz<F> *window_sums, const affine<F> *points, const uint32_t *index,
                        const fr *scalars_canon, void *work, cudaStream_t stream, cuzk_error *err);

#endif
