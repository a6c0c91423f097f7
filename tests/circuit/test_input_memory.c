/* What a commit-phase-1 output of a 32 GiB sector takes while it is parsed and afterwards: at most twice its document.
 * Both forms that clients send: the document itself, and the wrapper with the document in base64 (51 MB). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "circuit/job.h"
#include "cuzk/cuzk.h"
#include "ref/groth16_case.h"

static char folder[256];

static buffer make_c1(void) {
    char path[512];
    buffer b;
    cuzk_error err;
    cuzk_context *context;
    cuzk_circuit *handle;
    cuzk_settings settings = {.threads = 2, .device = "cpu"};
    assert_int_equal(cuzk_context_create(&context, &settings, &err), CUZK_OK);
    assert_int_equal(cuzk_circuit_open(&handle, "porep", (uint64_t)32 << 30, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_synth_sector(context, handle, 7, folder, NULL, NULL, NULL, &err), CUZK_OK);
    cuzk_circuit_close(handle);
    cuzk_context_destroy(context);
    case_path(path, folder, "c1.json");
    assert_int_equal(file_read(&b, path, (size_t)256 << 20, &err), CUZK_OK);
    return b;
}

static buffer wrapped(const buffer *c1, const buffer *request) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = c1->data;
    buffer b;
    cuzk_error err;
    size_t n = 0;
    assert_int_equal(buffer_alloc(&b, BUFFER_REQUEST, c1->bytes / 3 * 4 + 200, &err), CUZK_OK);
    char *to = b.data;
    static const char name[] = "\"sector_number\":";
    const char *number = memmem(request->data, request->bytes, name, sizeof name - 1);
    assert_non_null(number);
    n += (size_t)sprintf(to, "{\"SectorNum\":%llu,\"Phase1Out\":\"", strtoull(number + sizeof name - 1, NULL, 10));
    for (size_t i = 0; i < c1->bytes; i += 3) {
        size_t left = c1->bytes - i;
        uint32_t v =
            (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) | (left > 2 ? from[i + 2] : 0);
        to[n++] = digits[v >> 18];
        to[n++] = digits[v >> 12 & 63];
        to[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
        to[n++] = left > 2 ? digits[v & 63] : '=';
    }
    n += (size_t)sprintf(to + n, "\",\"SectorSize\":34359738368}");
    buffer_shrink(&b, n);
    return b;
}

static void parse(const char *what, const buffer *document, const buffer *request) {
    job j;
    cuzk_error err;
    uint64_t live = buffer_total_stats().live_bytes;
    job_files files = {.c1 = {.data = document->data, .bytes = document->bytes},
                       .request = {.data = request->data, .bytes = request->bytes}};
    buffer_reset_peaks();
    cuzk_status st = job_open(&j, "porep", &files, false, &err);
    if (st) fail_msg("%s: %s (%s)", what, err.what, err.where);
    double size = (double)document->bytes;
    double peak = (double)(buffer_total_stats().peak_bytes - live) / size, kept = (double)arena_bytes(j.memory) / size;
    print_message("%s of %.1f MB: %.2f times its size more while it is parsed, %.2f times afterwards\n", what,
                  size / 1e6, peak, kept);
    assert_int_equal(j.partitions, 10);
    assert_true(peak <= 2);
    assert_true(kept <= 2);
    job_close(&j);
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

static void at_most_twice_the_document(void **state) {
    (void)state;
    char path[512];
    cuzk_error err;
    buffer c1 = make_c1(), request;
    case_path(path, folder, "request.json");
    assert_int_equal(file_read(&request, path, 1 << 20, &err), CUZK_OK);
    buffer wrapper = wrapped(&c1, &request);
    parse("the document", &c1, &request);
    parse("the wrapper", &wrapper, &request);
    buffer_free(&request);
    buffer_free(&wrapper);
    buffer_free(&c1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_twice_the_document),
    };
    case_folder_make(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_folder_remove(folder);
    return failed;
}
