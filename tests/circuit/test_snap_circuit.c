/* The update circuit and its parts have the reference's structure: counts and digests. Larger ones are in
 * test_snap_circuit_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "circuit/snap/gadgets.h"
#include "ref/snap_case.h"
#include "r1cs/shape.h"
#include "ref/structure.h"

#define DIGESTS TEST_DATA "/digests.tsv"
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void bits_alone(cs *c, const void *params, const void *instance) {
    boolean out[SNAP_MAX_CHALLENGES * SNAP_MAX_BITS];
    (void)instance;
    num comm_r_new = num_alloc(c, NULL), partition = num_alloc(c, NULL);
    snap_challenge_bits(c, params, &comm_r_new, &partition, out);
}

static void high_alone(cs *c, const void *params, const void *instance) {
    const snap_params *p = params;
    boolean bits[SNAP_MAX_BITS], select[SNAP_H_CHOICES];
    (void)instance;
    for (unsigned i = 0; i < p->challenge_bits; i++) bits[i] = boolean_alloc(c, false);
    for (unsigned i = 0; i < SNAP_H_CHOICES; i++) select[i] = boolean_alloc(c, false);
    snap_high_bits(c, p->hs, bits, p->challenge_bits, select);
}

static void label_alone(cs *c, const void *params, const void *instance) {
    (void)params;
    (void)instance;
    num leaf_r_old = num_alloc(c, NULL), leaf_d_new = num_alloc(c, NULL), rho = num_alloc(c, NULL);
    snap_label(c, &leaf_r_old, &leaf_d_new, &rho);
}

static void parts(void **state) {
    (void)state;
    static const struct {
        const char *size;
        uint64_t bytes;
        bool high;
    } lines[] = {{"2kib", 2 * KIB, true},
                 {"8mib", 8 * MIB, true},
                 {"512mib", 512 * MIB, false},
                 {"32gib", 32 * GIB, true},
                 {"64gib", 64 * GIB, false}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snap_params p;
        char name[48];
        assert_true(snap_params_for(&p, lines[i].bytes, NULL));
        snprintf(name, sizeof name, "update-challenge-bits-%s", lines[i].size);
        assert_true(structure_equal(DIGESTS, name, bits_alone, &p));
        snprintf(name, sizeof name, "update-high-bits-%s", lines[i].size);
        if (lines[i].high) assert_true(structure_equal(DIGESTS, name, high_alone, &p));
    }
    assert_true(structure_equal(DIGESTS, "update-label", label_alone, NULL));
    snap_apex_case apex = {1, 8};
    assert_true(structure_equal(DIGESTS, "update-apex-1x8", snap_apex_alone, &apex));
}

static void whole_circuits(void **state) {
    (void)state;
    static const struct {
        const char *name, *variant;
        uint64_t bytes;
    } lines[] = {{"snap-2kib", "", 2 * KIB},
                 {"snap-poseidon-2kib", "poseidon", 2 * KIB},
                 {"snap-poseidon-16kib", "poseidon", 16 * KIB},
                 {"snap-poseidon-32kib", "poseidon", 32 * KIB},
                 {"snap-poseidon-8mib", "poseidon", 8 * MIB}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snap_params p;
        assert_true(snap_params_for(&p, lines[i].bytes, lines[i].variant));
        assert_true(structure_equal(DIGESTS, lines[i].name, snap_synthesize, &p));
        assert_true(structure_equal_shape(DIGESTS, lines[i].name, snap_synthesize, &p));
    }
}

/* Sizes that only the reference's own tests have. */
static void counts_of_test_sizes(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes, constraints;
        const char *variant;
    } lines[] = {{1 * KIB, 1248389, ""},       {4 * KIB, 2165109, ""},       {8 * KIB, 2620359, ""},
                 {1 * KIB, 32164, "poseidon"}, {8 * KIB, 47974, "poseidon"}, {32 * GIB, 22305906, "poseidon"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snap_params p;
        shape *s;
        cuzk_error err;
        assert_true(snap_params_for(&p, lines[i].bytes, lines[i].variant));
        assert_int_equal(shape_record(&s, snap_synthesize, &p, NULL, &err), CUZK_OK);
        assert_int_equal(shape_counts(s).constraints, lines[i].constraints);
        assert_int_equal(shape_counts(s).inputs, 5);
        shape_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(whole_circuits),
                                       cmocka_unit_test(counts_of_test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
