/* Merkle paths as values. Source: docs/circuits/gadgets.md. */
#include "gadget/merkle_path.h"

#include <assert.h>
#include "base/hash.h"
#include "math/poseidon.h"

static unsigned log2_exact(uint64_t n) {
    assert(n != 0 && (n & (n - 1)) == 0);
    return (unsigned)__builtin_ctzll(n);
}

uint64_t merkle_form_leaves(const merkle_form *f) {
    uint64_t n = 1;
    for (unsigned i = 0; i < f->levels; i++) n *= f->arity[i];
    return n;
}

uint64_t merkle_path_index(const merkle_form *f, const merkle_path *p) {
    uint64_t index = 0, scale = 1;
    for (unsigned i = 0; i < f->levels; i++) {
        index += scale * p->level[i].index;
        scale *= f->arity[i];
    }
    return index;
}

static bool arity_known(unsigned a) {
    return a == 2 || a == 4 || a == 8;
}

bool merkle_form_poseidon(merkle_form *f, uint64_t nodes, unsigned u, unsigned v, unsigned w) {
    memset(f, 0, sizeof *f);
    f->hash = MERKLE_POSEIDON;
    if (!arity_known(u) || (v != 0 && !arity_known(v)) || (w != 0 && (v == 0 || !arity_known(w)))) return false;
    uint64_t above = (v != 0 ? v : 1) * (w != 0 ? w : 1), base = nodes / above;
    if (base * above != nodes) return false;
    while (base > 1 && base % u == 0) {
        if (f->levels + 2 >= MERKLE_MAX_LEVELS) return false;
        f->arity[f->levels++] = (uint8_t)u;
        base /= u;
    }
    if (base != 1 || f->levels == 0) return false;
    if (v != 0) f->arity[f->levels++] = (uint8_t)v;
    if (w != 0) f->arity[f->levels++] = (uint8_t)w;
    return true;
}

void merkle_form_sha256(merkle_form *f, uint64_t nodes) {
    memset(f, 0, sizeof *f);
    f->hash = MERKLE_SHA256;
    f->levels = log2_exact(nodes);
    assert(f->levels <= MERKLE_MAX_LEVELS);
    memset(f->arity, 2, f->levels);
}

void merkle_hash_node(merkle_hash hash, unsigned arity, fr *out, const fr *children) {
    if (hash == MERKLE_POSEIDON) {
        poseidon_hash(poseidon_get(arity), out, children);
        return;
    }
    uint8_t bytes[8 * 32], digest[32];
    assert(arity <= 8);
    for (unsigned i = 0; i < arity; i++) fr_to_le_bytes(bytes + 32 * i, &children[i]);
    hash_sha256(digest, bytes, 32 * (size_t)arity);
    digest[31] &= 0x3f; /* 254 bits are always below r */
    bool below = fr_from_le_bytes(out, digest);
    assert(below);
    (void)below;
}

void merkle_path_root(const merkle_form *f, const merkle_path *p, fr *out) {
    fr cur = p->leaf, children[8];
    for (unsigned i = 0; i < f->levels; i++) {
        const merkle_level *l = &p->level[i];
        unsigned arity = f->arity[i], from = 0;
        assert(arity <= 8 && l->index < arity);
        for (unsigned j = 0; j < arity; j++) children[j] = j == l->index ? cur : l->siblings[from++];
        merkle_hash_node(f->hash, arity, &cur, children);
    }
    *out = cur;
}
