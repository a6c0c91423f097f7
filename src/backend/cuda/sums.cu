/* See sums.cuh. */
#include "sums.cuh"

namespace {
constexpr unsigned THREADS = 128, BLOCKS = 132 * 24;

template <class F> __device__ xyzz<F> sum_block(xyzz<F> v, xyzz<F> *shared) {
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x >= half && threadIdx.x < 2 * half) shared[threadIdx.x - half] = v;
        __syncthreads();
        if (threadIdx.x < half) v.add(shared[threadIdx.x]);
        __syncthreads();
    }
    return v;
}

template <class F>
__global__ void __launch_bounds__(THREADS) bit_sum_kernel(xyzz<F> *partial, const affine<F> *points, uint32_t first,
                                                          const uint64_t *bits, ranked_bits mask, uint32_t n_words) {
    extern __shared__ uint8_t bit_sum_shared[];
    xyzz<F> acc = xyzz<F>::infinity();
    for (uint32_t w = blockIdx.x * blockDim.x + threadIdx.x; w < n_words; w += gridDim.x * blockDim.x) {
        uint64_t m = ~0ull, chosen = bits[w];
        uint32_t base = w * 64;
        if (mask.words) m = mask.words[w], base = mask.before[w];
        for (chosen &= m; chosen; chosen &= chosen - 1) {
            uint64_t below = (chosen & -chosen) - 1;
            acc.add(points[first + base + __popcll(m & below)]);
        }
    }
    acc = sum_block(acc, reinterpret_cast<xyzz<F> *>(bit_sum_shared));
    if (threadIdx.x == 0) partial[blockIdx.x] = acc;
}

template <class F>
__global__ void __launch_bounds__(THREADS) join_kernel(xyzz<F> *sum, const xyzz<F> *partial, unsigned n) {
    extern __shared__ uint8_t join_shared[];
    xyzz<F> acc = xyzz<F>::infinity();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) acc.add(partial[i]);
    acc = sum_block(acc, reinterpret_cast<xyzz<F> *>(join_shared));
    if (threadIdx.x == 0) *sum = acc;
}
} // namespace

template <class F> size_t bit_sum_bytes() {
    return BLOCKS * sizeof(xyzz<F>);
}

template <class F>
cuzk_status bit_sum_enqueue(xyzz<F> *sum, const affine<F> *points, uint32_t first, const uint64_t *bits,
                            ranked_bits mask, uint32_t n_words, void *work, cudaStream_t stream, cuzk_error *err) {
    xyzz<F> *partial = static_cast<xyzz<F> *>(work);
    size_t shared = THREADS / 2 * sizeof(xyzz<F>);
    bit_sum_kernel<F><<<BLOCKS, THREADS, shared, stream>>>(partial, points, first, bits, mask, n_words);
    join_kernel<F><<<1, THREADS, shared, stream>>>(sum, partial, BLOCKS);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

#define INSTANTIATE(F)                                                                                                 \
    template size_t bit_sum_bytes<F>();                                                                                \
    template cuzk_status bit_sum_enqueue<F>(xyzz<F> *, const affine<F> *, uint32_t, const uint64_t *, ranked_bits,     \
                                            uint32_t, void *, cudaStream_t, cuzk_error *);
INSTANTIATE(fp)
INSTANTIATE(fp2)
