/* What each method does: reads its message, asks the engine, answers. On a worker's thread, which may block. Failures
 * of a job are in the answer (FAILED, CANCELLED); what is wrong with the call itself is a gRPC status. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/json.h"
#include "base/text.h"
#include "cuzk/v1/proving.pb-c.h"
#include "engine/view.h"
#include "rpc/details.h"
#include "rpc/documents.h"
#include "rpc/internal.h"
#include "rpc/submission.h"

static char *text_of(const char *s) {
    return (char *)(uintptr_t)(s ? s : "");
}

static void answer(rpc_call *c, const ProtobufCMessage *m) {
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = malloc(n ? n : 1);
    if (bytes) {
        protobuf_c_message_pack(m, bytes);
        call_add_message(c, bytes, n);
    } else {
        cuzk_error err;
        cuzk_fail(&err, CUZK_MEMORY, "no memory for an answer of %zu bytes", n);
        call_fail_status(c, &err);
    }
    free(bytes);
}

/* NULL: the call has failed. */
static ProtobufCMessage *read_message(rpc_call *c, const ProtobufCMessageDescriptor *what) {
    ProtobufCMessage *m =
        protobuf_c_message_unpack(what, NULL, c->length, c->length ? c->message : (const uint8_t *)"");
    if (m) return m;
    cuzk_error err;
    cuzk_fail(&err, CUZK_MALFORMED, "the message is not a %s", what->short_name);
    call_fail_status(c, &err);
    return NULL;
}

static void finish(rpc_call *c, cuzk_status s, const cuzk_error *err, const ProtobufCMessage *reply) {
    if (s)
        call_fail_status(c, err);
    else
        answer(c, reply);
    work_done(c);
}

/* ---- jobs ---- */

/* In the spirit of the older daemon's texts, which clients may look for. */
static const char *failure_prefix(const char *kind, const cuzk_error *e) {
    bool is_porep = !strcmp(kind, "porep");
    switch (e->status) {
    case CUZK_MALFORMED:
    case CUZK_FOREIGN:
    case CUZK_USAGE: return is_porep ? "C1 parse failed: " : !strcmp(kind, "snap") ? "SnapDeals parse failed: " : "";
    case CUZK_UNSATISFIED: return "synthesis failed: ";
    case CUZK_DEVICE: return "GPU prove failed: ";
    case CUZK_INTERNAL: return is_porep ? "PoRep proof self-check failed: " : "";
    default: return "";
    }
}

static uint64_t milliseconds(double seconds) {
    return seconds > 0 ? (uint64_t)llround(seconds * 1000) : 0;
}

static void fill_error(Cuzk__V1__Error *out, const cuzk_error *e) {
    cuzk__v1__error__init(out);
    out->code = (uint32_t)e->status;
    out->name = text_of(cuzk_status_name(e->status));
    out->what = text_of(e->what);
    out->where = text_of(e->where);
    out->expected = text_of(e->expected);
    out->found = text_of(e->found);
    out->hint = text_of(e->hint);
    out->retryable = cuzk_status_retryable(e->status);
}

static void fill_times(Cuzk__V1__Times *out, Cuzk__V1__AwaitProofResponse *r, const cuzk_job_times *t) {
    cuzk__v1__times__init(out);
    out->queue_wait = t->queue_wait;
    out->key_load = t->key_load;
    out->vanilla_check = t->vanilla_check;
    out->synthesis = t->synthesis;
    out->device_wait = t->device_wait;
    out->device = t->device;
    out->finish = t->finish;
    out->verify = t->verify;
    out->total = t->total;
    r->queue_wait_ms = milliseconds(t->queue_wait);
    r->srs_load_ms = milliseconds(t->key_load);
    r->synthesis_ms = milliseconds(t->synthesis);
    r->gpu_compute_ms = milliseconds(t->device + t->finish);
    r->total_ms = milliseconds(t->total);
}

static Cuzk__V1__AwaitProofResponse__Status wire_state(cuzk_job_state s) {
    switch (s) {
    case CUZK_JOB_COMPLETED: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED;
    case CUZK_JOB_FAILED: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED;
    case CUZK_JOB_CANCELLED: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED;
    default: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__UNKNOWN;
    }
}

static void answer_unknown(rpc_call *c) {
    cuzk_error err;
    cuzk_fail(&err, CUZK_REFUSED, "there is no such job");
    cuzk_fail_found(&err, "%.150s", c->job_id);
    cuzk_fail_hint(&err, "finished jobs are forgotten after the daemon's retention time");
    call_fail(c, GRPC_NOT_FOUND, &err);
}

void answer_result(rpc_call *c, const cuzk_job_result *result, bool timed_out) {
    Cuzk__V1__AwaitProofResponse r = CUZK__V1__AWAIT_PROOF_RESPONSE__INIT;
    Cuzk__V1__ProveResponse p = CUZK__V1__PROVE_RESPONSE__INIT;
    Cuzk__V1__Error error;
    Cuzk__V1__Times times;
    cuzk_error failure;
    char line[1200];
    if (result->state == CUZK_JOB_UNKNOWN) {
        answer_unknown(c);
        return;
    }
    r.job_id = c->job_id;
    r.status = timed_out ? CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT : wire_state(result->state);
    if (!timed_out) {
        fill_times(&times, &r, &result->times);
        r.times = &times;
        r.attempts = result->attempts;
        r.proof = (ProtobufCBinaryData){result->proof_bytes, result->proof};
    }
    if (result->state == CUZK_JOB_FAILED || result->state == CUZK_JOB_CANCELLED) {
        if (!c->kind[0]) documents_kind(c->server->engine, c->seq, c->kind, sizeof c->kind);
        failure = result->error;
        details_clean(&failure);
        int n = snprintf(line, sizeof line, "%s", failure_prefix(c->kind, &failure));
        details_line(line + n, sizeof line - (size_t)n, &failure);
        r.error_message = line;
        fill_error(&error, &failure);
        r.error = &error;
    }
    p.result = &r;
    answer(c, c->prove ? &p.base : &r.base);
}

static void handle_prove(rpc_call *c) {
    cuzk_error err;
    rpc_submission in;
    cuzk_job_ticket ticket;
    c->prove = true;
    bool was_read = false;
    cuzk_status s = rpc_submission_read(&in, c->message, c->length, true, &err);
    if (!s) {
        was_read = true;
        memcpy(c->job_id, in.request_id, sizeof c->job_id);
        snprintf(c->kind, sizeof c->kind, "%s", in.job.kind);
        c->cancel_on_disconnect = in.cancel_on_disconnect;
        s = engine_submit_wait(c->server->engine, &in.job, &ticket, &c->seq, &err);
    }
    if (!s) memcpy(c->job_id, ticket.job_id, sizeof c->job_id);
    rpc_submission_free(&in);
    call_release_message(c);
    if (!s) {
        await_add(c);
        return;
    }
    /* The older daemon found faults of a job's input later, and told them in the answer. */
    const cuzk_job_result bad_input = {.state = CUZK_JOB_FAILED, .error = err};
    if (was_read && (s == CUZK_MALFORMED || s == CUZK_FOREIGN || s == CUZK_UNSATISFIED))
        answer_result(c, &bad_input, false);
    else
        call_fail_status(c, &err);
    work_done(c);
}

static void handle_submit(rpc_call *c) {
    cuzk_error err;
    rpc_submission in;
    cuzk_job_ticket ticket;
    Cuzk__V1__SubmitProofResponse r = CUZK__V1__SUBMIT_PROOF_RESPONSE__INIT;
    cuzk_status s = rpc_submission_read(&in, c->message, c->length, false, &err);
    if (!s) s = cuzk_engine_submit(c->server->engine, &in.job, &ticket, &err);
    rpc_submission_free(&in);
    call_release_message(c);
    if (!s) {
        r.job_id = ticket.job_id;
        r.queue_position = ticket.queue_position;
        r.joined = ticket.joined;
    }
    finish(c, s, &err, &r.base);
}

#define MAX_AWAIT_SECONDS (100.0 * 365 * 86400)

static void handle_await(rpc_call *c) {
    ProtobufCMessage *m = read_message(c, &cuzk__v1__await_proof_request__descriptor);
    const Cuzk__V1__AwaitProofRequest *q = (const void *)m;
    if (m) {
        snprintf(c->job_id, sizeof c->job_id, "%s", q->job_id);
        double timeout = (double)q->timeout_ms / 1000;
        if (timeout > MAX_AWAIT_SECONDS) timeout = MAX_AWAIT_SECONDS;
        c->await_deadline = q->timeout_ms ? cpu_monotonic_seconds() + timeout : 0;
        c->seq = strlen(q->job_id) < sizeof c->job_id ? engine_wait_begin(c->server->engine, q->job_id) : 0;
        protobuf_c_message_free_unpacked(m, NULL);
        if (c->seq) {
            await_add(c);
            return;
        }
        answer_unknown(c);
    }
    work_done(c);
}

static void handle_cancel(rpc_call *c) {
    cuzk_error err;
    Cuzk__V1__CancelProofResponse r = CUZK__V1__CANCEL_PROOF_RESPONSE__INIT;
    ProtobufCMessage *m = read_message(c, &cuzk__v1__cancel_proof_request__descriptor);
    if (!m) {
        work_done(c);
        return;
    }
    bool was_there = false;
    cuzk_status s =
        cuzk_engine_cancel(c->server->engine, ((const Cuzk__V1__CancelProofRequest *)m)->job_id, &was_there, &err);
    protobuf_c_message_free_unpacked(m, NULL);
    r.was_running = was_there;
    finish(c, s, &err, &r.base);
}

/* ---- keys ---- */

static void handle_preload(rpc_call *c) {
    cuzk_error err;
    char name[64];
    bool already = false;
    double seconds = 0;
    Cuzk__V1__PreloadSrsResponse r = CUZK__V1__PRELOAD_SRS_RESPONSE__INIT;
    ProtobufCMessage *m = read_message(c, &cuzk__v1__preload_srs_request__descriptor);
    if (!m) {
        work_done(c);
        return;
    }
    rpc_circuit_name(name, ((const Cuzk__V1__PreloadSrsRequest *)m)->circuit_id);
    protobuf_c_message_free_unpacked(m, NULL);
    cuzk_status s = cuzk_engine_preload(c->server->engine, name, &already, &seconds, &err);
    r.already_loaded = already;
    r.load_time_ms = milliseconds(seconds);
    finish(c, s, &err, &r.base);
}

static void handle_evict(rpc_call *c) {
    cuzk_error err;
    char name[64];
    bool was_loaded = false;
    uint64_t freed = 0;
    Cuzk__V1__EvictSrsResponse r = CUZK__V1__EVICT_SRS_RESPONSE__INIT;
    ProtobufCMessage *m = read_message(c, &cuzk__v1__evict_srs_request__descriptor);
    if (!m) {
        work_done(c);
        return;
    }
    rpc_circuit_name(name, ((const Cuzk__V1__EvictSrsRequest *)m)->circuit_id);
    protobuf_c_message_free_unpacked(m, NULL);
    cuzk_status s = cuzk_engine_evict(c->server->engine, name, &was_loaded, &freed, &err);
    r.was_loaded = was_loaded;
    r.freed_bytes = freed;
    finish(c, s, &err, &r.base);
}

/* ---- documents ---- */

static void handle_metrics(rpc_call *c) {
    cuzk_error err;
    char *text = NULL;
    Cuzk__V1__GetMetricsResponse r = CUZK__V1__GET_METRICS_RESPONSE__INIT;
    cuzk_status s = cuzk_engine_metrics_text(c->server->engine, &text, &err);
    r.prometheus_text = text_of(text);
    finish(c, s, &err, &r.base);
    cuzk_text_free(text);
}

static void finish_document(rpc_call *c, cuzk_status s, char *json, const cuzk_error *err) {
    Cuzk__V1__Document r = CUZK__V1__DOCUMENT__INIT;
    r.json = text_of(json);
    finish(c, s, err, &r.base);
}

static void handle_status_document(rpc_call *c) {
    cuzk_error err;
    char *json = NULL;
    cuzk_status s = cuzk_engine_status_json(c->server->engine, &json, &err);
    finish_document(c, s, json, &err);
    cuzk_text_free(json);
}

static void handle_trace(rpc_call *c) {
    cuzk_error err;
    char *json = NULL;
    ProtobufCMessage *m = read_message(c, &cuzk__v1__trace_request__descriptor);
    if (!m) {
        work_done(c);
        return;
    }
    const char *id = ((const Cuzk__V1__TraceRequest *)m)->job_id;
    snprintf(c->job_id, sizeof c->job_id, "%s", id);
    cuzk_status s = cuzk_engine_trace_json(c->server->engine, id[0] ? id : NULL, &json, &err);
    protobuf_c_message_free_unpacked(m, NULL);
    if (s == CUZK_IO) { /* told as an await of it is */
        answer_unknown(c);
        work_done(c);
        return;
    }
    finish_document(c, s, json, &err);
    cuzk_text_free(json);
}

static void handle_jobs(rpc_call *c) {
    cuzk_error err;
    char *json = NULL;
    ProtobufCMessage *m = read_message(c, &cuzk__v1__list_jobs_request__descriptor);
    if (!m) {
        work_done(c);
        return;
    }
    cuzk_status s = documents_jobs(c->server->engine, ((const Cuzk__V1__ListJobsRequest *)m)->limit, &json, &err);
    protobuf_c_message_free_unpacked(m, NULL);
    finish_document(c, s, json, &err);
    free(json);
}

static void handle_status(rpc_call *c) {
    cuzk_error err;
    uint8_t *packed = NULL;
    size_t n = 0;
    cuzk_status s = documents_status(c->server->engine, &packed, &n, &err);
    if (s)
        call_fail_status(c, &err);
    else
        call_add_message(c, packed, n);
    free(packed);
    work_done(c);
}

/* ---- the table ---- */

#define PROVING "/cuzk.v1.ProvingEngine/"
#define INSPECTION "/cuzk.v1.Inspection/"

static const rpc_method methods[] = {
    {.path = PROVING "SubmitProof", .run = handle_submit, .carries_job = true},
    {.path = PROVING "AwaitProof", .run = handle_await},
    {.path = PROVING "Prove", .run = handle_prove, .carries_job = true},
    {.path = PROVING "CancelProof", .run = handle_cancel},
    {.path = PROVING "GetStatus", .run = handle_status},
    {.path = PROVING "GetMetrics", .run = handle_metrics},
    {.path = PROVING "PreloadSRS", .run = handle_preload, .slow = true},
    {.path = PROVING "EvictSRS", .run = handle_evict, .slow = true},
    {.path = INSPECTION "GetStatusDocument", .run = handle_status_document},
    {.path = INSPECTION "ListJobs", .run = handle_jobs},
    {.path = INSPECTION "GetTrace", .run = handle_trace},
    {.path = "/grpc.health.v1.Health/Check", .run = handle_health_check, .in_loop = true, .open = true},
    {.path = "/grpc.health.v1.Health/Watch", .run = handle_health_watch, .in_loop = true, .open = true},
};

const rpc_method *method_find(const char *path) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(methods[i].path, path)) return &methods[i];
    return NULL;
}
