/* See rows.cuh. */
#include "rows.cuh"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace {

__device__ __forceinline__ fr term(const rows_shape &s, const rows_segment &g, const rows_matrix &m,
                                   const rows_witness &w, uint32_t copy, uint32_t at, bool *none) {
    uint32_t v = m.vars[at];
    uint32_t index = v & ~(VAR_INPUT | VAR_OWN);
    *none = false;
    fr x;
    if (v & VAR_INPUT) {
        if (v & VAR_OWN) index += g.first_input + copy * g.inputs;
        x = w.inputs[index];
    } else {
        if (v & VAR_OWN)
            index += g.first_aux + copy * g.aux;
        else if (g.n_params && (v & VAR_PARAM))
            index = g.params[copy * g.n_params + (v & (VAR_PARAM - 1))];
        if (!s.is_field.get(index)) {
            *none = !(w.bits[index / 64] >> (index % 64) & 1);
            if (*none) return x;
        } else {
            x = w.fields[s.is_field.rank(index)];
        }
    }
    uint32_t k =
        s.coeff_width == 2 ? static_cast<const uint16_t *>(m.coeffs)[at] : static_cast<const uint32_t *>(m.coeffs)[at];
    fr coeff = s.coeff_table[k];
    if (!(v & VAR_INPUT) && !s.is_field.get(index)) return coeff;
    if (v & VAR_INPUT ? index == 0 : false) return coeff; /* ONE */
    if (k == 0) return x;
    if (k == 1) return x.neg();
    return coeff * x;
}

__global__ void __launch_bounds__(256)
    short_rows_kernel(rows_shape s, int segment, int matrix, rows_witness w, fr *out) {
    const rows_segment &g = s.segment[segment];
    const rows_matrix &m = g.matrix[matrix];
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i >= g.rows * g.copies) return;
    uint32_t copy = (uint32_t)(i / g.rows), row = (uint32_t)(i % g.rows);
    uint32_t from = row ? m.row_end[row - 1] : 0, to = m.row_end[row];
    if (to - from >= ROW_LONG) return;
    fr sum = fr::zero();
    for (uint32_t t = from; t < to; t++) {
        bool none;
        fr x = term(s, g, m, w, copy, t, &none);
        if (!none) sum = sum + x;
    }
    out[g.first_row + i] = sum;
}

__global__ void __launch_bounds__(256)
    long_rows_kernel(rows_shape s, int segment, int matrix, rows_witness w, fr *out) {
    const rows_segment &g = s.segment[segment];
    const rows_matrix &m = g.matrix[matrix];
    uint64_t i = (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / 32;
    unsigned lane = threadIdx.x % 32;
    if (i >= (uint64_t)m.n_long * g.copies) return;
    uint32_t copy = (uint32_t)(i / m.n_long), row = m.long_rows[i % m.n_long];
    uint32_t from = row ? m.row_end[row - 1] : 0, to = m.row_end[row];
    fr sum = fr::zero();
    for (uint32_t t = from + lane; t < to; t += 32) {
        bool none;
        fr x = term(s, g, m, w, copy, t, &none);
        if (!none) sum = sum + x;
    }
    for (unsigned half = 16; half > 0; half /= 2) {
        fr other;
        for (int k = 0; k < fr::N; k++) other.l[k] = __shfl_down_sync(0xffffffffu, sum.l[k], half);
        sum = sum + other;
    }
    if (lane == 0) out[g.first_row + (uint64_t)copy * g.rows + row] = sum;
}

__global__ void tail_rows_kernel(fr *out, const fr *inputs, uint64_t constraints, uint32_t n_inputs, uint64_t n,
                                 bool is_a) {
    uint64_t i = constraints + blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = is_a && i - constraints < n_inputs ? inputs[i - constraints] : fr::zero();
}

__global__ void check_kernel(const fr *a, const fr *b, const fr *c, uint64_t n, unsigned long long *first_bad) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < n && !(a[i] * b[i] == c[i])) atomicMin(first_bad, (unsigned long long)i);
}

struct popcount {
    __device__ uint32_t operator()(uint64_t w) const { return (uint32_t)__popcll(w); }
};

} // namespace

cuzk_status rows_enqueue(const rows_shape *shape, int matrix, const rows_witness *w, fr *out, unsigned log2,
                         cudaStream_t stream, cuzk_error *err) {
    for (int k = 0; k < 3; k++) {
        const rows_segment *g = &shape->segment[k];
        uint64_t rows = g->rows * g->copies;
        if (rows == 0) continue;
        short_rows_kernel<<<blocks_for(rows, 256), 256, 0, stream>>>(*shape, k, matrix, *w, out);
        uint64_t n_long = (uint64_t)g->matrix[matrix].n_long * g->copies;
        if (n_long) long_rows_kernel<<<blocks_for(n_long * 32, 256), 256, 0, stream>>>(*shape, k, matrix, *w, out);
    }
    uint64_t n = 1ull << log2, rest = n - shape->constraints;
    if (rest)
        tail_rows_kernel<<<blocks_for(rest, 256), 256, 0, stream>>>(out, w->inputs, shape->constraints, shape->n_inputs,
                                                                    n, matrix == 0);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

cuzk_status rows_check_enqueue(const fr *a, const fr *b, const fr *c, uint64_t n, unsigned long long *first_bad,
                               cudaStream_t stream, cuzk_error *err) {
    CUDA_TRY(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, stream));
    check_kernel<<<blocks_for(n, 256), 256, 0, stream>>>(a, b, c, n, first_bad);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

size_t ranked_bits_temp_bytes(uint32_t n_words) {
    size_t bytes = 0;
    auto counts = thrust::make_transform_iterator((const uint64_t *)nullptr, popcount());
    cub::DeviceScan::ExclusiveSum(nullptr, bytes, counts, (uint32_t *)nullptr, n_words);
    return bytes;
}

cuzk_status ranked_bits_enqueue(const uint64_t *words, uint32_t *before, uint32_t n_words, void *temp,
                                size_t temp_bytes, cudaStream_t stream, cuzk_error *err) {
    auto counts = thrust::make_transform_iterator(words, popcount());
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(temp, temp_bytes, counts, before, n_words, stream));
    return CUZK_OK;
}
