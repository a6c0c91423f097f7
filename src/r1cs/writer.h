/* The interpreter that writes compact witnesses: of a whole circuit, or of one copy of its block. Private to src/r1cs.
 */
#ifndef CUZK_R1CS_WRITER_H
#define CUZK_R1CS_WRITER_H

#include "r1cs/cs.h"
#include "r1cs/shape_internal.h"

typedef struct writer {
    cs base;
    const shape *shape;
    uint64_t *bits;     /* zero before */
    fr *inputs;         /* with ONE; of a copy: compared, not written */
    fr *fields;         /* the first to be written */
    uint64_t bit_first; /* the variable of the bitmap's bit 0; a multiple of 64 */
    uint64_t n_fields;  /* written */
    uint64_t end_aux, end_inputs;
    uint32_t copy;               /* of the block; for writer_copy */
    bool done;                   /* the copy was run */
    const cuzk_control *control; /* of the whole, looked at before each block; may be NULL */
    /* Kinds of the variables kind_first .. kind_end. */
    const uint64_t *kinds;
    uint64_t kind_first, kind_end;
} writer;

/* shape, bits, inputs, fields are set, all else is zero. Runs everything. */
cuzk_status writer_whole(writer *w, cs_circuit f, const void *params, const void *instance, cuzk_error *err);
/* Runs one copy of the block of a shape that is blocks alone. bits begin with the word that the copy's first variable
 * is in. scratch is borrowed. */
cuzk_status writer_copy(writer *w, uint32_t copy, arena *scratch, cs_circuit f, const void *params,
                        const void *instance, cuzk_error *err);

#endif
