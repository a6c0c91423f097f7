/* Development keys: Groth16 key generation from a shape, random or from a given trapdoor. For development and tests
 * only: whoever knows the trapdoor can forge proofs. The bytes equal bellperson's for the same trapdoor. Source:
 * docs/math/groth16.md. */
#ifndef CUZK_GROTH16_SETUP_H
#define CUZK_GROTH16_SETUP_H

#include "groth16/key.h"
#include "r1cs/shape.h"

typedef struct trapdoor {
    fr alpha, beta, gamma, delta, tau;
} trapdoor;

cuzk_status trapdoor_random(trapdoor *t, cuzk_error *err);
/* {"trapdoor": {"alpha": hex64, …}} ; big-endian. */
cuzk_status trapdoor_read(trapdoor *t, const char *path, cuzk_error *err);

typedef struct setup_result {
    uint64_t params_bytes;
    uint8_t params_sha256[32];
} setup_result;

/* Writes params_path and vk_path (temporary names, then rename; never over existing files) and a marker
 * "<params_path>.development". Refused: alpha, beta, gamma, delta or tau zero, tau in the domain, a variable that
 * occurs in no constraint. Memory: class SETUP, at most setup_bytes(). */
uint64_t setup_bytes(const shape *s, unsigned threads);
cuzk_status groth16_setup(const shape *s, const trapdoor *t, const ntt_root *root, const char *params_path,
                          const char *vk_path, setup_result *out, pool *p, const cuzk_control *control,
                          cuzk_error *err);

#endif
