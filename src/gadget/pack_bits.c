/* A few bits as a number in a circuit. */
#include "gadget/pack_bits.h"

#include <assert.h>

static void enforce_sum(cs *c, const boolean *bits, unsigned n, cs_var whole) {
    const lc_powers *p = lc_powers_get();
    arena_mark mark = cs_save(c);
    cs_lc sum, one, is;
    cs_lc_init(&sum);
    cs_lc_init(&one);
    cs_lc_init(&is);
    for (unsigned i = 0; i < n; i++) boolean_lc_scaled(c, &sum, &p->plus[i], bits[i]);
    cs_lc_add_one(c, &one, CS_ONE);
    cs_lc_add_one(c, &is, whole);
    cs_enforce(c, &sum, &one, &is);
    cs_release(c, mark);
}

num pack_bits(cs *c, const boolean *bits, unsigned n) {
    fr value;
    uint64_t sum = 0;
    assert(n <= PACK_BITS_MOST);
    for (unsigned i = 0; c->values && i < n; i++) sum |= (uint64_t)bits[i].value << i;
    fr_from_u64(&value, sum);
    num r = num_alloc(c, &value);
    if (c->structure) enforce_sum(c, bits, n, r.var);
    return r;
}

void unpack_bits(cs *c, boolean *bits, unsigned n, uint64_t value, const num *x) {
    assert(n <= PACK_BITS_MOST);
    for (unsigned i = 0; i < n; i++) bits[i] = boolean_alloc(c, (value >> i & 1) != 0);
    if (c->structure) enforce_sum(c, bits, n, x->var);
}
