/* The groups of BLS12-381: G1 on y^2 = x^3 + 4 over fp, G2 on y^2 = x^3 + 4(1 + u) over fp2.
 *
 * Functions come from math/curve_template.h; for G in {g1, g2} with coordinates F in {fp, fp2}:
 *   G_set_infinity G_is_infinity G_from_affine G_to_affine G_batch_to_affine G_neg G_dbl G_add G_add_affine G_eq G_mul
 * G_mul_x_abs G_affine_set_infinity G_affine_is_infinity G_affine_neg G_affine_eq G_affine_on_curve
 * G_affine_in_subgroup G_generator_affine G_xyzz_set_infinity G_xyzz_is_infinity G_xyzz_from_affine G_xyzz_neg
 * G_xyzz_dbl G_xyzz_dbl_affine G_xyzz_add G_xyzz_add_affine G_from_xyzz All additions are complete. Outputs may alias
 * inputs. Time depends on the data.
 *
 * Membership in the subgroup of order r (the curves' orders have cofactors) follows Scott, "A note on group membership
 * tests for G1, G2 and GT on BLS pairing-friendly curves" (2021): an endomorphism acts as a known multiplication on the
 * subgroup and nowhere else.
 */
#ifndef CUZK_MATH_CURVE_H
#define CUZK_MATH_CURVE_H

#include "math/field.h"
#include "math/fp2.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

typedef struct {
    fp x, y; /* (0, 0): infinity */
} g1_affine;
typedef struct {
    fp X, Y, Z; /* Jacobian; Z = 0: infinity */
} g1;
typedef struct {
    fp X, Y, ZZ, ZZZ; /* ZZ = 0: infinity */
} g1_xyzz;
typedef struct {
    fp2 x, y;
} g2_affine;
typedef struct {
    fp2 X, Y, Z;
} g2;
typedef struct {
    fp2 X, Y, ZZ, ZZZ;
} g2_xyzz;

static inline void g1_set_b(fp *b) {
    static const fp four = {FP_FOUR};
    *b = four;
}

static inline void g2_set_b(fp2 *b) {
    static const fp four = {FP_FOUR};
    b->c0 = four;
    b->c1 = four;
}

static inline void g1_generator_affine(g1_affine *r) {
    static const g1_affine g = {{G1_GENERATOR_X}, {G1_GENERATOR_Y}};
    *r = g;
}

static inline void g2_generator_affine(g2_affine *r) {
    static const g2_affine g = {G2_GENERATOR_X, G2_GENERATOR_Y};
    *r = g;
}

#define CURVE(x) g1_##x
#define CURVE_T g1
#define CURVE_AFFINE g1_affine
#define CURVE_XYZZ g1_xyzz
#define COORD(x) fp_##x
#define COORD_T fp
#include "math/curve_template.h"

#define CURVE(x) g2_##x
#define CURVE_T g2
#define CURVE_AFFINE g2_affine
#define CURVE_XYZZ g2_xyzz
#define COORD(x) fp2_##x
#define COORD_T fp2
#include "math/curve_template.h"

/* phi(x, y) = (beta x, y) is multiplication by -x^2 on G1: p is in G1 when phi(p) + [x^2] p is infinity. p is on the
 * curve. */
MATH_CALL bool g1_affine_in_subgroup(const g1_affine *p) {
    static const fp beta = {G1_BETA};
    if (g1_affine_is_infinity(p)) return true;
    g1_affine phi;
    fp_mul(&phi.x, &p->x, &beta);
    phi.y = p->y;
    g1 t;
    g1_from_affine(&t, p);
    g1_mul_x_abs(&t, &t);
    g1_mul_x_abs(&t, &t);
    g1_add_affine(&t, &t, &phi);
    return g1_is_infinity(&t);
}

/* psi, the Frobenius map seen from the twist. */
static inline void g2_psi_affine(g2_affine *r, const g2_affine *p) {
    static const fp2 psi_x = PSI_X, psi_y = PSI_Y;
    fp2_conj(&r->x, &p->x);
    fp2_mul(&r->x, &r->x, &psi_x);
    fp2_conj(&r->y, &p->y);
    fp2_mul(&r->y, &r->y, &psi_y);
}

/* psi is multiplication by x on G2, and x is negative: p is in G2 when psi(p) + [|x|] p is infinity. p is on the curve.
 */
MATH_CALL bool g2_affine_in_subgroup(const g2_affine *p) {
    if (g2_affine_is_infinity(p)) return true;
    g2_affine psi;
    g2_psi_affine(&psi, p);
    g2 t;
    g2_from_affine(&t, p);
    g2_mul_x_abs(&t, &t);
    g2_add_affine(&t, &t, &psi);
    return g2_is_infinity(&t);
}

#pragma GCC diagnostic pop
#endif
