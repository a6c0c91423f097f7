/* Sums of words. See the header. */
#include "gadget/multi_eq.h"

#include <assert.h>

/* At most 7 sums of at least 33 bits fit before the flush. */
#define MAX_SUMS 7
#define CAPACITY 254

void multi_eq_begin(multi_eq *m, cs *c) {
    m->c = c;
    m->used = 0;
    if (!c->structure) return;
    m->mark = cs_save(c);
    cs_lc_init(&m->lhs);
    cs_lc_init(&m->rhs);
    fr_set_zero(&m->lhs_one);
    /* Taken at full size at once: growing in the middle would leave holes in the arena. */
    m->lhs.terms = arena_alloc_array(c->scratch, MAX_SUMS * MULTI_EQ_OPERANDS * 32 + 1, sizeof(cs_term));
    m->rhs.terms = arena_alloc_array(c->scratch, 256, sizeof(cs_term));
    m->lhs.cap = m->lhs.terms != NULL ? MAX_SUMS * MULTI_EQ_OPERANDS * 32 + 1 : 0;
    m->rhs.cap = m->rhs.terms != NULL ? 256 : 0;
}

static void flush(multi_eq *m) {
    if (m->used == 0) return;
    m->used = 0;
    if (!m->c->structure) return;
    short_lc one;
    short_lc_init(&one);
    short_lc_add(&one, &lc_powers_get()->plus[0], CS_ONE);
    if (!fr_is_zero(&m->lhs_one)) cs_lc_add(m->c, &m->lhs, &m->lhs_one, CS_ONE);
    cs_enforce(m->c, &m->lhs, short_lc_get(&one), &m->rhs);
    m->lhs.len = m->rhs.len = 0;
    fr_set_zero(&m->lhs_one);
}

void multi_eq_end(multi_eq *m) {
    flush(m);
    if (m->c->structure) cs_release(m->c, m->mark);
}

static void add_operand(multi_eq *m, const word *w) {
    const lc_powers *p = lc_powers_get();
    for (unsigned i = 0; i < 32; i++) {
        boolean b = word_bit(w, i);
        if (b.kind == BOOLEAN_CONST) {
            if (b.value) fr_add(&m->lhs_one, &m->lhs_one, &p->plus[m->used + i]);
            continue;
        }
        if (b.kind == BOOLEAN_NOT) fr_add(&m->lhs_one, &m->lhs_one, &p->plus[m->used + i]);
        cs_lc_add(m->c, &m->lhs, b.kind == BOOLEAN_NOT ? &p->minus[m->used + i] : &p->plus[m->used + i], b.var);
    }
}

void multi_eq_add(multi_eq *m, word *out, const word *const *operands, unsigned n) {
    assert(n >= 2 && n <= MULTI_EQ_OPERANDS);
    cs *c = m->c;
    uint64_t sum = 0;
    uint32_t constant = UINT32_MAX;
    for (unsigned i = 0; i < n; i++) {
        sum += operands[i]->value;
        constant &= operands[i]->constant;
    }
    if (constant == UINT32_MAX) {
        word_set_const(out, (uint32_t)sum);
        return;
    }
    const unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)n * UINT32_MAX);
    cs_var first = cs_alloc_bits(c, bits, sum);
    if (c->structure) {
        for (unsigned i = 0; i < bits; i++) boolean_enforce_bit(c, first + i);
    }
    if (m->used + bits >= CAPACITY) flush(m);
    if (c->structure) {
        for (unsigned i = 0; i < n; i++) add_operand(m, operands[i]);
        for (unsigned i = 0; i < bits; i++) {
            cs_lc_add(c, &m->rhs, &lc_powers_get()->plus[m->used + i], first + i);
        }
        for (unsigned i = 0; i < 32; i++) out->var[i] = first + i;
    }
    m->used += bits;
    out->value = (uint32_t)sum;
    out->constant = 0;
    out->negated = 0;
}
