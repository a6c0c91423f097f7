/* PoRep sizes, registered proofs and parameter identifiers against the reference's tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "circuit/porep/porep.h"

static uint64_t size_of_name(const char *name, const char **variant) {
    unsigned n;
    char unit;
    *variant = "";
    name += strlen("porep-");
    if (strncmp(name, "ni-", 3) == 0) {
        *variant = "ni";
        name += 3;
    }
    if (sscanf(name, "%u%cib", &n, &unit) != 2) return 0;
    return (uint64_t)n << (unit == 'k' ? 10 : unit == 'm' ? 20 : 30);
}

static void identifiers(void **state) {
    (void)state;
    FILE *f = fopen(TEST_DATA "/porep-cache-ids.tsv", "r");
    char line[2048], text[512], cache[512];
    unsigned seen = 0;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f)); /* heading */
    while (fgets(line, sizeof line, f) != NULL) {
        char *save = NULL, *name = strtok_r(line, "\t\n", &save);
        char *want_cache = strtok_r(NULL, "\t\n", &save), *want_text = strtok_r(NULL, "\t\n", &save);
        const char *variant = NULL;
        porep_params p;
        assert_non_null(want_text);
        uint64_t bytes = size_of_name(name, &variant);
        assert_true(porep_params_for(&p, bytes, variant));
        porep_identifier(&p, text, sizeof text);
        porep_cache_identifier(&p, cache, sizeof cache);
        assert_string_equal(text, want_text);
        assert_string_equal(cache, want_cache);
        seen++;
    }
    fclose(f);
    assert_true(seen >= 10);
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        unsigned layers, u, v, w, levels, partitions, min, ni_partitions, ni_min, challenges;
    } want[] = {{2048, 2, 8, 0, 0, 2, 1, 2, 13, 26, 2},
                {4096, 2, 8, 2, 0, 3, 1, 2, 13, 26, 2},
                {16384, 2, 8, 8, 0, 3, 1, 2, 13, 26, 2},
                {32768, 2, 8, 8, 2, 4, 1, 2, 13, 26, 2},
                {8u << 20, 2, 8, 0, 0, 6, 1, 2, 13, 26, 2},
                {16u << 20, 2, 8, 2, 0, 7, 1, 2, 13, 26, 2},
                {512u << 20, 2, 8, 0, 0, 8, 1, 2, 13, 26, 2},
                {(uint64_t)1 << 30, 2, 8, 2, 0, 9, 1, 2, 13, 26, 2},
                {(uint64_t)32 << 30, 11, 8, 8, 0, 10, 10, 176, 126, 2253, 18},
                {(uint64_t)64 << 30, 11, 8, 8, 2, 11, 10, 176, 126, 2253, 18}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        static const char *const variants[] = {"", "synthetic", "ni"};
        for (int v = 0; v < 3; v++) {
            porep_params p;
            assert_true(porep_params_for(&p, want[i].bytes, variants[v]));
            assert_int_equal(p.sector_bytes, want[i].bytes);
            assert_int_equal(p.nodes, want[i].bytes / 32);
            assert_int_equal(p.layers, want[i].layers);
            assert_int_equal(p.u, want[i].u);
            assert_int_equal(p.v, want[i].v);
            assert_int_equal(p.w, want[i].w);
            assert_int_equal(p.tree_r.levels, want[i].levels);
            assert_int_equal(merkle_form_leaves(&p.tree_r), p.nodes);
            assert_int_equal(merkle_form_leaves(&p.tree_d), p.nodes);
            assert_int_equal(p.challenges, want[i].challenges);
            assert_int_equal(p.partitions, v == 2 ? want[i].ni_partitions : want[i].partitions);
            assert_int_equal(p.min_challenges, v == 2 ? want[i].ni_min : want[i].min);
            assert_int_equal(p.non_interactive, v == 2);
            assert_int_equal(p.synthetic, v == 1);
            assert_true(p.challenges * p.partitions >= p.min_challenges);
        }
    }
    porep_params p;
    assert_true(porep_params_for(&p, 2048, NULL));
    assert_false(porep_params_for(&p, 2047, NULL));
    assert_false(porep_params_for(&p, 0, NULL));
    assert_false(porep_params_for(&p, 64u << 20, ""));
    assert_false(porep_params_for(&p, 2048, "other"));
    assert_false(porep_params_custom(&p, 63, 8, 0, 0, 2, 1));
    assert_false(porep_params_custom(&p, 32, 8, 0, 0, 2, 1));
    assert_false(porep_params_custom(&p, 64, 8, 0, 2, 2, 1));
    assert_false(porep_params_custom(&p, 64, 8, 8, 8, 2, 1)); /* no base tree is left */
    assert_false(porep_params_custom(&p, 64, 8, 0, 0, 12, 1));
    assert_false(porep_params_custom(&p, 64, 8, 0, 0, 2, 0));
}

static void expect_registered(const char *name, unsigned number, uint64_t bytes, unsigned api, bool synthetic,
                              bool ni) {
    porep_registered r;
    uint8_t id[32] = {0};
    id[0] = (uint8_t)number;
    assert_true(porep_registered_by_name(&r, name, strlen(name)));
    assert_int_equal(r.number, number);
    assert_int_equal(r.sector_bytes, bytes);
    assert_int_equal(r.api_version, api);
    assert_int_equal(r.synthetic, synthetic);
    assert_int_equal(r.non_interactive, ni);
    assert_memory_equal(r.porep_id, id, 32);
}

static void registered(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "StackedDrg2KiB",
                                      "StackedDrg2KiBV1_",
                                      "stackeddrg2kibv1",
                                      "20",
                                      "05",
                                      "-1",
                                      " 5",
                                      "RegisteredSealProof_",
                                      "StackedDrg2KiBV1_1_Feat_NiPoRep",
                                      "999",
                                      "StackedDrg2KiBV1_2_Feat_",
                                      "StackedDrg2KiBV1_1x"};
    porep_registered r;
    expect_registered("StackedDrg2KiBV1", 0, 2048, 100, false, false);
    expect_registered("StackedDrg64GiBV1_1", 9, (uint64_t)64 << 30, 110, false, false);
    expect_registered("RegisteredSealProof_StackedDrg32GiBV1_1", 8, (uint64_t)32 << 30, 110, false, false);
    expect_registered("StackedDrg8MiBV1_1_Feat_SyntheticPoRep", 11, 8u << 20, 120, true, false);
    expect_registered("StackedDrg512MiBV1_2_Feat_NonInteractivePoRep", 17, 512u << 20, 120, false, true);
    expect_registered("RegisteredSealProof_StackedDrg2KiBV1_2_Feat_NiPoRep", 15, 2048, 120, false, true);
    expect_registered("5", 5, 2048, 110, false, false);
    expect_registered("19", 19, (uint64_t)64 << 30, 120, false, true);
    for (unsigned i = 0; i < 20; i++) {
        const char *name = porep_registered_name(i);
        assert_true(porep_registered_by_name(&r, name, strlen(name)));
        assert_int_equal(r.number, i);
    }
    assert_null(porep_registered_name(20));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(porep_registered_by_name(&r, bad[i], strlen(bad[i])));
    }
    assert_false(porep_registered_by_name(&r, "StackedDrg2KiBV1_1", strlen("StackedDrg2KiBV1_1") - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(identifiers), cmocka_unit_test(sizes),
                                       cmocka_unit_test(registered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
