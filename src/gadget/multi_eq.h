/* Sums of words, with several equalities packed into one constraint.
 *
 * Each sum makes an equality between its operands and the bits of its result; equalities are shifted side by side into
 * one combination as long as they fit the field's 254 safe bits. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_MULTI_EQ_H
#define CUZK_GADGET_MULTI_EQ_H

#include "gadget/word.h"

#define MULTI_EQ_OPERANDS 10

typedef struct multi_eq {
    cs *c;
    cs_lc lhs, rhs; /* without ONE on the left */
    fr lhs_one;     /* coefficient of ONE there: negated and constant bits bring it in often */
    unsigned used;
    arena_mark mark;
} multi_eq;

/* Between begin and end no older arena mark may be released. */
void multi_eq_begin(multi_eq *m, cs *c);
void multi_eq_end(multi_eq *m); /* makes the last constraint */

/* out = sum of n operands (2..10) mod 2^32, carries allocated too. All constant: a constant. out may be an operand. */
void multi_eq_add(multi_eq *m, word *out, const word *const *operands, unsigned n);

#endif
