/* Bincode of vanilla proofs.
 *
 * Every primitive checks that its bytes are there before it looks at them; the rest is order. A Merkle proof keeps root
 * and leaf before its path when the tree has one part (Single), and after its paths when it has two or three (Sub,
 * Top). Each path is a list of levels, a level a list of siblings and the position of the path's own node among them.
 */
#include "format/vanilla_bincode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void bincode_start(bincode_reader *b, const char *name, const void *data, size_t len) {
    *b = (bincode_reader){.name = name, .data = data, .len = len};
}

void bincode_enter(bincode_reader *b, const char *part, uint64_t index) {
    assert(b->depth < BINCODE_MAX_DEPTH);
    b->part[b->depth].name = part;
    b->part[b->depth++].index = index;
}

void bincode_leave(bincode_reader *b) {
    assert(b->depth > 0);
    b->depth--;
}

cuzk_status bincode_refuse(const bincode_reader *b, size_t at, const char *field, const char *what, cuzk_error *err) {
    char text[sizeof err->where];
    size_t n = 0;
    text[0] = 0;
    for (unsigned i = 0; i < b->depth && n < sizeof text; i++) {
        if (b->part[i].index == UINT64_MAX)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s, ", b->part[i].name);
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %llu, ", b->part[i].name,
                                  (unsigned long long)b->part[i].index);
    }
    cuzk_fail(err, CUZK_MALFORMED, "%s", what);
    return cuzk_fail_where(err, "%s: byte %zu, %s%s", b->name, at, text, field);
}

static const uint8_t *take(bincode_reader *b, const char *field, size_t n, cuzk_error *err) {
    if (b->len - b->at >= n) {
        const uint8_t *at = b->data + b->at;
        b->at += n;
        return at;
    }
    bincode_refuse(b, b->at, field, "the vanilla proof is cut off", err);
    cuzk_fail_expected(err, "%zu more bytes", n);
    cuzk_fail_found(err, "%zu, the file has %zu bytes", b->len - b->at, b->len);
    return NULL;
}

static uint64_t little_endian(const uint8_t *at, unsigned n) {
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

cuzk_status bincode_u32(bincode_reader *b, const char *field, uint32_t *out, cuzk_error *err) {
    const uint8_t *at = take(b, field, 4, err);
    if (!at) return err->status;
    *out = (uint32_t)little_endian(at, 4);
    return CUZK_OK;
}

cuzk_status bincode_u64(bincode_reader *b, const char *field, uint64_t *out, cuzk_error *err) {
    const uint8_t *at = take(b, field, 8, err);
    if (!at) return err->status;
    *out = little_endian(at, 8);
    return CUZK_OK;
}

cuzk_status bincode_bytes32(bincode_reader *b, const char *field, uint8_t out[32], cuzk_error *err) {
    const uint8_t *at = take(b, field, 32, err);
    if (!at) return err->status;
    memcpy(out, at, 32);
    return CUZK_OK;
}

cuzk_status bincode_fr(bincode_reader *b, const char *field, fr *out, cuzk_error *err) {
    const uint8_t *at = take(b, field, 32, err);
    if (!at) return err->status;
    if (fr_from_le_bytes(out, at)) return CUZK_OK;
    return bincode_refuse(b, b->at - 32, field, "a field element is not below the field's modulus", err);
}

static cuzk_status unexpected(const bincode_reader *b, size_t bytes, const char *field, const char *what,
                              uint64_t expected, uint64_t found, cuzk_error *err) {
    bincode_refuse(b, b->at - bytes, field, what, err);
    cuzk_fail_expected(err, "%llu", (unsigned long long)expected);
    return cuzk_fail_found(err, "%llu", (unsigned long long)found);
}

cuzk_status bincode_count(bincode_reader *b, const char *field, uint64_t expected, cuzk_error *err) {
    uint64_t found = 0;
    cuzk_status s = bincode_u64(b, field, &found, err);
    if (s != CUZK_OK || found == expected) return s;
    return unexpected(b, 8, field, "a list does not have the length that belongs there", expected, found, err);
}

cuzk_status bincode_end(const bincode_reader *b, cuzk_error *err) {
    if (b->at == b->len) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "bytes follow the vanilla proof's end");
    cuzk_fail_where(err, "%s: byte %zu", b->name, b->at);
    cuzk_fail_expected(err, "%zu bytes", b->at);
    return cuzk_fail_found(err, "%zu", b->len);
}

/* ---- Merkle proofs ---- */

size_t bincode_siblings(const merkle_form *form) {
    size_t n = 0;
    for (unsigned i = 0; i < form->levels; i++) n += form->arity[i] - 1u;
    return n;
}

size_t bincode_merkle_proof_bytes(const merkle_form *form, unsigned above) {
    return 4 + 2 * 32 + 8 * ((size_t)above + 1) + 16 * (size_t)form->levels + 32 * bincode_siblings(form);
}

/* Levels first .. first + n of the form; *siblings is moved on. */
static cuzk_status read_path(bincode_reader *b, const char *name, const merkle_form *form, unsigned first, unsigned n,
                             merkle_level *levels, fr **siblings, cuzk_error *err) {
    bincode_enter(b, name, UINT64_MAX);
    cuzk_status s = bincode_count(b, "number of levels", n, err);
    for (unsigned i = first; s == CUZK_OK && i < first + n; i++) {
        uint64_t index = 0;
        unsigned arity = form->arity[i];
        bincode_enter(b, "level", i - first);
        levels[i].siblings = *siblings;
        s = bincode_count(b, "number of hashes", arity - 1u, err);
        for (unsigned j = 0; s == CUZK_OK && j + 1 < arity; j++) s = bincode_fr(b, "hash", (*siblings)++, err);
        if (s == CUZK_OK) s = bincode_u64(b, "index", &index, err);
        if (s == CUZK_OK && index >= arity)
            s = unexpected(b, 8, "index", "a path's position is not below the tree's arity", arity - 1u, index, err);
        levels[i].index = (uint32_t)index;
        if (s == CUZK_OK) bincode_leave(b);
    }
    if (s == CUZK_OK) bincode_leave(b);
    return s;
}

cuzk_status bincode_merkle_proof(bincode_reader *b, const merkle_form *form, unsigned above, merkle_level *levels,
                                 fr *siblings, merkle_path *path, cuzk_error *err) {
    static const char *const names[] = {"path of the base tree", "path of the sub tree", "path of the top tree"};
    uint32_t variant = 0;
    assert(above <= 2 && form->levels > above);
    unsigned base = form->levels - above;
    cuzk_status s = bincode_u32(b, "kind of tree", &variant, err);
    if (s == CUZK_OK && variant != above) {
        s = unexpected(b, 4, "kind of tree", "a Merkle proof is of a tree of another shape", above, variant, err);
        cuzk_fail_hint(err, "the proof may be of another sector size");
    }
    if (s == CUZK_OK && above == 0) s = bincode_fr(b, "root", &path->root, err);
    if (s == CUZK_OK && above == 0) s = bincode_fr(b, "leaf", &path->leaf, err);
    if (s == CUZK_OK) s = read_path(b, names[0], form, 0, base, levels, &siblings, err);
    for (unsigned i = 0; s == CUZK_OK && i < above; i++)
        s = read_path(b, names[i + 1], form, base + i, 1, levels, &siblings, err);
    if (s == CUZK_OK && above > 0) s = bincode_fr(b, "root", &path->root, err);
    if (s == CUZK_OK && above > 0) s = bincode_fr(b, "leaf", &path->leaf, err);
    path->level = levels;
    return s;
}

/* ---- writing ---- */

static uint8_t *room(bincode_writer *w, size_t n) {
    assert(w->cap - w->at >= n);
    w->at += n;
    return w->data + w->at - n;
}

static void put(bincode_writer *w, uint64_t v, unsigned n) {
    uint8_t *to = room(w, n);
    for (unsigned i = 0; i < n; i++) to[i] = (uint8_t)(v >> (8 * i));
}

void bincode_put_u32(bincode_writer *w, uint32_t v) {
    put(w, v, 4);
}

void bincode_put_u64(bincode_writer *w, uint64_t v) {
    put(w, v, 8);
}

void bincode_put_bytes32(bincode_writer *w, const uint8_t v[32]) {
    memcpy(room(w, 32), v, 32);
}

void bincode_put_fr(bincode_writer *w, const fr *v) {
    fr_to_le_bytes(room(w, 32), v);
}

static void put_path(bincode_writer *w, const merkle_form *form, unsigned first, unsigned n, const merkle_path *path) {
    bincode_put_u64(w, n);
    for (unsigned i = first; i < first + n; i++) {
        bincode_put_u64(w, form->arity[i] - 1u);
        for (unsigned j = 0; j + 1 < form->arity[i]; j++) bincode_put_fr(w, &path->level[i].siblings[j]);
        bincode_put_u64(w, path->level[i].index);
    }
}

void bincode_put_merkle_proof(bincode_writer *w, const merkle_form *form, unsigned above, const merkle_path *path) {
    unsigned base = form->levels - above;
    bincode_put_u32(w, above);
    if (above == 0) {
        bincode_put_fr(w, &path->root);
        bincode_put_fr(w, &path->leaf);
    }
    put_path(w, form, 0, base, path);
    for (unsigned i = 0; i < above; i++) put_path(w, form, base + i, 1, path);
    if (above > 0) {
        bincode_put_fr(w, &path->root);
        bincode_put_fr(w, &path->leaf);
    }
}
