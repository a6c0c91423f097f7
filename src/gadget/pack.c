/* Bits into field elements. */
#include "gadget/pack.h"

static void enforce_packed(cs *c, const cs_lc *sum, cs_var whole) {
    const fr *one = &lc_powers_get()->plus[0];
    short_lc y, z;
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&y, one, CS_ONE);
    short_lc_add(&z, one, whole);
    cs_enforce(c, sum, short_lc_get(&y), short_lc_get(&z));
}

void pack_into_inputs(cs *c, const boolean *bits, unsigned n) {
    const lc_powers *p = lc_powers_get();
    for (unsigned from = 0; from < n; from += PACK_CAPACITY) {
        unsigned len = n - from < PACK_CAPACITY ? n - from : PACK_CAPACITY;
        fr_canon limbs = {{0}};
        fr value;
        for (unsigned i = 0; i < len; i++) limbs.l[i / 64] |= (uint64_t)bits[from + i].value << (i % 64);
        fr_from_canon(&value, &limbs);
        cs_var input = cs_input(c, &value);
        if (!c->structure) continue;
        arena_mark mark = cs_save(c);
        cs_lc sum;
        cs_lc_init(&sum);
        for (unsigned i = 0; i < len; i++) boolean_lc_scaled(c, &sum, &p->plus[i], bits[from + i]);
        enforce_packed(c, &sum, input);
        cs_release(c, mark);
    }
}

num pack_words(cs *c, const word bits[8]) {
    const lc_powers *p = lc_powers_get();
    fr_canon limbs;
    fr value;
    for (unsigned i = 0; i < 4; i++) limbs.l[i] = bits[2 * i].value | (uint64_t)bits[2 * i + 1].value << 32;
    limbs.l[3] &= UINT64_MAX >> (256 - PACK_CAPACITY);
    fr_from_canon(&value, &limbs);
    num r = num_alloc(c, &value);
    if (!c->structure) return r;
    arena_mark mark = cs_save(c);
    cs_lc sum;
    cs_lc_init(&sum);
    for (unsigned i = 0; i < PACK_CAPACITY; i++)
        boolean_lc_scaled(c, &sum, &p->plus[i], word_bit(&bits[i / 32], i % 32));
    enforce_packed(c, &sum, r.var);
    cs_release(c, mark);
    return r;
}
