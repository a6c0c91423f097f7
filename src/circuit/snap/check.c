/* Vanilla verification of sector updates.
 *
 * A partition's commitments and apex are one tile of work, each of its challenges another. Of several faults the one
 * with the lowest partition and challenge is reported; inside a challenge the first in this order: places, roots,
 * paths, label, apex leaf. So the answer does not depend on the number of threads. Stricter than the reference, which
 * reads the roots of challenge 0 only: here every path's own root must be right, too. Source:
 * docs/circuits/snap.md.
 */
#include "circuit/fault.h"
#include "circuit/snap/snap.h"

typedef struct check_run {
    const snap_job *job;
    fr phi;
    fault_first fault;
} check_run;

/* One tile under check. */
typedef struct checked {
    const snap_params *p;
    const snap_request *facts;
    const snap_partition *partition;
    const fr *phi;
    cuzk_error err;
} checked;

/* ---- a partition ---- */

static bool check_commitment(checked *k, const char *part, const fr *root, const fr *comm) {
    fr both[2] = {k->partition->comm_c, *root}, hash;
    poseidon_hash(poseidon_get(2), &hash, both);
    return fault_same(&k->err, part, "the request's commitment is not the hash of comm_c and the tree's root", comm,
                      &hash);
}

/* From the apex leaves up to comm_d_new, beside the top of challenge 0's path. */
static bool check_apex(checked *k) {
    const snap_params *p = k->p;
    const merkle_path *path = &k->partition->challenges[0].d_new;
    fr row[SNAP_MAX_APEX];
    for (unsigned i = 0; i < p->apex_leaves; i++) row[i] = k->partition->apex[i];
    for (unsigned len = p->apex_leaves / 2; len > 0; len /= 2)
        for (unsigned i = 0; i < len; i++) merkle_hash_node(MERKLE_SHA256, 2, &row[i], &row[2 * i]);
    for (unsigned i = 0; i < p->partition_bits; i++) {
        bool right = (k->partition->k >> i & 1) != 0;
        fr both[2];
        both[right] = row[0];
        both[!right] = path->level[p->data_levels + p->apex_bits + i].siblings[0];
        merkle_hash_node(MERKLE_SHA256, 2, &row[0], both);
    }
    return fault_same(&k->err, "apex", "the apex leaves do not lead to comm_d_new", &k->facts->comm_d_new, &row[0]);
}

static bool check_partition(checked *k) {
    const snap_challenge *first = &k->partition->challenges[0];
    return check_commitment(k, "comm_r_old", &first->r_old.root, &k->facts->comm_r_old) &&
           check_commitment(k, "comm_r_new", &first->r_new.root, &k->facts->comm_r_new) && check_apex(k);
}

/* ---- a challenge ---- */

static bool check_place(checked *k, const char *part, const merkle_form *form, const merkle_path *path,
                        uint64_t challenge) {
    uint64_t index = merkle_path_index(form, path);
    if (fault_same_number(&k->err, part, "the path is not that of the challenged node", "node", challenge, index))
        return true;
    if (index >> k->p->random_bits != k->partition->k)
        cuzk_fail_hint(&k->err, "it is of partition %llu: give the partitions' files in order",
                       (unsigned long long)(index >> k->p->random_bits));
    return false;
}

static bool check_path(checked *k, const char *part, const merkle_form *form, const merkle_path *path,
                       const fr *expected, const char *root_what) {
    fr root;
    if (!fault_same(&k->err, part, root_what, expected, &path->root)) return false;
    merkle_path_root(form, path, &root);
    return fault_same(&k->err, part, "the path does not lead to its root", expected, &root);
}

static bool check_label(checked *k, const snap_challenge *c, uint64_t challenge) {
    fr rho, label;
    snap_rho(k->p, &rho, k->phi, challenge);
    fr_mul(&label, &c->d_new.leaf, &rho);
    fr_add(&label, &label, &c->r_old.leaf);
    return fault_same(&k->err, "label", "the new replica's leaf is not the old one plus data times rho", &label,
                      &c->r_new.leaf);
}

/* Where the data path meets the row of apex leaves. */
static bool check_apex_leaf(checked *k, const snap_challenge *c, uint64_t challenge) {
    const snap_params *p = k->p;
    merkle_form lowest = p->tree_d;
    fr node;
    lowest.levels = p->data_levels;
    merkle_path_root(&lowest, &c->d_new, &node);
    size_t at = (size_t)(challenge >> p->data_levels) & (p->apex_leaves - 1u);
    return fault_same(&k->err, "apex", "the data path does not meet its apex leaf", &k->partition->apex[at], &node);
}

static bool check_challenge(checked *k, unsigned i, uint64_t challenge) {
    const snap_params *p = k->p;
    const snap_challenge *c = &k->partition->challenges[i], *first = &k->partition->challenges[0];
    return check_place(k, "tree r old", &p->tree_r, &c->r_old, challenge) &&
           check_place(k, "tree d new", &p->tree_d, &c->d_new, challenge) &&
           check_place(k, "tree r new", &p->tree_r, &c->r_new, challenge) &&
           check_path(k, "tree r old", &p->tree_r, &c->r_old, &first->r_old.root, "the root is not challenge 0's") &&
           check_path(k, "tree d new", &p->tree_d, &c->d_new, &k->facts->comm_d_new, "the root is not comm_d_new") &&
           check_path(k, "tree r new", &p->tree_r, &c->r_new, &first->r_new.root, "the root is not challenge 0's") &&
           check_label(k, c, challenge) && check_apex_leaf(k, c, challenge);
}

/* ---- all ---- */

static void check_tile(void *ctx, size_t tile, unsigned slot) {
    check_run *run = ctx;
    const snap_job *j = run->job;
    unsigned tiles = 1 + j->params->challenges, partition = (unsigned)(tile / tiles), at = (unsigned)(tile % tiles);
    (void)slot;
    if (!fault_first_open(&run->fault, tile)) return;
    checked k = {.p = j->params, .facts = &j->request, .partition = &j->partitions[partition], .phi = &run->phi};
    if (at == 0) {
        if (check_partition(&k)) return;
        cuzk_fail_within(&k.err, "partition %u", partition);
    } else {
        uint64_t challenges[SNAP_MAX_CHALLENGES];
        snap_challenges(j->params, &j->request.comm_r_new, partition, challenges);
        if (check_challenge(&k, at - 1, challenges[at - 1])) return;
        cuzk_fail_within(&k.err, "partition %u, challenge %u (node %llu)", partition, at - 1,
                         (unsigned long long)challenges[at - 1]);
    }
    fault_first_note(&run->fault, tile, &k.err);
}

cuzk_status snap_vanilla_check(const snap_job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    check_run run = {.job = j};
    snap_phi(&run.phi, &j->request.comm_d_new, &j->request.comm_r_old);
    fault_first_init(&run.fault);
    size_t tiles = (size_t)j->params->partitions * (1 + j->params->challenges);
    cuzk_status s = pool_run(p, control, "vanilla proof", tiles, check_tile, &run, err);
    return fault_first_end(&run.fault, s, err);
}
