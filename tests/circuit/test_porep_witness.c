/* Witnesses of real sectors equal the reference's, bit for bit, and satisfy the circuit; changed ones do not.
 * Expected digests: the reference implementation's assignment of the same prover input (SHA-256 over 32-byte
 * little-endian values). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "circuit/porep/vanilla.h"
#include "r1cs/shape.h"
#include "r1cs/witness.h"

typedef struct opened {
    arena *memory;
    buffer text;
    porep_c1 c1;
    shape *shape;
} opened;

static void open_set(opened *o, const char *set, uint64_t size) {
    char path[512];
    cuzk_error err;
    snprintf(path, sizeof path, "%s/%s/c1.json", TEST_DATA, set);
    o->memory = arena_create(BUFFER_REQUEST, 0, &err);
    assert_non_null(o->memory);
    assert_int_equal(file_read(&o->text, path, (size_t)1 << 24, &err), CUZK_OK);
    if (porep_c1_read(&o->c1, o->memory, path, o->text.data, o->text.bytes, size, size != 0, &err) != CUZK_OK) {
        fprintf(stderr, "%s: %s\n", err.where, err.what);
        fail();
    }
    assert_int_equal(shape_record(&o->shape, porep_synthesize, &o->c1.params, NULL, &err), CUZK_OK);
}

static void close_set(opened *o) {
    shape_destroy(o->shape);
    buffer_free(&o->text);
    arena_destroy(o->memory);
}

static void equal_the_reference(void **state) {
    (void)state;
    static const struct {
        const char *set, *inputs, *aux;
        uint64_t size; /* where the file names another */
    } sets[] = {{"porep-2kib-a", "b71bba32578459ce5e0bb418d64a7f83eea80fd343a59ed70f621a660839fac1",
                 "aae0e34647c0bac1d7999916d5d485c4f6f6c2c98df3cca2eb6f159cc994c5be", 0},
                {"porep-8mib-a", "b1178344853c86a5a7c56218e50d5124b277178f2e18e2de9a3912ea5c108387",
                 "f9541e50402b8f560b0b60206a215586529551b340376e479489d99d2d074aad", 0},
                {"porep-2kib-synth", "521730a5771f70e06d601d62b2ee2fa474684dc93c53ecd06de1a4d1b1cd92c9",
                 "62e0ad60c13050f471c258be503ab5f1193b220702709ffc5488daa0f0d666e3", 0},
                {"porep-shape-8-0-0", "21054959d526992324d5ee1471d1692f0ef25409d85a8b2ee388e11283e45e29",
                 "7dac2125d88b1246bdf2861154648327aac318b9416ab0531f652c528e232604", 0},
                {"porep-shape-8-8-0", "a411c8920db378b4a39c32c09d9b11bff884b44263ac5ebf42c1e537db23c259",
                 "3de4ce2b079a48451a4fba7f6f5d3bb92de359a6d87280f42b5e76754a49e6f6", 16384}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        opened o;
        witness w;
        uint8_t inputs[32], aux[32];
        char hex[65];
        uint64_t bad;
        cuzk_error err;
        open_set(&o, sets[i].set, sets[i].size);
        assert_int_equal(witness_write(&w, o.shape, porep_synthesize, &o.c1.params, &o.c1.partitions[0], &err),
                         CUZK_OK);
        assert_int_equal(witness_digests(&w, o.shape, inputs, aux, NULL, NULL, &err), CUZK_OK);
        text_hex(hex, inputs, 32);
        assert_string_equal(hex, sets[i].inputs);
        text_hex(hex, aux, 32);
        assert_string_equal(hex, sets[i].aux);
        assert_int_equal(witness_check(&w, o.shape, &bad, NULL, NULL, &err), CUZK_OK);
        assert_true(bad == UINT64_MAX);
        witness_free(&w);
        close_set(&o);
    }
}

/* The first constraint that fails lies where the change was made. */
static void expect_fault(const opened *o, const char *where) {
    witness w;
    uint64_t bad;
    char path[256];
    cuzk_error err;
    assert_int_equal(witness_write(&w, o->shape, porep_synthesize, &o->c1.params, &o->c1.partitions[0], &err), CUZK_OK);
    assert_int_equal(witness_check(&w, o->shape, &bad, NULL, NULL, &err), CUZK_OK);
    assert_true(bad != UINT64_MAX);
    assert_int_equal(cs_locate(path, sizeof path, bad, porep_synthesize, &o->c1.params, &err), CUZK_OK);
    assert_string_equal(path, where);
    witness_free(&w);
}

static void changes_are_found(void **state) {
    (void)state;
    opened o;
    fr one;
    fr_set_one(&one);
    open_set(&o, "porep-2kib-a", 0);
    /* The parsed proof is ours: its arena is writable memory. */
    porep_challenge *second = (porep_challenge *)&o.c1.partitions[0].challenges[1];
    fr *row = (fr *)&second->drg[2].rows[0], *leaf = &second->d.leaf, *comm_r = &o.c1.partitions[0].comm_r;
    fr keep = *row;
    fr_add(row, row, &one);
    expect_fault(&o, "challenge 1 / drg parent 2");
    *row = keep;
    keep = *leaf;
    fr_add(leaf, leaf, &one);
    expect_fault(&o, "challenge 1 / tree d");
    *leaf = keep;
    keep = *comm_r;
    fr_add(comm_r, comm_r, &one);
    expect_fault(&o, "header");
    *comm_r = keep;
    porep_labeling *label = (porep_labeling *)&second->labels[0];
    label->node ^= 1; /* another node's label does not lead to the replica */
    expect_fault(&o, "challenge 1 / tree r");
    close_set(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_the_reference), cmocka_unit_test(changes_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
