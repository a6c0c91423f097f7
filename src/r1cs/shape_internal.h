/* What a shape is made of. Private to src/r1cs.
 *
 * A shape is forty-one arrays ("sections"), each in a tracked buffer of its own (recorded) or inside a mapped file
 * (opened), and what can be computed from them (shape_complete).
 */
#ifndef CUZK_R1CS_SHAPE_INTERNAL_H
#define CUZK_R1CS_SHAPE_INTERNAL_H

#include "base/file.h"
#include "r1cs/shape.h"

enum { SEGMENT_PROLOGUE, SEGMENT_BLOCK, SEGMENT_EPILOGUE, SEGMENTS };

/* Sections of a segment; the coefficient table and the parameter table follow those of the last segment. */
enum {
    SECTION_ROW_END = 0, /* + matrix */
    SECTION_VARS = 3,    /* + matrix */
    SECTION_COEFFS = 6,  /* + matrix */
    SECTION_BITMAP = 9,  /* + shape_bitmap_kind */
    SECTION_B_INPUT = SECTION_BITMAP + SHAPE_BITMAPS,
    SEGMENT_SECTIONS,
    SECTION_COEFF_TABLE = SEGMENTS * SEGMENT_SECTIONS,
    SECTION_PARAMS,
    SECTIONS
};

typedef struct shape_section {
    const void *data;
    uint64_t bytes;
    buffer memory; /* empty when mapped */
} shape_section;

/* A bitmap with a count of the set bits before each word. Bits past the end are zero. */
typedef struct shape_bits {
    const uint64_t *words;
    const uint32_t *before;
    uint64_t total;
} shape_bits;

typedef struct shape_segment {
    uint32_t copies;          /* 1, repeat, 1 */
    uint64_t rows, first_row; /* of one copy; of the first copy */
    uint32_t aux, first_aux, inputs, first_input;
    shape_rows_view matrix[3];
    shape_bits bits[SHAPE_BITMAPS];
    const uint64_t *b_input;
    uint64_t b_inputs;
} shape_segment;

#define SHAPE_NAME_BYTES 64

struct shape {
    uint64_t id; /* base/serial.h */
    shape_segment segment[SEGMENTS];
    shape_section section[SECTIONS];
    uint32_t repeat;
    const fr *coeff_table;
    uint32_t coeff_count;
    unsigned coeff_width;
    uint32_t n_params; /* of each copy of the block */
    const uint32_t *params;
    file_map map;
    buffer ranks;
    bool lazy; /* shape_make_lazy */
    /* Computed */
    cs_counts counts;
    uint64_t fields;
    /* In a file: whose shape it is. */
    char name[SHAPE_NAME_BYTES];
    uint32_t version;
};

static inline uint64_t bits_words(uint64_t bits) {
    return (bits + 63) / 64;
}

/* Without popcnt, which not every x86-64 has. */
static inline unsigned bits_count(uint64_t w) {
#ifdef __POPCNT__
    return (unsigned)__builtin_popcountll(w);
#else
    w -= w >> 1 & 0x5555555555555555ull;
    w = (w & 0x3333333333333333ull) + (w >> 2 & 0x3333333333333333ull);
    w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (unsigned)(w * 0x0101010101010101ull >> 56);
#endif
}

static inline bool bits_get(const uint64_t *words, uint64_t i) {
    return (words[i >> 6] >> (i & 63) & 1) != 0;
}

static inline uint64_t bits_rank(const shape_bits *b, uint64_t i) {
    return b->before[i >> 6] + bits_count(b->words[i >> 6] & ((1ull << (i & 63)) - 1));
}

static inline uint32_t shape_coeff_at(const void *coeffs, unsigned width, uint64_t i) {
    return width == 2 ? ((const uint16_t *)coeffs)[i] : ((const uint32_t *)coeffs)[i];
}

/* Is `var` of a row of this segment the number of a parameter? */
static inline bool shape_is_param(const shape *s, int segment, uint32_t var) {
    return segment == SEGMENT_BLOCK && s->n_params > 0 && var >> 29 == SHAPE_VAR_PARAM >> 29;
}

/* Segments' sizes (rows, aux, inputs), repeat, n_params, coeff_count, coeff_width and the sections' data and bytes are
 * set, and checked by the caller; fills everything else. MEMORY when the rank directories cannot be had. */
cuzk_status shape_complete(shape *s, cuzk_error *err);

/* Which segment and which copy hold an aux variable (or row) below the total; *local is its place in the copy. */
int shape_find_aux(const shape *s, uint64_t aux, uint32_t *copy, uint64_t *local);
int shape_find_row(const shape *s, uint64_t row, uint32_t *copy, uint64_t *local);

/* shape_save and shape_open with the name and the version of the circuit. */
cuzk_status shape_save_as(const shape *s, const char *name, uint32_t version, const char *path, cuzk_error *err);

#endif
