/* A random circuit of a prologue, equal blocks and an epilogue, satisfied by random values. */
#ifndef CUZK_TESTS_REF_RANDOM_CIRCUIT_H
#define CUZK_TESTS_REF_RANDOM_CIRCUIT_H

#include "r1cs/cs.h"

typedef struct random_circuit {
    uint64_t seed;
    unsigned prologue, block, epilogue; /* steps of each: an allocation or a constraint */
    uint32_t count;                     /* blocks; 0: none */
    unsigned params;                    /* of each block: every third variable of the prologue may be one */
    uint32_t longest;                   /* terms of the longest combination; 0: 300 */
    bool many_coeffs;                   /* nearly every coefficient is a new one */
    bool spoil;                         /* the last constraint of the epilogue is not satisfied */
} random_circuit;

/* The cs_circuit; params is a random_circuit, instance a uint64_t seed of the values. */
void random_circuit_run(cs *c, const void *params, const void *instance);

#endif
