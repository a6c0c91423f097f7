/* Filling of cuzk_error; see cuzk/error.h. */
#include "cuzk/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* vsnprintf that cuts; a failing format leaves an empty text rather than garbage. */
#define SET_FIELD(field, fmt)                                                                                          \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        va_start(args, fmt);                                                                                           \
        if (vsnprintf(field, sizeof field, fmt, args) < 0) field[0] = 0;                                               \
        va_end(args);                                                                                                  \
    } while (0)

cuzk_status cuzk_fail(cuzk_error *err, cuzk_status s, const char *what_fmt, ...) {
    err->status = s;
    err->where[0] = err->expected[0] = err->found[0] = err->hint[0] = 0;
    SET_FIELD(err->what, what_fmt);
    return s;
}

cuzk_status cuzk_fail_where(cuzk_error *err, const char *fmt, ...) {
    SET_FIELD(err->where, fmt);
    return err->status;
}

cuzk_status cuzk_fail_expected(cuzk_error *err, const char *fmt, ...) {
    SET_FIELD(err->expected, fmt);
    return err->status;
}

cuzk_status cuzk_fail_found(cuzk_error *err, const char *fmt, ...) {
    SET_FIELD(err->found, fmt);
    return err->status;
}

cuzk_status cuzk_fail_hint(cuzk_error *err, const char *fmt, ...) {
    SET_FIELD(err->hint, fmt);
    return err->status;
}

cuzk_status cuzk_fail_within(cuzk_error *err, const char *prefix_fmt, ...) {
    char inner[sizeof err->where];
    memcpy(inner, err->where, sizeof inner);
    SET_FIELD(err->where, prefix_fmt);
    size_t used = strlen(err->where);
    if (inner[0]) snprintf(err->where + used, sizeof err->where - used, ": %s", inner);
    return err->status;
}

cuzk_status cuzk_fail_errno(cuzk_error *err, int errnum, const char *path, const char *action) {
    cuzk_status s = CUZK_IO;
    if (errnum == ENOSPC || errnum == EDQUOT) s = CUZK_DISK;
    if (errnum == ENOMEM) s = CUZK_MEMORY;
    if (errnum == EINTR) s = CUZK_CANCELLED; /* a signal ended the wait; what must go on is called again instead */
    char text[128];
    /* The GNU strerror_r: returns the text, which may or may not be in the buffer; safe between threads. */
    cuzk_fail(err, s, "%s: %s", action, strerror_r(errnum, text, sizeof text));
    if (path) cuzk_fail_where(err, "%s", path);
    if (s == CUZK_DISK) cuzk_fail_hint(err, "free some space there, or use another folder");
    if (errnum == EROFS || errnum == EACCES) cuzk_fail_hint(err, "check the rights, or use another folder");
    return s;
}
