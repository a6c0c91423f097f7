/* The region allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

static int all_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i]) return 0;
    return 1;
}

static void objects_are_zero_aligned_and_apart(void **state) {
    (void)state;
    cuzk_error e;
    uint64_t start = buffer_total_stats().live_bytes;
    arena *a = arena_create(BUFFER_REQUEST, 4096, &e);
    assert_non_null(a);
    unsigned char *p[500];
    for (size_t i = 0; i < 500; i++) {
        p[i] = arena_alloc(a, i * 7);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        assert_true(all_zero(p[i], i * 7));
        memset(p[i], (int)(i & 0xff), i * 7);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < i * 7; k++) assert_int_equal(p[i][k], i & 0xff);
    assert_true(arena_bytes(a) >= 500 * 499 / 2 * 7);
    arena_destroy(a);
    assert_int_equal(buffer_total_stats().live_bytes, start);
    arena_destroy(NULL);
}

static void release_goes_back_and_memory_is_zero_again(void **state) {
    (void)state;
    cuzk_error e;
    arena *a = arena_create(BUFFER_WITNESS, 4096, &e);
    char *kept = arena_strdup(a, "kept", 4);
    arena_mark m = arena_save(a);
    size_t bytes = arena_bytes(a);
    unsigned char *first = arena_alloc(a, 1000);
    memset(first, 0xee, 1000);
    for (int i = 0; i < 10; i++) memset(arena_alloc(a, 10000), 0xee, 10000);
    assert_true(arena_bytes(a) > bytes);
    arena_release(a, m);
    assert_int_equal(arena_bytes(a), bytes);
    unsigned char *again = arena_alloc(a, 2000);
    assert_ptr_equal(first, again);
    assert_true(all_zero(again, 2000));
    assert_string_equal(kept, "kept");
    arena_destroy(a);
}

static void large_objects_and_impossible_ones(void **state) {
    (void)state;
    cuzk_error e;
    arena *a = arena_create(BUFFER_OTHER, 0, &e);
    unsigned char *p = arena_alloc(a, (size_t)5 << 20);
    assert_non_null(p);
    p[((size_t)5 << 20) - 1] = 1;
    assert_non_null(arena_alloc(a, 10));
    assert_null(arena_alloc(a, SIZE_MAX));
    assert_null(arena_alloc_array(a, SIZE_MAX / 2, 3));
    assert_non_null(arena_alloc_array(a, 10, 3));
    buffer_set_limit(buffer_total_stats().live_bytes + 4096);
    assert_null(arena_alloc(a, (size_t)2 << 20));
    assert_null(arena_create(BUFFER_OTHER, 0, &e));
    assert_int_equal(e.status, CUZK_MEMORY);
    buffer_set_limit(0);
    assert_string_equal(arena_strdup(a, "abcdef", 3), "abc");
    assert_string_equal(arena_strdup(a, NULL, 0), "");
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_zero_aligned_and_apart),
        cmocka_unit_test(release_goes_back_and_memory_is_zero_again),
        cmocka_unit_test(large_objects_and_impossible_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
