/* The automatic budget: machines and cgroups of both versions, as files below a folder of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "engine/budget.h"
#include "engine/machine.h"

static const uint64_t mib = 1 << 20;
static char root[64];

static int make_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/cuzk-machine-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *f) {
    (void)s;
    (void)kind;
    (void)f;
    return remove(path);
}

static int drop_root(void **state) {
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text) {
    char full[512], folder[512];
    cuzk_error e;
    snprintf(full, sizeof full, "%s%s", root, path);
    snprintf(folder, sizeof folder, "%s", full);
    *strrchr(folder, '/') = 0;
    assert_int_equal(file_make_folders(folder, &e), CUZK_OK);
    assert_int_equal(file_write_all(full, text, strlen(text), false, &e), CUZK_OK);
}

static void a_machine_alone(void **state) {
    (void)state;
    assert_int_equal(machine_limit_bytes(root), 0);
    put("/proc/meminfo", "MemTotal:        1048576 kB\nMemFree:  1000 kB\n");
    assert_int_equal(machine_limit_bytes(root), 1024 * mib);
    put("/proc/meminfo", "MemFree: 5 kB\nMemTotal:        2097152 kB\n"); /* it grew */
    assert_int_equal(machine_limit_bytes(root), 2048 * mib);
    put("/proc/meminfo", "MemTotal: lots\n");
    assert_int_equal(machine_limit_bytes(root), 0);
}

static void version_2_and_its_parents(void **state) {
    (void)state;
    put("/proc/meminfo", "MemTotal:        1048576 kB\n");
    put("/proc/self/cgroup", "0::/system.slice/cuzk.service\n");
    put("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
                                "31 23 0:27 / /proc rw shared:9 - proc proc rw\n");
    put("/sys/fs/cgroup/system.slice/cuzk.service/memory.max", "max\n");
    assert_int_equal(machine_limit_bytes(root), 1024 * mib);
    put("/sys/fs/cgroup/system.slice/memory.max", "524288000\n");
    assert_int_equal(machine_limit_bytes(root), 500 * mib);
    put("/sys/fs/cgroup/system.slice/cuzk.service/memory.max", "419430400\n");
    assert_int_equal(machine_limit_bytes(root), 400 * mib);
    put("/sys/fs/cgroup/system.slice/cuzk.service/memory.high", "314572800\n");
    assert_int_equal(machine_limit_bytes(root), 300 * mib);
    put("/sys/fs/cgroup/memory.max", "209715200\n"); /* what a container sees of its own group */
    assert_int_equal(machine_limit_bytes(root), 200 * mib);
    put("/sys/fs/cgroup/memory.max", "99999999999999999999999\n");
    assert_int_equal(machine_limit_bytes(root), 300 * mib);
}

static void version_2_in_a_container(void **state) {
    (void)state;
    put("/proc/meminfo", "MemTotal:        1048576 kB\n");
    put("/proc/self/cgroup", "12:pids:/x\n0::/docker/abc/inner\n");
    put("/proc/self/mountinfo", "30 23 0:26 /docker/abc /cg rw - cgroup2 cgroup rw\n");
    put("/cg/memory.max", "734003200\n");
    put("/cg/inner/memory.max", "629145600\n");
    assert_int_equal(machine_limit_bytes(root), 600 * mib);
    put("/proc/self/cgroup", "0::/docker/abcdef\n"); /* another group's name with the same front */
    assert_int_equal(machine_limit_bytes(root), 700 * mib);
    put("/proc/self/cgroup", "0::/../other\n");
    assert_int_equal(machine_limit_bytes(root), 700 * mib);
}

static void version_1(void **state) {
    (void)state;
    put("/proc/meminfo", "MemTotal:        1048576 kB\n");
    put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(machine_limit_bytes(root), 1024 * mib);
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "524288000\n");
    assert_int_equal(machine_limit_bytes(root), 500 * mib);
    put("/proc/self/mountinfo", "30 23 0:26 /a/b /v1/memory rw - cgroup cgroup rw,memory\n"
                                "30 23 0:26 / /v1/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("/v1/cpu/memory.limit_in_bytes", "1\n"); /* not the memory controller's */
    put("/v1/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(machine_limit_bytes(root), 1024 * mib);
    put("/v1/memory/memory.stat", "cache 5\nhierarchical_memory_limit 367001600\n"); /* a parent out of sight */
    assert_int_equal(machine_limit_bytes(root), 350 * mib);
}

static void the_margin(void **state) {
    (void)state;
    assert_int_equal(machine_budget_of(1600 * mib, 0), 1500 * mib);
    assert_int_equal(machine_budget_of(1024 * 1024 * mib, 0), (1024 - 5) * 1024 * mib);
    assert_int_equal(machine_budget_of(1600 * mib, 200 * mib), 1400 * mib);
    assert_int_equal(machine_budget_of(100, 200), 0);
    uint64_t here = machine_limit_bytes("");
    assert_true(here > 16 * mib);
    assert_int_equal(budget_machine_bytes(mib), here - mib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_alone, make_root, drop_root),
        cmocka_unit_test_setup_teardown(version_2_and_its_parents, make_root, drop_root),
        cmocka_unit_test_setup_teardown(version_2_in_a_container, make_root, drop_root),
        cmocka_unit_test_setup_teardown(version_1, make_root, drop_root),
        cmocka_unit_test(the_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
