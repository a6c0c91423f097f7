/* The checks of the self test; each returns NULL when it passed, or what was wrong (static text). */
#ifndef CUZK_API_SELFTEST_H
#define CUZK_API_SELFTEST_H

#include "api/internal.h"

typedef struct selftest_env {
    cuzk_context *context;
    const cuzk_control *control;
} selftest_env;

typedef const char *(*selftest_fn)(const selftest_env *env);

/* selftest_math.c: with whichever kernels are in use */
const char *selftest_fields(const selftest_env *env);
const char *selftest_points(const selftest_env *env);
const char *selftest_pairing(const selftest_env *env);
const char *selftest_msm(const selftest_env *env);
const char *selftest_ntt(const selftest_env *env);
const char *selftest_poseidon(const selftest_env *env);
/* selftest_circuit.c */
const char *selftest_hashes(const selftest_env *env);
const char *selftest_gadget(const selftest_env *env);
const char *selftest_circuits(const selftest_env *env);
const char *selftest_groth16(const selftest_env *env);

#endif
