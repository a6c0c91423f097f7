/* Bits into field elements. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_PACK_H
#define CUZK_GADGET_PACK_H

#include "gadget/num.h"

#define PACK_CAPACITY 254 /* bits that any field element holds */

/* For each started 254 of the n bits: a new public input; (sum 2^i bit_i) * 1 = input. */
void pack_into_inputs(cs *c, const boolean *bits, unsigned n);
/* A new variable x of the lowest 254 bits of 8 words; (sum 2^i bit_i) * 1 = x. */
num pack_words(cs *c, const word bits[8]);

#endif
