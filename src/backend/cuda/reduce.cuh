/* Sums of points eight at a time, by affine additions with shared inversions.
 *
 * An affine addition is five products and a square, once the inverse of the difference of the x is there: half of an
 * addition in XYZZ coordinates. A block takes its groups of eight in three levels (pairs, pairs of pairs, …): forward,
 * each thread multiplies up the differences of its pairs and stores the products before each; then the block inverts
 * the product of all of its threads' products once; backward, each pair gets its own inverse and is added. While one
 * block waits for an inversion, others of the multiprocessor compute. What lies between levels belongs to one thread,
 * in planes of 16 bytes, so that a warp's accesses are whole lines. Equal points are doubled, opposite ones and points
 * at infinity are right in any mixture. Source: batched inversion (Montgomery 1987).
 */
#ifndef CUZK_CUDA_REDUCE_CUH
#define CUZK_CUDA_REDUCE_CUH

#include "curve.cuh"
#include "device.cuh"

#define REDUCE_GROUP 8u
#define REDUCE_SIGN 0x80000000u /* in a list entry: the negative of the point */
#define REDUCE_NONE 0xffffffffu /* no point */

/* Bytes of scratch for at most `count` entries. */
template <class F> size_t reduce_scratch_bytes(size_t count);

/* out[g] = sum of the entries 8 g … 8 g + 7, for the *count entries (a number in device memory, at most count_max)
 * rounded up. An entry names a point of `points`; without a list entry i is points[i]. */
template <class F>
cuzk_status reduce_enqueue(affine<F> *out, const affine<F> *points, const uint32_t *list, const uint32_t *count,
                           size_t count_max, void *scratch, cudaStream_t stream, cuzk_error *err);

#endif
