/* Development keys made on the device: the Lagrange basis at tau, the transposed rows against it, and fixed-base
 * multiplication, straight into a key in device memory. Source: docs/math/groth16.md; the same points as the CPU's key
 * for the same trapdoor. */
#ifndef CUZK_CUDA_SETUP_CUH
#define CUZK_CUDA_SETUP_CUH

#include "gpu.cuh"

/* out[i] = scalars[i] * base for n canonical scalars, n ≤ FIXED_CHUNK. The table has fixed_base_points() points. */
#define FIXED_CHUNK ((size_t)1 << 22)
size_t fixed_base_points();
template <class F>
cuzk_status fixed_base_table(affine<F> *table, const affine<F> *base, xyzz<F> *scratch, F *prefix, cudaStream_t stream,
                             cuzk_error *err);
template <class F>
cuzk_status fixed_base_enqueue(affine<F> *out, const affine<F> *table, const fr *scalars, size_t n,
                               xyzz<F> *scratch /* n */, F *prefix /* n */, cudaStream_t stream, cuzk_error *err);

/* acc: n_inputs + n_aux variables of 8 words of 64 bits, zero before; adds coefficient * weights[row] for each term of
 * a matrix. */
cuzk_status transposed_enqueue(const rows_shape *shape, int matrix, const fr *weights, unsigned long long *acc,
                               cudaStream_t stream, cuzk_error *err);

#endif
