/* Sums of the points that a bitmap selects: nearly all of a Filecoin witness is bits, so most of a query is a sum of
 * about half of its points.
 *
 * With enough points and workspace the bitmap becomes a list of indices, which affine additions (reduce.cuh) reduce to
 * an eighth twice; what is left is summed in XYZZ coordinates. Otherwise a thread takes the words of the bitmap in turn
 * and no list is made. */
#ifndef CUZK_CUDA_SUMS_CUH
#define CUZK_CUDA_SUMS_CUH

#include "curve.cuh"
#include "device.cuh"
#include "rows.cuh"

/* Least bytes of workspace, and those with which a bitmap of n_words words selecting at most n points is summed
 * faster. */
template <class F> size_t bit_sum_bytes();
template <class F> size_t bit_sum_fast_bytes(uint32_t n_words, size_t n);
/* sum[0] = sum over variables i with bits[i] = 1 (and mask, when its words are not NULL) of points[first + rank], rank
 * being i, or the number of mask bits below i. At most n are selected. */
template <class F>
cuzk_status bit_sum_enqueue(xyzz<F> *sum, const affine<F> *points, uint32_t first, const uint64_t *bits,
                            ranked_bits mask, uint32_t n_words, size_t n, void *work, size_t work_bytes,
                            cudaStream_t stream, cuzk_error *err);
/* The same of the points with numbers from lo to below hi alone, added to *sum; work of bit_sum_bytes. */
template <class F>
cuzk_status bit_sum_range_enqueue(xyzz<F> *sum, const affine<F> *points, uint32_t first, const uint64_t *bits,
                                  ranked_bits mask, uint32_t n_words, uint32_t lo, uint32_t hi, void *work,
                                  cudaStream_t stream, cuzk_error *err);

#endif
