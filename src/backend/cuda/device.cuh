/* Device memory and error checks of the CUDA backend.
 *
 * A workspace is one block of device memory, asked for by exact size beforehand and cut into parts by a cursor: the
 * same walk over the parts with a null base gives the size. Nothing is allocated while kernels run. CUDA failures
 * become statuses (CUDA_TRY); nothing exits.
 */
#ifndef CUZK_CUDA_DEVICE_CUH
#define CUZK_CUDA_DEVICE_CUH

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "cuzk/error.h"

#define CUDA_TRY(call)                                                                                                 \
    do {                                                                                                               \
        cudaError_t cuda_try_ = cuda_fault_due();                                                                      \
        if (cuda_try_ == cudaSuccess) cuda_try_ = (call);                                                              \
        if (cuda_try_ != cudaSuccess) return cuda_fail(err, cuda_try_, #call, __FILE__, __LINE__);                     \
    } while (0)

/* MEMORY for cudaErrorMemoryAllocation, DEVICE otherwise; clears the sticky last error where CUDA allows it. */
cuzk_status cuda_fail(cuzk_error *err, cudaError_t e, const char *call, const char *file, int line);

/* cudaSuccess, or the fault that a test asked for (gpu_fail_at, gpu.h) when its turn has come. */
cudaError_t cuda_fault_due(void);

/* Cuts a block into parts aligned to 256 bytes. base NULL: only counts. */
struct workspace {
    uint8_t *base;
    size_t used;
    template <class T> T *take(size_t count) {
        size_t at = (used + 255) & ~(size_t)255;
        used = at + count * sizeof(T);
        return base ? reinterpret_cast<T *>(base + at) : nullptr;
    }
};

static inline unsigned blocks_for(size_t items, unsigned threads) {
    return (unsigned)((items + threads - 1) / threads);
}

#endif
