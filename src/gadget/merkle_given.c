/* Merkle inclusion with given position bits. */
#include "gadget/merkle_given.h"

#include <assert.h>
#include "gadget/insert.h"
#include "gadget/merkle.h"

void merkle_given_climb(cs *c, merkle_hash hash, const uint8_t *arity, unsigned levels, const num *leaf,
                        const boolean *bits, const num *siblings, const num *root) {
    num cur = *leaf, children[INSERT_MAX_ARITY];
    for (unsigned i = 0; i < levels; i++) {
        cs_push(c, "level", i);
        insert_num(c, children, arity[i], &cur, bits, siblings);
        cur = merkle_node_circuit(c, hash, arity[i], children);
        cs_pop(c);
        for (unsigned n = arity[i]; n > 1; n /= 2) bits++;
        siblings += arity[i] - 1;
    }
    num_equal(c, &cur, root);
}

void merkle_given_circuit(cs *c, const merkle_form *form, unsigned levels, const merkle_path *path, const num *leaf,
                          const boolean *bits, const num *root) {
    num siblings[MERKLE_GIVEN_SIBLINGS];
    unsigned n = 0;
    assert(levels <= form->levels);
    for (unsigned i = 0; i < levels; i++) {
        for (unsigned j = 0; j + 1 < form->arity[i]; j++) {
            assert(n < MERKLE_GIVEN_SIBLINGS);
            siblings[n++] = num_alloc(c, c->values ? &path->level[i].siblings[j] : NULL);
        }
    }
    merkle_given_climb(c, form->hash, form->arity, levels, leaf, bits, siblings, root);
}
