/* Keys and proofs of small circuits for tests: a temporary folder with its own cache, and circuits of a chosen size. */
#ifndef CUZK_TESTS_REF_GROTH16_CASE_H
#define CUZK_TESTS_REF_GROTH16_CASE_H

#include "groth16/prove.h"
#include "groth16/setup.h"
#include "ref/tiny_circuit.h"

/* A new folder in the system's place for temporary files; $CUZK_CACHE becomes its subfolder. Removed, with all in it,
 * by case_folder_remove. */
void case_folder_make(char out[256]);
void case_folder_remove(const char *folder);
void case_path(char out[512], const char *folder, const char *name);

/* A circuit of exactly `constraints` constraints and `publics` public inputs (publics + bits <= constraints):
 * first `bits` booleans, then a chain x' = -x x0, whose first results are the public inputs. */
typedef struct chain_circuit {
    uint64_t constraints;
    uint32_t publics, bits;
} chain_circuit;
/* instance: fr, the start x0 (0 gives all zeros, -1 all -1); the bits alternate unless it is zero. */
void chain_run(cs *c, const void *params, const void *instance);

/* A circuit with its key. */
typedef struct groth16_case {
    cs_circuit run;
    const void *params, *instance;
    shape *shape;
    trapdoor trapdoor;
    char params_path[512], vk_path[512];
    setup_result made;
    proving_key key;
} groth16_case;

/* Records the shape, makes the key (with t, or a random trapdoor when NULL) under NAME.params and NAME.vk in folder,
 * and opens it. */
cuzk_status case_make(groth16_case *c, const char *folder, const char *name, cs_circuit run, const void *params,
                      const void *instance, const trapdoor *t, pool *p, cuzk_error *err);
void case_free(groth16_case *c);
/* A proof with the given blinding (NULL: random), through groth16_prove. witness_of: the values, NULL for the case's
 * own. */
cuzk_status case_prove(const groth16_case *c, const void *instance, const fr *r, const fr *s, groth16_proof *out,
                       pool *p, const cuzk_control *control, cuzk_error *err);
/* Live tracked bytes other than shapes and keys, for tests that everything is given back. */
uint64_t case_live_bytes(void);

/* The whole of a file (malloc'd). Faults end the test program. */
uint8_t *case_read(const char *path, size_t *len);
fr case_hex(const json_node *object, const char *key);

#endif
