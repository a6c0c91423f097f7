/* Filecoin proof of spacetime in the fallback form: winning and window PoSt. Sizes, identities, challenges, the vanilla
 * proof in memory, the circuit, jobs.
 *
 * One circuit serves both kinds: slots of one sector each, with so many challenged leaves of its replica tree. Winning
 * has 66 slots of one challenge, all of the one drawn sector; window a slot for each sector of a partition, and ten
 * challenges. Source: docs/circuits/post.md.
 */
#ifndef CUZK_CIRCUIT_POST_H
#define CUZK_CIRCUIT_POST_H

#include "base/arena.h"
#include "base/pool.h"
#include "cuzk/control.h"
#include "gadget/merkle_path.h"
#include "r1cs/cs.h"

typedef enum { POST_WINNING, POST_WINDOW } post_kind;

#define POST_MAX_CHALLENGES 66 /* of one sector */

typedef struct post_params {
    post_kind kind;
    uint64_t sector_bytes, nodes;
    unsigned u, v, w;           /* tree shape */
    unsigned above;             /* levels of sub and top tree */
    unsigned slots, challenges; /* of the circuit */
    merkle_form tree;
} post_params;

/* The ten sector sizes. False when there is no such circuit. */
bool post_params_for(post_params *out, post_kind kind, uint64_t sector_bytes);
/* A free description for tests, of the window kind. */
bool post_params_custom(post_params *out, uint64_t nodes, unsigned u, unsigned v, unsigned w, unsigned slots,
                        unsigned challenges);
/* Challenges that one sector answers, and sectors that fill a partition: winning 66 and 1, window 10 and slots. */
unsigned post_challenges_of_sector(const post_params *p);
unsigned post_sectors(const post_params *p);

/* Registered proof. Names in Rust and in Go spelling, which differ in numbers 10 to 14 only (…V1_2 and …V1_1), with or
 * without "RegisteredPoStProof_", or the number. */
typedef struct post_registered {
    unsigned number; /* 0..14 */
    post_kind kind;
    uint64_t sector_bytes;
    unsigned api_version; /* 100, 120 */
} post_registered;
bool post_registered_by_name(post_registered *out, const char *name, size_t len);
const char *post_registered_name(unsigned number); /* Rust spelling; NULL when out of range */
const char *post_kind_name(post_kind kind);        /* "winning-post", "window-post" */

/* The identifier text, and the official file name without "v28-" and extension. */
void post_identifier(const post_params *p, char *out, size_t n);
void post_cache_identifier(const post_params *p, char *out, size_t n);

/* Challenged leaves of one sector (post_challenges_of_sector of them). position: of the sector among all that are
 * proved together, which counts before API 1.2.0 only. api_version 100, 110 or 120. */
void post_challenges(const post_params *p, unsigned api_version, const uint8_t randomness[32], uint64_t sector_number,
                     uint64_t position, uint64_t *out);
/* Which of `sectors` sectors the n-th draw of a winning PoSt falls on. */
uint64_t post_drawn_sector(const uint8_t prover_id[32], const uint8_t randomness[32], uint64_t n, uint64_t sectors);

/* ---- the vanilla proof as values ---- */
/* What one slot is run with; borrowed from the job. */
typedef struct post_slot {
    fr comm_r, comm_c, comm_r_last;
    const merkle_path *paths; /* params.challenges */
} post_slot;
/* One partition: slots beyond the last are the last again. */
typedef struct post_partition {
    const post_slot *slots;
    unsigned n; /* 1 .. params.slots */
} post_partition;

/* The circuit (a cs_circuit): params is a post_params, instance a post_partition. One repeated block a slot. */
void post_synthesize(cs *c, const void *params, const void *instance);
#define POST_CIRCUIT_VERSION 1u

/* ---- request ---- */
typedef struct post_sector {
    uint64_t number;
    uint8_t comm_r[32];
} post_sector;
typedef struct post_request {
    post_registered registered;
    uint8_t randomness[32], prover_id[32];
    bool has_prover, has_partition_index;
    uint64_t partition_index;
    const post_sector *sectors; /* in ascending order */
    size_t n;
} post_request;
#define POST_REQUEST_MAX_BYTES ((size_t)32 << 20)
/* scratch holds the document, memory the sectors. */
cuzk_status post_request_read(post_request *out, arena *memory, arena *scratch, const char *name, const void *data,
                              size_t len, cuzk_error *err);

/* ---- vanilla proof of one sector (FallbackPoStSectorProof) ---- */
typedef struct post_proof {
    uint64_t number;
    uint8_t comm_r[32];
    fr comm_c, comm_r_last;
    const merkle_path *paths; /* post_challenges_of_sector */
} post_proof;
size_t post_proof_bytes(const post_params *p);
/* Values live in memory. Well-formed is all that is asked. */
cuzk_status post_proof_read(post_proof *out, arena *memory, const post_params *p, const char *name, const void *data,
                            size_t len, cuzk_error *err);
/* to has post_proof_bytes. */
void post_proof_write(uint8_t *to, const post_params *p, const post_proof *proof);

/* ---- the job ---- */
typedef struct post_job {
    post_request request;
    const post_params *params;
    unsigned n_partitions;
    const post_proof *proofs;         /* one a sector; NULL: facts only */
    const post_partition *partitions; /* NULL: facts only */
} post_job;

/* Slots of the partition's real sectors, the first of them among all sectors, and its place among those proved
 * together. */
unsigned post_partition_sectors(const post_job *j, unsigned partition, size_t *first);
uint64_t post_sector_position(const post_job *j, unsigned partition, unsigned slot);

/* Every path of every sector; the first fault by sector and challenge. */
cuzk_status post_vanilla_check(const post_job *j, pool *p, const cuzk_control *control, cuzk_error *err);

/* ---- made-up sectors ---- */
/* Writes FOLDER/request.json and FOLDER/vanilla-K.bin, one for each sector that fills a partition; deterministic by
 * seed. A size without a registered proof names 2 KiB's and is read with --size. */
cuzk_status post_synth(const post_params *p, uint64_t seed, const char *folder, pool *workers,
                       const cuzk_control *control, void (*wrote)(void *user, const char *what, const char *path),
                       void *user, cuzk_error *err);

#endif
