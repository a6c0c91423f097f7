/* SIGINT and SIGTERM cancel the work: the first sets a flag that long work looks at, so that temporary files are
 * removed on the way out; the second one has its usual effect. */
#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int cancel, caught;

static void on_signal(int number) {
    atomic_store(&caught, number);
    atomic_store(&cancel, 1);
}

void signals_setup(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error, which is reported */
}

const atomic_int *signals_cancel(void) {
    return &cancel;
}

int signals_caught(void) {
    return atomic_load(&caught);
}
