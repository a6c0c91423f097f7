/* Structure and values come from two generators, so that the values never change the structure; the structure's starts
 * anew with each block. Each constraint gets a new variable with coefficient 1 in C whose value satisfies it. */
#include "ref/random_circuit.h"

#include <stdlib.h>
#include <string.h>
#include "base/random.h"

typedef struct span {
    uint32_t aux, aux_end, input, input_end;
} span;

typedef struct run {
    cs *c;
    const random_circuit *p;
    chacha structure, values;
    fr *aux, *inputs; /* values so far */
    size_t cap_aux, cap_inputs;
    span prologue, own;
    bool in_block;
    unsigned n_params;
    cs_var params[CS_MAX_BLOCK_PARAMS]; /* of this block */
} run;

static chacha generator(uint64_t seed, uint64_t part) {
    chacha g;
    uint8_t key[32] = {0}, nonce[12] = {0};
    memcpy(key, &seed, 8);
    memcpy(key + 8, &part, 8);
    chacha_init(&g, 8, 32, key, nonce);
    return g;
}

static uint32_t below(chacha *g, uint32_t n) {
    return (uint32_t)(chacha_u64(g) % n);
}

static fr random_fr(chacha *g) {
    fr_canon c;
    fr r;
    do {
        chacha_bytes(g, &c, sizeof c);
        c.l[3] &= UINT64_MAX >> 1;
    } while (!fr_limbs_reduced(c.l));
    fr_from_canon(&r, &c);
    return r;
}

static void keep(fr **list, size_t *cap, size_t at, fr value) {
    if (at >= *cap) {
        *cap = at < 512 ? 1024 : at * 2;
        *list = realloc(*list, *cap * sizeof **list);
        if (*list == NULL) exit(2);
    }
    (*list)[at] = value;
}

static cs_var new_field(run *r, fr value) {
    cs_var v = cs_alloc(r->c, r->c->values ? &value : NULL);
    keep(&r->aux, &r->cap_aux, v, value);
    r->own.aux_end = v + 1;
    return v;
}

static void new_bits(run *r) {
    unsigned n = 1 + below(&r->structure, 64);
    uint64_t bits = chacha_u64(&r->values);
    cs_var first = cs_alloc_bits(r->c, n, r->c->values ? bits : 0);
    for (unsigned i = 0; i < n; i++) {
        fr b;
        fr_from_u64(&b, bits >> i & 1);
        keep(&r->aux, &r->cap_aux, first + i, b);
    }
    r->own.aux_end = first + n;
}

static void new_input(run *r) {
    fr value = random_fr(&r->values);
    cs_var v = cs_input(r->c, r->c->values ? &value : NULL);
    keep(&r->inputs, &r->cap_inputs, v & ~CS_INPUT, value);
    r->own.input_end = (v & ~CS_INPUT) + 1;
}

/* Every third variable of the prologue may be a parameter, and then blocks name it as nothing else. */
static bool may_be_param(const run *r, uint32_t v) {
    return r->p->params > 0 && v % 3 == 0;
}

static unsigned draw_params(run *r, uint32_t block) {
    chacha g = generator(r->p->seed, 5000 + block);
    uint32_t left = (r->prologue.aux_end + 2) / 3, n = 0, want = r->p->params < left ? r->p->params : left;
    for (uint32_t v = 0; n < want; v += 3, left--)
        if (below(&g, left) < want - n) r->params[n++] = v;
    return n;
}

static cs_var some_var(run *r) {
    if (r->in_block && r->n_params > 0 && below(&r->structure, 4) == 0)
        return r->params[below(&r->structure, r->n_params)];
    const span *s = below(&r->structure, 4) == 0 ? &r->prologue : &r->own;
    uint32_t kind = below(&r->structure, 8);
    if (kind == 0) return CS_ONE;
    if (kind == 1 && s->input_end > s->input)
        return CS_INPUT | (s->input + below(&r->structure, s->input_end - s->input));
    if (s->aux_end > s->aux) {
        cs_var v = s->aux + below(&r->structure, s->aux_end - s->aux);
        return r->in_block && s == &r->prologue && may_be_param(r, v) ? CS_ONE : v;
    }
    return CS_ONE;
}

static fr some_coeff(run *r) {
    fr k, two;
    uint32_t kind = r->p->many_coeffs ? 9 : below(&r->structure, 10);
    fr_set_one(&k);
    if (kind >= 8) return random_fr(&r->structure);
    if (kind >= 6) {
        fr_add(&two, &k, &k);
        for (uint32_t i = below(&r->structure, 254); i > 0; i--) fr_mul(&k, &k, &two);
    } else if (kind == 5) {
        fr_set_zero(&k);
    } else if (kind >= 3) {
        fr_neg(&k, &k);
    }
    return k;
}

static void some_lc(run *r, cs_lc *lc) {
    static const uint32_t lengths[] = {0, 1, 1, 1, 2, 2, 3, 4, 17, 60};
    uint32_t n = lengths[below(&r->structure, 10)], longest = r->p->longest == 0 ? 300 : r->p->longest;
    if (n == 60 && below(&r->structure, 4) == 0) n = longest;
    cs_lc_init(lc);
    for (uint32_t i = 0; i < n; i++) {
        fr k = some_coeff(r);
        cs_var v = some_var(r);
        cs_lc_add(r->c, lc, &k, v);
        if (below(&r->structure, 8) == 0) { /* comes to nothing */
            fr_neg(&k, &k);
            cs_lc_add(r->c, lc, &k, v);
        }
    }
}

static fr value_of(const run *r, const cs_lc *lc) {
    fr sum, t;
    fr_set_zero(&sum);
    for (uint32_t i = 0; i < lc->len; i++) {
        cs_var v = lc->terms[i].var;
        fr_mul(&t, &lc->terms[i].coeff, (v & CS_INPUT) != 0 ? &r->inputs[v & ~CS_INPUT] : &r->aux[v]);
        fr_add(&sum, &sum, &t);
    }
    return sum;
}

static void constraint(run *r, bool spoil) {
    arena_mark mark = cs_save(r->c);
    cs_lc a, b, lc_c;
    some_lc(r, &a);
    some_lc(r, &b);
    some_lc(r, &lc_c);
    fr va = value_of(r, &a), vb = value_of(r, &b), vc = value_of(r, &lc_c), one;
    fr_mul(&va, &va, &vb);
    fr_sub(&va, &va, &vc);
    fr_set_one(&one);
    if (spoil) fr_add(&va, &va, &one);
    cs_var v = new_field(r, va);
    cs_lc_add_one(r->c, &lc_c, v);
    if (r->c->structure) cs_enforce(r->c, &a, &b, &lc_c);
    cs_release(r->c, mark);
}

static void segment(run *r, uint64_t part, unsigned steps, bool spoil) {
    r->structure = generator(r->p->seed, part);
    r->own = (span){r->c->aux, r->c->aux, r->c->inputs, r->c->inputs};
    for (unsigned i = 0; i < steps; i++) {
        uint32_t what = below(&r->structure, 16);
        cs_push(r->c, "step", i);
        if (what < 4)
            new_bits(r);
        else if (what < 6)
            new_field(r, random_fr(&r->values));
        else if (what == 6)
            new_input(r);
        else
            constraint(r, false);
        cs_pop(r->c);
    }
    if (spoil) constraint(r, true);
}

void random_circuit_run(cs *c, const void *params, const void *instance) {
    run r = {.c = c, .p = params};
    uint64_t seed = instance == NULL ? 0 : *(const uint64_t *)instance;
    fr one;
    fr_set_one(&one);
    r.values = generator(seed, 1000);
    keep(&r.inputs, &r.cap_inputs, 0, one);
    segment(&r, 0, r.p->prologue, r.p->spoil && r.p->count == 0);
    r.prologue = (span){0, c->aux, 0, c->inputs};
    for (uint32_t i = 0; i < r.p->count; i++) {
        r.n_params = draw_params(&r, i);
        if (r.n_params == 0 ? cs_block_begin(c, i, r.p->count)
                            : cs_block_begin_with(c, i, r.p->count, r.params, r.n_params)) {
            cs_push(c, "block", i);
            r.in_block = true;
            segment(&r, 1, r.p->block, false);
            r.in_block = false;
            cs_pop(c);
        }
        cs_block_end(c);
    }
    if (r.p->count > 0) segment(&r, 2, r.p->epilogue, r.p->spoil);
    free(r.aux);
    free(r.inputs);
}
