/* See device.cuh. */
#include "device.cuh"

#include <atomic>

#include "gpu.h"

static std::atomic<unsigned> fault_in;
static std::atomic<bool> fault_of_memory;

void gpu_fail_at(unsigned n, bool memory) {
    fault_of_memory = memory;
    fault_in = n;
}

cudaError_t cuda_fault_due(void) {
    if (fault_in.load(std::memory_order_relaxed) == 0) return cudaSuccess;
    unsigned left = fault_in.load();
    while (left && !fault_in.compare_exchange_weak(left, left - 1)) {
    }
    if (left != 1) return cudaSuccess;
    return fault_of_memory ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure;
}

cuzk_status cuda_fail(cuzk_error *err, cudaError_t e, const char *call, const char *file, int line) {
    cudaGetLastError(); /* clears what is not sticky */
    cuzk_fail(err, e == cudaErrorMemoryAllocation ? CUZK_MEMORY : CUZK_DEVICE, "CUDA: %s", cudaGetErrorString(e));
    const char *slash = file;
    for (const char *p = file; *p; p++)
        if (*p == '/') slash = p + 1;
    cuzk_fail_where(err, "%s:%d: %.80s", slash, line, call);
    return cuzk_fail_found(err, "%s", cudaGetErrorName(e));
}
