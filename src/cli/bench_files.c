/* CSV files of a batch: a line per sample, per proof, per setting. */
#include "cli/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

typedef struct table {
    FILE *f;
    char *text;
    size_t len;
} table;

static cuzk_status table_open(table *t, cuzk_error *err) {
    *t = (table){0};
    t->f = open_memstream(&t->text, &t->len);
    return t->f ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for a table");
}

static cuzk_status table_write(table *t, const char *folder, const char *name, cuzk_error *err) {
    char path[4096];
    bool failed = ferror(t->f);
    failed = fclose(t->f) || failed;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cuzk_status s = failed ? cuzk_fail(err, CUZK_MEMORY, "no memory for %s", name)
                           : file_write_all(path, t->text, t->len, false, err);
    free(t->text);
    return s;
}

/* Texts of errors may hold anything. */
static void put_quoted(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
    fputc('"', f);
}

static cuzk_status write_samples(const char *folder, const bench_run *runs, size_t n, cuzk_error *err) {
    table t;
    if (table_open(&t, err)) return err->status;
    fputs("pw,gw,seconds,rss_bytes,budget_bytes,reserved_bytes,tracked_bytes,unexplained_bytes", t.f);
    for (int c = 0; c < BUFFER_CLASSES; c++) fprintf(t.f, ",%s_bytes", buffer_class_name((buffer_class)c));
    fputc('\n', t.f);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < runs[i].n_samples; k++) {
            const bench_sample *s = &runs[i].samples[k];
            fprintf(t.f, "%u,%u,%.3f,%llu,%llu,%llu,%llu,%llu", runs[i].pw, runs[i].gw, s->at,
                    (unsigned long long)s->rss, (unsigned long long)s->budget, (unsigned long long)s->reserved,
                    (unsigned long long)s->tracked, (unsigned long long)s->unexplained);
            for (int c = 0; c < BUFFER_CLASSES; c++) fprintf(t.f, ",%llu", (unsigned long long)s->classes[c]);
            fputc('\n', t.f);
        }
    }
    return table_write(&t, folder, "samples.csv", err);
}

static cuzk_status write_proofs(const char *folder, const bench_run *runs, size_t n, cuzk_error *err) {
    table t;
    double seconds;
    if (table_open(&t, err)) return err->status;
    fputs("pw,gw,id,state,submitted_seconds,ended_seconds,latency_seconds,attempts", t.f);
    for (size_t k = 0; bench_stage(k, &(cuzk_job_times){0}, &seconds); k++) {
        fprintf(t.f, ",%s_seconds", bench_stage(k, &(cuzk_job_times){0}, &seconds));
    }
    fputs(",error\n", t.f);
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < runs[i].n_proofs; p++) {
            const bench_proof *b = &runs[i].proofs[p];
            fprintf(t.f, "%u,%u,%s,%s,%.6f,%.6f,%.6f,%u", runs[i].pw, runs[i].gw, b->id, cuzk_job_state_name(b->state),
                    b->submitted, b->ended, bench_latency(b), b->attempts);
            for (size_t k = 0; bench_stage(k, &b->times, &seconds); k++) fprintf(t.f, ",%.6f", seconds);
            fputc(',', t.f);
            put_quoted(t.f, b->error.what);
            fputc('\n', t.f);
        }
    }
    return table_write(&t, folder, "proofs.csv", err);
}

static cuzk_status write_sweep(const char *folder, const bench_run *runs, size_t n, cuzk_error *err) {
    table t;
    if (table_open(&t, err)) return err->status;
    fputs("pw,gw,completed,failed,seconds,seconds_per_proof,p50_seconds,p95_seconds,peak_rss_bytes,"
          "tracked_peak_bytes,unexplained_bytes,device_peak_bytes",
          t.f);
    for (int c = 0; c < BUFFER_CLASSES; c++) fprintf(t.f, ",%s_peak_bytes", buffer_class_name((buffer_class)c));
    fputc('\n', t.f);
    for (size_t i = 0; i < n; i++) {
        const bench_run *r = &runs[i];
        size_t m;
        double *v = bench_sorted_latencies(r, &m);
        fprintf(t.f, "%u,%u,%zu,%zu,%.6f,%.6f,%.6f,%.6f,%llu,%llu,%llu,%llu", r->pw, r->gw, r->completed,
                r->n_proofs - r->completed, r->seconds, bench_seconds_per_proof(r), v ? bench_quantile(v, m, 0.5) : 0,
                v ? bench_quantile(v, m, 0.95) : 0, (unsigned long long)r->peak_rss,
                (unsigned long long)r->peak_tracked, (unsigned long long)r->unexplained,
                (unsigned long long)r->peak_device);
        for (int c = 0; c < BUFFER_CLASSES; c++) fprintf(t.f, ",%llu", (unsigned long long)r->peak_classes[c]);
        fputc('\n', t.f);
        free(v);
    }
    return table_write(&t, folder, "sweep.csv", err);
}

cuzk_status bench_write_csv(const char *folder, const bench_run *runs, size_t n, cuzk_error *err) {
    if (write_samples(folder, runs, n, err)) return err->status;
    if (write_proofs(folder, runs, n, err)) return err->status;
    return write_sweep(folder, runs, n, err);
}
