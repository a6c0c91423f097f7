/* Rings of events and samples, and histograms; see engine/trace.h.
 *
 * One mutex guards all of it and is held for a copy of some sixty bytes. An event's time is taken under the mutex and
 * made later than the one before, so a reader can go on after the last time it saw and misses nothing. The rings are
 * tracked buffers, since they may be megabytes.
 */
#include "engine/trace.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

/* 1 ms for a small circuit's finish, hours for a partition on a CPU. */
const double trace_bounds[TRACE_BUCKETS - 1] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                1,     2.5,    5,     10,   30,    60,   300, 1800};

typedef struct ring {
    buffer memory;
    size_t size; /* of one */
    size_t room, used, next;
} ring;

typedef struct kind_row {
    char kind[24];
    trace_histogram stages[TRACE_STAGES];
} kind_row;

struct trace {
    pthread_mutex_t lock;
    ring events, samples;
    double last_event;
    uint64_t counts[TRACE_KINDS];
    kind_row kinds[TRACE_PROOF_KINDS];
    size_t n_kinds;
};

const char *trace_kind_name(trace_kind k) {
    static const char *const names[TRACE_KINDS] = {
#define X(name, text) [TRACE_##name] = text,
        TRACE_EVENT_LIST(X)
#undef X
    };
    assert(k < TRACE_KINDS);
    return names[k];
}

const char *trace_stage_name(trace_stage s) {
    static const char *const names[TRACE_STAGES] = {
#define X(name, text) [TRACE_STAGE_##name] = text,
        TRACE_STAGE_LIST(X)
#undef X
    };
    assert(s < TRACE_STAGES);
    return names[s];
}

/* ---- rings ---- */

static cuzk_status ring_make(ring *r, size_t room, size_t size, cuzk_error *err) {
    *r = (ring){.size = size, .room = room};
    cuzk_status s = buffer_alloc_array(&r->memory, BUFFER_OTHER, room, size, err);
    /* Its pages are there from the start, so that a process that fills it does not look like one that leaks. */
    if (!s) memset(r->memory.data, 0, r->memory.bytes);
    return s;
}

static void *ring_slot(const ring *r, size_t i) {
    return (char *)r->memory.data + i * r->size;
}

static void ring_put(ring *r, const void *item) {
    memcpy(ring_slot(r, r->next), item, r->size);
    r->next = r->next + 1 == r->room ? 0 : r->next + 1;
    if (r->used < r->room) r->used++;
}

/* The i-th newest, from 0. */
static const void *ring_newest(const ring *r, size_t i) {
    return ring_slot(r, (r->next + r->room - 1 - i) % r->room);
}

/* The newest ones later than `after`, at most n, oldest first. Every item begins with its time. */
static size_t ring_copy(const ring *r, double after, void *out, size_t n) {
    size_t found = 0;
    double at;
    while (found < n && found < r->used) {
        memcpy(&at, ring_newest(r, found), sizeof at);
        if (!(at > after)) break;
        found++;
    }
    for (size_t i = 0; i < found; i++) memcpy((char *)out + i * r->size, ring_newest(r, found - 1 - i), r->size);
    return found;
}

trace *trace_create(size_t events, size_t samples, cuzk_error *err) {
    assert(events && samples);
    trace *t = calloc(1, sizeof *t);
    if (!t) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for the event trace");
        return NULL;
    }
    if (ring_make(&t->events, events, sizeof(trace_event), err) ||
        ring_make(&t->samples, samples, sizeof(trace_sample), err)) {
        buffer_free(&t->events.memory);
        free(t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void trace_destroy(trace *t) {
    if (!t) return;
    pthread_mutex_destroy(&t->lock);
    buffer_free(&t->events.memory);
    buffer_free(&t->samples.memory);
    free(t);
}

void trace_record(trace *t, trace_kind kind, uint64_t job, uint32_t partition, const char *lane) {
    assert(kind < TRACE_KINDS);
    trace_event e = {.job = job, .partition = partition, .kind = kind};
    size_t n = strlen(lane);
    if (n >= sizeof e.lane) n = sizeof e.lane - 1;
    memcpy(e.lane, lane, n);
    e.host_live = buffer_total_stats().live_bytes;
    pthread_mutex_lock(&t->lock);
    e.at = cpu_monotonic_seconds();
    if (!(e.at > t->last_event)) e.at = nextafter(t->last_event, INFINITY);
    t->last_event = e.at;
    ring_put(&t->events, &e);
    t->counts[kind]++;
    pthread_mutex_unlock(&t->lock);
}

void trace_sample_add(trace *t, const trace_sample *sample) {
    pthread_mutex_lock(&t->lock);
    ring_put(&t->samples, sample);
    pthread_mutex_unlock(&t->lock);
}

size_t trace_events(trace *t, double after, trace_event *out, size_t n) {
    pthread_mutex_lock(&t->lock);
    n = ring_copy(&t->events, after, out, n);
    pthread_mutex_unlock(&t->lock);
    return n;
}

size_t trace_samples(trace *t, double after, trace_sample *out, size_t n) {
    pthread_mutex_lock(&t->lock);
    n = ring_copy(&t->samples, after, out, n);
    pthread_mutex_unlock(&t->lock);
    return n;
}

void trace_room(trace *t, size_t *events, size_t *samples) {
    pthread_mutex_lock(&t->lock);
    *events = t->events.used;
    *samples = t->samples.used;
    pthread_mutex_unlock(&t->lock);
}

uint64_t trace_count(trace *t, trace_kind kind) {
    assert(kind < TRACE_KINDS);
    pthread_mutex_lock(&t->lock);
    uint64_t n = t->counts[kind];
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* ---- histograms ---- */

static kind_row *find_kind_locked(trace *t, const char *kind) {
    for (size_t k = 0; k < t->n_kinds; k++) {
        if (!strcmp(t->kinds[k].kind, kind)) return &t->kinds[k];
    }
    return NULL;
}

static kind_row *make_kind_locked(trace *t, const char *kind) {
    size_t n = strlen(kind);
    if (t->n_kinds == TRACE_PROOF_KINDS || !n || n >= sizeof t->kinds[0].kind) return NULL;
    kind_row *row = &t->kinds[t->n_kinds++];
    memcpy(row->kind, kind, n + 1);
    return row;
}

static trace_stage find_stage(const char *stage) {
    trace_stage s = 0;
    while (s < TRACE_STAGES && strcmp(trace_stage_name(s), stage) != 0) s++;
    return s;
}

void trace_observe(trace *t, const char *kind, const char *stage, double seconds) {
    trace_stage s = find_stage(stage);
    if (s == TRACE_STAGES || !(seconds >= 0) || !isfinite(seconds)) return;
    size_t bucket = 0;
    while (bucket < TRACE_BUCKETS - 1 && seconds > trace_bounds[bucket]) bucket++;
    pthread_mutex_lock(&t->lock);
    kind_row *row = find_kind_locked(t, kind);
    if (!row) row = make_kind_locked(t, kind);
    if (row) {
        trace_histogram *h = &row->stages[s];
        h->count++;
        h->buckets[bucket]++;
        h->sum += seconds;
        h->last = seconds;
        if (seconds > h->max) h->max = seconds;
    }
    pthread_mutex_unlock(&t->lock);
}

const char *trace_proof_kind(trace *t, size_t k) {
    pthread_mutex_lock(&t->lock);
    const char *kind = k < t->n_kinds ? t->kinds[k].kind : NULL;
    pthread_mutex_unlock(&t->lock);
    return kind;
}

trace_histogram trace_histogram_get(trace *t, const char *kind, trace_stage stage) {
    assert(stage < TRACE_STAGES);
    trace_histogram h = {0};
    pthread_mutex_lock(&t->lock);
    const kind_row *row = find_kind_locked(t, kind);
    if (row) h = row->stages[stage];
    pthread_mutex_unlock(&t->lock);
    return h;
}
