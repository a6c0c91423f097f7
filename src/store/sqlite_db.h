/* What the SQLite store's files share: connections, statements, and errors in our words. */
#ifndef CUZK_STORE_SQLITE_DB_H
#define CUZK_STORE_SQLITE_DB_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include "cuzk/error.h"

/* One connection, used by one thread at a time, in the order of their coming: many large inputs in a row do not keep a
 * small update waiting for all of them. Its holder may enter again: what is called for each row of a reading may read.
 */
typedef struct db {
    sqlite3 *handle;
    const char *path; /* borrowed */
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t next, now; /* tickets */
    pthread_t holder;
    unsigned depth;
} db;

void db_enter(db *d);
void db_leave(db *d);

cuzk_status db_open(db *d, const char *path, cuzk_error *err);
void db_close(db *d); /* accepts one that failed to open */

/* Opens what the file must be: makes tables in an empty one. MALFORMED, FOREIGN. */
cuzk_status db_make_schema(db *d, cuzk_error *err);

/* rc in our words; the action ("cannot keep a job") begins the sentence. */
cuzk_status db_fail(const db *d, int rc, const char *action, cuzk_error *err);

/* Prepares a statement and binds its parameters: types has a letter for each, i (int64_t), d (double), t (const char
 * *), b (const void *, size_t). What is bound is borrowed until the statement is finalized. */
cuzk_status db_prepare(db *d, sqlite3_stmt **out, cuzk_error *err, const char *action, const char *sql,
                       const char *types, ...);
/* The same, run to its end. */
cuzk_status db_run(db *d, cuzk_error *err, const char *action, const char *sql, const char *types, ...);
/* *got tells whether there is a row. The end and a failure both finalize the statement and set it to NULL. */
cuzk_status db_next(db *d, sqlite3_stmt **statement, bool *got, const char *action, cuzk_error *err);

/* Writes a page anew as it is. */
cuzk_status db_probe(db *d, cuzk_error *err);

/* A transaction: begin enters, end leaves. end commits when s is OK, else undoes all; returns s, or why
 * the commit failed. */
cuzk_status db_begin(db *d, cuzk_error *err);
cuzk_status db_end(db *d, cuzk_status s, cuzk_error *err);

#endif
