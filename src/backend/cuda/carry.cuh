/* Points on their way to the device: the source's threads each read a piece into a pinned buffer and send it from
 * there, so that reading and sending go on side by side, and a piece is sent while it is still in the host's caches. */
#ifndef CUZK_CUDA_CARRY_CUH
#define CUZK_CUDA_CARRY_CUH

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "device.cuh"
#include "gpu.h"

struct carrier {
    const gpu_stream *from;
    unsigned device;
    cudaStream_t stream; /* its own, or the user's */
    /* By buffer: who fills it, and when what it held has been sent. */
    std::unique_ptr<std::mutex[]> taken;
    std::vector<cudaEvent_t> sent;
    std::atomic<unsigned> turn;
};
/* Buffers of `from` are the carrier's until it is closed. */
cuzk_status carrier_open(carrier *c, const gpu_stream *from, unsigned device, cudaStream_t stream, cuzk_error *err);
void carrier_close(carrier *c); /* waits until all is sent; also after a failed carrier_open */
/* Points first .. first + n of a section to device memory. All is read and enqueued on the carrier's stream when it
 * returns OK, and nothing is enqueued any more when it returns. */
cuzk_status carrier_bring(carrier *c, gpu_section section, uint64_t first, uint64_t n, void *to, cuzk_error *err);
size_t carrier_point_bytes(gpu_section section);

#endif
