/* The daemon: job store, engine, gRPC and HTTP servers, from start to stop. */
#ifndef CUZK_DAEMON_SERVE_H
#define CUZK_DAEMON_SERVE_H

#include "daemon/config.h"

typedef struct serve_options {
    const char *config_path; /* NULL: CONFIG_DEFAULT_FILE when it is there */
    config_overrides over;
} serve_options;

/* Runs until SIGTERM or SIGINT: the first lets running jobs end (daemon.drain_timeout), a second one stops at once.
 * SIGHUP reads the settings again. Called before any thread is made. All that is told goes to the log; a start that
 * fails says why in the log's last line and returns it. */
cuzk_status serve(const serve_options *options, cuzk_error *err);

#endif
