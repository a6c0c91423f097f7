/* Status and lists of jobs, packed for answers. */
#include "rpc/documents.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "cuzk/v1/proving.pb-c.h"
#include "engine/documents.h"
#include "engine/engine.h"
#include "rpc/submission.h"

static char *text_of(const char *s) {
    return (char *)(uintptr_t)s;
}

/* ---- GetStatus ---- */

typedef struct status_rooms { /* what the message points to */
    Cuzk__V1__GPUStatus *gpus, **gpu_list;
    Cuzk__V1__SRSStatus *srs, **srs_list;
    Cuzk__V1__QueueStatus *queues, **queue_list;
} status_rooms;

static const worker_view *busy_worker(const engine_view *v, size_t device) {
    for (size_t i = 0; i < v->n_workers; i++)
        if (v->workers[i].busy && v->workers[i].device == device) return &v->workers[i];
    return NULL;
}

/* One entry a device; the CPU is none. */
static size_t fill_gpus(status_rooms *r, const engine_view *v) {
    size_t n = 0;
    for (size_t i = 0; i < v->n_devices; i++) {
        const device_view *d = &v->devices[i];
        const worker_view *w = busy_worker(v, i);
        if (d->is_cpu) continue;
        Cuzk__V1__GPUStatus *g = r->gpu_list[n] = &r->gpus[n];
        n++;
        cuzk__v1__gpustatus__init(g);
        g->ordinal = d->ordinal;
        g->name = text_of(d->name);
        g->vram_total_bytes = d->memory_bytes;
        g->vram_free_bytes = d->free_bytes;
        g->current_job_id = text_of(w ? w->job_id : "");
        g->current_proof_kind = text_of(w ? document_kind(w->kind) : "");
        g->quarantined = d->quarantined;
        g->why = text_of(d->why);
    }
    return n;
}

static size_t fill_srs(status_rooms *r, const engine_view *v) {
    size_t n = 0;
    for (size_t i = 0; i < v->n_resources; i++) {
        const resource_view *res = &v->resources[i];
        const char *old = rpc_circuit_old_name(res->circuit);
        Cuzk__V1__SRSStatus *s = r->srs_list[n] = &r->srs[n];
        n++;
        cuzk__v1__srsstatus__init(s);
        s->circuit_id = text_of(old ? old : res->circuit);
        s->circuit = text_of(res->circuit);
        s->tier = res->tier == RESOURCE_RESIDENT ? CUZK__V1__SRSSTATUS__TIER__HOT
                  : res->tier == RESOURCE_MAPPED ? CUZK__V1__SRSSTATUS__TIER__WARM
                                                 : CUZK__V1__SRSSTATUS__TIER__COLD;
        s->size_bytes = res->key_bytes + res->shape_bytes;
        s->ref_count = res->references;
    }
    return n;
}

static void fill_message(Cuzk__V1__GetStatusResponse *m, status_rooms *r, const engine_view *v) {
    m->n_gpus = fill_gpus(r, v);
    m->gpus = r->gpu_list;
    m->n_loaded_srs = fill_srs(r, v);
    m->loaded_srs = r->srs_list;
    m->queues = r->queue_list;
    for (size_t i = 0; i < v->n_kinds; i++) {
        const kind_counters *k = &v->kinds[i];
        m->total_proofs_completed += k->completed;
        m->total_proofs_failed += k->failed;
        if (!k->pending && !k->running) continue;
        Cuzk__V1__QueueStatus *q = r->queue_list[m->n_queues] = &r->queues[m->n_queues];
        m->n_queues++;
        cuzk__v1__queue_status__init(q);
        q->proof_kind = text_of(document_kind(k->kind));
        q->pending = k->pending;
        q->in_progress = k->running;
    }
    m->uptime_seconds = (uint64_t)v->uptime_seconds;
    m->pinned_memory_bytes = v->classes[BUFFER_PINNED].live_bytes;
    m->pinned_memory_limit_bytes = v->host.total;
    m->draining = v->draining;
    m->trouble = text_of(v->trouble);
    m->memory_budget_bytes = v->host.total;
    m->memory_reserved_bytes = v->host.reserved;
}

static bool make_rooms(status_rooms *r, const engine_view *v) {
    memset(r, 0, sizeof *r);
    r->gpus = calloc(v->n_devices + 1, sizeof *r->gpus);
    r->gpu_list = calloc(v->n_devices + 1, sizeof *r->gpu_list);
    r->srs = calloc(v->n_resources + 1, sizeof *r->srs);
    r->srs_list = calloc(v->n_resources + 1, sizeof *r->srs_list);
    r->queues = calloc(v->n_kinds + 1, sizeof *r->queues);
    r->queue_list = calloc(v->n_kinds + 1, sizeof *r->queue_list);
    return r->gpus && r->gpu_list && r->srs && r->srs_list && r->queues && r->queue_list;
}

static void free_rooms(status_rooms *r) {
    free(r->gpus);
    free(r->gpu_list);
    free(r->srs);
    free(r->srs_list);
    free(r->queues);
    free(r->queue_list);
}

cuzk_status documents_status(cuzk_engine *e, uint8_t **out, size_t *n, cuzk_error *err) {
    engine_view v;
    status_rooms rooms;
    Cuzk__V1__GetStatusResponse m = CUZK__V1__GET_STATUS_RESPONSE__INIT;
    *out = NULL;
    cuzk_status s = engine_view_get(e, &v, err);
    if (s) return s;
    if (make_rooms(&rooms, &v)) {
        fill_message(&m, &rooms, &v);
        *n = cuzk__v1__get_status_response__get_packed_size(&m);
        *out = malloc(*n ? *n : 1);
        if (*out) cuzk__v1__get_status_response__pack(&m, *out);
    }
    if (!*out) s = cuzk_fail(err, CUZK_MEMORY, "no memory for an answer");
    free_rooms(&rooms);
    engine_view_free(&v);
    return s;
}

/* ---- jobs ---- */

static const char *const priorities[] = {"default", "low", "normal", "high", "critical"};

typedef struct job_list {
    json_out *o;
    uint64_t count, skip;
} job_list;

static void count_job(void *user, const store_job *j) {
    (void)j;
    ((job_list *)user)->count++;
}

static void put_text(json_out *o, const char *key, const char *v) {
    json_put_key(o, key);
    json_put_string(o, v);
}

static void put_number(json_out *o, const char *key, double v) {
    json_put_key(o, key);
    json_put_double(o, v);
}

static void put_job(void *user, const store_job *j) {
    job_list *l = user;
    json_out *o = l->o;
    if (l->skip) {
        l->skip--;
        return;
    }
    json_begin_object(o);
    put_text(o, "job_id", j->request_id);
    put_text(o, "kind", j->kind);
    put_text(o, "circuit", j->circuit);
    put_text(o, "state", cuzk_job_state_name(j->state));
    put_text(o, "priority", priorities[j->priority <= CUZK_PRIORITY_CRITICAL ? j->priority : 0]);
    json_put_key(o, "partitions");
    json_put_u64(o, j->partitions);
    json_put_key(o, "payload_bytes");
    json_put_u64(o, j->payload_bytes);
    put_number(o, "submitted", j->submitted);
    put_number(o, "finished", j->finished);
    put_number(o, "queue_seconds", j->times.queue_wait);
    put_number(o, "total_seconds", j->times.total);
    put_text(o, "error", j->error.status ? j->error.what : "");
    json_end_object(o);
}

cuzk_status documents_jobs(cuzk_engine *e, uint32_t limit, char **json, cuzk_error *err) {
    job_list l = {.o = json_out_create()};
    *json = NULL;
    if (!l.o) return cuzk_fail(err, CUZK_MEMORY, "no memory for an answer");
    cuzk_status s = limit ? engine_jobs(e, count_job, &l, err) : CUZK_OK;
    l.skip = l.count > limit ? l.count - limit : 0;
    json_begin_object(l.o);
    json_put_key(l.o, "jobs");
    json_begin_array(l.o);
    if (!s) s = engine_jobs(e, put_job, &l, err);
    json_end_array(l.o);
    json_end_object(l.o);
    size_t n;
    const char *text = json_out_text(l.o, &n);
    if (!s && !(*json = text ? strdup(text) : NULL)) s = cuzk_fail(err, CUZK_MEMORY, "no memory for an answer");
    json_out_destroy(l.o);
    return s;
}

void documents_kind(cuzk_engine *e, uint64_t seq, char *out, size_t n) {
    engine_view v;
    cuzk_error err;
    snprintf(out, n, "%s", "");
    if (engine_view_get(e, &v, &err)) return;
    for (size_t i = 0; i < v.n_jobs; i++)
        if (v.jobs[i].seq == seq) snprintf(out, n, "%s", v.jobs[i].kind);
    engine_view_free(&v);
}
