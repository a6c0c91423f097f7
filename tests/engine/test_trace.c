/* The event trace: rings, order, histograms, and the Chrome document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/json.h"
#include "engine/trace.h"

static trace *make(size_t events, size_t samples) {
    cuzk_error e;
    trace *t = trace_create(events, samples, &e);
    assert_non_null(t);
    return t;
}

static void the_newest_stay_oldest_first(void **state) {
    (void)state;
    trace *t = make(4, 3);
    trace_event got[8];
    assert_int_equal(trace_events(t, -1, got, 8), 0);
    for (uint64_t job = 1; job <= 6; job++) trace_record(t, TRACE_SYNTH_START, job, 7, "synthesis 0");
    assert_int_equal(trace_events(t, -1, got, 8), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(got[i].job, 3 + i);
        assert_int_equal(got[i].partition, 7);
        assert_int_equal(got[i].kind, TRACE_SYNTH_START);
        assert_string_equal(got[i].lane, "synthesis 0");
        if (i) assert_true(got[i].at > got[i - 1].at);
    }
    assert_int_equal(trace_events(t, got[1].at, got + 4, 4), 2);
    assert_int_equal(got[4].job, 5);
    assert_int_equal(trace_events(t, -1, got, 2), 2);
    assert_int_equal(got[0].job, 5);
    assert_int_equal(trace_count(t, TRACE_SYNTH_START), 6);
    assert_int_equal(trace_count(t, TRACE_SYNTH_DONE), 0);
    for (int i = 1; i <= 5; i++) trace_sample_add(t, &(trace_sample){.at = i, .rss = (uint64_t)i});
    trace_sample samples[3];
    assert_int_equal(trace_samples(t, -1, samples, 3), 3);
    assert_int_equal(samples[0].rss, 3);
    assert_int_equal(trace_samples(t, 4, samples, 3), 1);
    assert_int_equal(samples[0].rss, 5);
    trace_destroy(t);
}

static void an_event_holds_what_is_tracked_at_its_moment(void **state) {
    (void)state;
    cuzk_error e;
    buffer b;
    trace_event got[2];
    trace *t = make(2, 1);
    trace_record(t, TRACE_SYNTH_START, 1, 0, "a lane whose name is too long for its field");
    assert_int_equal(buffer_alloc(&b, BUFFER_NTT, 3 << 20, &e), CUZK_OK);
    trace_record(t, TRACE_SYNTH_DONE, 1, 0, "");
    buffer_free(&b);
    assert_int_equal(trace_events(t, -1, got, 2), 2);
    assert_int_equal(got[1].host_live - got[0].host_live, 3 << 20);
    assert_int_equal(strlen(got[0].lane), sizeof got[0].lane - 1);
    trace_destroy(t);
}

static void the_rings_are_given_back(void **state) {
    (void)state;
    buffer_stats before = buffer_total_stats();
    trace_destroy(make(1 << 16, 3600));
    trace_destroy(NULL);
    assert_int_equal(buffer_total_stats().live_bytes, before.live_bytes);
}

enum { THREADS = 4, EACH = 5000 };

static void *record_many(void *user) {
    for (int i = 0; i < EACH; i++) {
        trace_record(user, TRACE_FINISHED, (uint64_t)i, 0, "finish 0");
        trace_observe(user, "porep", "device", 0.5);
    }
    return NULL;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    trace *t = make(THREADS * EACH, 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, record_many, t), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    trace_event *got = calloc(THREADS * EACH, sizeof *got);
    assert_non_null(got);
    assert_int_equal(trace_events(t, -1, got, THREADS * EACH), THREADS * EACH);
    for (int i = 1; i < THREADS * EACH; i++) assert_true(got[i].at > got[i - 1].at);
    assert_int_equal(trace_histogram_get(t, "porep", TRACE_STAGE_DEVICE).count, THREADS * EACH);
    free(got);
    trace_destroy(t);
}

static void histograms_count_by_kind_and_stage(void **state) {
    (void)state;
    trace *t = make(1, 1);
    assert_null(trace_proof_kind(t, 0));
    trace_observe(t, "porep", "total", 0.001); /* a bound belongs to the bucket below it */
    trace_observe(t, "porep", "total", 0.0011);
    trace_observe(t, "porep", "total", 1e9);
    trace_observe(t, "porep", "total", 2);
    trace_observe(t, "snap", "queue", 0);
    trace_observe(t, "snap", "no such stage", 1);
    trace_observe(t, "snap", "queue", -1);
    trace_observe(t, "snap", "queue", NAN);
    trace_observe(t, "", "queue", 1);
    trace_histogram h = trace_histogram_get(t, "porep", TRACE_STAGE_TOTAL);
    assert_int_equal(h.count, 4);
    assert_int_equal(h.buckets[0], 1);
    assert_int_equal(h.buckets[1], 1);
    assert_int_equal(h.buckets[TRACE_BUCKETS - 1], 1);
    assert_true(fabs(h.sum - 1000000002.0021) < 1e-6);
    assert_true(h.max == 1e9 && h.last == 2);
    uint64_t sum = 0;
    for (int i = 0; i < TRACE_BUCKETS; i++) sum += h.buckets[i];
    assert_int_equal(sum, 4);
    assert_int_equal(trace_histogram_get(t, "snap", TRACE_STAGE_QUEUE).count, 1);
    assert_int_equal(trace_histogram_get(t, "window-post", TRACE_STAGE_QUEUE).count, 0);
    assert_string_equal(trace_proof_kind(t, 0), "porep");
    assert_string_equal(trace_proof_kind(t, 1), "snap");
    assert_null(trace_proof_kind(t, 2));
    for (char k = 'a'; k < 'z'; k++) trace_observe(t, (char[2]){k, 0}, "queue", 1);
    assert_null(trace_proof_kind(t, TRACE_PROOF_KINDS));
    assert_int_equal(trace_histogram_get(t, "y", TRACE_STAGE_QUEUE).count, 0);
    trace_destroy(t);
}

static void bounds_rise(void **state) {
    (void)state;
    for (int i = 1; i < TRACE_BUCKETS - 1; i++) assert_true(trace_bounds[i] > trace_bounds[i - 1]);
}

/* ---- the Chrome document ---- */

typedef struct document {
    char *text;
    arena *memory;
    json_node *root;
} document;

static document read_document(trace *t, uint64_t job) {
    cuzk_error e;
    document d = {0};
    assert_int_equal(trace_chrome_json(t, job, &d.text, &e), CUZK_OK);
    d.memory = arena_create(BUFFER_OTHER, 0, &e);
    assert_non_null(d.memory);
    size_t n = strlen(d.text);
    assert_int_equal(json_tree(&d.root, d.memory, "trace", d.text, n, n + 1, &e), CUZK_OK);
    return d;
}

static void free_document(document *d) {
    arena_destroy(d->memory);
    free(d->text);
}

static bool is(const json_node *entry, const char *key, const char *value) {
    const json_node *m = json_member(entry, key);
    return m && m->text && !strcmp(m->text, value);
}

/* Entries with this phase and name; *last is the last of them. */
static int count(const document *d, const char *phase, const char *name, const json_node **last) {
    int n = 0;
    const json_node *list = json_member(d->root, "traceEvents");
    assert_non_null(list);
    for (const json_node *m = list->first; m; m = m->next) {
        if (!is(m, "ph", phase) || !is(m, "name", name)) continue;
        n++;
        if (last) *last = m;
    }
    return n;
}

static double number(const json_node *entry, const char *key) {
    const json_node *m = json_member(entry, key);
    assert_non_null(m);
    return strtod(m->text, NULL);
}

static void one_partition(trace *t, uint64_t job) {
    trace_record(t, TRACE_SYNTH_START, job, 3, "synthesis 0");
    trace_record(t, TRACE_SYNTH_DONE, job, 3, "synthesis 0");
    trace_record(t, TRACE_DEVICE_QUEUED, job, 3, "");
    trace_record(t, TRACE_DEVICE_TAKEN, job, 3, "cuda:0/1");
    trace_record(t, TRACE_ABC_FREED, job, 3, "cuda:0/1");
    trace_record(t, TRACE_PENDING, job, 3, "cuda:0/1");
    trace_record(t, TRACE_FINISH_START, job, 3, "finish 0");
    trace_record(t, TRACE_FINISHED, job, 3, "finish 0");
    trace_record(t, TRACE_VERIFY_START, job, TRACE_NO_PARTITION, "finish 0");
    trace_record(t, TRACE_VERIFIED, job, TRACE_NO_PARTITION, "finish 0");
}

static void chrome_has_a_slice_per_stage(void **state) {
    (void)state;
    trace *t = make(64, 4);
    trace_record(t, TRACE_JOB_SUBMITTED, 1, TRACE_NO_PARTITION, "");
    one_partition(t, 1);
    trace_record(t, TRACE_JOB_ENDED, 1, TRACE_NO_PARTITION, "");
    trace_sample_add(t, &(trace_sample){.at = cpu_monotonic_seconds(), .rss = 77, .budget_total = 100});
    document d = read_document(t, 0);
    const json_node *e;
    const char *const names[] = {"synthesis", "device", "finish", "verify"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(count(&d, "X", names[i], &e), 1);
        assert_true(number(e, "dur") >= 0 && number(e, "ts") >= 0);
        assert_null(json_member(json_member(e, "args"), "running"));
    }
    assert_int_equal(count(&d, "X", "synthesis", &e), 1);
    assert_true(is(json_member(e, "args"), "partition", "3") && is(json_member(e, "args"), "job", "1"));
    assert_int_equal(count(&d, "b", "waits for a device", NULL), 1);
    assert_int_equal(count(&d, "e", "waits for a device", NULL), 1);
    assert_int_equal(count(&d, "b", "job", NULL), 1);
    assert_int_equal(count(&d, "e", "job", NULL), 1);
    assert_int_equal(count(&d, "i", "abc_freed", NULL), 1);
    assert_int_equal(count(&d, "M", "thread_name", NULL), 3);
    assert_int_equal(count(&d, "C", "tracked bytes", NULL), 12);
    assert_int_equal(count(&d, "C", "memory", &e), 1);
    assert_true(is(json_member(e, "args"), "rss", "77"));
    assert_int_equal(count(&d, "C", "bytes by class", &e), 1);
    assert_int_equal(json_member(e, "args")->len, BUFFER_CLASSES);
    free_document(&d);
    trace_destroy(t);
}

static void chrome_of_one_job_holds_no_other(void **state) {
    (void)state;
    trace *t = make(64, 4);
    one_partition(t, 1);
    one_partition(t, 2);
    document d = read_document(t, 2);
    const json_node *e;
    assert_int_equal(count(&d, "X", "synthesis", &e), 1);
    assert_true(is(json_member(e, "args"), "job", "2"));
    assert_true(number(e, "ts") == 0);
    free_document(&d);
    d = read_document(t, 3);
    assert_int_equal(count(&d, "X", "synthesis", NULL), 0);
    free_document(&d);
    trace_destroy(t);
}

static void chrome_shows_what_runs_and_what_failed(void **state) {
    (void)state;
    trace *t = make(64, 4);
    const json_node *e;
    trace_record(t, TRACE_DEVICE_TAKEN, 1, 0, "cuda:0/0");
    trace_record(t, TRACE_DEVICE_FAULT, 1, 0, "cuda:0/0");
    trace_record(t, TRACE_DEVICE_TAKEN, 1, 0, "cuda:0/0");
    trace_record(t, TRACE_SYNTH_DONE, 5, 0, "synthesis 1"); /* its start is forgotten */
    document d = read_document(t, 0);
    assert_int_equal(count(&d, "X", "device", &e), 2);
    assert_true(is(e, "name", "device") && json_member(json_member(e, "args"), "running"));
    assert_null(json_member(json_member(e, "args"), "failed"));
    const json_node *first = json_member(d.root, "traceEvents")->first;
    while (!is(first, "ph", "X")) first = first->next;
    assert_non_null(json_member(json_member(first, "args"), "failed"));
    assert_true(number(json_member(d.root, "otherData"), "made_us") + 1 >= number(e, "ts") + number(e, "dur"));
    assert_int_equal(count(&d, "i", "device_fault", NULL), 1);
    assert_int_equal(count(&d, "X", "synthesis", NULL), 0);
    free_document(&d);
    trace_destroy(t);
}

static void an_empty_trace_is_a_document(void **state) {
    (void)state;
    trace *t = make(4, 4);
    document d = read_document(t, 0);
    assert_int_equal(count(&d, "M", "process_name", NULL), 1);
    free_document(&d);
    trace_destroy(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_stay_oldest_first),
        cmocka_unit_test(an_event_holds_what_is_tracked_at_its_moment),
        cmocka_unit_test(the_rings_are_given_back),
        cmocka_unit_test(threads_lose_nothing),
        cmocka_unit_test(histograms_count_by_kind_and_stage),
        cmocka_unit_test(bounds_rise),
        cmocka_unit_test(chrome_has_a_slice_per_stage),
        cmocka_unit_test(chrome_of_one_job_holds_no_other),
        cmocka_unit_test(chrome_shows_what_runs_and_what_failed),
        cmocka_unit_test(an_empty_trace_is_a_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
