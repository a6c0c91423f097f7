/* Points as a .params file has them (math/encoding.h: uncompressed, big-endian, flags in the first byte), on the
 * device.
 */
#ifndef CUZK_CUDA_POINTS_CUH
#define CUZK_CUDA_POINTS_CUH

#include "curve.cuh"
#include "device.cuh"
#include "gpu.h"

/* n points of a section from the file's form to affine ones, in place. The section's mark becomes the least of itself
 * and number << 8 | fault (gpu_point_fault) of bad points, which become infinity; they are numbered from `first`.
 * subgroup: they are also to be in the subgroup; that has a mark of its own, since the CPU looks for it when all the
 * rest has been found right. */
struct point_marks {
    unsigned long long bad[GPU_SECTIONS], outside[GPU_SECTIONS]; /* ~0: none */
};
template <class F>
cuzk_status points_decode_enqueue(affine<F> *points, uint64_t n, uint64_t first, bool subgroup, gpu_section section,
                                  point_marks *marks, cudaStream_t stream, cuzk_error *err);
/* n points to the file's form; out and points may be the same. */
template <class F>
cuzk_status points_encode_enqueue(void *out, const affine<F> *points, uint64_t n, cudaStream_t stream, cuzk_error *err);
/* The first bad point, as the CPU names it. */
void point_marks_read(gpu_bad_point *bad, const point_marks *marks);

#endif
