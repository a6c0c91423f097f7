/* What the interpreters share.
 *
 * The sorter brings combinations of any length into normal form without touching them (gadgets use a combination
 * again). Most have one to three terms in order already and are passed through. Longer ones are sorted by keys
 * (variable, position): insertion sort when short; else by least significant byte first, passing over bytes that all
 * keys share. A combination of a SHA-256 addition has about a thousand terms, many of them ONE (from negated bits), so
 * ONE is summed apart and the remaining variables lie close together: two or three passes.
 */
#include "r1cs/interpreter.h"

#include <string.h>

cuzk_status interpreter_start(cs *c, const cs_ops *ops, bool values, bool structure, cuzk_error *err) {
    *c = (cs){.ops = ops, .values = values, .structure = structure, .status = CUZK_OK, .err = err, .inputs = 1};
    c->scratch = arena_create(BUFFER_OTHER, 0, err);
    return c->scratch != NULL ? CUZK_OK : err->status;
}

cuzk_status interpreter_end(cs *c) {
    arena_destroy(c->scratch);
    c->scratch = NULL;
    return c->status;
}

cs_var interpreter_next_aux(cs *c, unsigned n) {
    if (n > CS_MAX_AUX - c->aux) {
        cs_fault(c, CUZK_INTERNAL, "the circuit has too many variables");
        return 0;
    }
    cs_var first = c->aux;
    c->aux += n;
    return first;
}

cs_var interpreter_next_input(cs *c) {
    if (c->inputs == CS_MAX_AUX) {
        cs_fault(c, CUZK_INTERNAL, "the circuit has too many public inputs");
        return CS_ONE;
    }
    return CS_INPUT | c->inputs++;
}

cs_var interpreter_alloc(cs *c, const fr *value) {
    (void)value;
    return interpreter_next_aux(c, 1);
}

cs_var interpreter_alloc_bits(cs *c, unsigned n, uint64_t values) {
    (void)values;
    return interpreter_next_aux(c, n);
}

cs_var interpreter_input(cs *c, const fr *value) {
    (void)value;
    return interpreter_next_input(c);
}

bool interpreter_block_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    (void)c;
    (void)index;
    (void)count;
    (void)params;
    (void)n_params;
    return true;
}

void interpreter_block_end(cs *c) {
    (void)c;
}

/* ---- normal form ---- */

static bool sorter_reserve(lc_sorter *s, cs *c, uint32_t n) {
    if (n <= s->cap) return true;
    uint32_t cap = n < 4096 ? 4096 : n;
    buffer memory;
    cuzk_error err;
    /* The result may keep one more term than there are keys: ONE. */
    if (buffer_alloc_array(&memory, BUFFER_OTHER, (size_t)cap + 1, 2 * sizeof(uint64_t) + sizeof(cs_term), &err) !=
        CUZK_OK) {
        cs_fault(c, err.status, err.what);
        return false;
    }
    buffer_free(&s->memory);
    s->memory = memory;
    s->terms = memory.data;
    s->keys = (uint64_t *)(s->terms + cap + 1);
    s->spare = s->keys + cap;
    s->cap = cap;
    return true;
}

void lc_sorter_free(lc_sorter *s) {
    buffer_free(&s->memory);
    *s = (lc_sorter){0};
}

static void insertion_sort_keys(uint64_t *k, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        uint64_t moving = k[i];
        uint32_t j = i;
        for (; j > 0 && k[j - 1] > moving; j--) k[j] = k[j - 1];
        k[j] = moving;
    }
}

/* Returns where the sorted keys are: keys or spare. The low halves are positions, which already ascend. */
static uint64_t *radix_sort_keys(uint64_t *keys, uint64_t *spare, uint32_t n) {
    uint64_t all = UINT64_MAX, any = 0;
    for (uint32_t i = 0; i < n; i++) {
        all &= keys[i];
        any |= keys[i];
    }
    for (unsigned shift = 32; shift < 64; shift += 8) {
        if (((all ^ any) >> shift & 0xff) == 0) continue;
        uint32_t start[256] = {0}, sum = 0;
        for (uint32_t i = 0; i < n; i++) start[keys[i] >> shift & 0xff]++;
        for (unsigned b = 0; b < 256; b++) {
            uint32_t count = start[b];
            start[b] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++) spare[start[keys[i] >> shift & 0xff]++] = keys[i];
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

static lc_normal sort_and_merge(lc_sorter *s, cs *c, const cs_lc *lc) {
    lc_normal none = {NULL, 0};
    if (!sorter_reserve(s, c, lc->len)) return none;
    uint32_t n = 0, kept = 0;
    fr one_sum;
    fr_set_zero(&one_sum);
    for (uint32_t i = 0; i < lc->len; i++) {
        if (lc->terms[i].var == CS_ONE)
            fr_add(&one_sum, &one_sum, &lc->terms[i].coeff);
        else
            s->keys[n++] = (uint64_t)(lc->terms[i].var ^ CS_INPUT) << 32 | i;
    }
    const uint64_t *keys = s->keys;
    if (n <= 48)
        insertion_sort_keys(s->keys, n);
    else
        keys = radix_sort_keys(s->keys, s->spare, n);
    if (!fr_is_zero(&one_sum)) s->terms[kept++] = (cs_term){.coeff = one_sum, .var = CS_ONE};
    for (uint32_t i = 0; i < n;) {
        cs_term *to = &s->terms[kept];
        *to = lc->terms[(uint32_t)keys[i++]];
        while (i < n && (uint32_t)(keys[i] >> 32) == (to->var ^ CS_INPUT))
            fr_add(&to->coeff, &to->coeff, &lc->terms[(uint32_t)keys[i++]].coeff);
        if (!fr_is_zero(&to->coeff)) kept++;
    }
    return (lc_normal){s->terms, kept};
}

lc_normal lc_sorter_run(lc_sorter *s, cs *c, const cs_lc *lc) {
    const cs_term *t = lc->terms;
    for (uint32_t i = 0; i < lc->len; i++) {
        if (fr_is_zero(&t[i].coeff)) return sort_and_merge(s, c, lc);
        if (i > 0 && (t[i - 1].var ^ CS_INPUT) >= (t[i].var ^ CS_INPUT)) return sort_and_merge(s, c, lc);
    }
    return (lc_normal){t, lc->len};
}
