/* Development keys: Groth16 key generation from a shape, random or from a given trapdoor. For development and tests
 * only: whoever knows the trapdoor can forge proofs. The bytes equal bellperson's for the same trapdoor. Source:
 * docs/math/groth16.md. */
#ifndef CUZK_GROTH16_SETUP_H
#define CUZK_GROTH16_SETUP_H

#include <pthread.h>
#include "groth16/key.h"
#include "r1cs/shape.h"

typedef struct trapdoor {
    fr alpha, beta, gamma, delta, tau;
} trapdoor;

cuzk_status trapdoor_random(trapdoor *t, cuzk_error *err);
/* {"trapdoor": {"alpha": hex64, …}} ; big-endian. */
cuzk_status trapdoor_read(trapdoor *t, const char *path, cuzk_error *err);

/* MALFORMED naming the part when one is zero, or tau is in the domain of 2^log2 points. */
cuzk_status trapdoor_check(const trapdoor *t, unsigned log2, cuzk_error *err);

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

/* A development key of which no point is anywhere yet: devices that can (backend.h, makes_keys) make it in their memory
 * from the trapdoor, which is kept here, and make it again when it was put out. The verifying key's ic is filled by the
 * first that made it: the key can verify nothing before its first proof. Close it with proving_key_close. */
typedef struct key_recipe {
    buffer self; /* secret */
    trapdoor trapdoor;
    pthread_mutex_t lock;
    bool made;
} key_recipe;
cuzk_status proving_key_recipe(proving_key *out, const shape *s, const trapdoor *t, cuzk_error *err);
/* For devices: the key was made, and these are its ic. DEVICE when they are not those that another making gave. */
cuzk_status key_recipe_made(const proving_key *k, const g1_affine *ic, cuzk_error *err);

#endif
