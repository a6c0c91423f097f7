/* The fallback PoSt circuit: a slot for each sector, one repeated block.
 *
 * A slot opens comm_r into comm_c and comm_r_last, and shows for each challenge that a leaf at the public index is in
 * the tree comm_r_last is the root of. Prover, sector number and randomness are not in the circuit: they make the
 * public challenges. Order of allocations and constraints: docs/circuits/post.md. */
#include "circuit/post/post.h"
#include "gadget/merkle.h"
#include "gadget/poseidon.h"

static void synthesize_slot(cs *c, const post_params *p, const post_slot *in) {
    num comm_r_last = num_alloc(c, c->values ? &in->comm_r_last : NULL);
    num comm_c = num_alloc(c, c->values ? &in->comm_c : NULL);
    num comm_r = num_alloc(c, c->values ? &in->comm_r : NULL);
    num_inputize(c, &comm_r);
    num pair[2] = {comm_c, comm_r_last};
    num hash = poseidon_circuit(c, poseidon_get(2), pair);
    num_equal(c, &comm_r, &hash);
    for (unsigned i = 0; i < p->challenges; i++) {
        const merkle_path *path = c->values ? &in->paths[i] : NULL;
        cs_push(c, "challenge", i);
        num leaf = num_alloc(c, c->values ? &path->leaf : NULL);
        merkle_inclusion_circuit(c, &p->tree, path, &leaf, &comm_r_last);
        cs_pop(c);
    }
}

void post_synthesize(cs *c, const void *params, const void *instance) {
    const post_params *p = params;
    const post_partition *in = instance;
    for (unsigned i = 0; i < p->slots; i++) {
        const post_slot *slot = !c->values ? NULL : &in->slots[i < in->n ? i : in->n - 1];
        cs_push(c, "sector", i);
        if (cs_block_begin(c, i, p->slots)) synthesize_slot(c, p, slot);
        cs_block_end(c);
        cs_pop(c);
    }
}
