/* Sums of the points that a bitmap selects: nearly all of a Filecoin witness is bits, so most of a query is a sum of
 * about half of its points. A thread takes the words of the bitmap in turn; no list of indices is made. */
#ifndef CUZK_CUDA_SUMS_CUH
#define CUZK_CUDA_SUMS_CUH

#include "curve.cuh"
#include "device.cuh"
#include "rows.cuh"

/* sum[0] = sum over variables i with bits[i] = 1 (and mask, when its words are not NULL) of points[first + rank], rank
 * being i, or the number of mask bits below i. */
template <class F> size_t bit_sum_bytes();
template <class F>
cuzk_status bit_sum_enqueue(xyzz<F> *sum, const affine<F> *points, uint32_t first, const uint64_t *bits,
                            ranked_bits mask, uint32_t n_words, void *work, cudaStream_t stream, cuzk_error *err);

#endif
