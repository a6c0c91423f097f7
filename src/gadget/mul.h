/* The product of two field elements in a circuit. Source: reference/filecoin-post-update-circuits.md §0.3. */
#ifndef CUZK_GADGET_MUL_H
#define CUZK_GADGET_MUL_H

#include "gadget/num.h"

/* New y; a * b = y. */
num num_mul(cs *c, const num *a, const num *b);

#endif
