/* The job store in SQLite: one connection writes, another reads, so that reading a large payload holds up nobody's
 * update. See store/sqlite.h. */
#include "store/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "store/sqlite_db.h"

#define PIECE_BYTES ((size_t)1 << 20)
/* What one transaction writes or drops of an input at most: others wait for so much. */
#define STEP_PIECES 4
#define STEP_BYTES (STEP_PIECES * PIECE_BYTES)
/* Pages given back to the file system: in one step, and steps in a purge. */
#define VACUUM_PAGES 1024
#define VACUUM_STEPS 4
#define LEFT_MAX 64 /* what comes above them waits for the next start */
/* The state of a job whose input is not there as a whole. */
#define ARRIVING CUZK_JOB_UNKNOWN

typedef struct sqlite_store {
    store base;
    char *path;
    int lock_fd;
    db write, read;
    uint64_t left[LEFT_MAX]; /* jobs that did not arrive and could not be removed; by whoever has `write` */
    size_t n_left;
    pthread_t dropper; /* drops the rests of large inputs, so that nobody waits for that */
    bool has_dropper;
    pthread_mutex_t drop_lock;
    pthread_cond_t drop_wake;
    bool drop_wanted;
    atomic_bool closing; /* set with drop_lock */
} sqlite_store;

static sqlite_store *of(store *s) {
    return (sqlite_store *)s;
}

static int64_t whole(uint64_t v) {
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool has_ended(cuzk_job_state s) {
    return s == CUZK_JOB_COMPLETED || s == CUZK_JOB_FAILED || s == CUZK_JOB_CANCELLED;
}

static cuzk_status no_such_job(const db *d, uint64_t seq, cuzk_error *err) {
    cuzk_fail(err, CUZK_INTERNAL, "the job store does not have what is asked for");
    return cuzk_fail_where(err, "%s: job %llu", d->path, (unsigned long long)seq);
}

static cuzk_status put_event(db *d, uint64_t seq, cuzk_job_state state, cuzk_error *err) {
    return db_run(d, err, "cannot keep a job's history", "INSERT INTO event (seq, at, state) VALUES (?, ?, ?)", "idi",
                  whole(seq), now_seconds(), (int64_t)state);
}

/* ---- inputs that are not wanted any more ---- */

/* Within a transaction: a part of the input of this job, or the last of it; *more tells whether there is more. */
static cuzk_status drop_some(db *d, uint64_t seq, bool *more, cuzk_error *err) {
    static const char action[] = "cannot drop a finished job's input";
    cuzk_status s = db_run(d, err, action,
                           "DELETE FROM payload_piece WHERE rowid IN"
                           " (SELECT rowid FROM payload_piece WHERE seq = ? LIMIT ?)",
                           "ii", whole(seq), (int64_t)STEP_PIECES);
    *more = s == CUZK_OK && sqlite3_changes64(d->handle) == STEP_PIECES;
    if (s != CUZK_OK || *more) return s;
    return db_run(d, err, action, "DELETE FROM payload WHERE seq = ?", "i", whole(seq));
}

/* The same as a transaction. A job's rows in the table payload go last, so that a rest is found. */
static cuzk_status drop_step(db *d, uint64_t seq, bool *more, cuzk_error *err) {
    cuzk_status s = db_begin(d, err);
    return s == CUZK_OK ? db_end(d, drop_some(d, seq, more, err), err) : s;
}

/* A job that did not arrive, if a row of it is there. */
static cuzk_status remove_job(db *d, uint64_t seq, cuzk_error *err) {
    cuzk_status s = CUZK_OK;
    for (bool more = true; s == CUZK_OK && more;) s = drop_step(d, seq, &more, err);
    if (s == CUZK_OK) s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = db_run(d, err, "cannot remove a job that did not arrive", "DELETE FROM job WHERE seq = ? AND state = ?", "ii",
               whole(seq), (int64_t)ARRIVING);
    return db_end(d, s, err);
}

static void left_behind(sqlite_store *s, uint64_t seq) {
    db_enter(&s->write);
    if (s->n_left < LEFT_MAX) s->left[s->n_left++] = seq;
    db_leave(&s->write);
}

/* What could not be removed before. */
static cuzk_status remove_left(sqlite_store *s, cuzk_error *err) {
    while (!atomic_load(&s->closing)) {
        db_enter(&s->write);
        uint64_t seq = s->n_left ? s->left[s->n_left - 1] : 0;
        db_leave(&s->write);
        if (!seq) return CUZK_OK;
        cuzk_status status = remove_job(&s->write, seq, err);
        if (status != CUZK_OK) return status;
        db_enter(&s->write);
        for (size_t i = 0; i < s->n_left; i++)
            if (s->left[i] == seq) s->left[i] = s->left[--s->n_left];
        db_leave(&s->write);
    }
    return CUZK_OK;
}

/* *seq: the job that the statement finds; 0: none. */
static cuzk_status find_leftover(db *d, const char *sql, int64_t from, int64_t to, uint64_t *seq, cuzk_error *err) {
    static const char action[] = "cannot find what was left behind";
    sqlite3_stmt *statement;
    bool got = false;
    *seq = 0;
    db_enter(d);
    cuzk_status s = db_prepare(d, &statement, err, action, sql, "ii", from, to);
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s == CUZK_OK && got) {
        *seq = (uint64_t)sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
    }
    db_leave(d);
    return s;
}

static cuzk_status find_ended(db *d, uint64_t *seq, cuzk_error *err) {
    return find_leftover(d, "SELECT seq FROM payload JOIN job USING (seq) WHERE state BETWEEN ? AND ? LIMIT 1",
                         CUZK_JOB_COMPLETED, CUZK_JOB_CANCELLED, seq, err);
}

/* While nobody puts any. */
static cuzk_status find_arriving(db *d, uint64_t *seq, cuzk_error *err) {
    return find_leftover(d, "SELECT seq FROM job WHERE state BETWEEN ? AND ? LIMIT 1", ARRIVING, ARRIVING, seq, err);
}

/* At the start: what deaths and full disks left of jobs that did not arrive, and of inputs of jobs that have ended. */
static cuzk_status remove_leftovers(sqlite_store *s, cuzk_error *err) {
    uint64_t seq = 0;
    cuzk_status status;
    do {
        status = find_arriving(&s->write, &seq, err);
        if (status == CUZK_OK && !seq) status = find_ended(&s->write, &seq, err);
        if (status == CUZK_OK && seq) status = remove_job(&s->write, seq, err);
    } while (status == CUZK_OK && seq);
    return status == CUZK_DISK || status == CUZK_IO ? CUZK_OK : status; /* it stays until the next start */
}

/* What a failure leaves, the next call or the next start finds. */
static void drop_inputs(sqlite_store *s) {
    cuzk_error ignored;
    uint64_t seq = 0;
    bool more;
    if (remove_left(s, &ignored)) return;
    do {
        if (find_ended(&s->write, &seq, &ignored) || !seq) return;
        for (more = true; more && !atomic_load(&s->closing);)
            if (drop_step(&s->write, seq, &more, &ignored)) return;
    } while (!atomic_load(&s->closing));
}

static void *drop_lane(void *user) {
    sqlite_store *s = user;
    pthread_mutex_lock(&s->drop_lock);
    while (!atomic_load(&s->closing)) {
        if (!s->drop_wanted) {
            pthread_cond_wait(&s->drop_wake, &s->drop_lock);
            continue;
        }
        s->drop_wanted = false;
        pthread_mutex_unlock(&s->drop_lock);
        drop_inputs(s);
        pthread_mutex_lock(&s->drop_lock);
    }
    pthread_mutex_unlock(&s->drop_lock);
    return NULL;
}

static void drop_later(sqlite_store *s) {
    pthread_mutex_lock(&s->drop_lock);
    s->drop_wanted = true;
    pthread_cond_signal(&s->drop_wake);
    pthread_mutex_unlock(&s->drop_lock);
}

static cuzk_status start_dropper(sqlite_store *s, cuzk_error *err) {
    int rc = pthread_create(&s->dropper, NULL, drop_lane, s);
    s->has_dropper = rc == 0;
    return rc ? cuzk_fail_errno(err, rc, NULL, "cannot start a thread") : CUZK_OK;
}

static void stop_dropper(sqlite_store *s) {
    pthread_mutex_lock(&s->drop_lock);
    atomic_store(&s->closing, true);
    pthread_cond_signal(&s->drop_wake);
    pthread_mutex_unlock(&s->drop_lock);
    if (s->has_dropper) pthread_join(s->dropper, NULL);
}

/* ---- jobs and payloads ---- */

static cuzk_status put_row(db *d, const store_job *j, cuzk_error *err) {
    const cuzk_job_times *t = &j->times;
    return db_run(
        d, err, "cannot keep a job",
        "INSERT INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, ?, ?, ?, ?)",
        "itttbiiiddiiiidittttt"
        "dddddddddi",
        whole(j->seq), j->request_id, j->kind, j->circuit, (const void *)j->digest, sizeof j->digest,
        whole(j->sector_bytes), (int64_t)j->priority, (int64_t)j->policy, j->submitted, j->deadline,
        whole(j->payload_bytes), (int64_t)j->state, (int64_t)j->partitions, (int64_t)j->runs, j->finished,
        (int64_t)j->error.status, j->error.what, j->error.where, j->error.expected, j->error.found, j->error.hint,
        t->queue_wait, t->key_load, t->vanilla_check, t->synthesis, t->device_wait, t->device, t->finish, t->verify,
        t->total, (int64_t)j->crashes);
}

/* A payload on its way into the database. */
typedef struct arrival {
    db *d;
    const store_job *job;
    size_t written; /* since the transaction began */
    bool in_steps;
} arrival;

/* Gives way to others after so many bytes. On failure there is no transaction any more. */
static cuzk_status next_step(arrival *a, size_t n, cuzk_error *err) {
    a->written += n;
    if (!a->in_steps || a->written < STEP_BYTES) return CUZK_OK;
    a->written = 0;
    cuzk_status s = db_end(a->d, CUZK_OK, err);
    return s == CUZK_OK ? db_begin(a->d, err) : s;
}

/* On failure there is no transaction any more. */
static cuzk_status put_part(arrival *a, size_t part, cuzk_bytes bytes, cuzk_error *err) {
    static const char action[] = "cannot keep a job's input";
    int64_t seq = whole(a->job->seq), piece = 0;
    cuzk_status s =
        db_run(a->d, err, action, "INSERT INTO payload VALUES (?, ?, ?)", "iii", seq, (int64_t)part, whole(bytes.n));
    if (s != CUZK_OK) return db_end(a->d, s, err);
    for (size_t at = 0; at < bytes.n; at += PIECE_BYTES) {
        size_t n = bytes.n - at < PIECE_BYTES ? bytes.n - at : PIECE_BYTES;
        s = db_run(a->d, err, action, "INSERT INTO payload_piece VALUES (?, ?, ?, ?)", "iiib", seq, (int64_t)part,
                   piece++, (const void *)((const char *)bytes.data + at), n);
        if (s != CUZK_OK) return db_end(a->d, s, err);
        if (next_step(a, n, err)) return err->status;
    }
    return CUZK_OK;
}

static cuzk_status put_all(arrival *a, const cuzk_submission *payload, cuzk_error *err) {
    store_job row = *a->job;
    cuzk_status s = db_begin(a->d, err);
    if (s != CUZK_OK) return s;
    if (a->in_steps) row.state = ARRIVING;
    /* A start that could not remove what did not arrive does not show it: its number may be given out again. */
    s = db_run(a->d, err, "cannot keep a job", "DELETE FROM job WHERE seq = ? AND state = ?", "ii", whole(row.seq),
               (int64_t)ARRIVING);
    if (s == CUZK_OK) s = put_row(a->d, &row, err);
    if (s != CUZK_OK) return db_end(a->d, s, err);
    if (put_part(a, 0, payload->c1, err) || put_part(a, 1, payload->request, err)) return err->status;
    for (size_t i = 0; i < payload->n_vanilla; i++)
        if (put_part(a, 2 + i, payload->vanilla[i], err)) return err->status;
    if (a->in_steps)
        s = db_run(a->d, err, "cannot keep a job", "UPDATE job SET state = ? WHERE seq = ?", "ii",
                   (int64_t)a->job->state, whole(row.seq));
    if (s == CUZK_OK) s = put_event(a->d, row.seq, a->job->state, err);
    return db_end(a->d, s, err);
}

/* A large input comes in several transactions, between which others have their turn. Until the last one its row says
 * that it is arriving: nobody sees it, and what a death or a full disk leaves of it is removed. */
static cuzk_status put(store *base, const store_job *job, const cuzk_submission *payload, cuzk_error *err) {
    sqlite_store *s = of(base);
    cuzk_error ignored;
    uint64_t bytes = payload->c1.n + payload->request.n;
    for (size_t i = 0; i < payload->n_vanilla; i++) bytes += payload->vanilla[i].n;
    arrival a = {.d = &s->write, .job = job, .in_steps = bytes > STEP_BYTES};
    cuzk_status status = put_all(&a, payload, err);
    if (status != CUZK_OK && a.in_steps && remove_job(&s->write, job->seq, &ignored)) left_behind(s, job->seq);
    return status;
}

static cuzk_status payload_parts(store *base, uint64_t seq, size_t *parts, cuzk_error *err) {
    static const char action[] = "cannot read a job's input";
    db *d = &of(base)->read;
    sqlite3_stmt *statement;
    bool got = false;
    *parts = 0;
    db_enter(d);
    cuzk_status s = db_prepare(d, &statement, err, action,
                               "SELECT count(*) FROM payload JOIN job USING (seq) WHERE seq = ? AND state < ?", "ii",
                               whole(seq), (int64_t)CUZK_JOB_COMPLETED);
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s == CUZK_OK && got) {
        *parts = (size_t)sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
    }
    db_leave(d);
    if (s == CUZK_OK && *parts == 0) s = no_such_job(d, seq, err);
    return s;
}

/* Appends what the statement's first column holds, row by row. The rows must be exactly the buffer's bytes. */
static cuzk_status gather(db *d, sqlite3_stmt **statement, buffer *out, const char *action, cuzk_error *err) {
    size_t at = 0;
    bool got;
    for (;;) {
        cuzk_status s = db_next(d, statement, &got, action, err);
        if (s != CUZK_OK) return s;
        if (!got) break;
        const void *data = sqlite3_column_blob(*statement, 0);
        size_t n = (size_t)sqlite3_column_bytes(*statement, 0);
        if (n > out->bytes - at) at = SIZE_MAX;
        if (at == SIZE_MAX) break;
        if (n) memcpy((char *)out->data + at, data, n);
        at += n;
    }
    sqlite3_finalize(*statement);
    *statement = NULL;
    return at == out->bytes ? CUZK_OK : db_fail(d, SQLITE_CORRUPT, action, err);
}

static cuzk_status payload(store *base, uint64_t seq, size_t part, buffer *out, cuzk_error *err) {
    static const char action[] = "cannot read a job's input";
    db *d = &of(base)->read;
    sqlite3_stmt *statement;
    bool got = false;
    *out = (buffer){NULL, 0, BUFFER_REQUEST};
    db_enter(d);
    cuzk_status s = db_prepare(d, &statement, err, action, "SELECT bytes FROM payload WHERE seq = ? AND part = ?", "ii",
                               whole(seq), whole(part));
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s == CUZK_OK && got) {
        int64_t bytes = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        s = bytes < 0 ? db_fail(d, SQLITE_CORRUPT, action, err) : buffer_alloc(out, BUFFER_REQUEST, (size_t)bytes, err);
        if (s == CUZK_OK)
            s = db_prepare(d, &statement, err, action,
                           "SELECT data FROM payload_piece WHERE seq = ? AND part = ? ORDER BY piece", "ii", whole(seq),
                           whole(part));
        if (s == CUZK_OK) s = gather(d, &statement, out, action, err);
    } else if (s == CUZK_OK) {
        s = no_such_job(d, seq, err);
    }
    db_leave(d);
    if (s != CUZK_OK) buffer_free(out);
    return s;
}

/* ---- progress ---- */

static cuzk_status update_row(db *d, const store_job *j, cuzk_error *err) {
    static const char action[] = "cannot note a job's state";
    const cuzk_job_times *t = &j->times;
    sqlite3_stmt *statement;
    bool got = false;
    cuzk_status s = db_prepare(d, &statement, err, action, "SELECT state FROM job WHERE seq = ?", "i", whole(j->seq));
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s != CUZK_OK) return s;
    if (!got) return no_such_job(d, j->seq, err);
    bool changed = sqlite3_column_int64(statement, 0) != (int64_t)j->state;
    sqlite3_finalize(statement);
    s = db_run(
        d, err, action,
        "UPDATE job SET circuit = ?, sector_bytes = ?, state = ?, partitions = ?, runs = ?, finished = ?,"
        " error_status = ?, error_what = ?, error_where = ?, error_expected = ?, error_found = ?, error_hint = ?,"
        " queue_wait = ?, key_load = ?, vanilla_check = ?, synthesis = ?, device_wait = ?, device = ?,"
        " finish = ?, verify = ?, total = ?, crashes = ? WHERE seq = ?",
        "tiiiidittttt"
        "dddddddddii",
        j->circuit, whole(j->sector_bytes), (int64_t)j->state, (int64_t)j->partitions, (int64_t)j->runs, j->finished,
        (int64_t)j->error.status, j->error.what, j->error.where, j->error.expected, j->error.found, j->error.hint,
        t->queue_wait, t->key_load, t->vanilla_check, t->synthesis, t->device_wait, t->device, t->finish, t->verify,
        t->total, (int64_t)j->crashes, whole(j->seq));
    if (s == CUZK_OK && changed) s = put_event(d, j->seq, j->state, err);
    return s;
}

/* Within a transaction: the job's proofs of partitions, and its input or a part of that. */
static cuzk_status drop_work(db *d, uint64_t seq, bool *more, cuzk_error *err) {
    cuzk_status s =
        db_run(d, err, "cannot drop a finished job's proofs", "DELETE FROM proof WHERE seq = ?", "i", whole(seq));
    return s == CUZK_OK ? drop_some(d, seq, more, err) : s;
}

static cuzk_status update(store *base, const store_job *job, cuzk_error *err) {
    db *d = &of(base)->write;
    bool more = false;
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = update_row(d, job, err);
    if (s == CUZK_OK && has_ended(job->state)) s = drop_work(d, job->seq, &more, err);
    s = db_end(d, s, err);
    if (s == CUZK_OK && more) drop_later(of(base));
    return s;
}

static cuzk_status put_proof(store *base, uint64_t seq, unsigned partition, const uint8_t proof[192], cuzk_error *err) {
    db *d = &of(base)->write;
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = db_run(d, err, "cannot keep a proof", "INSERT OR REPLACE INTO proof VALUES (?, ?, ?)", "iib", whole(seq),
               (int64_t)partition, (const void *)proof, (size_t)192);
    return db_end(d, s, err);
}

static cuzk_status complete(store *base, const store_job *job, const uint8_t *proofs, size_t bytes, cuzk_error *err) {
    db *d = &of(base)->write;
    bool more = false;
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = update_row(d, job, err);
    /* A second result of one job is a fault: the primary key refuses it. */
    if (s == CUZK_OK)
        s = db_run(d, err, "cannot keep a result", "INSERT INTO result VALUES (?, ?)", "ib", whole(job->seq),
                   (const void *)proofs, bytes);
    if (s == CUZK_OK) s = drop_work(d, job->seq, &more, err);
    s = db_end(d, s, err);
    if (s == CUZK_OK && more) drop_later(of(base));
    return s;
}

static cuzk_status proofs(store *base, uint64_t seq, void (*each)(void *user, unsigned partition, const uint8_t *proof),
                          void *user, cuzk_error *err) {
    static const char action[] = "cannot read a job's proofs";
    db *d = &of(base)->read;
    sqlite3_stmt *statement;
    bool got = true;
    db_enter(d);
    cuzk_status s = db_prepare(d, &statement, err, action,
                               "SELECT partition, proof FROM proof WHERE seq = ? ORDER BY partition", "i", whole(seq));
    while (s == CUZK_OK && got) {
        s = db_next(d, &statement, &got, action, err);
        if (s != CUZK_OK || !got) break;
        if (sqlite3_column_bytes(statement, 1) == 192) {
            each(user, (unsigned)sqlite3_column_int64(statement, 0), sqlite3_column_blob(statement, 1));
        } else {
            s = db_fail(d, SQLITE_CORRUPT, action, err);
            sqlite3_finalize(statement);
        }
    }
    db_leave(d);
    return s;
}

static cuzk_status result(store *base, uint64_t seq, buffer *out, cuzk_error *err) {
    static const char action[] = "cannot read a job's result";
    db *d = &of(base)->read;
    sqlite3_stmt *statement;
    bool got = false;
    *out = (buffer){NULL, 0, BUFFER_REQUEST};
    db_enter(d);
    cuzk_status s = db_prepare(d, &statement, err, action, "SELECT proofs FROM result WHERE seq = ?", "i", whole(seq));
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s == CUZK_OK && got) {
        size_t n = (size_t)sqlite3_column_bytes(statement, 0);
        s = buffer_alloc(out, BUFFER_REQUEST, n, err);
        if (s == CUZK_OK && n) memcpy(out->data, sqlite3_column_blob(statement, 0), n);
        sqlite3_finalize(statement);
    } else if (s == CUZK_OK) {
        s = no_such_job(d, seq, err);
    }
    db_leave(d);
    return s;
}

static cuzk_status attempt(store *base, uint64_t seq, unsigned partition, const char *device, double seconds,
                           const cuzk_error *outcome, cuzk_error *err) {
    db *d = &of(base)->write;
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = db_run(d, err, "cannot note an attempt",
               "INSERT INTO attempt (seq, partition, device, seconds, at, status, what, place)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
               "iitddit"
               "t",
               whole(seq), (int64_t)partition, device, seconds, now_seconds(), (int64_t)outcome->status,
               outcome->status == CUZK_OK ? NULL : outcome->what, outcome->status == CUZK_OK ? NULL : outcome->where);
    return db_end(d, s, err);
}

/* ---- all of them ---- */

static void text_column(char *out, size_t n, sqlite3_stmt *s, int column) {
    const char *text = (const char *)sqlite3_column_text(s, column);
    snprintf(out, n, "%s", text ? text : "");
}

static const char *text_or_empty(sqlite3_stmt *s, int column) {
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

static bool read_row(store_job *j, sqlite3_stmt *s) {
    *j = (store_job){.seq = (uint64_t)sqlite3_column_int64(s, 0),
                     .request_id = text_or_empty(s, 1),
                     .kind = text_or_empty(s, 2),
                     .circuit = text_or_empty(s, 3),
                     .sector_bytes = (uint64_t)sqlite3_column_int64(s, 5),
                     .priority = (cuzk_priority)sqlite3_column_int(s, 6),
                     .policy = (cuzk_device_policy)sqlite3_column_int(s, 7),
                     .submitted = sqlite3_column_double(s, 8),
                     .deadline = sqlite3_column_double(s, 9),
                     .payload_bytes = (uint64_t)sqlite3_column_int64(s, 10),
                     .state = (cuzk_job_state)sqlite3_column_int(s, 11),
                     .partitions = (unsigned)sqlite3_column_int64(s, 12),
                     .runs = (unsigned)sqlite3_column_int64(s, 13),
                     .finished = sqlite3_column_double(s, 14),
                     .crashes = (unsigned)sqlite3_column_int64(s, 30)};
    j->error.status = (cuzk_status)sqlite3_column_int(s, 15);
    text_column(j->error.what, sizeof j->error.what, s, 16);
    text_column(j->error.where, sizeof j->error.where, s, 17);
    text_column(j->error.expected, sizeof j->error.expected, s, 18);
    text_column(j->error.found, sizeof j->error.found, s, 19);
    text_column(j->error.hint, sizeof j->error.hint, s, 20);
    double *const times[] = {&j->times.queue_wait, &j->times.key_load,    &j->times.vanilla_check,
                             &j->times.synthesis,  &j->times.device_wait, &j->times.device,
                             &j->times.finish,     &j->times.verify,      &j->times.total};
    bool finite = isfinite(j->submitted) && isfinite(j->deadline) && isfinite(j->finished);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        *times[i] = sqlite3_column_double(s, 21 + (int)i);
        finite = finite && isfinite(*times[i]);
    }
    if (sqlite3_column_bytes(s, 4) != sizeof j->digest) return false;
    memcpy(j->digest, sqlite3_column_blob(s, 4), sizeof j->digest);
    return finite && j->state > CUZK_JOB_UNKNOWN && j->state <= CUZK_JOB_CANCELLED;
}

static cuzk_status each_job(store *base, void (*each)(void *user, const store_job *job), void *user, cuzk_error *err) {
    static const char action[] = "cannot read the jobs";
    db *d = &of(base)->read;
    sqlite3_stmt *statement;
    store_job job;
    bool got = true;
    db_enter(d);
    cuzk_status s = db_prepare(d, &statement, err, action, "SELECT * FROM job WHERE state <> ? ORDER BY seq", "i",
                               (int64_t)ARRIVING);
    while (s == CUZK_OK && got) {
        s = db_next(d, &statement, &got, action, err);
        if (s != CUZK_OK || !got) break;
        if (read_row(&job, statement)) {
            each(user, &job);
        } else {
            s = db_fail(d, SQLITE_CORRUPT, action, err);
            cuzk_fail_found(err, "job %llu has no sense", (unsigned long long)job.seq);
            sqlite3_finalize(statement);
        }
    }
    db_leave(d);
    return s;
}

static cuzk_status purge(store *base, double before, uint64_t *gone, cuzk_error *err) {
    static const char action[] = "cannot remove old jobs";
    char text[64];
    db *d = &of(base)->write;
    *gone = 0;
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = db_run(d, err, action, "DELETE FROM job WHERE finished > 0 AND finished < ?", "d", before);
    if (s == CUZK_OK) *gone = (uint64_t)sqlite3_changes64(d->handle);
    s = db_end(d, s, err);
    drop_later(of(base)); /* what could not be dropped before */
    /* Dropped payloads leave free pages; a bounded number of them goes back to the file system each time. */
    snprintf(text, sizeof text, "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES);
    for (int i = 0; i < VACUUM_STEPS && s == CUZK_OK; i++) {
        db_enter(d);
        s = db_run(d, err, action, text, "");
        db_leave(d);
    }
    return s;
}

static cuzk_status probe(store *base, cuzk_error *err) {
    return db_probe(&of(base)->write, err);
}

static void close_store(store *base) {
    sqlite_store *s = of(base);
    stop_dropper(s);
    db_close(&s->read);
    db_close(&s->write); /* the last connection: what is in the log goes into the database */
    file_unlock(s->lock_fd);
    pthread_cond_destroy(&s->drop_wake);
    pthread_mutex_destroy(&s->drop_lock);
    free(s->path);
    free(s);
}

static const store_ops ops = {.put = put,
                              .payload_parts = payload_parts,
                              .payload = payload,
                              .update = update,
                              .put_proof = put_proof,
                              .complete = complete,
                              .proofs = proofs,
                              .result = result,
                              .attempt = attempt,
                              .each = each_job,
                              .purge = purge,
                              .probe = probe,
                              .close = close_store};

/* ---- opening ---- */

static cuzk_status make_folder_of(const char *path, cuzk_error *err) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return CUZK_OK;
    int n = snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (n < 0 || (size_t)n >= sizeof folder)
        return cuzk_fail_errno(err, ENAMETOOLONG, path, "cannot make the job store");
    return file_make_folders(folder, err);
}

/* The file's true name, so that two names of it lock one file; made when absent. */
static cuzk_status make_file(sqlite_store *s, const char *path, cuzk_error *err) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* SQLite would take the usual mode */
    if (fd < 0) return cuzk_fail_errno(err, errno, path, "cannot open the job store");
    close(fd);
    s->path = realpath(path, NULL);
    return s->path ? CUZK_OK : cuzk_fail_errno(err, errno, path, "cannot open the job store");
}

static cuzk_status take_lock(sqlite_store *s, cuzk_error *err) {
    char name[PATH_MAX], holder[32] = "";
    int n = snprintf(name, sizeof name, "%s.lock", s->path);
    if (n < 0 || (size_t)n >= sizeof name)
        return cuzk_fail_errno(err, ENAMETOOLONG, s->path, "cannot make the job store");
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return cuzk_fail_errno(err, errno, name, "cannot open the lock of the job store");
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        int why = errno;
        ssize_t got = pread(fd, holder, sizeof holder - 1, 0);
        holder[got > 0 ? got : 0] = 0;
        close(fd);
        if (why != EWOULDBLOCK) return cuzk_fail_errno(err, why, name, "cannot lock the job store");
        cuzk_fail(err, CUZK_REFUSED, "the job store is in use by another process");
        cuzk_fail_where(err, "%s", s->path);
        if (holder[0]) cuzk_fail_found(err, "process %s", holder);
        return cuzk_fail_hint(err, "one daemon owns a store; end the other one, or name another file in store.path");
    }
    n = snprintf(holder, sizeof holder, "%ld", (long)getpid()); /* for the message above only */
    if (ftruncate(fd, 0) || pwrite(fd, holder, (size_t)n, 0) != n) errno = 0;
    s->lock_fd = fd;
    return CUZK_OK;
}

static cuzk_status set_up(sqlite_store *s, cuzk_error *err) {
    static const char action[] = "cannot set up the job store";
    static const char *const pragmas[] = {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                                          "PRAGMA foreign_keys = ON", "PRAGMA journal_size_limit = 67108864"};
    cuzk_status status = db_open(&s->write, s->path, err);
    if (status == CUZK_OK) status = db_make_schema(&s->write, err);
    for (size_t i = 0; status == CUZK_OK && i < sizeof pragmas / sizeof pragmas[0]; i++)
        status = db_run(&s->write, err, action, pragmas[i], "");
    if (status == CUZK_OK) status = remove_leftovers(s, err);
    if (status == CUZK_OK) status = db_open(&s->read, s->path, err);
    if (status == CUZK_OK) status = db_run(&s->read, err, action, "PRAGMA query_only = ON", "");
    return status;
}

cuzk_status store_sqlite_open(store **out, const char *path, cuzk_error *err) {
    *out = NULL;
    sqlite_store *s = calloc(1, sizeof *s);
    if (!s) return cuzk_fail(err, CUZK_MEMORY, "no memory for the job store");
    s->base.ops = &ops;
    s->lock_fd = -1;
    pthread_mutex_init(&s->drop_lock, NULL);
    pthread_cond_init(&s->drop_wake, NULL);
    atomic_init(&s->closing, false);
    cuzk_status status = make_folder_of(path, err);
    if (status == CUZK_OK) status = make_file(s, path, err);
    if (status == CUZK_OK) status = take_lock(s, err);
    if (status == CUZK_OK) status = set_up(s, err);
    if (status == CUZK_OK) status = start_dropper(s, err);
    if (status != CUZK_OK) {
        close_store(&s->base);
        return status;
    }
    *out = &s->base;
    return CUZK_OK;
}
