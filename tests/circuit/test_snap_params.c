/* Sector update sizes, registered proofs, identifiers, randomness and challenges against the reference's tables and
 * known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "circuit/job.h"
#include "circuit/snap/snap.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void identifiers(void **state) {
    (void)state;
    FILE *f = fopen(TEST_DATA "/snap-cache-ids.tsv", "r");
    char line[1024], text[256];
    unsigned seen = 0;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f)); /* heading */
    for (; fgets(line, sizeof line, f) != NULL; seen++) {
        char *save = NULL, *name = strtok_r(line, "\t\n", &save);
        char *want_cache = strtok_r(NULL, "\t\n", &save), *want_text = strtok_r(NULL, "\t\n", &save);
        bool poseidon = strncmp(name, "snap-poseidon", 13) == 0;
        unsigned n;
        char unit, file[320], want_file[320];
        assert_int_equal(sscanf(strrchr(name, '-') + 1, "%u%c", &n, &unit), 2);
        circuit c;
        cuzk_error err;
        uint64_t bytes = (uint64_t)n << (unit == 'k' ? 10 : unit == 'm' ? 20 : 30);
        assert_int_equal(circuit_open(&c, "snap", bytes, poseidon ? "poseidon" : "", &err), CUZK_OK);
        assert_string_equal(c.name, name);
        assert_string_equal(c.shape_name, name); /* not shared: the variants differ in structure */
        assert_string_equal(c.cache_identifier, want_cache);
        snap_identifier(c.params, text, sizeof text);
        assert_string_equal(text, want_text);
        circuit_file_name(&c, "params", file, sizeof file);
        snprintf(want_file, sizeof want_file, "v28-%s.params", want_cache);
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
        unsigned partitions, challenges, apex, h, h_select, random_bits, per_digest, digests, data_levels;
        size_t proof; /* published length; 0: none */
    } want[] = {{1u << 10, 1, 10, 8, 1, 1, 5, 50, 1, 2, 0},
                {2u << 10, 1, 10, 8, 1, 1, 6, 42, 1, 3, 15064},
                {4u << 10, 1, 10, 8, 1, 1, 7, 36, 1, 4, 0},
                {16u << 10, 2, 10, 128, 1, 1, 8, 31, 1, 1, 0},
                {32u << 10, 2, 10, 128, 1, 1, 9, 28, 1, 2, 0},
                {8 * MIB, 4, 10, 128, 10, 8, 16, 15, 1, 9, 43864},
                {16 * MIB, 4, 10, 128, 10, 8, 17, 14, 1, 10, 0},
                {512 * MIB, 16, 86, 128, 10, 8, 20, 12, 8, 13, 0},
                {32 * GIB, 16, 86, 128, 10, 8, 26, 9, 10, 19, 561768},
                {64 * GIB, 16, 86, 128, 10, 8, 27, 9, 10, 20, 0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        snap_params p;
        assert_true(snap_params_for(&p, want[i].bytes, NULL));
        assert_int_equal(p.nodes, want[i].bytes / 32);
        assert_int_equal(merkle_form_leaves(&p.tree_r), p.nodes);
        assert_int_equal(merkle_form_leaves(&p.tree_d), p.nodes);
        assert_int_equal(p.partitions, want[i].partitions);
        assert_int_equal(p.challenges, want[i].challenges);
        assert_int_equal(p.apex_leaves, want[i].apex);
        assert_int_equal(p.h, want[i].h);
        assert_int_equal(p.h_select, want[i].h_select);
        assert_int_equal(p.random_bits, want[i].random_bits);
        assert_int_equal(p.per_digest, want[i].per_digest);
        assert_int_equal(p.digests, want[i].digests);
        assert_int_equal(p.data_levels, want[i].data_levels);
        if (want[i].proof != 0) assert_int_equal(snap_proof_bytes(&p), want[i].proof);
    }
    static const struct {
        uint64_t bytes;
        unsigned challenges;
    } poseidon[] = {{2048, 10}, {16384, 20}, {32768, 20}, {8 * MIB, 40}, {512 * MIB, 1376}, {64 * GIB, 1376}};
    snap_params p;
    for (size_t i = 0; i < sizeof poseidon / sizeof *poseidon; i++) {
        assert_true(snap_params_for(&p, poseidon[i].bytes, "poseidon"));
        assert_int_equal(p.partitions, 1);
        assert_int_equal(p.challenges, poseidon[i].challenges);
        assert_true(p.challenges <= SNAP_MAX_CHALLENGES && p.challenge_bits <= SNAP_MAX_BITS);
    }
    assert_false(snap_params_for(&p, 2047, NULL));
    assert_false(snap_params_for(&p, GIB, NULL));
    assert_false(snap_params_for(&p, 2048, "ni"));
}

static void expect_name(const char *name, int number) {
    snap_registered r;
    bool known = snap_registered_by_name(&r, name, strlen(name));
    assert_int_equal(known, number >= 0);
    if (known) assert_int_equal(r.number, number);
}

static void registered(void **state) {
    (void)state;
    static const uint64_t bytes[] = {2048, 8 * MIB, 512 * MIB, 32 * GIB, 64 * GIB};
    char name[64];
    for (unsigned i = 0; i < 5; i++) {
        snap_registered r;
        const char *rust = snap_registered_name(i);
        expect_name(rust, (int)i);
        snprintf(name, sizeof name, "RegisteredUpdateProof_%s", rust);
        expect_name(name, (int)i);
        snprintf(name, sizeof name, "%u", i);
        expect_name(name, (int)i);
        assert_true(snap_registered_by_name(&r, rust, strlen(rust)));
        assert_int_equal(r.sector_bytes, bytes[i]);
        assert_int_equal(r.api_version, 110);
    }
    assert_null(snap_registered_name(5));
    static const char *const bad[] = {"",
                                      "5",
                                      "9",
                                      "/",
                                      "00",
                                      "StackedDrg2KiBV1_1",
                                      "StackedDrgWindow2KiBV1",
                                      ":",
                                      "-1",
                                      "a0",
                                      "RegisteredUpdateProof_",
                                      "StackedDrg2KiBV",
                                      "StackedDrg2KiBV11"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) expect_name(bad[i], -1);
}

static fr from_le_hex(const char *hex) {
    uint8_t b[32];
    fr v;
    assert_true(text_unhex(b, 32, hex, 64));
    assert_true(fr_from_le_bytes(&v, b));
    return v;
}

/* Known answers of the update's own Poseidon instance. */
static void randomness(void **state) {
    (void)state;
    fr both[2], hash, want = from_le_hex("3c2fe9b59c5f0de453bbb6db5c84af5448c7d4c1fbf41830ab05dbaf9b872c70");
    fr_from_u64(&both[0], 1);
    fr_from_u64(&both[1], 2);
    poseidon_hash(snap_randomness(), &hash, both);
    assert_true(fr_eq(&hash, &want));
    snap_phi(&hash, &both[0], &both[1]);
    assert_true(fr_eq(&hash, &want));
    /* rho(H(1, 2)) of a node whose ten highest of 30 bits are 3 */
    snap_params p;
    fr phi = hash;
    assert_true(snap_params_for(&p, 32 * GIB, NULL));
    want = from_le_hex("0f52e60097ac78babd592d8cd02d33645de35fb5d9bf20a1bd5ae897d31f0a03");
    snap_rho(&p, &hash, &phi, 3u << 20);
    assert_true(fr_eq(&hash, &want));
    snap_rho(&p, &hash, &phi, (4u << 20) - 1);
    assert_true(fr_eq(&hash, &want));
    snap_rho(&p, &hash, &phi, 4u << 20);
    assert_false(fr_eq(&hash, &want));
    want = from_le_hex("bea95f3e83d91793d896586e724ec069769d6a43afcbab7b4d1f7f6506816f6d");
    poseidon_hash(poseidon_get(2), &hash, both);
    assert_true(fr_eq(&hash, &want));
}

static void challenges(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        unsigned k, n;
        uint64_t want[12];
    } lines[] = {{2048, 0, 10, {53, 51, 56, 3, 0, 50, 1, 43, 6, 43}},
                 {8 * MIB, 3, 10, {261984, 209458, 237198, 200614, 261196, 261744, 238271, 223190, 244524, 228852}},
                 {32 * GIB,
                  0,
                  12,
                  {1019125, 27985696, 15282860, 11586600, 44651330, 17848461, 33276198, 31464040, 27774185, 49099806,
                   44973887, 52606706}}};
    fr comm_r_new = from_le_hex("101cbe4b9c42604f04c703c396f788c6cb2d6d7d58f45430b12eb2edd640076c");
    uint64_t found[SNAP_MAX_CHALLENGES];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snap_params p;
        assert_true(snap_params_for(&p, lines[i].bytes, NULL));
        snap_challenges(&p, &comm_r_new, lines[i].k, found);
        for (unsigned j = 0; j < lines[i].n; j++) assert_int_equal(found[j], lines[i].want[j]);
    }
    /* Every challenge lies in its partition, whatever the size. */
    for (unsigned log2 = 10; log2 <= 36; log2++) {
        snap_params p;
        if (!snap_params_for(&p, (uint64_t)1 << log2, NULL)) continue;
        for (unsigned k = 0; k < p.partitions; k++) {
            snap_challenges(&p, &comm_r_new, k, found);
            for (unsigned j = 0; j < p.challenges; j++) assert_int_equal(found[j] >> p.random_bits, k);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(identifiers), cmocka_unit_test(sizes),
                                       cmocka_unit_test(registered), cmocka_unit_test(randomness),
                                       cmocka_unit_test(challenges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
