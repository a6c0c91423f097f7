/* Circuits by name, and jobs: one prover input read, checked, and cut into partitions. Every proof kind joins through
 * one table entry.
 *
 * A circuit is KIND, sector size and variant. A job belongs to a circuit; it owns its arena. Read-only after opening,
 * shared by threads.
 */
#ifndef CUZK_CIRCUIT_JOB_H
#define CUZK_CIRCUIT_JOB_H

#include "base/json.h"
#include "base/pool.h"
#include "circuit/source.h"
#include "r1cs/witness.h"

typedef struct circuit_kind circuit_kind;

typedef struct circuit {
    const circuit_kind *kind;
    char name[64];    /* "porep-2kib", "porep-ni-32gib" */
    char variant[32]; /* "" when none */
    uint64_t sector_bytes;
    unsigned partitions;        /* of a whole job */
    uint32_t version;           /* of the circuit code, for the shape cache */
    char shape_name[64];        /* circuits of equal structure share one cached shape ("porep-2kib" for ni too) */
    char cache_identifier[256]; /* official name without "v28-" and extension */
    const void *params;         /* the kind's static description; owned by the circuit */
    void *params_memory;
} circuit;

/* What a job is made from; vanilla has n_vanilla. */
typedef struct job_files {
    job_source c1, request;
    const job_source *vanilla;
    size_t n_vanilla;
    uint64_t size_override; /* --size; 0: what the registered proof names */
} job_files;

typedef struct job {
    circuit circuit;
    arena *memory;
    unsigned partitions; /* in this job */
    bool facts_only;     /* opened for verification: public inputs only, no instances */
    void *data;          /* the kind's, in memory */
} job;

struct circuit_kind {
    const char *name;            /* "porep" */
    const char *const *variants; /* NULL-terminated, "" first */
    const uint64_t *sizes;       /* 0-terminated */
    cs_circuit synthesize;
    /* Nearly all of the blocks are field elements: values take far more memory than the instance that they follow from,
     * so witnesses are lazy (r1cs/witness.h). public_inputs is then what synthesize makes them. */
    bool lazy_blocks;
    /* Fills params, partitions, names. */
    cuzk_status (*open)(circuit *c, uint64_t sector_bytes, const char *variant, cuzk_error *err);
    /* Reads the input. facts_only: what a verifier knows is enough (for porep: --c1, or --request alone). */
    cuzk_status (*job_open)(job *j, const job_files *files, bool facts_only, cuzk_error *err);
    /* Checks the vanilla proof: UNSATISFIED with where = "partition P, challenge C, part". */
    cuzk_status (*job_check)(const job *j, pool *p, const cuzk_control *control, cuzk_error *err);
    /* Public inputs of a partition without ONE, from the public facts, as the verifier makes them. */
    size_t (*public_count)(const circuit *c);
    void (*public_inputs)(const job *j, unsigned partition, fr *out);
    /* The instance for synthesize; borrowed from the job. */
    const void *(*instance)(const job *j, unsigned partition);
    /* Members for `vanilla inspect` into an open JSON object. */
    void (*inspect)(const job *j, json_out *o);
    /* Writes the input files of a made-up job into folder (made when absent) and names each; NULL: the kind has none.
     */
    cuzk_status (*synth)(const circuit *c, uint64_t seed, const char *folder, pool *p, const cuzk_control *control,
                         void (*wrote)(void *user, const char *what, const char *path), void *user, cuzk_error *err);
    void (*close)(job *j); /* may be NULL; frees what is not in the arena */
};

/* All kinds that are there. */
size_t circuit_kind_count(void);
const circuit_kind *circuit_kind_at(size_t i);
const circuit_kind *circuit_kind_find(const char *name); /* NULL when unknown */

cuzk_status circuit_open(circuit *out, const char *kind, uint64_t sector_bytes, const char *variant, cuzk_error *err);
/* The same for a kind that need not be in the table. */
cuzk_status circuit_open_kind(circuit *out, const circuit_kind *kind, uint64_t sector_bytes, const char *variant,
                              cuzk_error *err);
void circuit_close(circuit *c);
/* "v28-<cache_identifier>.params" or ".vk". */
void circuit_file_name(const circuit *c, const char *extension, char *out, size_t n);

/* Nothing of the files is needed after return. */
cuzk_status job_open(job *out, const char *kind, const job_files *files, bool facts_only, cuzk_error *err);
/* The same for a kind that need not be in the table. */
cuzk_status job_open_kind(job *out, const circuit_kind *kind, const job_files *files, bool facts_only, cuzk_error *err);
void job_close(job *j);
/* The witness of a partition; lazy when the shape is. A lazy one borrows the job until it is freed. Only for a job with
 * instances. */
cuzk_status job_witness(witness *out, const job *j, const shape *s, unsigned partition, cuzk_error *err);
/* The same; looks at control between the circuit's blocks: CANCELLED. */
cuzk_status job_witness_until(witness *out, const job *j, const shape *s, unsigned partition,
                              const cuzk_control *control, cuzk_error *err);

#endif
