/* Hashes over OpenSSL; see base/hash.h.
 *
 * Digests are fetched once, since a fetch by name costs more than hashing a short message. One-call BLAKE2 uses a
 * context per thread; one-call SHA-256 uses OpenSSL's low-level functions, which are marked deprecated in 3.0 but are
 * there, and need neither an allocation nor a context. A digest that OpenSSL lacks, or a failing call, means a broken
 * installation: nothing useful can follow, so the process says so and aborts.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct hash_ctx {
    EVP_MD_CTX *evp;
    hash_kind kind;
};

static EVP_MD *digests[3];
static EVP_MAC *blake2b_mac;
static pthread_key_t thread_ctx;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void must(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "cuzk: error: OpenSSL cannot do %s\n", what);
    abort();
}

static void free_thread_ctx(void *p) {
    EVP_MD_CTX_free(p);
}

static void fetch_all(void) {
    static const char *const names[] = {"SHA256", "BLAKE2S-256", "BLAKE2B-512"};
    for (int i = 0; i < 3; i++) must((digests[i] = EVP_MD_fetch(NULL, names[i], NULL)) != NULL, names[i]);
    must((blake2b_mac = EVP_MAC_fetch(NULL, "BLAKE2BMAC", NULL)) != NULL, "BLAKE2BMAC");
    must(pthread_key_create(&thread_ctx, free_thread_ctx) == 0, "contexts per thread");
}

hash_ctx *hash_create(hash_kind kind) {
    pthread_once(&once, fetch_all);
    hash_ctx *h = malloc(sizeof *h);
    must(h && (h->evp = EVP_MD_CTX_new()) != NULL, "a digest context");
    h->kind = kind;
    hash_reset(h);
    return h;
}

void hash_reset(hash_ctx *h) {
    must(EVP_DigestInit_ex2(h->evp, digests[h->kind], NULL), "a digest");
}

void hash_update(hash_ctx *h, const void *data, size_t len) {
    must(EVP_DigestUpdate(h->evp, data, len), "a digest's update");
}

void hash_final(hash_ctx *h, uint8_t *out) {
    must(EVP_DigestFinal_ex(h->evp, out, NULL), "a digest's end");
}

void hash_destroy(hash_ctx *h) {
    if (!h) return;
    EVP_MD_CTX_free(h->evp);
    free(h);
}

void hash_sha256(uint8_t out[32], const void *data, size_t len) {
    SHA256_CTX c;
    must(SHA256_Init(&c) && SHA256_Update(&c, data, len) && SHA256_Final(out, &c), "SHA256");
}

static void one_call(uint8_t *out, hash_kind kind, const void *data, size_t len) {
    pthread_once(&once, fetch_all);
    EVP_MD_CTX *c = pthread_getspecific(thread_ctx);
    if (!c) {
        must((c = EVP_MD_CTX_new()) != NULL, "a digest context");
        pthread_setspecific(thread_ctx, c);
    }
    must(EVP_DigestInit_ex2(c, digests[kind], NULL) && EVP_DigestUpdate(c, data, len) &&
             EVP_DigestFinal_ex(c, out, NULL),
         "a digest");
}

void hash_blake2s256(uint8_t out[32], const void *data, size_t len) {
    one_call(out, HASH_BLAKE2S256, data, len);
}
void hash_blake2b512(uint8_t out[64], const void *data, size_t len) {
    one_call(out, HASH_BLAKE2B512, data, len);
}

void hash_blake2b256_keyed(uint8_t out[32], const void *key, size_t key_len, const void *data, size_t len) {
    pthread_once(&once, fetch_all);
    size_t size = 32;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_end()};
    EVP_MAC_CTX *c = EVP_MAC_CTX_new(blake2b_mac);
    must(c && EVP_MAC_init(c, key, key_len, params) && EVP_MAC_update(c, data, len) &&
             EVP_MAC_final(c, out, &size, 32) && size == 32,
         "keyed BLAKE2b");
    EVP_MAC_CTX_free(c);
}

static uint32_t rotr(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

const uint32_t hash_sha256_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void hash_sha256_compress(uint32_t state[8], const uint8_t block[64]) {
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               (uint32_t)block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    for (size_t i = 0; i < 8; i++) s[i] = state[i];
    for (size_t i = 0; i < 64; i++) {
        uint32_t s1 = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25), choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t t1 = s[7] + s1 + choose + hash_sha256_round[i] + w[i];
        uint32_t s0 = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
        uint32_t t2 = s0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (size_t j = 7; j > 0; j--) s[j] = s[j - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++) state[i] += s[i];
}
