/* Vanilla verification of PoSt.
 *
 * Each sector is one tile of work. Of several faults the first by sector is reported, inside a sector comm_r's first,
 * then by challenge: the path's place, its root, where it leads. Stricter than the reference, which takes the root of
 * the first inclusion proof for comm_r_last and looks at one slot only of a winning proof: here every root and the
 * field itself must be the same, and every path of a winning proof is followed. Source:
 * docs/circuits/post.md.
 */
#include "circuit/post/post.h"

#include "circuit/fault.h"
#include "math/poseidon.h"

typedef struct check_run {
    const post_job *job;
    fault_first fault; /* by sector */
} check_run;

static bool check_path(cuzk_error *err, const post_params *p, const merkle_path *path, uint64_t challenge,
                       const fr *comm_r_last) {
    fr root;
    uint64_t index = merkle_path_index(&p->tree, path);
    if (!fault_same_number(err, "path", "the path is not that of the challenged leaf", "leaf", challenge, index))
        return false;
    if (!fault_same(err, "root", "the root is not comm_r_last", comm_r_last, &path->root)) return false;
    merkle_path_root(&p->tree, path, &root);
    return fault_same(err, "path", "the path does not lead to its root", comm_r_last, &root);
}

static bool check_sector(const post_job *j, unsigned partition, unsigned slot, size_t sector, cuzk_error *err) {
    const post_params *p = j->params;
    const post_proof *proof = &j->proofs[sector];
    const post_request *q = &j->request;
    uint64_t challenges[POST_MAX_CHALLENGES];
    fr both[2] = {proof->comm_c, proof->comm_r_last}, hash, comm_r;
    bool ok = fr_from_le_bytes(&comm_r, q->sectors[sector].comm_r); /* since opening */
    poseidon_hash(poseidon_get(2), &hash, both);
    ok = ok && fault_same(err, "commitments", "comm_r is not the hash of comm_c and comm_r_last", &comm_r, &hash);
    post_challenges(p, q->registered.api_version, q->randomness, q->sectors[sector].number,
                    post_sector_position(j, partition, slot), challenges);
    for (unsigned i = 0; ok && i < post_challenges_of_sector(p); i++) {
        ok = check_path(err, p, &proof->paths[i], challenges[i], &proof->comm_r_last);
        if (!ok) cuzk_fail_within(err, "challenge %u (leaf %llu)", i, (unsigned long long)challenges[i]);
    }
    if (!ok)
        cuzk_fail_within(err, "partition %u, sector %llu (number %zu in the request)", partition,
                         (unsigned long long)q->sectors[sector].number, sector);
    return ok;
}

static void check_tile(void *ctx, size_t sector, unsigned pool_slot) {
    check_run *run = ctx;
    unsigned sectors = post_sectors(run->job->params);
    cuzk_error err = {0};
    (void)pool_slot;
    if (!fault_first_open(&run->fault, sector)) return;
    if (check_sector(run->job, (unsigned)(sector / sectors), (unsigned)(sector % sectors), sector, &err)) return;
    fault_first_note(&run->fault, sector, &err);
}

cuzk_status post_vanilla_check(const post_job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    check_run run = {.job = j};
    fault_first_init(&run.fault);
    cuzk_status s = pool_run(p, control, "vanilla proof", j->request.n, check_tile, &run, err);
    return fault_first_end(&run.fault, s, err);
}
