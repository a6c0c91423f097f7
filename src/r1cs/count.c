/* Two interpreters that look at structure and keep nothing of it: the counter, and the locator of a constraint's path.
 */
#include <stdlib.h>
#include <string.h>
#include "r1cs/interpreter.h"

/* A growing set of variable numbers. */
typedef struct bitset {
    uint64_t *words;
    uint64_t cap_bits, count;
} bitset;

static bool bitset_add(bitset *b, uint64_t i) {
    if (i >= b->cap_bits) {
        uint64_t cap = b->cap_bits < 65536 ? 65536 : b->cap_bits * 2;
        while (cap <= i) cap *= 2;
        uint64_t *words = realloc(b->words, cap / 8);
        if (words == NULL) return false;
        memset(words + b->cap_bits / 64, 0, (cap - b->cap_bits) / 8);
        b->words = words;
        b->cap_bits = cap;
    }
    uint64_t bit = 1ull << (i & 63), *w = &b->words[i >> 6];
    b->count += (*w & bit) == 0;
    *w |= bit;
    return true;
}

typedef struct counter {
    cs base;
    lc_sorter sorter;
    uint64_t nnz[3];
    bitset a_aux, b_input, b_aux;
} counter;

static void counter_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    counter *k = (counter *)c;
    const cs_lc *lcs[3] = {a, b, lc_c};
    c->constraints++;
    if (c->status != CUZK_OK) return;
    for (int m = 0; m < 3; m++) {
        lc_normal n = lc_sorter_run(&k->sorter, c, lcs[m]);
        k->nnz[m] += n.len;
        for (uint32_t i = 0; i < n.len && m < 2; i++) {
            cs_var v = n.terms[i].var;
            bool input = (v & CS_INPUT) != 0;
            if (input && m == 0) continue;
            bitset *set = m == 0 ? &k->a_aux : input ? &k->b_input : &k->b_aux;
            if (!bitset_add(set, v & ~CS_INPUT)) cs_fault(c, CUZK_MEMORY, "no memory for counting");
        }
    }
}

cuzk_status cs_count(cs_counts *out, cs_circuit f, const void *params, cuzk_error *err) {
    static const cs_ops ops = {interpreter_alloc, interpreter_alloc_bits,  interpreter_input,
                               counter_enforce,   interpreter_block_begin, interpreter_block_end};
    counter k = {0};
    cuzk_status s = interpreter_start(&k.base, &ops, false, true, err);
    if (s != CUZK_OK) return s;
    f(&k.base, params, NULL);
    s = interpreter_end(&k.base);
    if (s == CUZK_OK)
        *out = (cs_counts){.inputs = k.base.inputs,
                           .aux = k.base.aux,
                           .constraints = k.base.constraints,
                           .nnz = {k.nnz[0], k.nnz[1], k.nnz[2]},
                           .a_aux_density = k.a_aux.count,
                           .b_input_density = k.b_input.count,
                           .b_aux_density = k.b_aux.count};
    lc_sorter_free(&k.sorter);
    free(k.a_aux.words);
    free(k.b_input.words);
    free(k.b_aux.words);
    return s;
}

typedef struct locator {
    cs base;
    uint64_t wanted;
    bool found;
    char *out;
    size_t n;
} locator;

static void locator_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    locator *l = (locator *)c;
    (void)a;
    (void)b;
    (void)lc_c;
    if (c->constraints++ != l->wanted) return;
    l->found = true;
    cs_path_text(c, l->out, l->n);
    c->structure = false; /* the rest of the run only has to come to its end */
}

cuzk_status cs_locate(char *out, size_t n, uint64_t index, cs_circuit f, const void *params, cuzk_error *err) {
    static const cs_ops ops = {interpreter_alloc, interpreter_alloc_bits,  interpreter_input,
                               locator_enforce,   interpreter_block_begin, interpreter_block_end};
    locator l = {.wanted = index, .out = out, .n = n};
    cuzk_status s = interpreter_start(&l.base, &ops, false, true, err);
    if (s != CUZK_OK) return s;
    f(&l.base, params, NULL);
    uint64_t constraints = l.base.constraints;
    s = interpreter_end(&l.base);
    if (s == CUZK_OK && !l.found) {
        cuzk_fail(err, CUZK_INTERNAL, "there is no constraint %llu", (unsigned long long)index);
        s = cuzk_fail_expected(err, "below %llu", (unsigned long long)constraints);
    }
    return s;
}
