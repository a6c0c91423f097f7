/* Proving and verifying. A proof that did not verify never leaves cuzk_prove.
 */
#ifndef CUZK_PROOF_H
#define CUZK_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cuzk/job.h"
#include "cuzk/key.h"
#include "cuzk/memory.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define CUZK_PROOF_BYTES 192u

typedef struct cuzk_prove_options {
    const unsigned *partitions; /* which, in the order of the answer, none twice; NULL: all */
    size_t n_partitions;
    const char *insecure_rs; /* NULL: random blinding. A JSON file {"proofs": [{"index", "r", "s"}]}: for tests only,
                                since whoever knows r and s can undo the blinding */
} cuzk_prove_options;

/* Seconds of wall time, summed over the partitions. */
typedef struct cuzk_prove_seconds {
    double vanilla_check, shape, synthesis, eval, ntt, msm_h, msm_l, msm_a, msm_b_g1, msm_b_g2, finish, verify, total;
} cuzk_prove_seconds;

typedef struct cuzk_prove_report {
    unsigned partitions; /* proved */
    cuzk_prove_seconds seconds;
    uint64_t plan_host_bytes; /* what the plan said just before the first partition, job input included */
    cuzk_memory memory;       /* afterwards; peaks are the process's since its start or cuzk_memory_reset_peaks */
    char device[32];          /* where it was made: "cpu", "cuda:0" */
} cuzk_prove_report;

/* Proves partitions one after the other on the context's threads. Each proof is verified, and all of them again in one
 * batch against the public inputs that a verifier derives; only then are they copied to proofs (192 bytes each;
 * proofs_bytes must be exactly 192 × the number of partitions, else USAGE). Runs cuzk_job_check first if that has not
 * been done. report may be NULL. UNSATISFIED (vanilla proof or witness), FOREIGN (key of another circuit), MEMORY (plan
 * over the limit; before any work), CANCELLED, INTERNAL. */
cuzk_status cuzk_prove(cuzk_context *context, cuzk_job *job, const cuzk_key *key, const cuzk_prove_options *options,
                       uint8_t *proofs, size_t proofs_bytes, cuzk_prove_report *report, const cuzk_control *control,
                       cuzk_error *err);

/* Verifies the proofs of the given partitions (NULL: all, in order) of a job from its public inputs. valid[i] is filled
 * for each. OK: all valid. FALSE: some are not, err names the first. A proof that does not decode, or bytes of another
 * length, are FALSE too (then valid[] is false where no proof could be read). FOREIGN: the key has another number of
 * public inputs than the circuit. USAGE: no proof is asked for. */
cuzk_status cuzk_verify(cuzk_context *context, const cuzk_vk *vk, const cuzk_job *job, const unsigned *partitions,
                        size_t n_partitions, const uint8_t *proofs, size_t proofs_bytes, bool *valid, cuzk_error *err);

/* Verifies n proofs with the given public inputs: inputs[i] has n_inputs[i] elements of 32 bytes, big-endian. MALFORMED
 * for an element that is not below r; FOREIGN when a count differs from the key's; otherwise as cuzk_verify. */
cuzk_status cuzk_verify_groth16(cuzk_context *context, const cuzk_vk *vk, const uint8_t (*const *inputs)[32],
                                const size_t *n_inputs, size_t n, const uint8_t *proofs, size_t proofs_bytes,
                                bool *valid, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
