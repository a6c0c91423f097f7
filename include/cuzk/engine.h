/* The engine: a queue of jobs proved on this machine's processors and devices within one byte budget.
 *
 * An engine keeps proving keys and shapes, cuts jobs into partitions, makes their witnesses on CPU threads, proves them
 * on devices, verifies every proof and keeps the result until it is purged. Every partition reserves the bytes of its
 * plan before it starts, so no number of workers or clients can exhaust memory. All functions are thread-safe; texts
 * given are copied before a call returns. Stop the engine after the last call that uses it has returned.
 */
#ifndef CUZK_ENGINE_H
#define CUZK_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cuzk/job.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_engine cuzk_engine;

/* Numbers of the wire contract. DEFAULT: winning-post CRITICAL, window-post HIGH, all others NORMAL. */
typedef enum cuzk_priority {
    CUZK_PRIORITY_DEFAULT,
    CUZK_PRIORITY_LOW,
    CUZK_PRIORITY_NORMAL,
    CUZK_PRIORITY_HIGH,
    CUZK_PRIORITY_CRITICAL
} cuzk_priority;

typedef enum cuzk_device_policy {
    CUZK_DEVICE_DEFAULT, /* of a job: what the engine's options say; of the engine: prefer-gpu */
    CUZK_PREFER_GPU,     /* on a device; on the CPU when there is none that works (logged once, counted) */
    CUZK_REQUIRE_GPU,    /* never on the CPU: without a device, DEVICE */
    CUZK_CPU             /* never on a device */
} cuzk_device_policy;

typedef struct cuzk_engine_options {
    size_t size;           /* sizeof (cuzk_engine_options) */
    unsigned threads;      /* of the pool that computes; 0: as many as the process may use */
    uint64_t memory_bytes; /* host budget; 0: the smaller of the machine's memory and its cgroup's limit, less
                              margin, read again while running */
    uint64_t
        memory_margin_bytes; /* left to the rest of the machine when memory_bytes is 0; 0: 1/16 of it, at most 5 GiB */
    uint64_t device_memory_bytes; /* cap per device; 0: what is free there */
    uint64_t critical_bytes;    /* host share for critical jobs; UINT64_MAX: the largest plan of winning-post among the
                                   enabled circuits */
    uint64_t request_bytes;     /* room for inputs being received, taken out of the budget for good; without a store
                                   on disk inputs that wait are in it, too, in half of it at most; 0: 512 MiB */
    unsigned synthesis_workers; /* pw, at most: permits for witnesses begin at three for each device and double when a
                                   device has to wait for synthesis; 0: half the threads, at least 2 */
    unsigned device_workers;    /* gw for each device; 0: 2 */
    unsigned queue_depth;       /* synthesized partitions that may wait for a device before synthesis pauses, at most;
                                   0: twice the device workers */
    const char *devices;        /* "auto", "cpu", "cuda:0,cuda:2"; NULL: auto */
    cuzk_device_policy policy;
    bool development_keys;       /* take (and make) development keys; otherwise only official ones are accepted */
    const char *params_folder;   /* NULL: cuzk_key_official_folder() */
    const char *const *circuits; /* names ("porep-32gib") that are enabled; n_circuits 0: all */
    size_t n_circuits;
    unsigned attempts;            /* tries of a partition before its job fails; 0: 3 */
    double device_timeout;        /* seconds after which a device that does not answer counts as hung; 0: 600 */
    double starvation_seconds;    /* a job older than this goes before all below HIGH, and has one turn in
                                     eight of HIGH; 0: 1800 */
    double idle_eviction_seconds; /* keys and shapes unused for so long may be evicted under pressure; 0: 300 */
    double retention_seconds;     /* finished jobs are kept so long; 0: 86400 */
} cuzk_engine_options;

/* options NULL: all defaults. Returned; free with cuzk_engine_stop. */
cuzk_status cuzk_engine_start(cuzk_engine **out, const cuzk_engine_options *options, cuzk_error *err);
/* No new job starts; waits at most drain_seconds for running ones, cancels the rest at the next tile, joins all
 * threads and frees the engine. Jobs that are not finished stay in the store (when there is one) and are resumed by the
 * next engine. Accepts NULL. */
void cuzk_engine_stop(cuzk_engine *engine, double drain_seconds);

typedef struct cuzk_submission {
    size_t size;            /* sizeof (cuzk_submission) */
    const char *request_id; /* the client's; NULL or "": one is made (a random UUID) */
    const char *kind;       /* "porep", "snap", "window-post", "winning-post" */
    uint64_t sector_bytes;  /* 0: what the registered proof names */
    cuzk_bytes c1, request; /* as the files of cuzk_job_files */
    const cuzk_bytes *vanilla;
    size_t n_vanilla;
    cuzk_priority priority;
    cuzk_device_policy policy;
    double deadline_seconds; /* from now; 0: none. A job past it is ended at the next tile: CANCELLED, never proved */
} cuzk_submission;

typedef enum cuzk_job_state {
    CUZK_JOB_UNKNOWN,
    CUZK_JOB_QUEUED,
    CUZK_JOB_RUNNING,
    CUZK_JOB_COMPLETED,
    CUZK_JOB_FAILED,
    CUZK_JOB_CANCELLED /* by a client, by its deadline, or superseded by a job of the same id with other content */
} cuzk_job_state;
const char *cuzk_job_state_name(cuzk_job_state state); /* "queued", …; static */

typedef struct cuzk_job_ticket {
    char job_id[256];        /* what await and cancel take: the request id */
    bool joined;             /* an equal job was there already and is shared */
    unsigned queue_position; /* jobs before this one */
} cuzk_job_ticket;

/* A job's identity is its request id and the digest of its content: the same pair joins the running or successful job,
 * a failed or cancelled one is tried anew; the same id with other content starts a job that supersedes the older one,
 * which is cancelled unless another client still awaits it (then when its last waiter goes). The input is copied (into
 * the store, where there is one) and parsed later; what can be said at once is refused here: USAGE (unknown kind,
 * circuit not enabled), MALFORMED and FOREIGN (an input of at most 1 MiB is read at once), MEMORY (too many inputs wait
 * in memory), TOO_LARGE (this one alone is too many), DEVICE (none for the policy), DISK and IO (of the store), REFUSED
 * (the engine stops). A larger input's faults, a need that can never fit, and a missing key end the job: FAILED. */
cuzk_status cuzk_engine_submit(cuzk_engine *engine, const cuzk_submission *submission, cuzk_job_ticket *ticket,
                               cuzk_error *err);

typedef struct cuzk_job_times { /* seconds; synthesis and device are summed over partitions */
    double queue_wait, key_load, vanilla_check, synthesis, device_wait, device, finish, verify, total;
} cuzk_job_times;

typedef struct cuzk_job_result {
    cuzk_job_state state;
    uint8_t *proof; /* 192 bytes a partition, in order; NULL unless COMPLETED */
    size_t proof_bytes;
    cuzk_error error;  /* of FAILED and CANCELLED */
    unsigned attempts; /* most tries of one partition */
    cuzk_job_times times;
} cuzk_job_result;

/* Waits until the job of this id (the newest; a waiter stays with the job that was newest when it came) ends, at most
 * timeout_seconds (negative: for ever; 0: does not wait). state is then the state at that moment. UNKNOWN state, status
 * OK, for an id that is not there. Free the result with cuzk_job_result_free. */
cuzk_status cuzk_engine_await(cuzk_engine *engine, const char *job_id, double timeout_seconds, cuzk_job_result *out,
                              cuzk_error *err);
void cuzk_job_result_free(cuzk_job_result *result);

/* Ends the newest job of this id at the next tile and gives its memory back. *was_there tells whether it was queued or
 * running. */
cuzk_status cuzk_engine_cancel(cuzk_engine *engine, const char *job_id, bool *was_there, cuzk_error *err);

/* Loads key and shape of a circuit ("porep-32gib") and keeps them until evicted or pressed out. */
cuzk_status cuzk_engine_preload(cuzk_engine *engine, const char *circuit, bool *already, double *seconds,
                                cuzk_error *err);
/* Gives key and shape back when no job uses them (else REFUSED). */
cuzk_status cuzk_engine_evict(cuzk_engine *engine, const char *circuit, bool *was_loaded, uint64_t *freed_bytes,
                              cuzk_error *err);

/* Documents about the engine; returned, free with cuzk_text_free. status: JSON, documented in docs/instruments.md;
 * metrics: Prometheus text; trace: Chrome trace JSON (Perfetto reads it) of the last events of one job, or of all
 * (NULL). */
cuzk_status cuzk_engine_status_json(cuzk_engine *engine, char **json, cuzk_error *err);
cuzk_status cuzk_engine_metrics_text(cuzk_engine *engine, char **text, cuzk_error *err);
cuzk_status cuzk_engine_trace_json(cuzk_engine *engine, const char *job_id, char **json, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
