/* The transposed rows: each variable's sum of coefficient * weight over the rows it is in. See setup.cuh.
 *
 * Sums are kept as eight 64-bit counters a variable, one for each 32-bit word, so that plain atomic additions never
 * lose a carry (2^32 terms fit). ONE is in a great part of all rows: a warp adds up its share before it touches the
 * counters. */
#include "setup.cuh"

namespace {

__device__ __forceinline__ void add_to(unsigned long long *acc, const fr &x) {
#pragma unroll
    for (int j = 0; j < 8; j++)
        if (x.l[j]) atomicAdd(acc + j, (unsigned long long)x.l[j]);
}

__device__ __forceinline__ fr warp_sum(fr v) {
    for (unsigned half = 16; half > 0; half /= 2) {
        fr other;
        for (int k = 0; k < fr::N; k++) other.l[k] = __shfl_down_sync(0xffffffffu, v.l[k], half);
        v = v + other;
    }
    return v;
}

/* One term; returns what belongs to ONE. */
__device__ __forceinline__ void term(const rows_shape &s, const rows_segment &g, const rows_matrix &m, uint32_t copy,
                                     uint32_t at, const fr &weight, unsigned long long *acc, fr *one) {
    uint32_t v = m.vars[at], index = v & ~(VAR_INPUT | VAR_OWN), k;
    k = s.coeff_width == 2 ? static_cast<const uint16_t *>(m.coeffs)[at] : static_cast<const uint32_t *>(m.coeffs)[at];
    fr x = k == 0 ? weight : k == 1 ? weight.neg() : s.coeff_table[k] * weight;
    size_t place;
    if (v & VAR_INPUT) {
        if (v & VAR_OWN) index += g.first_input + copy * g.inputs;
        if (index == 0) {
            *one = *one + x;
            return;
        }
        place = index;
    } else {
        if (v & VAR_OWN)
            index += g.first_aux + copy * g.aux;
        else if (g.n_params && (v & VAR_PARAM))
            index = g.params[copy * g.n_params + (v & (VAR_PARAM - 1))];
        place = (size_t)s.n_inputs + index;
    }
    add_to(acc + 8 * place, x);
}

__global__ void __launch_bounds__(256)
    short_kernel(rows_shape s, int segment, int matrix, const fr *weights, unsigned long long *acc) {
    const rows_segment &g = s.segment[segment];
    const rows_matrix &m = g.matrix[matrix];
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    fr one = fr::zero();
    if (i < g.rows * g.copies) {
        uint32_t copy = (uint32_t)(i / g.rows), row = (uint32_t)(i % g.rows);
        uint32_t from = row ? m.row_end[row - 1] : 0, to = m.row_end[row];
        if (to - from < ROW_LONG && to > from) {
            fr weight = weights[g.first_row + i];
            for (uint32_t t = from; t < to; t++) term(s, g, m, copy, t, weight, acc, &one);
        }
    }
    one = warp_sum(one);
    if (threadIdx.x % 32 == 0) add_to(acc, one);
}

__global__ void __launch_bounds__(256)
    long_kernel(rows_shape s, int segment, int matrix, const fr *weights, unsigned long long *acc) {
    const rows_segment &g = s.segment[segment];
    const rows_matrix &m = g.matrix[matrix];
    uint64_t i = (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / 32;
    if (i >= (uint64_t)m.n_long * g.copies) return;
    uint32_t copy = (uint32_t)(i / m.n_long), row = m.long_rows[i % m.n_long];
    uint32_t from = row ? m.row_end[row - 1] : 0, to = m.row_end[row];
    fr one = fr::zero(), weight = weights[g.first_row + (uint64_t)copy * g.rows + row];
    for (uint32_t t = from + threadIdx.x % 32; t < to; t += 32) term(s, g, m, copy, t, weight, acc, &one);
    one = warp_sum(one);
    if (threadIdx.x % 32 == 0) add_to(acc, one);
}
} // namespace

cuzk_status transposed_enqueue(const rows_shape *shape, int matrix, const fr *weights, unsigned long long *acc,
                               cudaStream_t stream, cuzk_error *err) {
    for (int k = 0; k < 3; k++) {
        const rows_segment *g = &shape->segment[k];
        uint64_t rows = g->rows * g->copies, n_long = (uint64_t)g->matrix[matrix].n_long * g->copies;
        if (rows == 0) continue;
        short_kernel<<<blocks_for(rows, 256), 256, 0, stream>>>(*shape, k, matrix, weights, acc);
        if (n_long) long_kernel<<<blocks_for(n_long * 32, 256), 256, 0, stream>>>(*shape, k, matrix, weights, acc);
    }
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}
