/* The spans of a run's waterfall, from the trace that the engine or the daemon gives out (engine/trace_chrome.c).
 *
 * A slice is an entry of phase "X" on a thread; the threads' names come at the end. Times are microseconds since the
 * trace's first event; the document names the moment at which it was made, which is known by our own clock too. What
 * ended before the run began is left out. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"

enum { ENTRY_DEPTH = 3, ARGS_DEPTH = 4 }; /* {"traceEvents": [{"args": {…}}]} */

typedef struct entry {
    char phase, name[24], arg_name[24];
    uint64_t thread, job, partition;
    double start, micros;
    bool has_partition, failed;
} entry;

typedef struct reader {
    bench_run *run;
    size_t room;
    unsigned *threads; /* of each slice */
    char (*names)[24]; /* of threads */
    char key[24];
    unsigned depth;
    entry now;
    double made; /* the document's moment in its own time; negative: not told */
} reader;

/* ---- one entry ---- */

static void copy(char *out, size_t size, const char *text, size_t len) {
    snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), text);
}

static void take_text(reader *r, const char *text, size_t len) {
    if (r->depth == ENTRY_DEPTH && !strcmp(r->key, "ph")) r->now.phase = len ? *text : 0;
    if (r->depth == ENTRY_DEPTH && !strcmp(r->key, "name")) copy(r->now.name, sizeof r->now.name, text, len);
    if (r->depth == ARGS_DEPTH && !strcmp(r->key, "name")) copy(r->now.arg_name, sizeof r->now.arg_name, text, len);
}

static void take_number(reader *r, const char *text, size_t len) {
    char digits[40];
    copy(digits, sizeof digits, text, len);
    if (r->depth == ENTRY_DEPTH) {
        if (!strcmp(r->key, "tid")) r->now.thread = strtoull(digits, NULL, 10);
        if (!strcmp(r->key, "ts")) r->now.start = strtod(digits, NULL);
        if (!strcmp(r->key, "dur")) r->now.micros = strtod(digits, NULL);
    } else if (r->depth == ARGS_DEPTH) {
        if (!strcmp(r->key, "job")) r->now.job = strtoull(digits, NULL, 10);
        if (!strcmp(r->key, "partition")) {
            r->now.partition = strtoull(digits, NULL, 10);
            r->now.has_partition = true;
        }
    } else if (!strcmp(r->key, "made_us")) {
        r->made = strtod(digits, NULL);
    }
}

static cuzk_status take_slice(reader *r, cuzk_error *err) {
    bench_run *run = r->run;
    if (run->n_slices == r->room) {
        size_t room = r->room ? 2 * r->room : 1024;
        bench_slice *slices = realloc(run->slices, room * sizeof *slices);
        if (slices) run->slices = slices;
        unsigned *threads = realloc(r->threads, room * sizeof *threads);
        if (threads) r->threads = threads;
        if (!slices || !threads) return cuzk_fail(err, CUZK_MEMORY, "no memory for the plot's spans");
        r->room = room;
    }
    r->threads[run->n_slices] = (unsigned)r->now.thread;
    bench_slice *s = &run->slices[run->n_slices++];
    *s = (bench_slice){.start = r->now.start,
                       .end = r->now.start + r->now.micros,
                       .job = r->now.job,
                       .partition = r->now.has_partition ? (uint32_t)r->now.partition : TRACE_NO_PARTITION,
                       .failed = r->now.failed};
    copy(s->stage, sizeof s->stage, r->now.name, strlen(r->now.name));
    return CUZK_OK;
}

static cuzk_status take_entry(reader *r, cuzk_error *err) {
    if (r->now.thread > TRACE_MAX_LANES) return CUZK_OK;
    if (r->now.phase == 'X') return take_slice(r, err);
    if (r->now.phase == 'M' && !strcmp(r->now.name, "thread_name"))
        copy(r->names[r->now.thread], sizeof *r->names, r->now.arg_name, strlen(r->now.arg_name));
    return CUZK_OK;
}

/* ---- the document ---- */

static cuzk_status on_value(void *user, json_parser *p, json_kind kind, const char *text, size_t len, cuzk_error *err) {
    reader *r = user;
    (void)p, (void)err;
    if (kind == JSON_STRING) take_text(r, text, len);
    if (kind == JSON_NUMBER) take_number(r, text, len);
    if (kind == JSON_TRUE && r->depth == ARGS_DEPTH && !strcmp(r->key, "failed")) r->now.failed = true;
    return CUZK_OK;
}

static cuzk_status on_begin(void *user, json_parser *p, json_kind kind, cuzk_error *err) {
    reader *r = user;
    (void)p, (void)kind, (void)err;
    if (++r->depth == ENTRY_DEPTH) memset(&r->now, 0, sizeof r->now);
    return CUZK_OK;
}

static cuzk_status on_key(void *user, json_parser *p, const char *text, size_t len, cuzk_error *err) {
    reader *r = user;
    (void)p, (void)err;
    copy(r->key, sizeof r->key, text, len);
    return CUZK_OK;
}

static cuzk_status on_end(void *user, json_parser *p, json_kind kind, cuzk_error *err) {
    reader *r = user;
    (void)p, (void)kind;
    return r->depth-- == ENTRY_DEPTH ? take_entry(r, err) : CUZK_OK;
}

/* In the run's time, those of it, with their lanes' names. */
static void place(reader *r, double asked) {
    bench_run *run = r->run;
    size_t kept = 0;
    for (size_t i = 0; i < run->n_slices; i++) {
        bench_slice s = run->slices[i];
        s.start = asked + (s.start - r->made) * 1e-6;
        s.end = asked + (s.end - r->made) * 1e-6;
        copy(s.lane, sizeof s.lane, r->names[r->threads[i]], strlen(r->names[r->threads[i]]));
        if (s.end > 0) run->slices[kept++] = s;
    }
    run->n_slices = kept;
}

cuzk_status bench_slices_read(bench_run *run, const char *text, double asked, cuzk_error *err) {
    static const json_handler handler = {on_value, on_begin, on_key, on_end};
    reader r = {.run = run, .made = -1, .names = calloc(TRACE_MAX_LANES + 1, sizeof *r.names)};
    cuzk_status s = r.names ? json_parse("the trace", text, strlen(text), &handler, &r, err)
                            : cuzk_fail(err, CUZK_MEMORY, "no memory for the plot's spans");
    if (!s && r.made < 0) s = cuzk_fail(err, CUZK_FOREIGN, "the trace does not tell when it was made");
    if (s)
        run->n_slices = 0;
    else
        place(&r, asked);
    free(r.names);
    free(r.threads);
    return s;
}
