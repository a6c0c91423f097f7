/* The CPU's answers for the CUDA kernel tests, as plain bytes: the CUDA sources have types of their own with the same
 * names and layout, so the two sides meet only here. Elements are as in memory: fr 32 bytes, fp 48, affine points 96
 * and 192 (Montgomery), scalars 32 (canonical), XYZZ points 192 and 384. */
#ifndef TEST_CUDA_TWIN_H
#define TEST_CUDA_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TWIN_FR, TWIN_FP, TWIN_FP2 };
enum { TWIN_ADD, TWIN_SUB, TWIN_MUL, TWIN_SQR, TWIN_INV, TWIN_CANON };

void twin_init(void);
/* Random elements, the first few edge values (0, 1, m-1, …). */
void twin_random(int field, void *out, size_t n, uint64_t seed);
void twin_op(int field, int op, void *out, const void *a, const void *b, size_t n);
/* Distinct random multiples of the generator; group 1 or 2. */
void twin_points(int group, void *out, size_t n, uint64_t seed);
void twin_negate(int group, void *point);
/* Canonical scalars. */
void twin_scalars(void *out, size_t n, uint64_t seed);
/* Tables in the order of ntt_table_elements; constants n_inverse and z_inverse. */
void twin_ntt_tables(void *block, unsigned log2, unsigned low_bits, void *n_inverse, void *z_inverse);
void twin_ntt(void *a, unsigned log2, bool inverse);          /* natural order, inverse divides by n */
void twin_quotient(void *a, void *b, void *c, unsigned log2); /* canonical in a */
/* True when sum over windows of 2^(c w) * xyzz[w] equals the CPU's MSM (c = 0: one window, plain sum of the indexed
 * points with scalars NULL). */
bool twin_msm_equal(int group, const void *xyzz, unsigned windows, unsigned c, const void *points,
                    const uint32_t *index, const void *scalars, size_t n);

#ifdef __cplusplus
}
#endif
#endif
