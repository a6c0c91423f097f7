/* Files: mapped reading, whole reads, atomic writing also when killed or out of space, locks, folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static char folder[64];

static int enter_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/cuzk-test-file-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static size_t entries(void) {
    DIR *d = opendir(".");
    size_t n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static int leave_folder(void **state) {
    (void)state;
    DIR *d = opendir(".");
    struct dirent *e;
    while ((e = readdir(d)))
        if (unlink(e->d_name)) rmdir(e->d_name);
    closedir(d);
    return chdir("/") || rmdir(folder);
}

static void put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect_content(const char *path, const char *text) {
    cuzk_error e;
    buffer b;
    assert_int_equal(file_read(&b, path, 1000, &e), CUZK_OK);
    assert_int_equal(b.bytes, strlen(text));
    if (b.bytes) assert_memory_equal(b.data, text, b.bytes);
    buffer_free(&b);
}

static void mapping(void **state) {
    (void)state;
    cuzk_error e;
    file_map m;
    put("a", "content");
    assert_int_equal(file_map_open(&m, "a", &e), CUZK_OK);
    assert_int_equal(m.bytes, 7);
    assert_memory_equal(m.data, "content", 7);
    struct stat st;
    stat("a", &st);
    assert_true(m.dev == st.st_dev && m.inode == st.st_ino);
    assert_true(m.mtime_ns == st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    file_map_done(&m, 0, 7);
    file_map_done(&m, 3, SIZE_MAX);
    file_map_done(&m, 100, 1);
    assert_memory_equal(m.data, "content", 7); /* given back to the kernel, still readable */
    file_map_close(&m);
    assert_null(m.data);
    file_map_close(&m);
    put("empty", "");
    assert_int_equal(file_map_open(&m, "empty", &e), CUZK_OK);
    assert_true(m.data == NULL && m.bytes == 0);
    file_map_close(&m);
}

static void reading_at_places(void **state) {
    (void)state;
    cuzk_error e;
    file_reader *r;
    file_map m;
    char got[8] = {0};
    put("a", "content");
    assert_int_equal(file_reader_open(&r, "a", &e), CUZK_OK);
    assert_int_equal(file_map_open(&m, "a", &e), CUZK_OK);
    assert_true(file_reader_same(r, &m));
    assert_int_equal(file_reader_read(r, got, 4, 3, &e), CUZK_OK);
    assert_string_equal(got, "tent");
    assert_int_equal(file_reader_read(r, got, 4, 4, &e), CUZK_IO); /* it ends before */
    assert_non_null(strstr(e.what, "shorter"));
    file_map_close(&m);
    put("b", "content");
    assert_int_equal(file_map_open(&m, "b", &e), CUZK_OK);
    assert_false(file_reader_same(r, &m));
    file_map_close(&m);
    file_reader_close(r);
    file_reader_close(NULL);
    assert_int_equal(file_reader_open(&r, "nothing", &e), CUZK_IO);
    assert_null(r);
    assert_int_equal(file_reader_open(&r, ".", &e), CUZK_OK); /* whoever opens a key has mapped it before */
    assert_int_equal(file_reader_read(r, got, 1, 0, &e), CUZK_IO);
    file_reader_close(r);
}

static void what_cannot_be_mapped(void **state) {
    (void)state;
    cuzk_error e;
    file_map m;
    assert_int_equal(file_map_open(&m, "absent", &e), CUZK_IO);
    assert_string_equal(e.where, "absent");
    assert_non_null(strstr(e.what, "No such file"));
    assert_int_equal(file_map_open(&m, ".", &e), CUZK_IO);
    assert_non_null(strstr(e.what, "folder"));
    assert_int_equal(file_map_open(&m, "/dev/null", &e), CUZK_IO);
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(file_map_open(&m, "fifo", &e), CUZK_IO); /* and does not wait for a writer */
    assert_null(m.data);
}

static void reading_whole_files(void **state) {
    (void)state;
    cuzk_error e;
    buffer b;
    uint64_t live = buffer_total_stats().live_bytes;
    put("a", "0123456789");
    assert_int_equal(file_read(&b, "a", 10, &e), CUZK_OK);
    assert_int_equal(b.bytes, 10);
    buffer_free(&b);
    assert_int_equal(file_read(&b, "a", 9, &e), CUZK_MALFORMED);
    assert_null(b.data);
    put("empty", "");
    assert_int_equal(file_read(&b, "empty", 0, &e), CUZK_OK);
    assert_null(b.data);
    assert_int_equal(file_read(&b, "absent", 10, &e), CUZK_IO);
    assert_int_equal(file_read(&b, ".", 10, &e), CUZK_IO);
    assert_int_equal(file_read(&b, "/proc/self/status", 1 << 20, &e), CUZK_OK); /* its size is given as 0 */
    assert_true(b.bytes > 100);
    buffer_free(&b);
    assert_int_equal(file_read(&b, "/dev/zero", 100000, &e), CUZK_MALFORMED);
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

/* Standard input is a pipe of n bytes. */
static cuzk_status read_stdin(buffer *b, size_t n, size_t limit) {
    int ends[2], keep = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        signal(SIGPIPE, SIG_DFL);
        for (size_t i = 0; i < n; i++) {
            char c = (char)(i % 251);
            if (write(ends[1], &c, 1) != 1) break;
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    cuzk_error e;
    cuzk_status s = file_read(b, "-", limit, &e);
    dup2(keep, STDIN_FILENO);
    close(keep);
    waitpid(child, NULL, 0);
    return s;
}

static void reading_standard_input(void **state) {
    (void)state;
    buffer b;
    assert_int_equal(read_stdin(&b, 200000, 200000), CUZK_OK);
    assert_int_equal(b.bytes, 200000);
    for (size_t i = 0; i < b.bytes; i++) assert_int_equal(((unsigned char *)b.data)[i], i % 251);
    buffer_free(&b);
    assert_int_equal(read_stdin(&b, 100001, 100000), CUZK_MALFORMED);
    assert_int_equal(read_stdin(&b, 0, 100), CUZK_OK);
    assert_null(b.data);
}

static void writing_replaces_at_once(void **state) {
    (void)state;
    cuzk_error e;
    file_writer *w;
    put("a", "old");
    assert_int_equal(file_writer_open(&w, "a", false, &e), CUZK_OK);
    assert_int_equal(file_writer_reserve(w, 100, &e), CUZK_OK);
    assert_int_equal(file_writer_write(w, "new ", 4, &e), CUZK_OK);
    assert_int_equal(file_writer_write(w, "text", 4, &e), CUZK_OK);
    assert_int_equal(file_writer_pwrite(w, "N", 1, 0, &e), CUZK_OK);
    expect_content("a", "old");
    assert_int_equal(file_writer_commit(w, &e), CUZK_OK);
    expect_content("a", "New text");
    assert_int_equal(entries(), 1);
    assert_int_equal(file_writer_open(&w, "a", false, &e), CUZK_OK);
    assert_int_equal(file_writer_write(w, "x", 1, &e), CUZK_OK);
    file_writer_abort(w);
    file_writer_abort(NULL);
    expect_content("a", "New text");
    assert_int_equal(entries(), 1);
    char absolute[100];
    snprintf(absolute, sizeof absolute, "%s/b", folder);
    assert_int_equal(file_write_all(absolute, "", 0, true, &e), CUZK_OK);
    expect_content("b", "");
}

static void existing_files_are_kept_when_asked(void **state) {
    (void)state;
    cuzk_error e;
    file_writer *w;
    put("a", "old");
    assert_int_equal(file_write_all("a", "new", 3, true, &e), CUZK_IO);
    assert_non_null(strstr(e.what, "exists"));
    expect_content("a", "old");
    /* It appears while we write. */
    assert_int_equal(file_writer_open(&w, "b", true, &e), CUZK_OK);
    assert_int_equal(file_writer_write(w, "ours", 4, &e), CUZK_OK);
    put("b", "theirs");
    assert_int_equal(file_writer_commit(w, &e), CUZK_IO);
    assert_non_null(strstr(e.what, "exists"));
    expect_content("b", "theirs");
    assert_int_equal(entries(), 2);
}

static void links_are_followed_and_devices_refused(void **state) {
    (void)state;
    cuzk_error e;
    put("real", "old");
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(file_write_all("link", "new", 3, false, &e), CUZK_OK);
    expect_content("real", "new");
    struct stat st;
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(file_write_all("/dev/null", "x", 1, false, &e), CUZK_IO);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(file_write_all(".", "x", 1, false, &e), CUZK_IO);
    assert_int_equal(file_write_all("absent/a", "x", 1, false, &e), CUZK_IO);
    assert_int_equal(file_write_all("real/", "x", 1, false, &e), CUZK_IO);
    assert_int_equal(entries(), 2);
}

/* A child that is killed in the middle leaves no target, and the next writer of that target removes what it left. */
static void killed_writers_leave_nothing(void **state) {
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        cuzk_error e;
        file_writer *w;
        if (file_writer_open(&w, "a", false, &e) || file_writer_write(w, "half", 4, &e)) _exit(1);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char c;
    assert_int_equal(read(ready[0], &c, 1), 1);
    cuzk_error e;
    file_writer *w;
    /* While it lives its file is not touched. */
    assert_int_equal(entries(), 1);
    assert_int_equal(file_writer_open(&w, "a", false, &e), CUZK_OK);
    assert_int_equal(entries(), 2);
    file_writer_abort(w);
    assert_int_equal(entries(), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(file_exists("a"));
    assert_int_equal(entries(), 1);
    put(".a.other", "not ours");
    put(".ab.1.1.tmp", "of another target");
    put(".a.1x.tmp", "no process id");
    assert_int_equal(file_write_all("a", "whole", 5, false, &e), CUZK_OK);
    expect_content("a", "whole");
    assert_int_equal(entries(), 4);
    close(ready[0]);
    close(ready[1]);
}

/* 0 when the child saw a full disk reported as DISK in reserve and write, and the target absent. */
static int on_small_disk(void) {
    cuzk_error e;
    file_writer *w;
    if (file_writer_open(&w, "disk/a", false, &e)) return 10;
    if (file_writer_reserve(w, 100 << 20, &e) != CUZK_DISK) return 11;
    if (!strstr(e.found, "bytes free")) return 12;
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    cuzk_status s = CUZK_OK;
    for (int i = 0; i < 100 && !s; i++) s = file_writer_write(w, block, sizeof block, &e);
    if (s != CUZK_DISK) return 13;
    file_writer_abort(w);
    DIR *d = opendir("disk");
    int left = 0;
    while (readdir(d)) left++;
    closedir(d);
    return left == 2 ? 0 : 14;
}

static void full_disks_are_named(void **state) {
    (void)state;
    assert_int_equal(mkdir("disk", 0755), 0);
    if (mount("none", "disk", "tmpfs", 0, "size=4m")) skip(); /* needs root */
    int rc = on_small_disk();
    umount("disk");
    assert_int_equal(rc, 0);
}

/* Without root too: a limit on the size of files makes the write fail in the middle. */
static void failing_writes_leave_nothing(void **state) {
    (void)state;
    pid_t child = fork();
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit small = {5000, 5000};
        setrlimit(RLIMIT_FSIZE, &small);
        static char data[10000];
        cuzk_error e;
        _exit(file_write_all("a", data, sizeof data, false, &e) == CUZK_IO ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(entries(), 0);
}

typedef struct part {
    file_writer *w;
    size_t index;
} part;

static void *write_part(void *arg) {
    part *p = arg;
    char block[1000];
    cuzk_error e;
    memset(block, (int)('a' + p->index), sizeof block);
    for (size_t i = p->index; i < 40; i += 4)
        if (file_writer_pwrite(p->w, block, sizeof block, i * sizeof block, &e)) return "failed";
    return NULL;
}

static void threads_write_parts(void **state) {
    (void)state;
    cuzk_error e;
    file_writer *w;
    assert_int_equal(file_writer_open(&w, "a", true, &e), CUZK_OK);
    pthread_t t[4];
    part parts[4];
    for (size_t i = 0; i < 4; i++) {
        parts[i] = (part){w, i};
        assert_int_equal(pthread_create(&t[i], NULL, write_part, &parts[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *fault;
        pthread_join(t[i], &fault);
        assert_null(fault);
    }
    assert_int_equal(file_writer_commit(w, &e), CUZK_OK);
    buffer b;
    assert_int_equal(file_read(&b, "a", 40000, &e), CUZK_OK);
    assert_int_equal(b.bytes, 40000);
    for (size_t i = 0; i < b.bytes; i++) assert_int_equal(((char *)b.data)[i], 'a' + i / 1000 % 4);
    buffer_free(&b);
}

static void told(void *user) {
    ++*(int *)user;
}

static void locks_wait_for_each_other(void **state) {
    (void)state;
    cuzk_error e;
    int fd, waits = 0, go[2];
    assert_int_equal(pipe(go), 0);
    assert_int_equal(file_lock(&fd, "key", told, &waits, &e), CUZK_OK);
    assert_int_equal(waits, 0);
    pid_t child = fork();
    if (!child) {
        file_unlock(fd); /* the inherited descriptor shares the parent's lock */
        int mine, waited = 0;
        if (file_lock(&mine, "key", told, &waited, &e)) _exit(1);
        char c = 'L';
        if (write(go[1], &c, 1) != 1) _exit(1);
        _exit(waited == 1 ? 0 : 2);
    }
    close(go[1]);
    fcntl(go[0], F_SETFL, O_NONBLOCK);
    char c;
    usleep(100000);
    assert_int_equal(read(go[0], &c, 1), -1); /* still waiting */
    file_unlock(fd);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(file_lock(&fd, "key", NULL, NULL, &e), CUZK_OK); /* the child's end ended its lock */
    file_unlock(fd);
    file_unlock(-1);
    assert_int_equal(file_lock(&fd, "absent/key", NULL, NULL, &e), CUZK_IO);
    assert_int_equal(fd, -1);
    close(go[0]);
}

static void folders_and_names(void **state) {
    (void)state;
    cuzk_error e;
    assert_int_equal(file_make_folders("x/y/z", &e), CUZK_OK);
    assert_int_equal(file_make_folders("x//y/z/", &e), CUZK_OK);
    assert_true(file_exists("x/y/z"));
    put("x/file", "");
    assert_int_equal(file_make_folders("x/file", &e), CUZK_IO);
    assert_int_equal(file_make_folders("x/file/y", &e), CUZK_IO);
    assert_true(file_same("x/file", "x/y/../file"));
    assert_int_equal(link("x/file", "x/hard"), 0);
    assert_int_equal(symlink("file", "x/soft"), 0);
    assert_true(file_same("x/file", "x/hard"));
    assert_true(file_same("x/soft", "x/hard"));
    assert_false(file_same("x/file", "x/y"));
    assert_false(file_same("x/file", "x/absent"));
    assert_true(file_same("x/absent", "x/y/../absent"));
    assert_false(file_same("x/absent", "x/y/absent"));
    assert_true(file_same("no/such/folder", "no/such/folder"));
    unlink("x/soft"), unlink("x/hard"), unlink("x/file");
    rmdir("x/y/z"), rmdir("x/y");
}

static void cache_folder_follows_the_environment(void **state) {
    (void)state;
    cuzk_error e;
    char out[PATH_MAX], expected[200];
    snprintf(expected, sizeof expected, "%s/own/shapes", folder);
    char own[100];
    snprintf(own, sizeof own, "%s/own", folder);
    setenv("CUZK_CACHE", own, 1);
    assert_int_equal(file_cache_folder(out, sizeof out, "shapes", &e), CUZK_OK);
    assert_string_equal(out, expected);
    assert_true(file_exists(out));
    assert_int_equal(file_cache_folder(out, 5, NULL, &e), CUZK_IO);
    unsetenv("CUZK_CACHE");
    setenv("XDG_CACHE_HOME", own, 1);
    assert_int_equal(file_cache_folder(out, sizeof out, NULL, &e), CUZK_OK);
    snprintf(expected, sizeof expected, "%s/own/cuzk", folder);
    assert_string_equal(out, expected);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", own, 1);
    assert_int_equal(file_cache_folder(out, sizeof out, NULL, &e), CUZK_OK);
    snprintf(expected, sizeof expected, "%s/own/.cache/cuzk", folder);
    assert_string_equal(out, expected);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(file_cache_folder(out, sizeof out, NULL, &e), CUZK_USAGE);
    rmdir("own/.cache/cuzk"), rmdir("own/.cache"), rmdir("own/cuzk"), rmdir("own/shapes");
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(mapping),
        IN_FOLDER(reading_at_places),
        IN_FOLDER(what_cannot_be_mapped),
        IN_FOLDER(reading_whole_files),
        IN_FOLDER(reading_standard_input),
        IN_FOLDER(writing_replaces_at_once),
        IN_FOLDER(existing_files_are_kept_when_asked),
        IN_FOLDER(links_are_followed_and_devices_refused),
        IN_FOLDER(killed_writers_leave_nothing),
        IN_FOLDER(full_disks_are_named),
        IN_FOLDER(failing_writes_leave_nothing),
        IN_FOLDER(threads_write_parts),
        IN_FOLDER(locks_wait_for_each_other),
        IN_FOLDER(folders_and_names),
        IN_FOLDER(cache_folder_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
