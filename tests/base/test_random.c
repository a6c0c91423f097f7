/* The system's randomness, wiping, and the ChaCha keystream against published answers (RFC 8439 §2.3.2; the 8- and
 * 12-round answers for zero key and nonce are from draft-strombergson-chacha-test-vectors). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "base/text.h"

static void expect(const uint8_t *got, size_t len, const char *hex) {
    char text[257];
    text_hex(text, got, len);
    assert_string_equal(text, hex);
}

static void chacha20_rfc_block(void **state) {
    (void)state;
    uint8_t key[32], nonce[12] = {0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0}, out[64];
    for (size_t i = 0; i < 32; i++) key[i] = (uint8_t)i;
    chacha c;
    chacha_init(&c, 20, 32, key, nonce);
    c.state[12] = 1;
    chacha_bytes(&c, out, sizeof out);
    expect(out, 64,
           "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
           "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
}

static void fewer_rounds(void **state) {
    (void)state;
    uint8_t zero[32] = {0}, out[64];
    chacha c;
    chacha_init(&c, 8, 64, zero, zero);
    chacha_bytes(&c, out, sizeof out);
    expect(out, 64,
           "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
           "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42");
    chacha_init(&c, 12, 64, zero, zero);
    chacha_bytes(&c, out, sizeof out);
    expect(out, 64,
           "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f"
           "0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be");
}

static void the_stream_does_not_depend_on_the_pieces(void **state) {
    (void)state;
    uint8_t key[32] = {1, 2, 3}, nonce[12] = {4, 5, 6}, whole[1000], pieces[1000];
    chacha a, b;
    chacha_init(&a, 20, 32, key, nonce);
    chacha_init(&b, 20, 32, key, nonce);
    chacha_bytes(&a, whole, sizeof whole);
    for (size_t at = 0, step = 1; at < sizeof pieces; at += step, step = step % 90 + 1)
        chacha_bytes(&b, pieces + at, sizeof pieces - at < step ? (step = sizeof pieces - at) : step);
    assert_memory_equal(whole, pieces, sizeof whole);
    chacha_init(&b, 20, 32, key, nonce);
    for (size_t i = 0; i + 8 <= sizeof whole; i += 8) {
        uint64_t v = chacha_u64(&b);
        for (size_t k = 0; k < 8; k++) assert_int_equal(v >> (8 * k) & 0xff, whole[i + k]);
    }
}

/* The block counter is one word or two. */
static void counters_carry_by_their_width(void **state) {
    (void)state;
    uint8_t key[32] = {7}, nonce[12] = {0}, skip[64];
    chacha c;
    chacha_init(&c, 8, 64, key, nonce);
    c.state[12] = UINT32_MAX;
    chacha_bytes(&c, skip, 64);
    assert_int_equal(c.state[12], 0);
    assert_int_equal(c.state[13], 1);
    chacha_init(&c, 8, 32, key, nonce);
    c.state[12] = UINT32_MAX;
    chacha_bytes(&c, skip, 64);
    assert_int_equal(c.state[12], 0);
    assert_int_equal(c.state[13], 0);
    uint8_t named[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
    chacha_init(&c, 8, 32, key, named);
    assert_true(c.state[12] == 0 && c.state[13] == 1 && c.state[14] == 2 && c.state[15] == 3);
    chacha_init(&c, 8, 64, key, named);
    assert_true(c.state[12] == 0 && c.state[13] == 0 && c.state[14] == 1 && c.state[15] == 2);
}

static void system_bytes_differ_and_are_all_set(void **state) {
    (void)state;
    static uint8_t a[100000], b[100000];
    cuzk_error e;
    assert_int_equal(random_bytes(a, sizeof a, &e), CUZK_OK);
    assert_int_equal(random_bytes(b, sizeof b, &e), CUZK_OK);
    assert_memory_not_equal(a, b, sizeof a);
    size_t seen[256] = {0};
    for (size_t i = 0; i < sizeof a; i++) seen[a[i]]++;
    for (size_t v = 0; v < 256; v++) assert_in_range(seen[v], 200, 600); /* 390 expected, standard deviation 20 */
    assert_true(a[sizeof a - 1] | a[sizeof a - 2] | a[sizeof a - 3] | a[sizeof a - 4]); /* the end too */
    assert_int_equal(random_bytes(a, 0, &e), CUZK_OK);
}

static void wiping_leaves_zeros(void **state) {
    (void)state;
    uint8_t a[100], zero[100] = {0};
    memset(a, 1, sizeof a);
    secure_wipe(a, sizeof a);
    assert_memory_equal(a, zero, sizeof a);
    secure_wipe(NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chacha20_rfc_block),
        cmocka_unit_test(fewer_rounds),
        cmocka_unit_test(the_stream_does_not_depend_on_the_pieces),
        cmocka_unit_test(counters_carry_by_their_width),
        cmocka_unit_test(system_bytes_differ_and_are_all_set),
        cmocka_unit_test(wiping_leaves_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
