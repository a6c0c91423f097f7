/* Atomic writing; see base/file.h.
 *
 * The content goes to ".<name>.<pid>.<n>.tmp" in the target's folder. The writer holds flock on it, so a temporary file
 * that can be locked belongs to no living writer (whatever process ids say, also between containers) and the next
 * writer of that target removes it. Commit: fsync, rename (with refuse_existing: a rename that never replaces), fsync
 * of the folder. A target that is a symbolic link is followed; a target that is no plain file (/dev/null) is refused,
 * since the rename would replace the device.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text.h"

struct file_writer {
    char *path; /* as the caller gave it, for errors */
    int folder, fd;
    bool refuse_existing;
    uint64_t at;
    char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
};

static cuzk_status fail(const file_writer *w, int why, const char *action, cuzk_error *err) {
    return cuzk_fail_errno(err, why, w->path, action);
}

static cuzk_status fail_exists(const file_writer *w, cuzk_error *err) {
    cuzk_fail(err, CUZK_IO, "the file exists already and is not replaced");
    cuzk_fail_where(err, "%s", w->path);
    return cuzk_fail_hint(err, "choose another name or remove the file");
}

/* ".<name>.<digits and dots>.tmp" */
static bool is_temporary_of(const char *entry, const char *name) {
    size_t n = strlen(name), len = strlen(entry);
    if (len < n + 7 || entry[0] != '.' || memcmp(entry + 1, name, n) != 0 || entry[n + 1] != '.') return false;
    if (strcmp(entry + len - 4, ".tmp") != 0) return false;
    size_t digits = strspn(entry + n + 2, "0123456789.");
    return n + 2 + digits == len - 3; /* the dot of ".tmp" is in the span too */
}

static void remove_stale(const file_writer *w) {
    int copy = openat(w->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        if (copy >= 0) close(copy);
        return;
    }
    struct dirent *e;
    while ((e = readdir(dir))) {
        if (!is_temporary_of(e->d_name, w->name)) continue;
        int fd = openat(w->folder, e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(w->folder, e->d_name, 0);
        close(fd);
    }
    closedir(dir);
}

/* Makes and locks the temporary file. Between the two another writer may take it for stale: then try the next name. */
static cuzk_status make_temporary(file_writer *w, cuzk_error *err) {
    static atomic_uint serial;
    for (int tries = 0; tries < 100; tries++) {
        int n = snprintf(w->temporary, sizeof w->temporary, ".%s.%ld.%u.tmp", w->name, (long)getpid(),
                         atomic_fetch_add(&serial, 1));
        if (n < 0 || (size_t)n >= sizeof w->temporary)
            return fail(w, ENAMETOOLONG, "cannot make a temporary file", err);
        w->fd = openat(w->folder, w->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (w->fd < 0 && errno == EEXIST) continue;
        if (w->fd < 0) return fail(w, errno, "cannot make a temporary file in the folder", err);
        /* Where locks do not work at all, the file is never taken for stale either. */
        struct stat st;
        bool ours = flock(w->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (ours && fstat(w->fd, &st) == 0 && st.st_nlink) return CUZK_OK;
        unlinkat(w->folder, w->temporary, 0);
        close(w->fd);
        w->fd = -1;
    }
    return fail(w, EBUSY, "cannot make a temporary file in the folder", err);
}

/* Splits the target into an open folder and a name. */
static cuzk_status open_folder(file_writer *w, cuzk_error *err) {
    char folder[PATH_MAX], real[PATH_MAX];
    const char *path = w->path;
    struct stat st;
    if (stat(path, &st) == 0) {
        if (w->refuse_existing) return fail_exists(w, err);
        if (!S_ISREG(st.st_mode)) {
            cuzk_fail(err, CUZK_IO, "the target is not a plain file");
            return cuzk_fail_where(err, "%s", path);
        }
        if (!realpath(path, real)) return fail(w, errno, "cannot follow the name", err);
        path = real;
    } else if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        /* The rename would replace the link, which the user may have meant to lead to another disk. */
        return fail(w, ENOENT, "the name is a symbolic link that leads nowhere", err);
    }
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t folder_len = slash ? (size_t)(slash - path) + 1 : 1;
    if (!*name || strlen(name) > NAME_MAX || folder_len >= sizeof folder)
        return fail(w, *name ? ENAMETOOLONG : EISDIR, "cannot write the file", err);
    memcpy(folder, slash ? path : ".", folder_len);
    folder[folder_len] = 0;
    strcpy(w->name, name);
    w->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return w->folder < 0 ? fail(w, errno, "cannot open the folder of the file to write", err) : CUZK_OK;
}

cuzk_status file_writer_open(file_writer **out, const char *path, bool refuse_existing, cuzk_error *err) {
    *out = NULL;
    file_writer *w = calloc(1, sizeof *w);
    if (w) {
        w->folder = w->fd = -1;
        w->path = strdup(path);
        w->refuse_existing = refuse_existing;
    }
    if (!w || !w->path) {
        free(w);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for writing a file");
    }
    cuzk_status s = open_folder(w, err);
    if (!s) {
        remove_stale(w);
        s = make_temporary(w, err);
    }
    if (s)
        file_writer_abort(w);
    else
        *out = w;
    return s;
}

cuzk_status file_writer_reserve(file_writer *w, uint64_t bytes, cuzk_error *err) {
    if (!bytes) return CUZK_OK;
    if (bytes > INT64_MAX) return fail(w, EFBIG, "cannot reserve space", err);
    int rc;
    do rc = fallocate(w->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
    while (rc && errno == EINTR);
    if (!rc) return CUZK_OK;
    struct statvfs fs;
    int why = errno;
    bool known = fstatvfs(w->fd, &fs) == 0;
    uint64_t free_bytes = known ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
    if (why == EOPNOTSUPP || why == ENOSYS) {
        /* This file system cannot reserve: at least refuse what plainly does not fit. */
        if (!known || free_bytes >= bytes) return CUZK_OK;
        why = ENOSPC;
    }
    fail(w, why, "cannot reserve space for the file", err);
    char need[24], have[24];
    text_size(need, bytes);
    text_size(have, free_bytes);
    cuzk_fail_expected(err, "%llu bytes free (%s)", (unsigned long long)bytes, need);
    if (known) cuzk_fail_found(err, "%llu bytes free (%s)", (unsigned long long)free_bytes, have);
    return err->status;
}

cuzk_status file_writer_pwrite(file_writer *w, const void *data, size_t len, uint64_t offset, cuzk_error *err) {
    const char *p = data;
    if (offset > INT64_MAX || len > INT64_MAX - offset) return fail(w, EFBIG, "cannot write the file", err);
    while (len) {
        ssize_t n = pwrite(w->fd, p, len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(w, errno, "cannot write the file", err);
        p += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return CUZK_OK;
}

cuzk_status file_writer_write(file_writer *w, const void *data, size_t len, cuzk_error *err) {
    cuzk_status s = file_writer_pwrite(w, data, len, w->at, err);
    if (!s) w->at += len;
    return s;
}

/* Gives the temporary file its name; 0 or an errno. */
static int publish(file_writer *w) {
    if (!w->refuse_existing) return renameat(w->folder, w->temporary, w->folder, w->name) ? errno : 0;
    if (!renameat2(w->folder, w->temporary, w->folder, w->name, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    /* File systems without that flag: a hard link never replaces either. */
    if (linkat(w->folder, w->temporary, w->folder, w->name, 0)) return errno;
    unlinkat(w->folder, w->temporary, 0);
    return 0;
}

static void release(file_writer *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->folder >= 0) close(w->folder);
    free(w->path);
    free(w);
}

cuzk_status file_writer_commit(file_writer *w, cuzk_error *err) {
    cuzk_status s = CUZK_OK;
    int why;
    int rc;
    do rc = fsync(w->fd);
    while (rc && errno == EINTR);
    if (rc)
        s = fail(w, errno, "cannot bring the file to disk", err);
    else if ((why = publish(w)))
        s = why == EEXIST ? fail_exists(w, err) : fail(w, why, "cannot name the file", err);
    if (s) {
        file_writer_abort(w);
        return s;
    }
    /* Some file systems have no fsync for folders (EINVAL); the rename is then theirs to keep. */
    if (fsync(w->folder) && errno != EINVAL && errno != EROFS) {
        s = fail(w, errno, "cannot bring the folder to disk", err);
        unlinkat(w->folder, w->name, 0);
    }
    release(w);
    return s;
}

void file_writer_abort(file_writer *w) {
    if (!w) return;
    if (w->fd >= 0) unlinkat(w->folder, w->temporary, 0);
    release(w);
}

cuzk_status file_write_all(const char *path, const void *data, size_t len, bool refuse_existing, cuzk_error *err) {
    file_writer *w;
    cuzk_status s = file_writer_open(&w, path, refuse_existing, err);
    if (s) return s;
    s = file_writer_write(w, data, len, err);
    if (s) {
        file_writer_abort(w);
        return s;
    }
    return file_writer_commit(w, err);
}
