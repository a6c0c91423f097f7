/* PoSt sizes, registered proofs, parameter identifiers and challenges against the reference's tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "circuit/job.h"
#include "circuit/post/post.h"

#define GIB ((uint64_t)1 << 30)

static void identifiers(void **state) {
    (void)state;
    FILE *f = fopen(TEST_DATA "/post-cache-ids.tsv", "r");
    char line[2048], text[512], cache[512];
    unsigned seen = 0;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f)); /* heading */
    for (; fgets(line, sizeof line, f) != NULL; seen++) {
        char *save = NULL, *name = strtok_r(line, "\t\n", &save);
        char *want_cache = strtok_r(NULL, "\t\n", &save), *want_file = strtok_r(NULL, "\t\n", &save);
        char *want_text = strtok_r(NULL, "\t\n", &save), *size = strrchr(name, '-') + 1;
        bool winning = strncmp(name, "winning", 7) == 0;
        unsigned n;
        char unit, file[320];
        assert_int_equal(sscanf(size, "%u%c", &n, &unit), 2);
        uint64_t bytes = (uint64_t)n << (unit == 'k' ? 10 : unit == 'm' ? 20 : 30);
        post_params p;
        circuit c;
        cuzk_error err;
        assert_true(post_params_for(&p, winning ? POST_WINNING : POST_WINDOW, bytes));
        post_identifier(&p, text, sizeof text);
        post_cache_identifier(&p, cache, sizeof cache);
        assert_string_equal(text, want_text);
        assert_string_equal(cache, want_cache);
        assert_int_equal(circuit_open(&c, winning ? "winning-post" : "window-post", bytes, "", &err), CUZK_OK);
        assert_string_equal(c.name, name);
        circuit_file_name(&c, "params", file, sizeof file);
        assert_string_equal(file, want_file);
        circuit_close(&c);
    }
    fclose(f);
    assert_int_equal(seen, 14);
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        unsigned u, v, w, levels, sectors;
        size_t window_proof, winning_proof; /* published lengths; 0: none */
    } want[] = {{2048, 8, 0, 0, 2, 2, 5680, 36816},
                {4096, 8, 2, 0, 3, 2, 0, 0},
                {16384, 8, 8, 0, 3, 2, 0, 0},
                {32768, 8, 8, 2, 4, 2, 0, 0},
                {8u << 20, 8, 0, 0, 6, 2, 15280, 100176},
                {16u << 20, 8, 2, 0, 7, 2, 0, 0},
                {512u << 20, 8, 0, 0, 8, 2, 20080, 131856},
                {GIB, 8, 2, 0, 9, 2, 0, 0},
                {32 * GIB, 8, 8, 0, 10, 2349, 24960, 164064},
                {64 * GIB, 8, 8, 2, 11, 2300, 25520, 167760}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        post_params p, q;
        assert_true(post_params_for(&p, POST_WINDOW, want[i].bytes));
        assert_true(post_params_for(&q, POST_WINNING, want[i].bytes));
        assert_int_equal(p.nodes, want[i].bytes / 32);
        assert_int_equal(merkle_form_leaves(&p.tree), p.nodes);
        assert_int_equal(p.tree.levels, want[i].levels);
        assert_int_equal(p.u, want[i].u);
        assert_int_equal(p.v, want[i].v);
        assert_int_equal(p.w, want[i].w);
        assert_int_equal(p.slots, want[i].sectors);
        assert_int_equal(p.challenges, 10);
        assert_int_equal(post_sectors(&p), want[i].sectors);
        assert_int_equal(post_challenges_of_sector(&p), 10);
        assert_int_equal(q.slots, 66);
        assert_int_equal(q.challenges, 1);
        assert_int_equal(post_sectors(&q), 1);
        assert_int_equal(post_challenges_of_sector(&q), 66);
        if (want[i].window_proof == 0) continue;
        assert_int_equal(post_proof_bytes(&p), want[i].window_proof);
        assert_int_equal(post_proof_bytes(&q), want[i].winning_proof);
    }
    post_params p;
    assert_false(post_params_for(&p, POST_WINDOW, 2047));
    assert_false(post_params_for(&p, POST_WINDOW, 8192));
    assert_false(post_params_for(&p, POST_WINNING, 0));
}

static void expect_name(const char *name, int number) {
    post_registered r;
    bool known = post_registered_by_name(&r, name, strlen(name));
    if (number < 0) {
        if (known) fail_msg("\"%s\" is known", name);
        return;
    }
    if (!known) fail_msg("\"%s\" is not known", name);
    assert_int_equal(r.number, number);
    static const uint64_t bytes[] = {2048, 8 << 20, 512 << 20, 32 * GIB, 64 * GIB};
    assert_int_equal(r.sector_bytes, bytes[number % 5]);
    assert_int_equal(r.kind, number < 5 ? POST_WINNING : POST_WINDOW);
    assert_int_equal(r.api_version, number < 10 ? 100 : 120);
}

static void registered(void **state) {
    (void)state;
    static const char *const size[] = {"2KiB", "8MiB", "512MiB", "32GiB", "64GiB"};
    char name[96];
    for (int i = 0; i < 15; i++) {
        const char *what = i < 5 ? "Winning" : "Window", *version = i < 10 ? "V1" : "V1_2";
        snprintf(name, sizeof name, "StackedDrg%s%s%s", what, size[i % 5], version);
        assert_string_equal(name, post_registered_name((unsigned)i));
        expect_name(name, i);
        snprintf(name, sizeof name, "RegisteredPoStProof_StackedDrg%s%s%s", what, size[i % 5], version);
        expect_name(name, i);
        snprintf(name, sizeof name, "%d", i);
        expect_name(name, i);
        /* Go's name of 10 to 14. */
        snprintf(name, sizeof name, "StackedDrg%s%sV1_1", what, size[i % 5]);
        expect_name(name, i < 5 ? -1 : i < 10 ? i + 5 : i);
    }
    assert_null(post_registered_name(15));
    static const char *const unknown[] = {"",
                                          "15",
                                          "07",
                                          "-1",
                                          "1 ",
                                          "StackedDrgWindow2KiBV1_3",
                                          "StackedDrgWindow2KiBV2",
                                          "StackedDrgWinning2KiBV1_2",
                                          "StackedDrgWindow2KiBV1_",
                                          "StackedDrg2KiBV1",
                                          "StackedDrgWindow4KiBV1",
                                          "RegisteredPoStProof_",
                                          "stackeddrgwindow2kibv1"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) expect_name(unknown[i], -1);
}

/* A real proof of a 32 GiB sector published with an implementation of the protocol has these leaves. */
static void published_challenges(void **state) {
    (void)state;
    static const uint64_t want[] = {707914199, 439148358,  967788220, 548708700,  1061661429,
                                    6202012,   1055504637, 389535735, 1000069704, 600088878};
    uint64_t found[POST_MAX_CHALLENGES], later[POST_MAX_CHALLENGES];
    uint8_t randomness[32] = {0};
    post_params p;
    assert_true(post_params_for(&p, POST_WINDOW, 32 * GIB));
    post_challenges(&p, 100, randomness, 1, 0, found);
    assert_memory_equal(found, want, sizeof want);
    /* A sector's place counts up to 1.1.0 and not any more in 1.2.0. */
    post_challenges(&p, 120, randomness, 1, 5, later);
    assert_memory_equal(later, want, sizeof want);
    post_challenges(&p, 110, randomness, 1, 5, later);
    assert_memory_not_equal(later, want, sizeof want);
}

/* The set's sector was drawn by the reference: the third of three. */
static void drawn_sector(void **state) {
    (void)state;
    uint8_t randomness[32], prover[32] = {0xe8, 0x07};
    static const char hex[] = "6543203f39a47fa7e5ee3cb85960c1d086d18caf973f7810b8a4cd7063829624";
    assert_true(text_unhex(randomness, 32, hex, 64));
    assert_int_equal(post_drawn_sector(prover, randomness, 0, 3), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(identifiers), cmocka_unit_test(sizes),
                                       cmocka_unit_test(registered), cmocka_unit_test(published_challenges),
                                       cmocka_unit_test(drawn_sector)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
