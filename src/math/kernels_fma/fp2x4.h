/* Four elements of fp2 in lanes: two of fp each (math/kernels_fma/fpx4.h).
 *
 * A product takes four products in fp and two reductions, as the two products of a coordinate are reduced together: as
 * many multiply-adds as Karatsuba's three with a reduction each, and results whose limbs need no carries.
 *
 * Bounds: fpx4_mul_add's and fpx4_sqr_add's, kept by factors of short limbs: products, or what fp2x4_carry made of a
 * difference.
 */
#ifndef CUZK_MATH_KERNELS_FMA_FP2X4_H
#define CUZK_MATH_KERNELS_FMA_FP2X4_H

#include "math/fp2.h"
#include "math/kernels_fma/fpx4.h"

typedef struct {
    fpx4 c0, c1;
} fp2x4;

/* a b; r is no argument. */
X4_INLINE void fp2x4_mul(fp2x4 *r, const fp2x4 *a, const fp2x4 *b) {
    fpx4 minus;
    fpx4_neg(&minus, &b->c1);
    fpx4_mul_add(&r->c0, &a->c0, &b->c0, &a->c1, &minus);
    fpx4_mul_add(&r->c1, &a->c0, &b->c1, &a->c1, &b->c0);
}

/* a times b's conjugate; r is no argument. */
X4_INLINE void fp2x4_mul_conj(fp2x4 *r, const fp2x4 *a, const fp2x4 *b) {
    fpx4 minus;
    fpx4_neg(&minus, &b->c1);
    fpx4_mul_add(&r->c0, &a->c0, &b->c0, &a->c1, &b->c1);
    fpx4_mul_add(&r->c1, &a->c0, &minus, &a->c1, &b->c0);
}

/* (c0 + c1)(c0 - c1), 2 c0 c1. */
X4_INLINE void fp2x4_sqr(fp2x4 *r, const fp2x4 *a) {
    fpx4 sum, difference, twice;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        sum.v[j] = _mm256_add_pd(a->c0.v[j], a->c1.v[j]);
        difference.v[j] = _mm256_sub_pd(a->c0.v[j], a->c1.v[j]);
        twice.v[j] = _mm256_add_pd(a->c0.v[j], a->c0.v[j]);
    }
    fpx4_carry(&difference);
    fpx4_mul(&r->c1, &twice, &a->c1);
    fpx4_mul(&r->c0, &sum, &difference);
}

/* c0^2 + c1^2, which is a times its conjugate and zero for zero alone. */
X4_INLINE void fp2x4_norm(fpx4 *r, const fp2x4 *a) {
    fpx4_sqr_add(r, &a->c0, &a->c1);
}

/* As integers. */
typedef struct {
    fpx4_int c0, c1;
} fp2x4_int;

X4_INLINE void fp2x4_load(fp2x4_int *r, const fp2 *const from[4]) {
    const fp *part[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) part[i] = &from[i]->c0;
    fpx4_load(&r->c0, part);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) part[i] = &from[i]->c1;
    fpx4_load(&r->c1, part);
}

/* a - b, with limbs that may have 49 bits. */
X4_INLINE void fp2x4_difference(fp2x4 *r, const fp2x4_int *a, const fp2x4_int *b) {
    fpx4_difference(&r->c0, &a->c0, &b->c0);
    fpx4_difference(&r->c1, &a->c1, &b->c1);
}

X4_INLINE void fp2x4_carry(fp2x4 *a) {
    fpx4_carry(&a->c0);
    fpx4_carry(&a->c1);
}

/* a - b, fully reduced, as fpx4_reduce. */
X4_INLINE void fp2x4_reduce(fp2x4_int *r, const fp2x4 *a, const fp2x4_int *b) {
    fpx4_reduce(&r->c0, &a->c0, &b->c0);
    fpx4_reduce(&r->c1, &a->c1, &b->c1);
}

/* One lane from memory form. */
static inline void fp2x4_set(fp2x4 *a, int lane, const fp2 *x) {
    fpx4_set(&a->c0, lane, &x->c0);
    fpx4_set(&a->c1, lane, &x->c1);
}

#endif
