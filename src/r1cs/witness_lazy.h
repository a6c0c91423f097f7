/* Reading copies of a lazy witness one after the other. Private to src/r1cs. */
#ifndef CUZK_R1CS_WITNESS_LAZY_H
#define CUZK_R1CS_WITNESS_LAZY_H

#include "r1cs/witness.h"

typedef struct copy_reader {
    const witness *lazy;
    const shape *shape;
    witness view; /* of the copy that was read last */
    buffer memory;
    arena *scratch;
} copy_reader;

/* After failure, too, the reader must be closed. */
cuzk_status copy_reader_open(copy_reader *r, const witness *w, const shape *s, cuzk_error *err);
cuzk_status copy_reader_read(copy_reader *r, uint32_t copy, cuzk_error *err);
void copy_reader_close(copy_reader *r);

#endif
