/* The compact witness: one bit for each auxiliary variable, and 32 bytes for each that is a field element.
 *
 * bits has one bit for every auxiliary variable in allocation order (0 where the variable is a field element); fields
 * holds the field elements alone, in allocation order. Which is which is the shape's knowledge (SHAPE_IS_FIELD). 98 %
 * of a Filecoin PoRep witness are bits of SHA-256: a 32 GiB partition takes about 70 MB instead of 4.2 GB. Buffers are
 * tracked (class WITNESS, secret) and wiped when freed. Read-only after writing; shared by threads.
 */
#ifndef CUZK_R1CS_WITNESS_H
#define CUZK_R1CS_WITNESS_H

#include "base/buffer.h"
#include "base/pool.h"
#include "r1cs/shape.h"

typedef struct witness {
    uint32_t n_inputs; /* with ONE */
    uint64_t n_aux, n_fields;
    fr *inputs;     /* Montgomery */
    uint64_t *bits; /* (n_aux + 63) / 64 words */
    fr *fields;     /* Montgomery */
    buffer memory;  /* holds all three */
} witness;

/* Exact bytes of the buffer that witness_write allocates for this shape. */
size_t witness_bytes(const shape *s);
/* Runs the circuit with values. The number and kinds of variables must equal the shape's (INTERNAL otherwise). */
cuzk_status witness_write(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                          cuzk_error *err);
void witness_free(witness *w);

/* Canonical values of aux variables first..first+n. */
void witness_expand(const witness *w, const shape *s, uint64_t first, uint64_t n, fr_canon *out);
/* SHA-256 over all inputs with ONE (32-byte little-endian each), and over all aux values; checkpoint (may be NULL) gets
 * the SHA-256 of each run of 65,536 aux values. */
cuzk_status witness_digests(const witness *w, const shape *s, uint8_t inputs[32], uint8_t aux[32],
                            cs_checkpoint checkpoint, void *user, cuzk_error *err);
/* Checks every constraint by sparse evaluation over the pool. *first_bad = index of the first constraint that fails,
 * UINT64_MAX when none does. */
cuzk_status witness_check(const witness *w, const shape *s, uint64_t *first_bad, pool *p, const cuzk_control *control,
                          cuzk_error *err);

#endif
