/* Jobs through the engine on the CPU: proofs, identity, cancelling, deadlines, refusals, memory given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include "base/cpu.h"
#include "base/file.h"
#include "engine/engine_case.h"
#include "engine/view.h"
#include "ref/groth16_case.h"
#include "ref/sanitized.h"

static char folder[256];
static cuzk_engine *engine;

static int make_folder(void **state) {
    (void)state;
    case_folder_make(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    case_folder_remove(folder);
    return 0;
}

static void open_engine(void) {
    cuzk_engine_options o = engine_case_options();
    engine = engine_case_start(&o, NULL, 0, NULL);
}

static void close_engine(double drain) {
    cuzk_engine_stop(engine, drain);
    engine = NULL;
}

static void submit_toy(const char *id, uint64_t bytes, unsigned partitions, uint64_t start, unsigned witness_ms) {
    char *request = toy_request(bytes, partitions, start, -1, witness_ms);
    cuzk_submission s = engine_case_toy(id, request);
    engine_case_submit(engine, &s, false);
    free(request);
}

/* ---- proofs ---- */

static void one_job(void **state) {
    (void)state;
    open_engine();
    submit_toy("one", 1024, 1, 5, 0);
    engine_case_expect(engine, "one", CUZK_JOB_COMPLETED, 1024, 1, 5);
    close_engine(0);
}

static void many_partitions(void **state) {
    (void)state;
    open_engine();
    submit_toy("many", 1024, 7, 100, 0);
    submit_toy("other", 2048, 3, 9, 0);
    engine_case_expect(engine, "many", CUZK_JOB_COMPLETED, 1024, 7, 100);
    engine_case_expect(engine, "other", CUZK_JOB_COMPLETED, 2048, 3, 9);
    close_engine(0);
}

static void lazy_witnesses(void **state) {
    (void)state;
    open_engine();
    char *request = toy_request(4096, 2, 3, -1, 0);
    cuzk_submission s = engine_case_toy("lazy", request);
    s.kind = "toy-lazy";
    engine_case_submit(engine, &s, false);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, "lazy", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    assert_true(toy_verify(&toy_lazy_kind, 4096, 2, 3, r.proof, r.proof_bytes));
    assert_true(r.times.total > 0 && r.times.device > 0 && r.times.synthesis > 0 && r.times.verify > 0);
    assert_int_equal(r.attempts, 1);
    cuzk_job_result_free(&r);
    free(request);
    close_engine(0);
}

/* ---- false and malformed inputs ---- */

static void expect_failure(const char *id, const char *request, cuzk_status status, const char *where) {
    cuzk_submission s = engine_case_toy(id, request);
    cuzk_job_result r;
    cuzk_error err;
    engine_case_submit(engine, &s, false);
    assert_int_equal(cuzk_engine_await(engine, id, 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_FAILED);
    assert_int_equal(r.error.status, status);
    assert_null(r.proof);
    if (!strstr(r.error.where, where)) fail_msg("where is \"%s\"", r.error.where);
    cuzk_job_result_free(&r);
}

static void false_inputs(void **state) {
    (void)state;
    open_engine();
    expect_failure("bad-witness", "{\"partitions\": 3, \"unsatisfied\": [1]}", CUZK_UNSATISFIED, "partition 1");
    expect_failure("bad-check", "{\"bad_check\": true}", CUZK_UNSATISFIED, "partition 0");
    close_engine(0);
}

static void expect_refusal(const cuzk_submission *s, cuzk_status status) {
    cuzk_job_ticket ticket;
    cuzk_error err;
    cuzk_status found = cuzk_engine_submit(engine, s, &ticket, &err);
    if (found != status) fail_msg("%s, wanted %s", cuzk_status_name(found), cuzk_status_name(status));
    assert_true(err.what[0] != 0);
}

static void refusals(void **state) {
    (void)state;
    char id[400];
    open_engine();
    cuzk_submission s = engine_case_toy("a", "{}");
    s.kind = "tay";
    expect_refusal(&s, CUZK_USAGE);
    s.kind = NULL;
    expect_refusal(&s, CUZK_USAGE);
    s = engine_case_toy("a", "{\"partitions\": 0}");
    expect_refusal(&s, CUZK_MALFORMED);
    s = engine_case_toy("a", "{\"partitions\"");
    expect_refusal(&s, CUZK_MALFORMED);
    s = engine_case_toy("a", "");
    expect_refusal(&s, CUZK_USAGE);
    s = engine_case_toy("a", "{\"bytes\": 1025}");
    expect_refusal(&s, CUZK_USAGE);
    memset(id, 'x', sizeof id);
    id[sizeof id - 1] = 0;
    s = engine_case_toy(id, "{}");
    expect_refusal(&s, CUZK_USAGE);
    s = engine_case_toy("a", "{}");
    s.policy = CUZK_REQUIRE_GPU;
    expect_refusal(&s, CUZK_DEVICE);
    s.policy = (cuzk_device_policy)9;
    expect_refusal(&s, CUZK_USAGE);
    /* None of them is a job. */
    engine_case_expect(engine, "a", CUZK_JOB_UNKNOWN, 0, 0, 0);
    engine_drain(engine);
    s = engine_case_toy("a", "{}");
    expect_refusal(&s, CUZK_REFUSED);
    close_engine(0);
}

static void circuits_not_enabled(void **state) {
    (void)state;
    static const char *const names[] = {"toy-2kib", "winning-post-2kib"}, *const wrong[] = {"toy-3kib"};
    cuzk_engine_options o = engine_case_options();
    o.circuits = names;
    o.n_circuits = 2;
    engine = engine_case_start(&o, NULL, 0, NULL);
    cuzk_submission s = engine_case_toy("a", "{}");
    expect_refusal(&s, CUZK_USAGE);
    s = engine_case_toy("b", "{\"bytes\": 2048}");
    engine_case_submit(engine, &s, false);
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 2048, 1, 1);
    close_engine(0);
    cuzk_error err;
    o.circuits = wrong;
    o.n_circuits = 1;
    engine_setup none = {0};
    assert_int_equal(engine_start(&engine, &o, &none, &err), CUZK_USAGE);
    assert_null(engine);
}

static void no_key(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.development_keys = false;
    o.params_folder = folder;
    engine = engine_case_start(&o, NULL, 0, NULL);
    expect_failure("a", "{}", CUZK_KEY_MISSING, "");
    close_engine(0);
}

static void too_large(void **state) {
    (void)state;
    cuzk_engine_options o = engine_case_options();
    o.memory_bytes = ((uint64_t)8 << 20) + ((uint64_t)5 << 20);
    engine = engine_case_start(&o, NULL, 0, NULL);
    cuzk_submission s = engine_case_toy("a", "{\"bytes\": 262144}");
    engine_case_submit(engine, &s, false);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, "a", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_FAILED);
    assert_int_equal(r.error.status, CUZK_TOO_LARGE);
    assert_non_null(strstr(r.error.found, "need of"));
    assert_non_null(strstr(r.error.expected, "at most"));
    /* What fits is proved still. */
    s = engine_case_toy("b", "{\"start\": 4}");
    engine_case_submit(engine, &s, false);
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 1024, 1, 4);
    close_engine(0);
    o.memory_bytes = 4 << 20;
    engine_setup none = {0};
    assert_int_equal(engine_start(&engine, &o, &none, &err), CUZK_MEMORY);
}

/* ---- identity ---- */

static void equal_jobs_join(void **state) {
    (void)state;
    open_engine();
    char *request = toy_request(1024, 2, 1, -1, 50);
    cuzk_submission s = engine_case_toy("same", request);
    engine_case_submit(engine, &s, false);
    engine_case_submit(engine, &s, true);
    engine_case_expect(engine, "same", CUZK_JOB_COMPLETED, 1024, 2, 1);
    engine_case_submit(engine, &s, true); /* successful: joined, too */
    engine_case_expect(engine, "same", CUZK_JOB_COMPLETED, 1024, 2, 1);
    /* Another kind or another size is another content. */
    s.sector_bytes = 2048;
    engine_case_submit(engine, &s, false);
    engine_case_expect(engine, "same", CUZK_JOB_COMPLETED, 2048, 2, 1);
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    assert_int_equal(v.joined, 2);
    assert_int_equal(v.n_jobs, 2);
    engine_view_free(&v);
    free(request);
    close_engine(0);
}

static void a_failed_one_is_tried_anew(void **state) {
    (void)state;
    open_engine();
    for (int i = 0; i < 2; i++) expect_failure("again", "{\"unsatisfied\": [0]}", CUZK_UNSATISFIED, "partition 0");
    cuzk_submission s = engine_case_toy("again", "{\"start\": 8}");
    engine_case_submit(engine, &s, false);
    engine_case_expect(engine, "again", CUZK_JOB_COMPLETED, 1024, 1, 8);
    close_engine(0);
}

static void ids_are_made(void **state) {
    (void)state;
    open_engine();
    cuzk_submission s = engine_case_toy(NULL, "{}");
    cuzk_job_ticket a, b;
    cuzk_error err;
    assert_int_equal(cuzk_engine_submit(engine, &s, &a, &err), CUZK_OK);
    s.request_id = "";
    assert_int_equal(cuzk_engine_submit(engine, &s, &b, &err), CUZK_OK);
    assert_int_equal(strlen(a.job_id), 36);
    assert_string_not_equal(a.job_id, b.job_id);
    assert_false(b.joined);
    engine_case_expect(engine, a.job_id, CUZK_JOB_COMPLETED, 1024, 1, 1);
    engine_case_expect(engine, b.job_id, CUZK_JOB_COMPLETED, 1024, 1, 1);
    close_engine(0);
}

static bool is_running(void *id) {
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, id, 0, &r, &err), CUZK_OK);
    cuzk_job_result_free(&r);
    return r.state == CUZK_JOB_RUNNING;
}

static void submit_text(const char *id, const char *request) {
    cuzk_submission s = engine_case_toy(id, request);
    engine_case_submit(engine, &s, false);
}

/* The id is there with other content: nobody waits for the old one, which goes; a waiter keeps it. */
static void other_content(void **state) {
    (void)state;
    open_engine();
    submit_text("x", "{\"partitions\": 40, \"witness_ms\": 100}");
    assert_true(engine_case_until(is_running, "x"));
    uint64_t old = engine_find(engine, "x");
    submit_text("x", "{\"start\": 20}");
    engine_case_expect(engine, "x", CUZK_JOB_COMPLETED, 1024, 1, 20);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(engine_await_seq(engine, old, 10, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_CANCELLED);
    assert_int_equal(r.error.status, CUZK_CANCELLED);

    submit_text("y", "{\"partitions\": 4, \"witness_ms\": 100, \"start\": 30}");
    uint64_t waited = engine_wait_begin(engine, "y");
    assert_int_equal(waited, engine_find(engine, "y"));
    submit_text("y", "{\"start\": 40}");
    engine_case_expect(engine, "y", CUZK_JOB_COMPLETED, 1024, 1, 40);
    assert_int_equal(engine_await_seq(engine, waited, 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    assert_true(toy_verify(&toy_kind, 1024, 4, 30, r.proof, r.proof_bytes));
    cuzk_job_result_free(&r);
    engine_wait_end(engine, waited, false);

    /* The last waiter goes: so does the job. */
    submit_text("z", "{\"partitions\": 40, \"witness_ms\": 100}");
    waited = engine_wait_begin(engine, "z");
    submit_text("z", "{}");
    assert_int_equal(engine_await_seq(engine, waited, 0, &r, &err), CUZK_OK);
    assert_true(r.state == CUZK_JOB_QUEUED || r.state == CUZK_JOB_RUNNING);
    engine_wait_end(engine, waited, false);
    assert_int_equal(engine_await_seq(engine, waited, 10, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_CANCELLED);
    engine_case_expect(engine, "z", CUZK_JOB_COMPLETED, 1024, 1, 1);
    close_engine(0);
}

/* ---- ending early ---- */

static uint64_t reserved(void) {
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    uint64_t bytes = v.host.reserved;
    for (size_t i = 0; i < v.n_resources; i++) bytes -= v.resources[i].charged_bytes;
    engine_view_free(&v);
    return bytes;
}

static bool nothing_reserved(void *user) {
    (void)user;
    return reserved() == (uint64_t)8 << 20; /* the room for inputs */
}

static void cancelled(void **state) {
    (void)state;
    bool there;
    cuzk_error err;
    open_engine();
    assert_int_equal(cuzk_engine_cancel(engine, "nobody", &there, &err), CUZK_OK);
    assert_false(there);
    submit_text("run",
                TEST_SANITIZED ? "{\"bytes\": 65536, \"partitions\": 20}" : "{\"bytes\": 262144, \"partitions\": 20}");
    submit_text("wait", "{\"partitions\": 2}");
    assert_true(engine_case_until(is_running, "run"));
    assert_int_equal(cuzk_engine_cancel(engine, "wait", &there, &err), CUZK_OK);
    assert_true(there);
    engine_case_expect(engine, "wait", CUZK_JOB_CANCELLED, 0, 0, 0);
    assert_int_equal(cuzk_engine_cancel(engine, "wait", &there, &err), CUZK_OK);
    assert_false(there);
    double start = cpu_monotonic_seconds();
    assert_int_equal(cuzk_engine_cancel(engine, "run", &there, &err), CUZK_OK);
    assert_true(there);
    engine_case_expect(engine, "run", CUZK_JOB_CANCELLED, 0, 0, 0);
    assert_true(engine_case_until(nothing_reserved, NULL));
    double took = cpu_monotonic_seconds() - start;
    print_message("memory back %.3f s after cancelling\n", took);
    assert_true(took < 1.0);
    submit_text("next", "{\"start\": 6}");
    engine_case_expect(engine, "next", CUZK_JOB_COMPLETED, 1024, 1, 6);
    close_engine(0);
}

static void deadlines(void **state) {
    (void)state;
    open_engine();
    cuzk_submission s = engine_case_toy("late", "{\"partitions\": 50, \"witness_ms\": 100}");
    s.deadline_seconds = 0.3;
    engine_case_submit(engine, &s, false);
    double start = cpu_monotonic_seconds();
    engine_case_expect(engine, "late", CUZK_JOB_CANCELLED, 0, 0, 0);
    assert_true(cpu_monotonic_seconds() - start < 2);
    assert_true(engine_case_until(nothing_reserved, NULL));
    s = engine_case_toy("early", "{}");
    s.deadline_seconds = 60;
    engine_case_submit(engine, &s, false);
    engine_case_expect(engine, "early", CUZK_JOB_COMPLETED, 1024, 1, 1);
    close_engine(0);
}

/* An engine without work changes nothing. */
static bool is_quiet(void *user) {
    uint64_t *seen = user, before = *seen;
    *seen = engine_generation(engine, before, 0.1);
    return *seen == before;
}

static void awaiting(void **state) {
    (void)state;
    cuzk_job_result r;
    cuzk_error err;
    open_engine();
    assert_int_equal(cuzk_engine_await(engine, "nobody", -1, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_UNKNOWN);
    submit_text("slow", "{\"partitions\": 3, \"witness_ms\": 300}");
    double start = cpu_monotonic_seconds();
    assert_int_equal(cuzk_engine_await(engine, "slow", 0.1, &r, &err), CUZK_OK);
    assert_true(r.state == CUZK_JOB_QUEUED || r.state == CUZK_JOB_RUNNING);
    assert_true(cpu_monotonic_seconds() - start < 0.8); /* the job takes 0.9 s */
    assert_int_equal(cuzk_engine_await(engine, "slow", -1, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    cuzk_job_result_free(&r);
    uint64_t seen = engine_generation(engine, 0, 0);
    assert_true(seen > 1);
    assert_true(engine_case_until(is_quiet, &seen));
    start = cpu_monotonic_seconds();
    submit_text("another", "{}");
    assert_true(engine_generation(engine, seen, 10) > seen);
    assert_true(cpu_monotonic_seconds() - start < 5);
    engine_case_expect(engine, "another", CUZK_JOB_COMPLETED, 1024, 1, 1);
    close_engine(0);
}

/* ---- memory ---- */

/* All counters as before the engine; while it idles, only keys and shapes are held. */
static void nothing_is_left(void **state) {
    (void)state;
    uint64_t live = buffer_total_stats().live_bytes, count = buffer_total_stats().live_count;
    open_engine();
    const int n = TEST_SANITIZED ? 4 : 10;
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        submit_toy(id, i % 2 ? 1024 : 4096, 3, (uint64_t)i, 0);
    }
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        engine_case_expect(engine, id, CUZK_JOB_COMPLETED, i % 2 ? 1024 : 4096, 3, (uint64_t)i);
    }
    assert_true(engine_case_until(nothing_reserved, NULL));
    assert_int_equal(buffer_class_stats(BUFFER_WITNESS).live_bytes, 0);
    assert_int_equal(buffer_class_stats(BUFFER_EVAL_ABC).live_bytes, 0);
    assert_int_equal(buffer_class_stats(BUFFER_MSM_SCRATCH).live_bytes, 0);
    assert_int_equal(buffer_class_stats(BUFFER_REQUEST).live_bytes, 0);
    close_engine(0);
    assert_int_equal(buffer_total_stats().live_bytes, live);
    assert_int_equal(buffer_total_stats().live_count, count);
}

/* Without a store on disk an input waits in the room for inputs, in half of it at most, and goes with its job. */
static void inputs_wait_in_their_room(void **state) {
    (void)state;
    const size_t mib = (size_t)1 << 20;
    cuzk_job_ticket ticket;
    cuzk_error err;
    bool there;
    open_engine();
    char *text = malloc(3 * mib + 100);
    int n = sprintf(text, "{\"check_ms\": 60000, \"pad\": \"");
    memset(text + n, 'x', 3 * mib);
    memcpy(text + (size_t)n + 3 * mib, "\"}", 3);
    cuzk_submission s = engine_case_toy("a", text);
    engine_case_submit(engine, &s, false);
    assert_false(engine_request_try(engine, 5 * mib));
    assert_true(engine_request_try(engine, 4 * mib));
    engine_request_done(engine, 4 * mib);
    s.request_id = "b";
    assert_int_equal(cuzk_engine_submit(engine, &s, &ticket, &err), CUZK_MEMORY);
    assert_non_null(strstr(err.hint, "submit it again"));
    char *larger = calloc(1, 5 * mib);
    cuzk_submission never = s;
    never.request = (cuzk_bytes){larger, 5 * mib};
    assert_int_equal(cuzk_engine_submit(engine, &never, &ticket, &err), CUZK_TOO_LARGE);
    assert_null(strstr(err.hint, "again"));
    free(larger);
    assert_int_equal(cuzk_engine_cancel(engine, "a", &there, &err), CUZK_OK);
    assert_true(engine_request_try(engine, 8 * mib));
    engine_request_done(engine, 8 * mib);
    engine_case_submit(engine, &s, false);
    free(text);
    close_engine(0);
}

static void room_for_inputs(void **state) {
    (void)state;
    const uint64_t mib = (uint64_t)1 << 20;
    open_engine();
    assert_false(engine_request_try(engine, 9 * mib));
    assert_true(engine_request_try(engine, 6 * mib));
    assert_false(engine_request_try(engine, 3 * mib));
    assert_true(engine_request_try(engine, 2 * mib));
    engine_request_done(engine, 6 * mib);
    assert_true(engine_request_try(engine, 6 * mib));
    engine_request_done(engine, 6 * mib);
    engine_request_done(engine, 2 * mib);
    close_engine(0);
}

static void keys_by_name(void **state) {
    (void)state;
    bool already, was;
    double seconds;
    uint64_t freed;
    cuzk_error err;
    open_engine();
    assert_int_equal(cuzk_engine_preload(engine, "toy-3kib", &already, &seconds, &err), CUZK_USAGE);
    assert_int_equal(cuzk_engine_preload(engine, "toy-8kib", &already, &seconds, &err), CUZK_OK);
    assert_false(already);
    assert_int_equal(cuzk_engine_preload(engine, "toy-8kib", &already, &seconds, &err), CUZK_OK);
    assert_true(already);
    assert_int_equal(cuzk_engine_evict(engine, "toy-8kib", &was, &freed, &err), CUZK_OK);
    assert_true(was);
    assert_int_equal(cuzk_engine_evict(engine, "toy-8kib", &was, &freed, &err), CUZK_OK);
    assert_false(was);
    close_engine(0);
}

static void *preload_large(void *status) {
    bool already;
    double seconds;
    cuzk_error err;
    *(cuzk_status *)status = cuzk_engine_preload(engine, "toy-512kib", &already, &seconds, &err);
    return NULL;
}

static bool loads(void *user) {
    engine_view v;
    cuzk_error err;
    (void)user;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    bool any = false;
    for (size_t i = 0; i < v.n_resources; i++) any |= v.resources[i].loading;
    engine_view_free(&v);
    return any;
}

/* A stop ends a preload, and waits for it. */
static void stopped_while_a_key_is_loaded(void **state) {
    (void)state;
    pthread_t t;
    cuzk_status status = CUZK_INTERNAL;
    open_engine();
    assert_int_equal(pthread_create(&t, NULL, preload_large, &status), 0);
    assert_true(engine_case_until(loads, NULL));
    double start = cpu_monotonic_seconds();
    close_engine(0);
    assert_true(cpu_monotonic_seconds() - start < 20);
    pthread_join(t, NULL);
    assert_true(status == CUZK_CANCELLED || status == CUZK_OK);
}

static void trace_of_a_job(void **state) {
    (void)state;
    char *json;
    cuzk_error err;
    open_engine();
    submit_text("t", "{\"partitions\": 2}");
    engine_case_expect(engine, "t", CUZK_JOB_COMPLETED, 1024, 2, 1);
    assert_int_equal(cuzk_engine_trace_json(engine, "t", &json, &err), CUZK_OK);
    assert_non_null(strstr(json, "traceEvents"));
    cuzk_text_free(json);
    assert_int_equal(cuzk_engine_trace_json(engine, "u", &json, &err), CUZK_IO);
    trace_event events[256];
    size_t n = trace_events(engine_trace(engine), 0, events, 256);
    unsigned seen[TRACE_KINDS] = {0};
    for (size_t i = 0; i < n; i++) seen[events[i].kind]++;
    assert_int_equal(seen[TRACE_JOB_SUBMITTED], 1);
    assert_int_equal(seen[TRACE_JOB_PARSED], 1);
    assert_int_equal(seen[TRACE_SYNTH_START], 2);
    assert_int_equal(seen[TRACE_SYNTH_DONE], 2);
    assert_int_equal(seen[TRACE_DEVICE_QUEUED], 2);
    assert_int_equal(seen[TRACE_DEVICE_TAKEN], 2);
    assert_int_equal(seen[TRACE_PENDING], 2);
    assert_int_equal(seen[TRACE_FINISHED], 2);
    assert_int_equal(seen[TRACE_DEALLOC_DONE], 2);
    assert_int_equal(seen[TRACE_VERIFIED], 3); /* each, and all together */
    assert_int_equal(seen[TRACE_JOB_ENDED], 1);
    close_engine(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_job),         cmocka_unit_test(many_partitions),
        cmocka_unit_test(lazy_witnesses),  cmocka_unit_test(false_inputs),
        cmocka_unit_test(refusals),        cmocka_unit_test(circuits_not_enabled),
        cmocka_unit_test(no_key),          cmocka_unit_test(too_large),
        cmocka_unit_test(equal_jobs_join), cmocka_unit_test(a_failed_one_is_tried_anew),
        cmocka_unit_test(ids_are_made),    cmocka_unit_test(other_content),
        cmocka_unit_test(cancelled),       cmocka_unit_test(deadlines),
        cmocka_unit_test(awaiting),        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(room_for_inputs), cmocka_unit_test(inputs_wait_in_their_room),
        cmocka_unit_test(keys_by_name),    cmocka_unit_test(stopped_while_a_key_is_loaded),
        cmocka_unit_test(trace_of_a_job),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
