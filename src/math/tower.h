/* The tower over fp2: fp6 = fp2[v]/(v^3 - (1 + u)), fp12 = fp6[w]/(w^2 - v), for the pairing.
 *
 * Products are Karatsuba's (Devegili, Ó hÉigeartaigh, Scott, Dahab, "Multiplication and squaring on pairing-friendly
 * fields", 2006), the square in fp6 is Chung and Hasan's (SQR2, 2007), the one in the cyclotomic subgroup Granger and
 * Scott's (2010). Frobenius constants are powers of 1 + u from tools/gen_field_constants.py. Outputs may alias inputs;
 * elements are reduced as in math/field.h.
 */
#ifndef CUZK_MATH_TOWER_H
#define CUZK_MATH_TOWER_H

#include "math/fp2.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

typedef struct {
    fp2 c0, c1, c2; /* c0 + c1 v + c2 v^2 */
} fp6;
typedef struct {
    fp6 c0, c1; /* c0 + c1 w */
} fp12;

/* ---- fp6 ---- */

static inline void fp6_set_zero(fp6 *r) {
    memset(r, 0, sizeof *r);
}
static inline void fp6_set_one(fp6 *r) {
    fp6_set_zero(r);
    fp2_set_one(&r->c0);
}
static inline bool fp6_is_zero(const fp6 *a) {
    return fp2_is_zero(&a->c0) && fp2_is_zero(&a->c1) && fp2_is_zero(&a->c2);
}
static inline bool fp6_eq(const fp6 *a, const fp6 *b) {
    return fp2_eq(&a->c0, &b->c0) && fp2_eq(&a->c1, &b->c1) && fp2_eq(&a->c2, &b->c2);
}
static inline void fp6_add(fp6 *r, const fp6 *a, const fp6 *b) {
    fp2_add(&r->c0, &a->c0, &b->c0);
    fp2_add(&r->c1, &a->c1, &b->c1);
    fp2_add(&r->c2, &a->c2, &b->c2);
}
static inline void fp6_sub(fp6 *r, const fp6 *a, const fp6 *b) {
    fp2_sub(&r->c0, &a->c0, &b->c0);
    fp2_sub(&r->c1, &a->c1, &b->c1);
    fp2_sub(&r->c2, &a->c2, &b->c2);
}
static inline void fp6_neg(fp6 *r, const fp6 *a) {
    fp2_neg(&r->c0, &a->c0);
    fp2_neg(&r->c1, &a->c1);
    fp2_neg(&r->c2, &a->c2);
}
static inline void fp6_dbl(fp6 *r, const fp6 *a) {
    fp6_add(r, a, a);
}

/* times v */
static inline void fp6_mul_by_nonresidue(fp6 *r, const fp6 *a) {
    fp2 t;
    fp2_mul_by_nonresidue(&t, &a->c2);
    r->c2 = a->c1;
    r->c1 = a->c0;
    r->c0 = t;
}

/* (x1 + y1)(x2 + y2) - p - q: a cross term from the products p = x1 x2 and q = y1 y2. */
static inline void fp2_cross(fp2 *r, const fp2 *x1, const fp2 *y1, const fp2 *x2, const fp2 *y2, const fp2 *p,
                             const fp2 *q) {
    fp2 s, t;
    fp2_add(&s, x1, y1);
    fp2_add(&t, x2, y2);
    fp2_mul(&s, &s, &t);
    fp2_sub(&s, &s, p);
    fp2_sub(r, &s, q);
}

MATH_CALL void fp6_mul(fp6 *r, const fp6 *a, const fp6 *b) {
    fp2 v0, v1, v2, x, y, z;
    fp2_mul(&v0, &a->c0, &b->c0);
    fp2_mul(&v1, &a->c1, &b->c1);
    fp2_mul(&v2, &a->c2, &b->c2);
    fp2_cross(&x, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    fp2_cross(&y, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    fp2_cross(&z, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    fp2_mul_by_nonresidue(&x, &x);
    fp2_add(&r->c0, &v0, &x);
    fp2_mul_by_nonresidue(&v2, &v2);
    fp2_add(&r->c1, &y, &v2);
    fp2_add(&r->c2, &z, &v1);
}

/* a (b0 + b1 v) */
MATH_CALL void fp6_mul_by_01(fp6 *r, const fp6 *a, const fp2 *b0, const fp2 *b1) {
    fp2 v0, v1, x, y, z;
    fp2_mul(&v0, &a->c0, b0);
    fp2_mul(&v1, &a->c1, b1);
    fp2_mul(&x, &a->c2, b1);
    fp2_cross(&y, &a->c0, &a->c1, b0, b1, &v0, &v1);
    fp2_mul(&z, &a->c2, b0);
    fp2_mul_by_nonresidue(&x, &x);
    fp2_add(&r->c0, &v0, &x);
    r->c1 = y;
    fp2_add(&r->c2, &z, &v1);
}

/* a b1 v */
static inline void fp6_mul_by_1(fp6 *r, const fp6 *a, const fp2 *b1) {
    fp2 t0, t1, t2;
    fp2_mul(&t0, &a->c2, b1);
    fp2_mul(&t1, &a->c0, b1);
    fp2_mul(&t2, &a->c1, b1);
    fp2_mul_by_nonresidue(&r->c0, &t0);
    r->c1 = t1;
    r->c2 = t2;
}

MATH_CALL void fp6_sqr(fp6 *r, const fp6 *a) {
    fp2 s0, s1, s2, s3, s4;
    fp2_sqr(&s0, &a->c0);
    fp2_mul(&s1, &a->c0, &a->c1);
    fp2_dbl(&s1, &s1);
    fp2_sub(&s2, &a->c0, &a->c1);
    fp2_add(&s2, &s2, &a->c2);
    fp2_sqr(&s2, &s2);
    fp2_mul(&s3, &a->c1, &a->c2);
    fp2_dbl(&s3, &s3);
    fp2_sqr(&s4, &a->c2);
    fp2_add(&s2, &s2, &s1);
    fp2_add(&s2, &s2, &s3);
    fp2_sub(&s2, &s2, &s0);
    fp2_sub(&r->c2, &s2, &s4);
    fp2_mul_by_nonresidue(&s3, &s3);
    fp2_add(&r->c0, &s0, &s3);
    fp2_mul_by_nonresidue(&s4, &s4);
    fp2_add(&r->c1, &s1, &s4);
}

/* By the adjugate; 1/0 = 0. */
MATH_CALL void fp6_inv(fp6 *r, const fp6 *a) {
    fp2 t0, t1, t2, n, t;
    fp2_sqr(&t0, &a->c0);
    fp2_mul(&t, &a->c1, &a->c2);
    fp2_mul_by_nonresidue(&t, &t);
    fp2_sub(&t0, &t0, &t);
    fp2_sqr(&t1, &a->c2);
    fp2_mul_by_nonresidue(&t1, &t1);
    fp2_mul(&t, &a->c0, &a->c1);
    fp2_sub(&t1, &t1, &t);
    fp2_sqr(&t2, &a->c1);
    fp2_mul(&t, &a->c0, &a->c2);
    fp2_sub(&t2, &t2, &t);
    fp2_mul(&n, &a->c1, &t2);
    fp2_mul(&t, &a->c2, &t1);
    fp2_add(&n, &n, &t);
    fp2_mul_by_nonresidue(&n, &n);
    fp2_mul(&t, &a->c0, &t0);
    fp2_add(&n, &n, &t);
    fp2_inv(&n, &n);
    fp2_mul(&r->c0, &t0, &n);
    fp2_mul(&r->c1, &t1, &n);
    fp2_mul(&r->c2, &t2, &n);
}

/* ---- fp12 ---- */

static inline void fp12_set_zero(fp12 *r) {
    memset(r, 0, sizeof *r);
}
static inline void fp12_set_one(fp12 *r) {
    fp6_set_one(&r->c0);
    fp6_set_zero(&r->c1);
}
static inline bool fp12_is_zero(const fp12 *a) {
    return fp6_is_zero(&a->c0) && fp6_is_zero(&a->c1);
}
static inline bool fp12_eq(const fp12 *a, const fp12 *b) {
    return fp6_eq(&a->c0, &b->c0) && fp6_eq(&a->c1, &b->c1);
}
static inline bool fp12_is_one(const fp12 *a) {
    fp12 one;
    fp12_set_one(&one);
    return fp12_eq(a, &one);
}
static inline void fp12_add(fp12 *r, const fp12 *a, const fp12 *b) {
    fp6_add(&r->c0, &a->c0, &b->c0);
    fp6_add(&r->c1, &a->c1, &b->c1);
}
static inline void fp12_sub(fp12 *r, const fp12 *a, const fp12 *b) {
    fp6_sub(&r->c0, &a->c0, &b->c0);
    fp6_sub(&r->c1, &a->c1, &b->c1);
}
static inline void fp12_neg(fp12 *r, const fp12 *a) {
    fp6_neg(&r->c0, &a->c0);
    fp6_neg(&r->c1, &a->c1);
}
static inline void fp12_dbl(fp12 *r, const fp12 *a) {
    fp12_add(r, a, a);
}

/* a^(p^6); the inverse in the cyclotomic subgroup. */
static inline void fp12_conj(fp12 *r, const fp12 *a) {
    r->c0 = a->c0;
    fp6_neg(&r->c1, &a->c1);
}

MATH_CALL void fp12_mul(fp12 *r, const fp12 *a, const fp12 *b) {
    fp6 v0, v1, s, t;
    fp6_mul(&v0, &a->c0, &b->c0);
    fp6_mul(&v1, &a->c1, &b->c1);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_add(&t, &b->c0, &b->c1);
    fp6_mul(&s, &s, &t);
    fp6_sub(&s, &s, &v0);
    fp6_sub(&r->c1, &s, &v1);
    fp6_mul_by_nonresidue(&v1, &v1);
    fp6_add(&r->c0, &v0, &v1);
}

/* a (b0 + b1 v + b4 v w): the shape of a line of the Miller loop. */
MATH_CALL void fp12_mul_by_014(fp12 *r, const fp12 *a, const fp2 *b0, const fp2 *b1, const fp2 *b4) {
    fp6 v0, v1, s;
    fp2 t;
    fp6_mul_by_01(&v0, &a->c0, b0, b1);
    fp6_mul_by_1(&v1, &a->c1, b4);
    fp2_add(&t, b1, b4);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_mul_by_01(&s, &s, b0, &t);
    fp6_sub(&s, &s, &v0);
    fp6_sub(&r->c1, &s, &v1);
    fp6_mul_by_nonresidue(&v1, &v1);
    fp6_add(&r->c0, &v0, &v1);
}

/* c0^2 + v c1^2 = (c0 + c1)(c0 + v c1) - c0 c1 - v c0 c1. */
MATH_CALL void fp12_sqr(fp12 *r, const fp12 *a) {
    fp6 v, s, t;
    fp6_mul(&v, &a->c0, &a->c1);
    fp6_mul_by_nonresidue(&t, &a->c1);
    fp6_add(&t, &a->c0, &t);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_mul(&s, &s, &t);
    fp6_sub(&s, &s, &v);
    fp6_dbl(&r->c1, &v);
    fp6_mul_by_nonresidue(&v, &v);
    fp6_sub(&r->c0, &s, &v);
}

/* 1/0 = 0. */
MATH_CALL void fp12_inv(fp12 *r, const fp12 *a) {
    fp6 n, t;
    fp6_sqr(&n, &a->c0);
    fp6_sqr(&t, &a->c1);
    fp6_mul_by_nonresidue(&t, &t);
    fp6_sub(&n, &n, &t);
    fp6_inv(&n, &n);
    fp6_mul(&r->c0, &a->c0, &n);
    fp6_neg(&t, &a->c1);
    fp6_mul(&r->c1, &t, &n);
}

/* r = a^(p^k), k = 1, 2 or 3: every coefficient is conjugated for odd k and that of w^i multiplied by (1 + u)^(i (p^k -
 * 1)/6). */
MATH_CALL void fp12_frobenius(fp12 *r, const fp12 *a, int k) {
    static const fp2 powers[3][5] = {{FROB1_1, FROB1_2, FROB1_3, FROB1_4, FROB1_5},
                                     {FROB2_1, FROB2_2, FROB2_3, FROB2_4, FROB2_5},
                                     {FROB3_1, FROB3_2, FROB3_3, FROB3_4, FROB3_5}};
    const fp2 *c = powers[k - 1];
    *r = *a;
    fp2 *const in_order[6] = {&r->c0.c0, &r->c1.c0, &r->c0.c1, &r->c1.c1, &r->c0.c2, &r->c1.c2};
    for (int i = 0; i < 6; i++) {
        if (k % 2 == 1) fp2_conj(in_order[i], in_order[i]);
        if (i > 0) fp2_mul(in_order[i], in_order[i], &c[i - 1]);
    }
}

/* (a + b s)^2 = (a^2 + (1 + u) b^2) + 2 a b s where s^2 = 1 + u. */
static inline void fp4_sqr(fp2 *r0, fp2 *r1, const fp2 *a, const fp2 *b) {
    fp2 a2, b2, s;
    fp2_sqr(&a2, a);
    fp2_sqr(&b2, b);
    fp2_add(&s, a, b);
    fp2_sqr(&s, &s);
    fp2_sub(&s, &s, &a2);
    fp2_sub(r1, &s, &b2);
    fp2_mul_by_nonresidue(&b2, &b2);
    fp2_add(r0, &a2, &b2);
}

/* z = 3 t - 2 z and z = 3 t + 2 z. */
static inline void fp2_3t_minus_2z(fp2 *z, const fp2 *t) {
    fp2 d;
    fp2_sub(&d, t, z);
    fp2_dbl(&d, &d);
    fp2_add(z, &d, t);
}
static inline void fp2_3t_plus_2z(fp2 *z, const fp2 *t) {
    fp2 d;
    fp2_add(&d, t, z);
    fp2_dbl(&d, &d);
    fp2_add(z, &d, t);
}

/* a^2 for a in the cyclotomic subgroup, a^(p^4 - p^2 + 1) = 1; wrong elsewhere. */
MATH_CALL void fp12_cyclotomic_sqr(fp12 *r, const fp12 *a) {
    fp2 t0, t1, t2, t3, t4, t5;
    fp4_sqr(&t0, &t1, &a->c0.c0, &a->c1.c1);
    fp4_sqr(&t2, &t3, &a->c1.c0, &a->c0.c2);
    fp4_sqr(&t4, &t5, &a->c0.c1, &a->c1.c2);
    fp2_mul_by_nonresidue(&t5, &t5);
    *r = *a;
    fp2_3t_minus_2z(&r->c0.c0, &t0);
    fp2_3t_minus_2z(&r->c0.c1, &t2);
    fp2_3t_minus_2z(&r->c0.c2, &t4);
    fp2_3t_plus_2z(&r->c1.c0, &t5);
    fp2_3t_plus_2z(&r->c1.c1, &t1);
    fp2_3t_plus_2z(&r->c1.c2, &t3);
}

#pragma GCC diagnostic pop
#endif
