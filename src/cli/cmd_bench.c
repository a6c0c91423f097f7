/* bench batch: one job submitted many times, at every setting of a sweep; figures as JSON, CSV and SVG. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"

enum { MAX_COUNT = 100000, MAX_CONCURRENCY = 1024, MAX_WORKERS = 256, MAX_RUNS = 256 };

typedef struct bench {
    const args *a;
    bench_input in;
    uint64_t count, concurrency;
    unsigned *pw, *gw;
    size_t n_pw, n_gw;
    bench_run *runs;
    size_t n_runs, n_done;
    char folder[2048];
    bool folder_made; /* by this run: it goes again when nothing comes of it */
    char (*plots)[4096];
} bench;

/* ---- what is asked for ---- */

static cuzk_status read_options(bench *b, cuzk_error *err) {
    const args *a = b->a;
    if (args_number(a, OPT_COUNT, 1, MAX_COUNT, &b->count, err)) return err->status;
    if (args_number(a, OPT_CONCURRENCY, 1, MAX_CONCURRENCY, &b->concurrency, err)) return err->status;
    if (!a->given[OPT_CONCURRENCY]) b->concurrency = 1;
    if (args_list(a, OPT_PW, 1, MAX_WORKERS, &b->pw, &b->n_pw, err)) return err->status;
    if (args_list(a, OPT_GW, 1, MAX_WORKERS, &b->gw, &b->n_gw, err)) return err->status;
    if (a->given[OPT_ADDR] && (a->given[OPT_PW] || a->given[OPT_GW] || a->given[OPT_DEVICE] || a->given[OPT_DEV_KEY])) {
        cuzk_fail(err, CUZK_USAGE, "a daemon has its workers, devices and keys from its own settings");
        return cuzk_fail_hint(err, "leave out --pw, --gw, --device and --dev-key, or leave out --addr");
    }
    b->n_runs = (b->n_pw ? b->n_pw : 1) * (b->n_gw ? b->n_gw : 1);
    if (b->n_runs > MAX_RUNS) {
        cuzk_fail(err, CUZK_USAGE, "the sweep has too many settings");
        cuzk_fail_expected(err, "at most %d", MAX_RUNS);
        return cuzk_fail_found(err, "%zu", b->n_runs);
    }
    b->runs = calloc(b->n_runs, sizeof *b->runs);
    b->plots = calloc(b->n_runs, sizeof *b->plots);
    return b->runs && b->plots ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for %zu runs", b->n_runs);
}

/* The folder is made before the work, so that one that cannot be written to is found in time. */
static cuzk_status make_folder(bench *b, cuzk_error *err) {
    time_t now = time(NULL);
    struct tm t;
    if (b->a->given[OPT_OUT]) {
        if (snprintf(b->folder, sizeof b->folder, "%s", b->a->value[OPT_OUT]) >= (int)sizeof b->folder) {
            return cuzk_fail(err, CUZK_USAGE, "--out is too long");
        }
    } else {
        gmtime_r(&now, &t);
        strftime(b->folder, sizeof b->folder, "cuzk-bench-%Y%m%d-%H%M%S", &t);
    }
    b->folder_made = !file_exists(b->folder);
    return file_make_folders(b->folder, err);
}

/* ---- one setting ---- */

static cuzk_status open_target(bench *b, const bench_run *r, bench_target **t, cuzk_error *err) {
    if (!b->a->given[OPT_ADDR]) return bench_engine_open(t, b->a, &b->in, r->pw, r->gw, (unsigned)b->concurrency, err);
#ifdef CUZK_HAVE_DAEMON
    return bench_daemon_open(t, b->a, (unsigned)b->concurrency, err);
#else
    return cuzk_fail(err, CUZK_USAGE, "this program was built without the daemon and its clients");
#endif
}

static cuzk_status run_one(bench *b, bench_run *r, cuzk_error *err) {
    bench_target *t;
    if (open_target(b, r, &t, err)) return err->status;
    cuzk_status s = bench_run_make(r, b->a, t, &b->in, (size_t)b->count, (unsigned)b->concurrency, err);
    t->ops->close(t);
    if (s) return s;
    progress_clear();
    char rss[24];
    text_size(rss, r->peak_rss);
    note("pw %u, gw %u: %.3f s/proof, %zu of %zu completed, peak RSS %s", r->pw, r->gw, bench_seconds_per_proof(r),
         r->completed, r->n_proofs, rss);
    return CUZK_OK;
}

static cuzk_status write_files(bench *b, cuzk_error *err) {
    if (bench_write_csv(b->folder, b->runs, b->n_done, err)) return err->status;
    for (size_t i = 0; i < b->n_done; i++) {
        const bench_run *r = &b->runs[i];
        char title[700];
        snprintf(title, sizeof title, "%s: %zu proofs, %llu at a time, pw %u, gw %u, %s: %.3f s/proof", b->in.circuit,
                 r->completed, (unsigned long long)b->concurrency, r->pw, r->gw, r->devices,
                 bench_seconds_per_proof(r));
        if (bench_write_plot(b->plots[i], sizeof b->plots[i], b->folder, r, title, err)) return err->status;
    }
    return CUZK_OK;
}

static cuzk_status run_all(bench *b, cuzk_error *err) {
    for (size_t i = 0; i < b->n_runs; i++) {
        bench_run *r = &b->runs[i];
        size_t n_gw = b->n_gw ? b->n_gw : 1;
        r->pw = b->n_pw ? b->pw[i / n_gw] : 0;
        r->gw = b->n_gw ? b->gw[i % n_gw] : 0;
        if (run_one(b, r, err)) return err->status;
        b->n_done = i + 1;
    }
    return write_files(b, err);
}

/* A batch with a failed proof has failed; what was measured is in the files. */
static cuzk_status first_failure(const bench *b, cuzk_error *err) {
    for (size_t i = 0; i < b->n_done; i++) {
        const bench_run *r = &b->runs[i];
        for (size_t p = 0; p < r->n_proofs && r->completed < r->n_proofs; p++) {
            if (r->proofs[p].state == CUZK_JOB_COMPLETED) continue;
            *err = r->proofs[p].error;
            if (!err->status) cuzk_fail(err, CUZK_INTERNAL, "a job ended without proofs and without an error");
            cuzk_fail_within(err, "%s, %zu of %zu failed", r->proofs[p].id, r->n_proofs - r->completed, r->n_proofs);
            if (!err->hint[0]) cuzk_fail_hint(err, "%.200s/proofs.csv has them all", b->folder);
            return err->status;
        }
    }
    return CUZK_OK;
}

/* ---- the answer ---- */

static void put_figures(json_out *o, const bench_run *r) {
    size_t n;
    double *v = bench_sorted_latencies(r, &n), sum = 0;
    for (size_t i = 0; v && i < n; i++) sum += v[i];
    put_number(o, "completed", r->completed);
    put_number(o, "failed", r->n_proofs - r->completed);
    put_seconds(o, "seconds", r->seconds);
    put_seconds(o, "seconds_per_proof", bench_seconds_per_proof(r));
    put_seconds(o, "p50", v ? bench_quantile(v, n, 0.5) : 0);
    put_seconds(o, "p95", v ? bench_quantile(v, n, 0.95) : 0);
    put_seconds(o, "min", v && n ? v[0] : 0);
    put_seconds(o, "max", v && n ? v[n - 1] : 0);
    put_seconds(o, "mean", n ? sum / (double)n : 0);
    put_number(o, "peak_rss_bytes", r->peak_rss);
    put_number(o, "tracked_peak_bytes", r->peak_tracked);
    put_number(o, "unexplained_bytes", r->unexplained);
    put_number(o, "device_peak_bytes", r->peak_device);
    free(v);
}

static void put_peaks(json_out *o, const bench_run *r) {
    json_put_key(o, "peak_by_class");
    json_begin_object(o);
    for (int c = 0; c < BUFFER_CLASSES; c++) put_number(o, buffer_class_name((buffer_class)c), r->peak_classes[c]);
    json_end_object(o);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void put_stage(json_out *o, const bench_run *r, size_t stage, double *v) {
    double sum = 0, seconds;
    size_t n = 0;
    for (size_t i = 0; i < r->n_proofs; i++) {
        if (r->proofs[i].state != CUZK_JOB_COMPLETED) continue;
        bench_stage(stage, &r->proofs[i].times, &v[n]);
        sum += v[n++];
    }
    qsort(v, n, sizeof *v, by_value);
    json_begin_object(o);
    put_text(o, "stage", bench_stage(stage, &(cuzk_job_times){0}, &seconds));
    put_seconds(o, "mean", n ? sum / (double)n : 0);
    put_seconds(o, "p50", bench_quantile(v, n, 0.5));
    put_seconds(o, "p95", bench_quantile(v, n, 0.95));
    put_seconds(o, "max", n ? v[n - 1] : 0);
    json_end_object(o);
}

static void put_stages(json_out *o, const bench_run *r) {
    double *v = calloc(r->n_proofs + 1, sizeof *v), seconds;
    json_put_key(o, "stages");
    json_begin_array(o);
    for (size_t k = 0; v && bench_stage(k, &(cuzk_job_times){0}, &seconds); k++) put_stage(o, r, k, v);
    json_end_array(o);
    free(v);
}

static void put_sweep(json_out *o, const bench *b) {
    json_put_key(o, "sweep");
    json_begin_array(o);
    for (size_t i = 0; i < b->n_done; i++) {
        json_begin_object(o);
        put_number(o, "pw", b->runs[i].pw);
        put_number(o, "gw", b->runs[i].gw);
        put_figures(o, &b->runs[i]);
        json_end_object(o);
    }
    json_end_array(o);
}

static void put_file(json_out *o, const bench *b, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", b->folder, name);
    json_put_string(o, path);
}

static void put_files(json_out *o, const bench *b) {
    json_put_key(o, "csv");
    json_begin_array(o);
    put_file(o, b, "samples.csv");
    put_file(o, b, "proofs.csv");
    put_file(o, b, "sweep.csv");
    json_end_array(o);
    json_put_key(o, "svg");
    json_begin_array(o);
    for (size_t i = 0; i < b->n_done; i++) json_put_string(o, b->plots[i]);
    json_end_array(o);
}

/* Of a sweep the fastest setting's figures stand at the top. */
static void put_answer(json_out *o, const bench *b) {
    const bench_run *best = &b->runs[0];
    for (size_t i = 1; i < b->n_done; i++) {
        if (bench_seconds_per_proof(&b->runs[i]) < bench_seconds_per_proof(best)) best = &b->runs[i];
    }
    put_text(o, "circuit", b->in.circuit);
    put_number(o, "partitions", b->in.partitions);
    put_text(o, "device", best->devices);
    put_number(o, "threads", cuzk_context_threads(b->a->context));
    put_number(o, "count", b->count);
    put_number(o, "concurrency", b->concurrency);
    put_number(o, "pw", best->pw);
    put_number(o, "gw", best->gw);
    put_figures(o, best);
    put_number(o, "budget_bytes", best->budget);
    put_peaks(o, best);
    put_stages(o, best);
    put_sweep(o, b);
    put_files(o, b);
}

static void bench_free(bench *b) {
    for (size_t i = 0; i < b->n_runs && b->runs; i++) bench_run_free(&b->runs[i]);
    free(b->runs);
    free(b->plots);
    free(b->pw);
    free(b->gw);
    bench_input_free(&b->in);
}

cuzk_status cmd_bench_batch(const args *a, json_out *o, cuzk_error *err) {
    bench b = {.a = a};
    cuzk_status s = read_options(&b, err);
    if (!s) s = bench_input_open(&b.in, a, err);
    if (!s) s = make_folder(&b, err);
    if (!s && a->given[OPT_DEV_KEY]) {
        warn_loudly("using a DEVELOPMENT KEY for %s: its proofs are for trials only", b.in.circuit);
    }
    if (!s) s = run_all(&b, err);
    if (!s) s = first_failure(&b, err);
    if (!s) put_answer(o, &b);
    if (s && b.folder_made) rmdir(b.folder); /* only an empty one */
    bench_free(&b);
    return s;
}
