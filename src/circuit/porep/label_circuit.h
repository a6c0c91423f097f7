/* One label of the stacked graph in a circuit. Source: docs/circuits/porep.md. */
#ifndef CUZK_CIRCUIT_POREP_LABEL_CIRCUIT_H
#define CUZK_CIRCUIT_POREP_LABEL_CIRCUIT_H

#include "circuit/porep/porep.h"
#include "gadget/num.h"

/* A node's 32 bytes as SHA-256 message words. */
typedef struct label_words {
    word w[8];
} label_words;

/* Bits of a num in the order of its 32 little-endian bytes. */
void porep_label_words(cs *c, label_words *out, const num *x);

/* node[0] holds the low half of the node's number. The n parents are repeated to 37. */
num porep_label_circuit(cs *c, const label_words *replica_id, uint32_t layer, const word node[2],
                        const label_words *const *parents, unsigned n);

#endif
