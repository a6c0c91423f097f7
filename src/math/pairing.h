/* The optimal ate pairing of BLS12-381 (docs/math/pairing.md).
 *
 * e(P, Q) = pairing_final_exp(pairing_miller(P, Q)) = f^(3 (p^12 - 1)/r) with f = conj(f_{|x|, Q}(P)): the cube of the
 * textbook reduced pairing, as blst, and with it bellperson, compute it. Points are affine, on their curves and in the
 * subgroups of order r; infinity on either side contributes 1. The raw Miller value is unique only up to factors that
 * the final exponentiation removes: compare results after it. Thread-safe. Time depends on the points.
 */
#ifndef CUZK_MATH_PAIRING_H
#define CUZK_MATH_PAIRING_H

#include "math/curve.h"
#include "math/tower.h"

/* out = product of the n Miller values; 1 for n = 0. */
void pairing_miller(fp12 *out, const g1_affine *p, const g2_affine *q, size_t n);
/* r = a^(3 (p^12 - 1)/r); 0 for a = 0. r may be a. */
void pairing_final_exp(fp12 *r, const fp12 *a);
/* Whether the product of e(p[i], q[i]) is 1. */
bool pairing_product_is_one(const g1_affine *p, const g2_affine *q, size_t n);

#endif
