/* Vanilla verification: everything that the reference's own verifier of the vanilla proof checks, challenge by
 * challenge.
 *
 * Each challenge is one tile of work. Of several faults the one with the lowest partition and challenge is reported,
 * and inside a challenge the first in this order: challenge and parent numbers, tree D, columns and tree C,
 * commitments, labels, encoding, tree R. So the answer does not depend on the number of threads. Source:
 * docs/circuits/porep.md.
 */
#include "circuit/porep/vanilla.h"

#include <stdio.h>
#include <string.h>
#include "circuit/fault.h"
#include "circuit/porep/graph.h"
#include "math/poseidon.h"

typedef struct check_run {
    const porep_job *job;
    porep_graph graph;
    fault_first fault;
} check_run;

/* One challenge under check. */
typedef struct checked {
    const porep_job *job;
    const porep_partition *partition;
    const porep_challenge *c;
    cuzk_error err;
} checked;

static void column_name(char *out, size_t n, unsigned i) {
    if (i == 0)
        snprintf(out, n, "column of the challenge");
    else if (i <= POREP_DRG_PARENTS)
        snprintf(out, n, "column of drg parent %u", i - 1);
    else
        snprintf(out, n, "column of expander parent %u", i - 1 - POREP_DRG_PARENTS);
}

static bool check_tree(checked *k, const char *part, const merkle_form *f, const merkle_path *path, uint64_t node) {
    fr root;
    if (!fault_same_number(&k->err, part, "the path is of another node", "", node, merkle_path_index(f, path)))
        return false;
    merkle_path_root(f, path, &root);
    return fault_same(&k->err, part, "the path does not lead to its root", &path->root, &root);
}

static bool check_numbers(checked *k, const check_run *run, uint64_t challenge) {
    const porep_params *p = k->job->params;
    uint64_t parents[POREP_PARENTS];
    char part[64];
    for (unsigned i = 0; i <= p->layers; i++) {
        const porep_labeling *l = i < p->layers ? &k->c->labels[i] : &k->c->encoding;
        if (i < p->layers)
            snprintf(part, sizeof part, "label of layer %u", i + 1);
        else
            snprintf(part, sizeof part, "encoding");
        if (!fault_same_number(&k->err, part, "the node is not the challenge", "", challenge, l->node)) return false;
        if (!fault_same_number(&k->err, part, "the layer number is wrong", "", i < p->layers ? i + 1 : i, l->layer))
            return false;
    }
    porep_graph_parents(&run->graph, challenge, parents);
    for (unsigned i = 0; i <= POREP_PARENTS; i++) {
        column_name(part, sizeof part, i);
        uint64_t want = i == 0 ? challenge : parents[i - 1];
        if (!fault_same_number(&k->err, part, "the column is of another node", "", want,
                               porep_column_of(k->c, i)->index))
            return false;
    }
    return true;
}

static bool check_columns(checked *k) {
    const porep_params *p = k->job->params;
    char part[64];
    fr hash;
    for (unsigned i = 0; i <= POREP_PARENTS; i++) {
        const porep_column *col = porep_column_of(k->c, i);
        column_name(part, sizeof part, i);
        poseidon_hash(poseidon_get(p->layers), &hash, col->rows);
        if (!fault_same(&k->err, part, "the rows do not hash to the leaf", &col->path.leaf, &hash)) return false;
        if (!check_tree(k, part, &p->tree_r, &col->path, col->index)) return false;
        if (!fault_same(&k->err, part, "the root is not comm_c", &k->partition->comm_c, &col->path.root)) return false;
    }
    return true;
}

static bool check_commitments(checked *k) {
    const porep_partition *q = k->partition, *first = &k->job->partitions[0];
    fr both[2] = {q->comm_c, q->comm_r_last}, hash;
    poseidon_hash(poseidon_get(2), &hash, both);
    return fault_same(&k->err, "commitments", "comm_c is not that of the first challenge", &first->comm_c,
                      &q->comm_c) &&
           fault_same(&k->err, "commitments", "comm_r_last is not that of the first challenge", &first->comm_r_last,
                      &q->comm_r_last) &&
           fault_same(&k->err, "commitments", "comm_r is not the hash of comm_c and comm_r_last", &q->comm_r, &hash);
}

static bool check_labels(checked *k) {
    const porep_params *p = k->job->params;
    uint8_t bytes[POREP_PARENTS][32], label[32];
    char part[64];
    for (unsigned layer = 1; layer <= p->layers; layer++) {
        const porep_labeling *l = &k->c->labels[layer - 1];
        unsigned n = layer == 1 ? POREP_DRG_PARENTS : POREP_PARENTS;
        fr rows[POREP_PARENTS], made;
        snprintf(part, sizeof part, "label of layer %u", layer);
        /* DRG parents are of this layer, expander parents of the one below. */
        for (unsigned i = 0; i < n; i++) {
            rows[i] =
                i < POREP_DRG_PARENTS ? k->c->drg[i].rows[layer - 1] : k->c->exp[i - POREP_DRG_PARENTS].rows[layer - 2];
            fr_to_le_bytes(bytes[i], &rows[i]);
        }
        for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++)
            if (!fault_same(&k->err, part, "a parent is not its column's row", &rows[i % n], &l->parents[i]))
                return false;
        porep_label(label, k->job->replica_id, layer, l->node, (const uint8_t(*)[32])bytes, n);
        (void)fr_from_le_bytes(&made, label); /* 254 bits: always below the modulus */
        if (!fault_same(&k->err, part, "the label is not that of its parents", &made, &k->c->x.rows[layer - 1]))
            return false;
    }
    for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++)
        if (!fault_same(&k->err, "encoding", "a parent differs from the last layer's",
                        &k->c->labels[p->layers - 1].parents[i], &k->c->encoding.parents[i]))
            return false;
    return true;
}

static bool check_encoding(checked *k) {
    const porep_params *p = k->job->params;
    fr encoded;
    fr_add(&encoded, &k->c->x.rows[p->layers - 1], &k->c->d.leaf);
    return fault_same(&k->err, "encoding", "the replica leaf is not label plus data", &encoded, &k->c->r.leaf);
}

static bool check_challenge(checked *k, const check_run *run, uint64_t challenge) {
    const porep_params *p = k->job->params;
    return check_numbers(k, run, challenge) && check_tree(k, "tree D", &p->tree_d, &k->c->d, challenge) &&
           fault_same(&k->err, "tree D", "the root is not comm_d", &k->partition->comm_d, &k->c->d.root) &&
           check_columns(k) && check_tree(k, "tree R", &p->tree_r, &k->c->r, challenge) &&
           fault_same(&k->err, "tree R", "the root is not comm_r_last", &k->partition->comm_r_last, &k->c->r.root) &&
           check_commitments(k) && check_labels(k) && check_encoding(k);
}

static void check_tile(void *ctx, size_t tile, unsigned slot) {
    check_run *run = ctx;
    const porep_job *j = run->job;
    (void)slot;
    if (!fault_first_open(&run->fault, tile)) return;
    unsigned partition = (unsigned)(tile / j->params->challenges), i = (unsigned)(tile % j->params->challenges);
    uint64_t challenges[64];
    porep_challenges(j->params, j->replica_id, j->comm_r, j->seed, partition, challenges);
    checked k = {.job = j, .partition = &j->partitions[partition]};
    k.c = &k.partition->challenges[i];
    if (check_challenge(&k, run, challenges[i])) return;
    cuzk_fail_within(&k.err, "partition %u, challenge %u (node %llu)", partition, i, (unsigned long long)challenges[i]);
    fault_first_note(&run->fault, tile, &k.err);
}

cuzk_status porep_vanilla_check(const porep_job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    check_run run = {.job = j};
    porep_graph_init(&run.graph, j->params->nodes, j->registered.api_version, j->registered.porep_id);
    fault_first_init(&run.fault);
    cuzk_status s =
        pool_run(p, control, "vanilla proof", (size_t)j->n_partitions * j->params->challenges, check_tile, &run, err);
    return fault_first_end(&run.fault, s, err);
}
