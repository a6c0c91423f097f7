/* A batch against an engine in this process. */
#include "cli/bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "engine/engine.h"

typedef struct engine_target {
    bench_target base;
    const args *a;
    cuzk_engine *engine;
} engine_target;

/* ---- proofs ---- */

static cuzk_status engine_prove(bench_target *t, unsigned number, const cuzk_submission *s, cuzk_job_result *out,
                                cuzk_error *err) {
    engine_target *e = (engine_target *)t;
    const atomic_int *cancel = e->a->control->cancel;
    cuzk_job_ticket ticket;
    (void)number;
    if (cuzk_engine_submit(e->engine, s, &ticket, err)) return err->status;
    for (;;) {
        if (cuzk_engine_await(e->engine, ticket.job_id, 0.25, out, err)) return err->status;
        if (out->state != CUZK_JOB_QUEUED && out->state != CUZK_JOB_RUNNING) return CUZK_OK;
        cuzk_job_result_free(out);
        if (cancel && atomic_load(cancel)) return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
    }
}

/* ---- samples ---- */

static cuzk_status engine_sample(bench_target *t, bench_sample *out, cuzk_error *err) {
    engine_view v;
    if (engine_view_get(((engine_target *)t)->engine, &v, err)) return err->status;
    uint64_t anonymous = cpu_anonymous_bytes();
    out->rss = v.rss_bytes;
    out->tracked = v.tracked.live_bytes;
    /* Buffers come and go between the two readings: the larger count is held against the system's. */
    uint64_t after = buffer_total_stats().live_bytes, tracked = after > out->tracked ? after : out->tracked;
    out->unexplained = anonymous > tracked ? anonymous - tracked : 0;
    out->reserved = v.host.reserved;
    out->budget = v.host.total;
    for (int c = 0; c < BUFFER_CLASSES; c++) out->classes[c] = v.classes[c].live_bytes;
    engine_view_free(&v);
    return CUZK_OK;
}

/* ---- the end ---- */

/* The numbers of workers that there are, and names of devices that proved something. */
static void describe(bench_run *r, const engine_view *v) {
    unsigned device_workers = 0, devices = 0;
    for (size_t i = 0; i < v->n_workers; i++) {
        /* Without the lane that is kept for critical jobs. */
        device_workers += v->workers[i].device == 0 && !strstr(v->workers[i].lane, "critical");
    }
    for (size_t i = 0; i < v->n_devices; i++) {
        size_t used = strlen(r->devices);
        if (!v->devices[i].proofs) continue;
        snprintf(r->devices + used, sizeof r->devices - used, "%s%s", devices++ ? ", " : "", v->devices[i].id);
    }
    r->pw = v->synthesis_workers;
    r->gw = device_workers;
}

static cuzk_status engine_finish(bench_target *t, bench_run *r, cuzk_error *err) {
    engine_target *e = (engine_target *)t;
    engine_view v;
    if (engine_view_get(e->engine, &v, err)) return err->status;
    describe(r, &v);
    r->peak_tracked = v.tracked.peak_bytes;
    for (size_t i = 0; i < v.n_devices; i++)
        if (v.devices[i].budget.peak_reserved > r->peak_device) r->peak_device = v.devices[i].budget.peak_reserved;
    for (int c = 0; c < BUFFER_CLASSES; c++) r->peak_classes[c] = v.classes[c].peak_bytes;
    if (cpu_peak_rss_bytes() > r->peak_rss) r->peak_rss = cpu_peak_rss_bytes();
    engine_view_free(&v);
    return CUZK_OK;
}

static cuzk_status engine_trace_text(bench_target *t, char **json, cuzk_error *err) {
    return cuzk_engine_trace_json(((engine_target *)t)->engine, NULL, json, err);
}

static void engine_close(bench_target *t) {
    engine_target *e = (engine_target *)t;
    cuzk_engine_stop(e->engine, 0);
    free(e);
}

/* ---- the beginning ---- */

/* The batch's own copy of the input is no part of the engine's budget, but of --memory. */
static uint64_t input_bytes(const bench_input *in) {
    uint64_t bytes = in->c1.bytes + in->request.bytes;
    for (size_t i = 0; i < in->n_vanilla; i++) bytes += in->vanilla[i].bytes;
    return bytes;
}

/* Inputs that wait have half of the room. */
static uint64_t room_for(uint64_t bytes, unsigned clients) {
    const uint64_t usual = (uint64_t)512 << 20;
    return 2 * clients * bytes > usual ? 2 * clients * bytes : usual;
}

static cuzk_status start(engine_target *e, const args *a, const bench_input *in, unsigned pw, unsigned gw,
                         unsigned clients, cuzk_error *err) {
    uint64_t threads, memory, device_memory, held = input_bytes(in);
    const char *device = a->value[OPT_DEVICE];
    if (args_number(a, OPT_THREADS, 1, CUZK_MAX_THREADS, &threads, err)) return err->status;
    if (args_bytes(a, OPT_MEMORY, &memory, err)) return err->status;
    if (args_bytes(a, OPT_DEVICE_MEMORY, &device_memory, err)) return err->status;
    if (device && !strcmp(device, "cuda")) device = "cuda:0";
    bool cpu = device && !strcmp(device, "cpu"), any = !device || !strcmp(device, "auto");
    cuzk_engine_options o = {.size = sizeof o,
                             .threads = (unsigned)threads,
                             .memory_bytes = memory > held ? memory - held : memory,
                             .device_memory_bytes = device_memory,
                             .request_bytes = room_for(held, clients),
                             .synthesis_workers = pw,
                             .device_workers = gw,
                             .devices = device,
                             .policy = cpu   ? CUZK_CPU
                                       : any ? CUZK_PREFER_GPU
                                             : CUZK_REQUIRE_GPU,
                             .development_keys = a->given[OPT_DEV_KEY]};
    return cuzk_engine_start(&e->engine, &o, err);
}

cuzk_status bench_engine_open(bench_target **out, const args *a, const bench_input *in, unsigned pw, unsigned gw,
                              unsigned clients, cuzk_error *err) {
    static const bench_target_ops ops = {engine_prove, engine_sample, engine_finish, engine_trace_text, engine_close};
    bool already;
    double seconds;
    *out = NULL;
    engine_target *e = calloc(1, sizeof *e);
    if (!e) return cuzk_fail(err, CUZK_MEMORY, "no memory for an engine");
    *e = (engine_target){.base = {.ops = &ops, .sample_every = 0.1}, .a = a};
    if (start(e, a, in, pw, gw, clients, err)) {
        free(e);
        return err->status;
    }
    /* The key's loading is done once and belongs to no proof. */
    if (cuzk_engine_preload(e->engine, in->circuit, &already, &seconds, err)) {
        engine_close(&e->base);
        return err->status;
    }
    note("key and shape of %s loaded in %.2f s", in->circuit, seconds);
    *out = &e->base;
    return CUZK_OK;
}
