#include "ref/plain_cs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *more(void *p, uint64_t *cap, uint64_t need, size_t size) {
    if (need <= *cap) return p;
    uint64_t to = *cap == 0 ? 64 : *cap * 2;
    if (to < need) to = need;
    p = realloc(p, to * size);
    if (p == NULL) exit(2);
    memset((char *)p + *cap * size, 0, (to - *cap) * size);
    *cap = to;
    return p;
}

static cs_var put_aux(cs *c, const fr *value, bool field) {
    plain_cs *p = (plain_cs *)c;
    uint64_t cap = p->cap_aux;
    p->field = more(p->field, &cap, c->aux + 1, sizeof *p->field);
    p->aux = more(p->aux, &p->cap_aux, c->aux + 1, sizeof *p->aux);
    p->field[c->aux] = field;
    if (value != NULL) p->aux[c->aux] = *value;
    return c->aux++;
}

static cs_var plain_alloc(cs *c, const fr *value) {
    return put_aux(c, c->values ? value : NULL, true);
}

static cs_var plain_alloc_bits(cs *c, unsigned n, uint64_t values) {
    cs_var first = c->aux;
    for (unsigned i = 0; i < n; i++) {
        fr bit;
        fr_from_u64(&bit, c->values ? values >> i & 1 : 0);
        put_aux(c, &bit, false);
    }
    return first;
}

static cs_var plain_input(cs *c, const fr *value) {
    plain_cs *p = (plain_cs *)c;
    p->inputs = more(p->inputs, &p->cap_inputs, c->inputs + 1, sizeof *p->inputs);
    if (c->values) p->inputs[c->inputs] = *value;
    return CS_INPUT | c->inputs++;
}

static void plain_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    plain_cs *p = (plain_cs *)c;
    const cs_lc *from[3] = {a, b, lc_c};
    p->rows = more(p->rows, &p->cap_rows, c->constraints + 1, sizeof *p->rows);
    for (int m = 0; m < 3; m++) {
        cs_lc *to = &p->rows[c->constraints].lc[m];
        *to = *from[m];
        to->terms = arena_alloc_array(p->memory, to->len + 1, sizeof *to->terms);
        if (to->terms == NULL) exit(2);
        if (to->len > 0) memcpy(to->terms, from[m]->terms, to->len * sizeof *to->terms);
    }
    c->constraints++;
}

static bool plain_block_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    (void)c;
    (void)params;
    (void)n_params;
    return index < count;
}

static void plain_block_end(cs *c) {
    (void)c;
}

plain_cs *plain_make(cs_circuit f, const void *params, const void *instance) {
    static const cs_ops ops = {plain_alloc,   plain_alloc_bits,  plain_input,
                               plain_enforce, plain_block_begin, plain_block_end};
    cuzk_error err;
    plain_cs *p = calloc(1, sizeof *p);
    if (p == NULL) exit(2);
    p->memory = arena_create(BUFFER_OTHER, 0, &err);
    p->base = (cs){.ops = &ops, .values = instance != NULL, .structure = true, .err = &err, .inputs = 1};
    p->base.scratch = arena_create(BUFFER_OTHER, 0, &err);
    p->inputs = more(NULL, &p->cap_inputs, 1, sizeof *p->inputs);
    fr_set_one(&p->inputs[0]);
    f(&p->base, params, instance);
    if (p->base.status != CUZK_OK) {
        fprintf(stderr, "plain_make: %s\n", err.what);
        exit(2);
    }
    p->n_rows = p->base.constraints;
    p->n_inputs = p->base.inputs;
    p->n_aux = p->base.aux;
    return p;
}

void plain_free(plain_cs *p) {
    arena_destroy(p->memory);
    arena_destroy(p->base.scratch);
    free(p->rows);
    free(p->inputs);
    free(p->aux);
    free(p->field);
    free(p);
}

fr plain_eval(const plain_cs *p, int m, uint64_t r) {
    fr sum, t;
    fr_set_zero(&sum);
    if (r >= p->n_rows) return m == 0 && r - p->n_rows < p->n_inputs ? p->inputs[r - p->n_rows] : sum;
    const cs_lc *lc = &p->rows[r].lc[m];
    for (uint32_t i = 0; i < lc->len; i++) {
        cs_var v = lc->terms[i].var;
        fr_mul(&t, &lc->terms[i].coeff, (v & CS_INPUT) != 0 ? &p->inputs[v & ~CS_INPUT] : &p->aux[v]);
        fr_add(&sum, &sum, &t);
    }
    return sum;
}

fr plain_coeff(const plain_cs *p, int m, uint64_t r, cs_var v) {
    fr sum;
    const cs_lc *lc = &p->rows[r].lc[m];
    fr_set_zero(&sum);
    for (uint32_t i = 0; i < lc->len; i++)
        if (lc->terms[i].var == v) fr_add(&sum, &sum, &lc->terms[i].coeff);
    return sum;
}
