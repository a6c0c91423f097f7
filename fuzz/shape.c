/* Shape files of any content: opened as they are, and once more with length and digests made right, so that the checks
 * behind them are met. What is accepted is evaluated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/hash.h"
#include "r1cs/witness.h"

/* docs/shape.md */
#define HEADER 896u
#define LENGTH_AT 800u
#define BODY_DIGEST_AT 808u
#define HEAD_DIGEST_AT 840u

static void evaluate(const shape *s) {
    cs_counts n = shape_counts(s);
    if (n.aux > 1 << 20 || n.inputs > 1 << 20) return; /* the witness would be too large */
    witness w = {.n_inputs = (uint32_t)n.inputs, .n_aux = n.aux, .n_fields = shape_fields(s)};
    fr out[100];
    w.inputs = calloc(n.inputs, sizeof(fr));
    w.fields = calloc(w.n_fields + 1, sizeof(fr));
    w.bits = calloc(n.aux / 64 + 1, 8);
    if (w.inputs == NULL || w.fields == NULL || w.bits == NULL) abort();
    uint64_t rows = shape_rows(s);
    for (int m = 0; m < 3; m++) {
        shape_eval(s, (shape_matrix)m, &w, 0, 100, out);
        shape_eval(s, (shape_matrix)m, &w, rows / 2, 100, out);
        shape_eval(s, (shape_matrix)m, &w, rows - 1, 100, out);
    }
    for (int k = 0; k < SHAPE_BITMAPS; k++) {
        uint64_t words[4];
        shape_bitmap(s, (shape_bitmap_kind)k, n.aux / 128 * 64, 256, words);
        if (shape_rank(s, (shape_bitmap_kind)k, n.aux) > n.aux) abort();
    }
    shape_input_in_b(s, (uint32_t)n.inputs - 1);
    free(w.inputs);
    free(w.fields);
    free(w.bits);
}

static void try_file(int fd, const uint8_t *data, size_t size) {
    char path[40];
    cuzk_error err;
    shape *s;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ftruncate(fd, (off_t)size) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
    if (shape_open(&s, path, &err) != CUZK_OK) return;
    evaluate(s);
    shape_destroy(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("shape", 0);
    if (fd < 0) abort();
    try_file(fd, data, size);
    if (size >= HEADER) {
        uint8_t *file = malloc(size), digest[64];
        uint64_t length = size;
        if (file == NULL) abort();
        memcpy(file, data, size);
        memcpy(file + LENGTH_AT, &length, 8);
        hash_blake2b512(digest, file + HEADER, size - HEADER);
        memcpy(file + BODY_DIGEST_AT, digest, 32);
        hash_blake2b512(digest, file, HEAD_DIGEST_AT);
        memcpy(file + HEAD_DIGEST_AT, digest, 32);
        try_file(fd, file, size);
        free(file);
    }
    close(fd);
    return 0;
}
