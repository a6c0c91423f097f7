/* A prime field over N 64-bit limbs, written once over a parameter set.
 *
 * Included once per field, after defining
 *   FIELD(x)          the name x with the field's prefix: fr_##x
 *   FIELD_T, FIELD_C  the element type (Montgomery) and the canonical type, both { uint64_t l[FIELD_LIMBS]; }
 *   FIELD_LIMBS       4 or 6; the modulus m is odd and leaves the top bit of the top limb free
 *   FIELD_CONST(X)    the constant X of the field from field_constants.h: FR_##X
 *   FIELD_SUM         how sums are declared: inline or as calls
 * All are undefined at the end.
 *
 * Elements are Montgomery residues a*R mod m, R = 2^(64 N), always fully reduced. Outputs may alias inputs. Products
 * interleave multiplication and reduction limb by limb (Koç, Acar, Kaliski 1996, "CIOS"); because the top bit of m is
 * free, the running sum never needs more than one word beyond N, and that word is never carried into (the observation
 * of the gnark authors, 2020). Inversion is variable in time: Bernstein and Yang, "Fast constant-time gcd computation
 * and modular inversion" (2019), with runs of zero bits skipped, in batches of 62 steps. Nothing here hides its data
 * from timing except by accident.
 *
 * With FIELD_ASM defined (math/field.h) sums, with FIELD_ADX products too, are the assembly of math/field_x86.h.
 */

/* 62-bit limbs of the inversion: numbers of up to |2m|. */
#define FIELD_LIMBS62 ((64 * FIELD_LIMBS + 63) / 62)
#define FIELD_MASK62 (UINT64_MAX >> 2)

static const uint64_t FIELD(modulus)[FIELD_LIMBS] = FIELD_CONST(MODULUS);

static inline void FIELD(set_zero)(FIELD_T *r) {
    memset(r, 0, sizeof *r);
}

static inline void FIELD(set_one)(FIELD_T *r) {
    static const FIELD_T one = {FIELD_CONST(ONE)};
    *r = one;
}

static inline bool FIELD(is_zero)(const FIELD_T *a) {
    uint64_t any = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) any |= a->l[i];
    return any == 0;
}

static inline bool FIELD(eq)(const FIELD_T *a, const FIELD_T *b) {
    uint64_t any = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) any |= a->l[i] ^ b->l[i];
    return any == 0;
}

static inline bool FIELD(is_one)(const FIELD_T *a) {
    static const FIELD_T one = {FIELD_CONST(ONE)};
    return FIELD(eq)(a, &one);
}

/* True when the limbs are a number below m. */
static inline bool FIELD(limbs_reduced)(const uint64_t *l) {
    uint64_t borrow = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 d = (unsigned __int128)l[i] - FIELD(modulus)[i] - borrow;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    return borrow != 0;
}

#ifdef FIELD_ASM

#define FIELD_PASTE_(op, n) op##_##n
#define FIELD_PASTE(op, n) FIELD_PASTE_(op, n)
#define FIELD_OP(op) FIELD_PASTE(op, FIELD_LIMBS)

/* r = t - m when t >= m, else t; t < 2m. */
static inline void FIELD(reduce_once)(FIELD_T *r, const uint64_t *t) {
    FIELD_T s;
    FIELD_OP(ASM_REDUCE_ONCE)(s.l, t, FIELD(modulus));
    *r = s;
}

FIELD_SUM void FIELD(add)(FIELD_T *r, const FIELD_T *a, const FIELD_T *b) {
    FIELD_T t = *a;
    FIELD_OP(ASM_ADD)(t.l, b->l); /* no carry out: 2m < 2^(64 N) */
    FIELD(reduce_once)(r, t.l);
}

FIELD_SUM void FIELD(sub)(FIELD_T *r, const FIELD_T *a, const FIELD_T *b) {
    FIELD_T t = *a, s;
    uint64_t mask;
    FIELD_OP(ASM_SUB)(t.l, b->l, mask);
    FIELD_OP(ASM_ADD_BACK)(s.l, t.l, FIELD(modulus), mask);
    *r = s;
}

#else

/* r = t - m when t >= m, else t; t < 2m. */
static inline void FIELD(reduce_once)(FIELD_T *r, const uint64_t *t) {
    uint64_t d[FIELD_LIMBS], borrow = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 v = (unsigned __int128)t[i] - FIELD(modulus)[i] - borrow;
        d[i] = (uint64_t)v;
        borrow = (uint64_t)(v >> 64) & 1;
    }
    uint64_t keep = 0 - borrow; /* all ones: t was below m */
    for (int i = 0; i < FIELD_LIMBS; i++) r->l[i] = (t[i] & keep) | (d[i] & ~keep);
}

FIELD_SUM void FIELD(add)(FIELD_T *r, const FIELD_T *a, const FIELD_T *b) {
    uint64_t t[FIELD_LIMBS], carry = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 s = (unsigned __int128)a->l[i] + b->l[i] + carry;
        t[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
    FIELD(reduce_once)(r, t); /* no carry out: 2m < 2^(64 N) */
}

FIELD_SUM void FIELD(sub)(FIELD_T *r, const FIELD_T *a, const FIELD_T *b) {
    uint64_t t[FIELD_LIMBS], borrow = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 d = (unsigned __int128)a->l[i] - b->l[i] - borrow;
        t[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    uint64_t wrap = 0 - borrow, carry = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 s = (unsigned __int128)t[i] + (FIELD(modulus)[i] & wrap) + carry;
        r->l[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
}

#endif

#ifdef FIELD_ADX

FIELD_PRODUCT void FIELD(mul)(FIELD_T *r, const FIELD_T *a, const FIELD_T *b) {
    FIELD_T t;
    FIELD_OP(ADX_MUL)(t.l, a->l, b->l, FIELD(modulus), (int64_t)FIELD_CONST(NEG_INV));
    FIELD(reduce_once)(r, t.l);
}

#else

/* One limb of b: t = (t + a*bi + k*m) / 2^64 with k chosen so that the division is exact. Two carry words run along,
 * one for each product; their sum fits one word at the end. Spelled out so that every compiler keeps t in registers. */
#define FIELD_COLUMN(j)                                                                                                \
    v = (unsigned __int128)a->l[j] * bi + t[j] + carry_a;                                                              \
    carry_a = (uint64_t)(v >> 64);                                                                                     \
    w = (unsigned __int128)k * FIELD(modulus)[j] + (uint64_t)v + carry_m;                                              \
    t[(j)-1] = (uint64_t)w;                                                                                            \
    carry_m = (uint64_t)(w >> 64);

static inline __attribute__((always_inline)) void FIELD(mul_row)(uint64_t *t, const FIELD_T *a, uint64_t bi) {
    unsigned __int128 v, w;
    v = (unsigned __int128)a->l[0] * bi + t[0];
    uint64_t carry_a = (uint64_t)(v >> 64), k = (uint64_t)v * FIELD_CONST(NEG_INV);
    w = (unsigned __int128)k * FIELD(modulus)[0] + (uint64_t)v;
    uint64_t carry_m = (uint64_t)(w >> 64);
    FIELD_COLUMN(1)
    FIELD_COLUMN(2)
    FIELD_COLUMN(3)
#if FIELD_LIMBS == 6
    FIELD_COLUMN(4)
    FIELD_COLUMN(5)
#endif
    t[FIELD_LIMBS - 1] = carry_a + carry_m;
}
#undef FIELD_COLUMN

FIELD_PRODUCT void FIELD(mul)(FIELD_T *r, const FIELD_T *a, const FIELD_T *b) {
    uint64_t t[FIELD_LIMBS] = {0};
    FIELD(mul_row)(t, a, b->l[0]);
    FIELD(mul_row)(t, a, b->l[1]);
    FIELD(mul_row)(t, a, b->l[2]);
    FIELD(mul_row)(t, a, b->l[3]);
#if FIELD_LIMBS == 6
    FIELD(mul_row)(t, a, b->l[4]);
    FIELD(mul_row)(t, a, b->l[5]);
#endif
    FIELD(reduce_once)(r, t);
}

#endif

static inline void FIELD(dbl)(FIELD_T *r, const FIELD_T *a) {
    FIELD(add)(r, a, a);
}
static inline void FIELD(sqr)(FIELD_T *r, const FIELD_T *a) {
    FIELD(mul)(r, a, a);
}

FIELD_SUM void FIELD(neg)(FIELD_T *r, const FIELD_T *a) {
    uint64_t any = 0, borrow = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) any |= a->l[i];
    uint64_t mask = 0 - (uint64_t)(any != 0); /* -0 is 0, not m */
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 d = (unsigned __int128)(FIELD(modulus)[i] & mask) - a->l[i] - borrow;
        r->l[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
}

/* a/2: half of a, or of a + m when a is odd. */
FIELD_SUM void FIELD(half)(FIELD_T *r, const FIELD_T *a) {
    uint64_t t[FIELD_LIMBS], mask = 0 - (a->l[0] & 1), carry = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        unsigned __int128 s = (unsigned __int128)a->l[i] + (FIELD(modulus)[i] & mask) + carry;
        t[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
    for (int i = 0; i < FIELD_LIMBS - 1; i++) r->l[i] = t[i] >> 1 | t[i + 1] << 63;
    r->l[FIELD_LIMBS - 1] = t[FIELD_LIMBS - 1] >> 1; /* a + m < 2^(64 N): no carry */
}

/* c must be below m. */
static inline void FIELD(from_canon)(FIELD_T *r, const FIELD_C *c) {
    static const FIELD_T r2 = {FIELD_CONST(R2)};
    FIELD_T t;
    memcpy(&t, c, sizeof t);
    FIELD(mul)(r, &t, &r2);
}

/* Multiplying by the number 1 divides by R. */
static inline void FIELD(to_canon)(FIELD_C *c, const FIELD_T *a) {
    FIELD_T t = {{1}};
    FIELD(mul)(&t, a, &t);
    memcpy(c, &t, sizeof t);
}

static inline void FIELD(from_u64)(FIELD_T *r, uint64_t v) {
    FIELD_C c = {{v}};
    FIELD(from_canon)(r, &c);
}

/* 8 N bytes, least significant first. False (r untouched) when the number is not below m. */
static inline bool FIELD(from_le_bytes)(FIELD_T *r, const uint8_t *bytes) {
    FIELD_C c;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        uint64_t v = 0;
        for (int j = 7; j >= 0; j--) v = v << 8 | bytes[8 * i + j];
        c.l[i] = v;
    }
    if (!FIELD(limbs_reduced)(c.l)) return false;
    FIELD(from_canon)(r, &c);
    return true;
}

static inline bool FIELD(from_be_bytes)(FIELD_T *r, const uint8_t *bytes) {
    FIELD_C c;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        uint64_t v = 0;
        for (int j = 0; j < 8; j++) v = v << 8 | bytes[8 * (FIELD_LIMBS - 1 - i) + j];
        c.l[i] = v;
    }
    if (!FIELD(limbs_reduced)(c.l)) return false;
    FIELD(from_canon)(r, &c);
    return true;
}

static inline void FIELD(to_le_bytes)(uint8_t *bytes, const FIELD_T *a) {
    FIELD_C c;
    FIELD(to_canon)(&c, a);
    for (int i = 0; i < 8 * FIELD_LIMBS; i++) bytes[i] = (uint8_t)(c.l[i / 8] >> (8 * (i % 8)));
}

static inline void FIELD(to_be_bytes)(uint8_t *bytes, const FIELD_T *a) {
    FIELD_C c;
    FIELD(to_canon)(&c, a);
    for (int i = 0; i < 8 * FIELD_LIMBS; i++) bytes[8 * FIELD_LIMBS - 1 - i] = (uint8_t)(c.l[i / 8] >> (8 * (i % 8)));
}

/* Whether a, as a number, is more than (m - 1)/2: the larger of a and -a. */
static inline bool FIELD(is_larger_half)(const FIELD_T *a) {
    FIELD_C c, d;
    FIELD_T n;
    FIELD(neg)(&n, a);
    FIELD(to_canon)(&c, a);
    FIELD(to_canon)(&d, &n);
    for (int i = FIELD_LIMBS - 1; i >= 0; i--) {
        if (c.l[i] != d.l[i]) return c.l[i] > d.l[i];
    }
    return false;
}

/* r = a^exp, exp of `limbs` limbs, least significant first; windows of four bits. a^0 = 1, also for a = 0. */
MATH_CALL void FIELD(pow)(FIELD_T *r, const FIELD_T *a, const uint64_t *exp, int limbs) {
    FIELD_T table[16], acc;
    FIELD(set_one)(&table[0]);
    for (int i = 1; i < 16; i++) FIELD(mul)(&table[i], &table[i - 1], a);
    FIELD(set_one)(&acc);
    bool started = false;
    for (int i = 16 * limbs - 1; i >= 0; i--) {
        unsigned digit = (unsigned)(exp[i / 16] >> (4 * (i % 16))) & 15;
        if (started) {
            for (int j = 0; j < 4; j++) FIELD(sqr)(&acc, &acc);
        }
        if (digit != 0) {
            FIELD(mul)(&acc, &acc, &table[digit]);
            started = true;
        }
    }
    *r = acc;
}

/* ---- inversion ---- */

typedef struct {
    int64_t v[FIELD_LIMBS62]; /* sum of v[i] 2^(62 i); all but the top one in [0, 2^62) */
} FIELD(signed62);

/* (d, e) = (u d + v e, q d + r e) / 2^62 mod m, kept in (-2m, m). The multiples of m that make the division exact come
 * from the low limbs; a negative d or e brings in one more matrix column of m, which keeps the range. */
static inline void FIELD(inv_update_de)(FIELD(signed62) * d, FIELD(signed62) * e, const int64_t t[4]) {
    static const int64_t m[FIELD_LIMBS62] = FIELD_CONST(MODULUS62);
    const int64_t u = t[0], v = t[1], q = t[2], r = t[3];
    int64_t sd = d->v[FIELD_LIMBS62 - 1] >> 63, se = e->v[FIELD_LIMBS62 - 1] >> 63;
    int64_t md = (u & sd) + (v & se), me = (q & sd) + (r & se);
    __int128 cd = (__int128)u * d->v[0] + (__int128)v * e->v[0];
    __int128 ce = (__int128)q * d->v[0] + (__int128)r * e->v[0];
    md -= (int64_t)((FIELD_CONST(INV62) * (uint64_t)cd + (uint64_t)md) & FIELD_MASK62);
    me -= (int64_t)((FIELD_CONST(INV62) * (uint64_t)ce + (uint64_t)me) & FIELD_MASK62);
    cd += (__int128)m[0] * md;
    ce += (__int128)m[0] * me;
    cd >>= 62;
    ce >>= 62;
    for (int i = 1; i < FIELD_LIMBS62; i++) {
        cd += (__int128)u * d->v[i] + (__int128)v * e->v[i] + (__int128)m[i] * md;
        ce += (__int128)q * d->v[i] + (__int128)r * e->v[i] + (__int128)m[i] * me;
        d->v[i - 1] = (int64_t)((uint64_t)cd & FIELD_MASK62);
        e->v[i - 1] = (int64_t)((uint64_t)ce & FIELD_MASK62);
        cd >>= 62;
        ce >>= 62;
    }
    d->v[FIELD_LIMBS62 - 1] = (int64_t)cd;
    e->v[FIELD_LIMBS62 - 1] = (int64_t)ce;
}

/* (f, g) = (u f + v g, q f + r g) / 2^62, exactly. */
static inline void FIELD(inv_update_fg)(FIELD(signed62) * f, FIELD(signed62) * g, const int64_t t[4]) {
    const int64_t u = t[0], v = t[1], q = t[2], r = t[3];
    __int128 cf = (__int128)u * f->v[0] + (__int128)v * g->v[0];
    __int128 cg = (__int128)q * f->v[0] + (__int128)r * g->v[0];
    cf >>= 62;
    cg >>= 62;
    for (int i = 1; i < FIELD_LIMBS62; i++) {
        cf += (__int128)u * f->v[i] + (__int128)v * g->v[i];
        cg += (__int128)q * f->v[i] + (__int128)r * g->v[i];
        f->v[i - 1] = (int64_t)((uint64_t)cf & FIELD_MASK62);
        g->v[i - 1] = (int64_t)((uint64_t)cg & FIELD_MASK62);
        cf >>= 62;
        cg >>= 62;
    }
    f->v[FIELD_LIMBS62 - 1] = (int64_t)cf;
    g->v[FIELD_LIMBS62 - 1] = (int64_t)cg;
}

/* x in (-2m, m), negated when `negative`, to [0, m) in 64-bit limbs. */
static inline void FIELD(inv_normalize)(FIELD_T *r, FIELD(signed62) * x, bool negative) {
    static const int64_t m[FIELD_LIMBS62] = FIELD_CONST(MODULUS62);
    for (int pass = 0; pass < 2; pass++) {
        /* Add m when negative; the first pass then applies the sign, which leaves (-m, m). */
        int64_t add = x->v[FIELD_LIMBS62 - 1] >> 63, sign = pass == 0 && negative ? -1 : 0;
        int64_t carry = 0;
        for (int i = 0; i < FIELD_LIMBS62; i++) {
            carry += ((x->v[i] + (m[i] & add)) ^ sign) - sign;
            x->v[i] = i == FIELD_LIMBS62 - 1 ? carry : (int64_t)((uint64_t)carry & FIELD_MASK62);
            carry >>= 62;
        }
    }
    unsigned __int128 acc = 0;
    unsigned bits = 0;
    int out = 0;
    for (int i = 0; i < FIELD_LIMBS62 && out < FIELD_LIMBS; i++) {
        acc |= (unsigned __int128)(uint64_t)x->v[i] << bits;
        bits += 62;
        if (bits >= 64) {
            r->l[out++] = (uint64_t)acc;
            acc >>= 64;
            bits -= 64;
        }
    }
    if (out < FIELD_LIMBS) r->l[out] = (uint64_t)acc;
}

/* r = 1/a; 1/0 = 0. Time depends on a. */
MATH_CALL void FIELD(inv)(FIELD_T *r, const FIELD_T *a) {
    static const FIELD(signed62) modulus = {FIELD_CONST(MODULUS62)};
    static const FIELD_T r3 = {FIELD_CONST(R3)};
    FIELD(signed62) f = modulus, g, d = {{0}}, e = {{1}};
    for (int i = 0; i < FIELD_LIMBS62; i++) {
        int bit = 62 * i, word = bit / 64, shift = bit % 64;
        uint64_t v = word < FIELD_LIMBS ? a->l[word] >> shift : 0;
        if (shift > 2 && word + 1 < FIELD_LIMBS) v |= a->l[word + 1] << (64 - shift);
        g.v[i] = (int64_t)(v & FIELD_MASK62);
    }
    if (FIELD(is_zero)(a)) {
        FIELD(set_zero)(r);
        return;
    }
    int64_t eta = -1, any, t[4];
    do {
        eta = field_divsteps_62_var(eta, (uint64_t)f.v[0] | (uint64_t)f.v[1] << 62,
                                    (uint64_t)g.v[0] | (uint64_t)g.v[1] << 62, t);
        FIELD(inv_update_de)(&d, &e, t);
        FIELD(inv_update_fg)(&f, &g, t);
        any = 0;
        for (int i = 0; i < FIELD_LIMBS62; i++) any |= g.v[i];
    } while (any != 0);
    /* f is now 1 or -1 and f = d * (a R) mod m; one product by R^3 gives back the Montgomery form. */
    FIELD(inv_normalize)(r, &d, f.v[FIELD_LIMBS62 - 1] < 0);
    FIELD(mul)(r, r, &r3);
}

/* a[i] = 1/a[i] with one inversion (Montgomery's trick); zeros stay zero. scratch holds n elements and may not overlap
 * a. */
MATH_CALL void FIELD(batch_inv)(FIELD_T *a, size_t n, FIELD_T *scratch) {
    FIELD_T acc, t;
    FIELD(set_one)(&acc);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!FIELD(is_zero)(&a[i])) FIELD(mul)(&acc, &acc, &a[i]);
    }
    FIELD(inv)(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (FIELD(is_zero)(&a[i])) continue;
        FIELD(mul)(&t, &acc, &scratch[i]);
        FIELD(mul)(&acc, &acc, &a[i]);
        a[i] = t;
    }
}

/* True and a root when a is a square (0 is); false, r untouched, otherwise. Tonelli and Shanks: x = a^((t+1)/2) and b =
 * a^t with x^2 = a b; b is driven to 1 through roots of unity of falling order. For s = 1 this is one power and a
 * comparison. */
MATH_CALL bool FIELD(sqrt)(FIELD_T *r, const FIELD_T *a) {
    static const uint64_t exp[FIELD_LIMBS] = FIELD_CONST(SQRT_EXP);
    static const FIELD_T root = {FIELD_CONST(ROOT)};
    FIELD_T x, b, z = root, t;
    FIELD(pow)(&t, a, exp, FIELD_LIMBS);
    FIELD(mul)(&x, a, &t);
    FIELD(mul)(&b, &x, &t);
    if (FIELD(is_zero)(a)) {
        FIELD(set_zero)(r);
        return true;
    }
    int order = FIELD_CONST(TWO_ADICITY);
    while (!FIELD(is_one)(&b)) {
        int k = 0; /* the order of b is 2^k */
        for (t = b; !FIELD(is_one)(&t) && k < order; k++) FIELD(sqr)(&t, &t);
        if (k >= order) return false;
        for (int i = 0; i < order - k - 1; i++) FIELD(sqr)(&z, &z);
        FIELD(mul)(&x, &x, &z);
        FIELD(sqr)(&z, &z);
        FIELD(mul)(&b, &b, &z);
        order = k;
    }
    *r = x;
    return true;
}

#ifdef FIELD_ASM
#undef FIELD_PASTE_
#undef FIELD_PASTE
#undef FIELD_OP
#endif
#undef FIELD_LIMBS62
#undef FIELD_MASK62
#undef FIELD
#undef FIELD_T
#undef FIELD_C
#undef FIELD_LIMBS
#undef FIELD_CONST
#undef FIELD_SUM
