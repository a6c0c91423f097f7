/* Number-theoretic transforms on the device, and the Groth16 quotient.
 *
 * Two transforms: the inverse from natural to bit-reversed order (decimation in frequency) and the forward from
 * bit-reversed to natural order (decimation in time), so that no pass only permutes. A pass takes 9 (or 6, or 3) levels
 * at once: a block holds 2048 elements, a thread 8 of them in registers, three levels between exchanges over shared
 * memory. Inside a pass only roots of order up to 512 occur; between passes each element is multiplied by one power of
 * the domain's root: one table entry where the powers are of order 2^18 at most, the product of two elsewhere. Levels
 * left over are done one at a time. In the quotient the last pass of an inverse transform, the way to the coset and the
 * first pass of the forward one are one kernel, as are the last pass and the quotient's own arithmetic. Source:
 * four-step decomposition (Bailey 1990).
 */
#ifndef CUZK_CUDA_NTT_CUH
#define CUZK_CUDA_NTT_CUH

#include "device.cuh"
#include "field.cuh"

#define POWER_LOW_BITS 14u
#define ROOT_TABLE_BITS 18u /* of the tables of single entries */
#define NTT_ROWS_LOG2 9u    /* levels of the longest pass */

/* x^e for e < 2^k by two tables: low[e mod 2^14] * high[e / 2^14]. */
struct power_table {
    const fr *low, *high;
    __device__ __forceinline__ fr at(uint32_t e) const {
        fr l = fetch(low + (e & ((1u << POWER_LOW_BITS) - 1)));
        uint32_t h = e >> POWER_LOW_BITS;
        return h == 0 ? l : l * fetch(high + h);
    }
};

/* Device tables of one domain. All in Montgomery form; made on the host (resident.c) and uploaded in one block. */
struct ntt_tables {
    unsigned log2;
    power_table forward, inverse;            /* omega, omega^-1 */
    power_table coset, coset_inverse;        /* generator^i / n, generator^-i / n */
    const fr *small_forward, *small_inverse; /* 256 powers of the 512-th root, or of its inverse */
    fr n_inverse, z_inverse;                 /* 1/n, 1/(generator^n - 1) */
    /* Made on the device from the above (ntt_tables_make): */
    const fr *forward_one, *inverse_one; /* all powers of order 2^min(log2, ROOT_TABLE_BITS) */
    const fr *coset_row;                 /* generator^(i n / 512), i the bit-reversal of the entry's number */
    power_table out;                     /* generator^-i / (n (generator^n - 1)), low factor canonical */
    fr *out_c;                           /* 1 / (n (generator^n - 1)), canonical; one element */
};

/* Elements of the table block; the host fills it (resident.c) in the order forward low, high, inverse low, high, coset
 * low, high, coset inverse low, high, small forward, small inverse. made: ntt_made_elements more in device memory. */
size_t ntt_table_elements(unsigned log2);
size_t ntt_made_elements(unsigned log2);
void ntt_tables_place(ntt_tables *t, unsigned log2, const fr *device_block, fr *made);
/* Fills `made`; n_inverse and z_inverse are there. */
cuzk_status ntt_tables_make(const ntt_tables *t, cudaStream_t stream, cuzk_error *err);

cuzk_status ntt_inverse_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream,
                                cuzk_error *err); /* natural -> bit-reversed; not divided by n */
cuzk_status ntt_forward_enqueue(const ntt_tables *t, fr *data, cudaStream_t stream,
                                cuzk_error *err); /* bit-reversed -> natural */

/* h = (a b - c) / (X^n - 1): from evaluations a, b, c (all overwritten) to canonical coefficients in `b`, natural
 * order. Six transforms: on the coset X^n - 1 is one constant, so c's coefficients are subtracted after a b has come
 * back. */
cuzk_status ntt_quotient_enqueue(const ntt_tables *t, fr *a, fr *b, fr *c, cudaStream_t stream, cuzk_error *err);

#endif
