/* Fixed-base multiplication: 16 windows of 16 bits, a table of every multiple. See setup.cuh. */
#include "setup.cuh"

namespace {
constexpr unsigned WINDOWS = 16, WINDOW_BITS = 16;
constexpr size_t ENTRIES = (size_t)WINDOWS << WINDOW_BITS;
constexpr unsigned BATCH = 64; /* points a thread inverts together */

/* table[w][d] = d 2^(16 w) base, by doubling and adding. */
template <class F> __global__ void table_kernel(xyzz<F> *out, const affine<F> *base) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= ENTRIES) return;
    uint32_t w = i >> WINDOW_BITS, d = i & ((1u << WINDOW_BITS) - 1);
    xyzz<F> acc = xyzz<F>::infinity();
    for (int bit = WINDOW_BITS - 1; bit >= 0; bit--) {
        acc.dbl();
        if (d >> bit & 1) acc.add(*base);
    }
    for (uint32_t k = 0; k < w * WINDOW_BITS; k++) acc.dbl();
    out[i] = acc;
}

template <class F>
__global__ void __launch_bounds__(128)
    multiply_kernel(xyzz<F> *out, const affine<F> *table, const fr *scalars, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    fr k = scalars[i];
    xyzz<F> acc = xyzz<F>::infinity();
#pragma unroll 1
    for (unsigned w = 0; w < WINDOWS; w++) {
        uint32_t word = 0;
#pragma unroll
        for (unsigned j = 0; j < 8; j++)
            if (j == w / 2) word = k.l[j];
        uint32_t d = word >> (w % 2 * WINDOW_BITS) & ((1u << WINDOW_BITS) - 1);
        if (d) acc.add(fetch(table + ((size_t)w << WINDOW_BITS) + d));
    }
    out[i] = acc;
}

/* x = X / ZZ, y = Y / ZZZ with one inversion for BATCH points: of ZZZ, since 1 / ZZ = (ZZ / ZZZ)^2. A thread's points
 * are a grid apart, so that neighbouring threads read neighbouring points. */
template <class F>
__global__ void __launch_bounds__(128)
    normalize_kernel(affine<F> *out, const xyzz<F> *in, F *prefix, size_t n, size_t stride) {
    size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (t >= stride) return;
    F product = F::one();
    for (size_t i = t; i < n; i += stride) {
        prefix[i] = product;
        if (!in[i].is_infinity()) product = product * in[i].zzz;
    }
    F inverse = field_inv(product);
    for (size_t k = (n - t + stride - 1) / stride; k-- > 0;) {
        size_t i = t + k * stride;
        xyzz<F> p = in[i];
        if (p.is_infinity()) {
            out[i] = affine<F>::infinity();
            continue;
        }
        F zzz_inverse = inverse * prefix[i], z = p.zz * zzz_inverse;
        inverse = inverse * p.zzz;
        out[i] = {p.x * z.sqr(), p.y * zzz_inverse};
    }
}

template <class F>
cuzk_status normalize(affine<F> *out, const xyzz<F> *in, F *prefix, size_t n, cudaStream_t stream, cuzk_error *err) {
    size_t stride = (n + BATCH - 1) / BATCH;
    normalize_kernel<F><<<blocks_for(stride, 128), 128, 0, stream>>>(out, in, prefix, n, stride);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}
} // namespace

size_t fixed_base_points() {
    return ENTRIES;
}

template <class F>
cuzk_status fixed_base_table(affine<F> *table, const affine<F> *base, xyzz<F> *scratch, F *prefix, cudaStream_t stream,
                             cuzk_error *err) {
    table_kernel<F><<<blocks_for(ENTRIES, 128), 128, 0, stream>>>(scratch, base);
    return normalize<F>(table, scratch, prefix, ENTRIES, stream, err);
}

template <class F>
cuzk_status fixed_base_enqueue(affine<F> *out, const affine<F> *table, const fr *scalars, size_t n, xyzz<F> *scratch,
                               F *prefix, cudaStream_t stream, cuzk_error *err) {
    if (n == 0) return CUZK_OK;
    multiply_kernel<F><<<blocks_for(n, 128), 128, 0, stream>>>(scratch, table, scalars, n);
    return normalize<F>(out, scratch, prefix, n, stream, err);
}

#define INSTANTIATE(F)                                                                                                 \
    template cuzk_status fixed_base_table<F>(affine<F> *, const affine<F> *, xyzz<F> *, F *, cudaStream_t,             \
                                             cuzk_error *);                                                            \
    template cuzk_status fixed_base_enqueue<F>(affine<F> *, const affine<F> *, const fr *, size_t, xyzz<F> *, F *,     \
                                               cudaStream_t, cuzk_error *);
INSTANTIATE(fp)
INSTANTIATE(fp2)
