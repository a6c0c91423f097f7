/* SHA-256, BLAKE2s-256, BLAKE2b over OpenSSL EVP. Digest objects are fetched once. A context belongs to one thread. */
#ifndef CUZK_BASE_HASH_H
#define CUZK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef enum { HASH_SHA256, HASH_BLAKE2S256, HASH_BLAKE2B512 } hash_kind;

typedef struct hash_ctx hash_ctx; /* heap object; reusable after hash_final by hash_reset */

hash_ctx *hash_create(hash_kind kind); /* aborts the process only if OpenSSL lacks the digest */
void hash_reset(hash_ctx *h);
void hash_update(hash_ctx *h, const void *data, size_t len);
void hash_final(hash_ctx *h, uint8_t *out); /* 32 or 64 bytes */
void hash_destroy(hash_ctx *h);

/* One call; keep no state. SHA-256 of short messages is fast (no allocation). */
void hash_sha256(uint8_t out[32], const void *data, size_t len);
void hash_blake2s256(uint8_t out[32], const void *data, size_t len);
void hash_blake2b512(uint8_t out[64], const void *data, size_t len);
/* Keyed BLAKE2b with 32 bytes of output (EVP_MAC BLAKE2BMAC); key 1..64 bytes. */
void hash_blake2b256_keyed(uint8_t out[32], const void *key, size_t key_len, const void *data, size_t len);
/* The SHA-256 compression function (FIPS 180-4 §6.2.2) on one block of 16 big-endian words; portable C, for tests and
 * constants. */
void hash_sha256_compress(uint32_t state[8], const uint8_t block[64]);
/* Its round constants (FIPS 180-4 §4.2.2). */
extern const uint32_t hash_sha256_round[64];

#endif
