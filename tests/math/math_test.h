/* What the tests of sums, multiples and transforms share: seeded scalars, pools, and lines of the golden vectors. */
#ifndef CUZK_TESTS_MATH_TEST_H
#define CUZK_TESTS_MATH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/text.h"
#include "math/kernels.h"

static chacha test_rng;
static pool *test_pools[4]; /* [t]: t threads, t = 1 .. 3 */

/* CUZK_TEST_SEED repeats a run. */
static inline int test_setup(void **state) {
    const char *text = getenv("CUZK_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    uint8_t key[32] = {0}, nonce[12] = {0};
    cuzk_error err;
    (void)state;
    memcpy(key, &seed, sizeof seed);
    printf("seed %llu\n", (unsigned long long)seed);
    chacha_init(&test_rng, 12, 32, key, nonce);
    for (unsigned t = 1; t <= 3; t++) {
        test_pools[t] = pool_create(t, &err);
        if (test_pools[t] == NULL) return 1;
    }
    return 0;
}

static inline int test_teardown(void **state) {
    (void)state;
    for (unsigned t = 1; t <= 3; t++) pool_destroy(test_pools[t]);
    return 0;
}

static inline void *test_alloc(size_t bytes) {
    void *p = malloc(bytes);
    assert_non_null(p);
    return p;
}

static inline fr_canon test_scalar(void) {
    fr_canon c;
    do {
        chacha_bytes(&test_rng, &c, sizeof c);
        c.l[3] &= UINT64_MAX >> 1;
    } while (!fr_limbs_reduced(c.l));
    return c;
}

static inline fr_canon *test_scalars(size_t n) {
    fr_canon *s = test_alloc((n + 1) * sizeof *s);
    for (size_t i = 0; i < n + 1; i++) s[i] = test_scalar();
    return s;
}

static inline uint32_t *test_index(size_t n, uint32_t below) {
    uint32_t *index = test_alloc((n + 1) * sizeof *index);
    for (size_t i = 0; i < n; i++) index[i] = (uint32_t)(chacha_u64(&test_rng) % below);
    return index;
}

static inline fr_canon test_minus_one(void) {
    fr_canon c;
    memcpy(&c, fr_modulus, sizeof c);
    c.l[0]--;
    return c;
}

static inline fr test_hex_fr(const json_node *text) {
    uint8_t bytes[32];
    fr x = {{0}};
    assert_true(text_unhex(bytes, sizeof bytes, text->text, text->len));
    assert_true(fr_from_be_bytes(&x, bytes));
    return x;
}

static inline fr_canon test_hex_scalar(const json_node *text) {
    fr x = test_hex_fr(text);
    fr_canon c;
    fr_to_canon(&c, &x);
    return c;
}

/* The next line of a vector file as a tree in an arena of its own; NULL at the end. */
static inline arena *test_next_line(const char *name, size_t *offset, json_node **line) {
    char path[512];
    cuzk_error err;
    file_map m;
    snprintf(path, sizeof path, "%s/vectors/%s", TEST_DATA, name);
    assert_int_equal(file_map_open(&m, path, &err), CUZK_OK);
    arena *a = NULL;
    if (*offset < m.bytes) {
        const uint8_t *end = memchr(m.data + *offset, '\n', m.bytes - *offset);
        size_t len = end != NULL ? (size_t)(end - m.data) - *offset : m.bytes - *offset;
        a = arena_create(BUFFER_OTHER, 0, &err);
        assert_non_null(a);
        cuzk_status s = json_tree(line, a, name, m.data + *offset, len, (size_t)1 << 24, &err);
        if (s != CUZK_OK) fail_msg("%s: %s", err.what, err.where);
        *offset += len + 1;
    }
    file_map_close(&m);
    return a;
}

#endif
