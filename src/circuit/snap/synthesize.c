/* The update circuit: commitments, the apex of the partition's data, challenges, then a block for each challenge.
 *
 * A challenge's place in all three trees comes from bits of a digest that is made before the blocks. They are the
 * block's parameters; everything else of the prologue that a block uses is the same for all. Order of allocations and
 * constraints: docs/circuits/snap.md. */
#include "circuit/snap/gadgets.h"
#include "gadget/merkle_given.h"
#include "gadget/pack_bits.h"
#include "gadget/poseidon.h"
#include "gadget/select.h"

#define SELECT_BITS SNAP_H_CHOICES

typedef struct header {
    boolean partition_bits[SNAP_MAX_BITS], select[SELECT_BITS];
    num partition, comm_d_new, comm_r_new, phi, root_r_old, root_r_new;
    num apex[SNAP_MAX_APEX];
    boolean *random; /* params.random_bits for each challenge */
} header;

static num public_num(cs *c, const fr *value) {
    num x = num_alloc(c, value);
    num_inputize(c, &x);
    return x;
}

/* Partition and choice of h as one public number, and its bits. */
static void synthesize_choice(cs *c, const snap_params *p, header *h, const snap_partition *in) {
    boolean bits[SNAP_MAX_BITS + SELECT_BITS];
    uint64_t value = c->values ? in->k | (uint64_t)p->h_select << p->partition_bits : 0;
    fr v;
    fr_from_u64(&v, value);
    num x = public_num(c, &v);
    unpack_bits(c, bits, p->partition_bits + SELECT_BITS, value, &x);
    for (unsigned i = 0; i < p->partition_bits; i++) h->partition_bits[i] = bits[i];
    for (unsigned i = 0; i < SELECT_BITS; i++) h->select[i] = bits[p->partition_bits + i];
}

static void open_commitment(cs *c, const char *name, const num *comm_c, const num *root, const num *comm) {
    num pair[2] = {*comm_c, *root};
    cs_push(c, name, UINT32_MAX);
    num hash = poseidon_circuit(c, poseidon_get(2), pair);
    num_equal(c, &hash, comm);
    cs_pop(c);
}

static void synthesize_header(cs *c, const snap_params *p, header *h, const snap_partition *in) {
    const snap_challenge *first = c->values ? &in->challenges[0] : NULL;
    num siblings[SNAP_MAX_BITS];
    cs_push(c, "header", UINT32_MAX);
    synthesize_choice(c, p, h, in);
    if (!p->poseidon) h->partition = pack_bits(c, h->partition_bits, p->partition_bits);
    num comm_r_old = public_num(c, c->values ? &in->comm_r_old : NULL);
    h->comm_d_new = public_num(c, c->values ? &in->comm_d_new : NULL);
    h->comm_r_new = public_num(c, c->values ? &in->comm_r_new : NULL);
    num facts[2] = {h->comm_d_new, comm_r_old};
    h->phi = poseidon_circuit(c, snap_randomness(), facts);
    num comm_c = num_alloc(c, c->values ? &in->comm_c : NULL);
    h->root_r_old = num_alloc(c, c->values ? &first->r_old.root : NULL);
    h->root_r_new = num_alloc(c, c->values ? &first->r_new.root : NULL);
    for (unsigned i = 0; i < p->apex_leaves; i++) h->apex[i] = num_alloc(c, c->values ? &in->apex[i] : NULL);
    unsigned apex_root = p->data_levels + p->apex_bits;
    for (unsigned i = 0; i < p->partition_bits; i++)
        siblings[i] = num_alloc(c, c->values ? &first->d_new.level[apex_root + i].siblings[0] : NULL);
    open_commitment(c, "comm_r_old", &comm_c, &h->root_r_old, &comm_r_old);
    open_commitment(c, "comm_r_new", &comm_c, &h->root_r_new, &h->comm_r_new);
    if (p->poseidon) {
        /* There is one partition; its number is a variable that nothing but the digests' numbers binds. */
        fr zero;
        fr_set_zero(&zero);
        h->partition = num_alloc(c, &zero);
    } else {
        snap_apex(c, &h->comm_d_new, h->partition_bits, p->partition_bits, h->apex, p->apex_leaves, siblings);
    }
    snap_challenge_bits(c, p, &h->comm_r_new, &h->partition, h->random);
    cs_pop(c);
}

static void synthesize_challenge(cs *c, const snap_params *p, const header *h, const boolean *random,
                                 const snap_challenge *in) {
    boolean bits[SNAP_MAX_BITS];
    for (unsigned i = 0; i < p->random_bits; i++) bits[i] = random[i];
    for (unsigned i = 0; i < p->partition_bits; i++) bits[p->random_bits + i] = h->partition_bits[i];
    cs_push(c, "label", UINT32_MAX);
    num high = snap_high_bits(c, p->hs, bits, p->challenge_bits, h->select);
    num seed[2] = {h->phi, high};
    num rho = poseidon_circuit(c, snap_randomness(), seed);
    num leaf_r_old = num_alloc(c, c->values ? &in->r_old.leaf : NULL);
    num leaf_d_new = num_alloc(c, c->values ? &in->d_new.leaf : NULL);
    num leaf_r_new = snap_label(c, &leaf_r_old, &leaf_d_new, &rho);
    cs_pop(c);
    cs_push(c, "tree r old", UINT32_MAX);
    merkle_given_circuit(c, &p->tree_r, p->tree_r.levels, c->values ? &in->r_old : NULL, &leaf_r_old, bits,
                         &h->root_r_old);
    cs_pop(c);
    cs_push(c, "tree r new", UINT32_MAX);
    merkle_given_circuit(c, &p->tree_r, p->tree_r.levels, c->values ? &in->r_new : NULL, &leaf_r_new, bits,
                         &h->root_r_new);
    cs_pop(c);
    cs_push(c, "tree d new", UINT32_MAX);
    num top = h->comm_d_new, apex[SNAP_MAX_APEX];
    if (!p->poseidon) {
        for (unsigned i = 0; i < p->apex_leaves; i++) apex[i] = h->apex[i];
        top = select_num(c, apex, bits + p->data_levels, p->apex_bits);
    }
    merkle_given_circuit(c, &p->tree_d, p->data_levels, c->values ? &in->d_new : NULL, &leaf_d_new, bits, &top);
    cs_pop(c);
}

void snap_synthesize(cs *c, const void *params, const void *instance) {
    const snap_params *p = params;
    const snap_partition *in = instance;
    cs_var vars[SNAP_MAX_BITS];
    arena_mark mark = cs_save(c);
    header *h = arena_alloc(c->scratch, sizeof *h);
    if (h) h->random = arena_alloc_array(c->scratch, (size_t)p->challenges * p->random_bits, sizeof *h->random);
    if (!h || !h->random) {
        cs_fault(c, CUZK_MEMORY, "no memory for the challenges' bits");
        cs_release(c, mark);
        return;
    }
    synthesize_header(c, p, h, in);
    for (unsigned i = 0; i < p->challenges; i++) {
        const boolean *random = h->random + (size_t)i * p->random_bits;
        for (unsigned b = 0; b < p->random_bits; b++) vars[b] = c->structure ? random[b].var : 0;
        cs_push(c, "challenge", i);
        if (cs_block_begin_with(c, i, p->challenges, vars, p->random_bits))
            synthesize_challenge(c, p, h, random, c->values ? &in->challenges[i] : NULL);
        cs_block_end(c);
        cs_pop(c);
    }
    cs_release(c, mark);
}
