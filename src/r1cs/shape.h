/* The shape: a circuit's structure, recorded once; repeated parts are stored once.
 *
 * A shape has up to three segments: prologue, block (stored once, repeated `repeat` times), epilogue. Each segment
 * holds A, B, C as rows of (variable, coefficient index) in CSR form, the kind of each auxiliary variable (bit or field
 * element), and the densities. Variables in a block are marked as prologue (absolute), own (relative to the copy's
 * offset), or parameter (an entry of the copy's row in a table of prologue variables). After the circuit's own rows
 * come the input constraints, one a public input (Input(i) * 0 = 0), which are implied, not stored: rows() counts them,
 * eval gives them. Immutable after creation; shared by threads. Memory: tracked (class SHAPE), or a mapped cache file.
 */
#ifndef CUZK_R1CS_SHAPE_H
#define CUZK_R1CS_SHAPE_H

#include "base/pool.h"
#include "r1cs/cs.h"

typedef struct shape shape;
struct witness;

typedef enum { MATRIX_A, MATRIX_B, MATRIX_C } shape_matrix;
typedef enum { SHAPE_IS_FIELD, SHAPE_A_DENSITY, SHAPE_B_DENSITY, SHAPE_BITMAPS } shape_bitmap_kind;

/* Recording; control reports progress. At most 0.6 GiB and 15 s on one core for a 32 GiB PoRep partition. */
cuzk_status shape_record(shape **out, cs_circuit f, const void *params, const cuzk_control *control, cuzk_error *err);
void shape_destroy(shape *s);

/* From the cache folder, or recorded and kept there (temporary name, rename; one process builds while others wait; a
 * file that does not fit its digest or version is rebuilt). A read-only cache folder is not an error: the shape is
 * recorded into memory and a warning logged. `name` is the circuit's name; `version` changes when the circuit code
 * does. */
cuzk_status shape_cached(shape **out, const char *name, uint32_t version, cs_circuit f, const void *params,
                         const cuzk_control *control, cuzk_error *err);
cuzk_status shape_save(const shape *s, const char *path, cuzk_error *err);
cuzk_status shape_open(shape **out, const char *path,
                       cuzk_error *err); /* mapped; MALFORMED when damaged, or of another version */

cs_counts shape_counts(const shape *s);
uint64_t shape_bytes(const shape *s);
uint64_t shape_id(const shape *s);          /* unlike any other shape's of this process, see base/serial.h */
uint64_t shape_rows(const shape *s);        /* circuit constraints + inputs: what the domain must hold */
unsigned shape_domain_log2(const shape *s); /* smallest 2^k ≥ rows */
uint64_t shape_fields(const shape *s);      /* auxiliary variables that are field elements */
bool shape_input_in_b(const shape *s, uint32_t input);

/* Says that witnesses of this shape are to be lazy (r1cs/witness.h), for those who plan and make them. Without effect
 * on a shape that is not blocks alone. Before the shape is shared. */
void shape_make_lazy(shape *s);
bool shape_is_lazy(const shape *s);

/* Fills out with bits first..first+n of a bitmap over the auxiliary variables (first a multiple of 64; bits past the
 * end are 0). */
void shape_bitmap(const shape *s, shape_bitmap_kind kind, uint64_t first, uint64_t n, uint64_t *out);
/* Number of set bits below `aux` (≤ num_aux). Constant time. */
uint64_t shape_rank(const shape *s, shape_bitmap_kind kind, uint64_t aux);

/* Structure digest from the shape (equal to cs_hash); pool may be NULL. With checkpoint: see cs_hash. */
cuzk_status shape_hash(const shape *s, uint8_t out[32], cs_checkpoint checkpoint, void *user,
                       const cuzk_control *control, cuzk_error *err);

/* out[i] = (matrix * assignment)[row_first + i], i < n; rows at and past shape_rows() give zero. Thread-safe; callers
 * tile. */
void shape_eval(const shape *s, shape_matrix m, const struct witness *w, uint64_t row_first, uint64_t n, fr *out);

/* For key making: for each row in row_first..row_first+n of matrix m and each term (v, k): sink(user, v, k *
 * weights[row]). weights has shape_rows entries, indexed absolutely. Calls come from the calling thread, rows
 * ascending. var as in cs_var, absolute. */
typedef void (*shape_sink)(void *user, cs_var var, const fr *coeff_times_weight);
void shape_transposed(const shape *s, shape_matrix m, const fr *weights, uint64_t row_first, uint64_t n,
                      shape_sink sink, void *user);

/* Raw parts, for backends that upload them. Pointers are borrowed until the shape is destroyed. */
typedef struct shape_rows_view {
    const uint32_t *row_end; /* row_end[i]: end of row i's terms in vars / coeffs; row i starts at row_end[i-1] or 0 */
    const uint32_t *vars;    /* SHAPE_VAR_* flags below */
    const void *coeffs;      /* uint16_t or uint32_t indices into the coefficient table, see shape_view.coeff_width */
    uint64_t nnz;
} shape_rows_view;
#define SHAPE_VAR_INPUT 0x80000000u /* a public input */
#define SHAPE_VAR_OWN 0x40000000u   /* in the block: index relative to the copy's first aux (or input) variable */
/* In the block of a shape with parameters, without the other two flags: number of a parameter; the variable is
 * params[copy * n_params + number]. Elsewhere it is a bit of the index like any other. */
#define SHAPE_VAR_PARAM 0x20000000u
typedef struct shape_segment_view {
    uint64_t first_row, rows;                     /* of the first copy */
    uint32_t first_aux, aux, first_input, inputs; /* of the first copy */
    shape_rows_view matrix[3];
} shape_segment_view;
typedef struct shape_view {
    uint32_t repeat;               /* copies of segment 1; 0: the circuit has no block */
    shape_segment_view segment[3]; /* prologue, block, epilogue */
    const fr *coeff_table;         /* Montgomery; [0] is 1, [1] is -1 */
    uint32_t coeff_count;
    unsigned coeff_width;   /* 2 or 4 bytes an index */
    uint32_t n_params;      /* of each copy of the block */
    const uint32_t *params; /* repeat * n_params auxiliary variables of the prologue */
} shape_view;
void shape_get_view(const shape *s, shape_view *out);

#endif
