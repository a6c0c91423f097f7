/* Bincode of Merkle proofs: what is written is read again, byte for byte in the published order; every cut, every lying
 * length and every value out of range is refused with field and byte named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "format/vanilla_bincode.h"

#define MAX_SIBLINGS 64

typedef struct sample {
    merkle_form form;
    unsigned above;
    merkle_level levels[MERKLE_MAX_LEVELS];
    fr siblings[MAX_SIBLINGS];
    merkle_path path;
    uint8_t bytes[4096];
    size_t len;
} sample;

static const struct {
    uint64_t nodes;
    unsigned u, v, w, above;
    size_t bytes; /* published length */
} shapes[] = {{64, 8, 0, 0, 0, 556}, {512, 8, 8, 0, 1, 0}, {1024, 8, 8, 2, 2, 0}, {64, 2, 0, 0, 0, 76 + 48 * 6}};

static void make_sample(sample *s, size_t shape) {
    memset(s, 0, sizeof *s);
    assert_true(merkle_form_poseidon(&s->form, shapes[shape].nodes, shapes[shape].u, shapes[shape].v, shapes[shape].w));
    s->above = shapes[shape].above;
    fr *to = s->siblings;
    uint64_t value = 1000;
    fr_from_u64(&s->path.root, 1);
    fr_from_u64(&s->path.leaf, 2);
    s->path.level = s->levels;
    for (unsigned l = 0; l < s->form.levels; l++) {
        s->levels[l].siblings = to;
        s->levels[l].index = (l + 1) % s->form.arity[l];
        for (unsigned i = 0; i + 1 < s->form.arity[l]; i++) fr_from_u64(to++, value++);
    }
    s->len = bincode_merkle_proof_bytes(&s->form, s->above);
    assert_true(s->len <= sizeof s->bytes);
    bincode_writer w = {.data = s->bytes, .cap = s->len};
    bincode_put_merkle_proof(&w, &s->form, s->above, &s->path);
    assert_int_equal(w.at, s->len);
}

/* data is copied to memory of exactly its length, so that sanitizers see any read beyond it. */
static cuzk_status read_back(const sample *s, const uint8_t *data, size_t len, merkle_path *path,
                             merkle_level levels[MERKLE_MAX_LEVELS], fr siblings[MAX_SIBLINGS], cuzk_error *err) {
    bincode_reader b;
    uint8_t *exact = malloc(len ? len : 1);
    if (len) memcpy(exact, data, len);
    bincode_start(&b, "proof.bin", exact, len);
    bincode_enter(&b, "inclusion proof", 7);
    memset(err, 0, sizeof *err);
    cuzk_status st = bincode_merkle_proof(&b, &s->form, s->above, levels, siblings, path, err);
    if (st == CUZK_OK) bincode_leave(&b);
    if (st == CUZK_OK) st = bincode_end(&b, err);
    free(exact);
    return st;
}

static void round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        sample s;
        merkle_path path;
        merkle_level levels[MERKLE_MAX_LEVELS];
        fr siblings[MAX_SIBLINGS];
        cuzk_error err;
        make_sample(&s, i);
        if (shapes[i].bytes) assert_int_equal(s.len, shapes[i].bytes);
        assert_int_equal(read_back(&s, s.bytes, s.len, &path, levels, siblings, &err), CUZK_OK);
        assert_true(fr_eq(&path.root, &s.path.root));
        assert_true(fr_eq(&path.leaf, &s.path.leaf));
        assert_ptr_equal(path.level, levels);
        for (unsigned l = 0; l < s.form.levels; l++) {
            assert_int_equal(levels[l].index, s.levels[l].index);
            assert_memory_equal(levels[l].siblings, s.levels[l].siblings, (s.form.arity[l] - 1u) * sizeof(fr));
        }
    }
}

/* Single has root and leaf before its path, Sub and Top after. */
static void order(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        sample s;
        make_sample(&s, i);
        assert_int_equal(s.bytes[0], shapes[i].above);
        size_t root = shapes[i].above == 0 ? 4 : s.len - 64;
        assert_int_equal(s.bytes[root], 1);
        assert_int_equal(s.bytes[root + 32], 2);
        size_t path = shapes[i].above == 0 ? 68 : 4;
        assert_int_equal(s.bytes[path], s.form.levels - shapes[i].above);
        assert_int_equal(s.bytes[path + 8], 7);
        assert_int_equal(s.bytes[path + 16] | s.bytes[path + 17] << 8, 1000);
        assert_int_equal(s.bytes[path + 16 + 7 * 32], 1); /* level 0's index */
    }
}

static void cuts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        sample s;
        merkle_path path;
        merkle_level levels[MERKLE_MAX_LEVELS];
        fr siblings[MAX_SIBLINGS];
        cuzk_error err;
        make_sample(&s, i);
        for (size_t len = 0; len < s.len; len++) {
            assert_int_equal(read_back(&s, s.bytes, len, &path, levels, siblings, &err), CUZK_MALFORMED);
            assert_non_null(strstr(err.what, "cut off"));
            assert_non_null(strstr(err.where, "proof.bin: byte "));
        }
        assert_int_equal(read_back(&s, s.bytes, s.len + 1, &path, levels, siblings, &err), CUZK_MALFORMED);
        assert_non_null(strstr(err.what, "follow"));
    }
}

static void expect_refused(const sample *s, size_t at, const void *bytes, size_t n, const char *where) {
    merkle_path path;
    merkle_level levels[MERKLE_MAX_LEVELS];
    fr siblings[MAX_SIBLINGS];
    cuzk_error err;
    uint8_t changed[sizeof s->bytes];
    memcpy(changed, s->bytes, s->len);
    memcpy(changed + at, bytes, n);
    assert_int_equal(read_back(s, changed, s->len, &path, levels, siblings, &err), CUZK_MALFORMED);
    assert_string_equal(err.where, where);
    assert_int_not_equal(err.what[0], 0);
}

static void lies(void **state) {
    (void)state;
    static const uint8_t huge[8] = {255, 255, 255, 255, 255, 255, 255, 255}, three[8] = {3}, eight[8] = {8},
                         two[8] = {2};
    uint8_t modulus[32] = {1,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xfe, 0x5b, 0xfe,
                           0xff, 0x02, 0xa4, 0xbd, 0x53, 0x05, 0xd8, 0xa1, 0x09, 0x08, 0xd8,
                           0x39, 0x33, 0x48, 0x7d, 0x9d, 0x29, 0x53, 0xa7, 0xed, 0x73};
    sample s;
    make_sample(&s, 0);
    expect_refused(&s, 0, three, 4, "proof.bin: byte 0, inclusion proof 7, kind of tree");
    expect_refused(&s, 4, modulus, 32, "proof.bin: byte 4, inclusion proof 7, root");
    expect_refused(&s, 36, modulus, 32, "proof.bin: byte 36, inclusion proof 7, leaf");
    expect_refused(&s, 68, huge, 8, "proof.bin: byte 68, inclusion proof 7, path of the base tree, number of levels");
    expect_refused(&s, 68, three, 8, "proof.bin: byte 68, inclusion proof 7, path of the base tree, number of levels");
    expect_refused(&s, 76, huge, 8,
                   "proof.bin: byte 76, inclusion proof 7, path of the base tree, level 0, number of hashes");
    expect_refused(&s, 84 + 3 * 32, modulus, 32,
                   "proof.bin: byte 180, inclusion proof 7, path of the base tree, level 0, hash");
    expect_refused(&s, 308, eight, 8, "proof.bin: byte 308, inclusion proof 7, path of the base tree, level 0, index");
    expect_refused(&s, 548, huge, 8, "proof.bin: byte 548, inclusion proof 7, path of the base tree, level 1, index");
    make_sample(&s, 2);
    size_t sub = 4 + 8 + 2 * 240, top = sub + 8 + 240;
    char where[128];
    expect_refused(&s, 0, two + 1, 4, "proof.bin: byte 0, inclusion proof 7, kind of tree");
    snprintf(where, sizeof where, "proof.bin: byte %zu, inclusion proof 7, path of the sub tree, number of levels",
             sub);
    expect_refused(&s, sub, two, 8, where);
    snprintf(where, sizeof where, "proof.bin: byte %zu, inclusion proof 7, path of the top tree, level 0, index",
             top + 8 + 40);
    expect_refused(&s, top + 8 + 40, two, 8, where);
    snprintf(where, sizeof where, "proof.bin: byte %zu, inclusion proof 7, root", s.len - 64);
    expect_refused(&s, s.len - 64, modulus, 32, where);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(order), cmocka_unit_test(cuts),
                                       cmocka_unit_test(lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
