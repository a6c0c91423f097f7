/* The stacked graph: parents, challenges, labels, replica id.
 *
 * Everything is a pure function of a few bytes: DRG parents come from a ChaCha8 stream seeded per node, expander
 * parents from a three-round Feistel permutation over BLAKE2b, challenges from SHA-256 (interactive, non-interactive)
 * or from two ChaCha20 streams (synthetic), labels from SHA-256. Limits: node numbers fit 32 bits (sectors to 64 GiB),
 * as in the reference. Source: docs/circuits/porep.md.
 */
#include "circuit/porep/graph.h"

#include <assert.h>
#include <string.h>
#include "base/hash.h"
#include "base/random.h"

static void put_u32_le(uint8_t *out, uint32_t v) {
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(v >> (8 * i));
}
static void put_u32_be(uint8_t *out, uint32_t v) {
    for (int i = 0; i < 4; i++) out[3 - i] = (uint8_t)(v >> (8 * i));
}
static void put_u64_be(uint8_t *out, uint64_t v) {
    for (int i = 0; i < 8; i++) out[7 - i] = (uint8_t)(v >> (8 * i));
}
static uint64_t get_u64_le(const uint8_t *in) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) v = v << 8 | in[i];
    return v;
}
static uint64_t get_u64_be(const uint8_t *in) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v = v << 8 | in[i];
    return v;
}

/* ---- identities ---- */

void porep_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector_number, const uint8_t ticket[32],
                      const uint8_t comm_d[32], const uint8_t porep_id[32]) {
    uint8_t text[32 + 8 + 3 * 32];
    memcpy(text, prover_id, 32);
    put_u64_be(text + 32, sector_number);
    memcpy(text + 40, ticket, 32);
    memcpy(text + 72, comm_d, 32);
    memcpy(text + 104, porep_id, 32);
    hash_sha256(out, text, sizeof text);
    out[31] &= 0x3f;
}

void porep_prover_id(uint8_t out[32], uint64_t miner_id) {
    memset(out, 0, 32);
    size_t n = 0;
    do {
        out[n] = (uint8_t)(miner_id & 0x7f);
        miner_id >>= 7;
        if (miner_id != 0) out[n] |= 0x80;
        n++;
    } while (miner_id != 0);
}

bool porep_miner_id(uint64_t *out, const uint8_t prover_id[32]) {
    uint64_t v = 0;
    uint8_t again[32];
    for (unsigned i = 0; i < 10; i++) {
        v |= (uint64_t)(prover_id[i] & 0x7f) << (7 * i);
        if (!(prover_id[i] & 0x80)) break;
    }
    porep_prover_id(again, v); /* refuses overlong forms, too many bytes, and bytes after the number */
    if (memcmp(again, prover_id, 32) != 0) return false;
    *out = v;
    return true;
}

/* ---- parents ---- */

void porep_graph_init(porep_graph *g, uint64_t nodes, unsigned api_version, const uint8_t porep_id[32]) {
    static const char drg[] = "Filecoin_DRSample", feistel[] = "Filecoin_Feistel";
    uint8_t text[32 + 32], digest[32];
    g->nodes = nodes;
    g->api_version = api_version;
    memcpy(text, drg, sizeof drg - 1);
    memcpy(text + sizeof drg - 1, porep_id, 32);
    hash_sha256(digest, text, sizeof drg - 1 + 32);
    memcpy(g->drg_seed, digest, sizeof g->drg_seed);
    memcpy(text, feistel, sizeof feistel - 1);
    memcpy(text + sizeof feistel - 1, porep_id, 32);
    hash_sha256(digest, text, sizeof feistel - 1 + 32);
    for (int i = 0; i < 3; i++) g->feistel_key[i] = get_u64_le(digest + 8 * i);
}

static void drg_parents(const porep_graph *g, uint64_t node, uint64_t *out) {
    enum { DRAWN = POREP_DRG_PARENTS - 1 };
    if (node < 2) {
        memset(out, 0, POREP_DRG_PARENTS * sizeof *out);
        return;
    }
    uint8_t key[32];
    static const uint8_t nonce[8] = {0};
    memcpy(key, g->drg_seed, sizeof g->drg_seed);
    put_u32_le(key + sizeof g->drg_seed, (uint32_t)node);
    chacha stream;
    chacha_init(&stream, 8, 64, key, nonce);

    uint64_t *drawn = g->api_version >= 110 ? out + 1 : out;
    uint64_t meta = node * DRAWN; /* node of the graph in which each node has one parent */
    unsigned buckets = 64 - (unsigned)__builtin_clzll(meta - 1); /* ceil(log2(meta)) */
    for (int i = 0; i < DRAWN; i++) {
        unsigned b = (unsigned)(chacha_u64(&stream) % buckets) + 1;
        uint64_t big = (uint64_t)1 << b;
        if (big > meta) big = meta;
        uint64_t small = big / 2 > 2 ? big / 2 : 2;
        uint64_t distance = small + chacha_u64(&stream) % (big - small + 1);
        uint64_t parent = (meta - distance) / DRAWN;
        drawn[i] = parent == node ? node - 1 : parent;
    }
    out[g->api_version >= 110 ? 0 : DRAWN] = node - 1;
}

static uint64_t feistel_round(uint64_t right, uint64_t key) {
    uint8_t text[16], digest[64];
    put_u64_be(text, right);
    put_u64_be(text + 8, key);
    hash_blake2b512(digest, text, sizeof text);
    return get_u64_be(digest);
}

static void expander_parents(const porep_graph *g, uint64_t node, uint64_t *out) {
    uint64_t domain = g->nodes * POREP_EXP_PARENTS;
    unsigned half = 1;
    while ((uint64_t)1 << (2 * half) < domain) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    for (unsigned i = 0; i < POREP_EXP_PARENTS; i++) {
        uint64_t x = node * POREP_EXP_PARENTS + i;
        do { /* walk the permutation of the next power of four until inside the domain */
            uint64_t left = x >> half, right = x & mask;
            for (int k = 0; k < 3; k++) {
                uint64_t next = left ^ (feistel_round(right, g->feistel_key[k]) & mask);
                left = right;
                right = next;
            }
            x = left << half | right;
        } while (x >= domain);
        if (g->api_version < 110) x &= UINT32_MAX; /* API 1.0.0 cut the index before dividing */
        out[i] = x / POREP_EXP_PARENTS;
    }
}

void porep_graph_parents(const porep_graph *g, uint64_t node, uint64_t out[POREP_DRG_PARENTS + POREP_EXP_PARENTS]) {
    assert(node < g->nodes && g->nodes <= (uint64_t)1 << 32);
    drg_parents(g, node, out);
    expander_parents(g, node, out + POREP_DRG_PARENTS);
}

/* ---- challenges ---- */

/* le(bytes) mod m, m below 2^32. */
static uint64_t mod_le(const uint8_t bytes[32], uint64_t m) {
    uint64_t rest = 0;
    for (int i = 28; i >= 0; i -= 4) {
        uint64_t word = (uint64_t)bytes[i] | (uint64_t)bytes[i + 1] << 8 | (uint64_t)bytes[i + 2] << 16 |
                        (uint64_t)bytes[i + 3] << 24;
        rest = (rest << 32 | word) % m;
    }
    return rest;
}

static uint64_t hashed_challenge(const porep_params *p, const uint8_t replica_id[32], const uint8_t comm_r[32],
                                 const uint8_t seed[32], uint32_t j) {
    static const char tag[] = "filecoin.io|PoRep|1|NonInteractive|1";
    uint8_t text[sizeof tag + 68], digest[32];
    size_t n = 0;
    if (p->non_interactive) {
        memcpy(text, tag, sizeof tag - 1);
        n = sizeof tag - 1;
    }
    memcpy(text + n, replica_id, 32);
    memcpy(text + n + 32, p->non_interactive ? comm_r : seed, 32);
    put_u32_le(text + n + 64, j);
    hash_sha256(digest, text, n + 68);
    return mod_le(digest, p->nodes - 1) + 1;
}

/* A ChaCha20 keystream whose key is keyed BLAKE2b over two values. */
static void synthetic_stream(chacha *c, const char *purpose, const uint8_t a[32], const uint8_t b[32]) {
    static const uint8_t nonce[12] = "synth-porep";
    uint8_t text[64], key[32];
    memcpy(text, a, 32);
    memcpy(text + 32, b, 32);
    hash_blake2b256_keyed(key, purpose, strlen(purpose), text, sizeof text);
    chacha_init(c, 20, 32, key, nonce);
}

void porep_synthetic_challenges(const porep_params *p, uint64_t set, const uint8_t replica_id[32],
                                const uint8_t comm_r[32], const uint8_t seed[32], unsigned partition, uint64_t *out) {
    chacha pick, start;
    synthetic_stream(&pick, "filecoin.io|PoRep|1|Synthetic|1|Selection", replica_id, seed);
    synthetic_stream(&start, "filecoin.io|PoRep|1|Synthetic|1|Generation", replica_id, comm_r);
    uint8_t word[4], bytes[32];
    for (uint64_t skip = 0; skip < (uint64_t)partition * p->challenges; skip++) chacha_bytes(&pick, word, sizeof word);
    for (unsigned i = 0; i < p->challenges; i++) {
        chacha_bytes(&pick, word, sizeof word);
        uint64_t at =
            ((uint64_t)word[0] | (uint64_t)word[1] << 8 | (uint64_t)word[2] << 16 | (uint64_t)word[3] << 24) % set;
        chacha stream = start; /* element `at` is 32 bytes, so two to a block: start at its block */
        stream.state[12] = (uint32_t)(at / 2);
        if (at % 2 != 0) chacha_bytes(&stream, bytes, sizeof bytes);
        chacha_bytes(&stream, bytes, sizeof bytes);
        out[i] = mod_le(bytes, p->nodes - 1) + 1;
    }
}

void porep_challenges(const porep_params *p, const uint8_t replica_id[32], const uint8_t comm_r[32],
                      const uint8_t seed[32], unsigned partition, uint64_t *out) {
    if (p->synthetic) {
        uint64_t most = (uint64_t)1 << 18;
        porep_synthetic_challenges(p, p->nodes < most ? p->nodes : most, replica_id, comm_r, seed, partition, out);
        return;
    }
    for (unsigned i = 0; i < p->challenges; i++)
        out[i] = hashed_challenge(p, replica_id, comm_r, seed, (uint32_t)(partition * p->challenges + i));
}

/* ---- labels ---- */

void porep_label(uint8_t out[32], const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                 const uint8_t (*parents)[32], unsigned n_parents) {
    uint8_t text[64 + POREP_LABEL_PARENTS * 32] = {0};
    memcpy(text, replica_id, 32);
    put_u32_be(text + 32, layer);
    put_u64_be(text + 36, node);
    size_t n = 64;
    if (node != 0) {
        for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++) memcpy(text + 64 + 32 * i, parents[i % n_parents], 32);
        n = sizeof text;
    }
    hash_sha256(out, text, n);
    out[31] &= 0x3f;
}
