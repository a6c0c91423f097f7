/* Making and checking witnesses, for people who want to see them; proving makes its own.
 */
#ifndef CUZK_WITNESS_H
#define CUZK_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include "cuzk/job.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_witness_report {
    uint64_t inputs; /* without ONE */
    uint64_t aux;
    uint8_t inputs_sha256[32]; /* of all inputs with ONE, 32 bytes little-endian each */
    uint8_t aux_sha256[32];    /* of all auxiliary values, likewise */
    bool satisfied;
    uint64_t first_unsatisfied; /* number of the first constraint that fails; UINT64_MAX when satisfied */
    char gadget[256];           /* where in the circuit that constraint is; "" when satisfied */
    uint64_t witness_bytes;     /* of the compact form */
} cuzk_witness_report;

/* Writes the witness of a partition, takes its digests, evaluates every constraint and compares its public inputs with
 * those a verifier derives (INTERNAL when they differ). Returns OK also when it does not satisfy the circuit: look at
 * report->satisfied. Runs cuzk_job_check first if that has not been done. each (may be NULL) gets the SHA-256 of each
 * run of 65,536 auxiliary values. MEMORY when the witness does not fit the context's limit. */
cuzk_status cuzk_witness_make(cuzk_context *context, cuzk_job *job, unsigned partition, cuzk_witness_report *report,
                              cuzk_checkpoint each, void *user, const cuzk_control *control, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
