/* The set of distinct coefficients, each with an index in order of first use; 1 has index 0, -1 has index 1. Private to
 * src/r1cs. */
#ifndef CUZK_R1CS_COEFF_TABLE_H
#define CUZK_R1CS_COEFF_TABLE_H

#include "r1cs/interpreter.h"

typedef struct coeff_table {
    fr one, minus_one;
    buffer values_memory, slots_memory;
    fr *values;
    uint32_t *slots; /* index + 1; 0: free */
    uint32_t count, cap, slot_mask;
} coeff_table;

cuzk_status coeff_table_init(coeff_table *t, cuzk_error *err);
void coeff_table_free(coeff_table *t);
/* UINT32_MAX (err filled) when there is no memory. */
uint32_t coeff_table_find(coeff_table *t, const fr *k, cuzk_error *err);

static inline uint32_t coeff_table_index(coeff_table *t, const fr *k, cuzk_error *err) {
    if (k->l[0] == t->one.l[0] && fr_eq(k, &t->one)) return 0;
    if (k->l[0] == t->minus_one.l[0] && fr_eq(k, &t->minus_one)) return 1;
    return coeff_table_find(t, k, err);
}

#endif
