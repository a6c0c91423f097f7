/* Progress on standard error: a bar when that is a terminal, else a plain line now and then, nothing with --quiet.
 * progress_report is never called by two threads at once for one control (cuzk/control.h). */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"

#define BAR_EVERY 0.1   /* seconds */
#define LINE_EVERY 10.0 /* seconds, without a terminal */

static bool quiet, terminal, bar_shown;
static double last;
static char last_stage[64];

void progress_setup(bool be_quiet) {
    quiet = be_quiet;
    terminal = isatty(STDERR_FILENO) == 1;
    last = cpu_monotonic_seconds();
}

void progress_clear(void) {
    if (!bar_shown) return;
    fputs("\r\033[K", stderr);
    bar_shown = false;
}

static void bar(const char *stage, uint64_t done, uint64_t total) {
    char cells[31];
    size_t filled = total ? (size_t)(30 * done / total) : 0;
    memset(cells, '.', 30);
    memset(cells, '#', filled);
    cells[30] = 0;
    if (total) {
        fprintf(stderr, "\r\033[K%-24s [%s] %3u %%", stage, cells, (unsigned)(100 * done / total));
    } else {
        fprintf(stderr, "\r\033[K%s ...", stage);
    }
    bar_shown = true;
}

void progress_report(void *user, const char *stage, uint64_t done, uint64_t total) {
    (void)user;
    if (quiet || !stage) return;
    double now = cpu_monotonic_seconds();
    bool new_stage = strncmp(stage, last_stage, sizeof last_stage - 1) != 0;
    if (now - last < (terminal ? BAR_EVERY : LINE_EVERY) && !(terminal && new_stage)) return;
    last = now;
    snprintf(last_stage, sizeof last_stage, "%s", stage);
    if (terminal) {
        bar(stage, done, total);
    } else if (total) {
        fprintf(stderr, "cuzk: %s, %u %%\n", stage, (unsigned)(100 * done / total));
    } else {
        fprintf(stderr, "cuzk: %s\n", stage);
    }
}

static void line(const char *fmt, va_list list) {
    char text[1024];
    vsnprintf(text, sizeof text, fmt, list);
    progress_clear();
    fprintf(stderr, "cuzk: %s\n", text);
}

void note(const char *fmt, ...) {
    if (quiet) return;
    va_list list;
    va_start(list, fmt);
    line(fmt, list);
    va_end(list);
}

void warn_loudly(const char *fmt, ...) {
    va_list list;
    va_start(list, fmt);
    line(fmt, list);
    va_end(list);
}
