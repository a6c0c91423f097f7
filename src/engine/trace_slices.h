/* Stages of partitions as spans on lanes, from the trace's events: for Chrome traces and plots. One thread at a time.
 */
#ifndef CUZK_ENGINE_TRACE_SLICES_H
#define CUZK_ENGINE_TRACE_SLICES_H

#include "engine/trace.h"

#define TRACE_MAX_LANES 512u

typedef struct trace_slice {
    unsigned lane;     /* index into the slicer's lanes */
    const char *stage; /* "synthesis", "device", "finish", "verify"; static */
    double start, end;
    uint64_t job;
    uint32_t partition;
    bool running, failed; /* running: it had not ended */
} trace_slice;

typedef void (*trace_each_slice)(void *user, const trace_slice *slice);

typedef struct trace_lane {
    char name[24];
    bool open;
    trace_slice now; /* when open */
} trace_lane;

typedef struct trace_slicer {
    trace_lane *lanes;
    unsigned n_lanes;
    trace_each_slice each;
    void *user;
} trace_slicer;

/* False when there is no memory. End with trace_slicer_end. */
bool trace_slicer_begin(trace_slicer *s, trace_each_slice each, void *user);
/* The next event; calls each for the stage that it ends. What began before the first event is left out. Returns the
 * event's lane, TRACE_MAX_LANES when it has none (or there are too many). */
unsigned trace_slicer_event(trace_slicer *s, const trace_event *e);
/* Calls each for what still runs, ending now. The lanes stay readable until trace_slicer_free. */
void trace_slicer_end(trace_slicer *s, double now);
void trace_slicer_free(trace_slicer *s);
/* Whether the event begins or ends a stage. */
bool trace_slicer_knows(trace_kind kind);

#endif
