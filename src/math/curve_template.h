/* A curve y^2 = x^3 + b over a field, written once for G1 (fp) and G2 (fp2).
 *
 * Included once per curve, after defining
 *   CURVE(x)  the name with the curve's prefix: g1_##x     CURVE_T, CURVE_AFFINE, CURVE_XYZZ  its three point types
 *   COORD(x)  the name with the coordinate field's prefix   COORD_T  its element type
 * and functions CURVE(set_b)(COORD_T *), CURVE(generator_affine)(CURVE_AFFINE *).
 *
 * Points: affine (x, y) with (0, 0) as infinity (not on a curve with b != 0); Jacobian (X/Z^2, Y/Z^3), infinity Z = 0;
 * XYZZ (X/ZZ, Y/ZZZ) with ZZ^3 = ZZZ^2, infinity ZZ = 0. Additions are complete: equal, opposite and infinite points
 * are recognised and treated apart. Formulas: the Explicit-Formulas Database (Bernstein and Lange), a = 0: dbl-2009-l,
 * add-2007-bl, madd-2007-bl, and for XYZZ dbl-2008-s-1, mdbl-2008-s-1, add-2008-s, madd-2008-s. Time depends on the
 * points. Outputs may alias inputs.
 */

static inline void CURVE(set_infinity)(CURVE_T *r) {
    memset(r, 0, sizeof *r);
}
static inline bool CURVE(is_infinity)(const CURVE_T *p) {
    return COORD(is_zero)(&p->Z);
}
static inline void CURVE(affine_set_infinity)(CURVE_AFFINE *r) {
    memset(r, 0, sizeof *r);
}
static inline bool CURVE(affine_is_infinity)(const CURVE_AFFINE *p) {
    return COORD(is_zero)(&p->y) && COORD(is_zero)(&p->x);
}
static inline void CURVE(xyzz_set_infinity)(CURVE_XYZZ *r) {
    memset(r, 0, sizeof *r);
}
static inline bool CURVE(xyzz_is_infinity)(const CURVE_XYZZ *p) {
    return COORD(is_zero)(&p->ZZ);
}

static inline bool CURVE(affine_eq)(const CURVE_AFFINE *p, const CURVE_AFFINE *q) {
    return COORD(eq)(&p->x, &q->x) && COORD(eq)(&p->y, &q->y);
}

static inline void CURVE(affine_neg)(CURVE_AFFINE *r, const CURVE_AFFINE *p) {
    r->x = p->x;
    COORD(neg)(&r->y, &p->y);
}

static inline void CURVE(neg)(CURVE_T *r, const CURVE_T *p) {
    r->X = p->X;
    COORD(neg)(&r->Y, &p->Y);
    r->Z = p->Z;
}

static inline void CURVE(from_affine)(CURVE_T *r, const CURVE_AFFINE *p) {
    if (CURVE(affine_is_infinity)(p)) {
        CURVE(set_infinity)(r);
        return;
    }
    r->X = p->x;
    r->Y = p->y;
    COORD(set_one)(&r->Z);
}

MATH_CALL void CURVE(to_affine)(CURVE_AFFINE *r, const CURVE_T *p) {
    COORD_T z, zz;
    COORD(inv)(&z, &p->Z); /* infinity: 0, which gives (0, 0) */
    COORD(sqr)(&zz, &z);
    COORD(mul)(&r->x, &p->X, &zz);
    COORD(mul)(&zz, &zz, &z);
    COORD(mul)(&r->y, &p->Y, &zz);
}

/* n points with one inversion. scratch holds n coordinates; nothing overlaps. */
MATH_CALL void CURVE(batch_to_affine)(CURVE_AFFINE *r, const CURVE_T *p, size_t n, COORD_T *scratch) {
    COORD_T acc, z, zz;
    COORD(set_one)(&acc);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!CURVE(is_infinity)(&p[i])) COORD(mul)(&acc, &acc, &p[i].Z);
    }
    COORD(inv)(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (CURVE(is_infinity)(&p[i])) {
            CURVE(affine_set_infinity)(&r[i]);
            continue;
        }
        COORD(mul)(&z, &acc, &scratch[i]);
        COORD(mul)(&acc, &acc, &p[i].Z);
        COORD(sqr)(&zz, &z);
        COORD(mul)(&r[i].x, &p[i].X, &zz);
        COORD(mul)(&zz, &zz, &z);
        COORD(mul)(&r[i].y, &p[i].Y, &zz);
    }
}

/* No point has order two (the groups' orders are odd), so Y = 0 does not occur; infinity stays infinity as Z3 = 2 Y Z.
 */
MATH_CALL void CURVE(dbl)(CURVE_T *r, const CURVE_T *p) {
    COORD_T a, b, c, d, e, f, t;
    COORD(sqr)(&a, &p->X);
    COORD(sqr)(&b, &p->Y);
    COORD(sqr)(&c, &b);
    COORD(add)(&t, &p->X, &b);
    COORD(sqr)(&t, &t);
    COORD(sub)(&t, &t, &a);
    COORD(sub)(&t, &t, &c);
    COORD(dbl)(&d, &t);
    COORD(dbl)(&e, &a);
    COORD(add)(&e, &e, &a);
    COORD(sqr)(&f, &e);
    COORD(mul)(&t, &p->Y, &p->Z);
    COORD(dbl)(&r->Z, &t);
    COORD(dbl)(&t, &d);
    COORD(sub)(&r->X, &f, &t);
    COORD(sub)(&t, &d, &r->X);
    COORD(mul)(&t, &e, &t);
    COORD(dbl)(&c, &c);
    COORD(dbl)(&c, &c);
    COORD(dbl)(&c, &c);
    COORD(sub)(&r->Y, &t, &c);
}

/* The common end of both additions: h = U2 - U1, rr = 2 (S2 - S1), z = what h is multiplied by to give Z3. u1 and s1
 * are the first point's coordinates on the common denominator. */
static inline void CURVE(add_tail)(CURVE_T *r, const COORD_T *u1, const COORD_T *s1, const COORD_T *h,
                                   const COORD_T *rr, const COORD_T *z) {
    COORD_T i, j, v, t;
    COORD(dbl)(&i, h);
    COORD(sqr)(&i, &i);
    COORD(mul)(&j, h, &i);
    COORD(mul)(&v, u1, &i);
    COORD(mul)(&i, s1, &j);
    COORD(mul)(&r->Z, z, h);
    COORD(sqr)(&t, rr);
    COORD(sub)(&t, &t, &j);
    COORD(sub)(&t, &t, &v);
    COORD(sub)(&r->X, &t, &v);
    COORD(sub)(&v, &v, &r->X);
    COORD(mul)(&v, &v, rr);
    COORD(dbl)(&i, &i);
    COORD(sub)(&r->Y, &v, &i);
}

MATH_CALL void CURVE(add)(CURVE_T *r, const CURVE_T *p, const CURVE_T *q) {
    if (CURVE(is_infinity)(p)) {
        *r = *q;
        return;
    }
    if (CURVE(is_infinity)(q)) {
        *r = *p;
        return;
    }
    COORD_T z1z1, z2z2, u1, u2, s1, s2;
    COORD(sqr)(&z1z1, &p->Z);
    COORD(sqr)(&z2z2, &q->Z);
    COORD(mul)(&u1, &p->X, &z2z2);
    COORD(mul)(&u2, &q->X, &z1z1);
    COORD(mul)(&s1, &p->Y, &q->Z);
    COORD(mul)(&s1, &s1, &z2z2);
    COORD(mul)(&s2, &q->Y, &p->Z);
    COORD(mul)(&s2, &s2, &z1z1);
    COORD(sub)(&u2, &u2, &u1);
    COORD(sub)(&s2, &s2, &s1);
    if (COORD(is_zero)(&u2)) {
        if (COORD(is_zero)(&s2)) {
            CURVE(dbl)(r, p);
        } else {
            CURVE(set_infinity)(r);
        }
        return;
    }
    COORD(dbl)(&s2, &s2);
    COORD(mul)(&z1z1, &p->Z, &q->Z);
    COORD(dbl)(&z1z1, &z1z1);
    CURVE(add_tail)(r, &u1, &s1, &u2, &s2, &z1z1);
}

MATH_CALL void CURVE(add_affine)(CURVE_T *r, const CURVE_T *p, const CURVE_AFFINE *q) {
    if (CURVE(affine_is_infinity)(q)) {
        *r = *p;
        return;
    }
    if (CURVE(is_infinity)(p)) {
        CURVE(from_affine)(r, q);
        return;
    }
    COORD_T zz, u2, s2, z2, x1 = p->X, y1 = p->Y;
    COORD(sqr)(&zz, &p->Z);
    COORD(mul)(&u2, &q->x, &zz);
    COORD(mul)(&s2, &q->y, &p->Z);
    COORD(mul)(&s2, &s2, &zz);
    COORD(sub)(&u2, &u2, &x1);
    COORD(sub)(&s2, &s2, &y1);
    if (COORD(is_zero)(&u2)) {
        if (COORD(is_zero)(&s2)) {
            CURVE(dbl)(r, p);
        } else {
            CURVE(set_infinity)(r);
        }
        return;
    }
    COORD(dbl)(&s2, &s2);
    COORD(dbl)(&z2, &p->Z);
    CURVE(add_tail)(r, &x1, &y1, &u2, &s2, &z2);
}

/* Equal as points, whatever their denominators. */
MATH_CALL bool CURVE(eq)(const CURVE_T *p, const CURVE_T *q) {
    bool p_inf = CURVE(is_infinity)(p), q_inf = CURVE(is_infinity)(q);
    if (p_inf || q_inf) return p_inf && q_inf;
    COORD_T a, b, pz, qz;
    COORD(sqr)(&pz, &p->Z);
    COORD(sqr)(&qz, &q->Z);
    COORD(mul)(&a, &p->X, &qz);
    COORD(mul)(&b, &q->X, &pz);
    if (!COORD(eq)(&a, &b)) return false;
    COORD(mul)(&pz, &pz, &p->Z);
    COORD(mul)(&qz, &qz, &q->Z);
    COORD(mul)(&a, &p->Y, &qz);
    COORD(mul)(&b, &q->Y, &pz);
    return COORD(eq)(&a, &b);
}

/* r = k p, k any 256-bit number; windows of four bits. */
MATH_CALL void CURVE(mul)(CURVE_T *r, const CURVE_T *p, const fr_canon *k) {
    CURVE_T table[16], acc;
    CURVE(set_infinity)(&table[0]);
    table[1] = *p;
    for (int i = 2; i < 16; i++) CURVE(add)(&table[i], &table[i - 1], p);
    CURVE(set_infinity)(&acc);
    for (int i = 63; i >= 0; i--) {
        unsigned digit = (unsigned)(k->l[i / 16] >> (4 * (i % 16))) & 15;
        if (!CURVE(is_infinity)(&acc)) {
            for (int j = 0; j < 4; j++) CURVE(dbl)(&acc, &acc);
        }
        CURVE(add)(&acc, &acc, &table[digit]);
    }
    *r = acc;
}

/* r = |x| p for the curve parameter x, whose absolute value has six bits set. */
MATH_CALL void CURVE(mul_x_abs)(CURVE_T *r, const CURVE_T *p) {
    CURVE_T acc = *p;
    for (int i = 62; i >= 0; i--) {
        CURVE(dbl)(&acc, &acc);
        if (BLS_X_ABS >> i & 1) CURVE(add)(&acc, &acc, p);
    }
    *r = acc;
}

/* Infinity is on the curve. */
MATH_CALL bool CURVE(affine_on_curve)(const CURVE_AFFINE *p) {
    if (CURVE(affine_is_infinity)(p)) return true;
    COORD_T l, r, b;
    COORD(sqr)(&l, &p->y);
    COORD(sqr)(&r, &p->x);
    COORD(mul)(&r, &r, &p->x);
    CURVE(set_b)(&b);
    COORD(add)(&r, &r, &b);
    return COORD(eq)(&l, &r);
}

/* ---- XYZZ ---- */

static inline void CURVE(xyzz_from_affine)(CURVE_XYZZ *r, const CURVE_AFFINE *p) {
    if (CURVE(affine_is_infinity)(p)) {
        CURVE(xyzz_set_infinity)(r);
        return;
    }
    r->X = p->x;
    r->Y = p->y;
    COORD(set_one)(&r->ZZ);
    COORD(set_one)(&r->ZZZ);
}

/* Jacobian with Z = ZZ: x = X ZZ / ZZ^2 and y = Y ZZZ / ZZ^3. */
static inline void CURVE(from_xyzz)(CURVE_T *r, const CURVE_XYZZ *p) {
    COORD(mul)(&r->X, &p->X, &p->ZZ);
    COORD(mul)(&r->Y, &p->Y, &p->ZZZ);
    r->Z = p->ZZ;
}

static inline void CURVE(xyzz_neg)(CURVE_XYZZ *r, const CURVE_XYZZ *p) {
    *r = *p;
    COORD(neg)(&r->Y, &r->Y);
}

/* The common end of both doublings: V = (2 Y)^2, W = V 2Y. */
static inline void CURVE(xyzz_dbl_tail)(CURVE_XYZZ *r, const COORD_T *x, const COORD_T *y, const COORD_T *v,
                                        const COORD_T *w) {
    COORD_T s, m, t;
    COORD(mul)(&s, x, v);
    COORD(sqr)(&t, x);
    COORD(dbl)(&m, &t);
    COORD(add)(&m, &m, &t);
    COORD(mul)(&t, w, y);
    COORD(sqr)(&r->X, &m);
    COORD(sub)(&r->X, &r->X, &s);
    COORD(sub)(&r->X, &r->X, &s);
    COORD(sub)(&s, &s, &r->X);
    COORD(mul)(&s, &m, &s);
    COORD(sub)(&r->Y, &s, &t);
}

MATH_CALL void CURVE(xyzz_dbl)(CURVE_XYZZ *r, const CURVE_XYZZ *p) {
    COORD_T u, v, w, zz, zzz;
    COORD(dbl)(&u, &p->Y);
    COORD(sqr)(&v, &u);
    COORD(mul)(&w, &u, &v);
    COORD(mul)(&zz, &v, &p->ZZ);
    COORD(mul)(&zzz, &w, &p->ZZZ);
    CURVE_XYZZ q;
    CURVE(xyzz_dbl_tail)(&q, &p->X, &p->Y, &v, &w);
    r->X = q.X;
    r->Y = q.Y;
    r->ZZ = zz;
    r->ZZZ = zzz;
}

/* 2 p of an affine p that is not infinity. */
MATH_CALL void CURVE(xyzz_dbl_affine)(CURVE_XYZZ *r, const CURVE_AFFINE *p) {
    COORD_T u;
    COORD(dbl)(&u, &p->y);
    COORD(sqr)(&r->ZZ, &u);
    COORD(mul)(&r->ZZZ, &u, &r->ZZ);
    CURVE(xyzz_dbl_tail)(r, &p->x, &p->y, &r->ZZ, &r->ZZZ);
}

MATH_CALL void CURVE(xyzz_add_affine)(CURVE_XYZZ *r, const CURVE_XYZZ *p, const CURVE_AFFINE *q) {
    if (CURVE(affine_is_infinity)(q)) {
        *r = *p;
        return;
    }
    if (CURVE(xyzz_is_infinity)(p)) {
        CURVE(xyzz_from_affine)(r, q);
        return;
    }
    COORD_T u, s, pp, ppp, t;
    COORD(mul)(&u, &q->x, &p->ZZ);
    COORD(mul)(&s, &q->y, &p->ZZZ);
    COORD(sub)(&u, &u, &p->X);
    COORD(sub)(&s, &s, &p->Y);
    if (COORD(is_zero)(&u)) {
        if (COORD(is_zero)(&s)) {
            CURVE_AFFINE twice = *q;
            CURVE(xyzz_dbl_affine)(r, &twice);
        } else {
            CURVE(xyzz_set_infinity)(r);
        }
        return;
    }
    COORD(sqr)(&pp, &u);
    COORD(mul)(&ppp, &u, &pp);
    COORD(mul)(&u, &p->X, &pp);
    COORD(mul)(&r->ZZ, &p->ZZ, &pp);
    COORD(mul)(&r->ZZZ, &p->ZZZ, &ppp);
    COORD(mul)(&pp, &p->Y, &ppp);
    COORD(sqr)(&t, &s);
    COORD(sub)(&t, &t, &ppp);
    COORD(sub)(&t, &t, &u);
    COORD(sub)(&r->X, &t, &u);
    COORD(sub)(&u, &u, &r->X);
    COORD(mul)(&u, &s, &u);
    COORD(sub)(&r->Y, &u, &pp);
}

MATH_CALL void CURVE(xyzz_add)(CURVE_XYZZ *r, const CURVE_XYZZ *p, const CURVE_XYZZ *q) {
    if (CURVE(xyzz_is_infinity)(q)) {
        *r = *p;
        return;
    }
    if (CURVE(xyzz_is_infinity)(p)) {
        *r = *q;
        return;
    }
    COORD_T u1, u2, s1, s2, pp, ppp, zz, zzz;
    COORD(mul)(&u1, &p->X, &q->ZZ);
    COORD(mul)(&u2, &q->X, &p->ZZ);
    COORD(mul)(&s1, &p->Y, &q->ZZZ);
    COORD(mul)(&s2, &q->Y, &p->ZZZ);
    COORD(sub)(&u2, &u2, &u1);
    COORD(sub)(&s2, &s2, &s1);
    if (COORD(is_zero)(&u2)) {
        if (COORD(is_zero)(&s2)) {
            CURVE(xyzz_dbl)(r, p);
        } else {
            CURVE(xyzz_set_infinity)(r);
        }
        return;
    }
    COORD(sqr)(&pp, &u2);
    COORD(mul)(&ppp, &u2, &pp);
    COORD(mul)(&u1, &u1, &pp);
    COORD(mul)(&zz, &p->ZZ, &q->ZZ);
    COORD(mul)(&zzz, &p->ZZZ, &q->ZZZ);
    COORD(mul)(&r->ZZ, &zz, &pp);
    COORD(mul)(&r->ZZZ, &zzz, &ppp);
    COORD(mul)(&s1, &s1, &ppp);
    COORD(sqr)(&pp, &s2);
    COORD(sub)(&pp, &pp, &ppp);
    COORD(sub)(&pp, &pp, &u1);
    COORD(sub)(&r->X, &pp, &u1);
    COORD(sub)(&u1, &u1, &r->X);
    COORD(mul)(&u1, &s2, &u1);
    COORD(sub)(&r->Y, &u1, &s1);
}

#undef CURVE
#undef CURVE_T
#undef CURVE_AFFINE
#undef CURVE_XYZZ
#undef COORD
#undef COORD_T
