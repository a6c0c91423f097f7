/* getrandom(2), wiping, and a seeded ChaCha keystream for tests, synthetic data and challenges; never for secrets.
 * Thread-safe; a chacha belongs to one thread. */
#ifndef CUZK_BASE_RANDOM_H
#define CUZK_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include "cuzk/error.h"

/* Fills from the system; never short. INTERNAL when the system call fails. */
cuzk_status random_bytes(void *out, size_t len, cuzk_error *err);
/* Overwrites with zeros in a way the compiler keeps. */
void secure_wipe(void *p, size_t len);

/* ChaCha with 8, 12 or 20 rounds as a byte stream. Layout of the state words 12..15 is the caller's (counter_bits 32:
 * IETF, 64: original). */
typedef struct chacha {
    uint32_t state[16];
    uint8_t block[64];
    unsigned used, rounds, counter_bits;
} chacha;
void chacha_init(chacha *c, unsigned rounds, unsigned counter_bits, const uint8_t key[32],
                 const uint8_t *nonce /* 12 or 8 bytes */);
void chacha_bytes(chacha *c, void *out, size_t len);
uint64_t chacha_u64(chacha *c); /* next 8 bytes, little-endian */

#endif
