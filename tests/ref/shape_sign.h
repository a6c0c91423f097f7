/* Makes the digests and the length in a changed shape file right again, so that what lies behind them is tested. */
#ifndef CUZK_TESTS_REF_SHAPE_SIGN_H
#define CUZK_TESTS_REF_SHAPE_SIGN_H

#include <string.h>
#include "base/hash.h"

/* docs/shape.md */
#define SHAPE_FILE_HEADER 896u
#define SHAPE_FILE_LENGTH_AT 800u
#define SHAPE_FILE_BODY_DIGEST_AT 808u
#define SHAPE_FILE_HEAD_DIGEST_AT 840u

/* bytes must be at least SHAPE_FILE_HEADER. */
static inline void shape_sign(uint8_t *file, size_t bytes) {
    uint8_t digest[64];
    uint64_t length = bytes;
    memcpy(file + SHAPE_FILE_LENGTH_AT, &length, 8);
    hash_blake2b512(digest, file + SHAPE_FILE_HEADER, bytes - SHAPE_FILE_HEADER);
    memcpy(file + SHAPE_FILE_BODY_DIGEST_AT, digest, 32);
    hash_blake2b512(digest, file, SHAPE_FILE_HEAD_DIGEST_AT);
    memcpy(file + SHAPE_FILE_HEAD_DIGEST_AT, digest, 32);
}

#endif
