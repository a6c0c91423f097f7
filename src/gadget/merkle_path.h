/* A Merkle inclusion path as values: leaf to root, siblings in position order without the path's own node.
 * Sub and top trees are simply further levels. Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_MERKLE_PATH_H
#define CUZK_GADGET_MERKLE_PATH_H

#include <stdint.h>
#include "math/field.h"

#define MERKLE_MAX_LEVELS 40

typedef enum { MERKLE_SHA256, MERKLE_POSEIDON } merkle_hash;

/* The static form of a tree: hash and arity of each level from the leaves up. */
typedef struct merkle_form {
    merkle_hash hash;
    unsigned levels;
    uint8_t arity[MERKLE_MAX_LEVELS];
} merkle_form;

typedef struct merkle_level {
    const fr *siblings; /* arity - 1, Montgomery; borrowed from the job's arena */
    uint32_t index;     /* position of the path's node among its siblings, < arity */
} merkle_level;

typedef struct merkle_path {
    fr leaf, root;
    const merkle_level *level; /* form.levels entries */
} merkle_path;

/* Leaf count of a form; index of the leaf (digits low level first). */
uint64_t merkle_form_leaves(const merkle_form *f);
uint64_t merkle_path_index(const merkle_form *f, const merkle_path *p);
/* Tree form U-V-W over `nodes` leaves (Poseidon), or the binary SHA-256 tree (merkle_form_sha256). Returns false when
 * the shape does not divide the leaves. */
bool merkle_form_poseidon(merkle_form *f, uint64_t nodes, unsigned u, unsigned v, unsigned w);
void merkle_form_sha256(merkle_form *f, uint64_t nodes);
/* One node from its children (values). SHA-256: two top bits cleared. */
void merkle_hash_node(merkle_hash hash, unsigned arity, fr *out, const fr *children);
/* Root that a path leads to. */
void merkle_path_root(const merkle_form *f, const merkle_path *p, fr *out);

#endif
