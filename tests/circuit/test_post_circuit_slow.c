/* The PoSt circuit of every sector size against the reference's structure. Whole window partitions of the production
 * sizes (125 and 130 million constraints) are hashed from their recorded slot, which takes some minutes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "circuit/post/post.h"
#include "r1cs/shape.h"
#include "ref/structure.h"

#define DIGESTS TEST_DATA "/digests.tsv"
#define GIB ((uint64_t)1 << 30)

static void winning(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t bytes;
    } lines[] = {{"winning-post-16kib", 16384},    {"winning-post-32kib", 32768},
                 {"winning-post-8mib", 8 << 20},   {"winning-post-512mib", 512 << 20},
                 {"winning-post-32gib", 32 * GIB}, {"winning-post-64gib", 64 * GIB}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        post_params p;
        assert_true(post_params_for(&p, POST_WINNING, lines[i].bytes));
        assert_true(structure_equal(DIGESTS, lines[i].name, post_synthesize, &p));
    }
}

static void find_digest(char out[65], const char *name) {
    char line[512];
    size_t n = strlen(name);
    FILE *f = fopen(DIGESTS, "r");
    assert_non_null(f);
    out[0] = 0;
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, n) == 0 && line[n] == '\t')
            assert_int_equal(sscanf(strrchr(line, '\t') + 1, "%64s", out), 1);
    fclose(f);
    assert_int_equal(strlen(out), 64);
}

static void production_windows(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t bytes;
    } lines[] = {{"window-post-32gib", 32 * GIB}, {"window-post-64gib", 64 * GIB}};
    for (size_t i = 0; i < 2; i++) {
        post_params p;
        shape *s;
        cuzk_error err;
        uint8_t digest[32];
        char want[65], found[65];
        assert_true(post_params_for(&p, POST_WINDOW, lines[i].bytes));
        assert_int_equal(shape_record(&s, post_synthesize, &p, NULL, &err), CUZK_OK);
        assert_int_equal(shape_hash(s, digest, NULL, NULL, NULL, &err), CUZK_OK);
        text_hex(found, digest, 32);
        find_digest(want, lines[i].name);
        assert_string_equal(found, want);
        shape_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(winning), cmocka_unit_test(production_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
