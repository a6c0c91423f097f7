/* Lines of the log about the daemon as a whole. */
#include "daemon/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backend/cuda/backend.h"
#include "base/text.h"
#include "rpc/details.h"

void report_failure(const char *doing, const cuzk_error *err) {
    char line[1400];
    details_line(line, sizeof line, err);
    log_error("%s: %s", doing, line);
}

void report_warnings(const config *c) {
    for (size_t i = 0; i < c->n_warnings; i++) {
        if (c->warnings[i].line)
            log_warn("%s: line %u: %s", c->file, c->warnings[i].line, c->warnings[i].text);
        else
            log_warn("%s: %s", c->file, c->warnings[i].text);
    }
}

static void report_devices(const engine_view *v, const config *c) {
    bool cpu_only = true;
    char memory[24];
    for (size_t i = 0; i < v->n_devices; i++) {
        const device_view *d = &v->devices[i];
        cpu_only = cpu_only && d->is_cpu;
        text_size(memory, d->memory_bytes);
        if (d->is_cpu)
            log_info("device %s: %s", d->id, d->name);
        else
            log_info("device %s: %s, %s of memory", d->id, d->name, memory);
    }
    if (!cpu_only) return;
    const char *why = NULL;
    if (!strcmp(c->policy, "cpu")) {
        log_info("proofs are made on the CPU: gpus.policy is cpu");
    } else if (!backend_cuda(&why)) {
        log_warn("proofs are made on the CPU, which is slow: no CUDA device can be used: %s", why ? why : "not found");
    } else {
        log_warn("proofs are made on the CPU, which is slow: no CUDA device was taken");
    }
}

void report_engine(cuzk_engine *engine, const config *c) {
    engine_view v;
    cuzk_error err;
    char total[24], share[24], requests[24];
    if (engine_view_get(engine, &v, &err) != CUZK_OK) return;
    report_devices(&v, c);
    text_size(total, v.host.total);
    text_size(share, v.host.critical_share);
    text_size(requests, v.request_limit_bytes);
    log_info("memory: a budget of %s (%s), of which %s for critical jobs and %s for requests", total,
             c->total_budget == CONFIG_AUTO ? "found automatically" : "memory.total_budget", share, requests);
    log_info("processors: at most %u partitions are synthesized at a time, %u may wait for a device",
             v.synthesis_workers, v.queue_depth);
    unsigned resumed = 0;
    for (size_t i = 0; i < v.n_kinds; i++) resumed += v.kinds[i].pending + v.kinds[i].running;
    if (resumed) log_info("store: %u jobs of an earlier run go on", resumed);
    if (v.trouble[0]) log_warn("%s", v.trouble);
    engine_view_free(&v);
}

void report_addresses(const rpc_server *rpc, const http_server *http) {
    const char *address;
    for (size_t i = 0; (address = rpc_server_address(rpc, i)) != NULL; i++) log_info("gRPC: %s", address);
    if (http) log_info("page, status and metrics: http://%s/", http_server_address(http));
}

/* ---- while running ---- */

cuzk_status report_now(cuzk_engine *engine, report_state *out, cuzk_error *err) {
    engine_view v;
    char reserved[24], total[24];
    *out = (report_state){0};
    cuzk_status s = engine_view_get(engine, &v, err);
    if (s != CUZK_OK) return s;
    for (size_t i = 0; i < v.n_kinds; i++) out->running += v.kinds[i].running, out->pending += v.kinds[i].pending;
    text_size(reserved, v.host.reserved);
    text_size(total, v.host.total);
    snprintf(out->line, sizeof out->line, "%u running, %u queued; %s of %s reserved%s%.120s", out->running,
             out->pending, reserved, total, v.trouble[0] ? "; " : "", v.trouble);
    engine_view_free(&v);
    return CUZK_OK;
}
