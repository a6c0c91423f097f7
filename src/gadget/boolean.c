/* Bits and their constraints. Source: docs/circuits/gadgets.md. */
#include "gadget/boolean.h"

void boolean_lc(short_lc *lc, boolean a, bool minus) {
    const lc_powers *p = lc_powers_get();
    const fr *plus_one = minus ? &p->minus[0] : &p->plus[0], *minus_one = minus ? &p->plus[0] : &p->minus[0];
    switch (a.kind) {
    case BOOLEAN_CONST:
        if (a.value) short_lc_add(lc, plus_one, CS_ONE);
        break;
    case BOOLEAN_IS: short_lc_add(lc, plus_one, a.var); break;
    case BOOLEAN_NOT:
        short_lc_add(lc, plus_one, CS_ONE);
        short_lc_add(lc, minus_one, a.var);
        break;
    }
}

void boolean_lc_scaled(cs *c, cs_lc *lc, const fr *coeff, boolean a) {
    fr minus;
    switch (a.kind) {
    case BOOLEAN_CONST:
        if (a.value) cs_lc_add(c, lc, coeff, CS_ONE);
        break;
    case BOOLEAN_IS: cs_lc_add(c, lc, coeff, a.var); break;
    case BOOLEAN_NOT:
        fr_neg(&minus, coeff);
        cs_lc_add(c, lc, coeff, CS_ONE);
        cs_lc_add(c, lc, &minus, a.var);
        break;
    }
}

void boolean_enforce_bit(cs *c, cs_var a) {
    const lc_powers *p = lc_powers_get();
    short_lc x, y, z;
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&x, &p->plus[0], CS_ONE);
    short_lc_add(&x, &p->minus[0], a);
    short_lc_add(&y, &p->plus[0], a);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
}

boolean boolean_alloc(cs *c, bool value) {
    boolean r = boolean_is(cs_alloc_bit(c, value), value);
    if (c->structure) boolean_enforce_bit(c, r.var);
    return r;
}

void boolean_enforce_xor(cs *c, cs_var a, cs_var b, cs_var result) {
    const lc_powers *p = lc_powers_get();
    short_lc x, y, z;
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&x, &p->plus[1], a);
    short_lc_add(&y, &p->plus[0], b);
    short_lc_add(&z, &p->plus[0], a);
    short_lc_add(&z, &p->plus[0], b);
    short_lc_add(&z, &p->minus[0], result);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
}

boolean boolean_xor(cs *c, boolean a, boolean b) {
    if (boolean_is_const(a, false)) return b;
    if (boolean_is_const(b, false)) return a;
    if (boolean_is_const(a, true)) return boolean_not(b);
    if (boolean_is_const(b, true)) return boolean_not(a);
    bool mixed = a.kind != b.kind;
    /* The constraint is over the variables themselves; of a mixed pair the plain one comes first. */
    bool swap = mixed && a.kind == BOOLEAN_NOT;
    cs_var first = swap ? b.var : a.var, second = swap ? a.var : b.var;
    bool value = a.value ^ b.value ^ mixed;
    boolean r = boolean_is(cs_alloc_bit(c, value), value);
    if (c->structure) boolean_enforce_xor(c, first, second, r.var);
    return mixed ? boolean_not(r) : r;
}

boolean boolean_and(cs *c, boolean a, boolean b) {
    if (boolean_is_const(a, false) || boolean_is_const(b, false)) return boolean_const(false);
    if (boolean_is_const(a, true)) return b;
    if (boolean_is_const(b, true)) return a;
    if (a.kind == BOOLEAN_NOT && b.kind == BOOLEAN_IS) { /* and_not: the plain one comes first */
        boolean t = a;
        a = b;
        b = t;
    }
    bool value = a.value && b.value;
    boolean r = boolean_is(cs_alloc_bit(c, value), value);
    if (c->structure) {
        short_lc x, y, z;
        short_lc_init(&x);
        short_lc_init(&y);
        short_lc_init(&z);
        boolean_lc(&x, a, false);
        boolean_lc(&y, b, false);
        boolean_lc(&z, r, false);
        cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
    }
    return r;
}

boolean boolean_ch(cs *c, boolean a, boolean b, boolean x) {
    if (a.kind == BOOLEAN_CONST && b.kind == BOOLEAN_CONST && x.kind == BOOLEAN_CONST)
        return boolean_const(a.value ? b.value : x.value);
    if (boolean_is_const(a, false)) return x;
    if (boolean_is_const(b, false)) return boolean_and(c, boolean_not(a), x);
    if (boolean_is_const(x, false)) return boolean_and(c, a, b);
    if (boolean_is_const(x, true)) return boolean_not(boolean_and(c, a, boolean_not(b)));
    if (boolean_is_const(b, true)) return boolean_not(boolean_and(c, boolean_not(a), boolean_not(x)));
    bool value = a.value ? b.value : x.value;
    boolean r = boolean_is(cs_alloc_bit(c, value), value);
    if (c->structure) {
        short_lc l, m, n;
        short_lc_init(&l);
        short_lc_init(&m);
        short_lc_init(&n);
        boolean_lc(&l, b, false);
        boolean_lc(&l, x, true);
        boolean_lc(&m, a, false);
        boolean_lc(&n, r, false);
        boolean_lc(&n, x, true);
        cs_enforce(c, short_lc_get(&l), short_lc_get(&m), short_lc_get(&n));
    }
    return r;
}

boolean boolean_maj(cs *c, boolean a, boolean b, boolean x) {
    if (a.kind == BOOLEAN_CONST && b.kind == BOOLEAN_CONST && x.kind == BOOLEAN_CONST)
        return boolean_const((a.value && b.value) || (a.value && x.value) || (b.value && x.value));
    if (boolean_is_const(a, false)) return boolean_and(c, b, x);
    if (boolean_is_const(b, false)) return boolean_and(c, a, x);
    if (boolean_is_const(x, false)) return boolean_and(c, a, b);
    if (boolean_is_const(x, true)) return boolean_not(boolean_and(c, boolean_not(a), boolean_not(b)));
    if (boolean_is_const(b, true)) return boolean_not(boolean_and(c, boolean_not(a), boolean_not(x)));
    if (boolean_is_const(a, true)) return boolean_not(boolean_and(c, boolean_not(b), boolean_not(x)));
    bool value = (a.value && b.value) || (a.value && x.value) || (b.value && x.value);
    boolean r = boolean_is(cs_alloc_bit(c, value), value);
    boolean bx = boolean_and(c, b, x);
    if (c->structure) {
        const lc_powers *p = lc_powers_get();
        short_lc l, m, n;
        short_lc_init(&l);
        short_lc_init(&m);
        short_lc_init(&n);
        short_lc_add(&l, &p->plus[1], bx.var);
        boolean_lc(&l, b, true);
        boolean_lc(&l, x, true);
        boolean_lc(&m, a, false);
        boolean_lc(&n, bx, false);
        boolean_lc(&n, r, true);
        cs_enforce(c, short_lc_get(&l), short_lc_get(&m), short_lc_get(&n));
    }
    return r;
}
