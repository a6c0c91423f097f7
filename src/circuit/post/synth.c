/* Made-up PoSt sectors: consistent in everything that a challenge looks at, at any sector size.
 *
 * The challenges follow from randomness and sector number alone, so each sector's tree is made for its challenged
 * paths: level by level every path's node is hashed with its siblings, which are another path's node where the two meet
 * and pseudo-random by position elsewhere. comm_c is pseudo-random, comm_r its hash with the root. Every pseudo-random
 * value is SHA-256 of seed, sector, purpose, level and position, so the result does not depend on the number of
 * threads.
 */
#include "circuit/post/post.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "circuit/facts.h"
#include "circuit/porep/graph.h"
#include "format/vanilla_bincode.h"
#include "math/poseidon.h"

#define PATH_BYTES 4096

typedef enum { FREE_FACTS = 1, FREE_COMM_C, FREE_NODE } free_purpose;

static void free_bytes(uint8_t out[32], uint64_t seed, uint64_t sector, free_purpose purpose, unsigned level,
                       uint64_t position) {
    uint8_t text[48] = "cuzk synthetic PoSt";
    for (int i = 0; i < 8; i++) {
        text[20 + i] = (uint8_t)(seed >> (8 * i));
        text[28 + i] = (uint8_t)(sector >> (8 * i));
        text[38 + i] = (uint8_t)(position >> (8 * i));
    }
    text[36] = (uint8_t)purpose;
    text[37] = (uint8_t)level;
    hash_sha256(out, text, sizeof text);
    out[31] &= 0x3f;
}

static void free_value(fr *out, uint64_t seed, uint64_t sector, free_purpose purpose, unsigned level,
                       uint64_t position) {
    uint8_t bytes[32];
    free_bytes(bytes, seed, sector, purpose, level, position);
    bool below = fr_from_le_bytes(out, bytes);
    assert(below); /* 254 bits */
    (void)below;
}

typedef struct synth_run {
    const post_params *params;
    post_job job; /* request with sectors; comm_r is filled in by the tiles */
    post_sector *sectors;
    uint64_t seed;
    const char *folder;
    pthread_mutex_t lock;
    cuzk_error fault; /* of any tile */
    atomic_bool failed;
} synth_run;

/* Nodes of all paths on the level that is being made. */
typedef struct climb {
    unsigned n;
    uint64_t index[POST_MAX_CHALLENGES];
    fr value[POST_MAX_CHALLENGES];
} climb;

static void node_value(const synth_run *run, uint64_t sector, const climb *c, unsigned level, uint64_t index, fr *out) {
    for (unsigned i = 0; i < c->n; i++) {
        if (c->index[i] != index) continue;
        *out = c->value[i];
        return;
    }
    free_value(out, run->seed, sector, FREE_NODE, level, index);
}

/* All paths of one sector. levels and siblings are those that the paths point to. */
static void make_paths(const synth_run *run, uint64_t sector, const uint64_t *challenges, merkle_path *paths,
                       merkle_level *levels, fr *siblings) {
    const merkle_form *form = &run->params->tree;
    size_t each = bincode_siblings(form), done = 0;
    climb now, up;
    now.n = up.n = post_challenges_of_sector(run->params);
    for (unsigned i = 0; i < now.n; i++) {
        now.index[i] = challenges[i];
        free_value(&now.value[i], run->seed, sector, FREE_NODE, 0, challenges[i]);
        paths[i].leaf = now.value[i];
        paths[i].level = levels + (size_t)i * form->levels;
    }
    for (unsigned l = 0; l < form->levels; l++) {
        unsigned arity = form->arity[l];
        for (unsigned i = 0; i < now.n; i++) {
            fr children[8], *to = siblings + i * each + done;
            unsigned own = (unsigned)(now.index[i] % arity);
            levels[(size_t)i * form->levels + l] = (merkle_level){.siblings = to, .index = own};
            for (unsigned k = 0; k < arity; k++) {
                node_value(run, sector, &now, l, now.index[i] - own + k, &children[k]);
                if (k != own) *to++ = children[k];
            }
            up.index[i] = now.index[i] / arity;
            merkle_hash_node(form->hash, arity, &up.value[i], children);
        }
        done += arity - 1u;
        now = up;
    }
    for (unsigned i = 0; i < now.n; i++) paths[i].root = now.value[0];
}

static cuzk_status make_sector(synth_run *run, size_t i, arena *a, cuzk_error *err) {
    const post_params *p = run->params;
    const post_request *q = &run->job.request;
    unsigned n = post_challenges_of_sector(p);
    uint64_t challenges[POST_MAX_CHALLENGES], number = run->sectors[i].number;
    char path[PATH_BYTES];
    merkle_path *paths = arena_alloc_array(a, n, sizeof *paths);
    merkle_level *levels = arena_alloc_array(a, (size_t)n * p->tree.levels, sizeof *levels);
    fr *siblings = arena_alloc_array(a, n * bincode_siblings(&p->tree), sizeof *siblings);
    uint8_t *bytes = arena_alloc(a, post_proof_bytes(p));
    if (!paths || !levels || !siblings || !bytes) return cuzk_fail(err, CUZK_MEMORY, "no memory for a made-up sector");
    post_challenges(p, q->registered.api_version, q->randomness, number,
                    post_sector_position(&run->job, 0, (unsigned)i), challenges);
    make_paths(run, number, challenges, paths, levels, siblings);
    post_proof proof = {.number = number, .comm_r_last = paths[0].root, .paths = paths};
    free_value(&proof.comm_c, run->seed, number, FREE_COMM_C, 0, 0);
    fr both[2] = {proof.comm_c, proof.comm_r_last}, comm_r;
    poseidon_hash(poseidon_get(2), &comm_r, both);
    fr_to_le_bytes(proof.comm_r, &comm_r);
    memcpy(run->sectors[i].comm_r, proof.comm_r, 32);
    post_proof_write(bytes, p, &proof);
    snprintf(path, sizeof path, "%s/vanilla-%zu.bin", run->folder, i);
    return file_write_all(path, bytes, post_proof_bytes(p), false, err);
}

static void sector_tile(void *ctx, size_t i, unsigned slot) {
    synth_run *run = ctx;
    cuzk_error err;
    (void)slot;
    if (atomic_load(&run->failed)) return;
    arena *a = arena_create(BUFFER_OTHER, (size_t)1 << 19, &err);
    cuzk_status s = a ? make_sector(run, i, a, &err) : err.status;
    arena_destroy(a);
    if (s == CUZK_OK) return;
    pthread_mutex_lock(&run->lock);
    if (!atomic_exchange(&run->failed, true)) run->fault = err;
    pthread_mutex_unlock(&run->lock);
}

/* The newest registered proof of the size, or 2 KiB's. */
static void choose_registered(post_registered *out, const post_params *p) {
    unsigned first = p->kind == POST_WINNING ? 0 : 10;
    for (unsigned number = first; number < first + 5; number++) {
        const char *name = post_registered_name(number);
        bool known = post_registered_by_name(out, name, strlen(name));
        assert(known);
        (void)known;
        if (out->sector_bytes == p->sector_bytes) return;
    }
    const char *smallest = post_registered_name(first);
    post_registered_by_name(out, smallest, strlen(smallest));
}

static void make_facts(synth_run *run) {
    post_request *q = &run->job.request;
    uint8_t b[32];
    uint64_t numbers[2];
    choose_registered(&q->registered, run->params);
    free_bytes(b, run->seed, 0, FREE_FACTS, 0, 0);
    memcpy(numbers, b, sizeof numbers);
    q->has_prover = true;
    porep_prover_id(q->prover_id, 1000 + numbers[0] % 1000000);
    free_bytes(q->randomness, run->seed, 0, FREE_FACTS, 0, 1);
    uint64_t number = numbers[1] % 1000000;
    for (size_t i = 0; i < q->n; i++) {
        run->sectors[i].number = number;
        free_bytes(b, run->seed, i, FREE_FACTS, 0, 2);
        number += 1 + b[0] % 9;
    }
}

static cuzk_status write_request(const post_request *q, const char *path, cuzk_error *err) {
    uint64_t miner = 0;
    json_out *o = json_out_create();
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    json_begin_object(o);
    json_put_key(o, "registered_proof");
    json_put_string(o, post_registered_name(q->registered.number));
    if (porep_miner_id(&miner, q->prover_id)) {
        json_put_key(o, "miner_id");
        json_put_u64(o, miner);
    }
    facts_put_bytes(o, "prover_id", q->prover_id);
    facts_put_bytes(o, "randomness", q->randomness);
    json_put_key(o, "sectors");
    json_begin_array(o);
    for (size_t i = 0; i < q->n; i++) {
        json_begin_object(o);
        json_put_key(o, "number");
        json_put_u64(o, q->sectors[i].number);
        facts_put_bytes(o, "comm_r", q->sectors[i].comm_r);
        json_end_object(o);
    }
    json_end_array(o);
    json_end_object(o);
    cuzk_status s = facts_write(o, path, err);
    json_out_destroy(o);
    return s;
}

/* The request is written last: a folder that has one is whole. */
static cuzk_status write_all(synth_run *run, pool *workers, const cuzk_control *control, cuzk_error *err) {
    char path[PATH_BYTES];
    pthread_mutex_init(&run->lock, NULL);
    cuzk_status s = pool_run(workers, control, "made-up sectors", run->job.request.n, sector_tile, run, err);
    pthread_mutex_destroy(&run->lock);
    if (s == CUZK_OK && atomic_load(&run->failed)) {
        *err = run->fault;
        s = run->fault.status;
    }
    if (s != CUZK_OK) return s;
    snprintf(path, sizeof path, "%s/request.json", run->folder);
    return write_request(&run->job.request, path, err);
}

cuzk_status post_synth(const post_params *p, uint64_t seed, const char *folder, pool *workers,
                       const cuzk_control *control, void (*wrote)(void *user, const char *what, const char *path),
                       void *user, cuzk_error *err) {
    synth_run run = {.params = p, .seed = seed, .folder = folder};
    char path[PATH_BYTES], what[32];
    if (strlen(folder) + sizeof "/vanilla-18446744073709551615.bin" > PATH_BYTES)
        return cuzk_fail(err, CUZK_USAGE, "the path is too long");
    arena *a = arena_create(BUFFER_REQUEST, 0, err);
    if (!a) return err->status;
    run.job.params = p;
    run.job.request.n = post_sectors(p);
    run.sectors = arena_alloc_array(a, run.job.request.n, sizeof *run.sectors);
    run.job.request.sectors = run.sectors;
    cuzk_status s =
        run.sectors ? file_make_folders(folder, err) : cuzk_fail(err, CUZK_MEMORY, "no memory for made-up sectors");
    if (s == CUZK_OK) {
        make_facts(&run);
        s = write_all(&run, workers, control, err);
    }
    if (s == CUZK_OK) {
        snprintf(path, sizeof path, "%s/request.json", folder);
        wrote(user, "request", path);
    }
    for (size_t i = 0; s == CUZK_OK && i < run.job.request.n; i++) {
        snprintf(what, sizeof what, "vanilla-%zu", i);
        snprintf(path, sizeof path, "%s/vanilla-%zu.bin", folder, i);
        wrote(user, what, path);
    }
    arena_destroy(a);
    return s;
}
