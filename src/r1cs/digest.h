/* The structure digest as a stream of bytes: shared by the hasher (from a running circuit) and by shape_hash (from a
 * shape). Private to src/r1cs. Format: bellpepper-core's TestConstraintSystem::hash; see digest.c.
 */
#ifndef CUZK_R1CS_DIGEST_H
#define CUZK_R1CS_DIGEST_H

#include <string.h>
#include "base/hash.h"
#include "r1cs/cs.h"

#define DIGEST_RUN 65536u     /* constraints a checkpoint */
#define DIGEST_TERM_BYTES 41u /* letter, index, coefficient */
#define DIGEST_BUFFER (1u << 20)

typedef struct digest_stream {
    buffer memory;
    uint8_t *bytes;
    size_t used;
    hash_ctx *whole, *run; /* run: NULL without checkpoints */
    cs_checkpoint checkpoint;
    void *user;
    uint64_t rows, runs;
} digest_stream;

cuzk_status digest_start(digest_stream *d, uint64_t inputs, uint64_t aux, uint64_t constraints,
                         cs_checkpoint checkpoint, void *user, cuzk_error *err);
void digest_flush(digest_stream *d);
/* After the last term of each constraint. */
void digest_row_done(digest_stream *d);
/* Frees the stream; out may be NULL when the digest is not wanted (after a fault). */
void digest_end(digest_stream *d, uint8_t out[32]);

static inline void digest_be64(uint8_t *p, uint64_t v) {
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

static inline uint8_t *digest_room(digest_stream *d, size_t bytes) {
    if (d->used + bytes > DIGEST_BUFFER) digest_flush(d);
    uint8_t *p = d->bytes + d->used;
    d->used += bytes;
    return p;
}

static inline void digest_length(digest_stream *d, uint64_t terms) {
    digest_be64(digest_room(d, 8), terms);
}

static inline void digest_term(digest_stream *d, cs_var var, const uint8_t coeff_be[32]) {
    uint8_t *p = digest_room(d, DIGEST_TERM_BYTES);
    p[0] = (var & CS_INPUT) != 0 ? 'I' : 'A';
    digest_be64(p + 1, var & ~CS_INPUT);
    memcpy(p + 9, coeff_be, 32);
}

#endif
