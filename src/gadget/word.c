/* Words of bits. See the header for the two speeds. */
#include "gadget/word.h"

#include <assert.h>

void word_set_const(word *out, uint32_t value) {
    out->value = value;
    out->constant = UINT32_MAX;
    out->negated = 0;
}

void word_copy(const cs *c, word *out, const word *a) {
    if (c->structure) {
        *out = *a;
        return;
    }
    out->value = a->value;
    out->constant = a->constant;
    out->negated = a->negated;
}

boolean word_bit(const word *w, unsigned i) {
    bool value = (w->value >> i & 1) != 0;
    if ((w->constant >> i & 1) != 0) return boolean_const(value);
    return (boolean){(w->negated >> i & 1) != 0 ? BOOLEAN_NOT : BOOLEAN_IS, value, w->var[i]};
}

void word_set_bit(word *w, unsigned i, boolean b) {
    uint32_t bit = (uint32_t)1 << i;
    w->value = (w->value & ~bit) | (b.value ? bit : 0);
    w->constant = (w->constant & ~bit) | (b.kind == BOOLEAN_CONST ? bit : 0);
    w->negated = (w->negated & ~bit) | (b.kind == BOOLEAN_NOT ? bit : 0);
    w->var[i] = b.var;
}

void word_alloc_bits(cs *c, word out[2], unsigned n, uint64_t values) {
    assert(n <= 64);
    uint64_t mask = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
    cs_var first = cs_alloc_bits(c, n, values & mask);
    for (unsigned i = 0; i < 2; i++) {
        out[i].value = (uint32_t)((values & mask) >> (32 * i));
        out[i].constant = (uint32_t)(~mask >> (32 * i));
        out[i].negated = 0;
    }
    if (!c->structure) return;
    for (unsigned i = 0; i < n; i++) {
        out[i / 32].var[i % 32] = first + i;
        boolean_enforce_bit(c, first + i);
    }
}

void word_alloc(cs *c, word *out, unsigned n, const uint32_t *values) {
    unsigned i = 0;
    for (; i + 2 <= n; i += 2)
        word_alloc_bits(c, out + i, 64, c->values ? values[i] | (uint64_t)values[i + 1] << 32 : 0);
    if (i < n) {
        word pair[2];
        word_alloc_bits(c, pair, 32, c->values ? values[i] : 0);
        word_copy(c, &out[i], &pair[0]);
    }
}

static inline uint32_t rotr(uint32_t v, unsigned n) {
    return n == 0 ? v : v >> n | v << (32 - n);
}

void word_rotr(const cs *c, word *out, const word *a, unsigned n) {
    out->value = rotr(a->value, n);
    out->constant = rotr(a->constant, n);
    out->negated = rotr(a->negated, n);
    if (!c->structure) return;
    for (unsigned i = 0; i < 32; i++) out->var[i] = a->var[(i + n) % 32];
}

void word_shr(const cs *c, word *out, const word *a, unsigned n) {
    out->value = a->value >> n;
    out->constant = a->constant >> n | ~(UINT32_MAX >> n);
    out->negated = a->negated >> n;
    if (!c->structure) return;
    for (unsigned i = 0; i + n < 32; i++) out->var[i] = a->var[i + n];
}

void word_swap_bytes(const cs *c, word *out, const word *a) {
    out->value = __builtin_bswap32(a->value);
    out->constant = __builtin_bswap32(a->constant);
    out->negated = __builtin_bswap32(a->negated);
    if (!c->structure) return;
    for (unsigned i = 0; i < 32; i++) out->var[i] = a->var[i ^ 24];
}

/* New variables for the bits of `mask`, lowest first; returns the first one. */
static inline cs_var alloc_masked(cs *c, uint32_t mask, uint32_t values) {
    if (mask == UINT32_MAX) return cs_alloc_bits(c, 32, values);
    if (mask == 0) return 0;
    if ((mask & (mask + 1)) == 0) return cs_alloc_bits(c, (unsigned)__builtin_popcount(mask), values & mask);
    uint32_t packed = 0;
    unsigned n = 0;
    for (uint32_t m = mask; m != 0; m &= m - 1) packed |= (values >> __builtin_ctz(m) & 1) << n++;
    return cs_alloc_bits(c, n, packed);
}

void word_xor(cs *c, word *out, const word *a, const word *b) {
    uint32_t fresh = ~(a->constant | b->constant), constant = a->constant & b->constant;
    /* A constant 1 negates the other operand, a negated variable the result: both are sign flips. */
    uint32_t sign_a = a->negated | (a->value & a->constant), sign_b = b->negated | (b->value & b->constant);
    uint32_t value = a->value ^ b->value, negated = (sign_a ^ sign_b) & ~constant;
    cs_var next = alloc_masked(c, fresh, value ^ negated);
    if (c->structure) {
        for (unsigned i = 0; i < 32; i++) {
            uint32_t bit = (uint32_t)1 << i;
            if ((fresh & bit) != 0) {
                /* The plain variable of a mixed pair comes first. */
                bool swap = (a->negated & bit) != 0 && (b->negated & bit) == 0;
                boolean_enforce_xor(c, swap ? b->var[i] : a->var[i], swap ? a->var[i] : b->var[i], next);
                out->var[i] = next++;
            } else if ((constant & bit) == 0) {
                out->var[i] = (a->constant & bit) != 0 ? b->var[i] : a->var[i];
            }
        }
    }
    out->value = value;
    out->constant = constant;
    out->negated = negated;
}

typedef boolean (*ternary)(cs *c, boolean a, boolean b, boolean x);

static void bitwise(cs *c, ternary f, word *out, const word *a, const word *b, const word *x) {
    word r = {.value = 0};
    for (unsigned i = 0; i < 32; i++) {
        word_set_bit(&r, i, f(c, word_bit(a, i), word_bit(b, i), word_bit(x, i)));
    }
    *out = r;
}

static void set_variables(word *out, uint32_t value) {
    out->value = value;
    out->constant = 0;
    out->negated = 0;
}

void word_ch(cs *c, word *out, const word *a, const word *b, const word *x) {
    if (c->structure || (a->constant | b->constant | x->constant) != 0) {
        bitwise(c, boolean_ch, out, a, b, x);
        return;
    }
    uint32_t value = x->value ^ (a->value & (b->value ^ x->value));
    cs_alloc_bits(c, 32, value);
    set_variables(out, value);
}

/* Bit i of v at bit 2 i. */
static inline uint64_t spread(uint32_t v) {
    uint64_t r = v;
    r = (r | r << 16) & 0x0000ffff0000ffffu;
    r = (r | r << 8) & 0x00ff00ff00ff00ffu;
    r = (r | r << 4) & 0x0f0f0f0f0f0f0f0fu;
    r = (r | r << 2) & 0x3333333333333333u;
    return (r | r << 1) & 0x5555555555555555u;
}

void word_maj(cs *c, word *out, const word *a, const word *b, const word *x) {
    if (c->structure || (a->constant | b->constant | x->constant) != 0) {
        bitwise(c, boolean_maj, out, a, b, x);
        return;
    }
    uint32_t both = b->value & x->value, value = (a->value & (b->value ^ x->value)) | both;
    cs_alloc_bits(c, 64, spread(value) | spread(both) << 1);
    set_variables(out, value);
}
