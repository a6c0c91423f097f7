/* CPU facts: consistent with each other and with what the system says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cpu.h"

static void facts_are_sane(void **state) {
    (void)state;
    const cpu_facts *f = cpu_get();
    assert_ptr_equal(f, cpu_get());
    assert_true(f->threads >= 1 && f->threads <= (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(f->memory_bytes > 1 << 20);
    assert_true(f->memory_bytes <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_true(!f->avx512_ifma || f->avx2_fma);
    assert_true(!f->avx2_fma || f->bmi2_adx);
    assert_true(strlen(f->model) > 0);
    const char *wish = getenv("CUZK_CPU");
    if (wish && strcmp(wish, "portable") == 0) assert_false(f->bmi2_adx || f->avx2_fma || f->avx512_ifma);
    if (wish && strcmp(wish, "adx") == 0) assert_false(f->avx2_fma || f->avx512_ifma);
    if (wish && strcmp(wish, "fma") == 0) assert_false(f->avx512_ifma);
}

/* The environment is read once, so each wish needs a process of its own. Runs before facts_are_sane reads it here. */
static int facts_with(const char *wish) {
    pid_t child = fork();
    if (!child) {
        setenv("CUZK_CPU", wish, 1);
        _exit(cpu_get()->bmi2_adx + 2 * cpu_get()->avx2_fma + 4 * cpu_get()->avx512_ifma);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void the_environment_only_lowers(void **state) {
    (void)state;
    int all = facts_with("ifma");
    assert_int_equal(facts_with("portable"), 0);
    assert_int_equal(facts_with("adx"), all & 1);
    assert_int_equal(facts_with("fma"), all & 3);
    assert_int_equal(facts_with("something else"), all);
}

static void resident_memory_is_seen(void **state) {
    (void)state;
    const size_t bytes = (size_t)64 << 20;
    uint64_t before = cpu_rss_bytes();
    assert_true(before > 0);
    buffer b;
    cuzk_error e;
    assert_int_equal(buffer_alloc(&b, BUFFER_OTHER, bytes, &e), CUZK_OK);
    memset(b.data, 1, bytes);
    assert_true(cpu_rss_bytes() >= before + bytes / 2);
    assert_true(cpu_peak_rss_bytes() >= before + bytes / 2);
    buffer_free(&b);
    assert_true(cpu_rss_bytes() < before + bytes / 2);
}

static void time_goes_on(void **state) {
    (void)state;
    double t = cpu_monotonic_seconds();
    usleep(2000);
    assert_true(cpu_monotonic_seconds() >= t + 0.001);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_only_lowers),
        cmocka_unit_test(facts_are_sane),
        cmocka_unit_test(resident_memory_is_seen),
        cmocka_unit_test(time_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
