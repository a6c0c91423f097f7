/* Tests that need a program which not every machine has: they are skipped there, and say so. With CUZK_NO_SKIP in the
 * environment (.ci/run, which installs all of them) its lack is a failure.
 */
#ifndef CUZK_TESTS_REF_LACKS_H
#define CUZK_TESTS_REF_LACKS_H

#include <stdio.h>
#include <stdlib.h>

/* Whether `command`, which only a machine with `what` can run, fails; the caller then calls skip(). cmocka.h comes
 * first. */
static inline int test_lacks(const char *what, const char *command) {
    if (system(command) == 0) return 0;
    printf("SKIPPED: %s is not installed\n", what);
    if (getenv("CUZK_NO_SKIP")) fail_msg("%s is not installed, and CUZK_NO_SKIP is set", what);
    return 1;
}

#endif
