/* Made-up PoSt sectors of every size: read as jobs, consistent by the check, with a satisfying witness; deterministic
 * by seed, whatever the number of threads. Whole window partitions of the production sizes are in
 * test_post_synth_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "ref/post_case.h"

#define GIB ((uint64_t)1 << 30)

static void sizes(void **state) {
    (void)state;
    static const uint64_t kib[] = {2, 4, 16, 32, 8 << 10, 16 << 10, 512 << 10, 1 << 20};
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        post_synth_case("winning-post", kib[i] << 10, 7 + i, NULL, true);
        post_synth_case("window-post", kib[i] << 10, 7 + i, NULL, true);
    }
    post_synth_case("winning-post", 32 * GIB, 1, NULL, true);
    post_synth_case("winning-post", 64 * GIB, 1, NULL, true);
}

static void deterministic(void **state) {
    (void)state;
    cuzk_error err;
    pool *workers = pool_create(3, &err);
    post_files f[3];
    assert_non_null(workers);
    post_files_make(&f[0], "window-post", 32 << 10, 5, NULL);
    post_files_make(&f[1], "window-post", 32 << 10, 5, workers);
    post_files_make(&f[2], "window-post", 32 << 10, 6, NULL);
    assert_int_equal(f[0].n, 2);
    for (size_t i = 0; i <= 2; i++) {
        buffer b[3];
        for (int k = 0; k < 3; k++)
            assert_int_equal(file_read(&b[k], i < 2 ? f[k].vanilla[i] : f[k].request, 1 << 20, &err), CUZK_OK);
        assert_int_equal(b[0].bytes, b[1].bytes);
        assert_memory_equal(b[0].data, b[1].data, b[0].bytes);
        assert_true(b[0].bytes != b[2].bytes || memcmp(b[0].data, b[2].data, b[0].bytes) != 0);
        for (int k = 0; k < 3; k++) buffer_free(&b[k]);
    }
    for (int k = 0; k < 3; k++) post_files_remove(&f[k]);
    pool_destroy(workers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(deterministic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
