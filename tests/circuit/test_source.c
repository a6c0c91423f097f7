/* Jobs from memory: the same as from files, with nothing kept of what was given, and with bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "circuit/job.h"

#define MAX_VANILLA 4

typedef struct set {
    const char *kind, *c1, *request, *vanilla[MAX_VANILLA];
    size_t n;
} set;

static const set sets[] = {
    {"porep", TEST_DATA "/porep-2kib-a/c1.json", NULL, {0}, 0},
    {"winning-post",
     NULL,
     TEST_DATA "/winning-post-2kib-a/request.json",
     {TEST_DATA "/winning-post-2kib-a/vanilla-0.bin"},
     1},
    {"window-post",
     NULL,
     TEST_DATA "/window-post-2kib-2/request.json",
     {TEST_DATA "/window-post-2kib-2/vanilla-0.bin", TEST_DATA "/window-post-2kib-2/vanilla-1.bin"},
     2},
    {"snap", NULL, TEST_DATA "/snap-2kib-a/request.json", {TEST_DATA "/snap-2kib-a/vanilla-0.bin"}, 1},
};

/* The bytes in memory that is exactly as large, so that a sanitizer sees a read beyond. */
static job_source in_memory(const char *path) {
    if (!path) return (job_source){0};
    buffer b;
    cuzk_error err;
    assert_int_equal(file_read(&b, path, (size_t)1 << 30, &err), CUZK_OK);
    void *copy = malloc(b.bytes);
    memcpy(copy, b.data, b.bytes);
    job_source s = {.data = copy, .bytes = b.bytes};
    buffer_free(&b);
    return s;
}

static void gone(const job_source *s) {
    if (!s->data) return;
    memset((void *)(uintptr_t)s->data, 0x5a, s->bytes); /* whoever kept a pointer reads nonsense */
    free((void *)(uintptr_t)s->data);
}

static void same_as_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const set *x = &sets[i];
        uint64_t before = buffer_total_stats().live_bytes;
        cuzk_error err = {0};
        job from_files, from_memory;
        job_source paths[MAX_VANILLA] = {{0}}, bytes[MAX_VANILLA] = {{0}};
        for (size_t k = 0; k < x->n; k++) paths[k].path = x->vanilla[k], bytes[k] = in_memory(x->vanilla[k]);
        job_files a = {.c1.path = x->c1, .request.path = x->request, .vanilla = paths, .n_vanilla = x->n};
        job_files b = {.c1 = in_memory(x->c1), .request = in_memory(x->request), .vanilla = bytes, .n_vanilla = x->n};
        assert_int_equal(job_open(&from_files, x->kind, &a, false, &err), CUZK_OK);
        assert_int_equal(job_open_kind(&from_memory, circuit_kind_find(x->kind), &b, false, &err), CUZK_OK);
        gone(&b.c1);
        gone(&b.request);
        for (size_t k = 0; k < x->n; k++) gone(&bytes[k]);
        assert_int_equal(from_memory.partitions, from_files.partitions);
        assert_string_equal(from_memory.circuit.name, from_files.circuit.name);
        const circuit_kind *kind = from_memory.circuit.kind;
        assert_int_equal(kind->job_check(&from_memory, NULL, NULL, &err), CUZK_OK);
        size_t n = kind->public_count(&from_memory.circuit);
        fr *p = calloc(n, sizeof *p), *q = calloc(n, sizeof *q);
        for (unsigned k = 0; k < from_files.partitions; k++) {
            kind->public_inputs(&from_files, k, p);
            kind->public_inputs(&from_memory, k, q);
            assert_memory_equal(p, q, n * sizeof *p);
        }
        free(p);
        free(q);
        job_close(&from_files);
        job_close(&from_memory);
        assert_int_equal(buffer_total_stats().live_bytes, before);
    }
}

/* An error says which of the inputs it is about, by its name where it has one. */
static void names_in_errors(void **state) {
    (void)state;
    job j;
    cuzk_error err = {0};
    job_source request = {.data = "{", .bytes = 1}, vanilla[2] = {{.data = "", .bytes = 0}, {.data = "x", .bytes = 1}};
    job_files files = {.request = request, .vanilla = vanilla, .n_vanilla = 1};
    assert_int_equal(job_open(&j, "winning-post", &files, false, &err), CUZK_MALFORMED);
    assert_int_equal(strncmp(err.where, "request", 7), 0);
    files.request.path = "job 7's request";
    assert_int_equal(job_open(&j, "winning-post", &files, false, &err), CUZK_MALFORMED);
    assert_int_equal(strncmp(err.where, "job 7's request", 15), 0);
    files.request = in_memory(sets[1].request);
    assert_int_equal(job_open(&j, "winning-post", &files, false, &err), CUZK_MALFORMED);
    assert_int_equal(strncmp(err.where, "vanilla 0", 9), 0);
    vanilla[0] = (job_source){0};
    assert_int_equal(job_open(&j, "winning-post", &files, false, &err), CUZK_MALFORMED);
    gone(&files.request);
    files = (job_files){.c1 = {.data = "[]", .bytes = 2}};
    assert_int_equal(job_open(&j, "porep", &files, false, &err), CUZK_MALFORMED);
    assert_int_equal(strncmp(err.where, "c1", 2), 0);
}

/* Too much is refused before a byte of memory is taken, and before it is read. */
static void limits(void **state) {
    (void)state;
    job j;
    cuzk_error err = {0};
    char byte = 0;
    uint64_t peak = buffer_class_stats(BUFFER_REQUEST).peak_bytes;
    job_files files = {.c1 = {.data = &byte, .bytes = (size_t)1 << 40}};
    assert_int_equal(job_open(&j, "porep", &files, false, &err), CUZK_MALFORMED);
    assert_non_null(strstr(err.what, "too large"));
    assert_true(buffer_class_stats(BUFFER_REQUEST).peak_bytes <= peak + (2u << 20));
    files = (job_files){.request = {.data = &byte, .bytes = (size_t)1 << 40}};
    assert_int_equal(job_open(&j, "porep", &files, true, &err), CUZK_MALFORMED);
    assert_non_null(strstr(err.what, "too large"));
}

/* A document with another inside: together with what is parsed from them, at most twice the document. The inner one is
 * made large by blanks. */
static void memory_of_a_c1(void **state) {
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t inner = 24u << 20, small = 3u << 20 /* chunks of the arena, the parser's own */;
    job_source c1 = in_memory(TEST_DATA "/porep-2kib-a/c1.json");
    uint8_t *blanks = malloc(inner);
    memset(blanks, ' ', inner);
    memcpy(blanks, c1.data, c1.bytes);
    buffer text;
    cuzk_error err = {0};
    assert_int_equal(buffer_alloc(&text, BUFFER_OTHER, inner / 3 * 4 + 200, &err), CUZK_OK);
    char *at = text.data;
    at += sprintf(at, "{\"SectorNum\": 0, \"SectorSize\": 2048, \"Phase1Out\": \"");
    for (size_t i = 0; i < inner; i += 3) {
        unsigned v = (unsigned)blanks[i] << 16 | (unsigned)blanks[i + 1] << 8 | blanks[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *at++ = digits[v >> shift & 63];
    }
    at += sprintf(at, "\"}");
    const size_t document = (size_t)(at - (char *)text.data);
    char name[] = "/tmp/cuzk-test-source-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && write(fd, text.data, document) == (ssize_t)document && close(fd) == 0);
    buffer_free(&text);
    free(blanks);
    gone(&c1);
    job j;
    job_files files = {.c1.path = name};
    buffer_reset_peaks();
    uint64_t before = buffer_total_stats().live_bytes;
    assert_int_equal(job_open(&j, "porep", &files, false, &err), CUZK_OK);
    uint64_t peak = buffer_total_stats().peak_bytes - before;
    if (peak > 2 * document + small) fail_msg("%zu bytes of document took %llu", document, (unsigned long long)peak);
    assert_int_equal(j.partitions, 1);
    assert_true(buffer_total_stats().live_bytes - before <= small);
    job_close(&j);
    unlink(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_files), cmocka_unit_test(names_in_errors),
                                       cmocka_unit_test(limits), cmocka_unit_test(memory_of_a_c1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
