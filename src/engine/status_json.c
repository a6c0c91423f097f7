/* The status document: every member of the older daemon's /status with its meaning made right, and ours.
 *
 * Made right: memory.used_bytes is what is reserved, and rss_bytes stands beside it; synthesis.max_concurrent is the
 * number of workers; every kind of proof is in pipelines and in the counters, and a failed job ends there like others;
 * the in-flight counters return to 0; keys that are in use are listed.
 */
#include "engine/documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "cuzk/context.h"

enum { LISTED = 1000, LISTED_LIVE = 100 }; /* jobs that have not ended */

/* How long an ended job stays in pipelines. */
#define PIPELINE_SECONDS 30

const char *document_kind(const char *kind) {
    if (!strcmp(kind, "porep")) return "porep-c2";
    if (!strcmp(kind, "snap")) return "snap-update";
    return kind;
}

uint64_t document_unexplained(const engine_view *v) {
    uint64_t anonymous = cpu_anonymous_bytes();
    return anonymous > v->tracked.live_bytes ? anonymous - v->tracked.live_bytes : 0;
}

/* ---- members ---- */

static void put_text(json_out *o, const char *key, const char *text) {
    json_put_key(o, key);
    json_put_string(o, text);
}

static void put_number(json_out *o, const char *key, uint64_t v) {
    json_put_key(o, key);
    json_put_u64(o, v);
}

static void put_bool(json_out *o, const char *key, bool v) {
    json_put_key(o, key);
    json_put_bool(o, v);
}

/* Whole milliseconds; null when negative: not begun. */
static void put_seconds(json_out *o, const char *key, double seconds) {
    json_put_key(o, key);
    if (seconds >= 0 && isfinite(seconds)) {
        json_put_double(o, round(seconds * 1e3) / 1e3);
    } else {
        json_put_null(o);
    }
}

static void put_millis(json_out *o, const char *key, double seconds) {
    json_put_key(o, key);
    if (seconds >= 0 && isfinite(seconds)) {
        json_put_u64(o, (uint64_t)(seconds * 1e3));
    } else {
        json_put_null(o);
    }
}

static void begin_member(json_out *o, const char *key, bool array) {
    json_put_key(o, key);
    if (array) {
        json_begin_array(o);
    } else {
        json_begin_object(o);
    }
}

/* The older daemon's circuit names: "porep-32g", "wpost-32g", "winning-32g", "snap-32g". */
static void older_circuit(char *out, size_t n, const char *name) {
    static const struct {
        const char *ours, *theirs;
    } prefixes[] = {{"window-post-", "wpost-"}, {"winning-post-", "winning-"}, {"", ""}};
    size_t i = 0;
    while (strncmp(name, prefixes[i].ours, strlen(prefixes[i].ours)) != 0) i++;
    snprintf(out, n, "%s%s", prefixes[i].theirs, name + strlen(prefixes[i].ours));
    size_t len = strlen(out);
    if (len > 3 && !strcmp(out + len - 3, "gib")) out[len - 2] = 0;
}

/* ---- memory ---- */

static void put_budget(json_out *o, const budget_stats *b) {
    put_number(o, "total_bytes", b->total);
    put_number(o, "used_bytes", b->reserved);
    put_number(o, "available_bytes", b->total > b->reserved ? b->total - b->reserved : 0);
    put_number(o, "peak_used_bytes", b->peak_reserved);
    put_number(o, "critical_share_bytes", b->critical_share);
    put_number(o, "critical_used_bytes", b->critical_reserved);
    put_number(o, "refusals", b->refused);
}

static void put_memory(json_out *o, const engine_view *v) {
    begin_member(o, "memory", false);
    put_budget(o, &v->host);
    put_number(o, "rss_bytes", v->rss_bytes);
    put_number(o, "peak_rss_bytes", v->peak_rss_bytes);
    put_number(o, "tracked_bytes", v->tracked.live_bytes);
    put_number(o, "tracked_peak_bytes", v->tracked.peak_bytes);
    put_number(o, "unexplained_bytes", document_unexplained(v));
    put_number(o, "request_bytes", v->request_bytes);
    put_number(o, "request_limit_bytes", v->request_limit_bytes);
    begin_member(o, "classes", true);
    for (int c = 0; c < BUFFER_CLASSES; c++) {
        json_begin_object(o);
        put_text(o, "name", buffer_class_name((buffer_class)c));
        put_number(o, "bytes", v->classes[c].live_bytes);
        put_number(o, "buffers", v->classes[c].live_count);
        put_number(o, "peak_bytes", v->classes[c].peak_bytes);
        json_end_object(o);
    }
    json_end_array(o);
    json_end_object(o);
}

/* ---- jobs ---- */

static const char *priority_name(cuzk_priority p) {
    static const char *const names[] = {"default", "low", "normal", "high", "critical"};
    return (unsigned)p < sizeof names / sizeof *names ? names[p] : "default";
}

static void put_times(json_out *o, const cuzk_job_times *t) {
    begin_member(o, "seconds", false);
    put_seconds(o, "queue_wait", t->queue_wait);
    put_seconds(o, "key_load", t->key_load);
    put_seconds(o, "vanilla_check", t->vanilla_check);
    put_seconds(o, "synthesis", t->synthesis);
    put_seconds(o, "device_wait", t->device_wait);
    put_seconds(o, "device", t->device);
    put_seconds(o, "finish", t->finish);
    put_seconds(o, "verify", t->verify);
    put_seconds(o, "total", t->total);
    json_end_object(o);
}

static void put_error(json_out *o, const cuzk_error *e) {
    begin_member(o, "error", false);
    put_text(o, "name", cuzk_status_name(e->status));
    put_text(o, "what", e->what);
    put_text(o, "where", e->where);
    put_text(o, "expected", e->expected);
    put_text(o, "found", e->found);
    put_text(o, "hint", e->hint);
    json_end_object(o);
}

static bool ended(const job_view *j) {
    return j->finished_seconds_ago >= 0;
}

/* A letter a partition, so that hundreds of them stay short: docs/instruments.md. */
static void put_letters(json_out *o, const job_view *j) {
    static const char letters[] = {[PARTITION_PENDING] = '.', [PARTITION_SYNTHESIZING] = 's', [PARTITION_QUEUED] = 'q',
                                   [PARTITION_PROVING] = 'g', [PARTITION_FINISHING] = 'f',    [PARTITION_DONE] = 'd',
                                   [PARTITION_FAILED] = 'x'};
    char text[256];
    unsigned n = j->partitions ? j->n_partitions : 0;
    if (n > sizeof text - 1) n = sizeof text - 1;
    for (unsigned i = 0; i < n; i++) text[i] = letters[j->partitions[i].state];
    text[n] = 0;
    put_text(o, "partition_states", text);
}

static void put_job(json_out *o, const job_view *j) {
    json_begin_object(o);
    put_number(o, "seq", j->seq);
    put_text(o, "job_id", j->job_id);
    put_text(o, "kind", j->kind);
    put_text(o, "circuit", j->circuit);
    put_text(o, "state", cuzk_job_state_name(j->state));
    put_text(o, "priority", priority_name(j->priority));
    put_seconds(o, "age_secs", j->age_seconds);
    put_seconds(o, "started_secs_ago", j->started_seconds_ago);
    put_seconds(o, "finished_secs_ago", j->finished_seconds_ago);
    put_number(o, "total_partitions", j->n_partitions);
    put_number(o, "partitions_done", j->partitions_done);
    put_letters(o, j);
    put_number(o, "waiters", j->waiters);
    put_number(o, "payload_bytes", j->payload_bytes);
    if (ended(j)) put_times(o, &j->times);
    if (j->error) put_error(o, j->error);
    json_end_object(o);
}

static int rank(const job_view *j) {
    if (ended(j)) return 2;
    return j->state == CUZK_JOB_QUEUED;
}

/* Running, queued, ended; a queue of ten thousand does not make a document of megabytes. */
static void put_jobs(json_out *o, const engine_view *v, bool live) {
    size_t unfinished = 0, limit = live ? LISTED_LIVE : LISTED, unlisted = 0;
    begin_member(o, "jobs", true);
    for (int r = 0; r < 3; r++) {
        for (size_t i = 0; i < v->n_jobs; i++) {
            if (rank(&v->jobs[i]) != r) continue;
            if (r < 2 && unfinished++ >= limit) {
                unlisted++;
                continue;
            }
            put_job(o, &v->jobs[i]);
        }
    }
    json_end_array(o);
    put_number(o, "jobs_unlisted", unlisted);
}

static void put_pipeline(json_out *o, const job_view *j) {
    json_begin_object(o);
    put_text(o, "job_id", j->job_id);
    put_text(o, "proof_kind", document_kind(j->kind));
    put_seconds(o, "started_secs_ago", j->started_seconds_ago);
    put_number(o, "total_partitions", j->n_partitions);
    put_number(o, "partitions_done", j->partitions_done);
    begin_member(o, "partitions", true);
    for (unsigned i = 0; i < j->n_partitions; i++) {
        const partition_view *p = &j->partitions[i];
        json_begin_object(o);
        put_number(o, "index", i);
        put_text(o, "state", partition_state_name(p->state));
        put_millis(o, "synth_ms", p->synth_seconds);
        put_millis(o, "gpu_ms", p->gpu_seconds);
        put_number(o, "attempts", p->attempts);
        put_text(o, "device", p->device);
        json_end_object(o);
    }
    json_end_array(o);
    json_end_object(o);
}

static void put_pipelines(json_out *o, const engine_view *v) {
    begin_member(o, "pipelines", true);
    for (size_t i = 0; i < v->n_jobs; i++) {
        const job_view *j = &v->jobs[i];
        if (!j->partitions || j->started_seconds_ago < 0) continue;
        if (ended(j) && j->finished_seconds_ago > PIPELINE_SECONDS) continue;
        put_pipeline(o, j);
    }
    json_end_array(o);
}

/* ---- workers and devices ---- */

static void put_synthesis(json_out *o, const engine_view *v) {
    begin_member(o, "synthesis", false);
    put_number(o, "max_concurrent", v->synthesis_workers);
    put_number(o, "active", v->synthesis_active);
    json_end_object(o);
}

/* Workers of devices only, as the older daemon had them. */
static void put_gpu_workers(json_out *o, const engine_view *v) {
    uint64_t id = 0;
    begin_member(o, "gpu_workers", true);
    for (size_t i = 0; i < v->n_workers; i++) {
        const worker_view *w = &v->workers[i];
        if (w->device >= v->n_devices) continue;
        json_begin_object(o);
        put_number(o, "worker_id", id++);
        put_number(o, "gpu_ordinal", v->devices[w->device].ordinal);
        put_text(o, "state", w->busy ? "proving" : "idle");
        json_put_key(o, "current_job");
        if (w->busy) {
            json_put_string(o, w->job_id);
        } else {
            json_put_null(o);
        }
        json_put_key(o, "current_partition");
        if (w->busy) {
            json_put_u64(o, w->partition);
        } else {
            json_put_null(o);
        }
        put_seconds(o, "busy_secs", w->busy ? w->busy_seconds : -1);
        json_end_object(o);
    }
    json_end_array(o);
}

static void put_workers(json_out *o, const engine_view *v) {
    begin_member(o, "workers", true);
    for (size_t i = 0; i < v->n_workers; i++) {
        const worker_view *w = &v->workers[i];
        json_begin_object(o);
        put_text(o, "lane", w->lane);
        put_bool(o, "busy", w->busy);
        if (w->busy) {
            put_number(o, "seq", w->job_seq);
            put_text(o, "job_id", w->job_id);
            put_text(o, "kind", w->kind);
            put_number(o, "partition", w->partition);
            put_seconds(o, "busy_secs", w->busy_seconds);
        }
        json_end_object(o);
    }
    json_end_array(o);
}

static void put_devices(json_out *o, const engine_view *v) {
    begin_member(o, "devices", true);
    for (size_t i = 0; i < v->n_devices; i++) {
        const device_view *d = &v->devices[i];
        json_begin_object(o);
        put_text(o, "id", d->id);
        put_text(o, "name", d->name);
        put_bool(o, "is_cpu", d->is_cpu);
        put_bool(o, "quarantined", d->quarantined);
        if (d->quarantined) put_text(o, "why", d->why);
        put_number(o, "memory_bytes", d->memory_bytes);
        put_number(o, "free_bytes", d->free_bytes);
        begin_member(o, "budget", false);
        put_budget(o, &d->budget);
        json_end_object(o);
        put_number(o, "proofs", d->proofs);
        put_number(o, "faults", d->faults);
        put_number(o, "wrong_proofs", d->wrong_proofs);
        put_seconds(o, "busy_secs", d->busy_seconds);
        json_end_object(o);
    }
    json_end_array(o);
}

static void put_queue(json_out *o, const engine_view *v) {
    begin_member(o, "queue", false);
    put_number(o, "partitions_waiting", v->queued_partitions);
    put_number(o, "partitions_limit", v->queue_depth);
    put_number(o, "synthesized_in_flight", v->synthesized_in_flight);
    put_number(o, "peak_synthesized_in_flight", v->peak_synthesized_in_flight);
    put_number(o, "pending_proofs", v->pending_proofs);
    json_end_object(o);
}

/* ---- keys and shapes ---- */

static void put_resources(json_out *o, const engine_view *v) {
    begin_member(o, "resources", true);
    for (size_t i = 0; i < v->n_resources; i++) {
        const resource_view *r = &v->resources[i];
        json_begin_object(o);
        put_text(o, "circuit", r->circuit);
        put_text(o, "tier", resource_tier_name(r->tier));
        put_number(o, "key_bytes", r->key_bytes);
        put_number(o, "shape_bytes", r->shape_bytes);
        put_number(o, "references", r->references);
        put_bool(o, "pinned", r->pinned);
        put_bool(o, "loading", r->loading);
        put_seconds(o, "idle_secs", r->idle_seconds);
        json_end_object(o);
    }
    json_end_array(o);
}

static void put_allocation_list(json_out *o, const engine_view *v, const char *key, bool shapes) {
    begin_member(o, key, true);
    for (size_t i = 0; i < v->n_resources; i++) {
        const resource_view *r = &v->resources[i];
        if (r->tier == RESOURCE_DISK) continue;
        char name[sizeof r->circuit];
        older_circuit(name, sizeof name, r->circuit);
        json_begin_object(o);
        put_text(o, "circuit_id", name);
        put_number(o, "bytes", shapes ? r->shape_bytes : r->key_bytes);
        put_seconds(o, "last_used_secs_ago", r->idle_seconds);
        put_bool(o, "evictable", !r->references && !r->pinned && !r->loading);
        json_end_object(o);
    }
    json_end_array(o);
}

/* ---- counters ---- */

static void put_kind_counts(json_out *o, const engine_view *v, const char *key, size_t offset) {
    begin_member(o, key, false);
    for (size_t i = 0; i < v->n_kinds; i++) {
        uint64_t n;
        memcpy(&n, (const char *)&v->kinds[i] + offset, sizeof n);
        put_number(o, document_kind(v->kinds[i].kind), n);
    }
    json_end_object(o);
}

static void put_counters(json_out *o, const engine_view *v) {
    uint64_t completed = 0, failed = 0, cancelled = 0, pending = 0, running = 0;
    for (size_t i = 0; i < v->n_kinds; i++) {
        const kind_counters *k = &v->kinds[i];
        completed += k->completed, failed += k->failed, cancelled += k->cancelled;
        pending += k->pending, running += k->running;
    }
    begin_member(o, "counters", false);
    put_number(o, "total_completed", completed);
    put_number(o, "total_failed", failed);
    put_number(o, "total_cancelled", cancelled);
    put_kind_counts(o, v, "completed_by_kind", offsetof(kind_counters, completed));
    put_kind_counts(o, v, "failed_by_kind", offsetof(kind_counters, failed));
    put_number(o, "queue_depth", pending);
    put_number(o, "running", running);
    put_number(o, "retries", v->retries);
    put_number(o, "cpu_fallbacks", v->cpu_fallbacks);
    put_number(o, "verify_failures", v->verify_failures);
    put_number(o, "superseded", v->superseded);
    put_number(o, "joined", v->joined);
    put_number(o, "hung", v->hung);
    json_end_object(o);
}

/* The older daemon's five counters of what is in flight; here none of them only grows. */
static void put_in_flight(json_out *o, const engine_view *v) {
    begin_member(o, "buffers", false);
    put_number(o, "synth_in_flight", v->synthesis_active);
    put_number(o, "provers_in_flight", v->synthesized_in_flight);
    put_number(o, "aux_in_flight", v->classes[BUFFER_WITNESS].live_count);
    put_number(o, "shells_in_flight", v->pending_proofs);
    put_number(o, "pending_handles", v->pending_proofs);
    json_end_object(o);
}

/* ---- the document ---- */

void status_put(json_out *o, const engine_view *v, bool live) {
    json_begin_object(o);
    put_text(o, "version", cuzk_version());
    put_seconds(o, "uptime_secs", v->uptime_seconds);
    put_bool(o, "draining", v->draining);
    put_text(o, "trouble", v->trouble);
    put_memory(o, v);
    put_synthesis(o, v);
    put_queue(o, v);
    put_counters(o, v);
    put_devices(o, v);
    put_workers(o, v);
    put_resources(o, v);
    put_jobs(o, v, live);
    if (!live) {
        put_pipelines(o, v);
        put_gpu_workers(o, v);
        begin_member(o, "allocations", false);
        put_allocation_list(o, v, "srs", false);
        put_allocation_list(o, v, "pce", true);
        json_end_object(o);
        put_in_flight(o, v);
    }
    json_end_object(o);
}
