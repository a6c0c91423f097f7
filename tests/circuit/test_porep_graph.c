/* Parents, challenges, labels, replica id and whole small sectors against the published values.
 * Source of the values: the tests of rust-fil-proofs 19.1 (labels, synthetic challenges), and sectors worked out by a
 * model of the circuit in Python, whose digests rust-fil-proofs confirmed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "circuit/porep/graph.h"
#include "ref/porep_sector.h"

static void unhex32(uint8_t out[32], const char *hex) {
    assert_true(text_unhex(out, 32, hex, strlen(hex)));
}

/* The last label of layer 11 where node's parents are nodes of a graph of its own. */
static void last_label(uint8_t out[32], uint64_t nodes, unsigned api, uint8_t porep_id_byte) {
    enum { LAYERS = 11 };
    uint8_t porep_id[32], replica_id[32];
    memset(porep_id, porep_id_byte, 32);
    memset(replica_id, 9, 32);
    porep_graph g;
    porep_graph_init(&g, nodes, api, porep_id);
    uint8_t(*now)[32] = calloc(nodes, 32), (*below)[32] = calloc(nodes, 32);
    for (unsigned layer = 1; layer <= LAYERS; layer++) {
        for (uint64_t node = 0; node < nodes; node++) {
            uint64_t parents[POREP_PARENTS];
            uint8_t values[POREP_PARENTS][32];
            porep_graph_parents(&g, node, parents);
            for (unsigned i = 0; i < POREP_PARENTS; i++)
                memcpy(values[i], i < POREP_DRG_PARENTS ? now[parents[i]] : below[parents[i]], 32);
            porep_label(now[node], replica_id, layer, node, (const uint8_t(*)[32])values, layer == 1 ? 6 : 14);
        }
        memcpy(below, now, nodes * 32);
    }
    memcpy(out, now[nodes - 1], 32);
    free(now);
    free(below);
}

static void test_labels(void **state) {
    (void)state;
    static const struct {
        uint64_t nodes;
        unsigned api;
        uint8_t porep_id;
        uint64_t limbs[4];
    } known[] = {
        {64, 100, 0, {0xd3faa96b9a0fba04, 0xea81a283d106485e, 0xe3d51b9afa5ac2b3, 0x0462f4f4f1a68d37}},
        {64, 110, 123, {0xabb3f38bb70defcf, 0x777a2e4d7769119f, 0x3448959d495490bc, 0x06021188c7a71cb5}},
        {64, 120, 123, {0xabb3f38bb70defcf, 0x777a2e4d7769119f, 0x3448959d495490bc, 0x06021188c7a71cb5}},
        {128, 100, 0, {0x7e191e52c4a8da86, 0x5ae8a1c9e6fac148, 0xce239f3b88a894b8, 0x234c00d1dc1d53be}},
        {128, 110, 123, {0x22ab81cf68c4676d, 0x7a77a82fc7c9c189, 0xc6c03d32c1e42d23, 0x0f777c18cc2c55bd}},
        {128, 120, 123, {0x22ab81cf68c4676d, 0x7a77a82fc7c9c189, 0xc6c03d32c1e42d23, 0x0f777c18cc2c55bd}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint8_t label[32];
        last_label(label, known[i].nodes, known[i].api, known[i].porep_id);
        for (int l = 0; l < 4; l++) {
            uint64_t v = 0;
            for (int k = 7; k >= 0; k--) v = v << 8 | label[8 * l + k];
            assert_int_equal(v, known[i].limbs[l]);
        }
    }
}

static void test_synthetic_challenges(void **state) {
    (void)state;
    static const uint64_t chosen[10] = {176, 781, 801, 986, 290, 211, 692, 856, 986, 332};
    uint8_t replica_id[32] = {55}, comm_r[32] = {101}, seed[32];
    memset(seed, 1, 32);
    porep_params p;
    assert_true(porep_params_custom(&p, 1024, 8, 8, 2, 2, 10));
    p.synthetic = true;
    uint64_t out[10];
    porep_synthetic_challenges(&p, 21, replica_id, comm_r, seed, 0, out);
    assert_memory_equal(out, chosen, sizeof chosen);
    /* A later partition goes on where the first ends. */
    uint64_t two[5];
    p.challenges = 5;
    porep_synthetic_challenges(&p, 21, replica_id, comm_r, seed, 1, two);
    assert_memory_equal(two, chosen + 5, sizeof two);
}

static void test_replica_id(void **state) {
    (void)state;
    /* Worked sectors below check the value; here: every field counts, and byte order of the sector number. */
    uint8_t a[32], b[32], in[4][32] = {{1}, {2}, {3}, {4}};
    porep_replica_id(a, in[0], 1, in[1], in[2], in[3]);
    assert_true((a[31] & 0xc0) == 0);
    porep_replica_id(b, in[0], (uint64_t)1 << 56, in[1], in[2], in[3]);
    assert_memory_not_equal(a, b, 32);
    for (int i = 0; i < 4; i++) {
        in[i][31] ^= 1;
        porep_replica_id(b, in[0], 1, in[1], in[2], in[3]);
        assert_memory_not_equal(a, b, 32);
        in[i][31] ^= 1;
    }
}

static void test_prover_id(void **state) {
    (void)state;
    uint8_t id[32], want[32];
    uint64_t back;
    unhex32(want, "a695070000000000000000000000000000000000000000000000000000000000");
    porep_prover_id(id, 117414);
    assert_memory_equal(id, want, 32);
    static const uint64_t miners[] = {0, 1, 127, 128, 1000, 117414, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof miners / sizeof miners[0]; i++) {
        porep_prover_id(id, miners[i]);
        assert_true(porep_miner_id(&back, id));
        assert_int_equal(back, miners[i]);
    }
    memset(id, 1, 32); /* more after the number */
    assert_false(porep_miner_id(&back, id));
    memset(id, 0, 32);
    id[0] = 0x80; /* overlong zero */
    assert_false(porep_miner_id(&back, id));
    memset(id, 0xff, 32);
    assert_false(porep_miner_id(&back, id));
}

typedef struct worked {
    uint64_t nodes;
    unsigned v, w;
    const char *replica_id, *comm_d, *comm_c, *comm_r_last, *comm_r;
    uint64_t challenges[2], parents[2][14];
} worked;

static const worked sectors[] = {
    {64,
     0,
     0,
     "8d5a0d6d45b9f2866f5bd5bd238ab374e87d7522715e6284f007c66d2a161e35",
     "e6953b29756cee249c4d2aa5377b630a3bfda1af3e04a8d20cff60814d3e8e32",
     "f283b23c632cf98181f55128e9b7905810584e78d54b901d199c54595a58b570",
     "71078af928d435e823c9cd37e9760457e7d78474aafb75dc08d1c1d0cf9dfe6c",
     "289bb0e54039750dfc10bb205c582d3a952f53de7a0df24fc7d4f86f0a782e36",
     {63, 39},
     {{62, 15, 42, 62, 61, 62, 0, 15, 30, 30, 28, 42, 49, 38},
      {38, 38, 38, 38, 35, 5, 15, 61, 52, 21, 29, 26, 15, 22}}},
    {512,
     8,
     0,
     "e55484ee8461bd86bf89f127a3aff4ee2b386ec1b4667f1fb5de3c1dbb6cb51b",
     "1fb0bacf0c99c6b463f40183769b8ddaa95d68256b4adb23845e43fb4fa5b909",
     "d49d39fefa68a421f23a51557c1cf294ef78f88aacac3f42b1ca61bbe263d269",
     "c8b412d8667d0f95721bd8e6431005d13464371f2a92615241fa67a3e0b2da2b",
     "17bd17d22822802ea2715bfca28dcc7e31afd549ecc16bcc38e9768daf5a1929",
     {413, 253},
     {{412, 412, 399, 390, 411, 409, 504, 166, 228, 151, 215, 242, 99, 356},
      {252, 249, 252, 252, 136, 240, 169, 171, 366, 23, 274, 84, 104, 507}}},
    {1024,
     8,
     2,
     "173ffd83750311c750d967d0b9da5ff65a6f57b72a3c1a3495ca70b380279c07",
     "cea56fc9fcd250aa305dd8fbb3bb3c989cd4f71f39b0446b15d5e5141ee79f1e",
     "afea20a067c3b2a0258261db8b1d720e1c133d6856b344fd36a862bf648eec20",
     "418e526040c2dd30eeed71b4c5ef5441c9bff8909ac44e92674b6c76365a3069",
     "2f0d2a6928216138bb14491c27912a181537a2a46c002d5d4b920f50ef626472",
     {52, 184},
     {{51, 43, 50, 51, 49, 39, 1013, 551, 499, 222, 401, 808, 497, 579},
      {183, 180, 179, 183, 178, 183, 835, 1021, 675, 308, 357, 535, 1021, 364}}},
};

static void same_value(const fr *v, const char *hex) {
    uint8_t want[32], got[32];
    unhex32(want, hex);
    fr_to_le_bytes(got, v);
    assert_memory_equal(got, want, 32);
}

static void test_worked_sectors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sectors / sizeof sectors[0]; i++) {
        const worked *w = &sectors[i];
        cuzk_error err;
        arena *a = arena_create(BUFFER_OTHER, 0, &err);
        assert_non_null(a);
        porep_params p;
        porep_request facts;
        porep_sector s;
        porep_c1 c1;
        assert_true(porep_params_custom(&p, w->nodes, 8, w->v, w->w, 2, 2));
        porep_sector_worked_facts(&facts, "StackedDrg2KiBV1_1");
        porep_sector_seal(&s, a, &p, &facts);
        uint8_t want[32];
        unhex32(want, w->replica_id);
        assert_memory_equal(s.replica_id, want, 32);
        same_value(&s.comm_d, w->comm_d);
        same_value(&s.comm_c, w->comm_c);
        same_value(&s.comm_r_last, w->comm_r_last);
        same_value(&s.comm_r, w->comm_r);
        porep_sector_prove(&c1, a, &s);
        for (unsigned k = 0; k < 2; k++) {
            const porep_challenge *c = &c1.partitions[0].challenges[k];
            assert_int_equal(c->x.index, w->challenges[k]);
            for (unsigned n = 0; n < 14; n++) assert_int_equal(porep_column_of(c, n + 1)->index, w->parents[k][n]);
        }
        porep_job j = {.registered = facts.registered, .params = &p, .partitions = c1.partitions, .n_partitions = 1};
        memcpy(j.replica_id, s.replica_id, 32);
        memcpy(j.comm_r, s.facts.comm_r, 32);
        memcpy(j.seed, facts.seed, 32);
        assert_int_equal(porep_vanilla_check(&j, NULL, NULL, &err), CUZK_OK);
        arena_destroy(a);
    }
}

static void test_parents_edges(void **state) {
    (void)state;
    uint8_t porep_id[32] = {8};
    static const unsigned apis[] = {100, 110, 120};
    for (unsigned i = 0; i < 3; i++) {
        porep_graph g;
        uint64_t nodes = (uint64_t)1 << 31, out[POREP_PARENTS];
        porep_graph_init(&g, nodes, apis[i], porep_id);
        for (uint64_t node = 0; node < 2; node++) {
            porep_graph_parents(&g, node, out);
            for (int k = 0; k < POREP_DRG_PARENTS; k++) assert_int_equal(out[k], 0);
        }
        for (uint64_t node = nodes - 100; node < nodes; node++) {
            porep_graph_parents(&g, node, out);
            assert_int_equal(out[apis[i] == 100 ? POREP_DRG_PARENTS - 1 : 0], node - 1);
            for (int k = 0; k < POREP_DRG_PARENTS; k++) assert_true(out[k] < node);
            for (int k = POREP_DRG_PARENTS; k < POREP_PARENTS; k++) assert_true(out[k] < nodes);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),        cmocka_unit_test(test_synthetic_challenges),
        cmocka_unit_test(test_replica_id),    cmocka_unit_test(test_prover_id),
        cmocka_unit_test(test_parents_edges), cmocka_unit_test(test_worked_sectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
