/* Points as bytes: the ZCash forms of BLS12-381 points.
 *
 * Big-endian coordinates; G2 coordinates c1 before c0. The top three bits of the first byte are flags: 7 compressed, 6
 * infinity, 5 "y is the larger of y and -y" (compressed only; for G2 compared by c1, then c0). Infinity is the flags
 * and zeros otherwise. Decoding is strict: a compressed form in an uncompressed slot (or the reverse), a sign flag on
 * infinity or on an uncompressed point, and any non-zero byte behind an infinity flag are POINT_BAD_FLAGS; coordinates
 * not below p are POINT_COORDINATE_RANGE. Infinity decodes to (0, 0) with POINT_OK: whether it may stand there is the
 * caller's business. On failure *out is infinity. Thread-safe.
 */
#ifndef CUZK_MATH_ENCODING_H
#define CUZK_MATH_ENCODING_H

#include <stddef.h>
#include <stdint.h>
#include "math/curve.h"

#define POINT_STATUS_LIST(X)                                                                                           \
    X(OK, "a point")                                                                                                   \
    X(BAD_FLAGS, "the flag bits do not fit this form of a point")                                                      \
    X(COORDINATE_RANGE, "a coordinate is not below the field's modulus")                                               \
    X(NOT_ON_CURVE, "not on the curve")                                                                                \
    X(NOT_IN_SUBGROUP, "on the curve but not in the subgroup of order r")

typedef enum {
#define X(name, text) POINT_##name,
    POINT_STATUS_LIST(X)
#undef X
} point_status;

/* Static text. */
const char *point_status_text(point_status s);

typedef enum { SUBGROUP_CHECK, SUBGROUP_SKIP } subgroup_check;

#define G1_COMPRESSED_BYTES 48
#define G1_UNCOMPRESSED_BYTES 96
#define G2_COMPRESSED_BYTES 96
#define G2_UNCOMPRESSED_BYTES 192

point_status g1_decode_compressed(g1_affine *out, const uint8_t b[48], subgroup_check check);
point_status g1_decode_uncompressed(g1_affine *out, const uint8_t b[96], subgroup_check check);
point_status g2_decode_compressed(g2_affine *out, const uint8_t b[96], subgroup_check check);
point_status g2_decode_uncompressed(g2_affine *out, const uint8_t b[192], subgroup_check check);

void g1_encode_compressed(uint8_t b[48], const g1_affine *p);
void g1_encode_uncompressed(uint8_t b[96], const g1_affine *p);
void g2_encode_compressed(uint8_t b[96], const g2_affine *p);
void g2_encode_uncompressed(uint8_t b[192], const g2_affine *p);

/* n points on end; stops at the first bad one, whose index goes to *bad (n when all are good). */
point_status g1_load_many(g1_affine *out, const uint8_t *b, size_t n, subgroup_check check, size_t *bad);
point_status g2_load_many(g2_affine *out, const uint8_t *b, size_t n, subgroup_check check, size_t *bad);

#endif
