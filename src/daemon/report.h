/* What a daemon says in its log about itself. */
#ifndef CUZK_DAEMON_REPORT_H
#define CUZK_DAEMON_REPORT_H

#include "daemon/config.h"
#include "engine/engine.h"

/* One line: what (where; expected …; found …). hint */
void report_failure(const char *doing, const cuzk_error *err);
void report_warnings(const config *c);
/* Devices, budget, workers, what is resumed. */
void report_engine(cuzk_engine *engine, const config *c);
void report_addresses(const rpc_server *rpc, const http_server *http);

typedef struct report_state {
    unsigned running, pending;
    char line[256]; /* for people: "2 running, 5 queued; 3.1 GiB of 58.0 GiB reserved" */
} report_state;
cuzk_status report_now(cuzk_engine *engine, report_state *out, cuzk_error *err);

#endif
