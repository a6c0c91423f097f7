/* See daemon/crash.h. The handler does only what a signal handler may: it writes to a file that is open, sets the
 * signal's former action and raises the signal again. A sanitizer's own handler is such a former action. */
#include "daemon/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
#define N_FATAL (sizeof fatal / sizeof fatal[0])

static struct sigaction before[N_FATAL];
static char name[PATH_MAX];
static volatile sig_atomic_t file = -1;
static bool noted;

static void put_mark(int number) {
    char text[3] = {(char)('0' + number / 10), (char)('0' + number % 10), '\n'};
    if (pwrite(file, text, sizeof text, 0) < 0) return; /* it counts as a kill then */
}

static void on_fatal(int number, siginfo_t *info, void *context) {
    (void)context;
    int kept = errno;
    put_mark(number);
    for (size_t i = 0; i < N_FATAL; i++)
        if (fatal[i] == number) sigaction(number, &before[i], NULL);
    /* The instruction faults again, so that the former action sees the true cause; others are sent again, and come
     * when this returns. */
    bool comes_again = info->si_code > 0 && (number == SIGSEGV || number == SIGILL || number == SIGFPE);
    if (!comes_again) raise(number);
    errno = kept;
}

static void handle_all(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fatal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_FATAL; i++) sigaction(fatal[i], &action, &before[i]);
}

static int read_mark(void) {
    char text[3] = "";
    if (pread(file, text, 2, 0) != 2) return 0;
    int number = atoi(text);
    for (size_t i = 0; i < N_FATAL; i++)
        if (fatal[i] == number) return number;
    return 0;
}

cuzk_status crash_open(const char *store_path, int *last, cuzk_error *err) {
    char *path = realpath(store_path, NULL); /* as the store's lock */
    int n = path ? snprintf(name, sizeof name, "%s.crash", path) : 0;
    *last = 0;
    free(path);
    if (n <= 0 || (size_t)n >= sizeof name)
        return cuzk_fail_errno(err, n ? ENAMETOOLONG : errno, store_path, "cannot name the file for crashes");
    file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return cuzk_fail_errno(err, errno, name, "cannot open the file for crashes");
    *last = read_mark();
    noted = *last == 0;
    handle_all();
    return CUZK_OK;
}

void crash_noted(void) {
    if (file < 0 || noted) return;
    noted = ftruncate(file, 0) == 0; /* else it is read once more */
}

void crash_close(void) {
    if (file < 0) return;
    for (size_t i = 0; i < N_FATAL; i++) sigaction(fatal[i], &before[i], NULL);
    close(file);
    file = -1;
}
