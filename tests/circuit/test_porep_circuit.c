/* The PoRep circuit has the reference's structure: stacked test circuits and the smallest sectors. Larger ones are in
 * test_porep_circuit_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "circuit/porep/porep.h"
#include "ref/structure.h"

#define DIGESTS TEST_DATA "/digests.tsv"

static void stacked_lines(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned nodes, u, v, w;
    } lines[] = {{"stacked-2-0-0-test", 8, 2, 0, 0},
                 {"stacked-8-0-0-test", 8, 8, 0, 0},
                 {"stacked-8-4-0-test", 32, 8, 4, 0},
                 {"stacked-8-4-2-test", 64, 8, 4, 2}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        porep_params p;
        assert_true(porep_params_custom(&p, lines[i].nodes, lines[i].u, lines[i].v, lines[i].w, 2, 1));
        assert_true(structure_equal(DIGESTS, lines[i].name, porep_synthesize, &p));
    }
}

static void smallest_sector(void **state) {
    (void)state;
    porep_params p;
    assert_true(porep_params_for(&p, 2048, NULL));
    assert_true(structure_equal(DIGESTS, "porep-2kib", porep_synthesize, &p));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stacked_lines), cmocka_unit_test(smallest_sector)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
