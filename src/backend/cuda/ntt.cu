/* See ntt.cuh. */
#include "ntt.cuh"

namespace {

constexpr unsigned TILE = 2048, THREADS = TILE / 8;

/* Shared memory as two planes of 16 bytes, so that neighbouring threads meet different banks. */
struct tile {
    uint4 *lo, *hi;
    __device__ __forceinline__ void put(unsigned i, const fr &v) {
        lo[i] = make_uint4(v.l[0], v.l[1], v.l[2], v.l[3]);
        hi[i] = make_uint4(v.l[4], v.l[5], v.l[6], v.l[7]);
    }
    __device__ __forceinline__ fr get(unsigned i) const {
        uint4 a = lo[i], b = hi[i];
        return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    }
};

/* Levels of bits B+2, B+1, B of the row number, on rows (high, v, low), v = 0..7. */
template <int B, bool DIT> __device__ __forceinline__ void three_levels(fr *x, unsigned low, const fr *small) {
#pragma unroll
    for (int step = 0; step < 3; step++) {
        const int level = DIT ? 2 - step : step, half = 4 >> level, bit = B + 2 - level;
#pragma unroll
        for (int v = 0; v < 8; v++) {
            if (v & half) continue;
            const int inner = v & (half - 1);
            const bool trivial = B == 0 && inner == 0;
            fr w;
            if (!trivial) w = small[(((unsigned)inner << B) | low) << (8 - bit)];
            if (DIT) {
                fr y = trivial ? x[v + half] : x[v + half] * w;
                x[v + half] = x[v] - y;
                x[v] = x[v] + y;
            } else {
                fr d = x[v] - x[v + half];
                x[v] = x[v] + x[v + half];
                x[v + half] = trivial ? d : d * w;
            }
        }
    }
}

/* One exchange and three levels at bit B. Row of (group g, v): high bits of g above, v in the middle, low B bits below.
 */
template <int B, bool DIT>
__device__ __forceinline__ void shared_round(tile &t, unsigned columns, unsigned g, unsigned column, const fr *small) {
    unsigned low = g & ((1u << B) - 1), base = ((g >> B) << (B + 3)) | low;
    fr x[8];
#pragma unroll
    for (int v = 0; v < 8; v++) x[v] = t.get((base + ((unsigned)v << B)) * columns + column);
    three_levels<B, DIT>(x, low, small);
#pragma unroll
    for (int v = 0; v < 8; v++) t.put((base + ((unsigned)v << B)) * columns + column, x[v]);
    __syncthreads();
}

/* R levels starting at level `first` of a transform of 2^k elements. Each element is multiplied at loading: in the
 * forward transform by this pass's power, in the inverse one by that of the pass before (of `before` levels; 0: none).
 */
template <int R, bool DIT>
__global__ void __launch_bounds__(THREADS, 2)
    pass_kernel(fr *data, unsigned k, unsigned first, unsigned before, power_table root, const fr *small) {
    extern __shared__ uint4 ntt_shared[];
    tile t = {ntt_shared, ntt_shared + TILE};
    constexpr unsigned COLUMNS = TILE >> R;
    unsigned column = threadIdx.x % COLUMNS, g = threadIdx.x / COLUMNS;
    uint64_t col = (uint64_t)blockIdx.x * COLUMNS + column, stride = 1ull << (k - first - R);
    bool here = col < (1ull << (k - R));
    uint64_t lo = col & (stride - 1), high = col >> (k - first - R), base = (high << (k - first)) | lo;
    uint32_t q = 0; /* inverse: the frequency that the pass before left in this block */
    if (!DIT && before) q = __brev((uint32_t)high & ((1u << before) - 1)) >> (32 - before);
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = v * (1u << (R - 3)) + g;
        fr x = here ? data[base + row * stride] : fr::zero();
        uint64_t e = DIT ? lo * (__brev(row) >> (32 - R)) << first : (lo + row * stride) * q << (first - before);
        if (e != 0) x = x * root.at((uint32_t)e);
        t.put(row * COLUMNS + column, x);
    }
    __syncthreads();
    if (DIT) {
        shared_round<0, DIT>(t, COLUMNS, g, column, small);
        if (R >= 6) shared_round<3, DIT>(t, COLUMNS, g, column, small);
        if (R >= 9) shared_round<6, DIT>(t, COLUMNS, g, column, small);
    } else {
        if (R >= 9) shared_round<6, DIT>(t, COLUMNS, g, column, small);
        if (R >= 6) shared_round<3, DIT>(t, COLUMNS, g, column, small);
        shared_round<0, DIT>(t, COLUMNS, g, column, small);
    }
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = v * (1u << (R - 3)) + g;
        fr x = t.get(row * COLUMNS + column);
        if (here) data[base + row * stride] = x;
    }
}

/* One level: pairs at distance 2^(k - level - 1). */
template <bool DIT> __global__ void level_kernel(fr *data, unsigned k, unsigned level, power_table root) {
    uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= (1ull << (k - 1))) return;
    uint64_t half = 1ull << (k - level - 1), j = t & (half - 1), i = ((t >> (k - level - 1)) << (k - level)) | j;
    fr x = data[i], y = data[i + half], w = root.at((uint32_t)(j << level));
    if (DIT) {
        y = y * w;
        data[i] = x + y;
        data[i + half] = x - y;
    } else {
        data[i] = x + y;
        data[i + half] = (x - y) * w;
    }
}

template <int R, bool DIT>
cuzk_status pass_enqueue(fr *data, unsigned k, unsigned first, unsigned before, power_table root, const fr *small,
                         cudaStream_t stream, cuzk_error *err) {
    constexpr size_t shared = TILE * sizeof(fr);
    CUDA_TRY(cudaFuncSetAttribute(pass_kernel<R, DIT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    pass_kernel<R, DIT>
        <<<blocks_for(1ull << (k - R), TILE >> R), THREADS, shared, stream>>>(data, k, first, before, root, small);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

/* Levels [first, first + r) for r of 9, 6, 3 or 1. */
template <bool DIT>
cuzk_status levels_enqueue(fr *data, unsigned k, unsigned first, unsigned r, unsigned before, power_table root,
                           const fr *small, cudaStream_t stream, cuzk_error *err) {
    if (r == 9) return pass_enqueue<9, DIT>(data, k, first, before, root, small, stream, err);
    if (r == 6) return pass_enqueue<6, DIT>(data, k, first, before, root, small, stream, err);
    if (r == 3) return pass_enqueue<3, DIT>(data, k, first, before, root, small, stream, err);
    level_kernel<DIT><<<blocks_for(1ull << (k - 1), 256), 256, 0, stream>>>(data, k, first, root);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

/* Cuts k levels into passes: single levels first (their powers are their own affair), then from small to large. */
unsigned cut(unsigned k, unsigned *sizes) {
    unsigned n = 0;
    for (unsigned i = 0; i < k % 3; i++) sizes[n++] = 1;
    if (k / 3 % 3 != 0) sizes[n++] = k / 3 % 3 * 3;
    for (unsigned i = 0; i < k / 9; i++) sizes[n++] = 9;
    return n;
}

/* x[p] *= powers[bit-reversal of p]. */
__global__ void scale_reversed_kernel(fr *x, unsigned k, power_table powers) {
    uint64_t p = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= (1ull << k)) return;
    x[p] = x[p] * powers.at(k == 0 ? 0 : __brev((uint32_t)p) >> (32 - k));
}
__global__ void multiply_kernel(fr *a, const fr *b, uint64_t n) {
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * b[i];
}
/* h = (a * generator^-i / n - c / n) / z, canonical. a and c in bit-reversed order, h in natural order. */
__global__ void quotient_kernel(fr *h, const fr *a, const fr *c, unsigned k, power_table coset_inverse, fr n_inverse,
                                fr z_inverse) {
    uint64_t p = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= (1ull << k)) return;
    uint32_t i = k == 0 ? 0 : __brev((uint32_t)p) >> (32 - k);
    fr v = a[p] * coset_inverse.at(i) - c[p] * n_inverse;
    h[i] = (v * z_inverse).canon();
}

size_t power_elements(unsigned log2) {
    return ((size_t)1 << POWER_LOW_BITS) + ((size_t)1 << (log2 > POWER_LOW_BITS ? log2 - POWER_LOW_BITS : 0));
}

} // namespace

size_t ntt_table_elements(unsigned log2) {
    return 4 * power_elements(log2) + 512;
}

void ntt_tables_place(ntt_tables *t, unsigned log2, const fr *block) {
    size_t low = (size_t)1 << POWER_LOW_BITS, step = power_elements(log2);
    t->log2 = log2;
    power_table *tables[4] = {&t->forward, &t->inverse, &t->coset, &t->coset_inverse};
    for (int i = 0; i < 4; i++) {
        tables[i]->low = block + i * step;
        tables[i]->high = block + i * step + low;
    }
    t->small_forward = block + 4 * step;
    t->small_inverse = t->small_forward + 256;
}

cuzk_status ntt_inverse_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream, cuzk_error *err) {
    unsigned sizes[32], n = cut(t->log2, sizes), first = 0;
    for (unsigned i = 0; i < n; first += sizes[i++]) {
        unsigned before = i > 0 && sizes[i - 1] > 1 ? sizes[i - 1] : 0;
        cuzk_status s =
            levels_enqueue<false>(data, t->log2, first, sizes[i], before, t->inverse, t->small_inverse, stream, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

cuzk_status ntt_forward_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream, cuzk_error *err) {
    unsigned sizes[32], n = cut(t->log2, sizes), first = t->log2;
    for (unsigned i = n; i-- > 0;) {
        first -= sizes[i];
        cuzk_status s =
            levels_enqueue<true>(data, t->log2, first, sizes[i], 0, t->forward, t->small_forward, stream, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

cuzk_status ntt_quotient_enqueue(const ntt_tables *t, fr *a, fr *b, fr *c, cudaStream_t stream, cuzk_error *err) {
    uint64_t n = 1ull << t->log2;
    unsigned blocks = blocks_for(n, 256);
    cuzk_status s;
    fr *x[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        if ((s = ntt_inverse_enqueue(t, x[i], stream, err)) != CUZK_OK) return s;
        scale_reversed_kernel<<<blocks, 256, 0, stream>>>(x[i], t->log2, t->coset);
        if ((s = ntt_forward_enqueue(t, x[i], stream, err)) != CUZK_OK) return s;
    }
    multiply_kernel<<<blocks, 256, 0, stream>>>(a, b, n);
    if ((s = ntt_inverse_enqueue(t, a, stream, err)) != CUZK_OK) return s;
    if ((s = ntt_inverse_enqueue(t, c, stream, err)) != CUZK_OK) return s;
    quotient_kernel<<<blocks, 256, 0, stream>>>(b, a, c, t->log2, t->coset_inverse, t->n_inverse, t->z_inverse);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}
