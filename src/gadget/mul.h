/* The product of two field elements in a circuit. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_MUL_H
#define CUZK_GADGET_MUL_H

#include "gadget/num.h"

/* New y; a * b = y. */
num num_mul(cs *c, const num *a, const num *b);

#endif
