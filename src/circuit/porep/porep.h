/* Filecoin proof of replication (stacked DRG): sizes, identities, the vanilla proof in memory, the circuit.
 * Source: docs/circuits/porep.md. */
#ifndef CUZK_CIRCUIT_POREP_H
#define CUZK_CIRCUIT_POREP_H

#include "base/arena.h"
#include "base/pool.h"
#include "gadget/merkle_path.h"
#include "r1cs/cs.h"

#define POREP_DRG_PARENTS 6
#define POREP_EXP_PARENTS 8
#define POREP_LABEL_PARENTS 37
#define POREP_MAX_LAYERS 11

typedef struct porep_params {
    uint64_t sector_bytes, nodes;
    unsigned layers;
    unsigned u, v, w;    /* tree shape U-V-W of trees C and R */
    unsigned challenges; /* per partition */
    unsigned partitions, min_challenges;
    bool non_interactive, synthetic; /* do not change the circuit */
    merkle_form tree_d, tree_r;      /* tree C has tree_r's form */
} porep_params;

/* The ten sector sizes. variant: NULL or "" (interactive), "ni", "synthetic". False when there is no such circuit. */
bool porep_params_for(porep_params *out, uint64_t sector_bytes, const char *variant);
/* A free description for tests (the stacked test circuits of rust-fil-proofs): nodes leaves, shape, layers, challenges.
 */
bool porep_params_custom(porep_params *out, uint64_t nodes, unsigned u, unsigned v, unsigned w, unsigned layers,
                         unsigned challenges);

/* Registered proof: what the name implies. Rust names ("StackedDrg2KiBV1_1"), Go names and numbers of
 * Lotus/Curio ("StackedDrg2KiBV1_1" with or without "RegisteredSealProof_" …). */
typedef struct porep_registered {
    unsigned number; /* 0..19, rust-filecoin-proofs-api numbering */
    uint64_t sector_bytes;
    unsigned api_version; /* 100, 110, 120 */
    bool synthetic, non_interactive;
    uint8_t porep_id[32];
} porep_registered;
bool porep_registered_by_name(porep_registered *out, const char *name, size_t len);
const char *porep_registered_name(unsigned number); /* Rust spelling; NULL when out of range */

/* ---- the vanilla proof of one challenge, as values (borrowed from the job's arena) ---- */
typedef struct porep_column {
    uint64_t index; /* node */
    const fr *rows; /* layers */
    merkle_path path;
} porep_column;
typedef struct porep_labeling {
    uint64_t node;
    uint32_t layer;
    const fr *parents; /* 37 */
} porep_labeling;
typedef struct porep_challenge {
    merkle_path d, r;
    porep_column x, drg[POREP_DRG_PARENTS], exp[POREP_EXP_PARENTS];
    const porep_labeling *labels; /* layers */
    porep_labeling encoding;
} porep_challenge;
/* One partition: the instance that the circuit is run with. */
typedef struct porep_partition {
    fr replica_id, comm_d, comm_r, comm_c, comm_r_last;
    const porep_challenge *challenges; /* params.challenges */
} porep_partition;

/* The circuit (a cs_circuit): params is a porep_params, instance a porep_partition. One repeated block a challenge. */
void porep_synthesize(cs *c, const void *params, const void *instance);
/* Bump when the circuit code changes structure: part of the shape cache's key. */
#define POREP_CIRCUIT_VERSION 1u

/* The identifier text, its SHA-256, and the official file name without extension. */
void porep_identifier(const porep_params *p, char *out, size_t n);
void porep_cache_identifier(const porep_params *p, char *out,
                            size_t n); /* "stacked-proof-of-replication-merkletree-…-<sha256>" */

#endif
