/* Decoding of points (math/encoding.h), once per CPU version: square roots, curve and subgroup tests are field
 * products. */
#define FIELD_CALLS
#include "math/kernels.h"

#define COMPRESSED 0x80
#define INFINITY_FLAG 0x40
#define SIGN 0x20
#define FLAGS 0xe0

/* Infinity of `len` bytes: no sign, nothing but zeros behind the flags. */
static bool is_clean_infinity(const uint8_t *b, size_t len) {
    uint8_t any = b[0] & (uint8_t) ~(COMPRESSED | INFINITY_FLAG);
    for (size_t i = 1; i < len; i++) any |= b[i];
    return any == 0;
}

/* The first coordinate of an encoding, without its flags. */
static bool read_flagged_fp(fp *r, const uint8_t *b) {
    uint8_t clean[48];
    memcpy(clean, b, sizeof clean);
    clean[0] &= (uint8_t)~FLAGS;
    return fp_from_be_bytes(r, clean);
}

static point_status g1_checked(g1_affine *out, const g1_affine *p, subgroup_check check) {
    if (check == SUBGROUP_CHECK && !g1_affine_in_subgroup(p)) return POINT_NOT_IN_SUBGROUP;
    *out = *p;
    return POINT_OK;
}

static point_status g2_checked(g2_affine *out, const g2_affine *p, subgroup_check check) {
    if (check == SUBGROUP_CHECK && !g2_affine_in_subgroup(p)) return POINT_NOT_IN_SUBGROUP;
    *out = *p;
    return POINT_OK;
}

static point_status decode_g1_compressed(g1_affine *out, const uint8_t *b, subgroup_check check) {
    g1_affine_set_infinity(out);
    if (!(b[0] & COMPRESSED)) return POINT_BAD_FLAGS;
    if (b[0] & INFINITY_FLAG) return is_clean_infinity(b, 48) ? POINT_OK : POINT_BAD_FLAGS;
    g1_affine p;
    fp t;
    if (!read_flagged_fp(&p.x, b)) return POINT_COORDINATE_RANGE;
    fp_sqr(&t, &p.x);
    fp_mul(&t, &t, &p.x);
    g1_set_b(&p.y);
    fp_add(&t, &t, &p.y);
    if (!fp_sqrt(&p.y, &t)) return POINT_NOT_ON_CURVE;
    if (fp_is_larger_half(&p.y) != ((b[0] & SIGN) != 0)) fp_neg(&p.y, &p.y);
    return g1_checked(out, &p, check);
}

static point_status decode_g1_uncompressed(g1_affine *out, const uint8_t *b, subgroup_check check) {
    g1_affine_set_infinity(out);
    if (b[0] & (COMPRESSED | SIGN)) return POINT_BAD_FLAGS;
    if (b[0] & INFINITY_FLAG) return is_clean_infinity(b, 96) ? POINT_OK : POINT_BAD_FLAGS;
    g1_affine p;
    if (!fp_from_be_bytes(&p.x, b) || !fp_from_be_bytes(&p.y, b + 48)) return POINT_COORDINATE_RANGE;
    /* (0, 0) without the infinity flag is our infinity, not a point. */
    if (g1_affine_is_infinity(&p) || !g1_affine_on_curve(&p)) return POINT_NOT_ON_CURVE;
    return g1_checked(out, &p, check);
}

static point_status decode_g2_compressed(g2_affine *out, const uint8_t *b, subgroup_check check) {
    g2_affine_set_infinity(out);
    if (!(b[0] & COMPRESSED)) return POINT_BAD_FLAGS;
    if (b[0] & INFINITY_FLAG) return is_clean_infinity(b, 96) ? POINT_OK : POINT_BAD_FLAGS;
    g2_affine p;
    fp2 t;
    if (!read_flagged_fp(&p.x.c1, b) || !fp_from_be_bytes(&p.x.c0, b + 48)) return POINT_COORDINATE_RANGE;
    fp2_sqr(&t, &p.x);
    fp2_mul(&t, &t, &p.x);
    g2_set_b(&p.y);
    fp2_add(&t, &t, &p.y);
    if (!fp2_sqrt(&p.y, &t)) return POINT_NOT_ON_CURVE;
    if (fp2_is_larger_half(&p.y) != ((b[0] & SIGN) != 0)) fp2_neg(&p.y, &p.y);
    return g2_checked(out, &p, check);
}

static point_status decode_g2_uncompressed(g2_affine *out, const uint8_t *b, subgroup_check check) {
    g2_affine_set_infinity(out);
    if (b[0] & (COMPRESSED | SIGN)) return POINT_BAD_FLAGS;
    if (b[0] & INFINITY_FLAG) return is_clean_infinity(b, 192) ? POINT_OK : POINT_BAD_FLAGS;
    g2_affine p;
    if (!fp_from_be_bytes(&p.x.c1, b) || !fp_from_be_bytes(&p.x.c0, b + 48) || !fp_from_be_bytes(&p.y.c1, b + 96) ||
        !fp_from_be_bytes(&p.y.c0, b + 144))
        return POINT_COORDINATE_RANGE;
    if (g2_affine_is_infinity(&p) || !g2_affine_on_curve(&p)) return POINT_NOT_ON_CURVE;
    return g2_checked(out, &p, check);
}

const struct encoding_kernels KERNEL_NAME(encoding_kernels) = {
    .g1_decode_compressed = decode_g1_compressed,
    .g1_decode_uncompressed = decode_g1_uncompressed,
    .g2_decode_compressed = decode_g2_compressed,
    .g2_decode_uncompressed = decode_g2_uncompressed,
};
