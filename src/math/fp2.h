/* fp2 = fp[u]/(u^2 + 1), the field of G2's coordinates.
 *
 * Functions mirror the names of math/field.h, so that code written for fp works over fp2. Products are Karatsuba's
 * (three in fp), squares the complex method's (two). Outputs may alias inputs; elements are reduced as in math/field.h.
 */
#ifndef CUZK_MATH_FP2_H
#define CUZK_MATH_FP2_H

#include "math/field.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

typedef struct {
    fp c0, c1; /* c0 + c1 u */
} fp2;

static inline void fp2_set_zero(fp2 *r) {
    memset(r, 0, sizeof *r);
}
static inline void fp2_set_one(fp2 *r) {
    fp_set_one(&r->c0);
    fp_set_zero(&r->c1);
}
static inline bool fp2_is_zero(const fp2 *a) {
    return fp_is_zero(&a->c0) && fp_is_zero(&a->c1);
}
static inline bool fp2_is_one(const fp2 *a) {
    return fp_is_one(&a->c0) && fp_is_zero(&a->c1);
}
static inline bool fp2_eq(const fp2 *a, const fp2 *b) {
    return fp_eq(&a->c0, &b->c0) && fp_eq(&a->c1, &b->c1);
}
static inline void fp2_add(fp2 *r, const fp2 *a, const fp2 *b) {
    fp_add(&r->c0, &a->c0, &b->c0);
    fp_add(&r->c1, &a->c1, &b->c1);
}
static inline void fp2_sub(fp2 *r, const fp2 *a, const fp2 *b) {
    fp_sub(&r->c0, &a->c0, &b->c0);
    fp_sub(&r->c1, &a->c1, &b->c1);
}
static inline void fp2_neg(fp2 *r, const fp2 *a) {
    fp_neg(&r->c0, &a->c0);
    fp_neg(&r->c1, &a->c1);
}
static inline void fp2_dbl(fp2 *r, const fp2 *a) {
    fp_dbl(&r->c0, &a->c0);
    fp_dbl(&r->c1, &a->c1);
}
static inline void fp2_half(fp2 *r, const fp2 *a) {
    fp_half(&r->c0, &a->c0);
    fp_half(&r->c1, &a->c1);
}
/* Conjugation is the Frobenius map of fp2. */
static inline void fp2_conj(fp2 *r, const fp2 *a) {
    r->c0 = a->c0;
    fp_neg(&r->c1, &a->c1);
}
/* Karatsuba: three products. */
MATH_CALL void fp2_mul(fp2 *r, const fp2 *a, const fp2 *b) {
    fp s, t, v0, v1;
    fp_add(&s, &a->c0, &a->c1);
    fp_add(&t, &b->c0, &b->c1);
    fp_mul(&s, &s, &t);
    fp_mul(&v0, &a->c0, &b->c0);
    fp_mul(&v1, &a->c1, &b->c1);
    fp_sub(&r->c0, &v0, &v1);
    fp_sub(&s, &s, &v0);
    fp_sub(&r->c1, &s, &v1);
}
/* (c0 + c1)(c0 - c1), 2 c0 c1. */
MATH_CALL void fp2_sqr(fp2 *r, const fp2 *a) {
    fp s, d, t;
    fp_add(&s, &a->c0, &a->c1);
    fp_sub(&d, &a->c0, &a->c1);
    fp_mul(&t, &a->c0, &a->c1);
    fp_mul(&r->c0, &s, &d);
    fp_dbl(&r->c1, &t);
}
static inline void fp2_mul_fp(fp2 *r, const fp2 *a, const fp *b) {
    fp_mul(&r->c0, &a->c0, b);
    fp_mul(&r->c1, &a->c1, b);
}
/* times 1 + u */
static inline void fp2_mul_by_nonresidue(fp2 *r, const fp2 *a) {
    fp t;
    fp_sub(&t, &a->c0, &a->c1);
    fp_add(&r->c1, &a->c0, &a->c1);
    r->c0 = t;
}
/* 1/0 = 0. */
MATH_CALL void fp2_inv(fp2 *r, const fp2 *a) {
    fp n, t;
    fp_sqr(&n, &a->c0);
    fp_sqr(&t, &a->c1);
    fp_add(&n, &n, &t);
    fp_inv(&n, &n);
    fp_mul(&r->c0, &a->c0, &n);
    fp_neg(&t, &a->c1);
    fp_mul(&r->c1, &t, &n);
}
/* a[i] = 1/a[i] with one inversion; zeros stay zero. scratch holds n elements and may not overlap a. */
MATH_CALL void fp2_batch_inv(fp2 *a, size_t n, fp2 *scratch) {
    fp2 acc, t;
    fp2_set_one(&acc);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!fp2_is_zero(&a[i])) fp2_mul(&acc, &acc, &a[i]);
    }
    fp2_inv(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (fp2_is_zero(&a[i])) continue;
        fp2_mul(&t, &acc, &scratch[i]);
        fp2_mul(&acc, &acc, &a[i]);
        a[i] = t;
    }
}
/* Whether a is the larger of a and -a, by c1 and, when that is 0, by c0. */
static inline bool fp2_is_larger_half(const fp2 *a) {
    return fp_is_larger_half(fp_is_zero(&a->c1) ? &a->c0 : &a->c1);
}

/* True and a root when a is a square, else false with r untouched; which of the two roots is not said.
 * With s^2 = norm(a): ((x0 + x1 u)^2 = a) means x0^2 = (a0 +- s)/2 and x1 = a1/(2 x0). As -1 is no square, exactly one
 * sign gives a square when a1 != 0 (the two values multiply to -(a1/2)^2). */
MATH_CALL bool fp2_sqrt(fp2 *r, const fp2 *a) {
    fp s, t, x0, x1;
    if (fp_is_zero(&a->c1)) {
        if (fp_sqrt(&x0, &a->c0)) {
            fp_set_zero(&x1);
        } else {
            fp_set_zero(&x0);
            fp_neg(&t, &a->c0);
            if (!fp_sqrt(&x1, &t)) return false; /* cannot be: one of c0, -c0 is a square */
        }
        r->c0 = x0;
        r->c1 = x1;
        return true;
    }
    fp_sqr(&s, &a->c0);
    fp_sqr(&t, &a->c1);
    fp_add(&t, &s, &t);
    if (!fp_sqrt(&s, &t)) return false;
    fp_add(&t, &a->c0, &s);
    fp_half(&t, &t);
    if (!fp_sqrt(&x0, &t)) {
        fp_sub(&t, &t, &s); /* (a0 - s)/2 */
        if (!fp_sqrt(&x0, &t)) return false;
    }
    fp_dbl(&t, &x0);
    fp_inv(&t, &t);
    fp_mul(&x1, &a->c1, &t);
    r->c0 = x0;
    r->c1 = x1;
    return true;
}

#pragma GCC diagnostic pop
#endif
