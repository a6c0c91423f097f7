/* Filecoin PoRep: sector sizes, registered proofs, parameter identifiers.
 *
 * A circuit is fixed by the number of nodes, the layers, the tree shape and the challenges of a partition; variants
 * differ in how challenges are drawn and in how many partitions there are, never in the circuit.
 * Source: docs/circuits/porep.md.
 */
#include "circuit/porep/porep.h"

#include <stdio.h>
#include "base/hash.h"
#include "base/units.h"

#define NODE_BYTES 32

static const struct size_row {
    uint64_t bytes;
    uint8_t u, v, w;
    bool large; /* production sizes: 11 layers, 18 challenges a partition */
} sizes[] = {{2 * KIB, 8, 0, 0, false},   {4 * KIB, 8, 2, 0, false}, {16 * KIB, 8, 8, 0, false},
             {32 * KIB, 8, 8, 2, false},  {8 * MIB, 8, 0, 0, false}, {16 * MIB, 8, 2, 0, false},
             {512 * MIB, 8, 0, 0, false}, {GIB, 8, 2, 0, false},     {32 * GIB, 8, 8, 0, true},
             {64 * GIB, 8, 8, 2, true}};

bool porep_params_custom(porep_params *out, uint64_t nodes, unsigned u, unsigned v, unsigned w, unsigned layers,
                         unsigned challenges) {
    if (nodes < 2 || (nodes & (nodes - 1)) != 0 || nodes > ((uint64_t)1 << MERKLE_MAX_LEVELS)) return false;
    if (layers < 1 || layers > POREP_MAX_LAYERS || challenges < 1) return false;
    *out = (porep_params){.sector_bytes = nodes * NODE_BYTES,
                          .nodes = nodes,
                          .layers = layers,
                          .u = u,
                          .v = v,
                          .w = w,
                          .challenges = challenges,
                          .partitions = 1,
                          .min_challenges = challenges};
    merkle_form_sha256(&out->tree_d, nodes);
    return merkle_form_poseidon(&out->tree_r, nodes, u, v, w);
}

bool porep_params_for(porep_params *out, uint64_t sector_bytes, const char *variant) {
    const struct size_row *row = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].bytes == sector_bytes) row = &sizes[i];
    }
    if (row == NULL) return false;
    if (variant == NULL) variant = "";
    bool ni = strcmp(variant, "ni") == 0, synthetic = strcmp(variant, "synthetic") == 0;
    if (!ni && !synthetic && variant[0] != '\0') return false;
    if (!porep_params_custom(out, sector_bytes / NODE_BYTES, row->u, row->v, row->w, row->large ? 11 : 2,
                             row->large ? 18 : 2))
        return false;
    out->non_interactive = ni;
    out->synthetic = synthetic;
    if (ni) {
        out->partitions = row->large ? 126 : 13;
        out->min_challenges = row->large ? 2253 : 26;
    } else {
        out->partitions = row->large ? 10 : 1;
        out->min_challenges = row->large ? 176 : 2;
    }
    return true;
}

/* ---- registered proofs ---- */

#define REGISTERED 20
#define PER_FAMILY 5 /* one for each published sector size */

static const uint64_t published[PER_FAMILY] = {2 * KIB, 8 * MIB, 512 * MIB, 32 * GIB, 64 * GIB};
static const char *const rust_names[REGISTERED] = {
    "StackedDrg2KiBV1",
    "StackedDrg8MiBV1",
    "StackedDrg512MiBV1",
    "StackedDrg32GiBV1",
    "StackedDrg64GiBV1",
    "StackedDrg2KiBV1_1",
    "StackedDrg8MiBV1_1",
    "StackedDrg512MiBV1_1",
    "StackedDrg32GiBV1_1",
    "StackedDrg64GiBV1_1",
    "StackedDrg2KiBV1_1_Feat_SyntheticPoRep",
    "StackedDrg8MiBV1_1_Feat_SyntheticPoRep",
    "StackedDrg512MiBV1_1_Feat_SyntheticPoRep",
    "StackedDrg32GiBV1_1_Feat_SyntheticPoRep",
    "StackedDrg64GiBV1_1_Feat_SyntheticPoRep",
    "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep",
    "StackedDrg8MiBV1_2_Feat_NonInteractivePoRep",
    "StackedDrg512MiBV1_2_Feat_NonInteractivePoRep",
    "StackedDrg32GiBV1_2_Feat_NonInteractivePoRep",
    "StackedDrg64GiBV1_2_Feat_NonInteractivePoRep",
};

const char *porep_registered_name(unsigned number) {
    return number < REGISTERED ? rust_names[number] : NULL;
}

static void registered_fill(porep_registered *out, unsigned number) {
    static const unsigned api_versions[REGISTERED / PER_FAMILY] = {100, 110, 120, 120};
    unsigned family = number / PER_FAMILY;
    *out = (porep_registered){.number = number,
                              .sector_bytes = published[number % PER_FAMILY],
                              .api_version = api_versions[family],
                              .synthetic = family == 2,
                              .non_interactive = family == 3};
    out->porep_id[0] = (uint8_t)number; /* number and nonce 0, both u64 little-endian */
}

/* A decimal number below REGISTERED without sign or leading zeros. */
static bool registered_number(unsigned *out, const char *name, size_t len) {
    if (len < 1 || len > 2 || (len == 2 && name[0] == '0')) return false;
    unsigned n = 0;
    for (size_t i = 0; i < len; i++) {
        if (name[i] < '0' || name[i] > '9') return false;
        n = 10 * n + (unsigned)(name[i] - '0');
    }
    *out = n;
    return n < REGISTERED;
}

/* True when name is `full`, or `full` with its feature written the Go way (NonInteractivePoRep as NiPoRep). */
static bool name_matches(const char *full, const char *name, size_t len) {
    static const char rust_suffix[] = "NonInteractivePoRep", go_suffix[] = "NiPoRep";
    size_t n = strlen(full), r = sizeof rust_suffix - 1, g = sizeof go_suffix - 1;
    if (len == n && memcmp(full, name, n) == 0) return true;
    if (n < r || memcmp(full + n - r, rust_suffix, r) != 0) return false;
    return len == n - r + g && memcmp(full, name, n - r) == 0 && memcmp(name + n - r, go_suffix, g) == 0;
}

bool porep_registered_by_name(porep_registered *out, const char *name, size_t len) {
    static const char prefix[] = "RegisteredSealProof_";
    unsigned number;
    if (registered_number(&number, name, len)) {
        registered_fill(out, number);
        return true;
    }
    if (len > sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0) {
        name += sizeof prefix - 1;
        len -= sizeof prefix - 1;
    }
    for (number = 0; number < REGISTERED; number++) {
        if (!name_matches(rust_names[number], name, len)) continue;
        registered_fill(out, number);
        return true;
    }
    return false;
}

/* ---- identifiers ---- */

void porep_identifier(const porep_params *p, char *out, size_t n) {
    snprintf(out, n,
             "layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: %d base_graph: "
             "drgraph::BucketGraph{size: %llu; degree: %d; hasher: poseidon_hasher} }, challenges: LayerChallenges { "
             "layers: %u, max_count: %u }, tree: merkletree-poseidon_hasher-%u-%u-%u }",
             POREP_EXP_PARENTS, (unsigned long long)p->nodes, POREP_DRG_PARENTS, p->layers, p->challenges, p->u, p->v,
             p->w);
}

void porep_cache_identifier(const porep_params *p, char *out, size_t n) {
    char text[512], hex[65];
    uint8_t digest[32];
    porep_identifier(p, text, sizeof text);
    hash_sha256(digest, text, strlen(text));
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    snprintf(out, n, "stacked-proof-of-replication-merkletree-poseidon_hasher-%u-%u-%u-sha256_hasher-%s", p->u, p->v,
             p->w, hex);
}
