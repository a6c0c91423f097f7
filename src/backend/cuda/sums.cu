/* See sums.cuh. */
#include "sums.cuh"

#include <cub/device/device_scan.cuh>

#include "reduce.cuh"

namespace {
constexpr unsigned THREADS = 128, BLOCKS = 132 * 24;
constexpr size_t FAST_FROM = (size_t)1 << 17; /* points from which the list pays */

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
__global__ void __launch_bounds__(THREADS)
    bit_sum_kernel(xyzz<F> *partial, const affine<F> *points, uint32_t first, const uint64_t *bits, ranked_bits mask,
                   uint32_t n_words, uint32_t lo, uint32_t hi) {
    extern __shared__ uint8_t bit_sum_shared[];
    xyzz<F> acc = xyzz<F>::infinity();
    for (uint32_t w = blockIdx.x * blockDim.x + threadIdx.x; w < n_words; w += gridDim.x * blockDim.x) {
        uint64_t m = ~0ull, chosen = bits[w];
        uint32_t base = w * 64;
        if (mask.words) m = mask.words[w], base = mask.before[w];
        base += first;
        if (base >= hi || base + 64 <= lo) continue;
        for (chosen &= m; chosen; chosen &= chosen - 1) {
            uint32_t at = base + __popcll(m & ((chosen & -chosen) - 1));
            if (at >= lo && at < hi) acc.add(fetch(points + at));
        }
    }
    acc = sum_block(acc, reinterpret_cast<xyzz<F> *>(bit_sum_shared));
    if (threadIdx.x == 0) partial[blockIdx.x] = acc;
}

/* points[0 .. *count / 64 rounded up): what two reductions leave. */
template <class F>
__global__ void __launch_bounds__(THREADS)
    rest_sum_kernel(xyzz<F> *partial, const affine<F> *points, const uint32_t *count) {
    extern __shared__ uint8_t rest_sum_shared[];
    xyzz<F> acc = xyzz<F>::infinity();
    uint32_t n = *count;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        acc.add(fetch(points + i));
    acc = sum_block(acc, reinterpret_cast<xyzz<F> *>(rest_sum_shared));
    if (threadIdx.x == 0) partial[blockIdx.x] = acc;
}

template <class F>
__global__ void __launch_bounds__(THREADS) join_kernel(xyzz<F> *sum, const xyzz<F> *partial, unsigned n, bool more) {
    extern __shared__ uint8_t join_shared[];
    xyzz<F> acc = xyzz<F>::infinity();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) acc.add(partial[i]);
    acc = sum_block(acc, reinterpret_cast<xyzz<F> *>(join_shared));
    if (threadIdx.x != 0) return;
    if (more) acc.add(*sum);
    *sum = acc;
}

__global__ void chosen_kernel(uint32_t *chosen, const uint64_t *bits, const uint64_t *mask, uint32_t n_words) {
    uint32_t w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w <= n_words) chosen[w] = w == n_words ? 0 : (uint32_t)__popcll(bits[w] & (mask ? mask[w] : ~0ull));
}
__global__ void list_kernel(uint32_t *list, const uint32_t *at, uint32_t first, const uint64_t *bits, ranked_bits mask,
                            uint32_t n_words) {
    uint32_t w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= n_words) return;
    uint64_t m = ~0ull, chosen = bits[w];
    uint32_t base = w * 64, to = at[w];
    if (mask.words) m = mask.words[w], base = mask.before[w];
    for (chosen &= m; chosen; chosen &= chosen - 1) {
        uint64_t below = (chosen & -chosen) - 1;
        list[to++] = first + base + __popcll(m & below);
    }
}
/* How many are left after one and after two reductions. */
__global__ void left_kernel(uint32_t *left, const uint32_t *count) {
    left[0] = (*count + REDUCE_GROUP - 1) / REDUCE_GROUP;
    left[1] = (left[0] + REDUCE_GROUP - 1) / REDUCE_GROUP;
}

template <class F> struct parts {
    uint32_t *chosen, *at, *list, *left;
    affine<F> *once, *twice;
    xyzz<F> *partial;
    void *scratch, *temp;
    size_t temp_bytes, bytes;
};
template <class F> parts<F> lay_out(uint32_t n_words, size_t n, void *base) {
    parts<F> p;
    workspace w = {static_cast<uint8_t *>(base), 0};
    cub::DeviceScan::ExclusiveSum(nullptr, p.temp_bytes, (uint32_t *)nullptr, (uint32_t *)nullptr, n_words + 1);
    p.chosen = w.take<uint32_t>((size_t)n_words + 1);
    p.at = w.take<uint32_t>((size_t)n_words + 1);
    p.list = w.take<uint32_t>(n + REDUCE_GROUP);
    p.left = w.take<uint32_t>(2);
    p.once = w.take<affine<F>>(n / REDUCE_GROUP + 1);
    p.twice = w.take<affine<F>>(n / REDUCE_GROUP / REDUCE_GROUP + 1);
    p.partial = w.take<xyzz<F>>(BLOCKS);
    p.scratch = w.take<uint8_t>(reduce_scratch_bytes<F>(n));
    p.temp = w.take<uint8_t>(p.temp_bytes);
    p.bytes = w.used;
    return p;
}

} // namespace

template <class F> size_t bit_sum_bytes() {
    return BLOCKS * sizeof(xyzz<F>);
}

template <class F> size_t bit_sum_fast_bytes(uint32_t n_words, size_t n) {
    return lay_out<F>(n_words, n, nullptr).bytes;
}

template <class F>
cuzk_status bit_sum_enqueue(xyzz<F> *sum, const affine<F> *points, uint32_t first, const uint64_t *bits,
                            ranked_bits mask, uint32_t n_words, size_t n, void *work, size_t work_bytes,
                            cudaStream_t stream, cuzk_error *err) {
    xyzz<F> *partial = static_cast<xyzz<F> *>(work);
    size_t shared = THREADS / 2 * sizeof(xyzz<F>);
    if (n < FAST_FROM || bit_sum_fast_bytes<F>(n_words, n) > work_bytes) {
        bit_sum_kernel<F>
            <<<BLOCKS, THREADS, shared, stream>>>(partial, points, first, bits, mask, n_words, 0, UINT32_MAX);
    } else {
        parts<F> p = lay_out<F>(n_words, n, work);
        partial = p.partial;
        chosen_kernel<<<blocks_for((size_t)n_words + 1, 256), 256, 0, stream>>>(p.chosen, bits, mask.words, n_words);
        CUDA_TRY(cub::DeviceScan::ExclusiveSum(p.temp, p.temp_bytes, p.chosen, p.at, n_words + 1, stream));
        list_kernel<<<blocks_for(n_words, 256), 256, 0, stream>>>(p.list, p.at, first, bits, mask, n_words);
        left_kernel<<<1, 1, 0, stream>>>(p.left, p.at + n_words);
        cuzk_status s = reduce_enqueue<F>(p.once, points, p.list, p.at + n_words, n, p.scratch, stream, err);
        if (s != CUZK_OK) return s;
        s = reduce_enqueue<F>(p.twice, p.once, nullptr, p.left, n / REDUCE_GROUP + 1, p.scratch, stream, err);
        if (s != CUZK_OK) return s;
        rest_sum_kernel<F><<<BLOCKS, THREADS, shared, stream>>>(partial, p.twice, p.left + 1);
    }
    join_kernel<F><<<1, THREADS, shared, stream>>>(sum, partial, BLOCKS, false);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

template <class F>
cuzk_status bit_sum_range_enqueue(xyzz<F> *sum, const affine<F> *points, uint32_t first, const uint64_t *bits,
                                  ranked_bits mask, uint32_t n_words, uint32_t lo, uint32_t hi, void *work,
                                  cudaStream_t stream, cuzk_error *err) {
    xyzz<F> *partial = static_cast<xyzz<F> *>(work);
    size_t shared = THREADS / 2 * sizeof(xyzz<F>);
    bit_sum_kernel<F><<<BLOCKS, THREADS, shared, stream>>>(partial, points, first, bits, mask, n_words, lo, hi);
    join_kernel<F><<<1, THREADS, shared, stream>>>(sum, partial, BLOCKS, true);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

#define INSTANTIATE(F)                                                                                                 \
    template size_t bit_sum_bytes<F>();                                                                                \
    template size_t bit_sum_fast_bytes<F>(uint32_t, size_t);                                                           \
    template cuzk_status bit_sum_enqueue<F>(xyzz<F> *, const affine<F> *, uint32_t, const uint64_t *, ranked_bits,     \
                                            uint32_t, size_t, void *, size_t, cudaStream_t, cuzk_error *);             \
    template cuzk_status bit_sum_range_enqueue<F>(xyzz<F> *, const affine<F> *, uint32_t, const uint64_t *,            \
                                                  ranked_bits, uint32_t, uint32_t, uint32_t, void *, cudaStream_t,     \
                                                  cuzk_error *);
INSTANTIATE(fp)
INSTANTIATE(fp2)
