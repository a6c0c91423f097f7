/* Known answers on this machine: is the arithmetic right here, with every version of the kernels that this CPU runs?
 */
#ifndef CUZK_SELFTEST_H
#define CUZK_SELFTEST_H

#include <stdbool.h>
#include "cuzk/context.h"
#include "cuzk/control.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_selftest_check {
    const char *name;    /* "pairing: bilinear"; borrowed until the callback returns */
    const char *kernels; /* the kernel version, or "" when the check is not about one */
    bool passed;
    double seconds;
    const char *detail; /* of a failure; "" otherwise */
} cuzk_selftest_check;

/* Runs all checks (seconds), calling each (may be NULL) after every one. OK: all passed. FALSE: some did not. Others:
 * it could not run. The kernel version is switched for the whole process meanwhile, so other work had better wait; one
 * call at a time. */
cuzk_status cuzk_selftest(cuzk_context *context, void (*each)(void *user, const cuzk_selftest_check *check), void *user,
                          const cuzk_control *control, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
