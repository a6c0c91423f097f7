/* Sector updates: sizes, registered proofs, parameter identifiers.
 *
 * The number of partitions is one of the update's own (1, 2, 4 or 16), not that of the seal. Both variants of a size
 * have the same identifier text; the names differ by their prefix. Source:
 * docs/circuits/snap.md.
 */
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "circuit/snap/snap.h"

#define NODE_BYTES 32
#define DIGEST_BITS 254 /* that are used of a challenge digest */
#define H_POSITION 3    /* of the choice that proofs use */

static const struct size_row {
    uint64_t bytes;
    uint8_t u, v, w, partitions, challenges, apex_leaves;
} sizes[] = {{1 * KIB, 8, 4, 0, 1, 10, 8},     {2 * KIB, 8, 0, 0, 1, 10, 8},    {4 * KIB, 8, 2, 0, 1, 10, 8},
             {8 * KIB, 8, 4, 0, 1, 10, 8},     {16 * KIB, 8, 8, 0, 2, 10, 128}, {32 * KIB, 8, 8, 2, 2, 10, 128},
             {8 * MIB, 8, 0, 0, 4, 10, 128},   {16 * MIB, 8, 2, 0, 4, 10, 128}, {512 * MIB, 8, 0, 0, 16, 86, 128},
             {32 * GIB, 8, 8, 0, 16, 86, 128}, {64 * GIB, 8, 8, 2, 16, 86, 128}};

static unsigned log2_of(uint64_t n) {
    return (unsigned)__builtin_ctzll(n);
}

/* Small sectors have the choice 1 six times, and the first of equal choices counts as the one that is used. */
static void fill_h(snap_params *p) {
    bool small = p->sector_bytes <= 32 * KIB;
    for (unsigned i = 0; i < SNAP_H_CHOICES; i++) p->hs[i] = (uint8_t)(small ? 1 : 7 + i);
    p->h = p->hs[H_POSITION];
    unsigned first = 0;
    while (p->hs[first] != p->h) first++;
    p->h_select = 1u << first;
}

static void fill_challenges(snap_params *p, const struct size_row *row) {
    p->partitions = p->poseidon ? 1 : row->partitions;
    p->partition_bits = log2_of(p->partitions);
    p->challenges = p->poseidon ? (unsigned)row->partitions * row->challenges : row->challenges;
    p->challenge_bits = log2_of(p->nodes);
    p->random_bits = p->challenge_bits - p->partition_bits;
    p->per_digest = DIGEST_BITS / p->random_bits;
    p->digests = (p->challenges + p->per_digest - 1) / p->per_digest;
}

static bool fill_trees(snap_params *p, const struct size_row *row) {
    if (!merkle_form_poseidon(&p->tree_r, p->nodes, p->u, p->v, p->w)) return false;
    if (p->poseidon) {
        p->tree_d = p->tree_r;
        p->data_levels = p->tree_d.levels;
        return true;
    }
    merkle_form_sha256(&p->tree_d, p->nodes);
    p->apex_leaves = row->apex_leaves;
    p->apex_bits = log2_of(p->apex_leaves);
    p->data_levels = p->random_bits - p->apex_bits;
    return true;
}

cuzk_status snap_poseidon_refused(cuzk_error *err) {
    cuzk_fail(err, CUZK_USAGE,
              "there is no prover input for the Poseidon variant of sector updates: nothing makes its "
              "vanilla proofs, so no format for them exists");
    return cuzk_fail_hint(err, "its circuit, keys and the verifying of given public inputs are there; for a job leave "
                               "--variant out");
}

bool snap_params_for(snap_params *out, uint64_t sector_bytes, const char *variant) {
    bool poseidon = variant && strcmp(variant, "poseidon") == 0;
    if (variant && variant[0] && !poseidon) return false;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct size_row *row = &sizes[i];
        if (row->bytes != sector_bytes) continue;
        *out = (snap_params){.sector_bytes = sector_bytes,
                             .nodes = sector_bytes / NODE_BYTES,
                             .u = row->u,
                             .v = row->v,
                             .w = row->w,
                             .above = (row->v != 0 ? 1u : 0u) + (row->w != 0 ? 1u : 0u),
                             .poseidon = poseidon};
        fill_h(out);
        fill_challenges(out, row);
        return fill_trees(out, row);
    }
    return false;
}

/* ---- registered proofs ---- */

#define REGISTERED 5

static const uint64_t published[REGISTERED] = {2 * KIB, 8 * MIB, 512 * MIB, 32 * GIB, 64 * GIB};
static const char *const names[REGISTERED] = {"StackedDrg2KiBV1", "StackedDrg8MiBV1", "StackedDrg512MiBV1",
                                              "StackedDrg32GiBV1", "StackedDrg64GiBV1"};

const char *snap_registered_name(unsigned number) {
    return number < REGISTERED ? names[number] : NULL;
}

bool snap_registered_by_name(snap_registered *out, const char *name, size_t len) {
    static const char prefix[] = "RegisteredUpdateProof_";
    unsigned number = 0;
    if (len == 1) {
        number = (unsigned)(unsigned char)name[0] - '0';
    } else {
        if (len > sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0) {
            name += sizeof prefix - 1;
            len -= sizeof prefix - 1;
        }
        while (number < REGISTERED && (strlen(names[number]) != len || memcmp(names[number], name, len) != 0)) number++;
    }
    if (number >= REGISTERED) return false;
    *out = (snap_registered){.number = number, .sector_bytes = published[number], .api_version = 110};
    return true;
}

/* ---- identifiers ---- */

void snap_identifier(const snap_params *p, char *out, size_t n) {
    snprintf(out, n, "empty_sector_update::PublicParams{ sector_nodes: %llu }", (unsigned long long)p->nodes);
}

void snap_cache_identifier(const snap_params *p, char *out, size_t n) {
    char text[96], hex[65];
    uint8_t digest[32];
    snap_identifier(p, text, sizeof text);
    hash_sha256(digest, text, strlen(text));
    text_hex(hex, digest, 32);
    snprintf(out, n, "empty-sector-update%s-merkletree-poseidon_hasher-%u-%u-%u-%s", p->poseidon ? "-poseidon" : "",
             p->u, p->v, p->w, hex);
}
