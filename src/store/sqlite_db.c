/* SQLite in our words. */
#include "store/sqlite_db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA_VERSION 2
#define APPLICATION_ID 0x63757a6b /* "cuzk" */
#define QUICK_CHECK_BYTES ((int64_t)256 << 20)

/* Numbers in state, priority and policy are those of the enumerations in cuzk/engine.h, which never change. */
static const char schema[] =
    "CREATE TABLE job (seq INTEGER PRIMARY KEY, request_id TEXT NOT NULL, kind TEXT NOT NULL, circuit TEXT NOT NULL,"
    " digest BLOB NOT NULL, sector_bytes INTEGER NOT NULL, priority INTEGER NOT NULL, policy INTEGER NOT NULL,"
    " submitted REAL NOT NULL, deadline REAL NOT NULL, payload_bytes INTEGER NOT NULL, state INTEGER NOT NULL,"
    " partitions INTEGER NOT NULL, runs INTEGER NOT NULL, finished REAL NOT NULL, error_status INTEGER NOT NULL,"
    " error_what TEXT, error_where TEXT, error_expected TEXT, error_found TEXT, error_hint TEXT,"
    " queue_wait REAL NOT NULL, key_load REAL NOT NULL, vanilla_check REAL NOT NULL, synthesis REAL NOT NULL,"
    " device_wait REAL NOT NULL, device REAL NOT NULL, finish REAL NOT NULL, verify REAL NOT NULL, total REAL NOT NULL,"
    " crashes INTEGER NOT NULL DEFAULT 0)"
    " STRICT;"
    "CREATE INDEX job_finished ON job (finished) WHERE finished > 0;"
    "CREATE TABLE payload (seq INTEGER NOT NULL REFERENCES job ON DELETE CASCADE, part INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, PRIMARY KEY (seq, part)) STRICT;"
    "CREATE TABLE payload_piece (seq INTEGER NOT NULL REFERENCES job ON DELETE CASCADE, part INTEGER NOT NULL,"
    " piece INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (seq, part, piece)) STRICT;"
    "CREATE TABLE proof (seq INTEGER NOT NULL REFERENCES job ON DELETE CASCADE, partition INTEGER NOT NULL,"
    " proof BLOB NOT NULL, PRIMARY KEY (seq, partition)) STRICT;"
    "CREATE TABLE result (seq INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE, proofs BLOB NOT NULL) STRICT;"
    "CREATE TABLE attempt (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,"
    " partition INTEGER NOT NULL, device TEXT NOT NULL, seconds REAL NOT NULL, at REAL NOT NULL,"
    " status INTEGER NOT NULL, what TEXT, place TEXT) STRICT;"
    "CREATE INDEX attempt_seq ON attempt (seq);"
    "CREATE TABLE event (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,"
    " at REAL NOT NULL, state INTEGER NOT NULL) STRICT;"
    "CREATE INDEX event_seq ON event (seq);";

cuzk_status db_fail(const db *d, int rc, const char *action, cuzk_error *err) {
    int code = rc & 0xff, number = d->handle ? sqlite3_system_errno(d->handle) : 0;
    bool io = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
    bool full = code == SQLITE_FULL || (io && (number == ENOSPC || number == EDQUOT || number == EFBIG));
    if (full) {
        cuzk_fail(err, CUZK_DISK, "%s: the disk of the job store is full", action);
        cuzk_fail_hint(err, "free some space there; work goes on by itself then");
    } else if (rc == SQLITE_IOERR_WRITE) {
        /* A full disk is SQLITE_FULL; of a quota or a limit of file sizes the number is often lost by now. */
        cuzk_fail(err, CUZK_DISK, "%s: the disk of the job store takes no more: it is full, or over a quota", action);
        cuzk_fail_hint(err, "free some space there, or see whether the disk fails; work goes on by itself then");
    } else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        cuzk_fail(err, CUZK_MALFORMED, "%s: the job store is damaged", action);
        cuzk_fail_found(err, "%s", d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(rc));
        cuzk_fail_hint(err, "keep a copy; bring it back from a backup, or move it away to begin with an empty one");
    } else if (code == SQLITE_NOMEM) {
        cuzk_fail(err, CUZK_MEMORY, "%s: no memory", action);
    } else if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
        cuzk_fail(err, CUZK_IO, "%s: another program keeps the job store locked", action);
        cuzk_fail_hint(err, "end the program that has the database open");
    } else {
        const char *text = d->handle ? sqlite3_errmsg(d->handle) : sqlite3_errstr(rc);
        char system[96] = "";
        if (io && number) snprintf(system, sizeof system, " (%s)", strerror(number));
        bool ours = code == SQLITE_ERROR || code == SQLITE_CONSTRAINT || code == SQLITE_MISUSE || code == SQLITE_RANGE;
        cuzk_fail(err, ours ? CUZK_INTERNAL : CUZK_IO, "%s: %s%s", action, text, system);
        if (code == SQLITE_READONLY || code == SQLITE_PERM || number == EACCES || number == EROFS)
            cuzk_fail_hint(err, "check the rights of the file and of its folder");
    }
    return cuzk_fail_where(err, "%s", d->path);
}

/* ---- statements ---- */

static int bind_all(sqlite3_stmt *s, const char *types, va_list args) {
    int rc = SQLITE_OK;
    for (int i = 0; types[i] && rc == SQLITE_OK; i++) {
        switch (types[i]) {
        case 'i': rc = sqlite3_bind_int64(s, i + 1, va_arg(args, int64_t)); break;
        case 'd': rc = sqlite3_bind_double(s, i + 1, va_arg(args, double)); break;
        case 't': rc = sqlite3_bind_text(s, i + 1, va_arg(args, const char *), -1, SQLITE_STATIC); break;
        default: {
            const void *data = va_arg(args, const void *);
            size_t n = va_arg(args, size_t);
            rc = n ? sqlite3_bind_blob64(s, i + 1, data, n, SQLITE_STATIC) : sqlite3_bind_zeroblob(s, i + 1, 0);
        }
        }
    }
    return rc;
}

static cuzk_status prepare_list(db *d, sqlite3_stmt **out, cuzk_error *err, const char *action, const char *sql,
                                const char *types, va_list args) {
    *out = NULL;
    int rc = sqlite3_prepare_v2(d->handle, sql, -1, out, NULL);
    if (rc == SQLITE_OK) rc = bind_all(*out, types, args);
    if (rc == SQLITE_OK) return CUZK_OK;
    db_fail(d, rc, action, err);
    sqlite3_finalize(*out);
    *out = NULL;
    return err->status;
}

cuzk_status db_prepare(db *d, sqlite3_stmt **out, cuzk_error *err, const char *action, const char *sql,
                       const char *types, ...) {
    va_list args;
    va_start(args, types);
    cuzk_status s = prepare_list(d, out, err, action, sql, types, args);
    va_end(args);
    return s;
}

cuzk_status db_next(db *d, sqlite3_stmt **statement, bool *got, const char *action, cuzk_error *err) {
    int rc = sqlite3_step(*statement);
    *got = rc == SQLITE_ROW;
    if (*got) return CUZK_OK;
    cuzk_status s = rc == SQLITE_DONE ? CUZK_OK : db_fail(d, rc, action, err);
    sqlite3_finalize(*statement);
    *statement = NULL;
    return s;
}

cuzk_status db_run(db *d, cuzk_error *err, const char *action, const char *sql, const char *types, ...) {
    sqlite3_stmt *statement;
    va_list args;
    va_start(args, types);
    cuzk_status s = prepare_list(d, &statement, err, action, sql, types, args);
    va_end(args);
    for (bool got = true; s == CUZK_OK && got;) s = db_next(d, &statement, &got, action, err);
    return s;
}

void db_enter(db *d) {
    pthread_mutex_lock(&d->lock);
    if (d->depth && pthread_equal(d->holder, pthread_self())) {
        d->depth++;
    } else {
        uint64_t mine = d->next++;
        while (d->now != mine) pthread_cond_wait(&d->turn, &d->lock);
        d->holder = pthread_self();
        d->depth = 1;
    }
    pthread_mutex_unlock(&d->lock);
}

void db_leave(db *d) {
    pthread_mutex_lock(&d->lock);
    if (--d->depth == 0) {
        d->now++;
        pthread_cond_broadcast(&d->turn);
    }
    pthread_mutex_unlock(&d->lock);
}

cuzk_status db_begin(db *d, cuzk_error *err) {
    db_enter(d);
    cuzk_status s = db_run(d, err, "cannot begin to write", "BEGIN IMMEDIATE", "");
    if (s != CUZK_OK) db_leave(d);
    return s;
}

cuzk_status db_end(db *d, cuzk_status s, cuzk_error *err) {
    if (s == CUZK_OK) s = db_run(d, err, "cannot write", "COMMIT", "");
    /* Some failures (a full disk) have undone the transaction already. */
    if (s != CUZK_OK && !sqlite3_get_autocommit(d->handle)) sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
    db_leave(d);
    return s;
}

cuzk_status db_probe(db *d, cuzk_error *err) {
    char text[48];
    snprintf(text, sizeof text, "PRAGMA user_version = %d", SCHEMA_VERSION);
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = db_run(d, err, "cannot write", text, "");
    return db_end(d, s, err);
}

/* ---- opening ---- */

cuzk_status db_open(db *d, const char *path, cuzk_error *err) {
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->turn, NULL);
    d->path = path;
    int rc = sqlite3_open_v2(path, &d->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK) return db_fail(d, rc, "cannot open the job store", err);
    sqlite3_extended_result_codes(d->handle, 1);
    sqlite3_busy_timeout(d->handle, 10000);
    return CUZK_OK;
}

void db_close(db *d) {
    if (!d->path) return;
    sqlite3_close_v2(d->handle);
    pthread_cond_destroy(&d->turn);
    pthread_mutex_destroy(&d->lock);
    d->handle = NULL;
    d->path = NULL;
}

static cuzk_status number_of(db *d, const char *sql, int64_t *out, cuzk_error *err) {
    static const char action[] = "cannot read the job store";
    sqlite3_stmt *statement;
    bool got;
    *out = 0;
    cuzk_status s = db_prepare(d, &statement, err, action, sql, "");
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s == CUZK_OK && got) *out = sqlite3_column_int64(statement, 0);
    if (s == CUZK_OK) sqlite3_finalize(statement);
    return s;
}

static cuzk_status foreign(const db *d, const char *what, const char *hint, cuzk_error *err) {
    cuzk_fail(err, CUZK_FOREIGN, "%s", what);
    cuzk_fail_where(err, "%s", d->path);
    return cuzk_fail_hint(err, "%s", hint);
}

static cuzk_status make_tables(db *d, cuzk_error *err) {
    static const char action[] = "cannot make the job store";
    char text[160];
    /* These two must come before the first table. */
    cuzk_status s = db_run(d, err, action, "PRAGMA page_size = 8192", "");
    if (s == CUZK_OK) s = db_run(d, err, action, "PRAGMA auto_vacuum = INCREMENTAL", "");
    if (s == CUZK_OK) s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    int rc = sqlite3_exec(d->handle, schema, NULL, NULL, NULL);
    snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID, SCHEMA_VERSION);
    if (rc == SQLITE_OK) rc = sqlite3_exec(d->handle, text, NULL, NULL, NULL);
    if (rc != SQLITE_OK) s = db_fail(d, rc, action, err);
    return db_end(d, s, err);
}

/* From version 1. An older program refuses the file from then on. */
static cuzk_status renew_tables(db *d, cuzk_error *err) {
    static const char action[] = "cannot bring the job store up to date";
    char text[48];
    snprintf(text, sizeof text, "PRAGMA user_version = %d", SCHEMA_VERSION);
    cuzk_status s = db_begin(d, err);
    if (s != CUZK_OK) return s;
    s = db_run(d, err, action, "ALTER TABLE job ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0", "");
    if (s == CUZK_OK) s = db_run(d, err, action, text, "");
    return db_end(d, s, err);
}

static cuzk_status check_soundness(db *d, cuzk_error *err) {
    static const char action[] = "cannot check the job store";
    int64_t pages, page;
    cuzk_status s = number_of(d, "PRAGMA page_count", &pages, err);
    if (s == CUZK_OK) s = number_of(d, "PRAGMA page_size", &page, err);
    /* A large one takes long to read; what is wrong with it is found when it is met. */
    if (s != CUZK_OK || pages * page > QUICK_CHECK_BYTES) return s;
    sqlite3_stmt *statement;
    bool got;
    s = db_prepare(d, &statement, err, action, "PRAGMA quick_check(1)", "");
    if (s == CUZK_OK) s = db_next(d, &statement, &got, action, err);
    if (s != CUZK_OK || !got) return s;
    const char *found = (const char *)sqlite3_column_text(statement, 0);
    if (found && strcmp(found, "ok") != 0) {
        s = db_fail(d, SQLITE_CORRUPT, action, err);
        cuzk_fail_found(err, "%s", found);
    }
    sqlite3_finalize(statement);
    return s;
}

cuzk_status db_make_schema(db *d, cuzk_error *err) {
    int64_t tables, id, version;
    cuzk_status s = number_of(d, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (s == CUZK_OK) s = number_of(d, "PRAGMA application_id", &id, err);
    if (s == CUZK_OK) s = number_of(d, "PRAGMA user_version", &version, err);
    if (s != CUZK_OK) return s;
    if (tables == 0 && id == 0) return make_tables(d, err);
    if (id != APPLICATION_ID)
        return foreign(d, "the file is another program's database", "name another file in store.path", err);
    if (version > SCHEMA_VERSION) {
        foreign(d, "the job store was made by a newer version", "use that version, or name another file in store.path",
                err);
        cuzk_fail_expected(err, "version %d", SCHEMA_VERSION);
        return cuzk_fail_found(err, "version %lld", (long long)version);
    }
    s = check_soundness(d, err);
    return s == CUZK_OK && version < SCHEMA_VERSION ? renew_tables(d, err) : s;
}
