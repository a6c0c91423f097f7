/* Tracked buffers: counts, limit, peaks, zero filling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/random.h"

static const uint64_t mib = 1 << 20;

static void counts_return_to_start(void **state) {
    (void)state;
    cuzk_error e;
    buffer_stats before = buffer_total_stats(), class_before = buffer_class_stats(BUFFER_NTT);
    buffer b[3];
    assert_int_equal(buffer_alloc(&b[0], BUFFER_NTT, 1, &e), CUZK_OK);
    assert_int_equal(buffer_alloc(&b[1], BUFFER_NTT, 5 * mib + 1, &e), CUZK_OK);
    assert_int_equal(buffer_alloc(&b[2], BUFFER_KEY, 0, &e), CUZK_OK);
    assert_null(b[2].data);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), mapped = page + 5 * mib + page;
    buffer_stats now = buffer_class_stats(BUFFER_NTT);
    assert_int_equal(now.live_bytes - class_before.live_bytes, mapped);
    assert_int_equal(now.live_count - class_before.live_count, 2);
    assert_true(now.peak_bytes >= now.live_bytes);
    assert_int_equal(buffer_total_stats().live_bytes - before.live_bytes, mapped);
    assert_int_equal((uintptr_t)b[1].data % (2 * mib), 0);
    assert_int_equal(b[1].bytes, 5 * mib + 1);
    for (int i = 0; i < 3; i++) {
        buffer_free(&b[i]);
        assert_null(b[i].data);
        buffer_free(&b[i]); /* an empty one may be freed again */
    }
    assert_int_equal(buffer_total_stats().live_bytes, before.live_bytes);
    assert_int_equal(buffer_total_stats().live_count, before.live_count);
    assert_int_equal(buffer_class_stats(BUFFER_NTT).live_bytes, class_before.live_bytes);
}

static void memory_is_zero_and_writable(void **state) {
    (void)state;
    cuzk_error e;
    for (size_t bytes = 1; bytes < 9 * mib; bytes = bytes * 3 + 1) {
        buffer b;
        assert_int_equal(buffer_alloc(&b, BUFFER_WITNESS, bytes, &e), CUZK_OK);
        unsigned char *p = b.data, any = 0;
        for (size_t i = 0; i < bytes; i++) any |= p[i];
        assert_int_equal(any, 0);
        memset(p, 0xaa, bytes);
        buffer_free(&b);
    }
}

static void peak_is_of_what_was_held_together(void **state) {
    (void)state;
    cuzk_error e;
    buffer_reset_peaks();
    uint64_t start = buffer_total_stats().live_bytes;
    buffer a, b;
    assert_int_equal(buffer_alloc(&a, BUFFER_KEY, 4 * mib, &e), CUZK_OK);
    buffer_free(&a);
    assert_int_equal(buffer_alloc(&b, BUFFER_SHAPE, 3 * mib, &e), CUZK_OK);
    /* Not 7 MiB: the two were never there at once. */
    assert_int_equal(buffer_total_stats().peak_bytes - start, 4 * mib);
    assert_int_equal(buffer_class_stats(BUFFER_SHAPE).peak_bytes, 3 * mib);
    assert_int_equal(buffer_alloc(&a, BUFFER_KEY, 2 * mib, &e), CUZK_OK);
    assert_int_equal(buffer_total_stats().peak_bytes - start, 5 * mib);
    buffer_free(&a);
    buffer_free(&b);
    buffer_reset_peaks();
    assert_int_equal(buffer_total_stats().peak_bytes, start);
}

static void shrink_gives_the_tail_back(void **state) {
    (void)state;
    cuzk_error e;
    uint64_t start = buffer_total_stats().live_bytes, page = (uint64_t)sysconf(_SC_PAGESIZE);
    buffer b;
    assert_int_equal(buffer_alloc(&b, BUFFER_WITNESS, 4 * mib, &e), CUZK_OK);
    memset(b.data, 7, b.bytes);
    buffer_shrink(&b, mib + 1);
    assert_int_equal(b.bytes, mib + 1);
    assert_int_equal(buffer_total_stats().live_bytes - start, mib + page);
    assert_int_equal(((unsigned char *)b.data)[mib], 7);
    buffer_shrink(&b, mib + 1);
    buffer_shrink(&b, 0);
    assert_null(b.data);
    assert_int_equal(buffer_total_stats().live_bytes, start);
}

static void limit_is_kept_and_named(void **state) {
    (void)state;
    cuzk_error e;
    uint64_t start = buffer_total_stats().live_bytes;
    buffer_set_limit(start + 4 * mib);
    buffer a, b;
    assert_int_equal(buffer_alloc(&a, BUFFER_NTT, 3 * mib, &e), CUZK_OK);
    assert_int_equal(buffer_alloc(&b, BUFFER_NTT, 2 * mib, &e), CUZK_MEMORY);
    assert_null(b.data);
    assert_non_null(strstr(e.where, "ntt"));
    assert_non_null(strstr(e.found, "2097152"));
    assert_int_equal(buffer_total_stats().live_bytes - start, 3 * mib);
    assert_int_equal(buffer_alloc(&b, BUFFER_NTT, mib, &e), CUZK_OK); /* exactly full */
    buffer_free(&a);
    buffer_free(&b);
    buffer_set_limit(0);
    assert_int_equal(buffer_total_stats().live_bytes, start);
}

static void sizes_that_cannot_be_are_refused(void **state) {
    (void)state;
    cuzk_error e;
    uint64_t start = buffer_total_stats().live_bytes;
    buffer b;
    assert_int_equal(buffer_alloc(&b, BUFFER_OTHER, SIZE_MAX, &e), CUZK_MEMORY);
    assert_int_equal(buffer_alloc(&b, BUFFER_OTHER, SIZE_MAX - 8192, &e), CUZK_MEMORY);
    assert_int_equal(buffer_alloc(&b, BUFFER_OTHER, SIZE_MAX / 2, &e), CUZK_MEMORY);
    assert_int_equal(buffer_alloc_array(&b, BUFFER_OTHER, SIZE_MAX / 2, 3, &e), CUZK_MEMORY);
    assert_int_equal(buffer_alloc_array(&b, BUFFER_OTHER, 1000, 1000, &e), CUZK_OK);
    assert_int_equal(b.bytes, 1000000);
    buffer_free(&b);
    assert_int_equal(buffer_total_stats().live_bytes, start);
}

static void *allocate_often(void *arg) {
    (void)arg;
    cuzk_error e;
    for (int i = 0; i < 300; i++) {
        buffer b;
        if (buffer_alloc(&b, BUFFER_MSM_SCRATCH, (size_t)(i % 7) * 100000 + 1, &e)) continue;
        *(char *)b.data = 1;
        if (buffer_total_stats().live_bytes > buffer_limit()) return "limit passed";
        buffer_free(&b);
    }
    return NULL;
}

static void threads_never_pass_the_limit(void **state) {
    (void)state;
    uint64_t start = buffer_total_stats().live_bytes;
    buffer_set_limit(start + mib);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, allocate_often, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *fault;
        pthread_join(t[i], &fault);
        assert_null(fault);
    }
    buffer_set_limit(0);
    assert_int_equal(buffer_total_stats().live_bytes, start);
    assert_int_equal(buffer_class_stats(BUFFER_MSM_SCRATCH).live_count, 0);
}

static void classes_have_names(void **state) {
    (void)state;
    assert_string_equal(buffer_class_name(BUFFER_EVAL_ABC), "eval_abc");
    assert_string_equal(buffer_class_name(BUFFER_OTHER), "other");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_return_to_start),
        cmocka_unit_test(memory_is_zero_and_writable),
        cmocka_unit_test(peak_is_of_what_was_held_together),
        cmocka_unit_test(shrink_gives_the_tail_back),
        cmocka_unit_test(limit_is_kept_and_named),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(threads_never_pass_the_limit),
        cmocka_unit_test(classes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
