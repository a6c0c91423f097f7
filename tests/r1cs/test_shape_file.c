/* Shape files: what was saved comes back; damaged, truncated and hostile files are refused or harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/random.h"
#include "r1cs/witness.h"
#include "ref/random_circuit.h"
#include "ref/shape_sign.h"

static cuzk_error err;
static char path[] = "/tmp/cuzk-shape-XXXXXX";

#define OK(call) assert_string_equal(cuzk_status_name(call), "CUZK_OK")

static int make_path(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0;
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

static const random_circuit circuits[] = {
    {.seed = 1},
    {.seed = 2, .prologue = 50},
    {.seed = 3, .prologue = 30, .block = 80, .epilogue = 30, .count = 7},
    {.seed = 5, .prologue = 60, .block = 80, .epilogue = 30, .count = 7, .params = 5},
    {.seed = 4, .prologue = 500, .block = 2000, .epilogue = 500, .count = 2, .many_coeffs = true},
};

static void assert_same(const shape *a, const shape *b) {
    uint8_t da[32], db[32];
    cs_counts na = shape_counts(a), nb = shape_counts(b);
    assert_memory_equal(&na, &nb, sizeof na);
    assert_int_equal(shape_bytes(a), shape_bytes(b));
    assert_int_equal(shape_fields(a), shape_fields(b));
    OK(shape_hash(a, da, NULL, NULL, NULL, &err));
    OK(shape_hash(b, db, NULL, NULL, NULL, &err));
    assert_memory_equal(da, db, 32);
    for (int kind = 0; kind < SHAPE_BITMAPS; kind++) {
        for (uint64_t at = 0; at < na.aux; at += 64) {
            uint64_t wa, wb;
            shape_bitmap(a, (shape_bitmap_kind)kind, at, 64, &wa);
            shape_bitmap(b, (shape_bitmap_kind)kind, at, 64, &wb);
            assert_int_equal(wa, wb);
        }
    }
    for (uint32_t i = 0; i < na.inputs; i++) assert_int_equal(shape_input_in_b(a, i), shape_input_in_b(b, i));
}

static void test_round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++) {
        shape *a, *b;
        witness w;
        uint64_t instance = 9, first_bad;
        OK(shape_record(&a, random_circuit_run, &circuits[i], NULL, &err));
        OK(shape_save(a, path, &err));
        OK(shape_open(&b, path, &err));
        assert_same(a, b);
        OK(witness_write(&w, b, random_circuit_run, &circuits[i], &instance, &err));
        OK(witness_check(&w, b, &first_bad, NULL, NULL, &err));
        assert_int_equal(first_bad, UINT64_MAX);
        witness_free(&w);
        shape_destroy(a);
        shape_destroy(b);
    }
}

/* The file of circuits[i] in memory. */
static uint8_t *saved(size_t i, size_t *bytes) {
    shape *s;
    buffer file;
    OK(shape_record(&s, random_circuit_run, &circuits[i], NULL, &err));
    OK(shape_save(s, path, &err));
    shape_destroy(s);
    OK(file_read(&file, path, (size_t)64 << 20, &err));
    uint8_t *copy = malloc(file.bytes);
    memcpy(copy, file.data, file.bytes);
    *bytes = file.bytes;
    buffer_free(&file);
    return copy;
}

/* Over the old content: some file systems flush to disk when a file that was cut to nothing is closed. */
static void put(const uint8_t *data, size_t bytes) {
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, bytes, 0), bytes);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(close(fd), 0);
}

static void assert_refused(const uint8_t *data, size_t bytes) {
    shape *s;
    put(data, bytes);
    memset(&err, 0, sizeof err);
    assert_int_equal(shape_open(&s, path, &err), CUZK_MALFORMED);
    assert_string_not_equal(err.what, "");
    assert_non_null(strstr(err.where, path));
}

static void test_damaged(void **state) {
    (void)state;
    size_t bytes;
    uint8_t *file = saved(2, &bytes);
    for (size_t at = 0; at < bytes; at += at < SHAPE_FILE_HEADER ? 1 : 97) {
        file[at] ^= (uint8_t)(1 << (at % 8));
        assert_refused(file, bytes);
        file[at] ^= (uint8_t)(1 << (at % 8));
    }
    for (size_t n = 0; n < bytes; n += n < 1000 ? 31 : 1009) assert_refused(file, n);
    assert_refused(file, bytes - 1);
    uint8_t *longer = calloc(bytes + 64, 1);
    memcpy(longer, file, bytes);
    assert_refused(longer, bytes + 64);
    free(longer);
    file[8] ^= 2; /* the format's version, all else right */
    shape_sign(file, bytes);
    assert_refused(file, bytes);
    assert_string_equal(err.what, "the shape file has another version");
    shape *s;
    assert_int_equal(shape_open(&s, "/nonexistent/shape", &err), CUZK_IO);
    free(file);
}

/* Uses all that an accepted shape offers. Nothing of it has to be right; nothing may be read or written outside. */
static void use(const shape *s) {
    cs_counts n = shape_counts(s);
    if (n.aux > 1 << 20 || n.inputs > 1 << 20) return;
    witness w = {.n_inputs = (uint32_t)n.inputs, .n_aux = n.aux, .n_fields = shape_fields(s)};
    fr out[300];
    w.inputs = calloc(n.inputs, sizeof(fr));
    w.fields = calloc(shape_fields(s) + 1, sizeof(fr));
    w.bits = calloc(n.aux / 64 + 1, 8);
    memset(w.bits, 0x5a, n.aux / 8);
    uint64_t rows = shape_rows(s), step = rows / 50 < 300 ? 300 : rows / 50;
    for (int m = 0; m < 3; m++)
        for (uint64_t at = 0; at < rows; at += step) shape_eval(s, (shape_matrix)m, &w, at, 300, out);
    for (int kind = 0; kind < SHAPE_BITMAPS; kind++) {
        uint64_t word;
        for (uint64_t at = 0; at < n.aux; at += 64) shape_bitmap(s, (shape_bitmap_kind)kind, at, 64, &word);
        shape_rank(s, (shape_bitmap_kind)kind, n.aux);
    }
    free(w.inputs);
    free(w.fields);
    free(w.bits);
}

/* Changes behind right digests: only the checks of sizes and indices are left. */
static void test_hostile(void **state) {
    (void)state;
    uint64_t seed = 0;
    unsigned accepted = 0, refused = 0;
    OK(random_bytes(&seed, sizeof seed, &err));
    print_message("seed %llu\n", (unsigned long long)seed);
    srand48((long)seed);
    for (size_t which = 1; which < 4; which++) {
        size_t bytes;
        uint8_t *file = saved(which, &bytes), *changed = malloc(bytes);
        for (int round = 0; round < 1500; round++) {
            memcpy(changed, file, bytes);
            for (long k = 1 + lrand48() % 3; k > 0; k--) {
                size_t at = (size_t)lrand48() % (round % 2 == 0 ? SHAPE_FILE_LENGTH_AT : bytes);
                changed[at] = lrand48() % 3 == 0 ? 0xff : (uint8_t)lrand48();
            }
            shape_sign(changed, bytes);
            put(changed, bytes);
            shape *s;
            cuzk_status status = shape_open(&s, path, &err);
            if (status == CUZK_OK) {
                use(s);
                shape_destroy(s);
                accepted++;
            } else {
                assert_int_equal(status, CUZK_MALFORMED);
                refused++;
            }
        }
        free(changed);
        free(file);
    }
    print_message("%u accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 0 && refused > accepted / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
