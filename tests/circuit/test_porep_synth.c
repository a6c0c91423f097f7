/* Synthetic sectors: consistent by the vanilla check, deterministic, readable as jobs; the files' facts derive the same
 * public inputs as the proof. Sizes with every tree shape; the production sizes are in test_porep_synth_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "circuit/job.h"
#include "circuit/porep/synth.h"
#include "ref/porep_synth_case.h"

static void test_sizes(void **state) {
    (void)state;
    static const uint64_t kib[] = {2, 4, 16, 32, 8 << 10, 16 << 10, 512 << 10, 1 << 20};
    for (size_t i = 0; i < sizeof kib / sizeof kib[0]; i++) porep_synth_case(kib[i] << 10, 7 + i, NULL);
}

/* Every API version, so both parent orders and the cut of 1.0.0. */
static void test_versions(void **state) {
    (void)state;
    static const char *const names[] = {"StackedDrg512MiBV1", "StackedDrg512MiBV1_1"};
    for (size_t i = 0; i < 2; i++) {
        cuzk_error err;
        porep_c1 c1;
        porep_request facts;
        porep_params p;
        porep_registered r;
        arena *a = arena_create(BUFFER_OTHER, 0, &err);
        assert_true(porep_registered_by_name(&r, names[i], strlen(names[i])));
        assert_true(porep_params_for(&p, r.sector_bytes, ""));
        assert_int_equal(synth_porep_build(&c1, &facts, a, &p, &r, 1, NULL, NULL, &err), CUZK_OK);
        porep_job j = {.registered = r, .params = &p, .partitions = c1.partitions, .n_partitions = c1.n_partitions};
        memcpy(j.replica_id, c1.replica_id, 32);
        memcpy(j.comm_r, c1.comm_r, 32);
        memcpy(j.seed, c1.seed, 32);
        if (porep_vanilla_check(&j, NULL, NULL, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
        arena_destroy(a);
    }
}

static void test_deterministic(void **state) {
    (void)state;
    cuzk_error err;
    porep_params p;
    porep_registered r;
    pool *workers = pool_create(3, &err);
    buffer text[3];
    size_t len[3];
    assert_true(porep_params_for(&p, 32 << 10, ""));
    synth_porep_registered(&r, 32 << 10);
    assert_int_equal(r.sector_bytes, 2048);
    for (int i = 0; i < 3; i++) {
        porep_c1 c1;
        porep_request facts;
        arena *a = arena_create(BUFFER_OTHER, 0, &err);
        assert_int_equal(synth_porep_build(&c1, &facts, a, &p, &r, i == 2 ? 6 : 5, i == 1 ? workers : NULL, NULL, &err),
                         CUZK_OK);
        assert_int_equal(porep_c1_write(&text[i], &len[i], &c1, &err), CUZK_OK);
        arena_destroy(a);
    }
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(text[0].data, text[1].data, len[0]);
    assert_true(len[0] != len[2] || memcmp(text[0].data, text[2].data, len[0]) != 0);
    for (int i = 0; i < 3; i++) buffer_free(&text[i]);
    pool_destroy(workers);
}

static void test_only_interactive(void **state) {
    (void)state;
    static const char *const variants[] = {"ni", "synthetic"};
    for (size_t i = 0; i < 2; i++) {
        cuzk_error err;
        porep_params p;
        porep_registered r;
        char c1[SYNTH_PATH_BYTES], request[SYNTH_PATH_BYTES];
        assert_true(porep_params_for(&p, 2048, variants[i]));
        synth_porep_registered(&r, 2048);
        assert_int_equal(synth_porep(&p, &r, 1, "/tmp/cuzk-not-made", NULL, NULL, c1, request, &err), CUZK_USAGE);
        assert_false(file_exists("/tmp/cuzk-not-made"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_only_interactive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
