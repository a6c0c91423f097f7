/* What happened when: a ring of events, histograms of stage times, and samples of memory. Thread-safe; recording takes
 * no lock of the engine's.
 */
#ifndef CUZK_ENGINE_TRACE_H
#define CUZK_ENGINE_TRACE_H

#include "base/buffer.h"
#include "cuzk/engine.h"

typedef struct trace trace;

/* X(NAME, "text") */
#define TRACE_EVENT_LIST(X)                                                                                            \
    X(JOB_SUBMITTED, "job_submitted")                                                                                  \
    X(JOB_PARSED, "job_parsed")                                                                                        \
    X(KEY_LOADED, "key_loaded")                                                                                        \
    X(KEY_EVICTED, "key_evicted")                                                                                      \
    X(SYNTH_START, "synth_start")                                                                                      \
    X(SYNTH_DONE, "synth_done")                                                                                        \
    X(DEVICE_QUEUED, "device_queued")                                                                                  \
    X(DEVICE_TAKEN, "device_taken")                                                                                    \
    X(ABC_FREED, "abc_freed")                                                                                          \
    X(PENDING, "pending")                                                                                              \
    X(FINISHED, "finished")                                                                                            \
    X(DEALLOC_DONE, "dealloc_done")                                                                                    \
    X(VERIFIED, "verified")                                                                                            \
    X(RETRY, "retry")                                                                                                  \
    X(DEVICE_FAULT, "device_fault")                                                                                    \
    X(QUARANTINED, "quarantined")                                                                                      \
    X(JOB_ENDED, "job_ended")

typedef enum trace_kind {
#define X(name, text) TRACE_##name,
    TRACE_EVENT_LIST(X)
#undef X
        TRACE_KINDS
} trace_kind;

#define TRACE_NO_PARTITION 0xffffffffu

typedef struct trace_event {
    double at; /* cpu_monotonic_seconds */
    uint64_t job;
    uint32_t partition;
    trace_kind kind;
    char lane[24];      /* "synthesis 0", "cuda:0/1", "finish 0"; "" for the job as a whole */
    uint64_t host_live; /* tracked bytes at that moment */
} trace_event;

typedef struct trace_sample { /* once a second */
    double at;
    uint64_t rss, budget_total, budget_reserved, classes[BUFFER_CLASSES];
} trace_sample;

/* Rings of so many events and samples (older ones go). Returned; free with trace_destroy. */
trace *trace_create(size_t events, size_t samples, cuzk_error *err);
void trace_destroy(trace *t);
void trace_record(trace *t, trace_kind kind, uint64_t job, uint32_t partition, const char *lane);
void trace_sample_add(trace *t, const trace_sample *sample);
/* Copies of the newest ones, oldest first: at most n; returns how many were copied. `after`: only those later than this
 * time. */
size_t trace_events(trace *t, double after, trace_event *out, size_t n);
size_t trace_samples(trace *t, double after, trace_sample *out, size_t n);
/* Chrome trace JSON: a lane per worker, a slice per stage of a partition, counters of memory by class. job 0: all.
 * Returned; free with free(). */
cuzk_status trace_chrome_json(trace *t, uint64_t job, char **out, cuzk_error *err);

/* Prometheus histograms by proof kind. stage: "queue", "synthesis", "device_wait", "device", "finish", "verify",
 * "total". Unknown kinds and stages are ignored. */
void trace_observe(trace *t, const char *kind, const char *stage, double seconds);

#endif
