/* Challenges of PoSt: SHA-256 of randomness, sector and number. Source: docs/circuits/post.md. */
#include "circuit/post/post.h"

#include <string.h>
#include "base/hash.h"

static void put_u64_le(uint8_t *to, uint64_t v) {
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(v >> (8 * i));
}

/* The first eight bytes of the digest as a number, modulo n. */
static uint64_t draw(const void *text, size_t len, uint64_t n) {
    uint8_t digest[32];
    uint64_t v = 0;
    hash_sha256(digest, text, len);
    for (int i = 7; i >= 0; i--) v = v << 8 | digest[i];
    return v % n;
}

void post_challenges(const post_params *p, unsigned api_version, const uint8_t randomness[32], uint64_t sector_number,
                     uint64_t position, uint64_t *out) {
    uint8_t text[48];
    unsigned n = post_challenges_of_sector(p);
    /* From 1.2.0 on a sector's challenges do not depend on its place, so that nobody gains by moving it. */
    uint64_t first = api_version >= 120 ? 0 : position * n;
    memcpy(text, randomness, 32);
    put_u64_le(text + 32, sector_number);
    for (unsigned i = 0; i < n; i++) {
        put_u64_le(text + 40, first + i);
        out[i] = draw(text, sizeof text, p->nodes);
    }
}

uint64_t post_drawn_sector(const uint8_t prover_id[32], const uint8_t randomness[32], uint64_t n, uint64_t sectors) {
    uint8_t text[72];
    memcpy(text, prover_id, 32);
    memcpy(text + 32, randomness, 32);
    put_u64_le(text + 64, n);
    return draw(text, sizeof text, sectors);
}
