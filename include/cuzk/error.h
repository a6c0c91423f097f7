/* The detail of a failure: what, where, expected, found, and what to do.
 *
 * A cuzk_error is a plain value of fixed size that the caller owns, usually on the stack. Functions that can fail take
 * a pointer to one as their last argument; it is never NULL. It is written only on failure. Texts are always
 * terminated and cut at their field's size. Not thread-safe: one error object belongs to one thread at a time.
 */
#ifndef CUZK_ERROR_H
#define CUZK_ERROR_H

#include "cuzk/status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_error {
    cuzk_status status;
    char what[240];     /* one sentence without a full stop: "the key is truncated" */
    char where[320];    /* file and byte, JSON path, section and index, or partition / challenge / part */
    char expected[160]; /* may be empty */
    char found[160];    /* may be empty */
    char hint[240];     /* what to do; may be empty */
} cuzk_error;

#define CUZK_PRINTF(fmt_index) __attribute__((format(printf, fmt_index, fmt_index + 1)))

/* Empties err, sets status and what. Returns s, so that `return cuzk_fail(err, …)` reads well. */
cuzk_status cuzk_fail(cuzk_error *err, cuzk_status s, const char *what_fmt, ...) CUZK_PRINTF(3);
/* Each sets one field of an error that cuzk_fail began and returns its status. */
cuzk_status cuzk_fail_where(cuzk_error *err, const char *fmt, ...) CUZK_PRINTF(2);
cuzk_status cuzk_fail_expected(cuzk_error *err, const char *fmt, ...) CUZK_PRINTF(2);
cuzk_status cuzk_fail_found(cuzk_error *err, const char *fmt, ...) CUZK_PRINTF(2);
cuzk_status cuzk_fail_hint(cuzk_error *err, const char *fmt, ...) CUZK_PRINTF(2);
/* Puts "prefix: " before what is in `where` (or sets it), for callers that know the wider place. Returns the status. */
cuzk_status cuzk_fail_within(cuzk_error *err, const char *prefix_fmt, ...) CUZK_PRINTF(2);
/* An errno as a status: ENOSPC and EDQUOT are DISK, ENOMEM is MEMORY, others IO. what = "<action>: <strerror>". */
cuzk_status cuzk_fail_errno(cuzk_error *err, int errnum, const char *path, const char *action);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
