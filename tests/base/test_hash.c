/* Hashes against published answers (FIPS 180-4 examples, RFC 7693 appendices) and against each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

static void expect(const uint8_t *got, size_t len, const char *hex) {
    char text[129];
    text_hex(text, got, len);
    assert_string_equal(text, hex);
}

static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

static void sha256_known_answers(void **state) {
    (void)state;
    uint8_t d[32];
    hash_sha256(d, "abc", 3);
    expect(d, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash_sha256(d, two_blocks, strlen(two_blocks));
    expect(d, 32, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    hash_sha256(d, "", 0);
    expect(d, 32, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void blake2_known_answers(void **state) {
    (void)state;
    uint8_t d[64];
    hash_blake2b512(d, "abc", 3);
    expect(d, 64,
           "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
           "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
    hash_blake2s256(d, "abc", 3);
    expect(d, 32, "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
    hash_blake2s256(d, "", 0);
    expect(d, 32, "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9");
}

/* Answers from Python's hashlib. */
static void keyed_blake2b(void **state) {
    (void)state;
    uint8_t d[32], data[100];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)i;
    const char *key = "filecoin.io|PoRep|1|Synthetic|1|Generation";
    hash_blake2b256_keyed(d, key, strlen(key), data, sizeof data);
    expect(d, 32, "e09307f763d624f42b887ceb01ce0d7e2527c191f704cac3884fdb8e28565df2");
    hash_blake2b256_keyed(d, data, 64, "", 0);
    expect(d, 32, "2fa9fbd9be36437de204e139e97d402bce68c828f43391608c891b5faed8a98a");
}

static void contexts_take_parts_and_start_again(void **state) {
    (void)state;
    uint8_t data[1000], one[64], parts[64];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 31);
    const hash_kind kinds[] = {HASH_SHA256, HASH_BLAKE2S256, HASH_BLAKE2B512};
    void (*const once[])(uint8_t *, const void *, size_t) = {hash_sha256, hash_blake2s256, hash_blake2b512};
    for (size_t k = 0; k < 3; k++) {
        hash_ctx *h = hash_create(kinds[k]);
        size_t bytes = kinds[k] == HASH_BLAKE2B512 ? 64 : 32;
        for (size_t step = 1; step < 300; step += 7) {
            for (size_t at = 0; at < sizeof data; at += step)
                hash_update(h, data + at, sizeof data - at < step ? sizeof data - at : step);
            hash_final(h, parts);
            once[k](one, data, sizeof data);
            assert_memory_equal(one, parts, bytes);
            hash_reset(h);
        }
        hash_destroy(h);
    }
    hash_destroy(NULL);
}

/* The compression function with the padding done here gives the digest. */
static void compression_is_sha256(void **state) {
    (void)state;
    uint32_t s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t message[128] = {0}, digest[32], expected[32];
    memcpy(message, two_blocks, 56);
    message[56] = 0x80;
    message[126] = 56 * 8 >> 8;
    message[127] = (56 * 8) & 0xff;
    hash_sha256_compress(s, message);
    hash_sha256_compress(s, message + 64);
    for (size_t i = 0; i < 32; i++) digest[i] = (uint8_t)(s[i / 4] >> (24 - 8 * (i % 4)));
    hash_sha256(expected, two_blocks, 56);
    assert_memory_equal(digest, expected, 32);
}

static void *hash_often(void *arg) {
    (void)arg;
    uint8_t d[64] = {0};
    for (int i = 0; i < 2000; i++) {
        hash_sha256(d, d, 64);
        hash_blake2s256(d, d, 64);
        hash_blake2b512(d, d, 32);
    }
    uint8_t *out = malloc(64);
    memcpy(out, d, 64);
    return out;
}

static void threads_do_not_disturb_each_other(void **state) {
    (void)state;
    pthread_t t[3];
    uint8_t *expected = hash_often(NULL), *got;
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&t[i], NULL, hash_often, NULL), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], (void **)&got);
        assert_memory_equal(got, expected, 64);
        free(got);
    }
    free(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_known_answers),  cmocka_unit_test(blake2_known_answers),
        cmocka_unit_test(keyed_blake2b),         cmocka_unit_test(contexts_take_parts_and_start_again),
        cmocka_unit_test(compression_is_sha256), cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
