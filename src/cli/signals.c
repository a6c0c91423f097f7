/* SIGINT and SIGTERM cancel the work: the first sets a flag that long work looks at, so that temporary files are
 * removed on the way out, and ends a wait for a lock, a pipe or a terminal (no SA_RESTART); the second one has its
 * usual effect.
 *
 * SIGBUS: a mapped file became shorter under our hands, or its disk failed. Nothing can be resumed, but it is an
 * input's fault, so it is told and answered as one. What is left then is a temporary file, which the next writer
 * removes. */
#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUS_WHAT "a mapped file cannot be read: it became shorter while it was in use, or its disk failed"
#define BUS_HINT "leave input, key and cache files alone while they are in use; replace them by rename"

static atomic_int cancel, caught;

static void on_signal(int number) {
    atomic_store(&caught, number);
    atomic_store(&cancel, 1);
}

/* Made beforehand, as a signal handler may do little. */
static char bus_answer[640];

static void say(int fd, const char *text) {
    if (write(fd, text, strlen(text)) < 0) return; /* there is nobody else to tell */
}

static void on_bus(int number) {
    (void)number;
    say(STDERR_FILENO, "cuzk: " BUS_WHAT "\n  do        " BUS_HINT "\n");
    say(STDOUT_FILENO, bus_answer);
    _exit(cuzk_status_exit(CUZK_IO));
}

void signals_setup(bool json) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error, which is reported */
    signal(SIGXFSZ, SIG_IGN); /* a file too large for `ulimit -f`: the same */
    if (json) {
        snprintf(bus_answer, sizeof bus_answer,
                 "{\"error\":{\"code\":%d,\"name\":\"%s\",\"what\":\"" BUS_WHAT
                 "\",\"where\":\"\",\"expected\":\"\",\"found\":\"\",\"hint\":\"" BUS_HINT "\"}}\n",
                 (int)CUZK_IO, cuzk_status_name(CUZK_IO));
    }
    action.sa_handler = on_bus;
    sigaction(SIGBUS, &action, NULL);
}

const atomic_int *signals_cancel(void) {
    return &cancel;
}

int signals_caught(void) {
    return atomic_load(&caught);
}
