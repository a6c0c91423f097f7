/* A job: one prover input (or, for verifiers, its public facts), read and cut into partitions.
 *
 * Opening reads the files once into memory that the job owns. A job is read-only afterwards and thread-safe.
 */
#ifndef CUZK_JOB_H
#define CUZK_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cuzk/circuit.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_job cuzk_job;

typedef struct cuzk_bytes {
    const void *data;
    size_t n;
} cuzk_bytes;

/* porep: c1 (and request, where c1 is the bare form); other kinds: request and vanilla. Each is a file's path, or bytes
 * in memory (data not NULL), borrowed until return; the path beside them is then only a name for errors. Those not
 * given are NULL. */
typedef struct cuzk_job_files {
    const char *c1, *request;
    const char *const *vanilla; /* may be NULL with vanilla_data */
    size_t n_vanilla;
    uint64_t sector_bytes; /* 0: what the registered proof names */
    const char *variant;   /* NULL: what the registered proof names; otherwise they must agree (FOREIGN) */
    cuzk_bytes c1_data, request_data;
    const cuzk_bytes *vanilla_data; /* n_vanilla; NULL: the files are read */
} cuzk_job_files;

/* facts_only: enough for verifying; no vanilla proof is needed. Returned; free with cuzk_job_close.
 * IO, MALFORMED (file and byte or JSON path), FOREIGN (parts that do not belong together). */
cuzk_status cuzk_job_open(cuzk_job **out, const char *kind, const cuzk_job_files *files, bool facts_only,
                          cuzk_error *err);
void cuzk_job_close(cuzk_job *job);

/* The job's circuit; borrowed until the job is closed (do not close it). */
cuzk_circuit *cuzk_job_circuit(cuzk_job *job);
/* Partitions of this job. */
unsigned cuzk_job_partitions(const cuzk_job *job);

/* Checks the vanilla proofs: paths, labels, encodings and public facts agree. UNSATISFIED names partition, challenge
 * and part. Remembers success. USAGE for a job opened with facts_only. */
cuzk_status cuzk_job_check(cuzk_context *context, cuzk_job *job, const cuzk_control *control, cuzk_error *err);

/* What the input holds, as a JSON object. Returned; free with cuzk_text_free. */
cuzk_status cuzk_job_inspect(cuzk_job *job, char **json, cuzk_error *err);

/* Public inputs of a partition, without ONE, as a verifier derives them from the facts. */
size_t cuzk_job_public_count(const cuzk_job *job);
/* out holds cuzk_job_public_count() elements of 32 bytes, big-endian. USAGE when there is no such partition. */
cuzk_status cuzk_job_public_inputs(const cuzk_job *job, unsigned partition, uint8_t (*out)[32], cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
