/* Field elements in a circuit. */
#include "gadget/num.h"

num num_alloc(cs *c, const fr *value) {
    num r = {.var = 0};
    if (c->values) r.value = *value;
    r.var = cs_alloc(c, &r.value);
    return r;
}

void num_inputize(cs *c, const num *x) {
    cs_var input = cs_input(c, &x->value);
    if (c->structure) lc_enforce_product(c, input, CS_ONE, x->var);
}

void num_equal(cs *c, const num *a, const num *b) {
    if (c->structure) lc_enforce_product(c, a->var, CS_ONE, b->var);
}

num num_sum(cs *c, const num *a, const num *b) {
    fr v;
    if (c->values) fr_add(&v, &a->value, &b->value);
    num r = num_alloc(c, &v);
    if (!c->structure) return r;
    const lc_powers *p = lc_powers_get();
    short_lc x, y, z;
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&x, &p->plus[0], a->var);
    short_lc_add(&x, &p->plus[0], b->var);
    short_lc_add(&y, &p->plus[0], CS_ONE);
    short_lc_add(&z, &p->plus[0], r.var);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
    return r;
}

num num_pick(cs *c, boolean condition, const num *a, const num *b) {
    num r = num_alloc(c, condition.value ? &a->value : &b->value);
    if (!c->structure) return r;
    const lc_powers *p = lc_powers_get();
    short_lc x, y, z;
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&x, &p->plus[0], b->var);
    short_lc_add(&x, &p->minus[0], a->var);
    boolean_lc(&y, condition, false);
    short_lc_add(&z, &p->plus[0], b->var);
    short_lc_add(&z, &p->minus[0], r.var);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
    return r;
}

static void alloc_bits_of(cs *c, word out[8], const num *x) {
    fr_canon v = {{0}};
    if (c->values) fr_to_canon(&v, &x->value);
    for (unsigned i = 0; i < 4; i++) word_alloc_bits(c, out + 2 * i, i < 3 ? 64 : NUM_BITS - 192, v.l[i]);
}

static void sum_of_bits(cs *c, cs_lc *lc, const word bits[8]) {
    const lc_powers *p = lc_powers_get();
    for (unsigned i = 0; i < NUM_BITS; i++) boolean_lc_scaled(c, lc, &p->plus[i], word_bit(&bits[i / 32], i % 32));
}

void num_to_bits(cs *c, word out[8], const num *x) {
    alloc_bits_of(c, out, x);
    if (!c->structure) return;
    arena_mark mark = cs_save(c);
    cs_lc empty, sum;
    cs_lc_init(&empty);
    cs_lc_init(&sum);
    cs_lc_sub_one(c, &sum, x->var);
    sum_of_bits(c, &sum, out);
    cs_enforce(c, &empty, &empty, &sum);
    cs_release(c, mark);
}

void num_to_bits_packed(cs *c, word out[8], const num *x) {
    alloc_bits_of(c, out, x);
    if (!c->structure) return;
    arena_mark mark = cs_save(c);
    cs_lc one, sum, whole;
    cs_lc_init(&one);
    cs_lc_init(&sum);
    cs_lc_init(&whole);
    cs_lc_add_one(c, &one, CS_ONE);
    cs_lc_add_one(c, &whole, x->var);
    sum_of_bits(c, &sum, out);
    cs_enforce(c, &sum, &one, &whole);
    cs_release(c, mark);
}
