/* Mapped reading, small files, locks, folders; see base/file.h. Atomic writing is in file_writer.c.
 *
 * Limit: a mapped file that another process truncates meanwhile makes reads fault (SIGBUS); key and shape files are
 * replaced by rename, never rewritten in place, so this does not happen with files that this program wrote.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t nanoseconds(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

cuzk_status file_map_open(file_map *out, const char *path, cuzk_error *err) {
    *out = (file_map){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block before it is refused */
    if (fd < 0) return cuzk_fail_errno(err, errno, path, "cannot open the file");
    struct stat st;
    cuzk_status s = CUZK_OK;
    if (fstat(fd, &st)) {
        s = cuzk_fail_errno(err, errno, path, "cannot read the file's facts");
    } else if (!S_ISREG(st.st_mode)) {
        s = cuzk_fail(err, CUZK_IO, S_ISDIR(st.st_mode) ? "this is a folder, not a file" : "this is not a plain file");
        cuzk_fail_where(err, "%s", path);
    } else {
        *out = (file_map){NULL,      (size_t)st.st_size,      st.st_dev,
                          st.st_ino, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
        if (st.st_size) {
            void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
            if (p == MAP_FAILED)
                s = cuzk_fail_errno(err, errno, path, "cannot map the file");
            else
                out->data = p;
        }
    }
    close(fd);
    if (s) *out = (file_map){0};
    return s;
}

void file_map_close(file_map *m) {
    if (m->data) munmap((void *)(uintptr_t)m->data, m->bytes);
    *m = (file_map){0};
}

void file_map_done(const file_map *m, size_t offset, size_t bytes) {
    if (!m->data || offset >= m->bytes) return;
    if (bytes > m->bytes - offset) bytes = m->bytes - offset;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), start = offset & ~(page - 1);
    /* Only our mapping's pages go; the page cache may keep the file, and a later read brings them back. */
    madvise((void *)(uintptr_t)(m->data + start), bytes + (offset - start), MADV_DONTNEED);
}

static cuzk_status too_large(const char *path, size_t limit, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "the file is too large");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_expected(err, "at most %zu bytes", limit);
}

/* Reads fd to its end. room: how much to begin with; grows up to one byte more than limit, which shows an excess. */
static cuzk_status read_to_end(buffer *out, int fd, const char *path, size_t room, size_t limit, cuzk_error *err) {
    size_t len = 0;
    cuzk_status s = buffer_alloc(out, BUFFER_REQUEST, room, err);
    while (!s) {
        ssize_t n = read(fd, (char *)out->data + len, out->bytes - len);
        if (n < 0) s = cuzk_fail_errno(err, errno, path, "cannot read the file");
        if (n <= 0) break;
        len += (size_t)n;
        if (len > limit) {
            s = too_large(path, limit, err);
        } else if (len == out->bytes) {
            buffer larger;
            size_t want = len > limit / 2 ? limit + 1 : 2 * len;
            s = buffer_alloc(&larger, BUFFER_REQUEST, want, err);
            if (s) break;
            memcpy(larger.data, out->data, len);
            buffer_free(out);
            *out = larger;
        }
    }
    if (s)
        buffer_free(out);
    else
        buffer_shrink(out, len);
    return s;
}

cuzk_status file_read(buffer *out, const char *path, size_t limit, cuzk_error *err) {
    *out = (buffer){NULL, 0, BUFFER_REQUEST};
    if (limit > SIZE_MAX / 2) limit = SIZE_MAX / 2;
    const size_t first = limit < 65535 ? limit + 1 : 65536;
    if (strcmp(path, "-") == 0) return read_to_end(out, STDIN_FILENO, "standard input", first, limit, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cuzk_fail_errno(err, errno, path, "cannot open the file");
    struct stat st;
    cuzk_status s;
    if (fstat(fd, &st)) {
        s = cuzk_fail_errno(err, errno, path, "cannot read the file's facts");
    } else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > limit) {
        s = too_large(path, limit, err);
        cuzk_fail_found(err, "%lld bytes", (long long)st.st_size);
    } else {
        /* One byte more than the size, so that the end is seen without growing. */
        size_t room = S_ISREG(st.st_mode) && st.st_size ? (size_t)st.st_size + 1 : first;
        s = read_to_end(out, fd, path, room, limit, err);
    }
    close(fd);
    return s;
}

cuzk_status file_lock(int *fd_out, const char *path, void (*on_wait)(void *), void *user, cuzk_error *err) {
    *fd_out = -1;
    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, "%s.lock", path);
    if (n < 0 || (size_t)n >= sizeof name) return cuzk_fail_errno(err, ENAMETOOLONG, path, "cannot lock");
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return cuzk_fail_errno(err, errno, name, "cannot open the lock file");
    int rc = flock(fd, LOCK_EX | LOCK_NB);
    if (rc && errno == EWOULDBLOCK) {
        if (on_wait) on_wait(user);
        rc = flock(fd, LOCK_EX);
    }
    if (rc) {
        int why = errno;
        close(fd);
        return cuzk_fail_errno(err, why, name, "cannot lock");
    }
    *fd_out = fd;
    return CUZK_OK;
}

void file_unlock(int fd) {
    if (fd >= 0) close(fd); /* The name stays: removing it would let two processes lock two different files. */
}

cuzk_status file_make_folders(const char *path, cuzk_error *err) {
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof part) return cuzk_fail_errno(err, ENAMETOOLONG, path, "cannot make the folder");
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i]) continue;
        part[i] = 0;
        if (mkdir(part, 0755) && errno != EEXIST) return cuzk_fail_errno(err, errno, part, "cannot make the folder");
        part[i] = path[i];
    }
    struct stat st;
    if (stat(path, &st)) return cuzk_fail_errno(err, errno, path, "cannot make the folder");
    if (!S_ISDIR(st.st_mode)) return cuzk_fail_errno(err, ENOTDIR, path, "cannot make the folder");
    return CUZK_OK;
}

bool file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* Where a name that does not exist yet would come to be: its folder's facts and its last part. */
static bool parent_of(const char *path, struct stat *folder, const char **last) {
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *last = slash ? slash + 1 : path;
    int n = slash ? snprintf(dir, sizeof dir, "%.*s", (int)(slash - path + 1), path) : snprintf(dir, sizeof dir, ".");
    return n >= 0 && (size_t)n < sizeof dir && stat(dir, folder) == 0;
}

bool file_same(const char *a, const char *b) {
    if (strcmp(a, b) == 0) return true;
    struct stat x, y;
    bool have_a = stat(a, &x) == 0, have_b = stat(b, &y) == 0;
    if (have_a != have_b) return false;
    if (have_a) return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    const char *last_a, *last_b;
    return parent_of(a, &x, &last_a) && parent_of(b, &y, &last_b) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           strcmp(last_a, last_b) == 0;
}

cuzk_status file_cache_name(char *out, size_t out_len, const char *sub, cuzk_error *err) {
    const char *own = getenv("CUZK_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *root, *rest;
    if (own && *own)
        root = own, rest = "";
    else if (xdg && *xdg == '/')
        root = xdg, rest = "/cuzk"; /* the XDG standard ignores relative paths */
    else if (home && *home)
        root = home, rest = "/.cache/cuzk";
    else {
        cuzk_fail(err, CUZK_USAGE, "there is no cache folder");
        return cuzk_fail_hint(err, "set CUZK_CACHE, XDG_CACHE_HOME or HOME");
    }
    int n = snprintf(out, out_len, "%s%s%s%s", root, rest, sub ? "/" : "", sub ? sub : "");
    if (n < 0 || (size_t)n >= out_len) return cuzk_fail_errno(err, ENAMETOOLONG, root, "cannot make the cache folder");
    return CUZK_OK;
}

cuzk_status file_cache_folder(char *out, size_t out_len, const char *sub, cuzk_error *err) {
    if (file_cache_name(out, out_len, sub, err)) return err->status;
    if (!file_make_folders(out, err)) return CUZK_OK;
    return cuzk_fail_hint(err, "set CUZK_CACHE to a folder that can be written to");
}
