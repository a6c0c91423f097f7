/* Synthetic sectors of the production sizes: ten partitions of 18 challenges, eleven layers. Prints how long each step
 * takes; the bounds are far above what a quiet machine needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/pool.h"
#include "ref/porep_synth_case.h"

static void test_production(void **state) {
    (void)state;
    cuzk_error err;
    pool *workers = pool_create(0, &err);
    assert_non_null(workers);
    porep_synth_case((uint64_t)32 << 30, 1, workers);
    porep_synth_case((uint64_t)64 << 30, 2, workers);
    pool_destroy(workers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_production)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
