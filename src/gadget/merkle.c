/* Merkle inclusion in a circuit. Base, sub and top trees are simply further levels. */
#include "gadget/merkle.h"

#include <assert.h>
#include "gadget/insert.h"
#include "gadget/pack.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"

num merkle_node_circuit(cs *c, merkle_hash hash, unsigned arity, const num *children) {
    if (hash == MERKLE_SHA256) return sha256_nums_circuit(c, children, arity);
    return poseidon_circuit(c, poseidon_get(arity), children);
}

num merkle_level_circuit(cs *c, merkle_hash hash, unsigned arity, const merkle_level *level, const num *cur,
                         const boolean *bits) {
    num siblings[INSERT_MAX_ARITY - 1], children[INSERT_MAX_ARITY];
    assert(arity <= INSERT_MAX_ARITY);
    for (unsigned i = 0; i + 1 < arity; i++) siblings[i] = num_alloc(c, c->values ? &level->siblings[i] : NULL);
    insert_num(c, children, arity, cur, bits, siblings);
    return merkle_node_circuit(c, hash, arity, children);
}

num merkle_climb_circuit(cs *c, const merkle_form *form, const merkle_path *path, const num *leaf, boolean *bits,
                         unsigned *n) {
    num cur = *leaf;
    *n = 0;
    for (unsigned i = 0; i < form->levels; i++) {
        const merkle_level *level = c->values ? &path->level[i] : NULL;
        unsigned arity = form->arity[i], from = *n;
        cs_push(c, "level", i);
        for (unsigned b = 0; (1u << b) < arity; b++) {
            bits[(*n)++] = boolean_alloc(c, c->values && (level->index >> b & 1) != 0);
        }
        cur = merkle_level_circuit(c, form->hash, arity, level, &cur, bits + from);
        cs_pop(c);
    }
    return cur;
}

void merkle_inclusion_circuit(cs *c, const merkle_form *form, const merkle_path *path, const num *leaf,
                              const num *root) {
    boolean bits[MERKLE_MAX_BITS];
    unsigned n;
    num top = merkle_climb_circuit(c, form, path, leaf, bits, &n);
    pack_into_inputs(c, bits, n);
    num_equal(c, &top, root);
}

void merkle_inclusion_alone(cs *c, const merkle_form *form, const merkle_path *path, bool public_root) {
    boolean bits[MERKLE_MAX_BITS];
    unsigned n;
    num leaf = num_alloc(c, c->values ? &path->leaf : NULL);
    num top = merkle_climb_circuit(c, form, path, &leaf, bits, &n);
    pack_into_inputs(c, bits, n);
    num root = num_alloc(c, c->values ? &path->root : NULL);
    num_equal(c, &top, &root);
    if (public_root) num_inputize(c, &root);
}
