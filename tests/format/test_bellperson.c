/* Key and proof files as bytes: views, proofs read and written. Bad points of keys are in groth16/test_key.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/random.h"
#include "ref/groth16_case.h"

static cuzk_error err;

static void a_view_of_a_known_key(void **state) {
    (void)state;
    size_t n;
    params_view v;
    uint8_t *data = case_read(TEST_DATA "/tiny/cube/params.bin", &n);
    assert_int_equal(params_view_open(&v, "cube", data, n, &err), CUZK_OK);
    static const uint32_t counts[] = {2, 7, 3, 5, 2, 2}; /* 2 inputs, 3 aux, domain 8 (tests/data/tiny/index.tsv) */
    assert_memory_equal(v.count, counts, sizeof counts);
    assert_int_equal(v.vk_bytes, 868 + 2 * 96);
    assert_int_equal(v.offset[PARAMS_IC], 868);
    assert_int_equal(v.offset[PARAMS_H], 868 + 2 * 96 + 4);
    assert_int_equal(v.offset[PARAMS_B_G2] + 2 * 192, n);
    assert_string_equal(params_section_name(PARAMS_B_G2), "b_g2");
    free(data);
}

/* Every length but the right one is refused, and nothing past the end is read (the copy ends where its memory does). */
static void every_length(void **state) {
    (void)state;
    size_t n;
    uint8_t *data = case_read(TEST_DATA "/tiny/cube/params.bin", &n);
    for (size_t cut = 0; cut < n; cut++) {
        params_view v;
        verifying_key vk;
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, data, cut);
        assert_int_equal(params_view_open(&v, "cut", part, cut, &err), CUZK_KEY_DAMAGED);
        cuzk_status st = verifying_key_read(&vk, "cut", part, cut, &err);
        if (cut == 868 + 2 * 96) {
            assert_int_equal(st, CUZK_OK);
            verifying_key_free(&vk);
        } else {
            assert_int_equal(st, CUZK_KEY_DAMAGED);
        }
        free(part);
    }
    free(data);
}

static void no_public_point(void **state) {
    (void)state;
    size_t n;
    verifying_key vk;
    uint8_t *data = case_read(TEST_DATA "/tiny/cube/vk.bin", &n);
    memset(data + 864, 0, 4);
    assert_int_equal(verifying_key_read(&vk, "none", data, 868, &err), CUZK_KEY_DAMAGED);
    free(data);
}

/* Any change of one bit of a proof's bytes gives other bytes back, or is refused naming the element. */
static void every_bit_of_a_proof(void **state) {
    (void)state;
    size_t n;
    uint8_t *data = case_read(TEST_DATA "/tiny/bad/good.bin", &n), again[PROOF_BYTES];
    groth16_proof p;
    unsigned refused = 0;
    assert_int_equal(n, PROOF_BYTES);
    assert_int_equal(proof_read(&p, data, &err), CUZK_OK);
    proof_write(&p, again);
    assert_memory_equal(again, data, n);
    for (unsigned bit = 0; bit < 8 * PROOF_BYTES; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cuzk_status st = proof_read(&p, data, &err);
        if (st == CUZK_OK) {
            proof_write(&p, again);
            assert_memory_equal(again, data, n);
        } else {
            const char *element = bit < 48 * 8 ? "element A" : bit < 144 * 8 ? "element B" : "element C";
            assert_int_equal(st, CUZK_MALFORMED);
            assert_int_equal(strncmp(err.where, element, 9), 0);
            refused++;
        }
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    /* Three sign bits only are harmless: a changed x is a point at times, but not of the subgroup. */
    assert_int_equal(refused, 8 * PROOF_BYTES - 3);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_view_of_a_known_key), cmocka_unit_test(every_length),
                                       cmocka_unit_test(no_public_point), cmocka_unit_test(every_bit_of_a_proof)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
