/* Filecoin empty sector update (SnapDeals): sizes, identities, challenges, the vanilla proof in memory, the circuit,
 * jobs.
 *
 * A sealed sector of no data takes data in: each node of its replica becomes r_new = r_old + d_new * rho, where rho is
 * a hash of the commitments and of the node's high bits. A partition proves that for its challenged nodes, and that its
 * stretch of the data tree is in comm_d_new. Source: docs/circuits/snap.md.
 */
#ifndef CUZK_CIRCUIT_SNAP_H
#define CUZK_CIRCUIT_SNAP_H

#include "base/arena.h"
#include "base/json.h"
#include "base/pool.h"
#include "cuzk/control.h"
#include "gadget/merkle_path.h"
#include "math/poseidon.h"
#include "r1cs/cs.h"

#define SNAP_H_CHOICES 6
#define SNAP_MAX_PARTITIONS 16
#define SNAP_MAX_APEX 128
#define SNAP_MAX_BITS 31         /* of a challenge */
#define SNAP_MAX_CHALLENGES 1376 /* of a partition: the Poseidon variant has all in one */

typedef struct snap_params {
    uint64_t sector_bytes, nodes;
    unsigned u, v, w; /* shape of the replica trees */
    unsigned above;   /* their levels of sub and top tree */
    bool poseidon;    /* the variant whose data tree is hashed with Poseidon: no partitions, no apex */
    unsigned partitions, partition_bits;
    unsigned challenges; /* of a partition */
    unsigned challenge_bits, random_bits;
    unsigned per_digest, digests;    /* challenges that one digest gives; digests of a partition */
    unsigned apex_leaves, apex_bits; /* of a partition; 0 in the Poseidon variant */
    unsigned data_levels;            /* of the data tree that a challenge climbs in the circuit */
    uint8_t hs[SNAP_H_CHOICES];
    unsigned h, h_select; /* the choice that proofs use, and its bit among the six */
    merkle_form tree_r, tree_d;
} snap_params;

/* USAGE: the Poseidon variant has no prover input, so it has no jobs and no made-up sectors. */
cuzk_status snap_poseidon_refused(cuzk_error *err);
/* variant: NULL or "", or "poseidon". Also has the test sizes 1 and 8 KiB. False when there is no such circuit. */
bool snap_params_for(snap_params *out, uint64_t sector_bytes, const char *variant);

/* Registered proof: "StackedDrg32GiBV1", with or without "RegisteredUpdateProof_", or the number. */
typedef struct snap_registered {
    unsigned number; /* 0..4 */
    uint64_t sector_bytes;
    unsigned api_version; /* 110 */
} snap_registered;
bool snap_registered_by_name(snap_registered *out, const char *name, size_t len);
const char *snap_registered_name(unsigned number); /* NULL when out of range */

/* The identifier text, and the official file name without "v28-" and extension. */
void snap_identifier(const snap_params *p, char *out, size_t n);
void snap_cache_identifier(const snap_params *p, char *out, size_t n);

/* ---- randomness ---- */
/* Poseidon of two elements under the tag of its own that phi, rho and challenges use. */
const poseidon_constants *snap_randomness(void);
void snap_phi(fr *out, const fr *comm_d_new, const fr *comm_r_old);
void snap_rho(const snap_params *p, fr *out, const fr *phi, uint64_t node);
/* Challenged nodes of partition k (p->challenges of them). */
void snap_challenges(const snap_params *p, const fr *comm_r_new, unsigned k, uint64_t *out);

/* ---- the vanilla proof as values ---- */
typedef struct snap_challenge {
    merkle_path r_old, d_new, r_new; /* all of one node */
} snap_challenge;
/* One partition: the instance that the circuit is run with; roots are those of challenge 0. */
typedef struct snap_partition {
    unsigned k;
    fr comm_r_old, comm_d_new, comm_r_new, comm_c;
    const fr *apex;                   /* params.apex_leaves */
    const snap_challenge *challenges; /* params.challenges */
} snap_partition;

/* The circuit (a cs_circuit): params is a snap_params, instance a snap_partition. A block a challenge, with its random
 * bits as parameters. */
void snap_synthesize(cs *c, const void *params, const void *instance);
#define SNAP_CIRCUIT_VERSION 1u

/* Public inputs of partition k without ONE. */
#define SNAP_PUBLIC_INPUTS 4
void snap_public_inputs(const snap_params *p, unsigned k, const fr *comm_r_old, const fr *comm_d_new,
                        const fr *comm_r_new, fr out[SNAP_PUBLIC_INPUTS]);

/* ---- request ---- */
typedef struct snap_request {
    snap_registered registered;
    uint8_t prover_id[32];
    bool has_prover;
    fr comm_r_old, comm_r_new, comm_d_new;
} snap_request;
#define SNAP_REQUEST_MAX_BYTES ((size_t)1 << 20)
/* scratch holds the document. */
cuzk_status snap_request_read(snap_request *out, arena *scratch, const char *name, const void *data, size_t len,
                              cuzk_error *err);

/* ---- vanilla proof of one partition (PartitionProof) ---- */
size_t snap_proof_bytes(const snap_params *p);
/* Fills comm_c, apex and challenges, which live in memory. Well-formed is all that is asked. */
cuzk_status snap_proof_read(snap_partition *out, arena *memory, const snap_params *p, const char *name,
                            const void *data, size_t len, cuzk_error *err);
/* to has snap_proof_bytes. */
void snap_proof_write(uint8_t *to, const snap_params *p, const snap_partition *proof);

/* ---- the job ---- */
typedef struct snap_job {
    snap_request request;
    const snap_params *params;
    const snap_partition *partitions; /* params.partitions; NULL: facts only */
} snap_job;

/* Everything that the circuit proves, by values; the first fault by partition and challenge. */
cuzk_status snap_vanilla_check(const snap_job *j, pool *p, const cuzk_control *control, cuzk_error *err);

/* ---- made-up sectors ---- */
/* Writes FOLDER/request.json and FOLDER/vanilla-K.bin, one for each partition; deterministic by seed. A size without a
 * registered proof names 2 KiB's and is read with --size. */
cuzk_status snap_synth(const snap_params *p, uint64_t seed, const char *folder, pool *workers,
                       const cuzk_control *control, void (*wrote)(void *user, const char *what, const char *path),
                       void *user, cuzk_error *err);

#endif
