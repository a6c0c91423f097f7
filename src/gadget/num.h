/* Field elements in a circuit. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_NUM_H
#define CUZK_GADGET_NUM_H

#include "gadget/word.h"

typedef struct num {
    cs_var var;
    fr value; /* zero when !cs->values */
} num;

#define NUM_BITS 255

/* A new variable; value may be NULL when !cs->values. No constraint. */
num num_alloc(cs *c, const fr *value);
/* New public input i; i * 1 = x. */
void num_inputize(cs *c, const num *x);
/* New y; x * x = y. */
/* a * 1 = b. */
void num_equal(cs *c, const num *a, const num *b);
/* New y; (a + b) * 1 = y. */
num num_sum(cs *c, const num *a, const num *b);
/* New y = condition ? a : b; (b - a) * condition = b - y. */
num num_pick(cs *c, boolean condition, const num *a, const num *b);

/* 255 new bits, low first, each with its constraint, then 0 * 0 = sum 2^i bit_i - x. Bit 255 is constant 0. Not strict:
 * a value below 2^255 - r has two decompositions; the circuits this serves accept that. */
void num_to_bits(cs *c, word out[8], const num *x);
/* The same bits with another last constraint: (sum 2^i bit_i) * 1 = x. */
void num_to_bits_packed(cs *c, word out[8], const num *x);

#endif
