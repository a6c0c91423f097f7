/* See device.cuh. */
#include "device.cuh"

cuzk_status cuda_fail(cuzk_error *err, cudaError_t e, const char *call, const char *file, int line) {
    cudaGetLastError(); /* clears what is not sticky */
    cuzk_fail(err, e == cudaErrorMemoryAllocation ? CUZK_MEMORY : CUZK_DEVICE, "CUDA: %s", cudaGetErrorString(e));
    const char *slash = file;
    for (const char *p = file; *p; p++)
        if (*p == '/') slash = p + 1;
    cuzk_fail_where(err, "%s:%d: %.80s", slash, line, call);
    return cuzk_fail_found(err, "%s", cudaGetErrorName(e));
}
