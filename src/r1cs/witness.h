/* The compact witness: one bit for each auxiliary variable, and 32 bytes for each that is a field element.
 *
 * bits has one bit for every auxiliary variable in allocation order (0 where the variable is a field element); fields
 * holds the field elements alone, in allocation order. Which is which is the shape's knowledge (SHAPE_IS_FIELD). 98 %
 * of a Filecoin PoRep witness are bits of SHA-256: a 32 GiB partition takes about 70 MB instead of 4.2 GB. Buffers are
 * tracked (class WITNESS, secret) and wiped when freed. Read-only after writing; shared by threads.
 *
 * A lazy witness keeps the public inputs alone, and what the values follow from. It is for circuits that are blocks and
 * nothing else, whose values are field elements for the most part: a 32 GiB window PoSt partition would take 4 GB, and
 * its instance is 60 MB. A copy of the block is run again when a reader asks for it, into scratch of one copy's size,
 * and the public inputs that it makes must be those of the witness. Each pass over all copies costs what writing costs,
 * over all threads. Runs of the circuit must always give the same (they do when it looks at params and instance alone).
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
    uint64_t *bits; /* (n_aux + 63) / 64 words; NULL when lazy */
    fr *fields;     /* Montgomery; NULL when lazy */
    buffer memory;  /* holds all three */
    /* Lazy only: borrowed until witness_free. */
    cs_circuit circuit;
    const void *params, *instance;
    /* 0, save in a view of one copy, which holds that copy's values only: the place of bits[0] and fields[0]. */
    uint64_t first_word, first_field;
} witness;

/* Exact bytes of the buffer that witness_write allocates for this shape. */
size_t witness_bytes(const shape *s);
/* Runs the circuit with values. The number and kinds of variables must equal the shape's (INTERNAL otherwise). */
cuzk_status witness_write(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                          cuzk_error *err);
/* The same; looks at control between the circuit's blocks: CANCELLED. */
cuzk_status witness_write_until(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                                const cuzk_control *control, cuzk_error *err);
void witness_free(witness *w);

/* A lazy witness; shape_is_lazy(s). f, params and instance as in witness_write, borrowed until the witness is freed.
 * inputs: the n public inputs without ONE that the circuit makes; copied. Runs nothing: the circuit's faults are found
 * by readers. */
cuzk_status witness_write_lazy(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                               const fr *inputs, size_t n, cuzk_error *err);
size_t witness_lazy_bytes(const shape *s);
static inline bool witness_is_lazy(const witness *w) {
    return w->circuit != NULL;
}

/* For each of n copies from `first` on of a lazy witness: fn with a view of that copy, whose values are valid until fn
 * returns, in no fixed order. A view is a witness for shape_eval and witness_expand inside the copy. INTERNAL when the
 * circuit allocates other than its shape or makes other public inputs than the witness has; fn is then not called for
 * all copies. p and control may be NULL. */
typedef void (*witness_copy_fn)(void *user, const witness *view, uint32_t copy, unsigned slot);
cuzk_status witness_each_copy(const witness *w, const shape *s, uint32_t first, uint32_t n, witness_copy_fn fn,
                              void *user, pool *p, const cuzk_control *control, const char *stage, cuzk_error *err);
/* Tracked bytes that witness_each_copy takes meanwhile, class WITNESS. */
uint64_t witness_each_copy_bytes(const shape *s, unsigned threads);
/* The values of n copies from `first` on: fields[0] becomes the first copy's first field element; bits, when not NULL,
 * is the bitmap of all aux variables, whose bits of these copies are 0 before. */
cuzk_status witness_fill(const witness *w, const shape *s, uint32_t first, uint32_t n, fr *fields, uint64_t *bits,
                         pool *p, const cuzk_control *control, cuzk_error *err);
/* Makes a lazy witness one that is not. It stays as it is on failure. Takes witness_bytes and witness_each_copy_bytes
 * more while it works. */
cuzk_status witness_materialise(witness *w, const shape *s, pool *p, const cuzk_control *control, cuzk_error *err);

/* Canonical values of aux variables first..first+n. Not of a lazy witness, but of a view of its copies. */
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
