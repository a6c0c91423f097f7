/* Merkle inclusion where the position's bits are there already and serve several trees: the update circuit's form.
 *
 * Unlike gadget/merkle.h all siblings of a path are allocated first, no bit is, and the position does not become a
 * public input. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_MERKLE_GIVEN_H
#define CUZK_GADGET_MERKLE_GIVEN_H

#include "gadget/merkle_path.h"
#include "gadget/num.h"

#define MERKLE_GIVEN_SIBLINGS 96 /* the widest path: 64 GiB, 71 */

/* The lowest `levels` levels of the path: new siblings, then insertion and hash of each level, then top * 1 = root.
 * path may be NULL when !cs->values; its leaf and root are not used. */
void merkle_given_circuit(cs *c, const merkle_form *form, unsigned levels, const merkle_path *path, const num *leaf,
                          const boolean *bits, const num *root);
/* The same without allocation: siblings are given, level by level; arity of each level. */
void merkle_given_climb(cs *c, merkle_hash hash, const uint8_t *arity, unsigned levels, const num *leaf,
                        const boolean *bits, const num *siblings, const num *root);

#endif
