/* The SQLite store: what was answered OK is there after a death of the process, payloads take little memory, one
 * process owns the file, a full disk and a damaged file are told apart and survived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/file.h"
#include "store/sqlite.h"

static char folder[64], path[96];
static cuzk_error err; /* of the main thread */

static int set_up(void **state) {
    (void)state;
    strcpy(folder, "/tmp/cuzk-test-store-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/sub/jobs.db", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static store *must_open(void) {
    store *s;
    if (store_sqlite_open(&s, path, &err) != CUZK_OK) fail_msg("%s: %s (%s)", err.where, err.what, err.found);
    return s;
}

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", err.where, err.what, err.found);                                \
    } while (0)

static store_job job_of(uint64_t seq) {
    store_job j = {.seq = seq,
                   .request_id = "ps-porep-1000-7",
                   .kind = "porep",
                   .circuit = "",
                   .sector_bytes = 34359738368,
                   .priority = CUZK_PRIORITY_HIGH,
                   .policy = CUZK_PREFER_GPU,
                   .submitted = 1.75e9 + (double)seq,
                   .deadline = 1.75e9 + 100,
                   .payload_bytes = 12,
                   .state = CUZK_JOB_QUEUED};
    for (size_t i = 0; i < 32; i++) j.digest[i] = (uint8_t)(seq + i);
    return j;
}

static cuzk_status put_text(store *s, const store_job *j, const char *c1, const char *vanilla, cuzk_error *e) {
    cuzk_bytes list[2] = {{vanilla, strlen(vanilla)}, {NULL, 0}};
    cuzk_submission payload = {
        .size = sizeof payload, .kind = j->kind, .c1 = {c1, strlen(c1)}, .vanilla = list, .n_vanilla = 2};
    return s->ops->put(s, j, &payload, e);
}

static void part_is(store *s, uint64_t seq, size_t part, const char *text) {
    buffer b;
    OK(s->ops->payload(s, seq, part, &b, &err));
    assert_int_equal(b.bytes, strlen(text));
    if (b.bytes) assert_memory_equal(b.data, text, b.bytes);
    buffer_free(&b);
}

typedef struct seen {
    unsigned n;
    store_job job[8];
    char request_id[8][256], circuit[8][64];
} seen;

static void note_job(void *user, const store_job *j) {
    seen *x = user;
    assert_true(x->n < 8);
    x->job[x->n] = *j;
    snprintf(x->request_id[x->n], 256, "%s", j->request_id);
    snprintf(x->circuit[x->n], 64, "%s", j->circuit);
    x->n++;
}

static void note_proof(void *user, unsigned partition, const uint8_t *proof) {
    uint8_t(*all)[192] = user;
    assert_true(partition < 4);
    memcpy(all[partition], proof, 192);
}

/* A job's whole life, read back by another opening of the file after each step. */
static void life(void **state) {
    (void)state;
    uint64_t tracked = buffer_total_stats().live_bytes;
    store *s = must_open();
    store_job j = job_of(7);
    OK(put_text(s, &j, "{\"a\":1}", "proof", &err));
    j.state = CUZK_JOB_RUNNING;
    j.circuit = "porep-32gib";
    j.partitions = 4;
    j.runs = 3;
    j.crashes = 2;
    OK(s->ops->update(s, &j, &err));
    uint8_t proof[4][192], read[4][192] = {{0}};
    for (int i = 0; i < 4; i++) memset(proof[i], 0x40 + i, 192);
    OK(s->ops->put_proof(s, 7, 2, proof[2], &err));
    OK(s->ops->put_proof(s, 7, 0, proof[0], &err));
    OK(s->ops->put_proof(s, 7, 0, proof[0], &err)); /* a resumed job may prove a partition once more */
    OK(s->ops->attempt(s, 7, 1, "cuda:0", 1.5, &(cuzk_error){.status = CUZK_DEVICE, .what = "gone"}, &err));
    OK(s->ops->attempt(s, 7, 1, "cpu", 2.5, &(cuzk_error){0}, &err));
    s->ops->close(s);

    s = must_open();
    seen x = {0};
    OK(s->ops->each(s, note_job, &x, &err));
    assert_int_equal(x.n, 1);
    assert_string_equal(x.request_id[0], "ps-porep-1000-7");
    assert_string_equal(x.circuit[0], "porep-32gib");
    assert_int_equal(x.job[0].state, CUZK_JOB_RUNNING);
    assert_int_equal(x.job[0].partitions, 4);
    assert_int_equal(x.job[0].runs, 3);
    assert_int_equal(x.job[0].crashes, 2);
    assert_int_equal(x.job[0].sector_bytes, 34359738368);
    assert_true(x.job[0].submitted == 1.75e9 + 7 && x.job[0].deadline == 1.75e9 + 100);
    assert_int_equal(x.job[0].priority, CUZK_PRIORITY_HIGH);
    assert_int_equal(x.job[0].policy, CUZK_PREFER_GPU);
    assert_memory_equal(x.job[0].digest, j.digest, 32);
    size_t parts;
    OK(s->ops->payload_parts(s, 7, &parts, &err));
    assert_int_equal(parts, 4);
    part_is(s, 7, 0, "{\"a\":1}");
    part_is(s, 7, 1, "");
    part_is(s, 7, 2, "proof");
    part_is(s, 7, 3, "");
    OK(s->ops->proofs(s, 7, note_proof, read, &err));
    assert_memory_equal(read[0], proof[0], 192);
    assert_memory_equal(read[2], proof[2], 192);
    assert_int_equal(read[1][0], 0);
    j.state = CUZK_JOB_COMPLETED;
    j.finished = 1.75e9 + 60;
    j.times.synthesis = 12.5;
    OK(s->ops->complete(s, &j, proof[0], sizeof proof, &err));
    assert_int_not_equal(s->ops->complete(s, &j, proof[0], sizeof proof, &err), CUZK_OK); /* never twice */
    s->ops->close(s);

    s = must_open();
    x.n = 0;
    OK(s->ops->each(s, note_job, &x, &err));
    assert_int_equal(x.job[0].state, CUZK_JOB_COMPLETED);
    assert_true(x.job[0].times.synthesis == 12.5 && x.job[0].finished == 1.75e9 + 60);
    buffer b;
    OK(s->ops->result(s, 7, &b, &err));
    assert_int_equal(b.bytes, sizeof proof);
    assert_memory_equal(b.data, proof, sizeof proof);
    buffer_free(&b);
    assert_int_not_equal(s->ops->payload(s, 7, 0, &b, &err), CUZK_OK); /* dropped with the end */
    assert_int_not_equal(s->ops->payload_parts(s, 7, &parts, &err), CUZK_OK);
    uint64_t gone;
    OK(s->ops->purge(s, 1.75e9 + 60, &gone, &err));
    assert_int_equal(gone, 0);
    OK(s->ops->purge(s, 1.75e9 + 61, &gone, &err));
    assert_int_equal(gone, 1);
    assert_int_not_equal(s->ops->result(s, 7, &b, &err), CUZK_OK);
    s->ops->close(s);
    assert_int_equal(buffer_total_stats().live_bytes, tracked);
}

static void failure_is_kept(void **state) {
    (void)state;
    store *s = must_open();
    store_job j = job_of(1);
    OK(put_text(s, &j, "x", "y", &err));
    j.state = CUZK_JOB_FAILED;
    j.finished = 1.75e9;
    cuzk_fail(&j.error, CUZK_UNSATISFIED, "a label is wrong");
    cuzk_fail_where(&j.error, "partition 3");
    cuzk_fail_expected(&j.error, "e");
    cuzk_fail_found(&j.error, "f");
    cuzk_fail_hint(&j.error, "h");
    OK(s->ops->update(s, &j, &err));
    s->ops->close(s);
    s = must_open();
    seen x = {0};
    OK(s->ops->each(s, note_job, &x, &err));
    assert_memory_equal(&x.job[0].error.status, &j.error.status, sizeof j.error.status);
    assert_string_equal(x.job[0].error.what, "a label is wrong");
    assert_string_equal(x.job[0].error.where, "partition 3");
    assert_string_equal(x.job[0].error.hint, "h");
    size_t parts;
    assert_int_not_equal(s->ops->payload_parts(s, 1, &parts, &err), CUZK_OK);
    j.seq = 99;
    assert_int_not_equal(s->ops->update(s, &j, &err), CUZK_OK); /* a job that is not there */
    s->ops->close(s);
}

/* SQLite's memory stays small however large a payload is, in both directions. */
static void large_payload(void **state) {
    (void)state;
    const size_t n = 51u << 20;
    store *s = must_open();
    store_job j = job_of(1);
    buffer data, back;
    OK(buffer_alloc(&data, BUFFER_REQUEST, n, &err));
    for (size_t i = 0; i < n; i += 64) ((uint8_t *)data.data)[i] = (uint8_t)(i * 2654435761u >> 11);
    cuzk_submission payload = {.size = sizeof payload, .kind = j.kind, .c1 = {data.data, n}};
    sqlite3_memory_highwater(1);
    OK(s->ops->put(s, &j, &payload, &err));
    OK(s->ops->payload(s, 1, 0, &back, &err));
    assert_true(sqlite3_memory_highwater(0) < 16 << 20);
    assert_memory_equal(back.data, data.data, n);
    buffer_free(&back);
    j.state = CUZK_JOB_CANCELLED;
    j.finished = 1;
    OK(s->ops->update(s, &j, &err));
    uint64_t gone;
    for (int i = 0; i < 4; i++) OK(s->ops->purge(s, 2, &gone, &err));
    s->ops->close(s);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 4 << 20); /* the space went back to the file system */
    buffer_free(&data);
}

/* Answers of a process that is killed right after them. */
static void death(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        store *s;
        if (store_sqlite_open(&s, path, &err)) _exit(1);
        for (uint64_t i = 1; i <= 5; i++) {
            store_job j = job_of(i);
            if (put_text(s, &j, "one", "two", &err)) _exit(2);
        }
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    store *s = must_open();
    seen x = {0};
    OK(s->ops->each(s, note_job, &x, &err));
    assert_int_equal(x.n, 5);
    for (unsigned i = 0; i < 5; i++) assert_int_equal(x.job[i].seq, i + 1); /* oldest first */
    part_is(s, 3, 0, "one");
    s->ops->close(s);
}

static void one_owner(void **state) {
    (void)state;
    store *s = must_open(), *second;
    char other[PATH_MAX];
    assert_int_equal(store_sqlite_open(&second, path, &err), CUZK_REFUSED);
    assert_null(second);
    assert_non_null(strstr(err.what, "in use"));
    assert_non_null(strstr(err.where, "jobs.db"));
    snprintf(other, sizeof other, "%s/link.db", folder); /* another name of the same file */
    assert_int_equal(symlink(path, other), 0);
    assert_int_equal(store_sqlite_open(&second, other, &err), CUZK_REFUSED);
    s->ops->close(s);
    assert_int_equal(store_sqlite_open(&second, other, &err), CUZK_OK);
    second->ops->close(second);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* ---- what may be wrong with the file ---- */

static void overwrite(off_t at, const char *bytes, size_t n) {
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n && close(fd) == 0);
}

static off_t file_size(void) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void refused_and_untouched(cuzk_status status, const char *what) {
    store *s;
    buffer before, after;
    OK(file_read(&before, path, 1u << 30, &err));
    assert_int_equal(store_sqlite_open(&s, path, &err), status);
    assert_null(s);
    if (!strstr(err.what, what)) fail_msg("%s", err.what);
    assert_non_null(strstr(err.where, "jobs.db"));
    assert_true(err.hint[0]);
    OK(file_read(&after, path, 1u << 30, &err));
    assert_int_equal(after.bytes, before.bytes);
    assert_memory_equal(after.data, before.data, after.bytes);
    buffer_free(&before);
    buffer_free(&after);
}

static void fill(unsigned n) {
    store *s = must_open();
    for (uint64_t i = 1; i <= n; i++) {
        store_job j = job_of(i);
        OK(put_text(s, &j, "one", "two", &err));
    }
    s->ops->close(s);
}

static void ignore_job(void *user, const store_job *job) {
    (void)user, (void)job;
}

static void damaged(void **state) {
    (void)state;
    static const char rubbish[4096] = "rubbish";
    fill(3);
    overwrite(0, rubbish, 16); /* no database any more */
    refused_and_untouched(CUZK_MALFORMED, "damaged");
    unlink(path);
    fill(200);
    off_t size = file_size();
    assert_true(size > 5 * 8192);
    for (off_t at = 8192; at + 8192 <= size; at += 8192) overwrite(at, rubbish, sizeof rubbish);
    refused_and_untouched(CUZK_MALFORMED, "damaged");
    assert_int_equal(truncate(path, 8192 + 100), 0);
    refused_and_untouched(CUZK_MALFORMED, "damaged");
    unlink(path);
    /* Rows that no writer made; JSON has no infinity. */
    static const char *const no_sense[] = {"UPDATE job SET state = 7", "UPDATE job SET digest = x'00'",
                                           "UPDATE job SET submitted = 9e999", "UPDATE job SET finished = 9e999",
                                           "UPDATE job SET verify = -9e999"};
    for (size_t i = 0; i < sizeof no_sense / sizeof no_sense[0]; i++) {
        fill(1);
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, no_sense[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        store *s = must_open();
        assert_int_equal(s->ops->each(s, ignore_job, NULL, &err), CUZK_MALFORMED);
        assert_non_null(strstr(err.found, "job 1"));
        s->ops->close(s);
        unlink(path);
    }
}

/* A file of the first version is brought up to date, with all that is in it. */
static void first_version(void **state) {
    (void)state;
    fill(2);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "ALTER TABLE job DROP COLUMN crashes; PRAGMA user_version = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    for (int i = 0; i < 2; i++) {
        store *s = must_open();
        seen x = {0};
        OK(s->ops->each(s, note_job, &x, &err));
        assert_int_equal(x.n, 2);
        assert_int_equal(x.job[0].crashes, i);
        assert_string_equal(x.request_id[0], "ps-porep-1000-7");
        part_is(s, 2, 2, "two");
        store_job j = job_of(1);
        j.crashes = 1;
        OK(s->ops->update(s, &j, &err));
        s->ops->close(s);
    }
}

static void not_ours(void **state) {
    (void)state;
    fill(1);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refused_and_untouched(CUZK_FOREIGN, "newer version");
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x); PRAGMA user_version = 1", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refused_and_untouched(CUZK_FOREIGN, "another program");
    unlink(path);
    store *s;
    assert_int_equal(mkdir(path, 0700), 0); /* a folder */
    assert_int_equal(store_sqlite_open(&s, path, &err), CUZK_IO);
    rmdir(path);
    assert_int_equal(store_sqlite_open(&s, "/proc/none/jobs.db", &err), CUZK_IO);
    assert_non_null(strstr(err.where, "/proc/none"));
}

/* A full disk, as the file size limit of this process shows it: DISK, nothing half written, and all well when there is
 * room again. */
static void disk_full(void **state) {
    (void)state;
    fill(2);
    store *s = must_open();
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 512 << 10;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    char *large = malloc(3 << 20);
    memset(large, 'x', (3 << 20) - 1);
    large[(3 << 20) - 1] = 0;
    store_job j = job_of(10);
    OK(s->ops->probe(s, &err));
    assert_int_equal(put_text(s, &j, large, "", &err), CUZK_DISK);
    assert_non_null(strstr(err.what, "full"));
    assert_non_null(strstr(err.where, "jobs.db"));
    assert_int_equal(put_text(s, &j, large, "", &err), CUZK_DISK); /* still */
    seen x = {0};
    OK(s->ops->each(s, note_job, &x, &err)); /* reading goes on */
    assert_int_equal(x.n, 2);
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(s->ops->probe(s, &err), CUZK_DISK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    OK(put_text(s, &j, large, "", &err));
    x.n = 0;
    OK(s->ops->each(s, note_job, &x, &err));
    assert_int_equal(x.n, 3);
    part_is(s, 10, 0, large);
    s->ops->close(s);
    signal(SIGXFSZ, handler);
    free(large);
}

static int64_t number_in(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return v;
}

/* ---- many threads ---- */

typedef struct worker {
    store *s;
    unsigned number;
    bool good;
    unsigned done;
} worker;

static void *work(void *user) {
    worker *w = user;
    cuzk_error own;
    for (uint64_t i = 0; i < 20; i++) {
        store_job j = job_of(w->number * 100 + i);
        char text[32];
        buffer b;
        uint8_t proof[192] = {(uint8_t)w->number};
        snprintf(text, sizeof text, "input of %llu", (unsigned long long)j.seq);
        if (put_text(w->s, &j, text, "v", &own) || w->s->ops->payload(w->s, j.seq, 0, &b, &own)) return NULL;
        bool same = b.bytes == strlen(text) && !memcmp(b.data, text, b.bytes);
        buffer_free(&b);
        j.state = CUZK_JOB_COMPLETED;
        j.finished = 5;
        if (!same || w->s->ops->put_proof(w->s, j.seq, 0, proof, &own) ||
            w->s->ops->complete(w->s, &j, proof, 192, &own) || w->s->ops->result(w->s, j.seq, &b, &own))
            return NULL;
        same = b.bytes == 192 && ((uint8_t *)b.data)[0] == w->number;
        buffer_free(&b);
        if (!same) return NULL;
    }
    w->good = true;
    return NULL;
}

static void count_job(void *user, const store_job *j) {
    assert_int_equal(j->state, CUZK_JOB_COMPLETED);
    ++*(unsigned *)user;
}

static void threads(void **state) {
    (void)state;
    enum { N = 6 };
    worker all[N];
    pthread_t ids[N];
    store *s = must_open();
    for (unsigned i = 0; i < N; i++) {
        all[i] = (worker){.s = s, .number = i + 1};
        assert_int_equal(pthread_create(&ids[i], NULL, work, &all[i]), 0);
    }
    for (unsigned i = 0; i < N; i++) {
        pthread_join(ids[i], NULL);
        assert_true(all[i].good);
    }
    unsigned n = 0;
    OK(s->ops->each(s, count_job, &n, &err));
    assert_int_equal(n, N * 20);
    s->ops->close(s);
}

/* An update comes between large inputs, not after all of them. */
static void *put_large(void *user) {
    worker *w = user;
    cuzk_error own;
    const size_t n = 16u << 20;
    char *data = malloc(n);
    memset(data, 'x', n - 1);
    data[n - 1] = 0;
    w->good = true;
    for (uint64_t i = 0; i < 8; i++) {
        store_job j = job_of(100 + i);
        w->good = w->good && put_text(w->s, &j, data, "", &own) == CUZK_OK;
        __atomic_store_n(&w->done, (unsigned)i + 1, __ATOMIC_SEQ_CST);
    }
    free(data);
    return NULL;
}

static void order(void **state) {
    (void)state;
    store *s = must_open();
    store_job j = job_of(1);
    OK(put_text(s, &j, "x", "", &err));
    worker w = {.s = s};
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, put_large, &w), 0);
    while (!__atomic_load_n(&w.done, __ATOMIC_SEQ_CST)) usleep(1000);
    unsigned before = __atomic_load_n(&w.done, __ATOMIC_SEQ_CST);
    j.state = CUZK_JOB_RUNNING;
    OK(s->ops->update(s, &j, &err));
    unsigned after = __atomic_load_n(&w.done, __ATOMIC_SEQ_CST);
    assert_true(after - before <= 2); /* the one that is being written, and one that may end meanwhile */
    pthread_join(id, NULL);
    assert_true(w.good);
    s->ops->close(s);
}

/* A small input does not wait for a large one, nor for those of ended jobs to be dropped. */
#define LARGE_BYTES ((size_t)96 << 20)

typedef struct heavy {
    store *s;
    uint64_t seq;
    cuzk_status status;
    const char *data;
} heavy;

static atomic_uint heavies;

static void *put_and_end(void *user) {
    heavy *h = user;
    cuzk_error own;
    store_job j = job_of(h->seq);
    cuzk_submission payload = {.size = sizeof payload, .kind = j.kind, .c1 = {h->data, LARGE_BYTES}};
    h->status = h->s->ops->put(h->s, &j, &payload, &own);
    j.state = CUZK_JOB_CANCELLED;
    j.finished = 1;
    if (!h->status) h->status = h->s->ops->update(h->s, &j, &own);
    atomic_fetch_sub(&heavies, 1);
    return NULL;
}

/* Seconds of the longest of many small inputs beside large ones, and of one large input alone. */
static double small_waits(store *s, unsigned round, const char *data, double *alone) {
    enum { N = 2 };
    pthread_t ids[N];
    heavy all[N + 1];
    uint64_t seq = (round + 1) * 100000;
    double longest = 0;
    unsigned small = 0;
    for (unsigned i = 0; i <= N; i++) all[i] = (heavy){.s = s, .seq = seq++, .data = data};
    atomic_store(&heavies, N + 1);
    *alone = cpu_monotonic_seconds();
    put_and_end(&all[N]);
    *alone = cpu_monotonic_seconds() - *alone;
    for (unsigned i = 0; i < N; i++) assert_int_equal(pthread_create(&ids[i], NULL, put_and_end, &all[i]), 0);
    for (; atomic_load(&heavies); small++) {
        double start = cpu_monotonic_seconds();
        store_job j = job_of(seq++);
        OK(put_text(s, &j, "one", "two", &err));
        double took = cpu_monotonic_seconds() - start;
        if (took > longest) longest = took;
        usleep(20000);
    }
    print_message("%u small inputs beside %d of %zu MiB: at most %.3f s each; a large one alone %.3f s\n", small, N,
                  LARGE_BYTES >> 20, longest, *alone);
    for (unsigned i = 0; i < N; i++) pthread_join(ids[i], NULL);
    for (unsigned i = 0; i <= N; i++) assert_int_equal(all[i].status, CUZK_OK);
    return longest;
}

static void small_beside_large(void **state) {
    (void)state;
    store *s = must_open();
    buffer data;
    bool good = false;
    OK(buffer_alloc(&data, BUFFER_REQUEST, LARGE_BYTES, &err));
    memset(data.data, 'x', LARGE_BYTES);
    for (unsigned round = 0; round < 4 && !good; round++) { /* a disk may stand still for a moment */
        double alone, longest = small_waits(s, round, data.data, &alone);
        good = longest < alone / 2;
    }
    assert_true(good);
    s->ops->close(s);
    buffer_free(&data);
}

/* What a process that is killed while a large input comes leaves is not there, and goes at the next start. */
static void death_while_large_comes(void **state) {
    (void)state;
    const size_t n = 48u << 20;
    fill(1);
    int64_t pieces = 0, rows = 0;
    for (int i = 0; i < 20 && !(pieces && rows == 2); i++) {
        pid_t child = fork();
        if (child == 0) {
            store *s;
            store_job j = job_of(10);
            char *large = calloc(1, n);
            if (!large || store_sqlite_open(&s, path, &err)) _exit(1);
            cuzk_submission payload = {.size = sizeof payload, .kind = j.kind, .c1 = {large, n}};
            s->ops->put(s, &j, &payload, &err);
            _exit(2);
        }
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 10000);
        for (int k = 0; k < 2000 && number_in(db, "SELECT count(*) FROM payload_piece") < 12; k++) usleep(1000);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        pieces = number_in(db, "SELECT count(*) FROM payload_piece WHERE seq = 10");
        rows = number_in(db, "SELECT count(*) FROM job");
        bool arrived = number_in(db, "SELECT count(*) FROM job WHERE seq = 10 AND state = 1") == 1;
        sqlite3_close(db);
        store *s = must_open();
        seen x = {0};
        OK(s->ops->each(s, note_job, &x, &err));
        assert_int_equal(x.n, arrived ? 2 : 1);
        s->ops->close(s);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(number_in(db, "SELECT count(*) FROM payload_piece WHERE seq = 10"), arrived ? n >> 20 : 0);
        assert_int_equal(number_in(db, "SELECT count(*) FROM job WHERE seq = 10"), arrived);
        if (arrived) sqlite3_exec(db, "PRAGMA foreign_keys = 1; DELETE FROM job WHERE seq = 10", NULL, NULL, NULL);
        sqlite3_close(db);
        if (arrived) pieces = 0;
    }
    assert_true(pieces >= 12 && rows == 2); /* once at least it was killed in the middle */
}

/* The same of a large input of a job that has ended: its end is kept, and the rest of the input goes at the start. */
static void rest_of_an_input(void **state) {
    (void)state;
    fill(2);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE job SET state = 4, finished = 1 WHERE seq = 1", NULL, NULL, NULL), 0);
    sqlite3_close(db);
    store *s = must_open();
    seen x = {0};
    OK(s->ops->each(s, note_job, &x, &err));
    assert_int_equal(x.n, 2);
    size_t parts;
    assert_int_not_equal(s->ops->payload_parts(s, 1, &parts, &err), CUZK_OK);
    part_is(s, 2, 0, "one");
    s->ops->close(s);
}

/* What goes later does so within a minute. */
static void comes_to(sqlite3 *db, const char *sql, int64_t wanted) {
    for (int i = 0; i < 6000 && number_in(db, sql) != wanted; i++) usleep(10000);
    assert_int_equal(number_in(db, sql), wanted);
}

/* The end of a job with a large input is told when it is kept: its input goes after that, while the store is open. */
static void end_before_drop(void **state) {
    (void)state;
    const size_t n = 96u << 20;
    store *s = must_open();
    sqlite3 *db;
    buffer large;
    OK(buffer_alloc(&large, BUFFER_REQUEST, n, &err));
    memset(large.data, 'x', n);
    store_job j = job_of(1);
    cuzk_submission payload = {.size = sizeof payload, .kind = j.kind, .c1 = {large.data, n}};
    OK(s->ops->put(s, &j, &payload, &err));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    j.state = CUZK_JOB_COMPLETED;
    j.finished = 1;
    OK(s->ops->complete(s, &j, (const uint8_t *)"proof", 5, &err));
    assert_true(number_in(db, "SELECT count(*) FROM payload_piece") > 0); /* nobody waited for them to go */
    comes_to(db, "SELECT count(*) FROM payload_piece", 0);
    comes_to(db, "SELECT count(*) FROM payload", 0);
    sqlite3_close(db);
    s->ops->close(s);
    buffer_free(&large);
}

/* The number of a job that did not arrive and could not be removed is free. */
static void number_of_leftover(void **state) {
    (void)state;
    fill(1);
    sqlite3 *db;
    store *s = must_open();
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    static const char leave[] =
        "INSERT INTO job SELECT 2, request_id, kind, circuit, digest, sector_bytes, priority,"
        " policy, submitted, deadline, payload_bytes, 0, partitions, runs, finished,"
        " error_status, error_what, error_where, error_expected, error_found, error_hint,"
        " queue_wait, key_load, vanilla_check, synthesis, device_wait, device, finish, verify,"
        " total, crashes FROM job WHERE seq = 1;"
        "INSERT INTO payload VALUES (2, 0, 3); INSERT INTO payload_piece VALUES (2, 0, 0, x'6f6c64')";
    assert_int_equal(sqlite3_exec(db, leave, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    store_job j = job_of(2);
    OK(put_text(s, &j, "one", "two", &err));
    part_is(s, 2, 0, "one");
    j = job_of(1); /* one that is there is not overwritten */
    assert_int_not_equal(put_text(s, &j, "three", "four", &err), CUZK_OK);
    s->ops->close(s);
}

/* A disk that is full in the middle of a large input, and nothing can be removed then: it goes when there is room. */
static void full_while_large_comes(void **state) {
    (void)state;
    const size_t n = 48u << 20;
    fill(1);
    store *s = must_open();
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 20u << 20;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    buffer large;
    OK(buffer_alloc(&large, BUFFER_REQUEST, n, &err));
    store_job j = job_of(10);
    cuzk_submission payload = {.size = sizeof payload, .kind = j.kind, .c1 = {large.data, n}};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(s->ops->put(s, &j, &payload, &err), CUZK_DISK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    uint64_t gone;
    OK(s->ops->purge(s, 1, &gone, &err));
    seen x = {0};
    OK(s->ops->each(s, note_job, &x, &err));
    assert_int_equal(x.n, 1);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    comes_to(db, "SELECT count(*) FROM payload_piece WHERE seq = 10", 0);
    comes_to(db, "SELECT count(*) FROM job", 1);
    OK(s->ops->put(s, &j, &payload, &err));
    j.state = CUZK_JOB_FAILED;
    j.finished = 1;
    OK(s->ops->update(s, &j, &err));
    size_t parts;
    assert_int_not_equal(s->ops->payload_parts(s, 10, &parts, &err), CUZK_OK);
    comes_to(db, "SELECT count(*) FROM payload_piece WHERE seq = 10", 0);
    comes_to(db, "SELECT count(*) FROM payload WHERE seq = 10", 0);
    sqlite3_close(db);
    s->ops->close(s);
    signal(SIGXFSZ, handler);
    buffer_free(&large);
}

/* What is called for each job may itself read the store, as a start that resumes jobs does. */
static void read_again(void *user, const store_job *j) {
    store *s = user;
    size_t parts;
    assert_int_equal(s->ops->payload_parts(s, j->seq, &parts, &err), CUZK_OK);
    part_is(s, j->seq, 0, "one");
}

static void nested(void **state) {
    (void)state;
    fill(3);
    store *s = must_open();
    OK(s->ops->each(s, read_again, s, &err));
    s->ops->close(s);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(life),
                                       TEST(failure_is_kept),
                                       TEST(large_payload),
                                       TEST(death),
                                       TEST(one_owner),
                                       TEST(damaged),
                                       TEST(not_ours),
                                       TEST(disk_full),
                                       TEST(threads),
                                       TEST(nested),
                                       TEST(order),
                                       TEST(first_version),
                                       TEST(small_beside_large),
                                       TEST(death_while_large_comes),
                                       TEST(rest_of_an_input),
                                       TEST(end_before_drop),
                                       TEST(number_of_leftover),
                                       TEST(full_while_large_comes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
