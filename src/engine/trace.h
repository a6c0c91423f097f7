/* What happened when: a ring of events, histograms of stage times, and samples of memory. Thread-safe; recording takes
 * one short lock of its own and none of the engine's, so that it may be called with any lock held.
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
    X(FINISH_START, "finish_start")                                                                                    \
    X(FINISHED, "finished")                                                                                            \
    X(DEALLOC_DONE, "dealloc_done")                                                                                    \
    X(VERIFY_START, "verify_start")                                                                                    \
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

const char *trace_kind_name(trace_kind k); /* "synth_start"; static */

/* The stages of a job whose times have histograms. X(NAME, "text") */
#define TRACE_STAGE_LIST(X)                                                                                            \
    X(QUEUE, "queue")                                                                                                  \
    X(KEY_LOAD, "key_load")                                                                                            \
    X(VANILLA_CHECK, "vanilla_check")                                                                                  \
    X(SYNTHESIS, "synthesis")                                                                                          \
    X(DEVICE_WAIT, "device_wait")                                                                                      \
    X(DEVICE, "device")                                                                                                \
    X(FINISH, "finish")                                                                                                \
    X(VERIFY, "verify")                                                                                                \
    X(TOTAL, "total")

typedef enum trace_stage {
#define X(name, text) TRACE_STAGE_##name,
    TRACE_STAGE_LIST(X)
#undef X
        TRACE_STAGES
} trace_stage;
const char *trace_stage_name(trace_stage s); /* static */

#define TRACE_NO_PARTITION 0xffffffffu

typedef struct trace_event {
    double at; /* cpu_monotonic_seconds; no two events have the same */
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
/* How many there are now. */
void trace_room(trace *t, size_t *events, size_t *samples);
/* Chrome trace JSON: a lane per worker, a slice per stage of a partition, counters of memory by class. job 0: all.
 * Returned; free with free(). */
cuzk_status trace_chrome_json(trace *t, uint64_t job, char **out, cuzk_error *err);

/* ---- histograms, for Prometheus ---- */

#define TRACE_BUCKETS 18
#define TRACE_PROOF_KINDS 8

/* Upper bounds in seconds, rising; what is longer counts in the last bucket. */
extern const double trace_bounds[TRACE_BUCKETS - 1];

typedef struct trace_histogram {
    uint64_t count, buckets[TRACE_BUCKETS]; /* not cumulative */
    double sum, last, max;
} trace_histogram;

/* One job's time in a stage; with TOTAL when it completed. kind: "porep", …; the first TRACE_PROOF_KINDS different ones
 * are kept, others and unknown stages are ignored. */
void trace_observe(trace *t, const char *kind, const char *stage, double seconds);
/* The k-th kind seen, or NULL; static for the life of t. */
const char *trace_proof_kind(trace *t, size_t k);
/* All zero for what was never observed. */
trace_histogram trace_histogram_get(trace *t, const char *kind, trace_stage stage);
/* How often an event happened since the start, whatever the ring forgot. */
uint64_t trace_count(trace *t, trace_kind kind);

#endif
