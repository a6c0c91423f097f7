/* Status codes: one list gives code, name, text, gRPC status, HTTP status, exit status and whether trying again can
 * help.
 *
 * Success is 0, every failure is a positive code that never changes its number. Detail goes into a cuzk_error
 * (cuzk/error.h). Thread-safety: pure functions.
 */
#ifndef CUZK_STATUS_H
#define CUZK_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* X(code, NAME, text, grpc, http, exit, retryable) */
#define CUZK_STATUS_LIST(X)                                                                                            \
    X(0, OK, "done", 0, 200, 0, false)                                                                                 \
    X(1, FALSE, "checked and false", 9, 422, 1, false)                                                                 \
    X(2, USAGE, "wrong use", 3, 400, 2, false)                                                                         \
    X(3, IO, "a file cannot be read or written", 5, 404, 3, false)                                                     \
    X(4, MALFORMED, "an input does not have its format", 3, 400, 3, false)                                             \
    X(5, FOREIGN, "an input belongs to something else", 3, 400, 3, false)                                              \
    X(6, UNSATISFIED, "an input is well formed but false", 3, 422, 3, false)                                           \
    X(7, KEY_MISSING, "a proving key is not there", 9, 404, 3, false)                                                  \
    X(8, KEY_DAMAGED, "a key is damaged", 15, 422, 3, false)                                                           \
    X(9, MEMORY, "not enough memory", 8, 507, 4, true)                                                                 \
    X(10, DISK, "not enough disk space", 8, 507, 4, true)                                                              \
    X(11, DEVICE, "a device failed", 14, 503, 5, true)                                                                 \
    X(12, UNREACHABLE, "the daemon cannot be reached", 14, 503, 6, true)                                               \
    X(13, REFUSED, "the daemon refused", 9, 409, 6, false)                                                             \
    X(14, CANCELLED, "cancelled", 1, 499, 70, true)                                                                    \
    X(15, INTERNAL, "a fault of this program", 13, 500, 70, false)                                                     \
    X(16, TOO_LARGE, "more memory is needed than there can ever be", 9, 413, 4, false)

typedef enum cuzk_status {
#define CUZK_STATUS_ENUM(code, name, text, grpc, http, exit, retryable) CUZK_##name = code,
    CUZK_STATUS_LIST(CUZK_STATUS_ENUM)
#undef CUZK_STATUS_ENUM
} cuzk_status;
#define CUZK_STATUS_LAST CUZK_TOO_LARGE

/* "CUZK_OK", … ; "CUZK_UNKNOWN" for a code not in the list. Static strings. */
const char *cuzk_status_name(cuzk_status s);
/* One short phrase. Static string. */
const char *cuzk_status_text(cuzk_status s);
int cuzk_status_grpc(cuzk_status s);
int cuzk_status_http(cuzk_status s);
/* The process exit status of the command line (0, 1, 2, 3, 4, 5, 6, 70). */
int cuzk_status_exit(cuzk_status s);
bool cuzk_status_retryable(cuzk_status s);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
