/* Server-sent events; see http/events.h.
 *
 * A frame is "event: NAME\ndata: JSON\n\n". JSON: now (the engine's clock, as in the events), status
 * (engine/documents.h, live form), events (lists of time, kind, job, partition, lane, tracked bytes) and samples (lists
 * of time, RSS, budget, reserved, then bytes by class in the order of `classes`). The first frame ("hello") goes back
 * HISTORY_SECONDS; later ones ("tick") hold what came since the frame before. An event may be in both: it is known by
 * its time, which no other event has.
 *
 * A stream that has nothing to send is suspended, and resumed when a frame is there. Resuming what is not suspended is
 * not allowed, so the flag is kept under the hub's lock, as is the call itself.
 */
#include "http/events.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "engine/documents.h"
#include "engine/engine.h"

enum { KEPT_FRAMES = 8, MAX_EVENTS = 6000, MAX_SAMPLES = 600, TICK_EVENTS = 2000 };
#define HISTORY_SECONDS 600
#define SHORTEST_TICK 0.25
#define LONGEST_TICK 0.5

typedef struct frame {
    atomic_uint references;
    size_t len;
    char text[];
} frame;

typedef struct stream {
    event_hub *hub;
    struct MHD_Connection *connection;
    bool used, suspended, greeted;
    uint64_t next; /* the frame to send next */
    frame *now;    /* being sent; a reference */
    size_t sent;
} stream;

struct event_hub {
    cuzk_engine *engine;
    void (*tick)(void *user);
    void *user;
    pthread_t thread;
    atomic_bool stopping;
    pthread_mutex_t lock;
    frame *frames[KEPT_FRAMES]; /* number n is at n % KEPT_FRAMES */
    uint64_t next;              /* the number of the next frame */
    double last_event, last_sample;
    stream streams[EVENT_STREAMS];
};

static void frame_release(frame *f) {
    if (f && atomic_fetch_sub(&f->references, 1) == 1) free(f);
}

/* ---- making a frame ---- */

static void put_event(json_out *o, const trace_event *e) {
    json_begin_array(o);
    json_put_double(o, e->at); /* in full: it is what tells events apart */
    json_put_string(o, trace_kind_name(e->kind));
    json_put_u64(o, e->job);
    if (e->partition == TRACE_NO_PARTITION) {
        json_put_null(o);
    } else {
        json_put_u64(o, e->partition);
    }
    json_put_string(o, e->lane);
    json_put_u64(o, e->host_live);
    json_end_array(o);
}

static void put_sample(json_out *o, const trace_sample *s) {
    json_begin_array(o);
    json_put_double(o, round(s->at * 1e3) / 1e3);
    json_put_u64(o, s->rss);
    json_put_u64(o, s->budget_total);
    json_put_u64(o, s->budget_reserved);
    for (int c = 0; c < BUFFER_CLASSES; c++) json_put_u64(o, s->classes[c]);
    json_end_array(o);
}

typedef struct frame_range {
    const char *name;
    double after_event, after_sample; /* in; moved to the last one that is in the frame */
    size_t max_events, max_samples;
} frame_range;

static void put_events(json_out *o, trace *t, frame_range *r) {
    cuzk_error err;
    buffer b = {0};
    json_put_key(o, "events");
    json_begin_array(o);
    if (!buffer_alloc_array(&b, BUFFER_OTHER, r->max_events, sizeof(trace_event), &err)) {
        const trace_event *e = b.data;
        size_t n = trace_events(t, r->after_event, b.data, r->max_events);
        for (size_t i = 0; i < n; i++) put_event(o, &e[i]);
        if (n) r->after_event = e[n - 1].at;
    }
    json_end_array(o);
    buffer_free(&b);
}

static void put_samples(json_out *o, trace *t, frame_range *r) {
    cuzk_error err;
    buffer b = {0};
    json_put_key(o, "samples");
    json_begin_array(o);
    if (!buffer_alloc_array(&b, BUFFER_OTHER, r->max_samples, sizeof(trace_sample), &err)) {
        const trace_sample *s = b.data;
        size_t n = trace_samples(t, r->after_sample, b.data, r->max_samples);
        for (size_t i = 0; i < n; i++) put_sample(o, &s[i]);
        if (n) r->after_sample = s[n - 1].at;
    }
    json_end_array(o);
    buffer_free(&b);
}

static void put_document(json_out *o, cuzk_engine *engine, const engine_view *v, frame_range *r) {
    json_begin_object(o);
    json_put_key(o, "now");
    json_put_double(o, round(cpu_monotonic_seconds() * 1e3) / 1e3);
    json_put_key(o, "classes");
    json_begin_array(o);
    for (int c = 0; c < BUFFER_CLASSES; c++) json_put_string(o, buffer_class_name((buffer_class)c));
    json_end_array(o);
    put_events(o, engine_trace(engine), r);
    put_samples(o, engine_trace(engine), r);
    json_put_key(o, "status");
    status_put(o, v, true);
    json_end_object(o);
}

static frame *wrap(const char *name, const char *json, size_t len) {
    const char *const parts[] = {"event: ", name, "\ndata: ", json, "\n\n"};
    const size_t lens[] = {7, strlen(name), 7, len, 2};
    frame *f = malloc(sizeof *f + len + strlen(name) + 16);
    if (!f) return NULL;
    atomic_init(&f->references, 1);
    f->len = 0;
    for (int i = 0; i < 5; i++) {
        memcpy(f->text + f->len, parts[i], lens[i]);
        f->len += lens[i];
    }
    return f;
}

/* NULL when there is no memory; the next tick tries again. */
static frame *frame_make(cuzk_engine *engine, frame_range *r) {
    cuzk_error err;
    engine_view v;
    frame *f = NULL;
    size_t len;
    frame_range moved = *r;
    if (engine_view_get(engine, &v, &err)) return NULL;
    json_out *o = json_out_create();
    if (o) put_document(o, engine, &v, &moved);
    const char *text = o ? json_out_text(o, &len) : NULL;
    if (text) f = wrap(r->name, text, len);
    if (f) *r = moved;
    json_out_destroy(o);
    engine_view_free(&v);
    return f;
}

static frame *make_hello(event_hub *h) {
    double since = cpu_monotonic_seconds() - HISTORY_SECONDS;
    frame_range r = {"hello", since, since, MAX_EVENTS, MAX_SAMPLES};
    return frame_make(h->engine, &r);
}

/* ---- the hub's thread ---- */

static void wake_locked(event_hub *h) {
    for (int i = 0; i < EVENT_STREAMS; i++) {
        stream *s = &h->streams[i];
        if (!s->used || !s->suspended) continue;
        s->suspended = false;
        MHD_resume_connection(s->connection);
    }
}

static bool anybody_listens(event_hub *h) {
    bool any = false;
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < EVENT_STREAMS; i++) any = any || h->streams[i].used;
    pthread_mutex_unlock(&h->lock);
    return any;
}

static void publish(event_hub *h) {
    frame_range r = {"tick", h->last_event, h->last_sample, TICK_EVENTS, MAX_SAMPLES};
    frame *f = frame_make(h->engine, &r);
    if (!f) return;
    h->last_event = r.after_event;
    h->last_sample = r.after_sample;
    pthread_mutex_lock(&h->lock);
    frame_release(h->frames[h->next % KEPT_FRAMES]);
    h->frames[h->next % KEPT_FRAMES] = f;
    h->next++;
    wake_locked(h);
    pthread_mutex_unlock(&h->lock);
}

static void *run_hub(void *user) {
    event_hub *h = user;
    uint64_t seen = 0;
    while (!atomic_load(&h->stopping)) {
        double start = cpu_monotonic_seconds();
        seen = engine_generation(h->engine, seen, LONGEST_TICK);
        h->tick(h->user);
        if (anybody_listens(h)) {
            publish(h);
        } else {
            h->last_event = h->last_sample = cpu_monotonic_seconds(); /* the next stream's hello has it all */
        }
        double rest = start + SHORTEST_TICK - cpu_monotonic_seconds();
        if (rest > 0) nanosleep(&(struct timespec){.tv_nsec = (long)(rest * 1e9)}, NULL);
    }
    return NULL;
}

/* ---- streams ---- */

/* The frame that this stream sends next; NULL when there is none: the stream then waits for one, or ends. */
static frame *take_frame(stream *s, bool *waits) {
    event_hub *h = s->hub;
    pthread_mutex_lock(&h->lock);
    if (s->greeted && h->next - s->next > KEPT_FRAMES) s->greeted = false; /* too slow: the recent past again */
    if (!s->greeted) {
        s->greeted = true;
        s->next = h->next;
        pthread_mutex_unlock(&h->lock);
        frame *hello = make_hello(h);
        if (hello) return hello;
        pthread_mutex_lock(&h->lock);
        s->greeted = false;
    }
    frame *f = NULL;
    *waits = false;
    if (s->greeted && s->next < h->next) {
        f = h->frames[s->next++ % KEPT_FRAMES];
        atomic_fetch_add(&f->references, 1);
    } else if (!atomic_load(&h->stopping)) {
        s->suspended = *waits = true;
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&h->lock);
    return f;
}

static ssize_t stream_read(void *user, uint64_t pos, char *out, size_t max) {
    stream *s = user;
    bool waits = false;
    (void)pos;
    if (atomic_load(&s->hub->stopping)) return MHD_CONTENT_READER_END_OF_STREAM;
    if (!s->now) {
        s->now = take_frame(s, &waits);
        s->sent = 0;
    }
    if (!s->now) return waits ? 0 : MHD_CONTENT_READER_END_OF_STREAM;
    size_t n = s->now->len - s->sent;
    if (n > max) n = max;
    memcpy(out, s->now->text + s->sent, n);
    s->sent += n;
    if (s->sent == s->now->len) {
        frame_release(s->now);
        s->now = NULL;
    }
    return (ssize_t)n;
}

static void stream_free(void *user) {
    stream *s = user;
    pthread_mutex_lock(&s->hub->lock);
    frame_release(s->now);
    *s = (stream){.hub = s->hub};
    pthread_mutex_unlock(&s->hub->lock);
}

struct MHD_Response *event_hub_stream(event_hub *h, struct MHD_Connection *connection) {
    stream *s = NULL;
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < EVENT_STREAMS && !atomic_load(&h->stopping); i++) {
        if (h->streams[i].used) continue;
        s = &h->streams[i];
        *s = (stream){.hub = h, .connection = connection, .used = true};
        break;
    }
    pthread_mutex_unlock(&h->lock);
    if (!s) return NULL;
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10, stream_read, s, stream_free);
    if (!r) stream_free(s);
    return r;
}

/* ---- life ---- */

event_hub *event_hub_create(cuzk_engine *engine, void (*tick)(void *user), void *user, cuzk_error *err) {
    event_hub *h = calloc(1, sizeof *h);
    if (!h) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for the event streams");
        return NULL;
    }
    h->engine = engine;
    h->tick = tick;
    h->user = user;
    h->last_event = h->last_sample = cpu_monotonic_seconds();
    atomic_init(&h->stopping, false);
    pthread_mutex_init(&h->lock, NULL);
    for (int i = 0; i < EVENT_STREAMS; i++) h->streams[i].hub = h;
    int rc = pthread_create(&h->thread, NULL, run_hub, h);
    if (!rc) return h;
    cuzk_fail_errno(err, rc, NULL, "no thread for the event streams");
    pthread_mutex_destroy(&h->lock);
    free(h);
    return NULL;
}

void event_hub_stop(event_hub *h) {
    atomic_store(&h->stopping, true);
    pthread_join(h->thread, NULL);
    pthread_mutex_lock(&h->lock);
    wake_locked(h);
    pthread_mutex_unlock(&h->lock);
}

void event_hub_destroy(event_hub *h) {
    if (!h) return;
    for (int i = 0; i < KEPT_FRAMES; i++) frame_release(h->frames[i]);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
