/* Merkle inclusion in a circuit. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_MERKLE_H
#define CUZK_GADGET_MERKLE_H

#include "gadget/merkle_path.h"
#include "gadget/num.h"

#define MERKLE_MAX_BITS (3 * MERKLE_MAX_LEVELS)

/* The hash of `arity` children. */
num merkle_node_circuit(cs *c, merkle_hash hash, unsigned arity, const num *children);

/* One level: new siblings, insertion of cur at the position that log2(arity) bits give, hash. level may be NULL when
 * !cs->values. */
num merkle_level_circuit(cs *c, merkle_hash hash, unsigned arity, const merkle_level *level, const num *cur,
                         const boolean *bits);

/* From the leaf to the root: each level's new position bits and the level above. bits (MERKLE_MAX_BITS) gets all
 * position bits, low level first; *n their number. path may be NULL when !cs->values; its leaf and root are not used.
 */
num merkle_climb_circuit(cs *c, const merkle_form *form, const merkle_path *path, const num *leaf, boolean *bits,
                         unsigned *n);

/* The whole inclusion proof: climb, the position as public input, and top * 1 = root. */
void merkle_inclusion_circuit(cs *c, const merkle_form *form, const merkle_path *path, const num *leaf,
                              const num *root);

/* The stand-alone circuit: leaf and root allocated from the path; the root a public input too when asked for. */
void merkle_inclusion_alone(cs *c, const merkle_form *form, const merkle_path *path, bool public_root);

#endif
