/* Number-theoretic transforms on the device, and the Groth16 quotient.
 *
 * Two transforms: the inverse from natural to bit-reversed order (decimation in frequency) and the forward from
 * bit-reversed to natural order (decimation in time), so that no pass only permutes. A pass takes 9 (or 6, or 3) levels
 * at once: a block holds 2048 elements in shared memory, a thread 8 in registers, three levels between exchanges.
 * Inside a pass only roots of order up to 512 occur; between passes each element is multiplied by one power of the
 * domain's root, taken as the product of two table entries. Levels left over are done one at a time. Source: four-step
 * decomposition (Bailey 1990).
 */
#ifndef CUZK_CUDA_NTT_CUH
#define CUZK_CUDA_NTT_CUH

#include "device.cuh"
#include "field.cuh"

#define POWER_LOW_BITS 14u

/* x^e for e < 2^k by two tables: low[e mod 2^14] * high[e / 2^14]. */
struct power_table {
    const fr *low, *high;
    __device__ __forceinline__ fr at(uint32_t e) const {
        fr l = low[e & ((1u << POWER_LOW_BITS) - 1)];
        uint32_t h = e >> POWER_LOW_BITS;
        return h == 0 ? l : l * high[h];
    }
};

/* Device tables of one domain. All in Montgomery form; made on the host (resident.c) and uploaded in one block. */
struct ntt_tables {
    unsigned log2;
    power_table forward, inverse;            /* omega, omega^-1 */
    power_table coset, coset_inverse;        /* generator^i / n, generator^-i / n */
    const fr *small_forward, *small_inverse; /* 256 powers of the 512-th root, or of its inverse */
    fr n_inverse, z_inverse;                 /* 1/n, 1/(generator^n - 1) */
};

/* Elements of the table block; the host fills it (resident.c) in the order forward low, high, inverse low, high, coset
 * low, high, coset inverse low, high, small forward, small inverse. */
size_t ntt_table_elements(unsigned log2);
void ntt_tables_place(ntt_tables *t, unsigned log2, const fr *device_block);

cuzk_status ntt_inverse_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream,
                                cuzk_error *err); /* natural -> bit-reversed; not divided by n */
cuzk_status ntt_forward_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream,
                                cuzk_error *err); /* bit-reversed -> natural */

/* h = (a b - c) / (X^n - 1): from evaluations a, b, c (all overwritten) to canonical coefficients in `b`, natural
 * order. Six transforms: on the coset X^n - 1 is one constant, so c's coefficients are subtracted after a b has come
 * back. */
cuzk_status ntt_quotient_enqueue(const ntt_tables *t, fr *a, fr *b, fr *c, cudaStream_t stream, cuzk_error *err);

#endif
