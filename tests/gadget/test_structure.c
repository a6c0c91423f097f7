/* Gadgets have the reference's structure: counts and digest of each, alone in a circuit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "circuit/porep/label_circuit.h"
#include "gadget/insert.h"
#include "gadget/merkle.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"
#include "ref/structure.h"

#define DIGESTS TEST_DATA "/digests.tsv"

static void poseidon_alone(cs *c, const void *params, const void *instance) {
    const poseidon_constants *k = params;
    num in[64];
    (void)instance;
    for (unsigned i = 0; i < k->arity; i++) in[i] = num_alloc(c, NULL);
    poseidon_circuit(c, k, in);
}

static void poseidon_lines(void **state) {
    (void)state;
    static const unsigned arities[] = {2, 4, 8, 11};
    char name[32];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "poseidon-%u", arities[i]);
        assert_true(structure_equal(DIGESTS, name, poseidon_alone, poseidon_get(arities[i])));
    }
    poseidon_constants randomness = *poseidon_get(2);
    fr_from_u64(&randomness.domain_tag, (uint64_t)1 << 40);
    assert_true(structure_equal(DIGESTS, "poseidon-2-randomness", poseidon_alone, &randomness));
}

static void to_bits_alone(cs *c, const void *params, const void *instance) {
    (void)instance;
    num x = num_alloc(c, NULL);
    word bits[8];
    if (*(const bool *)params)
        num_to_bits_packed(c, bits, &x);
    else
        num_to_bits(c, bits, &x);
}

static void to_bits_lines(void **state) {
    (void)state;
    bool packed = false;
    assert_true(structure_equal(DIGESTS, "to-bits-le", to_bits_alone, &packed));
    packed = true;
    assert_true(structure_equal(DIGESTS, "update-num-to-bits", to_bits_alone, &packed));
}

static void insert_alone(cs *c, const void *params, const void *instance) {
    unsigned arity = *(const unsigned *)params;
    num siblings[7], out[8];
    boolean bits[3];
    (void)instance;
    for (unsigned i = 0; i + 1 < arity; i++) siblings[i] = num_alloc(c, NULL);
    num x = num_alloc(c, NULL);
    for (unsigned i = 0; (1u << i) < arity; i++) bits[i] = boolean_alloc(c, false);
    insert_num(c, out, arity, &x, bits, siblings);
}

static void insert_lines(void **state) {
    (void)state;
    unsigned arity = 2;
    assert_true(structure_equal(DIGESTS, "insert-2", insert_alone, &arity));
    arity = 4;
    assert_true(structure_equal(DIGESTS, "insert-4", insert_alone, &arity));
    arity = 8;
    assert_true(structure_equal(DIGESTS, "insert-8", insert_alone, &arity));
}

/* New bits in message order: high bit of each word first. */
static void alloc_message(cs *c, word *out, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        for (unsigned b = 32; b-- > 0;) word_set_bit(&out[i], b, boolean_alloc(c, false));
    }
}

static void sha256_alone(cs *c, const void *params, const void *instance) {
    word message[16], out[8];
    const word *at[16];
    (void)instance;
    alloc_message(c, message, 16);
    for (unsigned i = 0; i < 16; i++) at[i] = &message[i];
    if (*(const bool *)params) {
        sha256_initial(out);
        sha256_compress_circuit(c, out, at);
    } else {
        sha256_circuit(c, out, at, 16);
    }
}

static void node_alone(cs *c, const void *params, const void *instance) {
    num in[2];
    (void)params;
    (void)instance;
    in[0] = num_alloc(c, NULL);
    in[1] = num_alloc(c, NULL);
    sha256_nums_circuit(c, in, 2);
}

static void sha256_lines(void **state) {
    (void)state;
    bool compression = true;
    assert_true(structure_equal(DIGESTS, "sha256-compression-512", sha256_alone, &compression));
    compression = false;
    assert_true(structure_equal(DIGESTS, "sha256-512", sha256_alone, &compression));
    assert_true(structure_equal(DIGESTS, "sha256-node", node_alone, NULL));
}

static void inclusion_alone(cs *c, const void *params, const void *instance) {
    merkle_inclusion_alone(c, params, instance, true);
}

static void inclusion_lines(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned nodes, u, v, w;
    } lines[] = {{"por-poseidon-2-64", 64, 2, 0, 0},        {"por-poseidon-4-64", 64, 4, 0, 0},
                 {"por-poseidon-8-64", 64, 8, 0, 0},        {"por-poseidon-8-2-128", 128, 8, 2, 0},
                 {"por-poseidon-8-4-2-512", 512, 8, 4, 2},  {"por-poseidon-8-8-512", 512, 8, 8, 0},
                 {"por-poseidon-8-8-2-1024", 1024, 8, 8, 2}};
    merkle_form form;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_true(merkle_form_poseidon(&form, lines[i].nodes, lines[i].u, lines[i].v, lines[i].w));
        assert_int_equal(merkle_form_leaves(&form), lines[i].nodes);
        assert_true(structure_equal(DIGESTS, lines[i].name, inclusion_alone, &form));
    }
    merkle_form_sha256(&form, 64);
    assert_true(structure_equal(DIGESTS, "por-sha256-2-64", inclusion_alone, &form));
}

static void label_alone(cs *c, const void *params, const void *instance) {
    label_words *parents = calloc(POREP_LABEL_PARENTS, sizeof *parents), id;
    const label_words *list[POREP_LABEL_PARENTS];
    word node[2];
    (void)params;
    (void)instance;
    assert_non_null(parents);
    for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++) {
        alloc_message(c, parents[i].w, 8);
        list[i] = &parents[i];
    }
    alloc_message(c, id.w, 8);
    word_set_const(&node[0], 22);
    word_set_const(&node[1], 0);
    porep_label_circuit(c, &id, 3, node, list, POREP_LABEL_PARENTS);
    free(parents);
}

static void label_line(void **state) {
    (void)state;
    assert_true(structure_equal(DIGESTS, "create-label-3-22", label_alone, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(poseidon_lines),  cmocka_unit_test(to_bits_lines),
                                       cmocka_unit_test(insert_lines),    cmocka_unit_test(sha256_lines),
                                       cmocka_unit_test(inclusion_lines), cmocka_unit_test(label_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
