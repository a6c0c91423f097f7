/* The checker: runs a circuit with values and checks every constraint at once. A slow, obvious twin of shape and
 * witness for tests: it keeps each value as a field element and uses each combination as the circuit gave it, neither
 * sorted nor merged. */
#include <stdlib.h>
#include <string.h>
#include "r1cs/interpreter.h"

typedef struct checker {
    cs base;
    fr *inputs, *aux;
    size_t cap_inputs, cap_aux;
    uint64_t first_bad;
    char path[sizeof((cs_checked *)0)->path];
} checker;

static bool grow(cs *c, fr **values, size_t *cap, size_t need) {
    if (need <= *cap) return true;
    size_t to = *cap < 1024 ? 1024 : *cap * 2;
    if (to < need) to = need;
    fr *grown = realloc(*values, to * sizeof **values);
    if (grown == NULL) {
        cs_fault(c, CUZK_MEMORY, "no memory for the checker's values");
        return false;
    }
    memset(grown + *cap, 0, (to - *cap) * sizeof *grown);
    *values = grown;
    *cap = to;
    return true;
}

static cs_var checker_alloc(cs *c, const fr *value) {
    checker *k = (checker *)c;
    cs_var v = interpreter_next_aux(c, 1);
    if (grow(c, &k->aux, &k->cap_aux, c->aux)) k->aux[v] = *value;
    return v;
}

static cs_var checker_alloc_bits(cs *c, unsigned n, uint64_t values) {
    checker *k = (checker *)c;
    cs_var v = interpreter_next_aux(c, n);
    if (!grow(c, &k->aux, &k->cap_aux, c->aux)) return v;
    for (unsigned i = 0; i < n; i++) {
        if ((values >> i & 1) != 0)
            fr_set_one(&k->aux[v + i]);
        else
            fr_set_zero(&k->aux[v + i]);
    }
    return v;
}

static cs_var checker_input(cs *c, const fr *value) {
    checker *k = (checker *)c;
    cs_var v = interpreter_next_input(c);
    if (grow(c, &k->inputs, &k->cap_inputs, c->inputs)) k->inputs[v & ~CS_INPUT] = *value;
    return v;
}

static void evaluate(const checker *k, const cs_lc *lc, fr *out) {
    fr_set_zero(out);
    for (uint32_t i = 0; i < lc->len; i++) {
        cs_var v = lc->terms[i].var;
        fr t;
        fr_mul(&t, &lc->terms[i].coeff, (v & CS_INPUT) != 0 ? &k->inputs[v & ~CS_INPUT] : &k->aux[v]);
        fr_add(out, out, &t);
    }
}

static void checker_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    checker *k = (checker *)c;
    uint64_t index = c->constraints++;
    if (c->status != CUZK_OK || k->first_bad != UINT64_MAX) return;
    fr va, vb, vc;
    evaluate(k, a, &va);
    evaluate(k, b, &vb);
    evaluate(k, lc_c, &vc);
    fr_mul(&va, &va, &vb);
    if (fr_eq(&va, &vc)) return;
    k->first_bad = index;
    cs_path_text(c, k->path, sizeof k->path);
}

cuzk_status cs_check(cs_checked *out, cs_circuit f, const void *params, const void *instance, cuzk_error *err) {
    static const cs_ops ops = {checker_alloc,   checker_alloc_bits,      checker_input,
                               checker_enforce, interpreter_block_begin, interpreter_block_end};
    checker k = {.first_bad = UINT64_MAX};
    cuzk_status s = interpreter_start(&k.base, &ops, true, true, err);
    if (s != CUZK_OK) return s;
    /* An aux array even for a circuit without aux variables: callers get two pointers to free. */
    if (grow(&k.base, &k.inputs, &k.cap_inputs, 1) && grow(&k.base, &k.aux, &k.cap_aux, 1)) {
        fr_set_one(&k.inputs[0]);
        f(&k.base, params, instance);
    }
    *out = (cs_checked){.inputs = k.inputs,
                        .aux = k.aux,
                        .n_inputs = k.base.inputs,
                        .n_aux = k.base.aux,
                        .constraints = k.base.constraints,
                        .first_bad = k.first_bad};
    memcpy(out->path, k.path, sizeof out->path);
    s = interpreter_end(&k.base);
    if (s != CUZK_OK) {
        free(out->inputs);
        free(out->aux);
        *out = (cs_checked){.first_bad = UINT64_MAX};
    }
    return s;
}
