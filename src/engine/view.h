/* A picture of the engine at one moment, for the status document, gRPC and the page. Plain data, owned by the caller.
 */
#ifndef CUZK_ENGINE_VIEW_H
#define CUZK_ENGINE_VIEW_H

#include "base/buffer.h"
#include "cuzk/engine.h"
#include "engine/budget.h"
#include "engine/resources.h"

#define ENGINE_MAX_DEVICES 32
#define ENGINE_KINDS_MAX 8

typedef enum partition_state {
    PARTITION_PENDING,
    PARTITION_SYNTHESIZING,
    PARTITION_QUEUED,    /* synthesized, waits for a device */
    PARTITION_PROVING,   /* prove_start */
    PARTITION_FINISHING, /* prove_finish, assembly */
    PARTITION_DONE,
    PARTITION_FAILED
} partition_state;
/* The old daemon's words: pending, synthesizing, synth_done, gpu, gpu, done, failed. */
const char *partition_state_name(partition_state s);

typedef struct partition_view {
    partition_state state;
    unsigned attempts;
    char device[32];                   /* "" or "cuda:0" */
    double synth_seconds, gpu_seconds; /* so far, when active; negative: not begun */
} partition_view;

typedef struct job_view {
    uint64_t seq;
    char job_id[256], kind[24], circuit[64];
    cuzk_job_state state;
    cuzk_priority priority;
    double age_seconds, started_seconds_ago /* negative: not begun */, finished_seconds_ago /* negative: not ended */;
    unsigned n_partitions, partitions_done;
    partition_view *partitions; /* NULL until known */
    unsigned waiters;
    uint64_t payload_bytes;
    cuzk_error *error; /* NULL: none */
    cuzk_job_times times;
} job_view;

typedef struct device_view {
    char id[32] /* "cuda:0", "cpu" */, name[96];
    unsigned ordinal;
    bool is_cpu, quarantined;
    char why[160]; /* of the quarantine */
    uint64_t memory_bytes, free_bytes;
    budget_stats budget; /* zero for the CPU */
    uint64_t proofs, faults, wrong_proofs;
    double busy_seconds; /* at least one prove_start or finish ran there */
} device_view;

typedef struct worker_view { /* a lane of the waterfall */
    char lane[48];           /* "synthesis 3", "cuda:0 worker 1", "finish 0" */
    unsigned device;         /* index into devices, UINT_MAX for synthesis */
    bool busy;
    uint64_t job_seq;
    char job_id[256], kind[24];
    unsigned partition;
    double busy_seconds; /* with the present partition */
} worker_view;

typedef struct kind_counters {
    char kind[24];
    uint64_t completed, failed, cancelled;
    unsigned pending, running;
} kind_counters;

typedef struct engine_view {
    double uptime_seconds;
    bool draining;
    char trouble[160]; /* a state that needs somebody: "the disk of the store is full"; "" */
    budget_stats host;
    buffer_stats classes[BUFFER_CLASSES], tracked;
    uint64_t rss_bytes, peak_rss_bytes;
    unsigned synthesis_workers, synthesis_active, queue_depth, queued_partitions, synthesized_in_flight,
        peak_synthesized_in_flight, pending_proofs;
    uint64_t request_limit_bytes, request_bytes;
    device_view *devices;
    size_t n_devices;
    worker_view *workers;
    size_t n_workers;
    job_view *jobs; /* queued and running first, then those that ended lately (at most 100) */
    size_t n_jobs;
    resource_view *resources;
    size_t n_resources;
    kind_counters kinds[ENGINE_KINDS_MAX];
    size_t n_kinds;
    uint64_t retries, cpu_fallbacks, verify_failures, superseded, joined, hung;
} engine_view;

/* Fills *out; free with engine_view_free. */
cuzk_status engine_view_get(cuzk_engine *e, engine_view *out, cuzk_error *err);
void engine_view_free(engine_view *v);

#endif
