/* Files: mapped reading, atomic writing, locks. Errors are IO, or DISK and MEMORY as cuzk_fail_errno says. A wait (for
 * a lock, a pipe, a terminal) that a signal ends is CANCELLED. The functions are thread-safe; a map or writer has one
 * owner. */
#ifndef CUZK_BASE_FILE_H
#define CUZK_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "cuzk/error.h"

/* A file mapped read-only. Empty files give data = NULL, bytes = 0. Not counted as tracked memory. */
typedef struct file_map {
    const uint8_t *data;
    size_t bytes;
    uint64_t dev, inode;
    int64_t mtime_ns, ctime_ns;
} file_map;

/* IO (path and reason named) when it cannot be opened, is a folder, or cannot be mapped. */
cuzk_status file_map_open(file_map *out, const char *path, cuzk_error *err);
void file_map_close(file_map *m);
/* Tells the kernel that a range was read and may be dropped. */
void file_map_done(const file_map *m, size_t offset, size_t bytes);
/* A file that is read at places without being mapped: none of its pages is counted as this process's memory. *out is
 * freed by file_reader_close. */
typedef struct file_reader file_reader;
cuzk_status file_reader_open(file_reader **out, const char *path, cuzk_error *err);
/* Exactly len bytes from offset; IO when the file ends before. May be called by several threads. */
cuzk_status file_reader_read(const file_reader *r, void *to, size_t len, uint64_t offset, cuzk_error *err);
/* Whether it is the file that was mapped (device, inode, size, times). */
bool file_reader_same(const file_reader *r, const file_map *m);
void file_reader_close(file_reader *r); /* accepts NULL */
/* The whole of a small file (≤ limit) into a tracked buffer of class REQUEST; MALFORMED when larger. "-" is stdin. */
cuzk_status file_read(buffer *out, const char *path, size_t limit, cuzk_error *err);

/* Atomic writing: a temporary name in the same folder, fsync, rename. Abort removes the temporary file; a process
 * killed in between leaves only a ".tmp" name, which the next writer of that path removes. One thread at a time but for
 * file_writer_pwrite. *out is freed by commit or abort. */
typedef struct file_writer file_writer;
/* IO when the path cannot be written, or (with refuse_existing) is there already, now or at the commit. */
cuzk_status file_writer_open(file_writer **out, const char *path, bool refuse_existing, cuzk_error *err);
/* Space for the whole file is reserved first when bytes > 0, so that a full disk is found before the work. */
cuzk_status file_writer_reserve(file_writer *w, uint64_t bytes, cuzk_error *err);
cuzk_status file_writer_write(file_writer *w, const void *data, size_t len, cuzk_error *err);
/* Positional write; may be called by several threads for disjoint ranges. */
cuzk_status file_writer_pwrite(file_writer *w, const void *data, size_t len, uint64_t offset, cuzk_error *err);
cuzk_status file_writer_commit(file_writer *w, cuzk_error *err); /* frees w, also on failure (then nothing stays) */
void file_writer_abort(file_writer *w);                          /* accepts NULL */
/* file_writer in one call. */
cuzk_status file_write_all(const char *path, const void *data, size_t len, bool refuse_existing, cuzk_error *err);

/* An advisory lock (flock) on PATH.lock; waits for other processes, ends with the process. on_wait (may be NULL) is
 * called once when waiting starts. */
cuzk_status file_lock(int *fd_out, const char *path, void (*on_wait)(void *), void *user, cuzk_error *err);
void file_unlock(int fd);

cuzk_status file_make_folders(const char *path, cuzk_error *err); /* mkdir -p, mode 0755 */
bool file_exists(const char *path);
/* True when the two names reach one file (symlinks and hard links followed), or are the same name. */
bool file_same(const char *a, const char *b);
/* $CUZK_CACHE, else $XDG_CACHE_HOME/cuzk, else ~/.cache/cuzk, plus "/sub" when sub is not NULL. */
cuzk_status file_cache_name(char *out, size_t out_len, const char *sub, cuzk_error *err);
/* The same; made when absent. */
cuzk_status file_cache_folder(char *out, size_t out_len, const char *sub, cuzk_error *err);

#endif
