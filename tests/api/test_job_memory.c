/* A job from bytes in memory through the public API: the same as from files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cuzk/cuzk.h"

#define SET TEST_DATA "/window-post-2kib-2/"

static cuzk_bytes read_whole(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *data = malloc(1 << 20);
    size_t n = fread(data, 1, 1 << 20, f);
    fclose(f);
    return (cuzk_bytes){data, n};
}

static void same_facts(void **state) {
    (void)state;
    cuzk_error err = {0};
    const char *const vanilla[] = {SET "vanilla-0.bin", SET "vanilla-1.bin"};
    cuzk_job_files files = {.request = SET "request.json", .vanilla = vanilla, .n_vanilla = 2};
    cuzk_bytes request = read_whole(files.request), bytes[] = {read_whole(vanilla[0]), read_whole(vanilla[1])};
    cuzk_job_files memory = {.request_data = request, .vanilla_data = bytes, .n_vanilla = 2};
    cuzk_job *a, *b;
    assert_int_equal(cuzk_job_open(&a, "window-post", &files, false, &err), CUZK_OK);
    assert_int_equal(cuzk_job_open(&b, "window-post", &memory, false, &err), CUZK_OK);
    free((void *)request.data);
    char *json[2];
    assert_int_equal(cuzk_job_inspect(a, &json[0], &err), CUZK_OK);
    assert_int_equal(cuzk_job_inspect(b, &json[1], &err), CUZK_OK);
    assert_string_equal(json[0], json[1]);
    for (int i = 0; i < 2; i++) cuzk_text_free(json[i]);
    cuzk_job_close(a);
    cuzk_job_close(b);

    /* A fault is told of the part that has it, by its name when it has one. */
    ((char *)bytes[1].data)[8] ^= 1;
    request = read_whole(files.request);
    memory.request_data = request;
    assert_int_equal(cuzk_job_open(&b, "window-post", &memory, false, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.where, "vanilla 1"));
    const char *const names[] = {"first", "second"};
    memory.vanilla = names;
    assert_int_equal(cuzk_job_open(&b, "window-post", &memory, false, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.where, "second"));
    free((void *)request.data);
    for (int i = 0; i < 2; i++) free((void *)bytes[i].data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_facts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
