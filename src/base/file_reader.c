/* Reading a file at places; see base/file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_reader {
    int fd;
    char path[]; /* for errors */
};

cuzk_status file_reader_open(file_reader **out, const char *path, cuzk_error *err) {
    size_t n = strlen(path) + 1;
    *out = NULL;
    file_reader *r = malloc(sizeof *r + n);
    if (!r) return cuzk_fail(err, CUZK_MEMORY, "no memory to open a file");
    memcpy(r->path, path, n);
    r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (r->fd < 0) {
        cuzk_fail_errno(err, errno, path, "cannot open the file");
        free(r);
        return err->status;
    }
    *out = r;
    return CUZK_OK;
}

cuzk_status file_reader_read(const file_reader *r, void *to, size_t len, uint64_t offset, cuzk_error *err) {
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(r->fd, (char *)to + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cuzk_fail_errno(err, errno, r->path, "cannot read the file");
        if (n == 0) {
            cuzk_fail(err, CUZK_IO, "the file became shorter while it was read");
            return cuzk_fail_where(err, "%s", r->path);
        }
        done += (size_t)n;
    }
    return CUZK_OK;
}

bool file_reader_same(const file_reader *r, const file_map *m) {
    struct stat st;
    if (fstat(r->fd, &st)) return false;
    return st.st_dev == m->dev && st.st_ino == m->inode && (uint64_t)st.st_size == m->bytes &&
           (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == m->mtime_ns &&
           (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec == m->ctime_ns;
}

void file_reader_close(file_reader *r) {
    if (!r) return;
    close(r->fd);
    free(r);
}
