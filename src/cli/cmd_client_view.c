/* status, jobs, trace, metrics, top: what a daemon tells of itself. */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "cli/client.h"
#include "cuzk/v1/proving.pb-c.h"
#include "rpc/client.h"

/* ---- documents ---- */

static void put_node(json_out *o, const json_node *n) {
    uint64_t whole;
    switch (n->kind) {
    case JSON_NULL: json_put_null(o); return;
    case JSON_FALSE:
    case JSON_TRUE: json_put_bool(o, n->kind == JSON_TRUE); return;
    case JSON_STRING: json_put_string(o, n->text); return;
    case JSON_NUMBER:
        if (text_u64(&whole, n->text, n->len))
            json_put_u64(o, whole);
        else
            json_put_double(o, strtod(n->text, NULL));
        return;
    case JSON_ARRAY:
        json_begin_array(o);
        for (const json_node *m = n->first; m; m = m->next) put_node(o, m);
        json_end_array(o);
        return;
    case JSON_OBJECT:
        json_begin_object(o);
        for (const json_node *m = n->first; m; m = m->next) {
            json_put_key(o, m->key);
            put_node(o, m);
        }
        json_end_object(o);
        return;
    }
}

typedef struct document {
    arena *memory;
    json_node *top;
} document;

static void document_free(document *d) {
    arena_destroy(d->memory);
}

/* d is to be freed also after a failure. */
static cuzk_status fetch(rpc_client *c, const char *method, const char *text, uint64_t limit, document *d,
                         cuzk_error *err) {
    char *json = NULL;
    *d = (document){.memory = arena_create(BUFFER_OTHER, 0, err)};
    if (!d->memory || client_document(c, method, text, limit, &json, err)) return err->status;
    cuzk_status s = json_tree(&d->top, d->memory, "the daemon's answer", json, strlen(json), strlen(json) + 1, err);
    free(json);
    return s;
}

typedef void (*put_top)(json_out *o, const json_node *top);

static void put_as_it_is(json_out *o, const json_node *top) {
    for (const json_node *m = top->first; m && m->key; m = m->next) {
        json_put_key(o, m->key);
        put_node(o, m);
    }
}

static cuzk_status put_document(const args *a, json_out *o, const char *method, uint64_t limit, put_top put,
                                cuzk_error *err) {
    rpc_client *c;
    document d;
    if (client_open(a, &c, err)) return err->status;
    cuzk_status s = fetch(c, method, NULL, limit, &d, err);
    if (!s) put(o, d.top);
    document_free(&d);
    rpc_client_close(c);
    return s;
}

cuzk_status cmd_status(const args *a, json_out *o, cuzk_error *err) {
    return put_document(a, o, INSPECTION "GetStatusDocument", 0, put_as_it_is, err);
}

/* ---- jobs ---- */

/* "42 s", "7 min", "3 h 05 min", "2 d 04 h". */
static void age_text(char *out, size_t n, double seconds) {
    uint64_t s = seconds > 0 && seconds < 1e12 ? (uint64_t)seconds : 0;
    unsigned hours = (unsigned)(s / 3600 % 24), minutes = (unsigned)(s / 60 % 60);
    if (s < 60)
        snprintf(out, n, "%u s", (unsigned)s);
    else if (s < 3600)
        snprintf(out, n, "%u min", minutes);
    else if (s < 86400)
        snprintf(out, n, "%u h %02u min", hours, minutes);
    else
        snprintf(out, n, "%llu d %02u h", (unsigned long long)(s / 86400), hours);
}

/* Seconds since the epoch as this machine's time; "-" for 0. */
static void time_text(char *out, size_t n, double seconds) {
    struct tm t;
    time_t whole = seconds > 0 && seconds < 1e11 ? (time_t)seconds : 0;
    snprintf(out, n, "-");
    if (whole && localtime_r(&whole, &t)) strftime(out, n, "%Y-%m-%d %H:%M:%S", &t);
}

static void put_job_for_people(json_out *o, const json_node *job) {
    char text[64];
    json_begin_object(o);
    for (const json_node *m = job->first; m && m->key; m = m->next) { /* an array's have none */
        double v = m->kind == JSON_NUMBER ? strtod(m->text, NULL) : 0;
        bool submitted = !strcmp(m->key, "submitted"), finished = !strcmp(m->key, "finished");
        json_put_key(o, m->key);
        time_text(text, sizeof text, v);
        if (submitted || finished)
            json_put_string(o, text);
        else
            put_node(o, m);
        if (!submitted) continue;
        age_text(text, sizeof text, (double)time(NULL) - v);
        put_text(o, "age", text);
    }
    json_end_object(o);
}

static void put_jobs_for_people(json_out *o, const json_node *top) {
    const json_node *jobs = json_member(top, "jobs");
    json_put_key(o, "jobs");
    json_begin_array(o);
    for (const json_node *job = jobs ? jobs->first : NULL; job; job = job->next) put_job_for_people(o, job);
    json_end_array(o);
}

cuzk_status cmd_jobs(const args *a, json_out *o, cuzk_error *err) {
    uint64_t limit;
    if (args_number(a, OPT_LIMIT, 1, 1000000, &limit, err)) return err->status;
    return put_document(a, o, INSPECTION "ListJobs", limit ? limit : 100,
                        a->given[OPT_JSON] ? put_as_it_is : put_jobs_for_people, err);
}

cuzk_status cmd_trace(const args *a, json_out *o, cuzk_error *err) {
    rpc_client *c;
    char *json;
    const char *path = a->value[OPT_OUT];
    if (check_output(a, path, err) || client_open(a, &c, err)) return err->status;
    cuzk_status s = client_document(c, INSPECTION "GetTrace", a->operand[0], 0, &json, err);
    rpc_client_close(c);
    if (s) return s;
    size_t n = strlen(json);
    s = file_write_all(path, json, n, false, err);
    free(json);
    if (s) return s;
    put_text(o, "trace", path);
    put_number(o, "bytes", n);
    return CUZK_OK;
}

cuzk_status cmd_metrics(const args *a, json_out *o, cuzk_error *err) {
    uint8_t *reply;
    size_t n;
    if (client_ask(a, PROVING "GetMetrics", 0, NULL, &reply, &n, err)) return err->status;
    Cuzk__V1__GetMetricsResponse *r = cuzk__v1__get_metrics_response__unpack(NULL, n, reply);
    free(reply);
    if (!r) return client_bad_answer(err);
    if (a->given[OPT_JSON])
        put_text(o, "metrics", r->prometheus_text);
    else
        fputs(r->prometheus_text, stdout);
    cuzk__v1__get_metrics_response__free_unpacked(r, NULL);
    return CUZK_OK;
}

/* ---- top ---- */

/* A member by its path ("memory.total_bytes"); NULL when it is not there. */
static const json_node *at(const json_node *n, const char *path) {
    char name[64];
    while (n && *path) {
        size_t len = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)len, path);
        n = json_member(n, name);
        path += len + (path[len] == '.');
    }
    return n;
}

static const char *text_at(const json_node *n, const char *path) {
    const json_node *m = at(n, path);
    return m && m->kind == JSON_STRING ? m->text : "";
}

static double number_at(const json_node *n, const char *path) {
    const json_node *m = at(n, path);
    return m && m->kind == JSON_NUMBER ? strtod(m->text, NULL) : 0;
}

static bool true_at(const json_node *n, const char *path) {
    const json_node *m = at(n, path);
    return m && m->kind == JSON_TRUE;
}

typedef struct screen {
    unsigned rows, columns, used;
    FILE *f;
} screen;

/* One line, cut at the screen's width; foreign bytes do not drive the terminal. */
static void __attribute__((format(printf, 2, 3))) line(screen *s, const char *fmt, ...) {
    char text[1024];
    va_list list;
    if (s->used >= s->rows) return;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    unsigned column = 0;
    for (char *p = text; *p && column < s->columns; column++) {
        size_t n = text_utf8_char(p, strlen(p));
        bool plain = n > 0 && (unsigned char)*p >= 0x20 && *p != 0x7f;
        if (plain)
            fwrite(p, 1, n, s->f);
        else
            fputc('?', s->f);
        p += n ? n : 1;
    }
    fputs("\n", s->f);
    s->used++;
}

static const char *size_text(char out[24], double bytes) {
    text_size(out, bytes > 0 ? (uint64_t)bytes : 0);
    return out;
}

static void bar(char *out, unsigned cells, double part, double whole) {
    unsigned full = whole > 0 ? (unsigned)(part / whole * cells + 0.5) : 0;
    if (full > cells) full = cells;
    memset(out, '.', cells);
    memset(out, '#', full);
    out[cells] = 0;
}

static void draw_head(screen *s, const json_node *d, const char *address) {
    char used[24], total[24], rss[24], gauge[41];
    unsigned up = (unsigned)number_at(d, "uptime_secs");
    line(s, "cuzk %s at %s, up %u h %02u min%s", text_at(d, "version"), address, up / 3600, up / 60 % 60,
         true_at(d, "draining") ? ", draining" : "");
    if (text_at(d, "trouble")[0]) line(s, "TROUBLE: %s", text_at(d, "trouble"));
    bar(gauge, 40, number_at(d, "memory.used_bytes"), number_at(d, "memory.total_bytes"));
    line(s, "memory   [%s] %s of %s reserved, resident %s", gauge, size_text(used, number_at(d, "memory.used_bytes")),
         size_text(total, number_at(d, "memory.total_bytes")), size_text(rss, number_at(d, "memory.rss_bytes")));
    line(s, "jobs     %.0f queued, %.0f running, %.0f completed, %.0f failed, %.0f cancelled",
         number_at(d, "counters.queue_depth"), number_at(d, "counters.running"),
         number_at(d, "counters.total_completed"), number_at(d, "counters.total_failed"),
         number_at(d, "counters.total_cancelled"));
    line(s, "pipeline %.0f of %.0f synthesis workers busy, %.0f of %.0f partitions wait for a device, retries %.0f",
         number_at(d, "synthesis.active"), number_at(d, "synthesis.max_concurrent"),
         number_at(d, "queue.partitions_waiting"), number_at(d, "queue.partitions_limit"),
         number_at(d, "counters.retries"));
}

static const json_node *first_of(const json_node *d, const char *path) {
    const json_node *list = at(d, path);
    return list && list->kind == JSON_ARRAY ? list->first : NULL;
}

static void draw_devices(screen *s, const json_node *d) {
    char free_bytes[24], total[24];
    for (const json_node *m = first_of(d, "devices"); m; m = m->next)
        line(s, "%-8s %s, %s free of %s, %.0f proofs, %.0f faults%s%s", text_at(m, "id"), text_at(m, "name"),
             size_text(free_bytes, number_at(m, "free_bytes")), size_text(total, number_at(m, "memory_bytes")),
             number_at(m, "proofs"), number_at(m, "faults"), true_at(m, "quarantined") ? ", QUARANTINED: " : "",
             text_at(m, "why"));
    for (const json_node *m = first_of(d, "workers"); m; m = m->next)
        if (true_at(m, "busy"))
            line(s, "  %-24s %s partition %.0f, %.1f s", text_at(m, "lane"), text_at(m, "job_id"),
                 number_at(m, "partition"), number_at(m, "busy_secs"));
}

static void draw_jobs(screen *s, const json_node *d) {
    line(s, "%-9s %-9s %-22s %11s %9s  %s", "STATE", "PRIORITY", "CIRCUIT", "PARTITIONS", "AGE s", "JOB");
    for (const json_node *m = first_of(d, "jobs"); m; m = m->next) {
        char parts[32];
        snprintf(parts, sizeof parts, "%.0f/%.0f", number_at(m, "partitions_done"), number_at(m, "total_partitions"));
        const char *circuit = text_at(m, "circuit"), *what = text_at(m, "error.what");
        line(s, "%-9s %-9s %-22s %11s %9.1f  %s%s%s", text_at(m, "state"), text_at(m, "priority"),
             circuit[0] ? circuit : text_at(m, "kind"), parts, number_at(m, "age_secs"), text_at(m, "job_id"),
             what[0] ? ": " : "", what);
    }
}

static void draw(const json_node *d, const char *address, bool terminal) {
    struct winsize size = {0};
    screen s = {.rows = 10000, .columns = 400, .f = stdout};
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0) {
        s.rows = size.ws_row - 1u;
        s.columns = size.ws_col;
    }
    if (terminal) fputs("\033[H\033[2J", stdout);
    draw_head(&s, d, address);
    line(&s, "%s", "");
    draw_devices(&s, d);
    line(&s, "%s", "");
    draw_jobs(&s, d);
    fflush(stdout);
}

/* On a terminal until a signal comes, elsewhere once. */
cuzk_status cmd_top(const args *a, json_out *o, cuzk_error *err) {
    rpc_client *c;
    document d;
    uint64_t every;
    bool terminal = isatty(STDOUT_FILENO) == 1 && !a->given[OPT_JSON];
    if (args_number(a, OPT_INTERVAL, 1, 3600, &every, err)) return err->status;
    if (a->given[OPT_JSON]) return cmd_status(a, o, err);
    if (client_open(a, &c, err)) return err->status;
    cuzk_status s;
    do {
        s = fetch(c, INSPECTION "GetStatusDocument", NULL, 0, &d, err);
        if (!s) draw(d.top, rpc_client_address(c), terminal);
        document_free(&d);
        if (!s && terminal) poll(NULL, 0, (int)(every ? every : 1) * 1000); /* a signal ends it */
    } while (!s && terminal && !atomic_load(a->control->cancel));
    if (s == CUZK_CANCELLED) s = CUZK_OK; /* the usual way out */
    rpc_client_close(c);
    return s;
}
