/* The circuit on the device: the block-repeated rows, which variables are bits, and the evaluation of a, b, c from a
 * compact witness.
 *
 * A row is evaluated by one thread, or by a warp when it is long (the few sums of SHA-256 words and the Poseidon rows
 * have hundreds of terms; in a thread's hands they would hold up 31 others). A bit costs an addition or nothing, a
 * field element a product. Layout as in r1cs/shape.h (shape_view) and r1cs/witness.h.
 */
#ifndef CUZK_CUDA_ROWS_CUH
#define CUZK_CUDA_ROWS_CUH

#include "device.cuh"
#include "field.cuh"

#define ROW_LONG 24u /* terms from which a row is long */
#define VAR_INPUT 0x80000000u
#define VAR_OWN 0x40000000u
#define VAR_PARAM 0x20000000u /* only in a segment with parameters */

/* A bitmap over the auxiliary variables with the number of set bits before each 64-bit word. */
struct ranked_bits {
    const uint64_t *words;
    const uint32_t *before;
    __device__ __forceinline__ bool get(uint32_t i) const { return words[i / 64] >> (i % 64) & 1; }
    __device__ __forceinline__ uint32_t rank(uint32_t i) const {
        return before[i / 64] + __popcll(words[i / 64] & ((1ull << (i % 64)) - 1));
    }
};

struct rows_matrix {
    const uint32_t *row_end, *vars;
    const void *coeffs;
    const uint32_t *long_rows; /* indices within the segment */
    uint32_t n_long;
};
struct rows_segment {
    uint64_t first_row, rows; /* of the first copy */
    uint32_t copies, first_aux, aux, first_input, inputs;
    rows_matrix matrix[3];
    uint32_t n_params; /* of each copy */
    const uint32_t *params;
};
struct rows_shape {
    rows_segment segment[3];
    const fr *coeff_table;
    uint32_t coeff_width; /* 2 or 4 */
    uint64_t constraints; /* the input constraints follow */
    uint32_t n_inputs, n_aux;
    ranked_bits is_field;
};
struct rows_witness {
    const fr *inputs;     /* Montgomery, with ONE */
    const uint64_t *bits; /* one a variable, 0 for field elements */
    const fr *fields;     /* Montgomery */
};

/* out[0 .. 2^log2) = matrix * assignment, with the input constraints' rows and zeros to the end. matrix 0, 1, 2: A, B,
 * C. */
cuzk_status rows_enqueue(const rows_shape *shape, int matrix, const rows_witness *w, fr *out, unsigned log2,
                         cudaStream_t stream, cuzk_error *err);

/* *first_bad = smallest row with a * b != c (UINT64_MAX before: memset to 0xff); rows below n. */
cuzk_status rows_check_enqueue(const fr *a, const fr *b, const fr *c, uint64_t n, unsigned long long *first_bad,
                               cudaStream_t stream, cuzk_error *err);

/* before[] of a bitmap of n_words words; temp of ranked_bits_temp_bytes. */
size_t ranked_bits_temp_bytes(uint32_t n_words);
cuzk_status ranked_bits_enqueue(const uint64_t *words, uint32_t *before, uint32_t n_words, void *temp,
                                size_t temp_bytes, cudaStream_t stream, cuzk_error *err);

#endif
