/* The small known circuits of tests/data/tiny as circuits that can be run.
 *
 * A circuit comes from circuit.json (or circuit-raw.json: terms as the circuit adds them, unmerged) and its values from
 * witness.json. All aux variables are allocated first, then the inputs, then the constraints follow. bits-heavy has no
 * circuit.json and is built by its description. Faults end the test program with a message.
 */
#ifndef CUZK_TESTS_REF_TINY_CIRCUIT_H
#define CUZK_TESTS_REF_TINY_CIRCUIT_H

#include "base/arena.h"
#include "base/json.h"
#include "r1cs/cs.h"

typedef struct tiny_row {
    cs_lc lc[3]; /* A, B, C */
} tiny_row;

typedef struct tiny_circuit {
    arena *memory;
    char folder[512];
    uint32_t n_inputs, n_aux; /* with ONE */
    uint64_t n_rows;
    tiny_row *rows;
    bool *as_bit;     /* aux variables allocated by cs_alloc_bits */
    fr *inputs, *aux; /* the values: pass the circuit itself as instance */
} tiny_circuit;

/* name: "cube", "refused/unsatisfied", … bits: variables whose value is 0 or 1 are allocated as bits (else all are
 * field elements). */
tiny_circuit *tiny_load(const char *name, bool raw, bool bits);
void tiny_free(tiny_circuit *t);
/* The cs_circuit; params and instance are the tiny_circuit. */
void tiny_run(cs *c, const void *params, const void *instance);

/* A JSON file of the circuit's folder; lives as long as t. */
const json_node *tiny_json(tiny_circuit *t, const char *file);
/* A member that must be there. */
const json_node *tiny_member(const json_node *object, const char *key);
uint64_t tiny_u64(const json_node *object, const char *key);
/* The first proof of set.json. */
const json_node *tiny_proof(tiny_circuit *t);
/* Names of the circuits that have a key and proofs. */
extern const char *const tiny_names[];
extern const unsigned tiny_count;

#endif
