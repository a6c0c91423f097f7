/* What a process that dies of its own fault leaves for the next one.
 *
 * A fatal signal (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS) puts its number into a file beside the job store,
 * then takes the course that it would have taken without us. Who is killed, or loses power, leaves no mark; neither
 * does a thread that overruns its stack, as the handler has no other. */
#ifndef CUZK_DAEMON_CRASH_H
#define CUZK_DAEMON_CRASH_H

#include "cuzk/error.h"

/* Opens STORE.crash, with the store's lock held. *last is the signal that an earlier process left there, or 0.
 * Signals are handled from here on. IO. */
cuzk_status crash_open(const char *store_path, int *last, cuzk_error *err);
/* What was read has been taken into account. Accepts that nothing is open. */
void crash_noted(void);
/* An end in good order: signals are as before. The file stays: the store may have been given up by now, and another
 * process may have opened it. Accepts that nothing is open. */
void crash_close(void);

#endif
