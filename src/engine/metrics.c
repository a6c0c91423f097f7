/* Prometheus text (exposition format 0.0.4): the older daemon's names kept, and ours.
 *
 * Every family has a value from the start: the four kinds of proof are there with zeros, so that a missing series means
 * a missing daemon. cuzk_proof_duration_seconds was a summary of the last thousand proofs; it is a histogram now, whose
 * _sum and _count only grow. cuzk_proofs_completed and _failed (by kind) keep their names, which lack the suffix that
 * counters have, and therefore have no type.
 */
#include "engine/documents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cuzk/context.h"

enum { MAX_KINDS = ENGINE_KINDS_MAX + 4 };

typedef struct metrics {
    FILE *f;
    const engine_view *v;
    trace *t;
    kind_counters kinds[MAX_KINDS];
    size_t n_kinds;
} metrics;

/* ---- pieces ---- */

static void family(const metrics *m, const char *name, const char *type, const char *help) {
    fprintf(m->f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: names of devices come from drivers. */
static void put_label(const metrics *m, const char *text) {
    for (; *text; text++) {
        if (*text == '\n') {
            fputs("\\n", m->f);
        } else {
            if (*text == '"' || *text == '\\') fputc('\\', m->f);
            fputc(*text, m->f);
        }
    }
}

/* Labels come in pairs of name and value, ended by NULL. */
static void put_labels(const metrics *m, const char *const *labels) {
    if (!labels[0]) return;
    for (size_t i = 0; labels[i]; i += 2) {
        fprintf(m->f, "%s%s=\"", i ? "," : "{", labels[i]);
        put_label(m, labels[i + 1]);
        fputc('"', m->f);
    }
    fputc('}', m->f);
}

static void sample(const metrics *m, const char *name, uint64_t value, const char *const *labels) {
    fputs(name, m->f);
    put_labels(m, labels);
    fprintf(m->f, " %" PRIu64 "\n", value);
}

static void sample_seconds(const metrics *m, const char *name, double value, const char *const *labels) {
    fputs(name, m->f);
    put_labels(m, labels);
    char text[32];
    text_double(text, 9, value);
    fprintf(m->f, " %s\n", text);
}

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

static void one(const metrics *m, const char *name, const char *type, const char *help, uint64_t value) {
    family(m, name, type, help);
    sample(m, name, value, NONE);
}

/* "porep" is "porep_c2" in label values, as in the older daemon's. */
static const char *kind_label(char out[32], const char *kind) {
    snprintf(out, 32, "%s", document_kind(kind));
    for (char *p = out; *p; p++) {
        if (*p == '-') *p = '_';
    }
    return out;
}

/* ---- jobs ---- */

/* The four kinds of proof first, with zeros when nothing happened. */
static void gather_kinds(metrics *m) {
    static const char *const known[] = {"porep", "snap", "window-post", "winning-post"};
    for (size_t i = 0; i < 4; i++) snprintf(m->kinds[m->n_kinds++].kind, sizeof m->kinds[0].kind, "%s", known[i]);
    for (size_t i = 0; i < m->v->n_kinds; i++) {
        const kind_counters *k = &m->v->kinds[i];
        size_t at = 0;
        while (at < m->n_kinds && strcmp(m->kinds[at].kind, k->kind) != 0) at++;
        if (at == m->n_kinds) m->n_kinds++;
        m->kinds[at] = *k;
    }
}

static void by_kind(const metrics *m, const char *name, const char *type, const char *help, size_t offset) {
    char label[32];
    family(m, name, type, help);
    for (size_t i = 0; i < m->n_kinds; i++) {
        uint64_t n;
        memcpy(&n, (const char *)&m->kinds[i] + offset, sizeof n);
        sample(m, name, n, LABELS("proof_kind", kind_label(label, m->kinds[i].kind)));
    }
}

static void put_jobs(const metrics *m) {
    uint64_t completed = 0, failed = 0, pending = 0, running = 0;
    char label[32];
    for (size_t i = 0; i < m->n_kinds; i++) {
        completed += m->kinds[i].completed, failed += m->kinds[i].failed;
        pending += m->kinds[i].pending, running += m->kinds[i].running;
    }
    one(m, "cuzk_proofs_completed_total", "counter", "Jobs whose proofs were made and verified.", completed);
    one(m, "cuzk_proofs_failed_total", "counter", "Jobs that failed.", failed);
    by_kind(m, "cuzk_proofs_completed", "untyped", "Completed jobs by kind.", offsetof(kind_counters, completed));
    by_kind(m, "cuzk_proofs_failed", "untyped", "Failed jobs by kind.", offsetof(kind_counters, failed));
    by_kind(m, "cuzk_jobs_cancelled_total", "counter", "Jobs cancelled by a client, a deadline or a newer job.",
            offsetof(kind_counters, cancelled));
    one(m, "cuzk_queue_depth", "gauge", "Jobs that wait to begin.", pending);
    one(m, "cuzk_running_jobs", "gauge", "Jobs that have begun and not ended.", running);
    family(m, "cuzk_jobs", "gauge", "Jobs now, by kind and state.");
    for (size_t i = 0; i < m->n_kinds; i++) {
        kind_label(label, m->kinds[i].kind);
        sample(m, "cuzk_jobs", m->kinds[i].pending, LABELS("proof_kind", label, "state", "queued"));
        sample(m, "cuzk_jobs", m->kinds[i].running, LABELS("proof_kind", label, "state", "running"));
    }
    one(m, "cuzk_jobs_submitted_total", "counter", "Jobs taken.", trace_count(m->t, TRACE_JOB_SUBMITTED));
    one(m, "cuzk_jobs_joined_total", "counter", "Submissions that joined an equal job.", m->v->joined);
    one(m, "cuzk_jobs_superseded_total", "counter", "Jobs replaced by one of the same id with other content.",
        m->v->superseded);
}

/* ---- pipeline ---- */

static void put_pipeline(const metrics *m) {
    const engine_view *v = m->v;
    unsigned device_workers = 0;
    for (size_t i = 0; i < v->n_workers; i++) device_workers += v->workers[i].device < v->n_devices;
    one(m, "cuzk_gpu_workers", "gauge", "Device workers, of all devices together.", device_workers);
    one(m, "cuzk_synthesis_workers", "gauge", "Synthesis workers.", v->synthesis_workers);
    one(m, "cuzk_synthesis_active", "gauge", "Synthesis workers that make a witness now.", v->synthesis_active);
    one(m, "cuzk_device_queue_partitions", "gauge", "Synthesized partitions that wait for a device.",
        v->queued_partitions);
    one(m, "cuzk_device_queue_limit", "gauge", "Most of them before synthesis pauses.", v->queue_depth);
    one(m, "cuzk_synthesized_partitions", "gauge", "Synthesized partitions whose proof is not made yet.",
        v->synthesized_in_flight);
    one(m, "cuzk_synthesized_partitions_peak", "gauge", "Most of them at one time since the start.",
        v->peak_synthesized_in_flight);
    one(m, "cuzk_pending_proofs", "gauge", "Proofs that wait for their finish.", v->pending_proofs);
    one(m, "cuzk_partitions_synthesized_total", "counter", "Witnesses made.", trace_count(m->t, TRACE_SYNTH_DONE));
    one(m, "cuzk_partitions_finished_total", "counter", "Partitions proved.", trace_count(m->t, TRACE_FINISHED));
    one(m, "cuzk_partition_retries_total", "counter", "Further tries of partitions after a failure.", v->retries);
    one(m, "cuzk_cpu_fallbacks_total", "counter", "Partitions proved on the CPU because no device could.",
        v->cpu_fallbacks);
    one(m, "cuzk_verify_failures_total", "counter", "Proofs that did not verify and were never returned.",
        v->verify_failures);
    one(m, "cuzk_partitions_hung_total", "counter", "Partitions given up because their device did not answer.",
        v->hung);
    one(m, "cuzk_key_loads_total", "counter", "Loads of a key and its shape.", trace_count(m->t, TRACE_KEY_LOADED));
    one(m, "cuzk_key_evictions_total", "counter", "Keys and shapes given back.", trace_count(m->t, TRACE_KEY_EVICTED));
}

/* ---- durations ---- */

static void put_histogram(const metrics *m, const char *name, const trace_histogram *h, const char *kind,
                          const char *stage) {
    char bucket[64], bound[32];
    uint64_t sum = 0;
    snprintf(bucket, sizeof bucket, "%s_bucket", name);
    for (int i = 0; i < TRACE_BUCKETS; i++) {
        sum += h->buckets[i];
        if (i < TRACE_BUCKETS - 1) {
            text_double(bound, 6, trace_bounds[i]);
        } else {
            strcpy(bound, "+Inf");
        }
        sample(m, bucket, sum,
               stage ? LABELS("proof_kind", kind, "stage", stage, "le", bound)
                     : LABELS("proof_kind", kind, "le", bound));
    }
    const char *const *labels = stage ? LABELS("proof_kind", kind, "stage", stage) : LABELS("proof_kind", kind);
    snprintf(bucket, sizeof bucket, "%s_sum", name);
    sample_seconds(m, bucket, h->sum, labels);
    snprintf(bucket, sizeof bucket, "%s_count", name);
    sample(m, bucket, h->count, labels);
}

typedef double (*histogram_value)(const trace_histogram *h);

static double value_last(const trace_histogram *h) {
    return h->last;
}
static double value_max(const trace_histogram *h) {
    return h->max;
}
static double value_mean(const trace_histogram *h) {
    return h->count ? h->sum / (double)h->count : 0;
}

static void put_stage_gauge(const metrics *m, const char *name, const char *help, histogram_value value) {
    char label[32];
    family(m, name, "gauge", help);
    for (size_t i = 0; i < m->n_kinds; i++) {
        kind_label(label, m->kinds[i].kind);
        for (trace_stage s = 0; s < TRACE_STAGES; s++) {
            trace_histogram h = trace_histogram_get(m->t, m->kinds[i].kind, s);
            sample_seconds(m, name, value(&h), LABELS("proof_kind", label, "stage", trace_stage_name(s)));
        }
    }
}

static void put_durations(const metrics *m) {
    char label[32];
    family(m, "cuzk_proof_duration_seconds", "histogram", "From submission to the end, of completed jobs.");
    for (size_t i = 0; i < m->n_kinds; i++) {
        trace_histogram h = trace_histogram_get(m->t, m->kinds[i].kind, TRACE_STAGE_TOTAL);
        put_histogram(m, "cuzk_proof_duration_seconds", &h, kind_label(label, m->kinds[i].kind), NULL);
    }
    family(m, "cuzk_stage_duration_seconds", "histogram",
           "Time of completed jobs in a stage; work on several partitions at once is added up.");
    for (size_t i = 0; i < m->n_kinds; i++) {
        kind_label(label, m->kinds[i].kind);
        for (trace_stage s = 0; s < TRACE_STAGES; s++) {
            trace_histogram h = trace_histogram_get(m->t, m->kinds[i].kind, s);
            put_histogram(m, "cuzk_stage_duration_seconds", &h, label, trace_stage_name(s));
        }
    }
    put_stage_gauge(m, "cuzk_stage_last_seconds", "The same of the last completed job.", value_last);
    put_stage_gauge(m, "cuzk_stage_mean_seconds", "The same, mean since the start.", value_mean);
    put_stage_gauge(m, "cuzk_stage_max_seconds", "The same, longest since the start.", value_max);
}

/* ---- memory ---- */

static void put_classes(const metrics *m, const char *name, const char *help, size_t offset) {
    family(m, name, "gauge", help);
    for (int c = 0; c < BUFFER_CLASSES; c++) {
        uint64_t n;
        memcpy(&n, (const char *)&m->v->classes[c] + offset, sizeof n);
        sample(m, name, n, LABELS("class", buffer_class_name((buffer_class)c)));
    }
}

static void put_memory(const metrics *m) {
    const engine_view *v = m->v;
    one(m, "cuzk_memory_budget_bytes", "gauge", "What may be held on the host.", v->host.total);
    one(m, "cuzk_memory_reserved_bytes", "gauge", "What is reserved of it.", v->host.reserved);
    one(m, "cuzk_memory_reserved_peak_bytes", "gauge", "Most that was reserved.", v->host.peak_reserved);
    one(m, "cuzk_memory_critical_share_bytes", "gauge", "Kept for critical jobs.", v->host.critical_share);
    one(m, "cuzk_memory_critical_reserved_bytes", "gauge", "Reserved by critical jobs.", v->host.critical_reserved);
    one(m, "cuzk_memory_refusals_total", "counter", "Reservations that had to wait.", v->host.refused);
    put_classes(m, "cuzk_buffer_bytes", "Bytes of tracked buffers by class.", offsetof(buffer_stats, live_bytes));
    put_classes(m, "cuzk_buffer_peak_bytes", "Most of them at one time.", offsetof(buffer_stats, peak_bytes));
    put_classes(m, "cuzk_buffers", "Tracked buffers by class.", offsetof(buffer_stats, live_count));
    one(m, "cuzk_tracked_bytes", "gauge", "Bytes of all tracked buffers.", v->tracked.live_bytes);
    one(m, "cuzk_unexplained_bytes", "gauge", "Anonymous resident bytes beyond the tracked buffers.",
        document_unexplained(v));
    one(m, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", v->rss_bytes);
    one(m, "cuzk_resident_memory_peak_bytes", "gauge", "Most of it since the start.", v->peak_rss_bytes);
    one(m, "cuzk_request_bytes", "gauge", "Inputs being received or parsed.", v->request_bytes);
    one(m, "cuzk_request_limit_bytes", "gauge", "Most of them at one time.", v->request_limit_bytes);
    family(m, "cuzk_key_bytes", "gauge", "Proving keys that are known, by tier.");
    for (size_t i = 0; i < v->n_resources; i++) {
        const resource_view *r = &v->resources[i];
        sample(m, "cuzk_key_bytes", r->key_bytes, LABELS("circuit", r->circuit, "tier", resource_tier_name(r->tier)));
    }
    family(m, "cuzk_shape_bytes", "gauge", "Circuit structures that are known.");
    for (size_t i = 0; i < v->n_resources; i++) {
        sample(m, "cuzk_shape_bytes", v->resources[i].shape_bytes, LABELS("circuit", v->resources[i].circuit));
    }
    family(m, "cuzk_key_references", "gauge", "Users of a key now.");
    for (size_t i = 0; i < v->n_resources; i++) {
        sample(m, "cuzk_key_references", v->resources[i].references, LABELS("circuit", v->resources[i].circuit));
    }
}

/* ---- devices ---- */

typedef uint64_t (*device_value)(const device_view *d);

static uint64_t device_up(const device_view *d) {
    return !d->quarantined;
}
static uint64_t device_memory(const device_view *d) {
    return d->memory_bytes;
}
static uint64_t device_free(const device_view *d) {
    return d->free_bytes;
}
static uint64_t device_budget(const device_view *d) {
    return d->budget.total;
}
static uint64_t device_reserved(const device_view *d) {
    return d->budget.reserved;
}
static uint64_t device_proofs(const device_view *d) {
    return d->proofs;
}
static uint64_t device_faults(const device_view *d) {
    return d->faults;
}
static uint64_t device_wrong(const device_view *d) {
    return d->wrong_proofs;
}

static void put_devices(const metrics *m) {
    static const struct {
        const char *name, *type, *help;
        device_value value;
    } rows[] = {
        {"cuzk_device_up", "gauge", "1 when the device is used, 0 in quarantine.", device_up},
        {"cuzk_device_memory_bytes", "gauge", "Memory of the device.", device_memory},
        {"cuzk_device_free_bytes", "gauge", "What the driver says is free.", device_free},
        {"cuzk_device_budget_bytes", "gauge", "What may be held there.", device_budget},
        {"cuzk_device_reserved_bytes", "gauge", "What is reserved of it.", device_reserved},
        {"cuzk_device_proofs_total", "counter", "Partitions proved there.", device_proofs},
        {"cuzk_device_faults_total", "counter", "Failures of the device.", device_faults},
        {"cuzk_device_wrong_proofs_total", "counter", "Proofs made there that did not verify.", device_wrong},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        family(m, rows[r].name, rows[r].type, rows[r].help);
        for (size_t i = 0; i < m->v->n_devices; i++) {
            const device_view *d = &m->v->devices[i];
            sample(m, rows[r].name, rows[r].value(d), LABELS("device", d->id, "name", d->name));
        }
    }
    family(m, "cuzk_device_busy_seconds_total", "counter", "Time in which at least one proof was made there.");
    for (size_t i = 0; i < m->v->n_devices; i++) {
        const device_view *d = &m->v->devices[i];
        sample_seconds(m, "cuzk_device_busy_seconds_total", d->busy_seconds, LABELS("device", d->id, "name", d->name));
    }
}

/* ---- the document ---- */

static void put_all(metrics *m) {
    family(m, "cuzk_build_info", "gauge", "1, with the version as a label.");
    sample(m, "cuzk_build_info", 1, LABELS("version", cuzk_version()));
    family(m, "cuzk_uptime_seconds", "gauge", "Since the start.");
    sample_seconds(m, "cuzk_uptime_seconds", m->v->uptime_seconds, NONE);
    one(m, "cuzk_draining", "gauge", "1 when no new job is begun.", m->v->draining);
    one(m, "cuzk_trouble", "gauge", "1 when /healthz names a state that needs somebody.", m->v->trouble[0] != 0);
    put_jobs(m);
    put_pipeline(m);
    put_durations(m);
    put_memory(m);
    put_devices(m);
}

cuzk_status metrics_write(const engine_view *v, trace *t, char **out, cuzk_error *err) {
    size_t len;
    metrics m = {.v = v, .t = t};
    *out = NULL;
    m.f = open_memstream(out, &len);
    if (!m.f) return cuzk_fail(err, CUZK_MEMORY, "no memory for the metrics");
    gather_kinds(&m);
    put_all(&m);
    bool failed = ferror(m.f);
    if (!fclose(m.f) && !failed) return CUZK_OK;
    free(*out);
    *out = NULL;
    return cuzk_fail(err, CUZK_MEMORY, "no memory for the metrics");
}
