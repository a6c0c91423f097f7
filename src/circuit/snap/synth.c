/* Made-up sector updates: consistent in everything that a challenge looks at, at any sector size.
 *
 * Challenges follow from comm_r_new, so the whole of the new replica has to be known before them. The sector is made of
 * at most 4096 stretches of equal nodes: inside one all nodes of a tree's level are equal, so a level is known by one
 * node a stretch, and a tree of 2^31 leaves by some 60,000 hashes. Old replica and data are pseudo-random for each
 * stretch; rho is constant in a stretch because a stretch is never longer than 2^-h of the sector. comm_c is
 * pseudo-random. Sectors of up to 4096 nodes have no equal nodes at all. Pseudo-random values are SHA-256 of seed,
 * purpose and position.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/hash.h"
#include "circuit/facts.h"
#include "circuit/snap/snap.h"
#include "format/vanilla_bincode.h"

#define PATH_BYTES 4096
#define STRETCHES_LOG2 12
#define TILE_NODES 64

typedef enum { FREE_FACTS = 1, FREE_COMM_C, FREE_R_OLD, FREE_D_NEW } free_purpose;

static void free_value(fr *out, uint64_t seed, free_purpose purpose, uint64_t position) {
    uint8_t text[48] = "cuzk synthetic update", digest[32];
    for (int i = 0; i < 8; i++) {
        text[24 + i] = (uint8_t)(seed >> (8 * i));
        text[40 + i] = (uint8_t)(position >> (8 * i));
    }
    text[32] = (uint8_t)purpose;
    hash_sha256(digest, text, sizeof text);
    digest[31] &= 0x3f;
    bool below = fr_from_le_bytes(out, digest);
    assert(below); /* 254 bits */
    (void)below;
}

/* ---- trees of stretches ---- */

/* Node i of level l is node[l][i >> shift[l]]. */
typedef struct stretch_tree {
    const merkle_form *form;
    fr *node[MERKLE_MAX_LEVELS + 1];
    unsigned log2[MERKLE_MAX_LEVELS + 1]; /* of the nodes that are kept */
    unsigned shift[MERKLE_MAX_LEVELS + 1];
} stretch_tree;

static bool tree_place(stretch_tree *t, arena *a, const merkle_form *form, unsigned stretches_log2) {
    unsigned left = (unsigned)__builtin_ctzll(merkle_form_leaves(form));
    t->form = form;
    for (unsigned l = 0;; l++) {
        t->log2[l] = left < stretches_log2 ? left : stretches_log2;
        t->shift[l] = left - t->log2[l];
        t->node[l] = arena_alloc_array(a, (size_t)1 << t->log2[l], sizeof(fr));
        if (!t->node[l]) return false;
        if (l == form->levels) return true;
        left -= (unsigned)__builtin_ctz(form->arity[l]);
    }
}

static const fr *tree_node(const stretch_tree *t, unsigned level, uint64_t i) {
    return &t->node[level][i >> t->shift[level]];
}

typedef struct row_run {
    stretch_tree *tree;
    unsigned level; /* that is made */
} row_run;

static void row_tile(void *ctx, size_t tile, unsigned slot) {
    const row_run *run = ctx;
    const stretch_tree *t = run->tree;
    unsigned below = run->level - 1, arity = t->form->arity[below];
    size_t end = (size_t)1 << t->log2[run->level], to = (tile + 1) * TILE_NODES < end ? (tile + 1) * TILE_NODES : end;
    fr children[8];
    (void)slot;
    for (size_t i = tile * TILE_NODES; i < to; i++) {
        uint64_t first = ((uint64_t)i << t->shift[run->level]) * arity;
        for (unsigned j = 0; j < arity; j++) children[j] = *tree_node(t, below, first + j);
        merkle_hash_node(t->form->hash, arity, &t->node[run->level][i], children);
    }
}

/* The leaves are there. */
static cuzk_status tree_build(stretch_tree *t, pool *workers, const cuzk_control *control, cuzk_error *err) {
    for (unsigned l = 1; l <= t->form->levels; l++) {
        row_run run = {t, l};
        size_t tiles = (((size_t)1 << t->log2[l]) + TILE_NODES - 1) / TILE_NODES;
        cuzk_status s = pool_run(workers, control, "made-up trees", tiles, row_tile, &run, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

static const fr *tree_root(const stretch_tree *t) {
    return t->node[t->form->levels];
}

static void tree_path(const stretch_tree *t, uint64_t leaf, merkle_path *path, merkle_level **levels, fr **siblings) {
    path->leaf = *tree_node(t, 0, leaf);
    path->root = *tree_root(t);
    path->level = *levels;
    for (unsigned l = 0; l < t->form->levels; l++) {
        unsigned arity = t->form->arity[l], own = (unsigned)(leaf % arity);
        *(*levels)++ = (merkle_level){.siblings = *siblings, .index = own};
        for (unsigned j = 0; j < arity; j++)
            if (j != own) *(*siblings)++ = *tree_node(t, l, leaf - own + j);
        leaf /= arity;
    }
}

/* ---- a sector ---- */

typedef struct synth_run {
    const snap_params *params;
    uint64_t seed;
    const char *folder;
    stretch_tree r_old, d_new, r_new;
    fr comm_c, comm_r_old, comm_d_new, comm_r_new;
    pthread_mutex_t lock;
    cuzk_error fault; /* of any tile */
    atomic_bool failed;
} synth_run;

static void make_commitment(fr *out, const fr *comm_c, const fr *root) {
    fr both[2] = {*comm_c, *root};
    poseidon_hash(poseidon_get(2), out, both);
}

/* Needs old replica and data. */
static void encode(synth_run *run) {
    size_t n = (size_t)1 << run->r_new.log2[0];
    fr phi;
    snap_phi(&phi, &run->comm_d_new, &run->comm_r_old);
    for (size_t i = 0; i < n; i++) {
        fr *leaf = &run->r_new.node[0][i];
        snap_rho(run->params, leaf, &phi, (uint64_t)i << run->r_new.shift[0]);
        fr_mul(leaf, leaf, &run->d_new.node[0][i]);
        fr_add(leaf, leaf, &run->r_old.node[0][i]);
    }
}

static cuzk_status make_sector(synth_run *run, arena *a, pool *workers, const cuzk_control *control, cuzk_error *err) {
    const snap_params *p = run->params;
    unsigned stretches = p->challenge_bits < STRETCHES_LOG2 ? p->challenge_bits : STRETCHES_LOG2;
    assert(p->h <= stretches);
    if (!tree_place(&run->r_old, a, &p->tree_r, stretches) || !tree_place(&run->d_new, a, &p->tree_d, stretches) ||
        !tree_place(&run->r_new, a, &p->tree_r, stretches))
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a made-up sector");
    for (size_t i = 0; i < (size_t)1 << stretches; i++) {
        free_value(&run->r_old.node[0][i], run->seed, FREE_R_OLD, i);
        free_value(&run->d_new.node[0][i], run->seed, FREE_D_NEW, i);
    }
    free_value(&run->comm_c, run->seed, FREE_COMM_C, 0);
    cuzk_status s = tree_build(&run->r_old, workers, control, err);
    if (s == CUZK_OK) s = tree_build(&run->d_new, workers, control, err);
    if (s != CUZK_OK) return s;
    make_commitment(&run->comm_r_old, &run->comm_c, tree_root(&run->r_old));
    run->comm_d_new = *tree_root(&run->d_new);
    encode(run);
    s = tree_build(&run->r_new, workers, control, err);
    make_commitment(&run->comm_r_new, &run->comm_c, tree_root(&run->r_new));
    return s;
}

/* ---- files ---- */

static cuzk_status make_partition(const synth_run *run, unsigned k, arena *a, cuzk_error *err) {
    const snap_params *p = run->params;
    uint64_t challenges[SNAP_MAX_CHALLENGES];
    char path[PATH_BYTES];
    size_t levels_each = 2 * (size_t)p->tree_r.levels + p->tree_d.levels;
    size_t siblings_each = 2 * bincode_siblings(&p->tree_r) + bincode_siblings(&p->tree_d);
    snap_challenge *made = arena_alloc_array(a, p->challenges, sizeof *made);
    merkle_level *levels = arena_alloc_array(a, p->challenges * levels_each, sizeof *levels);
    fr *siblings = arena_alloc_array(a, p->challenges * siblings_each, sizeof *siblings);
    fr *apex = arena_alloc_array(a, p->apex_leaves, sizeof *apex);
    uint8_t *bytes = arena_alloc(a, snap_proof_bytes(p));
    if (!made || !levels || !siblings || !apex || !bytes)
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a made-up partition");
    for (unsigned i = 0; i < p->apex_leaves; i++)
        apex[i] = *tree_node(&run->d_new, p->data_levels, (uint64_t)k * p->apex_leaves + i);
    snap_challenges(p, &run->comm_r_new, k, challenges);
    for (unsigned i = 0; i < p->challenges; i++) {
        tree_path(&run->r_old, challenges[i], &made[i].r_old, &levels, &siblings);
        tree_path(&run->d_new, challenges[i], &made[i].d_new, &levels, &siblings);
        tree_path(&run->r_new, challenges[i], &made[i].r_new, &levels, &siblings);
    }
    snap_partition proof = {.k = k, .comm_c = run->comm_c, .apex = apex, .challenges = made};
    snap_proof_write(bytes, p, &proof);
    snprintf(path, sizeof path, "%s/vanilla-%u.bin", run->folder, k);
    return file_write_all(path, bytes, snap_proof_bytes(p), false, err);
}

static void partition_tile(void *ctx, size_t k, unsigned slot) {
    synth_run *run = ctx;
    cuzk_error err;
    (void)slot;
    if (atomic_load(&run->failed)) return;
    arena *a = arena_create(BUFFER_OTHER, 0, &err);
    cuzk_status s = a ? make_partition(run, (unsigned)k, a, &err) : err.status;
    arena_destroy(a);
    if (s == CUZK_OK) return;
    pthread_mutex_lock(&run->lock);
    if (!atomic_exchange(&run->failed, true)) run->fault = err;
    pthread_mutex_unlock(&run->lock);
}

static const char *registered_of(const snap_params *p) {
    snap_registered r;
    for (unsigned i = 0; snap_registered_name(i); i++) {
        const char *name = snap_registered_name(i);
        if (snap_registered_by_name(&r, name, strlen(name)) && r.sector_bytes == p->sector_bytes) return name;
    }
    return snap_registered_name(0);
}

static cuzk_status write_request(const synth_run *run, const char *path, cuzk_error *err) {
    fr facts;
    fr_canon limbs;
    free_value(&facts, run->seed, FREE_FACTS, 0);
    fr_to_canon(&limbs, &facts);
    json_out *o = json_out_create();
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    json_begin_object(o);
    json_put_key(o, "registered_proof");
    json_put_string(o, registered_of(run->params));
    json_put_key(o, "miner_id");
    json_put_u64(o, 1000 + limbs.l[0] % 1000000);
    json_put_key(o, "sector_number");
    json_put_u64(o, limbs.l[1] % 1000000);
    facts_put_node(o, "comm_r_old", &run->comm_r_old);
    facts_put_node(o, "comm_r_new", &run->comm_r_new);
    facts_put_node(o, "comm_d_new", &run->comm_d_new);
    json_end_object(o);
    cuzk_status s = facts_write(o, path, err);
    json_out_destroy(o);
    return s;
}

/* The request is written last: a folder that has one is whole. */
static cuzk_status write_all(synth_run *run, pool *workers, const cuzk_control *control, cuzk_error *err) {
    char path[PATH_BYTES];
    pthread_mutex_init(&run->lock, NULL);
    cuzk_status s = pool_run(workers, control, "made-up partitions", run->params->partitions, partition_tile, run, err);
    pthread_mutex_destroy(&run->lock);
    if (s == CUZK_OK && atomic_load(&run->failed)) {
        *err = run->fault;
        s = run->fault.status;
    }
    if (s != CUZK_OK) return s;
    snprintf(path, sizeof path, "%s/request.json", run->folder);
    return write_request(run, path, err);
}

cuzk_status snap_synth(const snap_params *p, uint64_t seed, const char *folder, pool *workers,
                       const cuzk_control *control, void (*wrote)(void *user, const char *what, const char *path),
                       void *user, cuzk_error *err) {
    synth_run run = {.params = p, .seed = seed, .folder = folder};
    char path[PATH_BYTES], what[32];
    if (strlen(folder) + sizeof "/vanilla-4294967295.bin" > PATH_BYTES)
        return cuzk_fail(err, CUZK_USAGE, "the path is too long");
    arena *a = arena_create(BUFFER_OTHER, 0, err);
    if (!a) return err->status;
    cuzk_status s = file_make_folders(folder, err);
    if (s == CUZK_OK) s = make_sector(&run, a, workers, control, err);
    if (s == CUZK_OK) s = write_all(&run, workers, control, err);
    if (s == CUZK_OK) {
        snprintf(path, sizeof path, "%s/request.json", folder);
        wrote(user, "request", path);
    }
    for (unsigned k = 0; s == CUZK_OK && k < p->partitions; k++) {
        snprintf(what, sizeof what, "vanilla-%u", k);
        snprintf(path, sizeof path, "%s/vanilla-%u.bin", folder, k);
        wrote(user, what, path);
    }
    arena_destroy(a);
    return s;
}
