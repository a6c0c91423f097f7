/* Inserting a node among its siblings at a position given in bits. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_INSERT_H
#define CUZK_GADGET_INSERT_H

#include "gadget/num.h"

#define INSERT_MAX_ARITY 8

/* out[position] = x and the arity - 1 siblings around it in order; position = sum 2^i bits[i]. arity 2, 4 or 8. */
void insert_num(cs *c, num *out, unsigned arity, const num *x, const boolean *bits, const num *siblings);

#endif
