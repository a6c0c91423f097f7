/* The small known circuits against the reference's counts, digests, densities, assignments and evaluations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/text.h"
#include "r1cs/witness.h"
#include "ref/tiny_circuit.h"

static cuzk_error err;

#define OK(call) assert_string_equal(cuzk_status_name(call), "CUZK_OK")

static void assert_hex(const json_node *object, const char *key, const uint8_t digest[32]) {
    char hex[65];
    text_hex(hex, digest, 32);
    assert_string_equal(tiny_member(object, key)->text, hex);
}

/* A column of witness-0.tsv as text, runs separated by blanks; runs that are "-" are left out. */
typedef struct runs {
    char text[1024];
} runs;

static void add_run(void *user, uint64_t run, const uint8_t digest[32]) {
    runs *r = user;
    assert_int_equal(run, strlen(r->text) / 65);
    text_hex(r->text + strlen(r->text), digest, 32);
    strcat(r->text, " ");
}

static runs known_runs(const tiny_circuit *t, int column) {
    char path[600], *line, *state;
    runs r = {""};
    buffer file;
    snprintf(path, sizeof path, "%s/witness-0.tsv", t->folder);
    OK(file_read(&file, path, 1 << 20, &err));
    char *text = strndup(file.data, file.bytes);
    strtok_r(text, "\n", &state); /* the heading */
    while ((line = strtok_r(NULL, "\n", &state)) != NULL) {
        char *cells, *cell = strtok_r(line, "\t", &cells);
        for (int i = 0; i < column; i++) cell = strtok_r(NULL, "\t", &cells);
        if (strcmp(cell, "-") == 0) continue;
        strcat(r.text, cell);
        strcat(r.text, " ");
    }
    free(text);
    buffer_free(&file);
    return r;
}

static void assert_counts(const json_node *proof, const cs_counts *n) {
    assert_int_equal(n->inputs, tiny_u64(proof, "inputs"));
    assert_int_equal(n->aux, tiny_u64(proof, "aux"));
    assert_int_equal(n->constraints, tiny_u64(proof, "constraints"));
    assert_int_equal(n->a_aux_density, tiny_u64(proof, "a_aux_density"));
    assert_int_equal(n->b_input_density, tiny_u64(proof, "b_input_density"));
    assert_int_equal(n->b_aux_density, tiny_u64(proof, "b_aux_density"));
    const json_node *nnz = tiny_member(proof, "nnz")->first;
    for (int m = 0; m < 3; m++, nnz = nnz->next) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)n->nnz[m]);
        assert_string_equal(text, nnz->text);
    }
}

static void check_structure(tiny_circuit *t, const shape *s, const json_node *proof) {
    uint8_t digest[32];
    cs_counts n;
    OK(cs_count(&n, tiny_run, t, &err));
    assert_counts(proof, &n);
    n = shape_counts(s);
    assert_counts(proof, &n);
    runs known = known_runs(t, 1), direct = {""}, shaped = {""};
    OK(cs_hash(digest, tiny_run, t, add_run, &direct, &err));
    assert_hex(proof, "structure_blake2s256", digest);
    OK(shape_hash(s, digest, add_run, &shaped, NULL, &err));
    assert_hex(proof, "structure_blake2s256", digest);
    assert_string_equal(direct.text, known.text);
    assert_string_equal(shaped.text, known.text);
}

static void check_bitmap(const shape *s, shape_bitmap_kind kind, const char *known) {
    size_t n = strlen(known), words = (n + 63) / 64 + 1;
    uint64_t *bits = calloc(words, sizeof *bits), rank = 0;
    assert_int_equal(n, shape_counts(s).aux);
    shape_bitmap(s, kind, 0, n, bits);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(bits[i / 64] >> (i % 64) & 1, known[i] == '1');
        assert_int_equal(shape_rank(s, kind, i), rank);
        rank += known[i] == '1';
    }
    assert_int_equal(shape_rank(s, kind, n), rank);
    free(bits);
}

static void check_densities(tiny_circuit *t, const shape *s, const json_node *debug) {
    assert_int_equal(1ull << shape_domain_log2(s), tiny_u64(debug, "domain"));
    const json_node *density = json_member(debug, "density");
    if (density == NULL) return; /* bits-heavy */
    check_bitmap(s, SHAPE_A_DENSITY, tiny_member(density, "a_aux")->text);
    check_bitmap(s, SHAPE_B_DENSITY, tiny_member(density, "b_aux")->text);
    const char *b_inputs = tiny_member(density, "b_inputs")->text;
    assert_int_equal(strlen(b_inputs), t->n_inputs);
    for (uint32_t i = 0; i < t->n_inputs; i++) assert_int_equal(shape_input_in_b(s, i), b_inputs[i] == '1');
}

/* Evaluations over the whole domain, as the reference had them before its transforms. */
static void check_evaluations(const shape *s, const witness *w, const json_node *debug) {
    static const char *const names[3] = {"a", "b", "c"};
    const json_node *steps = json_member(debug, "steps");
    if (steps == NULL || steps->len == 0) return; /* larger domains have none */
    for (int m = 0; m < 3; m++) {
        const json_node *known = tiny_member(tiny_member(steps, names[m]), "evaluations");
        fr *got = calloc(known->len, sizeof *got);
        shape_eval(s, (shape_matrix)m, w, 0, known->len, got);
        for (size_t i = 0; i < known->len; i++) {
            uint8_t be[32];
            char hex[65];
            fr_to_be_bytes(be, &got[i]);
            text_hex(hex, be, 32);
            assert_string_equal(hex, json_at(known, i)->text);
        }
        free(got);
    }
}

static void check_values(tiny_circuit *t, const shape *s, const json_node *proof, const json_node *debug) {
    uint8_t inputs[32], aux[32];
    witness w;
    cs_checked checked;
    runs known = known_runs(t, 2), got = {""};
    uint64_t first_bad;
    OK(cs_check(&checked, tiny_run, t, t, &err));
    assert_int_equal(checked.first_bad, UINT64_MAX);
    assert_int_equal(checked.n_aux, t->n_aux);
    free(checked.inputs);
    free(checked.aux);
    OK(witness_write(&w, s, tiny_run, t, t, &err));
    assert_int_equal(w.memory.bytes, witness_bytes(s));
    OK(witness_digests(&w, s, inputs, aux, add_run, &got, &err));
    assert_hex(proof, "inputs_with_one_sha256", inputs);
    assert_hex(proof, "aux_sha256", aux);
    assert_string_equal(got.text, known.text);
    OK(witness_check(&w, s, &first_bad, NULL, NULL, &err));
    assert_int_equal(first_bad, UINT64_MAX);
    check_evaluations(s, &w, debug);
    witness_free(&w);
}

static void check_one(const char *name, bool raw, bool bits) {
    tiny_circuit *t = tiny_load(name, raw, bits);
    const json_node *proof = tiny_proof(t), *debug = tiny_json(t, "debug.json");
    shape *s;
    OK(shape_record(&s, tiny_run, t, NULL, &err));
    check_structure(t, s, proof);
    check_densities(t, s, debug);
    check_values(t, s, proof, debug);
    shape_destroy(s);
    tiny_free(t);
}

static void test_known(void **state) {
    (void)state;
    for (unsigned i = 0; i < tiny_count; i++)
        for (int bits = 0; bits < 2; bits++) check_one(tiny_names[i], false, bits != 0);
    check_one("duplicate-terms", true, false);
}

static void test_unsatisfied(void **state) {
    (void)state;
    static const char *const names[] = {"refused/unsatisfied", "refused/unsatisfied-input"};
    for (int i = 0; i < 2; i++) {
        tiny_circuit *t = tiny_load(names[i], false, false);
        shape *s;
        witness w;
        cs_checked checked;
        uint64_t first_bad;
        char path[64], expected[64];
        OK(shape_record(&s, tiny_run, t, NULL, &err));
        OK(witness_write(&w, s, tiny_run, t, t, &err));
        OK(witness_check(&w, s, &first_bad, NULL, NULL, &err));
        OK(cs_check(&checked, tiny_run, t, t, &err));
        assert_int_not_equal(first_bad, UINT64_MAX);
        assert_int_equal(checked.first_bad, first_bad);
        snprintf(expected, sizeof expected, "row / number %u", (unsigned)first_bad);
        assert_string_equal(checked.path, expected);
        OK(cs_locate(path, sizeof path, first_bad, tiny_run, t, &err));
        assert_string_equal(path, expected);
        assert_int_equal(cs_locate(path, sizeof path, t->n_rows, tiny_run, t, &err), CUZK_INTERNAL);
        free(checked.inputs);
        free(checked.aux);
        witness_free(&w);
        shape_destroy(s);
        tiny_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_unsatisfied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
