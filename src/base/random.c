/* The system's randomness, wiping, and the ChaCha keystream (RFC 8439 §2.3; 8 and 12 rounds as in the original
 * ChaCha); see base/random.h.
 *
 * State words: 0..3 constant, 4..11 key, then with counter_bits 32 word 12 is the block counter and 13..15 the nonce;
 * with 64 words 12..13 are the counter and 14..15 the nonce. The counter starts at 0; a caller that wants another start
 * sets the words before the first byte is taken.
 */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

cuzk_status random_bytes(void *out, size_t len, cuzk_error *err) {
    uint8_t *p = out;
    while (len) {
        ssize_t got = getrandom(p, len, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            cuzk_fail_errno(err, errno, NULL, "getrandom");
            err->status = CUZK_INTERNAL;
            return CUZK_INTERNAL;
        }
        p += got;
        len -= (size_t)got;
    }
    return CUZK_OK;
}

void secure_wipe(void *p, size_t len) {
    if (len) explicit_bzero(p, len);
}

static uint32_t load32_le(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void chacha_init(chacha *c, unsigned rounds, unsigned counter_bits, const uint8_t key[32], const uint8_t *nonce) {
    assert(rounds && rounds % 2 == 0 && (counter_bits == 32 || counter_bits == 64));
    static const uint32_t constant[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}; /* "expand 32-byte k" */
    memset(c, 0, sizeof *c);
    memcpy(c->state, constant, sizeof constant);
    for (size_t i = 0; i < 8; i++) c->state[4 + i] = load32_le(key + 4 * i);
    for (size_t i = counter_bits / 32; i < 4; i++) c->state[12 + i] = load32_le(nonce + 4 * (i - counter_bits / 32));
    c->rounds = rounds;
    c->counter_bits = counter_bits;
    c->used = sizeof c->block;
}

static uint32_t rotl(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n);
}

static void quarter(uint32_t *s, unsigned a, unsigned b, unsigned c, unsigned d) {
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 16);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 12);
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 8);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 7);
}

static void next_block(chacha *c) {
    uint32_t w[16];
    memcpy(w, c->state, sizeof w);
    for (unsigned i = 0; i < c->rounds; i += 2) {
        for (unsigned k = 0; k < 4; k++) quarter(w, k, k + 4, k + 8, k + 12);
        for (unsigned k = 0; k < 4; k++) quarter(w, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
    }
    for (size_t i = 0; i < 16; i++) {
        uint32_t v = w[i] + c->state[i];
        for (size_t k = 0; k < 4; k++) c->block[4 * i + k] = (uint8_t)(v >> (8 * k));
    }
    if (!++c->state[12] && c->counter_bits == 64) c->state[13]++;
    c->used = 0;
}

void chacha_bytes(chacha *c, void *out, size_t len) {
    uint8_t *p = out;
    while (len) {
        if (c->used == sizeof c->block) next_block(c);
        size_t take = sizeof c->block - c->used;
        if (take > len) take = len;
        memcpy(p, c->block + c->used, take);
        c->used += (unsigned)take;
        p += take;
        len -= take;
    }
}

uint64_t chacha_u64(chacha *c) {
    uint8_t b[8];
    chacha_bytes(c, b, sizeof b);
    return (uint64_t)load32_le(b) | (uint64_t)load32_le(b + 4) << 32;
}
