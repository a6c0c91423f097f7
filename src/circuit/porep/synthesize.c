/* The PoRep circuit: a header with the commitments, then one block for each challenge.
 *
 * A challenge proves that the node's data is in tree D, that its labels follow from its parents' labels layer by layer,
 * that the parents' columns and its own are in tree C, and that label plus data is in tree R. Everything hangs on
 * comm_d, comm_c and comm_r_last, of which comm_d and comm_r = Poseidon(comm_c, comm_r_last) are public.
 *
 * Order of allocations and constraints: docs/circuits/porep.md. */
#include "circuit/porep/label_circuit.h"
#include "gadget/merkle.h"
#include "gadget/pack.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"

#define PARENTS (POREP_DRG_PARENTS + POREP_EXP_PARENTS)

typedef struct header {
    num comm_d, comm_c, comm_r_last;
    label_words replica_id;
} header;

typedef struct column {
    num rows[POREP_MAX_LAYERS];
} column;

void porep_label_words(cs *c, label_words *out, const num *x) {
    word bits[8];
    num_to_bits(c, bits, x);
    for (unsigned i = 0; i < 8; i++) word_swap_bytes(c, &out->w[i], &bits[i]);
}

num porep_label_circuit(cs *c, const label_words *replica_id, uint32_t layer, const word node[2],
                        const label_words *const *parents, unsigned n) {
    const word *message[16 + 8 * POREP_LABEL_PARENTS];
    word layer_word, zero, digest[8], bits[8];
    word_set_const(&layer_word, layer);
    word_set_const(&zero, 0);
    for (unsigned i = 0; i < 8; i++) message[i] = &replica_id->w[i];
    message[8] = &layer_word;
    message[9] = &node[1];
    message[10] = &node[0];
    for (unsigned i = 11; i < 16; i++) message[i] = &zero;
    for (unsigned i = 0; i < 8 * POREP_LABEL_PARENTS; i++) message[16 + i] = &parents[i / 8 % n]->w[i % 8];
    sha256_circuit(c, digest, message, 16 + 8 * POREP_LABEL_PARENTS);
    for (unsigned i = 0; i < 8; i++) word_swap_bytes(c, &bits[i], &digest[i]);
    return pack_words(c, bits);
}

static void synthesize_header(cs *c, header *h, const porep_partition *in) {
    cs_push(c, "header", UINT32_MAX);
    num replica_id = num_alloc(c, c->values ? &in->replica_id : NULL);
    num_inputize(c, &replica_id);
    porep_label_words(c, &h->replica_id, &replica_id);
    h->comm_d = num_alloc(c, c->values ? &in->comm_d : NULL);
    num_inputize(c, &h->comm_d);
    num comm_r = num_alloc(c, c->values ? &in->comm_r : NULL);
    num_inputize(c, &comm_r);
    h->comm_r_last = num_alloc(c, c->values ? &in->comm_r_last : NULL);
    h->comm_c = num_alloc(c, c->values ? &in->comm_c : NULL);
    num pair[2] = {h->comm_c, h->comm_r_last};
    num hash = poseidon_circuit(c, poseidon_get(2), pair);
    num_equal(c, &comm_r, &hash);
    cs_pop(c);
}

static void parent_column(cs *c, const porep_params *p, const header *h, column *out, const porep_column *in) {
    for (unsigned i = 0; i < p->layers; i++) out->rows[i] = num_alloc(c, c->values ? &in->rows[i] : NULL);
    num leaf = poseidon_circuit(c, poseidon_get(p->layers), out->rows);
    merkle_inclusion_circuit(c, &p->tree_r, c->values ? &in->path : NULL, &leaf, &h->comm_c);
}

/* The node's number as two words of bits, low word first, and as a public input. */
static void node_number(cs *c, word out[2], const porep_challenge *in) {
    boolean bits[64];
    word_alloc_bits(c, out, 64, c->values ? in->labels[0].node : 0);
    for (unsigned i = 0; i < 64; i++) bits[i] = word_bit(&out[i / 32], i % 32);
    pack_into_inputs(c, bits, 64);
}

static void synthesize_labels(cs *c, const porep_params *p, const header *h, const word node[2], const column *parents,
                              num *labels) {
    label_words words[PARENTS];
    const label_words *list[PARENTS];
    for (unsigned i = 0; i < PARENTS; i++) list[i] = &words[i];
    for (unsigned layer = 0; layer < p->layers; layer++) {
        cs_push(c, "label", layer + 1);
        unsigned n = 0;
        for (; n < POREP_DRG_PARENTS; n++) porep_label_words(c, &words[n], &parents[n].rows[layer]);
        for (; layer > 0 && n < PARENTS; n++) porep_label_words(c, &words[n], &parents[n].rows[layer - 1]);
        labels[layer] = porep_label_circuit(c, &h->replica_id, layer + 1, node, list, n);
        cs_pop(c);
    }
}

static void synthesize_challenge(cs *c, const porep_params *p, const header *h, const porep_challenge *in) {
    column parents[PARENTS];
    num labels[POREP_MAX_LAYERS];
    word node[2];
    cs_push(c, "tree d", UINT32_MAX);
    num data = num_alloc(c, c->values ? &in->d.leaf : NULL);
    merkle_inclusion_circuit(c, &p->tree_d, c->values ? &in->d : NULL, &data, &h->comm_d);
    cs_pop(c);
    for (unsigned i = 0; i < PARENTS; i++) {
        bool drg = i < POREP_DRG_PARENTS;
        unsigned k = drg ? i : i - POREP_DRG_PARENTS;
        cs_push(c, drg ? "drg parent" : "expander parent", k);
        parent_column(c, p, h, &parents[i], !c->values ? NULL : drg ? &in->drg[k] : &in->exp[k]);
        cs_pop(c);
    }
    cs_push(c, "node number", UINT32_MAX);
    node_number(c, node, in);
    cs_pop(c);
    synthesize_labels(c, p, h, node, parents, labels);
    cs_push(c, "tree r", UINT32_MAX);
    num encoded = num_sum(c, &labels[p->layers - 1], &data);
    merkle_inclusion_circuit(c, &p->tree_r, c->values ? &in->r : NULL, &encoded, &h->comm_r_last);
    cs_pop(c);
    cs_push(c, "column", UINT32_MAX);
    num leaf = poseidon_circuit(c, poseidon_get(p->layers), labels);
    merkle_inclusion_circuit(c, &p->tree_r, c->values ? &in->x.path : NULL, &leaf, &h->comm_c);
    cs_pop(c);
}

void porep_synthesize(cs *c, const void *params, const void *instance) {
    const porep_params *p = params;
    const porep_partition *in = instance;
    header h;
    synthesize_header(c, &h, in);
    for (unsigned i = 0; i < p->challenges; i++) {
        cs_push(c, "challenge", i);
        if (cs_block_begin(c, i, p->challenges)) synthesize_challenge(c, p, &h, c->values ? &in->challenges[i] : NULL);
        cs_block_end(c);
        cs_pop(c);
    }
}
