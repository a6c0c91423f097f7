/* See ntt.cuh. */
#include "ntt.cuh"

namespace {

constexpr unsigned TILE = 2048, THREADS = TILE / 8;

/* Shared memory as two planes of 16 bytes, so that neighbouring threads meet different banks. */
struct tile {
    uint4 *lo, *hi;
    __device__ __forceinline__ void put(unsigned i, const fr &v) const {
        lo[i] = make_uint4(v.l[0], v.l[1], v.l[2], v.l[3]);
        hi[i] = make_uint4(v.l[4], v.l[5], v.l[6], v.l[7]);
    }
    __device__ __forceinline__ fr get(unsigned i) const {
        uint4 a = lo[i], b = hi[i];
        return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    }
};

/* Rows of thread group g in the three levels at bit b: high bits of g above, v in the middle, low b bits below. */
__device__ __forceinline__ unsigned row_of(unsigned b, unsigned g, unsigned v) {
    return ((g >> b) << (b + 3)) | (v << b) | (g & ((1u << b) - 1));
}

/* Levels of bits b+2, b+1, b of the row number, on rows (high, v, low), v = 0..7. LOWEST: b is 0, where seven of the
 * twelve roots are 1. */
template <bool LOWEST, bool DIT>
__device__ __forceinline__ void three_levels(fr *x, unsigned b, unsigned low, const fr *small) {
#pragma unroll
    for (int step = 0; step < 3; step++) {
        const int level = DIT ? 2 - step : step, half = 4 >> level;
#pragma unroll
        for (int v = 0; v < 8; v++) {
            if (v & half) continue;
            const int inner = v & (half - 1);
            const bool trivial = LOWEST && inner == 0;
            fr w;
            if (!trivial) w = fetch(small + ((((unsigned)inner << b) | low) << (6 + level - b)));
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

/* One exchange and three levels at bit b. */
template <bool LOWEST, bool DIT>
__device__ __forceinline__ void shared_round(const tile &t, unsigned b, unsigned columns, unsigned g, unsigned column,
                                             const fr *small) {
    fr x[8];
#pragma unroll
    for (int v = 0; v < 8; v++) x[v] = t.get(row_of(b, g, (unsigned)v) * columns + column);
    three_levels<LOWEST, DIT>(x, b, g & ((1u << b) - 1), small);
#pragma unroll
    for (int v = 0; v < 8; v++) t.put(row_of(b, g, (unsigned)v) * columns + column, x[v]);
    __syncthreads();
}
/* All r levels on the block's columns. The rounds share their code where they can: a kernel with a copy for each does
 * not fit the instruction cache, and is half as fast. */
__device__ __forceinline__ void inverse_levels(const tile &t, unsigned r, unsigned columns, unsigned g, unsigned column,
                                               const fr *small) {
#pragma unroll 1
    for (unsigned b = r - 3; b > 0; b -= 3) shared_round<false, false>(t, b, columns, g, column, small);
    shared_round<true, false>(t, 0, columns, g, column, small);
}
__device__ __forceinline__ void forward_levels(const tile &t, unsigned r, unsigned columns, unsigned g, unsigned column,
                                               const fr *small) {
    shared_round<true, true>(t, 0, columns, g, column, small);
#pragma unroll 1
    for (unsigned b = 3; b < r; b += 3) shared_round<false, true>(t, b, columns, g, column, small);
}

/* Powers of one order by exponent: from one table, or as products of two entries. */
struct twiddles {
    power_table two;
    const fr *one; /* NULL: two */
    unsigned two_shift, one_shift;
    __device__ __forceinline__ fr at(uint64_t e) const {
        return one ? fetch(one + (e << one_shift)) : two.at((uint32_t)(e << two_shift));
    }
};

__device__ __forceinline__ unsigned reversed(unsigned x, unsigned bits) {
    return bits == 0 ? 0 : __brev(x) >> (32 - bits);
}

/* r levels (9, 6 or 3) starting at level `first` of a transform of 2^k elements. Each element is multiplied at loading:
 * in the forward transform by this pass's power, in the inverse one by that of the pass before (of `before` levels; 0:
 * none). by: not NULL: what is stored is multiplied by its element there. */
template <bool DIT>
__global__ void __launch_bounds__(THREADS, 2)
    pass_kernel(fr *data, const fr *by, unsigned r, unsigned k, unsigned first, unsigned before, twiddles root,
                const fr *small) {
    extern __shared__ uint4 ntt_shared[];
    tile t = {ntt_shared, ntt_shared + TILE};
    const unsigned columns = TILE >> r, column = threadIdx.x & (columns - 1), g = threadIdx.x / columns;
    uint64_t col = (uint64_t)blockIdx.x * columns + column, stride = 1ull << (k - first - r);
    bool here = col < (1ull << (k - r));
    uint64_t lo = col & (stride - 1), high = col >> (k - first - r), base = (high << (k - first)) | lo;
    uint32_t q = 0; /* inverse: the frequency that the pass before left in this block */
    if (!DIT && before) q = reversed((uint32_t)high & ((1u << before) - 1), before);
#pragma unroll 1
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = (v << (r - 3)) + g;
        fr x = here ? fetch(data + base + row * stride) : fr::zero();
        uint64_t e = DIT ? lo * reversed(row, r) : (lo + row * stride) * q;
        if (e != 0) x = x * root.at(e);
        t.put(row * columns + column, x);
    }
    __syncthreads();
    if (DIT)
        forward_levels(t, r, columns, g, column, small);
    else
        inverse_levels(t, r, columns, g, column, small);
    if (!here) return;
#pragma unroll 1
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = (v << (r - 3)) + g;
        uint64_t at = base + row * stride;
        fr x = t.get(row * columns + column);
        data[at] = by ? x * fetch(by + at) : x;
    }
}

constexpr unsigned ROWS = NTT_ROWS_LOG2, COLUMNS = TILE >> ROWS;
/* Loads a column of 2^ROWS neighbours for the last pass of an inverse transform. */
__device__ __forceinline__ void load_last(const tile &t, const fr *from, unsigned g, unsigned column, bool here,
                                          uint32_t q, const twiddles &root) {
#pragma unroll 1
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = (v << (ROWS - 3)) + g;
        fr x = here ? fetch(from + row) : fr::zero();
        uint64_t e = (uint64_t)row * q;
        if (e != 0) x = x * root.at(e);
        t.put(row * COLUMNS + column, x);
    }
    __syncthreads();
}

/* The last pass of an inverse transform, coefficient i times generator^i / n, and the first of a forward one. */
__global__ void __launch_bounds__(THREADS, 2)
    coset_kernel(fr *data, unsigned k, unsigned before, twiddles root, power_table coset, const fr *coset_row,
                 const fr *small_inverse, const fr *small_forward) {
    extern __shared__ uint4 ntt_shared[];
    tile t = {ntt_shared, ntt_shared + TILE};
    unsigned column = threadIdx.x % COLUMNS, g = threadIdx.x / COLUMNS, col = blockIdx.x * COLUMNS + column;
    bool here = col < (1u << (k - ROWS));
    uint32_t q = before ? reversed(col & ((1u << before) - 1), before) : 0;
    fr *mine = data + ((uint64_t)col << ROWS);
    load_last(t, mine, g, column, here, q, root);
    inverse_levels(t, ROWS, COLUMNS, g, column, small_inverse);
    fr shift = coset.at(here ? reversed(col, k - ROWS) : 0);
#pragma unroll 1
    for (unsigned v = 0; v < 8; v++) { /* the rows of the next round: no other thread's */
        unsigned row = row_of(0, g, v), at = row * COLUMNS + column;
        t.put(at, t.get(at) * (shift * fetch(coset_row + row)));
    }
    forward_levels(t, ROWS, COLUMNS, g, column, small_forward);
    if (!here) return;
#pragma unroll 1
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = (v << (ROWS - 3)) + g;
        mine[row] = t.get(row * COLUMNS + column);
    }
}

/* The last pass of a's inverse transform, and h[i] = (a_i generator^-i - c_i) / (n z), canonical and in natural order.
 * Blocks take columns whose coefficients are neighbours. */
__global__ void __launch_bounds__(THREADS, 2)
    last_kernel(fr *h, const fr *a, const fr *c, unsigned k, unsigned before, twiddles root, power_table out,
                const fr *out_c, const fr *small_inverse) {
    extern __shared__ uint4 ntt_shared[];
    tile t = {ntt_shared, ntt_shared + TILE};
    unsigned column = threadIdx.x % COLUMNS, g = threadIdx.x / COLUMNS, low = blockIdx.x * COLUMNS + column;
    bool here = low < (1u << (k - ROWS));
    unsigned col = here ? reversed(low, k - ROWS) : 0;
    uint32_t q = before ? reversed(col & ((1u << before) - 1), before) : 0;
    uint64_t base = (uint64_t)col << ROWS;
    load_last(t, a + base, g, column, here, q, root);
    inverse_levels(t, ROWS, COLUMNS, g, column, small_inverse);
    if (!here) return;
    fr scale_c = fetch(out_c);
#pragma unroll 1
    for (unsigned v = 0; v < 8; v++) {
        unsigned row = (v << (ROWS - 3)) + g;
        uint32_t i = reversed(row, ROWS) << (k - ROWS) | low;
        h[i] = t.get(row * COLUMNS + column) * out.at(i) - fetch(c + base + row) * scale_c;
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

constexpr size_t SHARED = TILE * sizeof(fr);
unsigned tiles(unsigned k, unsigned r) {
    return blocks_for(1ull << (k - r), TILE >> r);
}

/* The powers by which a pass of levels from `first` on multiplies at loading. */
template <bool DIT> twiddles twiddles_of(const ntt_tables *t, unsigned first, unsigned before) {
    unsigned order = t->log2 - first + (DIT ? 0 : before);
    unsigned table = t->log2 < ROOT_TABLE_BITS ? t->log2 : ROOT_TABLE_BITS;
    twiddles w = {DIT ? t->forward : t->inverse, nullptr, t->log2 - order, 0};
    if (order <= table) w.one = DIT ? t->forward_one : t->inverse_one, w.one_shift = table - order;
    return w;
}

/* Levels [first, first + r) for r of 9, 6, 3 or 1. */
template <bool DIT>
cuzk_status levels_enqueue(const ntt_tables *t, fr *data, const fr *by, unsigned first, unsigned r, unsigned before,
                           cudaStream_t stream, cuzk_error *err) {
    const fr *small = DIT ? t->small_forward : t->small_inverse;
    unsigned k = t->log2;
    twiddles w = twiddles_of<DIT>(t, first, before);
    if (r > 1) {
        CUDA_TRY(cudaFuncSetAttribute(pass_kernel<DIT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)SHARED));
        pass_kernel<DIT><<<tiles(k, r), THREADS, SHARED, stream>>>(data, by, r, k, first, before, w, small);
        CUDA_TRY(cudaGetLastError());
        return CUZK_OK;
    }
    level_kernel<DIT><<<blocks_for(1ull << (k - 1), 256), 256, 0, stream>>>(data, k, first, w.two);
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
size_t root_elements(unsigned log2) {
    return (size_t)1 << (log2 < ROOT_TABLE_BITS ? log2 : ROOT_TABLE_BITS);
}

__global__ void roots_kernel(fr *out, power_table powers, unsigned shift, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = powers.at(i << shift);
}
/* coset: generator^i / n, so doubled k times. */
__global__ void coset_rows_kernel(fr *out, power_table coset, unsigned k) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (1u << ROWS) || k < ROWS) return;
    fr x = coset.at(reversed(i, ROWS) << (k - ROWS));
    for (unsigned j = 0; j < k; j++) x = x.dbl();
    out[i] = x;
}
__global__ void out_kernel(fr *out, fr *out_c, const fr *low, fr n_inverse, fr z_inverse) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (1u << POWER_LOW_BITS)) out[i] = (low[i] * z_inverse).canon();
    if (i == 0) *out_c = (n_inverse * z_inverse).canon();
}
/* One step of an inverse or forward transform after the passes `from` and before pass `to`. */
template <bool DIT>
cuzk_status passes_enqueue(const ntt_tables *t, fr *data, const fr *by, unsigned from, unsigned to, cudaStream_t stream,
                           cuzk_error *err) {
    unsigned sizes[32], n = cut(t->log2, sizes), at[33] = {0};
    for (unsigned i = 0; i < n; i++) at[i + 1] = at[i] + sizes[i];
    for (unsigned j = from; j < to; j++) {
        unsigned i = DIT ? n - 1 - j : j, before = !DIT && i > 0 && sizes[i - 1] > 1 ? sizes[i - 1] : 0;
        cuzk_status s = levels_enqueue<DIT>(t, data, j + 1 == to ? by : nullptr, at[i], sizes[i], before, stream, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

/* With the fused kernels: the last pass of an inverse transform has nine levels. */
cuzk_status quotient_fused(const ntt_tables *t, fr *a, fr *b, fr *c, cudaStream_t stream, cuzk_error *err) {
    unsigned sizes[32], k = t->log2, n = cut(k, sizes), before = n > 1 && sizes[n - 2] > 1 ? sizes[n - 2] : 0;
    bool fuse_product = sizes[0] > 1 && n > 1; /* the last forward pass is no single level, and not the fused one */
    twiddles w = twiddles_of<false>(t, k - ROWS, before);
    cuzk_status s;
    CUDA_TRY(cudaFuncSetAttribute(coset_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)SHARED));
    CUDA_TRY(cudaFuncSetAttribute(last_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)SHARED));
    fr *x[2] = {b, a};
    for (int i = 0; i < 2; i++) {
        if ((s = passes_enqueue<false>(t, x[i], nullptr, 0, n - 1, stream, err)) != CUZK_OK) return s;
        coset_kernel<<<tiles(k, ROWS), THREADS, SHARED, stream>>>(x[i], k, before, w, t->coset, t->coset_row,
                                                                  t->small_inverse, t->small_forward);
        const fr *by = i == 1 && fuse_product ? b : nullptr;
        if ((s = passes_enqueue<true>(t, x[i], by, 1, n, stream, err)) != CUZK_OK) return s;
    }
    if (!fuse_product) multiply_kernel<<<blocks_for(1ull << k, 256), 256, 0, stream>>>(a, b, 1ull << k);
    if ((s = passes_enqueue<false>(t, c, nullptr, 0, n, stream, err)) != CUZK_OK) return s;
    if ((s = passes_enqueue<false>(t, a, nullptr, 0, n - 1, stream, err)) != CUZK_OK) return s;
    last_kernel<<<tiles(k, ROWS), THREADS, SHARED, stream>>>(b, a, c, k, before, w, t->out, t->out_c, t->small_inverse);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

} // namespace

size_t ntt_table_elements(unsigned log2) {
    return 4 * power_elements(log2) + 512;
}
size_t ntt_made_elements(unsigned log2) {
    return 2 * root_elements(log2) + ((size_t)1 << ROWS) + ((size_t)1 << POWER_LOW_BITS) + 2;
}

void ntt_tables_place(ntt_tables *t, unsigned log2, const fr *block, fr *made) {
    size_t low = (size_t)1 << POWER_LOW_BITS, step = power_elements(log2);
    t->log2 = log2;
    power_table *tables[4] = {&t->forward, &t->inverse, &t->coset, &t->coset_inverse};
    for (int i = 0; i < 4; i++) {
        tables[i]->low = block + i * step;
        tables[i]->high = block + i * step + low;
    }
    t->small_forward = block + 4 * step;
    t->small_inverse = t->small_forward + 256;
    t->forward_one = made;
    t->inverse_one = made + root_elements(log2);
    t->coset_row = made + 2 * root_elements(log2);
    t->out.low = t->coset_row + ((size_t)1 << ROWS);
    t->out.high = t->coset_inverse.high;
    t->out_c = const_cast<fr *>(t->out.low) + low;
}

cuzk_status ntt_tables_make(const ntt_tables *t, cudaStream_t stream, cuzk_error *err) {
    uint32_t n = (uint32_t)root_elements(t->log2), low = 1u << POWER_LOW_BITS;
    unsigned shift = t->log2 < ROOT_TABLE_BITS ? 0 : t->log2 - ROOT_TABLE_BITS;
    roots_kernel<<<blocks_for(n, 256), 256, 0, stream>>>(const_cast<fr *>(t->forward_one), t->forward, shift, n);
    roots_kernel<<<blocks_for(n, 256), 256, 0, stream>>>(const_cast<fr *>(t->inverse_one), t->inverse, shift, n);
    coset_rows_kernel<<<1, 1u << ROWS, 0, stream>>>(const_cast<fr *>(t->coset_row), t->coset, t->log2);
    out_kernel<<<blocks_for(low, 256), 256, 0, stream>>>(const_cast<fr *>(t->out.low), t->out_c, t->coset_inverse.low,
                                                         t->n_inverse, t->z_inverse);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

cuzk_status ntt_inverse_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream, cuzk_error *err) {
    unsigned sizes[32], n = cut(t->log2, sizes);
    return passes_enqueue<false>(t, data, nullptr, 0, n, stream, err);
}

cuzk_status ntt_forward_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream, cuzk_error *err) {
    unsigned sizes[32], n = cut(t->log2, sizes);
    return passes_enqueue<true>(t, data, nullptr, 0, n, stream, err);
}

cuzk_status ntt_quotient_enqueue(const ntt_tables *t, fr *a, fr *b, fr *c, cudaStream_t stream, cuzk_error *err) {
    if (t->log2 >= NTT_ROWS_LOG2) return quotient_fused(t, a, b, c, stream, err);
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
