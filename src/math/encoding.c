/* Point encodings: the encoders, and the decoders by the best CPU version (math/kernels/encoding_kernels.c). */
#include "math/encoding.h"

#include "math/kernels.h"

#define COMPRESSED 0x80
#define INFINITY_FLAG 0x40
#define SIGN 0x20

const char *point_status_text(point_status s) {
    static const char *const text[] = {
#define X(name, words) words,
        POINT_STATUS_LIST(X)
#undef X
    };
    return (size_t)s < sizeof text / sizeof *text ? text[s] : "unknown";
}

point_status g1_decode_compressed(g1_affine *out, const uint8_t b[48], subgroup_check check) {
    return math_kernels()->encoding->g1_decode_compressed(out, b, check);
}

point_status g1_decode_uncompressed(g1_affine *out, const uint8_t b[96], subgroup_check check) {
    return math_kernels()->encoding->g1_decode_uncompressed(out, b, check);
}

point_status g2_decode_compressed(g2_affine *out, const uint8_t b[96], subgroup_check check) {
    return math_kernels()->encoding->g2_decode_compressed(out, b, check);
}

point_status g2_decode_uncompressed(g2_affine *out, const uint8_t b[192], subgroup_check check) {
    return math_kernels()->encoding->g2_decode_uncompressed(out, b, check);
}

point_status g1_load_many(g1_affine *out, const uint8_t *b, size_t n, subgroup_check check, size_t *bad) {
    const struct encoding_kernels *k = math_kernels()->encoding;
    for (*bad = 0; *bad < n; ++*bad) {
        point_status s = k->g1_decode_uncompressed(&out[*bad], &b[*bad * G1_UNCOMPRESSED_BYTES], check);
        if (s != POINT_OK) return s;
    }
    return POINT_OK;
}

point_status g2_load_many(g2_affine *out, const uint8_t *b, size_t n, subgroup_check check, size_t *bad) {
    const struct encoding_kernels *k = math_kernels()->encoding;
    for (*bad = 0; *bad < n; ++*bad) {
        point_status s = k->g2_decode_uncompressed(&out[*bad], &b[*bad * G2_UNCOMPRESSED_BYTES], check);
        if (s != POINT_OK) return s;
    }
    return POINT_OK;
}

void g1_encode_uncompressed(uint8_t b[96], const g1_affine *p) {
    fp_to_be_bytes(b, &p->x);
    fp_to_be_bytes(b + 48, &p->y);
    if (g1_affine_is_infinity(p)) b[0] |= INFINITY_FLAG;
}

void g1_encode_compressed(uint8_t b[48], const g1_affine *p) {
    fp_to_be_bytes(b, &p->x);
    b[0] |= COMPRESSED;
    if (g1_affine_is_infinity(p)) {
        b[0] |= INFINITY_FLAG;
    } else if (fp_is_larger_half(&p->y)) {
        b[0] |= SIGN;
    }
}

void g2_encode_uncompressed(uint8_t b[192], const g2_affine *p) {
    fp_to_be_bytes(b, &p->x.c1);
    fp_to_be_bytes(b + 48, &p->x.c0);
    fp_to_be_bytes(b + 96, &p->y.c1);
    fp_to_be_bytes(b + 144, &p->y.c0);
    if (g2_affine_is_infinity(p)) b[0] |= INFINITY_FLAG;
}

void g2_encode_compressed(uint8_t b[96], const g2_affine *p) {
    fp_to_be_bytes(b, &p->x.c1);
    fp_to_be_bytes(b + 48, &p->x.c0);
    b[0] |= COMPRESSED;
    if (g2_affine_is_infinity(p)) {
        b[0] |= INFINITY_FLAG;
    } else if (fp2_is_larger_half(&p->y)) {
        b[0] |= SIGN;
    }
}
