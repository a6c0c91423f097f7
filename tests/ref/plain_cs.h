/* A whole constraint system kept as the circuit made it: the slow, obvious twin of shape and witness. */
#ifndef CUZK_TESTS_REF_PLAIN_CS_H
#define CUZK_TESTS_REF_PLAIN_CS_H

#include "r1cs/cs.h"

typedef struct plain_row {
    cs_lc lc[3]; /* unsorted, unmerged */
} plain_row;

typedef struct plain_cs {
    cs base;
    arena *memory;
    plain_row *rows;
    fr *inputs, *aux; /* zero without an instance */
    bool *field;      /* of each aux variable */
    uint64_t n_rows, cap_rows, cap_inputs, cap_aux;
    uint32_t n_inputs, n_aux;
} plain_cs;

/* Runs f with values when instance is not NULL. Ends the program when there is no memory. */
plain_cs *plain_make(cs_circuit f, const void *params, const void *instance);
void plain_free(plain_cs *p);
/* Row r of matrix m times the values; rows past the circuit's are the input constraints, then zero. */
fr plain_eval(const plain_cs *p, int m, uint64_t r);
/* The coefficient of v in row r of matrix m, all occurrences summed. */
fr plain_coeff(const plain_cs *p, int m, uint64_t r, cs_var v);

#endif
