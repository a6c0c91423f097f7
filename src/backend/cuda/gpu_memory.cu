/* Devices and counted device memory; see gpu.h. */
#include <atomic>
#include <cstdio>

#include "gpu.cuh"

namespace {
constexpr unsigned MAX_DEVICES = 64;
std::atomic<uint64_t> live[MAX_DEVICES], peak[MAX_DEVICES], limit[MAX_DEVICES];
} // namespace

unsigned gpu_count(void) {
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess) {
        cudaGetLastError();
        return 0; /* no driver, or no device: not a fault */
    }
    return (unsigned)n < MAX_DEVICES ? (unsigned)n : MAX_DEVICES;
}

cuzk_status gpu_info(unsigned device, gpu_facts *out, cuzk_error *err) {
    cudaDeviceProp p;
    size_t free_bytes, total;
    CUDA_TRY(cudaGetDeviceProperties(&p, (int)device));
    CUDA_TRY(cudaSetDevice((int)device));
    CUDA_TRY(cudaMemGetInfo(&free_bytes, &total));
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, p.name);
    out->memory_bytes = total;
    out->free_bytes = free_bytes;
    out->major = (unsigned)p.major;
    out->minor = (unsigned)p.minor;
    out->multiprocessors = (unsigned)p.multiProcessorCount;
    return CUZK_OK;
}

void gpu_memory(unsigned device, uint64_t *live_bytes, uint64_t *peak_bytes) {
    *live_bytes = live[device % MAX_DEVICES];
    *peak_bytes = peak[device % MAX_DEVICES];
}
void gpu_memory_reset_peak(unsigned device) {
    peak[device % MAX_DEVICES] = live[device % MAX_DEVICES].load();
}

void gpu_memory_limit(unsigned device, uint64_t bytes) {
    limit[device % MAX_DEVICES] = bytes;
}

/* Memory within the limit, counted first, so that two threads together do not pass it. */
static cudaError_t take(void **data, unsigned device, size_t bytes) {
    uint64_t most = limit[device % MAX_DEVICES], now = live[device % MAX_DEVICES].fetch_add(bytes) + bytes;
    cudaError_t e = most && now > most ? cudaErrorMemoryAllocation : cudaMalloc(data, bytes ? bytes : 1);
    if (e != cudaSuccess) {
        live[device % MAX_DEVICES] -= bytes;
        return e;
    }
    uint64_t seen = peak[device % MAX_DEVICES];
    while (now > seen && !peak[device % MAX_DEVICES].compare_exchange_weak(seen, now)) {
    }
    return e;
}

cuzk_status gpu_block_alloc(gpu_block *b, unsigned device, size_t bytes, const char *what, cuzk_error *err) {
    CUDA_TRY(cudaSetDevice((int)device));
    cudaError_t e = cuda_fault_due();
    if (e == cudaSuccess) {
        e = take(&b->data, device, bytes);
        if (e == cudaErrorMemoryAllocation && gpu_proof_drop_spares(device)) e = take(&b->data, device, bytes);
    }
    if (e == cudaErrorMemoryAllocation) {
        b->data = nullptr;
        cudaGetLastError();
        size_t free_bytes = 0, total = 0;
        cudaMemGetInfo(&free_bytes, &total);
        cuzk_fail(err, CUZK_MEMORY, "not enough device memory for the %s", what);
        cuzk_fail_where(err, "CUDA device %u", device);
        cuzk_fail_expected(err, "%llu bytes", (unsigned long long)bytes);
        uint64_t most = limit[device % MAX_DEVICES];
        if (most)
            return cuzk_fail_found(err, "%llu bytes free of %llu, %llu taken of a limit of %llu",
                                   (unsigned long long)free_bytes, (unsigned long long)total,
                                   (unsigned long long)live[device % MAX_DEVICES], (unsigned long long)most);
        return cuzk_fail_found(err, "%llu bytes free of %llu", (unsigned long long)free_bytes,
                               (unsigned long long)total);
    }
    if (e == cudaSuccess) {
        b->device = device; /* before anything else can fail: it is counted */
        b->bytes = bytes;
        return CUZK_OK;
    }
    return cuda_fail(err, e, "cudaMalloc", __FILE__, __LINE__);
}

bool gpu_pin(void *data, uint64_t bytes) {
    if (cudaHostRegister(data, bytes, cudaHostRegisterDefault) == cudaSuccess) return true;
    cudaGetLastError();
    return false;
}
void gpu_unpin(void *data) {
    cudaHostUnregister(data);
}

void gpu_block_free(gpu_block *b) {
    if (!b->data) return;
    cudaSetDevice((int)b->device);
    cudaFree(b->data);
    live[b->device % MAX_DEVICES] -= b->bytes;
    b->data = nullptr;
    b->bytes = 0;
}
