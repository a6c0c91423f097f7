/* The pairing by the best CPU version (math/kernels/pairing_kernels.c). */
#include "math/pairing.h"

#include "math/kernels.h"

void pairing_miller(fp12 *out, const g1_affine *p, const g2_affine *q, size_t n) {
    math_kernels()->pairing->miller(out, p, q, n);
}

void pairing_final_exp(fp12 *r, const fp12 *a) {
    math_kernels()->pairing->final_exp(r, a);
}

bool pairing_product_is_one(const g1_affine *p, const g2_affine *q, size_t n) {
    fp12 f;
    pairing_miller(&f, p, q, n);
    pairing_final_exp(&f, &f);
    return fp12_is_one(&f);
}
