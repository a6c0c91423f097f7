/* `cuzk bench batch`: what its files share. */
#ifndef CUZK_CLI_BENCH_H
#define CUZK_CLI_BENCH_H

#include "cli/cli.h"
#include "cuzk/engine.h"
#include "engine/trace_slices.h"

/* ---- bench_input.c: the one job that is submitted again and again ---- */

typedef struct bench_input {
    cuzk_submission submission; /* without an id; bytes lie in the buffers */
    char circuit[64];
    unsigned partitions;
    buffer c1, request, *vanilla;
    cuzk_bytes *vanilla_bytes;
    size_t n_vanilla;
} bench_input;

/* From --c1, --request and --vanilla, or --synthetic. Free with bench_input_free, also on failure. */
cuzk_status bench_input_open(bench_input *in, const args *a, cuzk_error *err);
void bench_input_free(bench_input *in);

/* ---- what is measured ---- */

typedef struct bench_sample {
    double at; /* seconds since the first submission */
    uint64_t rss, unexplained, tracked, reserved, budget, classes[BUFFER_CLASSES];
} bench_sample;

typedef struct bench_proof {
    char id[80];
    double submitted, ended; /* seconds since the first submission */
    cuzk_job_state state;
    unsigned attempts;
    cuzk_job_times times;
    cuzk_error error;
} bench_proof;

typedef struct bench_slice {
    char lane[24], stage[12];
    double start, end;
    uint64_t job;
    uint32_t partition;
    bool failed;
} bench_slice;

typedef struct bench_run {
    unsigned pw, gw; /* as set; 0: the engine's choice, replaced by it */
    double seconds;  /* from the first submission to the last end */
    bench_proof *proofs;
    size_t n_proofs, completed;
    bench_sample *samples;
    size_t n_samples;
    bench_slice *slices; /* a daemon's are of all its jobs */
    size_t n_slices;
    uint64_t peak_rss, unexplained /* when RSS was highest */, peak_tracked, peak_classes[BUFFER_CLASSES], budget;
    uint64_t peak_device; /* reserved in the memory of one device, at most */
    char devices[160];
} bench_run;

void bench_run_free(bench_run *r);
double bench_latency(const bench_proof *p);
/* The share q (0..1) of the sorted values, by the nearest rank; 0 when there are none. */
double bench_quantile(const double *sorted, size_t n, double q);
/* Of completed proofs: seconds of wall time for each, and latencies, sorted (n of them, free with free()). */
double bench_seconds_per_proof(const bench_run *r);
double *bench_sorted_latencies(const bench_run *r, size_t *n);
/* Stages of cuzk_job_times by number, in order; NULL after the last. */
const char *bench_stage(size_t i, const cuzk_job_times *t, double *seconds);

/* ---- where jobs go: an engine in this process, or a daemon ---- */

typedef struct bench_target bench_target;
typedef struct bench_target_ops {
    /* Submits and waits; called by several threads. client: the thread's number. *out is freed by the caller. */
    cuzk_status (*prove)(bench_target *t, unsigned client, const cuzk_submission *s, cuzk_job_result *out,
                         cuzk_error *err);
    cuzk_status (*sample)(bench_target *t, bench_sample *out, cuzk_error *err);
    /* After the last proof: peaks, workers, devices. */
    cuzk_status (*finish)(bench_target *t, bench_run *r, cuzk_error *err);
    /* The trace of all jobs as Chrome trace JSON, free with free(). */
    cuzk_status (*trace)(bench_target *t, char **json, cuzk_error *err);
    void (*close)(bench_target *t);
} bench_target_ops;
struct bench_target { /* first member of each */
    const bench_target_ops *ops;
    double sample_every; /* seconds */
};

/* bench_engine.c: starts an engine with these workers and loads the circuit's key. */
cuzk_status bench_engine_open(bench_target **out, const args *a, const bench_input *in, unsigned pw, unsigned gw,
                              unsigned clients, cuzk_error *err);
/* bench_daemon.c */
cuzk_status bench_daemon_open(bench_target **out, const args *a, unsigned clients, cuzk_error *err);

/* bench_trace.c: r's slices from a trace that was asked for at this time of the run. FOREIGN: it does not tell when it
 * was made. */
cuzk_status bench_slices_read(bench_run *r, const char *text, double asked, cuzk_error *err);

/* bench_run.c: count jobs, at most `concurrency` at once. A job that fails is in r; what fails otherwise is returned.
 */
cuzk_status bench_run_make(bench_run *r, const args *a, bench_target *t, const bench_input *in, size_t count,
                           unsigned concurrency, cuzk_error *err);

/* ---- bench_files.c, bench_plot.c: files in a folder ---- */
cuzk_status bench_write_csv(const char *folder, const bench_run *runs, size_t n, cuzk_error *err);
/* PLOT's name goes to path. */
cuzk_status bench_write_plot(char *path, size_t path_size, const char *folder, const bench_run *r, const char *title,
                             cuzk_error *err);

#endif
