/* The trace as Chrome trace JSON, which Perfetto and chrome://tracing read.
 *
 * Threads are lanes ("synthesis 0", "cuda:0/1", "finish 0"); a lane runs one stage at a time, so a stage is the span
 * from the event that begins it to the one that ends it on that lane. Waiting for a device has no lane: it is an
 * asynchronous span per partition, as is a job from its submission to its end. What began before the ring's first event
 * is left out; what still runs ends now and says so. Counters: tracked bytes at every event, and from the samples RSS,
 * the budget and bytes by class. Times are microseconds since the first event that is there.
 */
#include "engine/trace_slices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/json.h"

typedef struct writer {
    json_out *o;
    double zero, now;
    trace_slicer slicer;
    uint64_t only; /* 0: every job */
} writer;

enum { PROCESS = 1 };

/* ---- pieces of one entry ---- */

static void put_text(json_out *o, const char *key, const char *text) {
    json_put_key(o, key);
    json_put_string(o, text);
}

static void put_number(json_out *o, const char *key, uint64_t v) {
    json_put_key(o, key);
    json_put_u64(o, v);
}

/* Whole nanoseconds, so that the text is short. */
static void put_micros(json_out *o, const char *key, double seconds) {
    json_put_key(o, key);
    json_put_double(o, round(seconds * 1e9) / 1e3);
}

static void begin_entry(const writer *w, const char *phase, const char *name, double at, size_t thread) {
    json_begin_object(w->o);
    put_text(w->o, "ph", phase);
    put_text(w->o, "name", name);
    put_number(w->o, "pid", PROCESS);
    put_number(w->o, "tid", thread);
    put_micros(w->o, "ts", at > w->zero ? at - w->zero : 0);
}

/* flag NULL: none. */
static void put_what(const writer *w, uint64_t job, uint32_t partition, const char *flag) {
    json_put_key(w->o, "args");
    json_begin_object(w->o);
    put_number(w->o, "job", job);
    if (partition != TRACE_NO_PARTITION) put_number(w->o, "partition", partition);
    if (flag) {
        json_put_key(w->o, flag);
        json_put_bool(w->o, true);
    }
    json_end_object(w->o);
}

/* ---- lanes ---- */

static void put_slice(void *user, const trace_slice *slice) {
    const writer *w = user;
    begin_entry(w, "X", slice->stage, slice->start, slice->lane + 1);
    put_micros(w->o, "dur", slice->end - slice->start);
    put_what(w, slice->job, slice->partition, slice->running ? "running" : slice->failed ? "failed" : NULL);
    json_end_object(w->o);
}

static void put_instant(const writer *w, const trace_event *e, unsigned i) {
    begin_entry(w, "i", trace_kind_name(e->kind), e->at, i + 1);
    put_text(w->o, "s", i < TRACE_MAX_LANES ? "t" : "p");
    put_what(w, e->job, e->partition, NULL);
    json_end_object(w->o);
}

/* Spans that have no lane: phase "b" begins, "e" ends. */
static void put_async(const writer *w, const trace_event *e, const char *phase, const char *name) {
    char id[48];
    uint64_t number = e->job << 20 | (e->partition == TRACE_NO_PARTITION ? 0 : e->partition + 1);
    snprintf(id, sizeof id, "0x%llx", (unsigned long long)number);
    begin_entry(w, phase, name, e->at, 0);
    put_text(w->o, "cat", name);
    put_text(w->o, "id", id);
    put_what(w, e->job, e->partition, NULL);
    json_end_object(w->o);
}

static void put_event(writer *w, const trace_event *e) {
    unsigned i = trace_slicer_event(&w->slicer, e);
    switch (e->kind) {
    case TRACE_JOB_SUBMITTED: put_async(w, e, "b", "job"); break;
    case TRACE_JOB_ENDED: put_async(w, e, "e", "job"); break;
    case TRACE_DEVICE_QUEUED: put_async(w, e, "b", "waits for a device"); break;
    case TRACE_DEVICE_TAKEN: put_async(w, e, "e", "waits for a device"); break;
    default:
        if (!trace_slicer_knows(e->kind)) put_instant(w, e, i);
    }
}

/* ---- counters ---- */

static void put_live(const writer *w, const trace_event *e) {
    begin_entry(w, "C", "tracked bytes", e->at, 0);
    json_put_key(w->o, "args");
    json_begin_object(w->o);
    put_number(w->o, "live", e->host_live);
    json_end_object(w->o);
    json_end_object(w->o);
}

static void put_sample(const writer *w, const trace_sample *s) {
    begin_entry(w, "C", "memory", s->at, 0);
    json_put_key(w->o, "args");
    json_begin_object(w->o);
    put_number(w->o, "rss", s->rss);
    put_number(w->o, "reserved", s->budget_reserved);
    put_number(w->o, "budget", s->budget_total);
    json_end_object(w->o);
    json_end_object(w->o);
    begin_entry(w, "C", "bytes by class", s->at, 0);
    json_put_key(w->o, "args");
    json_begin_object(w->o);
    for (int c = 0; c < BUFFER_CLASSES; c++) put_number(w->o, buffer_class_name((buffer_class)c), s->classes[c]);
    json_end_object(w->o);
    json_end_object(w->o);
}

static void put_name(const writer *w, const char *what, const char *name, size_t thread) {
    begin_entry(w, "M", what, w->zero, thread);
    json_put_key(w->o, "args");
    json_begin_object(w->o);
    put_text(w->o, "name", name);
    json_end_object(w->o);
    json_end_object(w->o);
}

/* ---- the document ---- */

static bool wanted(const writer *w, const trace_event *e) {
    return !w->only || e->job == w->only;
}

static void put_all(writer *w, const trace_event *events, size_t n, const trace_sample *samples, size_t n_samples) {
    double last = -1;
    w->zero = w->now;
    bool ended = false;
    for (size_t i = n; i-- > 0;) {
        if (!wanted(w, &events[i])) continue;
        if (last < 0) last = events[i].at, ended = events[i].kind == TRACE_JOB_ENDED;
        w->zero = events[i].at;
    }
    if (!w->only && n_samples && samples[0].at < w->zero) w->zero = samples[0].at;
    for (size_t i = 0; i < n; i++) {
        if (!wanted(w, &events[i])) continue;
        put_event(w, &events[i]);
        put_live(w, &events[i]);
    }
    trace_slicer_end(&w->slicer, w->now);
    /* A job's own trace shows the memory while it was there, with a second on each side. */
    double until = w->only && ended ? last + 1 : INFINITY;
    for (size_t i = 0; i < n_samples; i++) {
        if (w->only && (last < 0 || samples[i].at < w->zero - 1 || samples[i].at > until)) continue;
        put_sample(w, &samples[i]);
    }
    put_name(w, "process_name", "cuzk", 0);
    for (unsigned i = 0; i < w->slicer.n_lanes; i++) put_name(w, "thread_name", w->slicer.lanes[i].name, i + 1);
}

static cuzk_status write_document(writer *w, const trace_event *events, size_t n, const trace_sample *samples,
                                  size_t n_samples, char **out, cuzk_error *err) {
    json_begin_object(w->o);
    put_text(w->o, "displayTimeUnit", "ms");
    json_put_key(w->o, "traceEvents");
    json_begin_array(w->o);
    put_all(w, events, n, samples, n_samples);
    json_end_array(w->o);
    /* For readers that lay the trace beside times of their own. */
    json_put_key(w->o, "otherData");
    json_begin_object(w->o);
    put_micros(w->o, "made_us", w->now - w->zero);
    json_end_object(w->o);
    json_end_object(w->o);
    size_t len;
    const char *text = json_out_text(w->o, &len);
    if (text) *out = strdup(text);
    return *out ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the trace document");
}

cuzk_status trace_chrome_json(trace *t, uint64_t job, char **out, cuzk_error *err) {
    size_t room_events, room_samples;
    buffer events = {0}, samples = {0};
    writer w = {.only = job, .now = cpu_monotonic_seconds()};
    *out = NULL;
    trace_room(t, &room_events, &room_samples);
    cuzk_status s = buffer_alloc_array(&events, BUFFER_OTHER, room_events, sizeof(trace_event), err);
    if (!s) s = buffer_alloc_array(&samples, BUFFER_OTHER, room_samples, sizeof(trace_sample), err);
    if (!s) {
        size_t n = trace_events(t, -1, events.data, room_events);
        size_t n_samples = trace_samples(t, -1, samples.data, room_samples);
        w.o = json_out_create();
        bool sliced = trace_slicer_begin(&w.slicer, put_slice, &w);
        s = w.o && sliced ? write_document(&w, events.data, n, samples.data, n_samples, out, err)
                          : cuzk_fail(err, CUZK_MEMORY, "no memory for the trace document");
    }
    json_out_destroy(w.o);
    trace_slicer_free(&w.slicer);
    buffer_free(&events);
    buffer_free(&samples);
    return s;
}
