/* See msm.cuh. */
#include "msm.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "reduce.cuh"

namespace {

constexpr unsigned SEGMENT = 256;   /* most points a thread sums */
constexpr unsigned SLICE_MOST = 64; /* buckets a thread weighs */
constexpr unsigned SPREAD = 16;     /* blocks that first share a window's slices */
constexpr unsigned JOIN_THREADS = 128;
constexpr uint32_t SIGN = REDUCE_SIGN;
constexpr size_t REDUCE_MIN = (size_t)1 << 15; /* points from which a launch of them fills a device */
constexpr size_t REDUCE_FROM = 12;             /* points a bucket has on average for affine additions to pay */

/* Limb i of the sum of 2^(c w + c - 1) over the windows. */
struct digit_bias {
    uint32_t l[10];
};
digit_bias bias_for(unsigned c, unsigned windows) {
    digit_bias b = {};
    for (unsigned w = 0; w < windows; w++) {
        unsigned bit = c * w + c - 1;
        if (bit / 32 < 10) b.l[bit / 32] |= 1u << (bit % 32);
    }
    return b;
}

/* Pairs of window group [first, first + group): at [g * n + i] bucket g * 2^(c-1) + |digit| - 1 (or `none` for digit 0)
 * and i with the sign on top. */
__global__ void digits_kernel(uint32_t *keys, uint32_t *values, const fr *scalars, size_t n, unsigned c, unsigned first,
                              unsigned group, digit_bias bias, uint32_t none) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t s[11];
    uint64_t carry = 0;
    fr k = scalars[i];
#pragma unroll
    for (int j = 0; j < 10; j++) {
        carry += (uint64_t)(j < 8 ? k.l[j < 8 ? j : 0] : 0) + bias.l[j];
        s[j] = (uint32_t)carry;
        carry >>= 32;
    }
    s[10] = 0;
    uint32_t half = 1u << (c - 1), mask = (half << 1) - 1;
    for (unsigned g = 0; g < group; g++) {
        unsigned bit = c * (first + g), word = bit / 32;
        uint32_t lo = 0, hi = 0;
#pragma unroll
        for (int j = 0; j < 10; j++) {
            if (j == (int)word) lo = s[j], hi = s[j + 1];
        }
        uint32_t raw = (uint32_t)((((uint64_t)hi << 32) | lo) >> (bit % 32)) & mask;
        int32_t digit = (int32_t)raw - (int32_t)half;
        uint32_t size = digit < 0 ? (uint32_t)-digit : (uint32_t)digit;
        keys[g * n + i] = size == 0 ? none : g * half + size - 1;
        values[g * n + i] = (uint32_t)i | (digit < 0 ? SIGN : 0);
    }
}

/* start[b] = first position of bucket b in the sorted keys, for b = 0..buckets (inclusive). */
__global__ void starts_kernel(uint32_t *start, const uint32_t *keys, size_t pairs, uint32_t buckets) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i > pairs) return;
    uint32_t here = i == pairs ? buckets : min(keys[i], buckets);
    uint32_t before = i == 0 ? 0 : min(keys[i - 1], buckets) + 1;
    for (uint32_t b = before; b <= here; b++) start[b] = (uint32_t)i;
}

/* Entries of each bucket, filled up to whole groups; their places by a scan are `filled`. */
__global__ void fill_count_kernel(uint32_t *filled, const uint32_t *start, uint32_t buckets) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b <= buckets) filled[b] = b == buckets ? 0 : (start[b + 1] - start[b] + REDUCE_GROUP - 1) & ~(REDUCE_GROUP - 1);
}
__global__ void fill_kernel(uint32_t *list, const uint32_t *keys, const uint32_t *values, const uint32_t *index,
                            const uint32_t *start, const uint32_t *filled, uint32_t buckets) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= start[buckets]) return;
    uint32_t b = keys[i], v = values[i], at = v & ~SIGN;
    if (index) at = index[at];
    list[filled[b] + i - start[b]] = at | (v & SIGN);
}
__global__ void reduced_start_kernel(uint32_t *start, const uint32_t *filled, uint32_t buckets) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b <= buckets) start[b] = filled[b] / REDUCE_GROUP;
}

__global__ void segment_count_kernel(uint32_t *segments, const uint32_t *start, uint32_t buckets) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b > buckets) return;
    segments[b] = b == buckets ? 0 : (start[b + 1] - start[b] + SEGMENT - 1) / SEGMENT;
}

/* Names each segment's bucket, and its length for ordering (longest first, so that a warp's threads work alike). */
__global__ void segment_name_kernel(uint32_t *bucket_of, uint32_t *length, uint32_t *id, const uint32_t *segment_at,
                                    const uint32_t *start, uint32_t buckets) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= buckets) return;
    uint32_t from = start[b], to = start[b + 1];
    for (uint32_t s = segment_at[b]; from < to; s++, from += SEGMENT) {
        bucket_of[s] = b;
        length[s] = min(SEGMENT, to - from);
        id[s] = s;
    }
}

template <class F>
__global__ void __launch_bounds__(128)
    accumulate_kernel(xyzz<F> *partial, const affine<F> *points, const uint32_t *index, const uint32_t *values,
                      const uint32_t *order, const uint32_t *bucket_of, const uint32_t *segment_at,
                      const uint32_t *start, const uint32_t *segments_total) {
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= *segments_total) return;
    uint32_t s = order[t], b = bucket_of[s];
    uint32_t from = start[b] + (s - segment_at[b]) * SEGMENT, to = min(start[b + 1], from + SEGMENT);
    xyzz<F> acc = xyzz<F>::infinity();
    for (uint32_t i = from; i < to; i++) {
        uint32_t v = values ? values[i] : i, at = v & ~SIGN;
        if (index) at = index[at];
        acc.add(fetch(points + at), (v & SIGN) != 0);
    }
    partial[s] = acc;
}

/* Sum of the block's values in thread 0. */
template <class F> __device__ xyzz<F> block_sum(xyzz<F> v, xyzz<F> *shared) {
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x >= half && threadIdx.x < 2 * half) shared[threadIdx.x - half] = v;
        __syncthreads();
        if (threadIdx.x < half) v.add(shared[threadIdx.x]);
        __syncthreads();
    }
    return v;
}

/* Buckets of more than one segment: joins them into the first. One block takes buckets in turn. */
template <class F>
__global__ void __launch_bounds__(JOIN_THREADS)
    join_kernel(xyzz<F> *partial, const uint32_t *segment_at, const uint32_t *large, const uint32_t *large_count) {
    extern __shared__ uint8_t join_shared[];
    xyzz<F> *shared = reinterpret_cast<xyzz<F> *>(join_shared);
    for (uint32_t k = blockIdx.x; k < *large_count; k += gridDim.x) {
        uint32_t b = large[k], from = segment_at[b], to = segment_at[b + 1];
        xyzz<F> v = xyzz<F>::infinity();
        for (uint32_t s = from + threadIdx.x; s < to; s += blockDim.x) v.add(partial[s]);
        v = block_sum(v, shared);
        if (threadIdx.x == 0) partial[from] = v;
        __syncthreads();
    }
}
__global__ void large_kernel(uint32_t *large, uint32_t *large_count, const uint32_t *segment_at, uint32_t buckets) {
    uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < buckets && segment_at[b + 1] - segment_at[b] > 1) large[atomicAdd(large_count, 1)] = b;
}

/* Slice k of a window: sum over its buckets of (weight) * bucket, weights counted from 1 at the window's start. */
template <class F>
__global__ void __launch_bounds__(128)
    slice_kernel(xyzz<F> *slices, const xyzz<F> *partial, const uint32_t *segment_at, uint32_t half, uint32_t slice,
                 uint32_t slices_per_window, uint32_t slices_total) {
    uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= slices_total) return;
    uint32_t g = t / slices_per_window, k = t % slices_per_window;
    uint32_t lo = k * slice, hi = min(half, lo + slice);
    xyzz<F> running = xyzz<F>::infinity(), weighted = xyzz<F>::infinity();
    for (uint32_t j = hi; j-- > lo;) {
        uint32_t b = g * half + j;
        if (segment_at[b + 1] > segment_at[b]) running.add(partial[segment_at[b]]);
        weighted.add(running);
    }
    /* weighted counts from 1 inside the slice; add lo times the plain sum. */
    xyzz<F> shift = xyzz<F>::infinity();
    for (int bit = 31 - __clz(lo | 1); bit >= 0; bit--) {
        shift.dbl();
        if (lo >> bit & 1) shift.add(running);
    }
    weighted.add(shift);
    slices[t] = weighted;
}

/* out[b] = sum of slices b n .. (b + 1) n. */
template <class F>
__global__ void __launch_bounds__(JOIN_THREADS)
    window_kernel(xyzz<F> *out, const xyzz<F> *slices, uint32_t slices_per_window) {
    extern __shared__ uint8_t window_shared[];
    xyzz<F> *shared = reinterpret_cast<xyzz<F> *>(window_shared);
    const xyzz<F> *mine = slices + (size_t)blockIdx.x * slices_per_window;
    xyzz<F> v = xyzz<F>::infinity();
    for (uint32_t k = threadIdx.x; k < slices_per_window; k += blockDim.x) v.add(mine[k]);
    v = block_sum(v, shared);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}

/* Bits of the largest key (the number of buckets, for zero digits). */
unsigned key_bits(unsigned c, unsigned group) {
    return 32 - (unsigned)__builtin_clz(group << (c - 1));
}

/* The parts of a window group's workspace. The list of entries for affine additions takes the place of the unsorted
 * keys, and the reduced points that of the other pairs. */
template <class F> struct parts {
    uint32_t *filled;
    affine<F> *reduced_points;
    void *reduce_scratch;
    size_t entries_max; /* filled up; 0 without affine additions */
    uint32_t *keys, *values, *keys_sorted, *values_sorted, *start, *segment_at, *bucket_of, *length, *length_sorted,
        *id, *order, *large, *large_count;
    xyzz<F> *partial, *slices;
    void *temp;
    size_t temp_bytes, bytes, segments_max;
    uint32_t half, buckets, slice, slices_per_window;
};

template <class F> parts<F> lay_out(size_t n, unsigned c, unsigned group, bool reduced, void *base) {
    parts<F> p;
    workspace w = {static_cast<uint8_t *>(base), 0};
    size_t pairs = n * group;
    p.half = 1u << (c - 1);
    p.buckets = p.half * group;
    /* Long slices are less work, short ones less waiting where buckets are few. */
    p.slice = p.buckets >> 20 ? SLICE_MOST / 2 : SLICE_MOST / 4;
    if (p.buckets >> 22) p.slice = SLICE_MOST;
    p.slices_per_window = (p.half + p.slice - 1) / p.slice;
    p.entries_max = reduced ? pairs + (size_t)p.buckets * (REDUCE_GROUP - 1) : 0;
    p.segments_max = (reduced ? p.entries_max / REDUCE_GROUP : pairs) / SEGMENT + p.buckets + 1;
    size_t sort_pairs = 0, sort_segments = 0, scan = 0;
    cub::DeviceRadixSort::SortPairs(nullptr, sort_pairs, (uint32_t *)nullptr, (uint32_t *)nullptr, (uint32_t *)nullptr,
                                    (uint32_t *)nullptr, pairs, 0, 32);
    cub::DeviceRadixSort::SortPairsDescending(nullptr, sort_segments, (uint32_t *)nullptr, (uint32_t *)nullptr,
                                              (uint32_t *)nullptr, (uint32_t *)nullptr, p.segments_max, 0, 9);
    cub::DeviceScan::ExclusiveSum(nullptr, scan, (uint32_t *)nullptr, (uint32_t *)nullptr, p.buckets + 1);
    p.temp_bytes = sort_pairs > sort_segments ? sort_pairs : sort_segments;
    if (scan > p.temp_bytes) p.temp_bytes = scan;
    p.keys = w.take<uint32_t>(reduced ? p.entries_max : pairs);
    size_t before = w.used;
    p.values = w.take<uint32_t>(pairs);
    p.keys_sorted = w.take<uint32_t>(pairs);
    p.values_sorted = w.take<uint32_t>(pairs);
    p.reduced_points = nullptr;
    if (reduced) { /* once the list is made, the sorted pairs are done with */
        size_t after = w.used;
        w.used = before;
        p.reduced_points = w.take<affine<F>>(p.entries_max / REDUCE_GROUP);
        if (after > w.used) w.used = after;
    }
    p.start = w.take<uint32_t>(p.buckets + 1);
    p.segment_at = w.take<uint32_t>(p.buckets + 1);
    p.bucket_of = w.take<uint32_t>(p.segments_max);
    p.length = w.take<uint32_t>(p.segments_max);
    p.length_sorted = w.take<uint32_t>(p.segments_max);
    p.id = w.take<uint32_t>(p.segments_max);
    p.order = w.take<uint32_t>(p.segments_max);
    p.large = w.take<uint32_t>(pairs / SEGMENT + 1);
    p.filled = reduced ? w.take<uint32_t>(p.buckets + 1) : nullptr;
    p.reduce_scratch = reduced ? w.take<uint8_t>(reduce_scratch_bytes<F>(p.entries_max)) : nullptr;
    p.large_count = w.take<uint32_t>(1);
    p.partial = w.take<xyzz<F>>(p.segments_max);
    p.slices = w.take<xyzz<F>>((size_t)p.slices_per_window * group);
    p.temp = w.take<uint8_t>(p.temp_bytes);
    p.bytes = w.used;
    return p;
}

template <class F>
cuzk_status group_enqueue(const msm_plan &plan, unsigned first, unsigned group, xyzz<F> *out, const affine<F> *points,
                          const uint32_t *index, const fr *scalars, void *work, cudaStream_t stream, cuzk_error *err) {
    parts<F> p = lay_out<F>(plan.n, plan.c, group, plan.reduced, work);
    size_t pairs = plan.n * group, temp = p.temp_bytes;
    const uint32_t *values = p.values_sorted;
    digits_kernel<<<blocks_for(plan.n, 256), 256, 0, stream>>>(p.keys, p.values, scalars, plan.n, plan.c, first, group,
                                                               bias_for(plan.c, plan.windows), p.buckets);
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(p.temp, temp, p.keys, p.keys_sorted, p.values, p.values_sorted, pairs, 0,
                                             (int)key_bits(plan.c, group), stream));
    starts_kernel<<<blocks_for(pairs + 1, 256), 256, 0, stream>>>(p.start, p.keys_sorted, pairs, p.buckets);
    if (plan.reduced) {
        fill_count_kernel<<<blocks_for(p.buckets + 1, 256), 256, 0, stream>>>(p.id, p.start, p.buckets);
        CUDA_TRY(cub::DeviceScan::ExclusiveSum(p.temp, temp, p.id, p.filled, p.buckets + 1, stream));
        uint32_t *list = p.keys;
        CUDA_TRY(cudaMemsetAsync(list, 0xff, p.entries_max * sizeof(uint32_t), stream)); /* REDUCE_NONE */
        fill_kernel<<<blocks_for(pairs, 256), 256, 0, stream>>>(list, p.keys_sorted, values, index, p.start, p.filled,
                                                                p.buckets);
        cuzk_status s = reduce_enqueue<F>(p.reduced_points, points, list, p.filled + p.buckets, p.entries_max,
                                          p.reduce_scratch, stream, err);
        if (s != CUZK_OK) return s;
        reduced_start_kernel<<<blocks_for(p.buckets + 1, 256), 256, 0, stream>>>(p.start, p.filled, p.buckets);
        points = p.reduced_points, values = index = nullptr;
    }
    segment_count_kernel<<<blocks_for(p.buckets + 1, 256), 256, 0, stream>>>(p.id, p.start, p.buckets);
    temp = p.temp_bytes;
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(p.temp, temp, p.id, p.segment_at, p.buckets + 1, stream));
    CUDA_TRY(cudaMemsetAsync(p.length, 0, p.segments_max * sizeof(uint32_t), stream));
    segment_name_kernel<<<blocks_for(p.buckets, 256), 256, 0, stream>>>(p.bucket_of, p.length, p.id, p.segment_at,
                                                                        p.start, p.buckets);
    temp = p.temp_bytes;
    CUDA_TRY(cub::DeviceRadixSort::SortPairsDescending(p.temp, temp, p.length, p.length_sorted, p.id, p.order,
                                                       p.segments_max, 0, 9, stream));
    accumulate_kernel<F><<<blocks_for(p.segments_max, 128), 128, 0, stream>>>(
        p.partial, points, index, values, p.order, p.bucket_of, p.segment_at, p.start, p.segment_at + p.buckets);
    CUDA_TRY(cudaMemsetAsync(p.large_count, 0, sizeof(uint32_t), stream));
    large_kernel<<<blocks_for(p.buckets, 256), 256, 0, stream>>>(p.large, p.large_count, p.segment_at, p.buckets);
    size_t shared = JOIN_THREADS / 2 * sizeof(xyzz<F>);
    join_kernel<F><<<1024, JOIN_THREADS, shared, stream>>>(p.partial, p.segment_at, p.large, p.large_count);
    uint32_t slices = p.slices_per_window * group;
    slice_kernel<F><<<blocks_for(slices, 128), 128, 0, stream>>>(p.slices, p.partial, p.segment_at, p.half, p.slice,
                                                                 p.slices_per_window, slices);
    const xyzz<F> *sums = p.slices;
    uint32_t each = p.slices_per_window;
    if (each > 4 * SPREAD) { /* the bucket sums are done with: their place is free */
        window_kernel<F><<<group * SPREAD, JOIN_THREADS, shared, stream>>>(p.partial, sums, each / SPREAD);
        sums = p.partial, each = SPREAD;
    }
    window_kernel<F><<<group, JOIN_THREADS, shared, stream>>>(out + first, sums, each);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

} // namespace

template <class F> msm_plan msm_plan_for(size_t n, size_t budget) {
    msm_plan best = {};
    double best_cost = 0;
    for (unsigned c = 4; c <= 22; c++) {
        unsigned windows = (257 + c - 1) / c;
        double half = (double)(1u << (c - 1));
        for (int reduced = 0; reduced < 2; reduced++) {
            if (reduced && (n < REDUCE_MIN || n / (size_t)half < REDUCE_FROM)) continue;
            /* In XYZZ additions: one a point and window (or two thirds by affine ones, and the rest of each bucket's
             * groups), two and a half a bucket, and what a launch sequence takes meanwhile. */
            double points = reduced ? 0.62 * ((double)n + 3.5 * half) + ((double)n / 8 + half / 2) : (double)n;
            double cost = (double)windows * (points + 3.0 * half + (reduced ? 100000.0 : 20000.0));
            size_t one = lay_out<F>(n, c, 1, reduced, nullptr).bytes;
            if (one > budget && best.c) continue;
            if (!best.c || best.bytes > budget || cost < best_cost)
                best = {n, c, windows, 1, reduced != 0, one}, best_cost = cost;
        }
    }
    /* More windows at once save launches, but no more than keep the sort's number of 8-bit passes. */
    unsigned bits = key_bits(best.c, 1), most = best.n >= ((size_t)1 << 22) ? (bits + 7) / 8 * 8 : 32;
    for (unsigned g = 2; g <= best.windows; g++) {
        parts<F> p = lay_out<F>(n, best.c, g, best.reduced, nullptr);
        if (p.bytes > budget || n * g >= (1ull << 31) || key_bits(best.c, g) > most) break;
        best.group = g;
        best.bytes = p.bytes;
    }
    return best;
}

template <class F>
cuzk_status msm_enqueue(const msm_plan &plan, xyzz<F> *window_sums, const affine<F> *points, const uint32_t *index,
                        const fr *scalars_canon, void *work, cudaStream_t stream, cuzk_error *err) {
    if (plan.n == 0) {
        CUDA_TRY(cudaMemsetAsync(window_sums, 0, plan.windows * sizeof(xyzz<F>), stream));
        return CUZK_OK;
    }
    for (unsigned first = 0; first < plan.windows; first += plan.group) {
        unsigned group = plan.windows - first < plan.group ? plan.windows - first : plan.group;
        cuzk_status s =
            group_enqueue<F>(plan, first, group, window_sums, points, index, scalars_canon, work, stream, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

#define INSTANTIATE(F)                                                                                                 \
    template msm_plan msm_plan_for<F>(size_t, size_t);                                                                 \
    template cuzk_status msm_enqueue<F>(const msm_plan &, xyzz<F> *, const affine<F> *, const uint32_t *, const fr *,  \
                                        void *, cudaStream_t, cuzk_error *);
INSTANTIATE(fp)
INSTANTIATE(fp2)
