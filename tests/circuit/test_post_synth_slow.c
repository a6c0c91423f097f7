/* Whole window partitions of the production sizes, made up and checked (2,349 and 2,300 sectors). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ref/post_case.h"

static void production_windows(void **state) {
    (void)state;
    cuzk_error err;
    pool *workers = pool_create(0, &err);
    assert_non_null(workers);
    post_synth_case("window-post", (uint64_t)32 << 30, 1, workers, false);
    post_synth_case("window-post", (uint64_t)64 << 30, 2, workers, false);
    pool_destroy(workers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(production_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
