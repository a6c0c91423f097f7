/* The job store of a daemon: one SQLite database file (write-ahead log, every commit synchronised).
 *
 * One process owns the file: PATH.lock is held while the store is open, and a second daemon on the same path is
 * refused. Payloads are written and read in pieces, so a large one is never held twice. A write that finds the disk
 * full fails with DISK and works again when there is room; nothing of it is seen, and what a large input that came in
 * steps leaves is removed later. So is the rest of a large input of a job that has ended, by a thread of the store: who
 * waits for the end does not wait for that. A damaged file, or one of something else, is refused by name and never made
 * anew. What the tables hold: docs/daemon.md.
 */
#ifndef CUZK_STORE_SQLITE_H
#define CUZK_STORE_SQLITE_H

#include "engine/store.h"

/* Makes the file (mode 0600) and its folder when absent. Returned; free with ops->close. REFUSED: another process has
 * it. MALFORMED: damaged. FOREIGN: another program's, or a newer version's. IO, DISK, MEMORY. */
cuzk_status store_sqlite_open(store **out, const char *path, cuzk_error *err);

#endif
