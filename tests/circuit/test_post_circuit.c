/* The PoSt circuit has the reference's structure: the test circuits of fallback PoSt, and the smaller sectors of both
 * kinds. Larger ones are in test_post_circuit_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "circuit/post/post.h"
#include "r1cs/shape.h"
#include "ref/structure.h"

#define DIGESTS TEST_DATA "/digests.tsv"

static void fallback_lines(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t nodes;
        unsigned u, v, w, slots, challenges;
    } lines[] = {{"fallback-8-0-0-3x5-test", 64, 8, 0, 0, 3, 5},
                 {"fallback-8-4-0-3x5-test", 256, 8, 4, 0, 3, 5},
                 {"fallback-8-4-2-3x5-test", 512, 8, 4, 2, 3, 5},
                 {"fallback-8-0-0-2x5-test", 64, 8, 0, 0, 2, 5},
                 {"fallback-8-0-0-32gib-5x10-test", (uint64_t)1 << 30, 8, 0, 0, 5, 10}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        post_params p;
        assert_true(post_params_custom(&p, lines[i].nodes, lines[i].u, lines[i].v, lines[i].w, lines[i].slots,
                                       lines[i].challenges));
        assert_true(structure_equal(DIGESTS, lines[i].name, post_synthesize, &p));
    }
}

static void sectors(void **state) {
    (void)state;
    static const struct {
        const char *name;
        post_kind kind;
        uint64_t bytes;
    } lines[] = {{"winning-post-2kib", POST_WINNING, 2048},  {"window-post-2kib", POST_WINDOW, 2048},
                 {"window-post-16kib", POST_WINDOW, 16384},  {"window-post-32kib", POST_WINDOW, 32768},
                 {"window-post-8mib", POST_WINDOW, 8 << 20}, {"window-post-512mib", POST_WINDOW, 512 << 20}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        post_params p;
        assert_true(post_params_for(&p, lines[i].kind, lines[i].bytes));
        assert_true(structure_equal(DIGESTS, lines[i].name, post_synthesize, &p));
    }
}

/* The largest circuit is recorded as one slot: counts of the whole, and little memory. */
static void production_counts(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes, inputs, aux, constraints;
    } lines[] = {{(uint64_t)32 << 30, 25840, 126902376, 125279217}, {(uint64_t)64 << 30, 25301, 131500200, 129887900}};
    for (size_t i = 0; i < 2; i++) {
        post_params p;
        shape *s;
        cuzk_error err;
        assert_true(post_params_for(&p, POST_WINDOW, lines[i].bytes));
        assert_int_equal(shape_record(&s, post_synthesize, &p, NULL, &err), CUZK_OK);
        cs_counts n = shape_counts(s);
        assert_int_equal(n.inputs, lines[i].inputs);
        assert_int_equal(n.aux, lines[i].aux);
        assert_int_equal(n.constraints, lines[i].constraints);
        assert_int_equal(shape_domain_log2(s), 27);
        assert_true(shape_bytes(s) < (uint64_t)100 << 20);
        shape_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fallback_lines), cmocka_unit_test(sectors),
                                       cmocka_unit_test(production_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
