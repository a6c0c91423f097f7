/* Levelled log to stderr: text for people ("cuzk: warning: …"), or one JSON object a line. Thread-safe; a line is
 * written with one write(2). The level and form are process-wide and set once at start. */
#ifndef CUZK_BASE_LOG_H
#define CUZK_BASE_LOG_H

#include "cuzk/error.h"

typedef enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;
typedef enum { LOG_TEXT, LOG_JSON } log_form;

void log_setup(log_level level, log_form form);
void log_line(log_level level, const char *fmt, ...) CUZK_PRINTF(2);
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
