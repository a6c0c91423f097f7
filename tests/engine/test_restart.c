/* What a second engine makes of what the first left in the store, and stores that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <unistd.h>
#include "engine/engine_case.h"
#include "engine/store_case.h"
#include "engine/view.h"
#include "ref/groth16_case.h"

static char folder[256];
static cuzk_engine *engine;
static store_case kept;

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
    engine = engine_case_start(&o, NULL, 0, &kept.base);
}

static void submit_text(const char *id, const char *request) {
    cuzk_submission s = engine_case_toy(id, request);
    engine_case_submit(engine, &s, false);
}

static bool three_proved(void *user) {
    (void)user;
    return atomic_load(&kept.proofs) >= 3;
}

/* Stopped in the middle: the next engine makes what is missing, and only that. */
static void resumed(void **state) {
    (void)state;
    store_case_open(&kept);
    open_engine();
    submit_text("a", "{\"partitions\": 8, \"witness_ms\": 50, \"start\": 7}");
    submit_text("b", "{\"partitions\": 2, \"start\": 9}");
    assert_true(engine_case_until(three_proved, NULL));
    uint64_t a = engine_find(engine, "a"), b = engine_find(engine, "b");
    cuzk_engine_stop(engine, 0);
    unsigned before = atomic_load(&kept.proofs);
    assert_true(before >= 3 && before < 8);
    open_engine();
    assert_int_equal(engine_find(engine, "a"), a);
    assert_int_equal(engine_find(engine, "b"), b);
    /* The same submission joins. */
    cuzk_submission s = engine_case_toy("a", "{\"partitions\": 8, \"witness_ms\": 50, \"start\": 7}");
    engine_case_submit(engine, &s, true);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 8, 7);
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 1024, 2, 9);
    assert_int_equal(atomic_load(&kept.proofs), 8 + 2);
    cuzk_engine_stop(engine, 0);
    /* Results are there for a third one, and nothing is proved again. */
    open_engine();
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 8, 7);
    engine_case_submit(engine, &s, true);
    submit_text("c", "{}");
    assert_true(engine_find(engine, "c") > b);
    engine_case_expect(engine, "c", CUZK_JOB_COMPLETED, 1024, 1, 1);
    assert_int_equal(atomic_load(&kept.proofs), 8 + 2);
    assert_int_equal(atomic_load(&kept.completes), 3);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

static const char *left_request = "{\"partitions\": 3, \"start\": 2}";

/* A row of a job that is in the store as a process left it. */
static void leave_row(uint64_t seq, const char *id, unsigned runs, unsigned crashes, const uint8_t *proofs,
                      unsigned n) {
    cuzk_error err;
    cuzk_submission s = engine_case_toy(id, left_request);
    store_job row = {.seq = seq,
                     .request_id = id,
                     .kind = "toy",
                     .circuit = "",
                     .priority = CUZK_PRIORITY_NORMAL,
                     .payload_bytes = s.request.n,
                     .state = CUZK_JOB_RUNNING,
                     .runs = runs,
                     .crashes = crashes};
    assert_int_equal(kept.inner->ops->put(kept.inner, &row, &s, &err), CUZK_OK);
    for (unsigned k = 0; k < n; k++)
        assert_int_equal(kept.inner->ops->put_proof(kept.inner, seq, k, proofs + k * 192, &err), CUZK_OK);
}

static void leave_job(uint64_t seq, const char *id, unsigned runs, const uint8_t *proofs, unsigned n) {
    leave_row(seq, id, runs, 0, proofs, n);
}

/* Proofs in the store that are not this job's are found when all are verified together, and made again. */
static void wrong_proofs_in_the_store(void **state) {
    (void)state;
    cuzk_job_result r;
    cuzk_error err;
    store_case_open(&kept);
    open_engine();
    submit_text("source", "{\"partitions\": 3, \"start\": 90}");
    assert_int_equal(cuzk_engine_await(engine, "source", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    cuzk_engine_stop(engine, 0);
    leave_job(40, "left", 1, r.proof, 3);
    cuzk_job_result_free(&r);
    open_engine();
    engine_case_expect(engine, "left", CUZK_JOB_COMPLETED, 1024, 3, 2);
    engine_view v;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    assert_int_equal(v.verify_failures, 2); /* the third is made anew in any case */
    engine_view_free(&v);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

/* A finished job that is in the store as a disk may give it back. */
static void leave_result(uint64_t seq, const char *id, const uint8_t *proof, size_t bytes) {
    cuzk_error err;
    leave_job(seq, id, 1, NULL, 0);
    store_job row = {.seq = seq, .request_id = id, .kind = "toy", .circuit = "toy", .partitions = 1};
    row.state = CUZK_JOB_COMPLETED;
    row.finished = (double)time(NULL);
    assert_int_equal(kept.inner->ops->complete(kept.inner, &row, proof, bytes, &err), CUZK_OK);
}

/* A result that was damaged in the store is told, and not given out. */
static void damaged_results(void **state) {
    (void)state;
    cuzk_job_result r, again;
    cuzk_error err;
    uint8_t bad[2 * 192];
    store_case_open(&kept);
    open_engine();
    submit_text("source", "{\"start\": 90}");
    assert_int_equal(cuzk_engine_await(engine, "source", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.proof_bytes, 192);
    cuzk_engine_stop(engine, 0);
    leave_result(40, "whole", r.proof, 192);
    leave_result(41, "nothing", r.proof, 0);
    leave_result(42, "short", r.proof, 191);
    memcpy(bad, r.proof, 192);
    memcpy(bad + 192, r.proof, 192);
    leave_result(43, "double", bad, 2 * 192);
    for (unsigned i = 0; i < 4; i++) {
        const char *const ids[] = {"first point", "second point", "its end", "third point"};
        const unsigned at[] = {20, 50, 143, 191};
        memcpy(bad, r.proof, 192);
        bad[at[i]] ^= 1;
        leave_result(44 + i, ids[i], bad, 192);
    }
    open_engine();
    assert_int_equal(cuzk_engine_await(engine, "whole", 0, &again, &err), CUZK_OK);
    assert_memory_equal(again.proof, r.proof, 192);
    cuzk_job_result_free(&again);
    const char *const damaged[] = {"nothing",      "short",   "double",     "first point",
                                   "second point", "its end", "third point"};
    for (unsigned i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        assert_int_equal(cuzk_engine_await(engine, damaged[i], 0, &again, &err), CUZK_MALFORMED);
        assert_non_null(strstr(err.where, damaged[i]));
        cuzk_job_result_free(&again);
    }
    cuzk_job_result_free(&r);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

/* The process died after a job was in the store and before the one that it superseded was told: only the newer goes on.
 */
static void superseded_in_the_store(void **state) {
    (void)state;
    cuzk_job_result r;
    cuzk_error err;
    store_case_open(&kept);
    leave_job(40, "twice", 1, NULL, 0);
    leave_job(41, "twice", 0, NULL, 0);
    open_engine();
    engine_case_expect(engine, "twice", CUZK_JOB_COMPLETED, 1024, 3, 2);
    assert_int_equal(engine_await_seq(engine, 40, 20, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_CANCELLED);
    assert_int_equal(atomic_load(&kept.completes), 1);
    assert_int_equal(atomic_load(&kept.proofs), 3);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

static void open_after(bool crash) {
    cuzk_error err;
    cuzk_engine_options o = engine_case_options();
    static const circuit_kind *const kinds[] = {&toy_kind};
    engine_setup setup = {.store = &kept.base, .kinds = kinds, .n_kinds = 1, .crashed = crash};
    assert_int_equal(engine_start(&engine, &o, &setup, &err), CUZK_OK);
}

static void failed_of(const char *id, const char *what) {
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, id, 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_FAILED);
    if (!strstr(r.error.what, what)) fail_msg("%s", r.error.what);
    cuzk_job_result_free(&r);
}

/* A crash counts for the jobs that were running, a kill does so much less. */
static void deadly_jobs(void **state) {
    (void)state;
    store_case_open(&kept);
    leave_row(40, "crashes", 10, 9, NULL, 0);
    leave_row(41, "killed", 999, 9, NULL, 0);
    leave_row(42, "killed often", 1000, 0, NULL, 0);
    open_after(false);
    failed_of("killed often", "was ended 1000 times");
    engine_case_expect(engine, "crashes", CUZK_JOB_COMPLETED, 1024, 3, 2);
    engine_case_expect(engine, "killed", CUZK_JOB_COMPLETED, 1024, 3, 2);
    cuzk_engine_stop(engine, 0);
    leave_row(50, "crashes again", 10, 9, NULL, 0);
    leave_row(51, "first crash", 10, 8, NULL, 0);
    open_after(true);
    failed_of("crashes again", "crashed 10 times");
    engine_case_expect(engine, "first crash", CUZK_JOB_COMPLETED, 1024, 3, 2);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

typedef struct wanted {
    uint64_t seq;
    store_job row;
} wanted;

static void find_row(void *user, const store_job *row) {
    wanted *w = user;
    if (row->seq == w->seq) w->row = *row;
}

static store_job row_of(uint64_t seq) {
    wanted w = {.seq = seq};
    cuzk_error err;
    assert_int_equal(kept.inner->ops->each(kept.inner, find_row, &w, &err), CUZK_OK);
    return w.row;
}

/* A store that cannot take a crash is told of it at the next start, once. */
static void death_not_noted(void **state) {
    (void)state;
    store_case_open(&kept);
    const char *usual = left_request;
    left_request = "{\"partitions\": 3, \"start\": 2, \"witness_ms\": 500}";
    leave_row(40, "running", 1, 0, NULL, 0);
    left_request = usual;
    atomic_store(&kept.failing, CUZK_DISK);
    open_after(true);
    assert_false(engine_deaths_noted(engine));
    cuzk_engine_stop(engine, 0);
    atomic_store(&kept.failing, 0);
    assert_int_equal(row_of(40).crashes, 0);
    open_after(true);
    assert_true(engine_deaths_noted(engine));
    cuzk_engine_stop(engine, 0);
    assert_int_equal(row_of(40).crashes, 1);
    store_case_close(&kept);
}

/* Who waited while the process died has nothing to do with it, and a death is noted once. */
static void waiting_is_not_running(void **state) {
    (void)state;
    cuzk_error err;
    store_case_open(&kept);
    const char *usual = left_request;
    left_request = "{\"partitions\": 3, \"start\": 2, \"witness_ms\": 500}"; /* the engines are stopped before */
    leave_row(40, "running", 1, 0, NULL, 0);
    leave_row(41, "waiting", 0, 0, NULL, 0);
    left_request = usual;
    store_job waiting = row_of(41);
    waiting.state = CUZK_JOB_QUEUED;
    assert_int_equal(kept.inner->ops->update(kept.inner, &waiting, &err), CUZK_OK);
    for (int i = 0; i < 2; i++) {
        open_after(true);
        cuzk_engine_stop(engine, 0);
        assert_int_equal(row_of(40).state, CUZK_JOB_QUEUED);
        assert_int_equal(row_of(40).crashes, 1);
        assert_int_equal(row_of(41).crashes, 0);
    }
    open_after(false);
    engine_case_expect(engine, "running", CUZK_JOB_COMPLETED, 1024, 3, 2);
    engine_case_expect(engine, "waiting", CUZK_JOB_COMPLETED, 1024, 3, 2);
    assert_int_equal(row_of(40).crashes, 1);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

/* Engines that are stopped in good order do not count as deaths. */
static void stopped_is_not_dead(void **state) {
    (void)state;
    store_case_open(&kept);
    for (unsigned i = 0; i < 5; i++) {
        unsigned runs = atomic_load(&kept.runs);
        open_engine();
        if (i == 0) submit_text("long", "{\"partitions\": 60, \"witness_ms\": 30}");
        for (int k = 0; k < 5000 && atomic_load(&kept.runs) == runs; k++) engine_generation(engine, 0, 0.002);
        cuzk_engine_stop(engine, 0);
    }
    open_engine();
    engine_case_expect(engine, "long", CUZK_JOB_COMPLETED, 1024, 60, 1);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

static bool no_trouble(void *user) {
    (void)user;
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    bool none = !v.trouble[0];
    engine_view_free(&v);
    return none;
}

/* A full disk: new jobs are refused, the proof that was under way is given out and saved when there is room. */
static void full_disk(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_job_ticket ticket;
    store_case_open(&kept);
    open_engine();
    submit_text("under-way", "{\"partitions\": 2, \"witness_ms\": 200, \"start\": 3}");
    atomic_store(&kept.failing, CUZK_DISK);
    cuzk_submission s = engine_case_toy("new", "{}");
    assert_int_equal(cuzk_engine_submit(engine, &s, &ticket, &err), CUZK_DISK);
    assert_int_equal(engine_find(engine, "new"), 0);
    engine_case_expect(engine, "under-way", CUZK_JOB_COMPLETED, 1024, 2, 3);
    assert_false(no_trouble(NULL));
    atomic_store(&kept.failing, 0);
    assert_true(engine_case_until(no_trouble, NULL));
    /* Nothing waits to be put, and the disk is full all the same. */
    atomic_store(&kept.failing, CUZK_DISK);
    assert_int_equal(cuzk_engine_submit(engine, &s, &ticket, &err), CUZK_DISK);
    usleep(2500000);
    assert_false(no_trouble(NULL));
    atomic_store(&kept.failing, 0);
    assert_true(engine_case_until(no_trouble, NULL));
    engine_case_submit(engine, &s, false);
    engine_case_expect(engine, "new", CUZK_JOB_COMPLETED, 1024, 1, 1);
    cuzk_engine_stop(engine, 0);
    open_engine();
    engine_case_expect(engine, "under-way", CUZK_JOB_COMPLETED, 1024, 2, 3);
    cuzk_engine_stop(engine, 0);
    store_case_close(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed),
        cmocka_unit_test(wrong_proofs_in_the_store),
        cmocka_unit_test(damaged_results),
        cmocka_unit_test(superseded_in_the_store),
        cmocka_unit_test(deadly_jobs),
        cmocka_unit_test(death_not_noted),
        cmocka_unit_test(waiting_is_not_running),
        cmocka_unit_test(stopped_is_not_dead),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
