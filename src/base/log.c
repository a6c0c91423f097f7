/* Log lines; see base/log.h. A line is built in memory and written with one write(2), so that lines of several threads
 * and processes do not mix. Limit: a message is cut at 2000 bytes; control characters become "?", since a message can
 * quote foreign bytes. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"

static atomic_int chosen_level = LOG_INFO;
static atomic_int chosen_form = LOG_TEXT;

void log_setup(log_level level, log_form form) {
    atomic_store(&chosen_level, (int)level);
    atomic_store(&chosen_form, (int)form);
}

static void write_all(const char *text, size_t len) {
    while (len) {
        ssize_t n = write(STDERR_FILENO, text, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return; /* nobody is left to be told */
        text += n;
        len -= (size_t)n;
    }
}

static void write_text(log_level level, const char *message) {
    static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
    char line[2100];
    int n = snprintf(line, sizeof line, "cuzk: %s%s\n", prefix[level], message);
    if (n > 0) write_all(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void write_json(log_level level, const char *message) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    struct timespec now;
    struct tm utc;
    char when[40], line_time[56];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(line_time, sizeof line_time, "%s.%03dZ", when, (int)(now.tv_nsec / 1000000));

    json_out *o = json_out_create();
    if (!o) return;
    json_begin_object(o);
    json_put_key(o, "time");
    json_put_string(o, line_time);
    json_put_key(o, "level");
    json_put_string(o, names[level]);
    json_put_key(o, "message");
    json_put_string(o, message);
    json_end_object(o);
    size_t len;
    const char *text = json_out_text(o, &len);
    /* A control character takes six bytes at most ("\u0000"), but there are none left; quotes take two. */
    char line[2 * 2000 + 200];
    if (text && len < sizeof line) {
        memcpy(line, text, len);
        line[len] = '\n';
        write_all(line, len + 1);
    }
    json_out_destroy(o);
}

void log_line(log_level level, const char *fmt, ...) {
    if ((int)level > atomic_load(&chosen_level)) return;
    char message[2000];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (n < 0) return;
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = *c == '\n' && !c[1] ? 0 : '?';
    if (atomic_load(&chosen_form) == LOG_JSON)
        write_json(level, message);
    else
        write_text(level, message);
}
