/* The definition of the transform, and Horner's rule. */
#include "ref/ntt_ref.h"

void ref_evaluate(fr *out, const fr *c, size_t n, const fr *x) {
    fr acc;
    fr_set_zero(&acc);
    for (size_t j = n; j-- > 0;) {
        fr_mul(&acc, &acc, x);
        fr_add(&acc, &acc, &c[j]);
    }
    *out = acc;
}

void ref_dft(fr *out, const fr *in, size_t n, const fr *w, const fr *scale) {
    fr x;
    fr_set_one(&x);
    for (size_t i = 0; i < n; i++) {
        ref_evaluate(&out[i], in, n, &x);
        fr_mul(&out[i], &out[i], scale);
        fr_mul(&x, &x, w);
    }
}

void ref_shift(fr *a, size_t n, const fr *g) {
    fr x;
    fr_set_one(&x);
    for (size_t j = 0; j < n; j++) {
        fr_mul(&a[j], &a[j], &x);
        fr_mul(&x, &x, g);
    }
}
