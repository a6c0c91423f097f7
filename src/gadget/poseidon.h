/* Poseidon in a circuit, in the form of neptune's first ("legacy") gadget, which the Filecoin keys were made for.
 * Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_POSEIDON_H
#define CUZK_GADGET_POSEIDON_H

#include "gadget/num.h"
#include "math/poseidon.h"

/* The digest of k->arity nums: 3 arity + 28 width + 4 partial_rounds + 1 variables and as many constraints. */
num poseidon_circuit(cs *c, const poseidon_constants *k, const num *preimage);

#endif
