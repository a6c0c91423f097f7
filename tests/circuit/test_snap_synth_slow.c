/* Made-up sector updates of large sizes, with witnesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ref/snap_case.h"

static void sizes(void **state) {
    (void)state;
    cuzk_error err;
    pool *workers = pool_create(0, &err);
    assert_non_null(workers);
    static const uint64_t mib[] = {8, 16, 512, 32 << 10, 64 << 10};
    for (size_t i = 0; i < sizeof mib / sizeof *mib; i++) assert_true(snap_synth_case(mib[i] << 20, 40 + i, workers));
    pool_destroy(workers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
