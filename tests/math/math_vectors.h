/* Reading towers and points from the lines of the golden vectors. Include after math/math_test.h. */
#ifndef CUZK_TESTS_MATH_VECTORS_H
#define CUZK_TESTS_MATH_VECTORS_H

#include "math/math_test.h"

static inline fp vector_fp(const json_node *text) {
    uint8_t b[48];
    fp r = {{0}};
    assert_non_null(text);
    assert_true(text_unhex(b, sizeof b, text->text, text->len));
    assert_true(fp_from_be_bytes(&r, b));
    return r;
}

static inline fp2 vector_fp2(const json_node *pair) {
    fp2 r;
    assert_int_equal(pair->len, 2);
    r.c0 = vector_fp(json_at(pair, 0));
    r.c1 = vector_fp(json_at(pair, 1));
    return r;
}

/* Twelve numbers in the order of memory: w, within it v, within it u. */
static inline fp12 vector_fp12(const json_node *list) {
    fp12 r;
    fp c[12];
    assert_int_equal(list->len, 12);
    for (size_t i = 0; i < 12; i++) c[i] = vector_fp(json_at(list, i));
    static_assert(sizeof r == sizeof c, "fp12 is twelve fp");
    memcpy(&r, c, sizeof r);
    return r;
}

/* Bytes of a hex member; how many. */
static inline size_t vector_bytes(uint8_t *out, size_t room, const json_node *text) {
    assert_non_null(text);
    assert_true(text->len % 2 == 0 && text->len / 2 <= room);
    assert_true(text_unhex(out, text->len / 2, text->text, text->len));
    return text->len / 2;
}

static inline g1_affine vector_g1(const json_node *text) {
    uint8_t b[96];
    g1_affine p;
    assert_int_equal(vector_bytes(b, sizeof b, text), 96);
    assert_int_equal(g1_decode_uncompressed(&p, b, SUBGROUP_SKIP), POINT_OK);
    return p;
}

static inline g2_affine vector_g2(const json_node *text) {
    uint8_t b[192];
    g2_affine p;
    assert_int_equal(vector_bytes(b, sizeof b, text), 192);
    assert_int_equal(g2_decode_uncompressed(&p, b, SUBGROUP_SKIP), POINT_OK);
    return p;
}

static inline fp test_fp(void) {
    fp r;
    do {
        chacha_bytes(&test_rng, &r, sizeof r);
        r.l[5] &= UINT64_MAX >> 3;
    } while (!fp_limbs_reduced(r.l));
    return r;
}

static inline fp2 test_fp2(void) {
    fp2 r = {test_fp(), test_fp()};
    return r;
}

static inline fp12 test_fp12(void) {
    fp12 r = {{test_fp2(), test_fp2(), test_fp2()}, {test_fp2(), test_fp2(), test_fp2()}};
    return r;
}

#endif
