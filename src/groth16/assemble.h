/* From the sums over the queries to a proof (reference guide §1.5). Pure. */
#ifndef CUZK_GROTH16_ASSEMBLE_H
#define CUZK_GROTH16_ASSEMBLE_H

#include "format/bellperson.h"

typedef struct groth16_sums {
    g1 h, l, a, b_g1;
    g2 b_g2;
} groth16_sums;

/* A = alpha + sum_a + r delta; B = beta + sum_b + s delta; with A' and B' those without blinding,
 * C = sum_h + sum_l + s A' + r B' (in G1) + r s delta. r and s in Montgomery form. */
void groth16_assemble(groth16_proof *out, const verifying_key *vk, const groth16_sums *sums, const fr *r, const fr *s);

#endif
