/* Vanilla proofs in bincode 1.x with its default options, as the official PoSt and sector update APIs emit them.
 *
 * Integers are little-endian of fixed width, a list is a u64 length and its elements, an enum a u32 number, a fixed
 * array its bytes. A proof's form follows from its circuit, so every length in a file must be the one that is expected:
 * nothing is ever allocated from a length that a file claims, and any other length is refused. Errors (MALFORMED) name
 * the file, the byte and the field. Not thread-safe; data is borrowed as long as the reader is used.
 * Source: docs/formats.md.
 */
#ifndef CUZK_FORMAT_VANILLA_BINCODE_H
#define CUZK_FORMAT_VANILLA_BINCODE_H

#include <stddef.h>
#include "cuzk/error.h"
#include "gadget/merkle_path.h"

#define BINCODE_MAX_DEPTH 6

/* ---- reading ---- */
typedef struct bincode_reader {
    const char *name; /* of the file, for errors */
    const uint8_t *data;
    size_t len, at;
    struct {
        const char *name; /* static string */
        uint64_t index;   /* UINT64_MAX: none */
    } part[BINCODE_MAX_DEPTH];
    unsigned depth;
} bincode_reader;

void bincode_start(bincode_reader *b, const char *name, const void *data, size_t len);
/* The part of the proof that is read next, for errors: "inclusion proof 5". */
void bincode_enter(bincode_reader *b, const char *part, uint64_t index);
void bincode_leave(bincode_reader *b);

cuzk_status bincode_u32(bincode_reader *b, const char *field, uint32_t *out, cuzk_error *err);
cuzk_status bincode_u64(bincode_reader *b, const char *field, uint64_t *out, cuzk_error *err);
cuzk_status bincode_bytes32(bincode_reader *b, const char *field, uint8_t out[32], cuzk_error *err);
/* 32 bytes that must be below the field's modulus. */
cuzk_status bincode_fr(bincode_reader *b, const char *field, fr *out, cuzk_error *err);
/* The length of a list, which must be `expected`. */
cuzk_status bincode_count(bincode_reader *b, const char *field, uint64_t expected, cuzk_error *err);
/* Nothing may follow. */
cuzk_status bincode_end(const bincode_reader *b, cuzk_error *err);
/* A MALFORMED error about the field that began at byte `at`, for callers that know more of what belongs there. */
cuzk_status bincode_refuse(const bincode_reader *b, size_t at, const char *field, const char *what, cuzk_error *err);

/* A Merkle proof of a tree U-V-W. `above` is how many levels of the form are sub and top tree (0 Single, 1 Sub, 2 Top:
 * the enum's number). levels has form->levels entries, siblings Σ (arity - 1); both are the caller's and filled in, and
 * path->level is set to levels. */
cuzk_status bincode_merkle_proof(bincode_reader *b, const merkle_form *form, unsigned above, merkle_level *levels,
                                 fr *siblings, merkle_path *path, cuzk_error *err);
/* Bytes of such a proof, and its siblings. */
size_t bincode_merkle_proof_bytes(const merkle_form *form, unsigned above);
size_t bincode_siblings(const merkle_form *form);

/* ---- writing, into memory that the caller has measured ---- */
typedef struct bincode_writer {
    uint8_t *data;
    size_t at, cap;
} bincode_writer;

void bincode_put_u32(bincode_writer *w, uint32_t v);
void bincode_put_u64(bincode_writer *w, uint64_t v);
void bincode_put_bytes32(bincode_writer *w, const uint8_t v[32]);
void bincode_put_fr(bincode_writer *w, const fr *v);
void bincode_put_merkle_proof(bincode_writer *w, const merkle_form *form, unsigned above, const merkle_path *path);

#endif
