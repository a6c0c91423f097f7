/* The converted form of a proving key: a header and the five query sections as native points, page-aligned. Internal to
 * groth16/key*.c. */
#ifndef CUZK_GROTH16_KEY_CONVERT_H
#define CUZK_GROTH16_KEY_CONVERT_H

#include <assert.h>
#include "groth16/key.h"

#define CONVERTED_VERSION 1u
#define CONVERTED_HEADER_BYTES 8192u

typedef struct converted_header {
    char magic[8]; /* "cuzk-key" */
    uint32_t version, header_bytes;
    uint64_t dev, inode, bytes; /* of the .params file */
    int64_t mtime_ns, ctime_ns;
    uint8_t sha256[32], blake2b[64]; /* of the .params file */
    uint32_t count[PARAMS_SECTIONS];
    uint64_t offset[PARAMS_SECTIONS]; /* from the start of the converted file; [PARAMS_IC] is 0: ic is not converted */
    uint64_t total_bytes;
    char source[4096];
    uint8_t digest[32]; /* SHA-256 of everything above */
} converted_header;
static_assert(sizeof(converted_header) == 8 + 8 + 40 + 96 + 24 + 48 + 8 + 4096 + 32, "no padding");
static_assert(sizeof(converted_header) <= CONVERTED_HEADER_BYTES, "fits");

/* Identity, counts and layout; digests are filled by key_convert. */
void converted_header_make(converted_header *h, const char *path, const file_map *source, const params_view *v);
void converted_header_seal(converted_header *h);
/* True when h is sealed, of this version, and says what `wanted` (from converted_header_make) says. */
bool converted_header_fits(const converted_header *h, const converted_header *wanted);
/* True when the mapped file starts with a sealed header of this version and has the length it names. */
bool converted_file_sound(const file_map *m);

/* Decodes and checks all points of the queries and hashes the whole file, streaming. Exactly one of w (sections are
 * written at their offsets) and memory (sections at offset - CONVERTED_HEADER_BYTES) is given. KEY_DAMAGED names
 * section, index and byte of the first bad point. */
cuzk_status key_convert(converted_header *h, file_writer *w, uint8_t *memory, const char *path, const file_map *source,
                        const params_view *v, pool *p, const cuzk_control *control, cuzk_error *err);

/* Converts the source's points once more and compares them with a copy's. *index: of the first that differs, in
 * *section; UINT64_MAX: none. */
cuzk_status key_convert_compare(const converted_header *h, const uint8_t *copy, const file_map *source,
                                const params_view *v, params_section *section, uint64_t *index, pool *p,
                                const cuzk_control *control, cuzk_error *err);

#endif
