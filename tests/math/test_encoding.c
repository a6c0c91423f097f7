/* Point encodings: the golden decoding cases by every CPU version, round trips, damaged bytes. */
#include <assert.h>
#include "math/math_vectors.h"

/* What the decoder must say. The golden results come from a decoder that takes any first byte with bit 7 for a
 * compressed point, also in an uncompressed slot, and looks at the first half only; ours refuses that form. */
static bool status_fits(point_status s, const char *result, const char *form, uint8_t first) {
    if (strcmp(form, "uncompressed") == 0 && (first & 0x80)) return s == POINT_BAD_FLAGS;
    if (strcmp(result, "ok") == 0) return s == POINT_OK;
    if (strcmp(result, "BLST_BAD_ENCODING") == 0) return s == POINT_BAD_FLAGS || s == POINT_COORDINATE_RANGE;
    if (strcmp(result, "BLST_POINT_NOT_ON_CURVE") == 0) return s == POINT_NOT_ON_CURVE;
    if (strcmp(result, "BLST_POINT_NOT_IN_GROUP") == 0 || strcmp(result, "not in subgroup") == 0)
        return s == POINT_NOT_IN_SUBGROUP;
    fail_msg("unknown result %s", result);
    return false;
}

static void decode_fr(const json_node *line, bool ok) {
    uint8_t b[32], again[32];
    fr a = {{0}};
    assert_int_equal(vector_bytes(b, 32, json_member(line, "bytes")), 32);
    assert_int_equal(fr_from_be_bytes(&a, b), ok);
    if (!ok) return;
    fr_to_be_bytes(again, &a);
    assert_memory_equal(again, b, 32);
}

#define DECODE_CASE(g, BYTES)                                                                                          \
    static void decode_##g(const json_node *line, const char *form, const char *result) {                              \
        uint8_t b[BYTES], again[BYTES], want[BYTES];                                                                   \
        bool compressed = strcmp(form, "compressed") == 0;                                                             \
        size_t len = vector_bytes(b, sizeof b, json_member(line, "bytes")), n;                                         \
        assert_int_equal(len, compressed ? BYTES / 2 : BYTES);                                                         \
        const struct math_kernels *const *all = math_kernels_all(&n);                                                  \
        for (size_t k = 0; k < n; k++) {                                                                               \
            const struct encoding_kernels *e = all[k]->encoding;                                                       \
            g##_affine p, q;                                                                                           \
            memset(&p, 0x55, sizeof p);                                                                                \
            point_status s = compressed ? e->g##_decode_compressed(&p, b, SUBGROUP_CHECK)                              \
                                        : e->g##_decode_uncompressed(&p, b, SUBGROUP_CHECK);                           \
            if (!status_fits(s, result, form, b[0]))                                                                   \
                fail_msg("%s %s %s: %s", #g, form, json_member(line, "case")->text, point_status_text(s));             \
            point_status unchecked = compressed ? e->g##_decode_compressed(&q, b, SUBGROUP_SKIP)                       \
                                                : e->g##_decode_uncompressed(&q, b, SUBGROUP_SKIP);                    \
            assert_int_equal(unchecked, s == POINT_NOT_IN_SUBGROUP ? POINT_OK : s);                                    \
            if (s != POINT_OK) {                                                                                       \
                assert_true(g##_affine_is_infinity(&p));                                                               \
                continue;                                                                                              \
            }                                                                                                          \
            assert_int_equal(vector_bytes(want, sizeof want, json_member(line, "point")), BYTES);                      \
            g##_encode_uncompressed(again, &p);                                                                        \
            assert_memory_equal(again, want, BYTES);                                                                   \
            if (compressed) g##_encode_compressed(again, &p);                                                          \
            assert_memory_equal(again, b, len);                                                                        \
        }                                                                                                              \
    }
DECODE_CASE(g1, 96)
DECODE_CASE(g2, 192)

static void golden_cases(void **state) {
    (void)state;
    size_t offset = 0, lines = 0, refused_form = 0;
    json_node *line;
    arena *ar;
    for (; (ar = test_next_line("decoding.jsonl", &offset, &line)) != NULL; lines++) {
        const char *curve = json_member(line, "curve")->text, *form = json_member(line, "form")->text,
                   *result = json_member(line, "result")->text;
        bool ok = json_member(line, "ok")->kind == JSON_TRUE;
        if (strcmp(curve, "fr") == 0) {
            decode_fr(line, ok);
        } else if (strcmp(curve, "g1") == 0) {
            decode_g1(line, form, result);
        } else {
            decode_g2(line, form, result);
        }
        refused_form += ok && strstr(json_member(line, "case")->text, "in the uncompressed form") != NULL;
        arena_destroy(ar);
    }
    assert_true(lines >= 240);
    assert_true(refused_form >= 6);
}

/* Random points survive both forms; one changed bit is refused, or means another point that encodes to exactly those
 * bytes. */
#define ROUND_TRIP(g, BYTES)                                                                                           \
    static void round_trip_##g(void **state) {                                                                         \
        (void)state;                                                                                                   \
        g##_affine gen, p, q, many[5];                                                                                 \
        g j;                                                                                                           \
        uint8_t b[BYTES], again[BYTES], slab[5 * BYTES];                                                               \
        g##_generator_affine(&gen);                                                                                    \
        g##_from_affine(&j, &gen);                                                                                     \
        for (int i = 0; i < 25; i++) {                                                                                 \
            fr_canon k = test_scalar();                                                                                \
            g t;                                                                                                       \
            g##_mul(&t, &j, &k);                                                                                       \
            g##_to_affine(&p, &t);                                                                                     \
            for (int compressed = 0; compressed < 2; compressed++) {                                                   \
                size_t len = compressed ? BYTES / 2 : BYTES;                                                           \
                for (int flip = -1; flip < 12; flip++) {                                                               \
                    compressed ? g##_encode_compressed(b, &p) : g##_encode_uncompressed(b, &p);                        \
                    size_t bit = chacha_u64(&test_rng) % (8 * len);                                                    \
                    if (flip >= 0 && flip < 8) bit = (size_t)flip;                                                     \
                    if (flip >= 0) b[bit / 8] ^= (uint8_t)(1u << (bit % 8));                                           \
                    point_status s = compressed ? g##_decode_compressed(&q, b, SUBGROUP_SKIP)                          \
                                                : g##_decode_uncompressed(&q, b, SUBGROUP_SKIP);                       \
                    if (flip < 0) assert_true(s == POINT_OK && g##_affine_eq(&p, &q));                                 \
                    if (flip >= 0 && !compressed) assert_true(s != POINT_OK);                                          \
                    if (flip == 6 || flip == 7) assert_int_equal(s, POINT_BAD_FLAGS);                                  \
                    if (s != POINT_OK) continue;                                                                       \
                    assert_true(g##_affine_on_curve(&q));                                                              \
                    compressed ? g##_encode_compressed(again, &q) : g##_encode_uncompressed(again, &q);                \
                    assert_memory_equal(again, b, len);                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        size_t bad;                                                                                                    \
        for (int i = 0; i < 5; i++) g##_encode_uncompressed(slab + i * BYTES, &p);                                     \
        assert_int_equal(g##_load_many(many, slab, 5, SUBGROUP_CHECK, &bad), POINT_OK);                                \
        assert_int_equal(bad, 5);                                                                                      \
        for (int i = 0; i < 5; i++) assert_true(g##_affine_eq(&many[i], &p));                                          \
        slab[3 * BYTES + 20] ^= 1;                                                                                     \
        assert_int_equal(g##_load_many(many, slab, 5, SUBGROUP_SKIP, &bad), POINT_NOT_ON_CURVE);                       \
        assert_int_equal(bad, 3);                                                                                      \
    }
ROUND_TRIP(g1, 96)
ROUND_TRIP(g2, 192)

static void status_texts(void **state) {
    (void)state;
    for (int s = POINT_OK; s <= POINT_NOT_IN_SUBGROUP; s++) assert_true(strlen(point_status_text((point_status)s)) > 5);
    assert_string_equal(point_status_text((point_status)99), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),
        cmocka_unit_test(round_trip_g1),
        cmocka_unit_test(round_trip_g2),
        cmocka_unit_test(status_texts),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
