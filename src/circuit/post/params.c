/* Filecoin PoSt: sector sizes, registered proofs, parameter identifiers.
 *
 * The API version is part of no identifier: window proofs of 1.0.0 and 1.2.0 share circuit and key. Winning proofs are
 * always 1.0.0. Source: docs/circuits/post.md.
 */
#include "circuit/post/post.h"

#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"

#define NODE_BYTES 32

#define WINNING_CHALLENGES 66
#define WINDOW_CHALLENGES 10

static const struct size_row {
    uint64_t bytes;
    uint8_t u, v, w;
    uint16_t window_sectors;
} sizes[] = {{2 * KIB, 8, 0, 0, 2},     {4 * KIB, 8, 2, 0, 2},    {16 * KIB, 8, 8, 0, 2},  {32 * KIB, 8, 8, 2, 2},
             {8 * MIB, 8, 0, 0, 2},     {16 * MIB, 8, 2, 0, 2},   {512 * MIB, 8, 0, 0, 2}, {1 * GIB, 8, 2, 0, 2},
             {32 * GIB, 8, 8, 0, 2349}, {64 * GIB, 8, 8, 2, 2300}};

bool post_params_custom(post_params *out, uint64_t nodes, unsigned u, unsigned v, unsigned w, unsigned slots,
                        unsigned challenges) {
    if (nodes > ((uint64_t)1 << 31) || slots < 1 || challenges < 1 || challenges > POST_MAX_CHALLENGES) return false;
    *out = (post_params){.kind = POST_WINDOW,
                         .sector_bytes = nodes * NODE_BYTES,
                         .nodes = nodes,
                         .u = u,
                         .v = v,
                         .w = w,
                         .above = (v != 0 ? 1u : 0u) + (w != 0 ? 1u : 0u),
                         .slots = slots,
                         .challenges = challenges};
    return merkle_form_poseidon(&out->tree, nodes, u, v, w);
}

bool post_params_for(post_params *out, post_kind kind, uint64_t sector_bytes) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct size_row *row = &sizes[i];
        if (row->bytes != sector_bytes) continue;
        bool winning = kind == POST_WINNING;
        if (!post_params_custom(out, sector_bytes / NODE_BYTES, row->u, row->v, row->w,
                                winning ? WINNING_CHALLENGES : row->window_sectors, winning ? 1 : WINDOW_CHALLENGES))
            return false;
        out->kind = kind;
        return true;
    }
    return false;
}

unsigned post_challenges_of_sector(const post_params *p) {
    return p->kind == POST_WINNING ? p->slots * p->challenges : p->challenges;
}

unsigned post_sectors(const post_params *p) {
    return p->kind == POST_WINNING ? 1 : p->slots;
}

/* ---- registered proofs ---- */

#define REGISTERED 15
#define PER_FAMILY 5 /* one for each published sector size */

static const uint64_t published[PER_FAMILY] = {2 * KIB, 8 * MIB, 512 * MIB, 32 * GIB, 64 * GIB};
static const char *const rust_names[REGISTERED] = {
    "StackedDrgWinning2KiBV1",    "StackedDrgWinning8MiBV1",   "StackedDrgWinning512MiBV1", "StackedDrgWinning32GiBV1",
    "StackedDrgWinning64GiBV1",   "StackedDrgWindow2KiBV1",    "StackedDrgWindow8MiBV1",    "StackedDrgWindow512MiBV1",
    "StackedDrgWindow32GiBV1",    "StackedDrgWindow64GiBV1",   "StackedDrgWindow2KiBV1_2",  "StackedDrgWindow8MiBV1_2",
    "StackedDrgWindow512MiBV1_2", "StackedDrgWindow32GiBV1_2", "StackedDrgWindow64GiBV1_2",
};

const char *post_registered_name(unsigned number) {
    return number < REGISTERED ? rust_names[number] : NULL;
}

const char *post_kind_name(post_kind kind) {
    return kind == POST_WINNING ? "winning-post" : "window-post";
}

static void registered_fill(post_registered *out, unsigned number) {
    unsigned family = number / PER_FAMILY;
    *out = (post_registered){.number = number,
                             .kind = family == 0 ? POST_WINNING : POST_WINDOW,
                             .sector_bytes = published[number % PER_FAMILY],
                             .api_version = family == 2 ? 120 : 100};
}

/* Rust's spelling, or Go's, which ends the last family's names in V1_1. */
static bool name_matches(const char *full, const char *name, size_t len) {
    size_t n = strlen(full);
    if (len != n || memcmp(full, name, n - 1) != 0) return false;
    return name[n - 1] == full[n - 1] || (full[n - 2] == '_' && name[n - 1] == '1');
}

bool post_registered_by_name(post_registered *out, const char *name, size_t len) {
    static const char prefix[] = "RegisteredPoStProof_";
    uint64_t number;
    if (len <= 2 && text_u64(&number, name, len)) {
        if (number >= REGISTERED || (len == 2 && name[0] == '0')) return false;
        registered_fill(out, (unsigned)number);
        return true;
    }
    if (len > sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0) {
        name += sizeof prefix - 1;
        len -= sizeof prefix - 1;
    }
    for (unsigned i = 0; i < REGISTERED; i++) {
        if (!name_matches(rust_names[i], name, len)) continue;
        registered_fill(out, i);
        return true;
    }
    return false;
}

/* ---- identifiers ---- */

void post_identifier(const post_params *p, char *out, size_t n) {
    snprintf(out, n, "FallbackPoSt::PublicParams{sector_size: %llu, challenge_count: %u, sector_count: %u}",
             (unsigned long long)p->sector_bytes, p->challenges, p->slots);
}

void post_cache_identifier(const post_params *p, char *out, size_t n) {
    char text[160], hex[65];
    uint8_t digest[32];
    post_identifier(p, text, sizeof text);
    hash_sha256(digest, text, strlen(text));
    text_hex(hex, digest, 32);
    snprintf(out, n, "proof-of-spacetime-fallback-merkletree-poseidon_hasher-%u-%u-%u-%s", p->u, p->v, p->w, hex);
}
