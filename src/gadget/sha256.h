/* SHA-256 in a circuit. Source: docs/circuits/gadgets.md; FIPS 180-4. */
#ifndef CUZK_GADGET_SHA256_H
#define CUZK_GADGET_SHA256_H

#include "gadget/num.h"

/* Words are those of FIPS 180-4: the first message bit is bit 31 of the first word. out[8] may not be message words. */
void sha256_circuit(cs *c, word out[8], const word *const *message, unsigned words);
void sha256_initial(word out[8]);
/* One compression; state is replaced. */
void sha256_compress_circuit(cs *c, word state[8], const word *const block[16]);
/* 32 bytes (8 words of bits in little-endian numbering, as num_to_bits makes them) of each of n nums, hashed; the
 * digest's lowest 254 bits as a num: a node of a SHA-256 tree. n ≤ 8. */
num sha256_nums_circuit(cs *c, const num *nums, unsigned n);

#endif
