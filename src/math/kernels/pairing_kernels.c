/* Miller loop and final exponentiation.
 *
 * The twist E': y^2 = x^3 + 4(1 + u) goes to E by (x/w^2, y/w^3). A line of slope L on E' through T, at P = (xP, yP)
 * and times w^3, is (L xT - yT) - L xP w^2 + yP w^3  =  b0 + b1 v + b4 v w, and any factor from a proper subfield (the
 * denominators, w^3) vanishes in the final exponentiation. T is kept in Jacobian coordinates. Pairs share the squarings
 * of f, up to MILLER_PAIRS of them in one loop. x is negative: f_{x} = conj(f_{|x|}) after the final exponentiation,
 * and it is conjugated already here. Final exponentiation: (p^6 - 1)(p^2 + 1), then 3 (p^4 - p^2 + 1)/r = (x - 1)^2 (x
 * + p)(x^2 + p^2 - 1) + 3 (Hayashida, Hayasaka, Teruya, "Efficient final exponentiation via cyclotomic structure for
 * pairings over families of elliptic curves", 2020).
 */
#define FIELD_CALLS
#include "math/kernels.h"

#define MILLER_PAIRS 8

/* f *= the tangent at t, t = 2 t. Slope 3X^2 / (2 Y Z); the line is multiplied by 2 Y Z^3. */
static void miller_double(fp12 *f, g2 *t, const g1_affine *p) {
    fp2 m, zz, b0, b1, b4;
    fp2_sqr(&m, &t->X);
    fp2_dbl(&b0, &m);
    fp2_add(&m, &m, &b0); /* 3 X^2 */
    fp2_mul(&b0, &m, &t->X);
    fp2_sqr(&b1, &t->Y);
    fp2_dbl(&b1, &b1);
    fp2_sub(&b0, &b0, &b1);
    fp2_sqr(&zz, &t->Z);
    fp2_mul(&b1, &m, &zz);
    fp2_mul_fp(&b1, &b1, &p->x);
    fp2_neg(&b1, &b1);
    g2_dbl(t, t); /* Z3 = 2 Y Z */
    fp2_mul(&b4, &t->Z, &zz);
    fp2_mul_fp(&b4, &b4, &p->y);
    fp12_mul_by_014(f, f, &b0, &b1, &b4);
}

/* f *= the line through t and q, t = t + q. Slope s / (Z h); the line is multiplied by Z h. t = q or -q cannot happen
 * inside the loop, where t = k q with 1 < k < r - 1. */
static void miller_add(fp12 *f, g2 *t, const g2_affine *q, const g1_affine *p) {
    fp2 zz, h, s, b0, b1, b4;
    fp2_sqr(&zz, &t->Z);
    fp2_mul(&h, &q->x, &zz);
    fp2_sub(&h, &h, &t->X);
    fp2_mul(&s, &q->y, &t->Z);
    fp2_mul(&s, &s, &zz);
    fp2_sub(&s, &s, &t->Y);
    fp2_mul(&h, &h, &t->Z);
    fp2_mul(&b0, &s, &q->x);
    fp2_mul(&b1, &h, &q->y);
    fp2_sub(&b0, &b0, &b1);
    fp2_mul_fp(&b1, &s, &p->x);
    fp2_neg(&b1, &b1);
    fp2_mul_fp(&b4, &h, &p->y);
    fp12_mul_by_014(f, f, &b0, &b1, &b4);
    g2_add_affine(t, t, q);
}

/* At most MILLER_PAIRS pairs, none with infinity. */
static void miller_loop(fp12 *f, const g1_affine *const *p, const g2_affine *const *q, size_t n) {
    g2 t[MILLER_PAIRS];
    for (size_t i = 0; i < n; i++) g2_from_affine(&t[i], q[i]);
    fp12_set_one(f);
    for (int bit = 62; bit >= 0; bit--) {
        if (bit != 62) fp12_sqr(f, f);
        for (size_t i = 0; i < n; i++) miller_double(f, &t[i], p[i]);
        if (BLS_X_ABS >> bit & 1) {
            for (size_t i = 0; i < n; i++) miller_add(f, &t[i], q[i], p[i]);
        }
    }
    fp12_conj(f, f);
}

static void miller(fp12 *out, const g1_affine *p, const g2_affine *q, size_t n) {
    fp12 acc, f;
    fp12_set_one(&acc);
    for (size_t done = 0; done < n;) {
        const g1_affine *pp[MILLER_PAIRS];
        const g2_affine *qq[MILLER_PAIRS];
        size_t k = 0;
        for (; done < n && k < MILLER_PAIRS; done++) {
            if (g1_affine_is_infinity(&p[done]) || g2_affine_is_infinity(&q[done])) continue;
            pp[k] = &p[done];
            qq[k++] = &q[done];
        }
        if (k == 0) break;
        miller_loop(&f, pp, qq, k);
        fp12_mul(&acc, &acc, &f);
    }
    *out = acc;
}

/* r = a^x in the cyclotomic subgroup. */
static void exp_by_x(fp12 *r, const fp12 *a) {
    fp12 t = *a;
    for (int bit = 62; bit >= 0; bit--) {
        fp12_cyclotomic_sqr(&t, &t);
        if (BLS_X_ABS >> bit & 1) fp12_mul(&t, &t, a);
    }
    fp12_conj(r, &t);
}

static void final_exp(fp12 *r, const fp12 *a) {
    fp12 f, g, t;
    fp12_inv(&t, a);
    fp12_conj(&f, a);
    fp12_mul(&f, &f, &t); /* p^6 - 1 */
    fp12_frobenius(&t, &f, 2);
    fp12_mul(&f, &f, &t); /* p^2 + 1 */
    /* g = f^((x-1)^2) */
    exp_by_x(&g, &f);
    fp12_conj(&t, &f);
    fp12_mul(&g, &g, &t);
    exp_by_x(&t, &g);
    fp12_conj(&g, &g);
    fp12_mul(&g, &g, &t);
    /* g = g^(x+p) */
    exp_by_x(&t, &g);
    fp12_frobenius(&g, &g, 1);
    fp12_mul(&g, &g, &t);
    /* g = g^(x^2+p^2-1) */
    fp12 u;
    exp_by_x(&t, &g);
    exp_by_x(&t, &t);
    fp12_frobenius(&u, &g, 2);
    fp12_mul(&t, &t, &u);
    fp12_conj(&g, &g);
    fp12_mul(&g, &g, &t);
    /* times f^3 */
    fp12_cyclotomic_sqr(&t, &f);
    fp12_mul(&t, &t, &f);
    fp12_mul(r, &g, &t);
}

const struct pairing_kernels KERNEL_NAME(pairing_kernels) = {.miller = miller, .final_exp = final_exp};
