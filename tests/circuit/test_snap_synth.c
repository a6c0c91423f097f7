/* Made-up sector updates are whole jobs with satisfied witnesses, and the same for the same seed whatever the number of
 * threads. Larger ones are in test_snap_synth_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "circuit/job.h"
#include "ref/snap_case.h"

static void small_sizes(void **state) {
    (void)state;
    assert_true(snap_synth_case(2 << 10, 1, NULL));
    assert_true(snap_synth_case(4 << 10, 2, NULL));
    assert_true(snap_synth_case(16 << 10, 3, NULL));
}

static bool same_file(const char *a, const char *b) {
    buffer x, y;
    cuzk_error err;
    assert_int_equal(file_read(&x, a, 1 << 22, &err), CUZK_OK);
    assert_int_equal(file_read(&y, b, 1 << 22, &err), CUZK_OK);
    bool same = x.bytes == y.bytes && memcmp(x.data, y.data, x.bytes) == 0;
    buffer_free(&x);
    buffer_free(&y);
    return same;
}

static void deterministic(void **state) {
    (void)state;
    cuzk_error err;
    pool *workers = pool_create(3, &err);
    snap_files f[3];
    assert_non_null(workers);
    snap_files_make(&f[0], 8 << 20, 5, NULL);
    snap_files_make(&f[1], 8 << 20, 5, workers);
    snap_files_make(&f[2], 8 << 20, 6, NULL);
    assert_int_equal(f[0].n, 4);
    assert_true(same_file(f[0].request, f[1].request));
    assert_false(same_file(f[0].request, f[2].request));
    for (size_t i = 0; i < f[0].n; i++) {
        assert_true(same_file(f[0].list[i], f[1].list[i]));
        assert_false(same_file(f[0].list[i], f[2].list[i]));
    }
    for (int k = 0; k < 3; k++) snap_files_remove(&f[k]);
    pool_destroy(workers);
}

/* The Poseidon variant has no vanilla proofs to make. */
static void no_poseidon(void **state) {
    (void)state;
    circuit c;
    cuzk_error err = {0};
    assert_int_equal(circuit_open(&c, "snap", 2048, "poseidon", &err), CUZK_OK);
    assert_int_equal(c.kind->synth(&c, 1, "/nonexistent", NULL, NULL, NULL, NULL, &err), CUZK_USAGE);
    assert_non_null(strstr(err.what, "Poseidon"));
    circuit_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_sizes), cmocka_unit_test(deterministic),
                                       cmocka_unit_test(no_poseidon)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
