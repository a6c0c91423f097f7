/* See engine/trace_slices.h. A lane runs one stage at a time, so a stage lasts from the event that begins it to the one
 * that ends it on that lane. A stage that failed has no end of its own: the fault, the retry, or the lane's next stage
 * ends it. */
#include "engine/trace_slices.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *begins, *ends;
} stages[TRACE_KINDS] = {
    [TRACE_SYNTH_START] = {"synthesis", NULL}, [TRACE_SYNTH_DONE] = {NULL, "synthesis"},
    [TRACE_DEVICE_TAKEN] = {"device", NULL},   [TRACE_PENDING] = {NULL, "device"},
    [TRACE_FINISH_START] = {"finish", NULL},   [TRACE_FINISHED] = {NULL, "finish"},
    [TRACE_VERIFY_START] = {"verify", NULL},   [TRACE_VERIFIED] = {NULL, "verify"},
};

bool trace_slicer_knows(trace_kind kind) {
    return stages[kind].begins || stages[kind].ends;
}

bool trace_slicer_begin(trace_slicer *s, trace_each_slice each, void *user) {
    *s = (trace_slicer){.lanes = calloc(TRACE_MAX_LANES, sizeof *s->lanes), .each = each, .user = user};
    return s->lanes != NULL;
}

void trace_slicer_free(trace_slicer *s) {
    free(s->lanes);
    *s = (trace_slicer){0};
}

static unsigned find_lane(trace_slicer *s, const char *name) {
    for (unsigned i = 0; i < s->n_lanes; i++) {
        if (!strcmp(s->lanes[i].name, name)) return i;
    }
    if (s->n_lanes < TRACE_MAX_LANES) {
        strcpy(s->lanes[s->n_lanes].name, name); /* of the same size */
        return s->n_lanes++;
    }
    return TRACE_MAX_LANES;
}

static void close_lane(trace_slicer *s, trace_lane *l, double end, bool running, bool failed) {
    l->open = false;
    l->now.end = end > l->now.start ? end : l->now.start;
    l->now.running = running;
    l->now.failed = failed;
    s->each(s->user, &l->now);
}

unsigned trace_slicer_event(trace_slicer *s, const trace_event *e) {
    const char *begins = stages[e->kind].begins, *ends = stages[e->kind].ends;
    unsigned i = e->lane[0] ? find_lane(s, e->lane) : TRACE_MAX_LANES;
    if (i == TRACE_MAX_LANES) return i;
    trace_lane *l = &s->lanes[i];
    bool failed = e->kind == TRACE_RETRY || e->kind == TRACE_DEVICE_FAULT;
    if (l->open && (begins || failed || (ends && !strcmp(ends, l->now.stage)))) {
        close_lane(s, l, e->at, false, failed);
    }
    if (begins) {
        l->open = true;
        l->now = (trace_slice){.lane = i, .stage = begins, .start = e->at, .job = e->job, .partition = e->partition};
    }
    return i;
}

void trace_slicer_end(trace_slicer *s, double now) {
    for (unsigned i = 0; i < s->n_lanes; i++) {
        if (s->lanes[i].open) close_lane(s, &s->lanes[i], now, true, false);
    }
}
