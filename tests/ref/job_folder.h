/* A folder for a test program's changed inputs. */
#ifndef CUZK_TESTS_REF_JOB_FOLDER_H
#define CUZK_TESTS_REF_JOB_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/cuzk-job-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Four names are kept. */
static const char *in_folder(const char *name) {
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int remove_folder(void **state) {
    (void)state;
    unlink(in_folder("request.json"));
    unlink(in_folder("vanilla.bin"));
    return rmdir(folder);
}

/* The file with a zero after it; malloc'd. */
static char *read_whole(const char *path, size_t *len) {
    buffer b;
    cuzk_error err;
    if (file_read(&b, path, (size_t)16 << 20, &err) != CUZK_OK) fail_msg("%s: %s", err.where, err.what);
    char *data = malloc(b.bytes + 1);
    memcpy(data, b.data, b.bytes);
    data[b.bytes] = 0;
    if (len) *len = b.bytes;
    buffer_free(&b);
    return data;
}

static const char *write_file(const char *name, const void *data, size_t len) {
    cuzk_error err;
    const char *path = in_folder(name);
    assert_int_equal(file_write_all(path, data, len, false, &err), CUZK_OK);
    return path;
}

#endif
