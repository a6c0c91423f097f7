/* The PoRep circuit of every sector size against the reference's structure. The production sizes are hashed with one
 * challenge and as whole partitions, which takes some minutes. */
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

static void sectors(void **state) {
    (void)state;
    static const struct {
        const char *name, *variant;
        uint64_t bytes;
    } lines[] = {{"porep-ni-2kib", "ni", 2048}, {"porep-16kib", "", 16384},        {"porep-32kib", "", 32768},
                 {"porep-8mib", "", 8u << 20},  {"porep-ni-8mib", "ni", 8u << 20}, {"porep-512mib", "", 512u << 20}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        porep_params p;
        assert_true(porep_params_for(&p, lines[i].bytes, lines[i].variant));
        assert_true(structure_equal(DIGESTS, lines[i].name, porep_synthesize, &p));
    }
}

static void production(void **state) {
    (void)state;
    porep_params p;
    assert_true(porep_params_custom(&p, (uint64_t)1 << 30, 8, 8, 0, 11, 1));
    assert_true(structure_equal(DIGESTS, "stacked-32gib-1-challenge", porep_synthesize, &p));
    assert_true(porep_params_custom(&p, (uint64_t)1 << 31, 8, 8, 2, 11, 1));
    assert_true(structure_equal(DIGESTS, "stacked-64gib-1-challenge", porep_synthesize, &p));
    assert_true(porep_params_for(&p, (uint64_t)32 << 30, NULL));
    assert_true(structure_equal(DIGESTS, "porep-32gib", porep_synthesize, &p));
    assert_true(porep_params_for(&p, (uint64_t)64 << 30, NULL));
    assert_true(structure_equal(DIGESTS, "porep-64gib", porep_synthesize, &p));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sectors), cmocka_unit_test(production)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
