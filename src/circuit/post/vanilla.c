/* Reader and writer of a sector's vanilla PoSt proof (FallbackPoStSectorProof in bincode).
 *
 * How many inclusion proofs there are, and of which shape, follows from the circuit, so the memory is taken before the
 * first byte is looked at. Source: docs/formats.md.
 */
#include "circuit/post/post.h"

#include <assert.h>
#include <string.h>
#include "base/text.h"
#include "format/vanilla_bincode.h"

#define HEAD_BYTES (8 + 32 + 8 + 8) /* sector number, comm_r, two counts */

size_t post_proof_bytes(const post_params *p) {
    return HEAD_BYTES + post_challenges_of_sector(p) * bincode_merkle_proof_bytes(&p->tree, p->above) + 2 * 32;
}

/* A file of another kind or size mostly has that one's length exactly. */
static void tell_what_it_is(size_t len, cuzk_error *err) {
    post_params q;
    for (int kind = POST_WINNING; kind <= POST_WINDOW; kind++) {
        for (unsigned log2 = 11; log2 <= 36; log2++) {
            char size[24];
            if (!post_params_for(&q, (post_kind)kind, (uint64_t)1 << log2) || post_proof_bytes(&q) != len) continue;
            err->status = CUZK_FOREIGN;
            text_size(size, q.sector_bytes);
            cuzk_fail_hint(err, "its length is that of a %s proof of a sector of %s", post_kind_name((post_kind)kind),
                           size);
            return;
        }
    }
}

static cuzk_status read_proof(bincode_reader *b, post_proof *out, const post_params *p, merkle_path *paths,
                              merkle_level *levels, fr *siblings, cuzk_error *err) {
    unsigned n = post_challenges_of_sector(p);
    size_t each = bincode_siblings(&p->tree);
    cuzk_status s = bincode_u64(b, "sector number", &out->number, err);
    if (s == CUZK_OK) s = bincode_bytes32(b, "comm_r", out->comm_r, err);
    if (s == CUZK_OK) s = bincode_count(b, "number of sector proofs", 1, err);
    if (s == CUZK_OK) s = bincode_count(b, "number of inclusion proofs", n, err);
    for (unsigned i = 0; s == CUZK_OK && i < n; i++) {
        bincode_enter(b, "inclusion proof", i);
        s = bincode_merkle_proof(b, &p->tree, p->above, levels + (size_t)i * p->tree.levels, siblings + i * each,
                                 &paths[i], err);
        if (s == CUZK_OK) bincode_leave(b);
    }
    if (s == CUZK_OK) s = bincode_fr(b, "comm_c", &out->comm_c, err);
    if (s == CUZK_OK) s = bincode_fr(b, "comm_r_last", &out->comm_r_last, err);
    return s == CUZK_OK ? bincode_end(b, err) : s;
}

cuzk_status post_proof_read(post_proof *out, arena *memory, const post_params *p, const char *name, const void *data,
                            size_t len, cuzk_error *err) {
    unsigned n = post_challenges_of_sector(p);
    merkle_path *paths = arena_alloc_array(memory, n, sizeof *paths);
    merkle_level *levels = arena_alloc_array(memory, (size_t)n * p->tree.levels, sizeof *levels);
    fr *siblings = arena_alloc_array(memory, n * bincode_siblings(&p->tree), sizeof *siblings);
    if (!paths || !levels || !siblings) return cuzk_fail(err, CUZK_MEMORY, "no memory for a vanilla proof");
    bincode_reader b;
    bincode_start(&b, name, data, len);
    cuzk_status s = read_proof(&b, out, p, paths, levels, siblings, err);
    if (s != CUZK_OK && len != post_proof_bytes(p)) {
        tell_what_it_is(len, err);
        s = err->status;
    }
    out->paths = paths;
    return s;
}

void post_proof_write(uint8_t *to, const post_params *p, const post_proof *proof) {
    bincode_writer w = {.data = to, .cap = post_proof_bytes(p)};
    unsigned n = post_challenges_of_sector(p);
    bincode_put_u64(&w, proof->number);
    bincode_put_bytes32(&w, proof->comm_r);
    bincode_put_u64(&w, 1);
    bincode_put_u64(&w, n);
    for (unsigned i = 0; i < n; i++) bincode_put_merkle_proof(&w, &p->tree, p->above, &proof->paths[i]);
    bincode_put_fr(&w, &proof->comm_c);
    bincode_put_fr(&w, &proof->comm_r_last);
    assert(w.at == w.cap);
}
