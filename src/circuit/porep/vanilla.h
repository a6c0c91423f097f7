/* The PoRep prover input in memory: where a challenge's values lie, the two files that a job is read from, the check.
 * Internal to circuit/porep. Source: docs/circuits/porep.md, docs/cli.md ("Jobs"). */
#ifndef CUZK_CIRCUIT_POREP_VANILLA_H
#define CUZK_CIRCUIT_POREP_VANILLA_H

#include "circuit/porep/porep.h"
#include "cuzk/control.h"

#define POREP_PARENTS (POREP_DRG_PARENTS + POREP_EXP_PARENTS)

/* ---- a challenge whose values are still being filled in ---- */
typedef struct porep_draft_tree {
    fr *siblings;         /* of all levels, from the leaves up */
    merkle_level *levels; /* its siblings pointers are set */
} porep_draft_tree;
/* The writable side of what porep_challenge borrows. Columns: c_x, DRG parents, expander parents. */
typedef struct porep_draft {
    porep_challenge *challenge;
    porep_draft_tree d, r, column_tree[1 + POREP_PARENTS];
    fr *rows[1 + POREP_PARENTS];
    porep_labeling *labels;
    fr *parents[POREP_MAX_LAYERS + 1]; /* of each layer's labeling, then of the encoding */
} porep_draft;
/* Takes one challenge's memory and wires it. False when there is none. */
bool porep_draft_make(porep_draft *out, arena *a, const porep_params *p, porep_challenge *challenge);
/* c_x, drg 0.., exp 0.. by number. */
porep_column *porep_column_at(porep_challenge *c, unsigned i);
const porep_column *porep_column_of(const porep_challenge *c, unsigned i);

/* ---- commit-phase-1 output ---- */
typedef struct porep_c1 {
    bool has_registered, wrapped, has_sector_number;
    porep_registered registered;
    uint64_t vanilla_bytes; /* sector size that the key over the vanilla proofs names; 0: a bare array */
    uint64_t wrapper_bytes, sector_number;
    porep_params params; /* what it was read as: shape, layers, challenges (partitions of the interactive kind) */
    uint8_t comm_r[32], comm_d[32], replica_id[32], seed[32], ticket[32];
    porep_partition *partitions; /* commitments and replica id filled in */
    unsigned n_partitions;
} porep_c1;
/* sector_bytes: what the proofs are to be read as; 0: what the file says. forced: sector_bytes may differ from the
 * file's own names. Values live in a. The document is borrowed until return. */
cuzk_status porep_c1_read(porep_c1 *out, arena *a, const char *name, const void *data, size_t len,
                          uint64_t sector_bytes, bool forced, cuzk_error *err);
/* The envelope form, as the official tools write it. The text is in *out (class REQUEST), *len of it. */
cuzk_status porep_c1_write(buffer *out, size_t *len, const porep_c1 *c1, cuzk_error *err);

/* ---- request ---- */
typedef struct porep_request {
    bool has_registered, has_prover, has_sector, has_ticket, has_seed, has_comm_d, has_comm_r;
    porep_registered registered; /* porep_id and api_version as the request has them */
    bool has_porep_id, has_api_version;
    uint8_t prover_id[32], ticket[32], seed[32], comm_d[32], comm_r[32], porep_id[32];
    unsigned api_version;
    uint64_t sector_number;
} porep_request;
#define POREP_REQUEST_MAX_BYTES ((size_t)1 << 20)
cuzk_status porep_request_read(porep_request *out, arena *scratch, const char *name, const void *data, size_t len,
                               cuzk_error *err);

/* ---- the job ---- */
typedef struct porep_job {
    porep_registered registered; /* with the request's porep_id and api_version where it has them */
    const porep_params *params;
    uint8_t replica_id[32], comm_d[32], comm_r[32], seed[32], ticket[32], prover_id[32];
    bool has_prover, has_sector;
    uint64_t sector_number;
    const porep_partition *partitions; /* NULL: facts only */
    unsigned n_partitions;
} porep_job;

/* Paths, labels, encodings and commitments of the whole vanilla proof; the first fault by partition and challenge. */
cuzk_status porep_vanilla_check(const porep_job *j, pool *p, const cuzk_control *control, cuzk_error *err);

#endif
