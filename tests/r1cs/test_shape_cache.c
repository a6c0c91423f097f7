/* The shape cache: built once, by one process; rebuilt when it does not fit; never in the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/log.h"
#include "r1cs/shape.h"
#include "ref/random_circuit.h"

static cuzk_error err;
static char folder[64], file[128];

#define OK(call) assert_string_equal(cuzk_status_name(call), "CUZK_OK")

/* Shared with forked processes. */
typedef struct shared {
    atomic_int runs;
    atomic_int go;
} shared;
static shared *common;

typedef struct counted {
    random_circuit circuit;
    bool kill_in_run;
    unsigned wait_us;
} counted;

static const counted plain = {.circuit = {.seed = 7, .prologue = 40, .block = 60, .epilogue = 30, .count = 3}};

static void run_counted(cs *c, const void *params, const void *instance) {
    const counted *k = params;
    atomic_fetch_add(&common->runs, 1);
    if (k->wait_us > 0) usleep(k->wait_us);
    random_circuit_run(c, &k->circuit, instance);
    if (k->kill_in_run) raise(SIGKILL);
}

static int fresh_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/cuzk-cache-XXXXXX");
    if (mkdtemp(folder) == NULL || setenv("CUZK_CACHE", folder, 1) != 0) return -1;
    snprintf(file, sizeof file, "%s/shapes/random.shape", folder);
    atomic_store(&common->runs, 0);
    atomic_store(&common->go, 0);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[192];
    snprintf(command, sizeof command, "chmod -R u+w '%s'; rm -rf '%s'", folder, folder);
    return system(command);
}

static void get(uint32_t version, const counted *k, int runs_expected) {
    shape *s, *known;
    uint8_t a[32], b[32];
    atomic_store(&common->runs, 0);
    OK(shape_cached(&s, "random", version, run_counted, k, NULL, &err));
    assert_int_equal(atomic_load(&common->runs), runs_expected);
    OK(shape_record(&known, random_circuit_run, &k->circuit, NULL, &err));
    OK(shape_hash(s, a, NULL, NULL, NULL, &err));
    OK(shape_hash(known, b, NULL, NULL, NULL, &err));
    assert_memory_equal(a, b, 32);
    shape_destroy(s);
    shape_destroy(known);
}

static void test_once(void **state) {
    (void)state;
    get(1, &plain, 1);
    assert_true(file_exists(file));
    get(1, &plain, 0);
    get(2, &plain, 1); /* of another version */
    get(2, &plain, 0);
}

static void test_rebuilt(void **state) {
    (void)state;
    struct stat st;
    get(1, &plain, 1);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(truncate(file, st.st_size / 2), 0);
    get(1, &plain, 1);
    get(1, &plain, 0);
    int fd = open(file, O_RDWR);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, st.st_size / 2), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, st.st_size / 2), 1);
    close(fd);
    get(1, &plain, 1);
    get(1, &plain, 0);
    assert_int_equal(truncate(file, 0), 0);
    get(1, &plain, 1);
    /* Another circuit's file under this name. */
    char other[128];
    shape *s;
    OK(shape_cached(&s, "other", 1, run_counted, &plain, NULL, &err));
    shape_destroy(s);
    snprintf(other, sizeof other, "%s/shapes/other.shape", folder);
    assert_int_equal(rename(other, file), 0);
    get(1, &plain, 1);
}

/* What a child does, and how it ended. */
static int child(void (*what)(const void *), const void *arg) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        what(arg);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void child_get(const void *k) {
    shape *s;
    while (atomic_load(&common->go) == 0) usleep(100);
    if (shape_cached(&s, "random", 1, run_counted, k, NULL, &err) != CUZK_OK) _exit(1);
    shape_destroy(s);
}

static void test_two_processes(void **state) {
    (void)state;
    counted slow = plain;
    pid_t pids[3];
    slow.wait_us = 100000;
    for (int i = 0; i < 3; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            child_get(&slow);
            _exit(0);
        }
    }
    atomic_store(&common->go, 1);
    for (int i = 0; i < 3; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(atomic_load(&common->runs), 1);
}

static void child_full_disk(const void *k) {
    /* The process dies in the middle of writing: SIGXFSZ is not caught. */
    struct rlimit limit = {1000, 1000}, no_core = {0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_CORE, &no_core);
    child_get(k);
}

static void child_full_disk_told(const void *k) {
    /* Writing fails with an error: the shape still comes. */
    signal(SIGXFSZ, SIG_IGN);
    child_full_disk(k);
}

static void test_killed(void **state) {
    (void)state;
    counted killed = plain;
    killed.kill_in_run = true;
    atomic_store(&common->go, 1);
    int status = child(child_get, &killed);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(file_exists(file));
    status = child(child_full_disk, &plain);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_false(file_exists(file));
    status = child(child_full_disk_told, &plain);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(file_exists(file));
    get(1, &plain, 1);
    get(1, &plain, 0);
}

static void child_unprivileged(const void *k) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
    child_get(k);
}

static void test_read_only(void **state) {
    (void)state;
    char shapes[96];
    snprintf(shapes, sizeof shapes, "%s/shapes", folder);
    atomic_store(&common->go, 1);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(mkdir(shapes, 0555), 0);
    assert_int_equal(chmod(shapes, 0555), 0);
    int status = child(child_unprivileged, &plain);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(atomic_load(&common->runs), 1);
    assert_false(file_exists(file));
    /* A folder that cannot exist. */
    setenv("CUZK_CACHE", "/proc/self/status/none", 1);
    get(1, &plain, 1);
    get(1, &plain, 1);
}

/* Failure to record is told, and leaves nothing. */
static void test_failure(void **state) {
    (void)state;
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    shape *s;
    assert_int_equal(shape_cached(&s, "random", 1, run_counted, &plain, &control, &err), CUZK_CANCELLED);
    assert_false(file_exists(file));
    get(1, &plain, 1);
}

static int share(void **state) {
    (void)state;
    log_setup(LOG_ERROR, LOG_TEXT);
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return common == MAP_FAILED;
}

int main(void) {
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, fresh_folder, remove_folder)
    const struct CMUnitTest tests[] = {WITH_FOLDER(test_once),          WITH_FOLDER(test_rebuilt),
                                       WITH_FOLDER(test_two_processes), WITH_FOLDER(test_killed),
                                       WITH_FOLDER(test_read_only),     WITH_FOLDER(test_failure)};
    return cmocka_run_group_tests(tests, share, NULL);
}
