/* A picture of the engine: see engine/view.h. What has locks of its own is asked before the engine's lock is taken. */
#include "engine/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "engine/engine_internal.h"

const char *partition_state_name(partition_state s) {
    switch (s) {
    case PARTITION_PENDING: return "pending";
    case PARTITION_SYNTHESIZING: return "synthesizing";
    case PARTITION_QUEUED: return "synth_done";
    case PARTITION_PROVING:
    case PARTITION_FINISHING: return "gpu";
    case PARTITION_DONE: return "done";
    default: return "failed";
    }
}

static void fill_partition(partition_view *v, const partition *p, double now) {
    v->state = p->state;
    v->attempts = p->attempts;
    if (p->device) snprintf(v->device, sizeof v->device, "%s", p->device->id);
    v->synth_seconds = v->gpu_seconds = -1;
    if (p->synth_start > 0) v->synth_seconds = p->synth_seconds > 0 ? p->synth_seconds : now - p->synth_start;
    if (p->state < PARTITION_SYNTHESIZING) v->synth_seconds = -1;
    if (p->device_start > 0) v->gpu_seconds = p->device_seconds > 0 ? p->device_seconds : now - p->device_start;
}

static bool fill_job_locked(job_view *v, const engine_job *j, double now) {
    v->seq = j->seq;
    snprintf(v->job_id, sizeof v->job_id, "%s", j->id);
    snprintf(v->kind, sizeof v->kind, "%s", j->kind);
    snprintf(v->circuit, sizeof v->circuit, "%s", j->circuit);
    v->state = j->state;
    v->priority = j->priority;
    v->age_seconds = now - j->submitted_mono;
    v->started_seconds_ago = j->started ? now - j->started_mono : -1;
    v->finished_seconds_ago = jobs_ended(j) ? now - j->finished_mono : -1;
    v->n_partitions = j->n_partitions;
    v->partitions_done = j->state == CUZK_JOB_COMPLETED ? j->n_partitions : j->n_done;
    v->waiters = j->waiters;
    v->payload_bytes = j->payload_bytes;
    v->times = j->times;
    if (j->error && (v->error = malloc(sizeof *v->error))) *v->error = *j->error;
    if (j->error && !v->error) return false;
    if (!j->partitions || !j->n_partitions) return true;
    v->partitions = calloc(j->n_partitions, sizeof *v->partitions);
    for (unsigned k = 0; v->partitions && k < j->n_partitions; k++)
        fill_partition(&v->partitions[k], &j->partitions[k], now);
    return v->partitions != NULL;
}

/* Room for this many live jobs: made without the lock, since thousands may be queued. */
static bool make_room(engine_view *v, size_t live) {
    size_t bytes = (live + KEPT_ENDED_JOBS) * sizeof *v->jobs;
    free(v->jobs);
    v->jobs = malloc(bytes);
    if (v->jobs) memset(v->jobs, 0, bytes); /* its pages are there, too */
    return v->jobs != NULL;
}

static bool fill_jobs_locked(const cuzk_engine *e, engine_view *v, double now) {
    bool ok = true;
    for (const engine_job *j = e->live_first; j && ok; j = j->live_after)
        ok = fill_job_locked(&v->jobs[v->n_jobs++], j, now);
    unsigned ended = 0;
    for (const engine_job *j = e->newest; j && ok && ended < KEPT_ENDED_JOBS; j = j->older) {
        if (!jobs_ended(j)) continue;
        ok = fill_job_locked(&v->jobs[v->n_jobs++], j, now);
        ended++;
    }
    return ok;
}

static bool fill_devices_locked(const cuzk_engine *e, engine_view *v, double now) {
    v->devices = calloc(e->n_devices ? e->n_devices : 1, sizeof *v->devices);
    if (!v->devices) return false;
    v->n_devices = e->n_devices;
    for (size_t i = 0; i < e->n_devices; i++) {
        const engine_dev *d = &e->devices[i];
        device_view *o = &v->devices[i];
        snprintf(o->id, sizeof o->id, "%s", d->id);
        snprintf(o->name, sizeof o->name, "%s", d->name);
        snprintf(o->why, sizeof o->why, "%s", d->why);
        o->ordinal = d->number;
        o->is_cpu = d->is_cpu;
        o->quarantined = d->quarantined;
        o->memory_bytes = d->memory_bytes;
        o->free_bytes = d->free_bytes;
        if (d->memory) o->budget = budget_get(d->memory);
        o->proofs = d->proofs;
        o->faults = d->faults;
        o->wrong_proofs = d->wrong_proofs;
        o->busy_seconds = d->busy_seconds + (d->busy ? now - d->busy_since : 0);
    }
    return true;
}

static bool fill_workers_locked(const cuzk_engine *e, engine_view *v, double now) {
    size_t n = 0;
    for (const lane *l = e->lanes; l; l = l->next) n++;
    v->workers = calloc(n ? n : 1, sizeof *v->workers);
    if (!v->workers) return false;
    for (const lane *l = e->lanes; l; l = l->next) {
        worker_view *w = &v->workers[v->n_workers++];
        snprintf(w->lane, sizeof w->lane, "%s", l->name);
        w->device = l->device ? l->device->index : UINT_MAX;
        w->busy = l->busy;
        if (!l->busy) continue;
        w->job_seq = l->job_seq;
        snprintf(w->job_id, sizeof w->job_id, "%s", l->job_id);
        snprintf(w->kind, sizeof w->kind, "%s", l->job_kind);
        w->partition = l->partition;
        w->busy_seconds = now - l->since;
        if (l->kind == LANE_SYNTHESIS) v->synthesis_active++;
    }
    return true;
}

static void fill_numbers_locked(const cuzk_engine *e, engine_view *v, double now) {
    v->uptime_seconds = now - e->started;
    v->draining = e->draining;
    snprintf(v->trouble, sizeof v->trouble, "%s", e->trouble);
    v->synthesis_workers = e->o.synthesis_workers;
    v->queue_depth = e->o.queue_depth;
    v->queued_partitions = e->queued[CLASS_DEVICE] + e->queued[CLASS_CPU];
    v->synthesized_in_flight = e->in_flight;
    v->peak_synthesized_in_flight = e->peak_in_flight;
    v->pending_proofs = e->n_pending;
    v->request_limit_bytes = e->o.request_bytes;
    v->request_bytes = e->request_bytes + e->memory_payloads;
    memcpy(v->kinds, e->counters, sizeof v->kinds);
    v->n_kinds = e->n_counters;
    v->retries = e->retries;
    v->cpu_fallbacks = e->cpu_fallbacks;
    v->verify_failures = e->verify_failures;
    v->superseded = e->superseded;
    v->joined = e->joined;
    v->hung = e->hung;
}

static void fill_memory(cuzk_engine *e, engine_view *v) {
    v->host = budget_get(e->host);
    for (unsigned i = 0; i < BUFFER_CLASSES; i++) v->classes[i] = buffer_class_stats((buffer_class)i);
    v->tracked = buffer_total_stats();
    v->rss_bytes = cpu_rss_bytes();
    v->peak_rss_bytes = cpu_peak_rss_bytes();
}

static bool fill_resources(cuzk_engine *e, engine_view *v) {
    size_t room = resources_view(e->keys, NULL, 0) + 4; /* some may come meanwhile */
    v->resources = calloc(room, sizeof *v->resources);
    if (!v->resources) return false;
    size_t n = resources_view(e->keys, v->resources, room);
    v->n_resources = n < room ? n : room;
    return true;
}

cuzk_status engine_view_get(cuzk_engine *e, engine_view *out, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    fill_memory(e, out);
    bool ok = fill_resources(e, out);
    size_t room = 0, live;
    pthread_mutex_lock(&e->lock);
    while (ok && ((live = e->n_live) > room || !out->jobs)) {
        room = live + live / 8;
        pthread_mutex_unlock(&e->lock);
        ok = make_room(out, room);
        pthread_mutex_lock(&e->lock);
    }
    double now = cpu_monotonic_seconds();
    if (ok) ok = fill_devices_locked(e, out, now) && fill_workers_locked(e, out, now) && fill_jobs_locked(e, out, now);
    fill_numbers_locked(e, out, now);
    pthread_mutex_unlock(&e->lock);
    if (ok) return CUZK_OK;
    engine_view_free(out);
    return cuzk_fail(err, CUZK_MEMORY, "no memory for the engine's state");
}

void engine_view_free(engine_view *v) {
    for (size_t i = 0; i < v->n_jobs; i++) {
        free(v->jobs[i].partitions);
        free(v->jobs[i].error);
    }
    free(v->jobs);
    free(v->devices);
    free(v->workers);
    free(v->resources);
    memset(v, 0, sizeof *v);
}
