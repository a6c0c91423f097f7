/* One of 2^n field elements, chosen by n bits. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_SELECT_H
#define CUZK_GADGET_SELECT_H

#include "gadget/num.h"

/* from[sum 2^i bits[i]], by 2^n - 1 picks. from is used up. n ≥ 1. */
num select_num(cs *c, num *from, const boolean *bits, unsigned n);

#endif
