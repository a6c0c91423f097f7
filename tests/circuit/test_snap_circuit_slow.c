/* The structure of larger update circuits, and of the larger apexes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ref/snap_case.h"
#include "ref/structure.h"

#define DIGESTS TEST_DATA "/digests.tsv"
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void apexes(void **state) {
    (void)state;
    snap_apex_case c = {8, 8};
    assert_true(structure_equal(DIGESTS, "update-apex-8x8", snap_apex_alone, &c));
    c = (snap_apex_case){4, 16};
    assert_true(structure_equal(DIGESTS, "update-apex-4x16", snap_apex_alone, &c));
    c = (snap_apex_case){2, 128};
    assert_true(structure_equal(DIGESTS, "update-apex-2x128", snap_apex_alone, &c));
}

static void circuits(void **state) {
    (void)state;
    static const struct {
        const char *name, *variant;
        uint64_t bytes;
    } lines[] = {{"snap-16kib", "", 16 * KIB},
                 {"snap-32kib", "", 32 * KIB},
                 {"snap-8mib", "", 8 * MIB},
                 {"snap-512mib", "", 512 * MIB},
                 {"snap-32gib", "", 32 * GIB},
                 {"snap-64gib", "", 64 * GIB},
                 {"snap-poseidon-32gib", "poseidon", 32 * GIB},
                 {"snap-poseidon-64gib", "poseidon", 64 * GIB}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snap_params p;
        assert_true(snap_params_for(&p, lines[i].bytes, lines[i].variant));
        assert_true(structure_equal_shape(DIGESTS, lines[i].name, snap_synthesize, &p));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(apexes), cmocka_unit_test(circuits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
