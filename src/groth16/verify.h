/* Groth16 verification: e(A, B) = e(alpha, beta) · e(sum inputs_i IC_i, gamma) · e(C, delta).
 * Thread-safe. Inputs are public inputs without ONE, Montgomery. */
#ifndef CUZK_GROTH16_VERIFY_H
#define CUZK_GROTH16_VERIFY_H

#include "base/pool.h"
#include "format/bellperson.h"

/* OK: valid. FALSE: well formed and wrong. USAGE: number of inputs differs from the key's. */
cuzk_status groth16_verify(const verifying_key *vk, const groth16_proof *proof, const fr *inputs, size_t n_inputs,
                           cuzk_error *err);
/* All n proofs in one check with random 128-bit weights; inputs[i] has n_inputs elements. FALSE says only that not all
 * are valid. USAGE also for n = 0. */
cuzk_status groth16_verify_batch(const verifying_key *vk, const groth16_proof *proofs, const fr *const *inputs,
                                 size_t n_inputs, size_t n, pool *p, cuzk_error *err);

#endif
