#include "ref/tiny_circuit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"

#define LIMIT ((size_t)4 << 20)

const char *const tiny_names[] = {"one-mul",         "cube",          "mimc-322",   "no-public-inputs", "unused-in-b",
                                  "boundary-1024",   "boundary-1025", "boundary-2", "boundary-1",       "boundary-4",
                                  "duplicate-terms", "many-inputs",   "bits-heavy", "zero-witness-h0",  "zero-witness",
                                  "empty-lc",        "minus-one"};
const unsigned tiny_count = sizeof tiny_names / sizeof *tiny_names;

static _Noreturn void give_up(const char *what, const char *where) {
    fprintf(stderr, "tiny circuit: %s: %s\n", where, what);
    exit(2);
}

static void *take(tiny_circuit *t, size_t count, size_t size) {
    void *p = arena_alloc_array(t->memory, count == 0 ? 1 : count, size);
    if (p == NULL) give_up("no memory", t->folder);
    return p;
}

const json_node *tiny_member(const json_node *object, const char *key) {
    const json_node *m = object == NULL ? NULL : json_member(object, key);
    if (m == NULL) give_up("is missing", key);
    return m;
}

static uint64_t number(const json_node *n) {
    uint64_t v;
    if (n == NULL || n->kind != JSON_NUMBER || !text_u64(&v, n->text, n->len)) give_up("is no number", "JSON");
    return v;
}

uint64_t tiny_u64(const json_node *object, const char *key) {
    return number(tiny_member(object, key));
}

/* The fixed tree's nodes are in the circuit's arena, and so is a copy of the text. */
const json_node *tiny_json(tiny_circuit *t, const char *file) {
    char path[600];
    cuzk_error err;
    buffer text;
    json_node *root;
    snprintf(path, sizeof path, "%s/%s", t->folder, file);
    if (file_read(&text, path, LIMIT, &err) != CUZK_OK) give_up(err.what, path);
    if (json_tree(&root, t->memory, path, text.data, text.bytes, LIMIT, &err) != CUZK_OK) give_up(err.what, path);
    buffer_free(&text);
    return root;
}

const json_node *tiny_proof(tiny_circuit *t) {
    return json_at(tiny_member(tiny_json(t, "set.json"), "proofs"), 0);
}

/* Decimal text, modulo r. */
static fr decimal(const json_node *n) {
    fr v, ten, d;
    if (n == NULL || n->kind != JSON_STRING || n->len == 0) give_up("is no decimal text", "JSON");
    fr_set_zero(&v);
    fr_from_u64(&ten, 10);
    for (size_t i = 0; i < n->len; i++) {
        if (n->text[i] < '0' || n->text[i] > '9') give_up("is no decimal text", n->text);
        fr_from_u64(&d, (uint64_t)(n->text[i] - '0'));
        fr_mul(&v, &v, &ten);
        fr_add(&v, &v, &d);
    }
    return v;
}

static fr *load_values(tiny_circuit *t, const json_node *list, uint32_t *count) {
    fr *v = take(t, list->len, sizeof *v);
    *count = 0;
    for (const json_node *n = list->first; n != NULL; n = n->next) v[(*count)++] = decimal(n);
    return v;
}

static void load_lc(tiny_circuit *t, cs_lc *lc, const json_node *list) {
    cs_lc_init(lc);
    lc->terms = take(t, list->len, sizeof *lc->terms);
    lc->cap = (uint32_t)list->len;
    for (const json_node *n = list->first; n != NULL; n = n->next) {
        const json_node *kind = json_at(n, 0);
        cs_term *term = &lc->terms[lc->len++];
        term->coeff = decimal(json_at(n, 2));
        term->var = (cs_var)number(json_at(n, 1)) | (kind->text[0] == 'I' ? CS_INPUT : 0);
    }
}

static void load_rows(tiny_circuit *t, const json_node *circuit) {
    const json_node *rows = tiny_member(circuit, "constraints");
    t->rows = take(t, rows->len, sizeof *t->rows);
    for (const json_node *n = rows->first; n != NULL; n = n->next, t->n_rows++)
        for (size_t m = 0; m < 3; m++) load_lc(t, &t->rows[t->n_rows].lc[m], json_at(n, m));
}

/* (1 - b) b = 0 for every aux variable; each input after ONE is 254 of them, low first. */
static void build_bits_heavy(tiny_circuit *t) {
    fr one, minus_one;
    fr_set_one(&one);
    fr_neg(&minus_one, &one);
    t->rows = take(t, t->n_aux + t->n_inputs, sizeof *t->rows);
    for (uint32_t i = 0; i < t->n_aux; i++) {
        tiny_row *r = &t->rows[t->n_rows++];
        cs_term *a = take(t, 3, sizeof *a);
        a[0] = (cs_term){one, CS_ONE};
        a[1] = (cs_term){minus_one, i};
        a[2] = (cs_term){one, i};
        r->lc[0] = (cs_lc){a, 2, 2};
        r->lc[1] = (cs_lc){a + 2, 1, 1};
    }
    for (uint32_t i = 1; i < t->n_inputs; i++) {
        uint32_t first = (i - 1) * 254, n = t->n_aux - first < 254 ? t->n_aux - first : 254;
        tiny_row *r = &t->rows[t->n_rows++];
        cs_term *a = take(t, n + 2, sizeof *a);
        fr k = one;
        for (uint32_t j = 0; j < n; j++) {
            a[j] = (cs_term){k, first + j};
            fr_add(&k, &k, &k);
        }
        a[n] = (cs_term){one, CS_ONE};
        a[n + 1] = (cs_term){one, CS_INPUT | i};
        r->lc[0] = (cs_lc){a, n, n};
        r->lc[1] = (cs_lc){a + n, 1, 1};
        r->lc[2] = (cs_lc){a + n + 1, 1, 1};
    }
}

tiny_circuit *tiny_load(const char *name, bool raw, bool bits) {
    cuzk_error err;
    tiny_circuit *t = calloc(1, sizeof *t);
    if (t == NULL || (t->memory = arena_create(BUFFER_OTHER, 0, &err)) == NULL) give_up("no memory", name);
    snprintf(t->folder, sizeof t->folder, TEST_DATA "/tiny/%s", name);
    const json_node *witness = tiny_json(t, "witness.json");
    t->inputs = load_values(t, tiny_member(witness, "inputs"), &t->n_inputs);
    t->aux = load_values(t, tiny_member(witness, "aux"), &t->n_aux);
    if (strcmp(name, "bits-heavy") == 0) {
        build_bits_heavy(t);
    } else {
        const json_node *circuit = tiny_json(t, raw ? "circuit-raw.json" : "circuit.json");
        if (tiny_u64(circuit, "inputs") != t->n_inputs || tiny_u64(circuit, "aux") != t->n_aux)
            give_up("circuit and witness have different sizes", name);
        load_rows(t, circuit);
    }
    t->as_bit = take(t, t->n_aux, sizeof *t->as_bit);
    for (uint32_t i = 0; i < t->n_aux; i++) t->as_bit[i] = bits && (fr_is_zero(&t->aux[i]) || fr_is_one(&t->aux[i]));
    return t;
}

void tiny_free(tiny_circuit *t) {
    if (t == NULL) return;
    arena_destroy(t->memory);
    free(t);
}

void tiny_run(cs *c, const void *params, const void *instance) {
    const tiny_circuit *t = params, *v = instance;
    for (uint32_t i = 0; i < t->n_aux; i++) {
        if (t->as_bit[i])
            cs_alloc_bit(c, c->values && fr_is_one(&v->aux[i]));
        else
            cs_alloc(c, c->values ? &v->aux[i] : NULL);
    }
    for (uint32_t i = 1; i < t->n_inputs; i++) cs_input(c, c->values ? &v->inputs[i] : NULL);
    if (!c->structure) return;
    cs_push(c, "row", UINT32_MAX);
    for (uint64_t i = 0; i < t->n_rows; i++) {
        cs_push(c, "number", (uint32_t)i);
        cs_enforce(c, &t->rows[i].lc[0], &t->rows[i].lc[1], &t->rows[i].lc[2]);
        cs_pop(c);
    }
    cs_pop(c);
}
