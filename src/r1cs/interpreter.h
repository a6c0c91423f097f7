/* What the interpreters share: starting and ending a run, handing out variables, and normal linear combinations.
 * Private to src/r1cs.
 */
#ifndef CUZK_R1CS_INTERPRETER_H
#define CUZK_R1CS_INTERPRETER_H

#include "r1cs/cs.h"

/* c becomes a constraint system with ONE allocated. An interpreter keeps its state around a cs that is its first
 * member. MEMORY when the scratch arena cannot be had. */
cuzk_status interpreter_start(cs *c, const cs_ops *ops, bool values, bool structure, cuzk_error *err);
/* Frees the scratch arena; returns the sticky status. */
cuzk_status interpreter_end(cs *c);

/* The next n auxiliary variables, or the next input; past the limit a fault and variable 0. */
cs_var interpreter_next_aux(cs *c, unsigned n);
cs_var interpreter_next_input(cs *c);

/* Operations of interpreters that keep no values and see nothing special in blocks. */
cs_var interpreter_alloc(cs *c, const fr *value);
cs_var interpreter_alloc_bits(cs *c, unsigned n, uint64_t values);
cs_var interpreter_input(cs *c, const fr *value);
bool interpreter_block_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params);
void interpreter_block_end(cs *c);

/* Normal form of a linear combination: inputs first, then aux, ascending, every variable once, no zero coefficient.
 * The sorter owns scratch that grows to the largest combination met. Zero-initialise; free with lc_sorter_free. */
typedef struct lc_sorter {
    buffer memory;
    uint64_t *keys, *spare;
    cs_term *terms;
    uint32_t cap;
} lc_sorter;

typedef struct lc_normal {
    const cs_term *terms; /* borrowed from the combination or from the sorter, until the sorter's next use */
    uint32_t len;
} lc_normal;

/* MEMORY becomes a fault of c and an empty result. */
lc_normal lc_sorter_run(lc_sorter *s, cs *c, const cs_lc *lc);
void lc_sorter_free(lc_sorter *s);

/* -1 in Montgomery form. */
static inline fr fr_minus_one(void) {
    fr one, r;
    fr_set_one(&one);
    fr_neg(&r, &one);
    return r;
}

#endif
