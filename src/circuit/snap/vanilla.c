/* Reader and writer of a partition's vanilla update proof (PartitionProof in bincode).
 *
 * How many apex leaves and challenges there are, and the trees' shapes, follow from the circuit, so the memory is taken
 * before the first byte is looked at. A challenge's proofs come in the order old replica, data, new replica. Source:
 * docs/formats.md.
 */
#include <assert.h>
#include "base/text.h"
#include "circuit/snap/snap.h"
#include "format/vanilla_bincode.h"

#define HEAD_BYTES (32 + 8 + 8) /* comm_c and two counts */

static size_t challenge_bytes(const snap_params *p) {
    return 2 * bincode_merkle_proof_bytes(&p->tree_r, p->above) + bincode_merkle_proof_bytes(&p->tree_d, 0);
}

size_t snap_proof_bytes(const snap_params *p) {
    return HEAD_BYTES + 32 * (size_t)p->apex_leaves + p->challenges * challenge_bytes(p);
}

/* A file of another size mostly has that one's length exactly. */
static void tell_what_it_is(size_t len, cuzk_error *err) {
    snap_params q;
    for (unsigned log2 = 10; log2 <= 36; log2++) {
        char size[24];
        if (!snap_params_for(&q, (uint64_t)1 << log2, NULL) || snap_proof_bytes(&q) != len) continue;
        err->status = CUZK_FOREIGN;
        text_size(size, q.sector_bytes);
        cuzk_fail_hint(err, "its length is that of an update proof of a sector of %s", size);
        return;
    }
}

/* Where the values of one partition go. */
typedef struct room {
    fr *apex, *siblings;
    snap_challenge *challenges;
    merkle_level *levels;
} room;

static cuzk_status read_tree(bincode_reader *b, const char *name, const merkle_form *form, unsigned above, room *r,
                             merkle_path *path, cuzk_error *err) {
    bincode_enter(b, name, UINT64_MAX);
    cuzk_status s = bincode_merkle_proof(b, form, above, r->levels, r->siblings, path, err);
    if (s == CUZK_OK) bincode_leave(b);
    r->levels += form->levels;
    r->siblings += bincode_siblings(form);
    return s;
}

static cuzk_status read_proof(bincode_reader *b, snap_partition *out, const snap_params *p, room *r, cuzk_error *err) {
    cuzk_status s = bincode_fr(b, "comm_c", &out->comm_c, err);
    if (s == CUZK_OK) s = bincode_count(b, "number of apex leaves", p->apex_leaves, err);
    for (unsigned i = 0; s == CUZK_OK && i < p->apex_leaves; i++) {
        bincode_enter(b, "apex leaf", i);
        s = bincode_fr(b, "hash", &r->apex[i], err);
        if (s == CUZK_OK) bincode_leave(b);
    }
    if (s == CUZK_OK) s = bincode_count(b, "number of challenges", p->challenges, err);
    for (unsigned i = 0; s == CUZK_OK && i < p->challenges; i++) {
        snap_challenge *c = &r->challenges[i];
        bincode_enter(b, "challenge", i);
        s = read_tree(b, "tree r old", &p->tree_r, p->above, r, &c->r_old, err);
        if (s == CUZK_OK) s = read_tree(b, "tree d new", &p->tree_d, 0, r, &c->d_new, err);
        if (s == CUZK_OK) s = read_tree(b, "tree r new", &p->tree_r, p->above, r, &c->r_new, err);
        if (s == CUZK_OK) bincode_leave(b);
    }
    return s == CUZK_OK ? bincode_end(b, err) : s;
}

cuzk_status snap_proof_read(snap_partition *out, arena *memory, const snap_params *p, const char *name,
                            const void *data, size_t len, cuzk_error *err) {
    size_t levels = 2 * (size_t)p->tree_r.levels + p->tree_d.levels;
    size_t siblings = 2 * bincode_siblings(&p->tree_r) + bincode_siblings(&p->tree_d);
    room r = {.apex = arena_alloc_array(memory, p->apex_leaves, sizeof(fr)),
              .siblings = arena_alloc_array(memory, p->challenges * siblings, sizeof(fr)),
              .challenges = arena_alloc_array(memory, p->challenges, sizeof(snap_challenge)),
              .levels = arena_alloc_array(memory, p->challenges * levels, sizeof(merkle_level))};
    if (!r.apex || !r.siblings || !r.challenges || !r.levels)
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a vanilla proof");
    out->apex = r.apex;
    out->challenges = r.challenges;
    bincode_reader b;
    bincode_start(&b, name, data, len);
    cuzk_status s = read_proof(&b, out, p, &r, err);
    if (s != CUZK_OK && len != snap_proof_bytes(p)) {
        tell_what_it_is(len, err);
        s = err->status;
    }
    return s;
}

void snap_proof_write(uint8_t *to, const snap_params *p, const snap_partition *proof) {
    bincode_writer w = {.data = to, .cap = snap_proof_bytes(p)};
    bincode_put_fr(&w, &proof->comm_c);
    bincode_put_u64(&w, p->apex_leaves);
    for (unsigned i = 0; i < p->apex_leaves; i++) bincode_put_fr(&w, &proof->apex[i]);
    bincode_put_u64(&w, p->challenges);
    for (unsigned i = 0; i < p->challenges; i++) {
        const snap_challenge *c = &proof->challenges[i];
        bincode_put_merkle_proof(&w, &p->tree_r, p->above, &c->r_old);
        bincode_put_merkle_proof(&w, &p->tree_d, 0, &c->d_new);
        bincode_put_merkle_proof(&w, &p->tree_r, p->above, &c->r_new);
    }
    assert(w.at == w.cap);
}
