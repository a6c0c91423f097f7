/* A few bits as a number in a circuit. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_PACK_BITS_H
#define CUZK_GADGET_PACK_BITS_H

#include "gadget/num.h"

#define PACK_BITS_MOST 64 /* wider than any use: no circuit packs more */

/* New y; (sum 2^i bit_i) * 1 = y. No bits at all: 0 * 1 = y. */
num pack_bits(cs *c, const boolean *bits, unsigned n);
/* n new bits of the number `value`, low first, each with its constraint; then (sum 2^i bit_i) * 1 = x. */
void unpack_bits(cs *c, boolean *bits, unsigned n, uint64_t value, const num *x);

#endif
