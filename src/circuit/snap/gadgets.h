/* Parts of the update circuit, each with the reference's structure. Source:
 * docs/circuits/snap.md. */
#ifndef CUZK_CIRCUIT_SNAP_GADGETS_H
#define CUZK_CIRCUIT_SNAP_GADGETS_H

#include "circuit/snap/snap.h"
#include "gadget/num.h"

/* Random bits of all challenges, random_bits each, low first, one after the other. */
void snap_challenge_bits(cs *c, const snap_params *p, const num *comm_r_new, const num *partition, boolean *out);
/* The challenge's highest h bits as a number, for the h that the one set select bit chooses. */
num snap_high_bits(cs *c, const uint8_t hs[SNAP_H_CHOICES], const boolean *bits, unsigned n,
                   const boolean select[SNAP_H_CHOICES]);
/* leaf_r_new = leaf_r_old + leaf_d_new * rho. */
num snap_label(cs *c, const num *leaf_r_old, const num *leaf_d_new, const num *rho);
/* The apex leaves are those below the node at `partition` in the row of partitions of the tree comm_d. siblings: one
 * for each of the n partition bits. leaves: a power of two of them, at most SNAP_MAX_APEX. */
void snap_apex(cs *c, const num *comm_d, const boolean *partition, unsigned n, const num *leaves, unsigned n_leaves,
               const num *siblings);

#endif
