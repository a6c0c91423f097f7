/* Obvious twins of math/ntt.h: the sums of the definition, n^2 products. */
#ifndef CUZK_TESTS_REF_NTT_REF_H
#define CUZK_TESTS_REF_NTT_REF_H

#include "math/field.h"

/* out_i = scale * sum_j in_j w^(ij). out may not overlap in. */
void ref_dft(fr *out, const fr *in, size_t n, const fr *w, const fr *scale);
/* (sum_j c_j x^j) */
void ref_evaluate(fr *out, const fr *c, size_t n, const fr *x);
/* a_j *= g^j */
void ref_shift(fr *a, size_t n, const fr *g);

#endif
