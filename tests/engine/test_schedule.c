/* Who goes first, who waits for whom, and that no setting and no mixture of jobs stops the engine or passes its
 * budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>
#include "backend/sim/sim.h"
#include "base/cpu.h"
#include "engine/engine_case.h"
#include "engine/view.h"
#include "ref/groth16_case.h"
#include "ref/sanitized.h"

#define MIB ((uint64_t)1 << 20)

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

static void open_sim(sim_options sim, cuzk_engine_options o) {
    cuzk_error err;
    engine_device d[SIM_MAX_DEVICES];
    const backend *b = backend_sim_create(&sim, &err);
    assert_non_null(b);
    for (unsigned i = 0; i < sim.devices; i++) d[i] = (engine_device){b, i, false};
    engine = engine_case_start(&o, d, sim.devices, NULL);
}

static void close_sim(void) {
    cuzk_engine_stop(engine, 0);
    backend_sim_destroy();
}

static void submit(const char *id, uint64_t bytes, unsigned partitions, uint64_t start, cuzk_priority priority,
                   double deadline) {
    char *request = toy_request(bytes, partitions, start, -1, 0);
    cuzk_submission s = engine_case_toy(id, request);
    s.priority = priority;
    s.deadline_seconds = deadline;
    engine_case_submit(engine, &s, false);
    free(request);
}

/* The order in which something happened to jobs, as a text of their ids' first letters. */
static void order_of(trace_kind kind, char *out, size_t n) {
    static trace_event events[4096];
    size_t count = trace_events(engine_trace(engine), 0, events, 4096), at = 0;
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != kind) continue;
        for (size_t k = 0; k < v.n_jobs && at + 1 < n; k++)
            if (v.jobs[k].seq == events[i].job) out[at++] = v.jobs[k].job_id[0];
    }
    out[at] = 0;
    engine_view_free(&v);
}

static void expect_all(const char *ids, unsigned partitions) {
    for (; *ids; ids++)
        engine_case_expect(engine, (char[]){*ids, 0}, CUZK_JOB_COMPLETED, 1024, partitions, (uint64_t)*ids);
}

static sim_options slow(double seconds) {
    return (sim_options){.devices = 1,
                         .memory_bytes = 256 * MIB,
                         .host_bytes = 4 * MIB,
                         .device_bytes = 1 * MIB,
                         .compute_seconds = seconds};
}

/* ---- order ---- */

static bool second_is_queued(void *user) {
    engine_view v;
    cuzk_error err;
    (void)user;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    bool yes = v.queued_partitions == 1 && v.synthesized_in_flight == 2;
    engine_view_free(&v);
    return yes;
}

/* Nothing changes for a while: what can be parsed is parsed. */
static bool is_quiet(void *user) {
    uint64_t *seen = user, before = *seen;
    *seen = engine_generation(engine, before, 0.5);
    return *seen == before;
}

static void by_priority_deadline_age(void **state) {
    (void)state;
    char order[32];
    cuzk_engine_options o = engine_case_options();
    o.queue_depth = 1;
    o.synthesis_workers = 1;
    open_sim(slow(0.01), o);
    /* One partition in the device, which stands still, and one that waits for it: no other can begin. */
    backend_sim_faults(0, &(sim_faults){.hang = true});
    submit("a", 1024, 4, 'a', CUZK_PRIORITY_NORMAL, 0);
    assert_true(engine_case_until(second_is_queued, NULL));
    submit("b", 1024, 1, 'b', CUZK_PRIORITY_LOW, 0);
    submit("c", 1024, 1, 'c', CUZK_PRIORITY_NORMAL, 0);
    submit("d", 1024, 1, 'd', CUZK_PRIORITY_NORMAL, 500);
    submit("e", 1024, 1, 'e', CUZK_PRIORITY_NORMAL, 400);
    submit("f", 1024, 1, 'f', CUZK_PRIORITY_HIGH, 0);
    submit("g", 1024, 1, 'g', CUZK_PRIORITY_CRITICAL, 0);
    uint64_t seen = 0;
    assert_true(engine_case_until(is_quiet, &seen));
    backend_sim_faults(0, &(sim_faults){0});
    expect_all("bcdefg", 1);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 4, 'a');
    order_of(TRACE_SYNTH_START, order, sizeof order);
    print_message("begun: %s\n", order);
    assert_string_equal(order, "aagfedaacb");
    close_sim();
}

/* A low job is not put off for ever by a stream of others; of high ones, most go before it all the same. */
static void starved_by(cuzk_priority priority) {
    cuzk_engine_options o = engine_case_options();
    o.starvation_seconds = 0.6;
    o.synthesis_workers = 1;
    o.queue_depth = 1;
    open_sim(slow(0.05), o);
    submit("backlog", 1024, 12, 1, priority, 0); /* there is always another, also when this thread is held up */
    submit("low", 1024, 1, 7, CUZK_PRIORITY_LOW, 0);
    double start = cpu_monotonic_seconds();
    cuzk_job_result r = {0};
    unsigned sent = 0;
    while (r.state != CUZK_JOB_COMPLETED && cpu_monotonic_seconds() - start < 20) {
        char id[16];
        cuzk_error err;
        for (int i = 0; i < 2; i++) {
            snprintf(id, sizeof id, "s%u", sent++);
            submit(id, 1024, 1, sent, priority, 0);
        }
        assert_int_equal(cuzk_engine_await(engine, "low", 0.05, &r, &err), CUZK_OK);
        cuzk_job_result_free(&r);
    }
    double took = cpu_monotonic_seconds() - start;
    print_message("the low job took %.2f s among %u others\n", took, sent);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    assert_true(took > 0.4 && took < 15);
    close_sim();
}

static void starvation_is_bounded(void **state) {
    (void)state;
    starved_by(CUZK_PRIORITY_NORMAL);
    starved_by(CUZK_PRIORITY_HIGH);
}

/* A backlog of old jobs does not hold up a new one of high priority, but each eighth turn is theirs. */
static void old_jobs_take_turns(void **state) {
    (void)state;
    char order[32];
    cuzk_engine_options o = engine_case_options();
    o.starvation_seconds = 0.05;
    o.synthesis_workers = 1;
    o.device_workers = 1;
    o.queue_depth = 1;
    open_sim(slow(0.01), o);
    backend_sim_faults(0, &(sim_faults){.hang = true});
    submit("a", 1024, 4, 'a', CUZK_PRIORITY_NORMAL, 0);
    assert_true(engine_case_until(second_is_queued, NULL));
    submit("b", 1024, 2, 'b', CUZK_PRIORITY_NORMAL, 0);
    submit("c", 1024, 10, 'c', CUZK_PRIORITY_HIGH, 0);
    uint64_t seen = 0;
    assert_true(engine_case_until(is_quiet, &seen)); /* by then the first two are old */
    backend_sim_faults(0, &(sim_faults){0});
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 4, 'a');
    engine_case_expect(engine, "b", CUZK_JOB_COMPLETED, 1024, 2, 'b');
    engine_case_expect(engine, "c", CUZK_JOB_COMPLETED, 1024, 10, 'c');
    order_of(TRACE_SYNTH_START, order, sizeof order);
    print_message("begun: %s\n", order);
    assert_memory_equal(order, "aacccccccca", 11);
    close_sim();
}

/* ---- bytes ---- */

static uint64_t plan_bytes(const sim_options *sim) {
    return engine_case_plan(1024, 2) + sim->host_bytes;
}

/* Every number of workers, a budget of three partitions: never more than the budget is reserved or really held, the
 * number of witnesses that wait is bounded, and all proofs are right. */
static void budget_of_three(void **state) {
    (void)state;
    static const unsigned pw[] = {1, 3, 16}, gw[] = {1, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        sim_options sim = slow(0.01);
        cuzk_engine_options o = engine_case_options();
        uint64_t other = 8 * MIB + 8 * MIB; /* inputs received, and parsed ones with key and shape */
        o.memory_bytes = other + 3 * plan_bytes(&sim);
        o.synthesis_workers = pw[i];
        o.device_workers = gw[i];
        open_sim(sim, o);
        buffer_reset_peaks();
        for (char c = 'a'; c <= 'h'; c++) submit((char[]){c, 0}, 1024, 5, (uint64_t)c, CUZK_PRIORITY_NORMAL, 0);
        expect_all("abcdefgh", 5);
        engine_view v;
        cuzk_error err;
        assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
        print_message("pw %u, gw %u: peak reserved %.1f of %.1f MiB, tracked %.1f MiB, in flight %u\n", pw[i], gw[i],
                      (double)v.host.peak_reserved / (double)MIB, (double)v.host.total / (double)MIB,
                      (double)v.tracked.peak_bytes / (double)MIB, v.peak_synthesized_in_flight);
        assert_true(v.host.peak_reserved <= v.host.total);
        assert_true(v.tracked.peak_bytes <= v.host.total);
        /* three, one in what is over in room for inputs, and those that have just given part of theirs back */
        assert_true(v.peak_synthesized_in_flight <= 4 + gw[i]);
        engine_view_free(&v);
        close_sim();
    }
}

/* Jobs of different circuits in a budget that holds the key, input and plan of one of them only: each waits for its
 * turn, none for ever. */
static void no_deadlock(void **state) {
    (void)state;
    sim_options sim = slow(0.005);
    cuzk_engine_options o = engine_case_options();
    o.memory_bytes = 8 * MIB + plan_bytes(&sim) + 7 * MIB;
    o.synthesis_workers = 4;
    o.device_workers = 2;
    open_sim(sim, o);
    static const uint64_t sizes[] = {1024, 2048, 4096, 8192};
    for (unsigned i = 0; i < 16; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        submit(id, sizes[i % 4], 3, i, i % 5 ? CUZK_PRIORITY_NORMAL : CUZK_PRIORITY_HIGH, 0);
    }
    for (unsigned i = 0; i < 16; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        engine_case_expect(engine, id, CUZK_JOB_COMPLETED, sizes[i % 4], 3, i);
    }
    close_sim();
}

/* A large one at the head gets its bytes although small ones could always go before it. */
static void the_head_is_not_overtaken(void **state) {
    (void)state;
    char order[64];
    sim_options sim = slow(0.05);
    cuzk_engine_options o = engine_case_options();
    uint64_t large = engine_case_plan(65536, 2) + sim.host_bytes;
    o.memory_bytes = 8 * MIB + large + 24 * MIB; /* a key is made, too */
    o.synthesis_workers = 4;
    open_sim(sim, o);
    submit("a", 1024, 4, 'a', CUZK_PRIORITY_NORMAL, 0);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 4, 'a');
    for (char c = 'b'; c <= 'd'; c++) submit((char[]){c, 0}, 1024, 4, (uint64_t)c, CUZK_PRIORITY_NORMAL, 0);
    submit("L", 65536, 1, 5, CUZK_PRIORITY_NORMAL, 0);
    for (char c = 'e'; c <= 'j'; c++) submit((char[]){c, 0}, 1024, 4, (uint64_t)c, CUZK_PRIORITY_NORMAL, 0);
    engine_case_expect(engine, "L", CUZK_JOB_COMPLETED, 65536, 1, 5);
    expect_all("bcdefghij", 4);
    order_of(TRACE_JOB_ENDED, order, sizeof order);
    print_message("ended: %s\n", order);
    assert_true(strchr(order, 'L') < strchr(order, 'f'));
    close_sim();
}

/* The budget shrinks under a job that has begun: what can never be had any more ends it, and is not asked for again and
 * again. */
static void budget_shrinks_under_a_job(void **state) {
    (void)state;
    sim_options sim = slow(0.1);
    cuzk_engine_options o = engine_case_options();
    o.memory_bytes = 16 * MIB + plan_bytes(&sim);
    open_sim(sim, o);
    submit("a", 1024, 40, 1, CUZK_PRIORITY_NORMAL, 0);
    while (trace_count(engine_trace(engine), TRACE_DEVICE_TAKEN) < 1) usleep(1000);
    o.memory_bytes = 12 * MIB;
    engine_reload(engine, &o);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, "a", 30, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_FAILED);
    assert_int_equal(r.error.status, CUZK_MEMORY);
    assert_true(trace_count(engine_trace(engine), TRACE_RETRY) <= o.attempts + 3);
    close_sim();
}

/* ---- critical work ---- */

static bool all_reserved(void *user) {
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    bool full = v.host.total - v.host.reserved < v.host.critical_share + *(uint64_t *)user;
    engine_view_free(&v);
    return full;
}

static void critical_goes_at_once(void **state) {
    (void)state;
    sim_options sim = slow(0.4);
    cuzk_engine_options o = engine_case_options();
    uint64_t plan = plan_bytes(&sim);
    o.critical_bytes = plan + 8 * MIB;
    o.memory_bytes = 8 * MIB + o.critical_bytes + 3 * plan + 5 * MIB;
    o.synthesis_workers = 2;
    open_sim(sim, o);
    for (char c = 'a'; c <= 'f'; c++) submit((char[]){c, 0}, 1024, 4, (uint64_t)c, CUZK_PRIORITY_LOW, 0);
    assert_true(engine_case_until(all_reserved, &plan));
    double start = cpu_monotonic_seconds();
    submit("X", 1024, 1, 99, CUZK_PRIORITY_CRITICAL, 0);
    cuzk_job_result r;
    cuzk_error err;
    assert_int_equal(cuzk_engine_await(engine, "X", 60, &r, &err), CUZK_OK);
    assert_int_equal(r.state, CUZK_JOB_COMPLETED);
    print_message("begun after %.3f s, done after %.3f s\n", r.times.queue_wait, cpu_monotonic_seconds() - start);
    assert_true(r.times.queue_wait < 1);
    assert_true(r.times.device_wait < 1);
    cuzk_job_result_free(&r);
    bool there;
    for (char c = 'a'; c <= 'f'; c++) cuzk_engine_cancel(engine, (char[]){c, 0}, &there, &err);
    close_sim();
}

/* ---- the device is kept busy ---- */

static void never_idle(void **state) {
    (void)state;
    sim_options sim = slow(0.05);
    sim.upload_seconds = 0.01;
    sim.finish_seconds = 0.03;
    cuzk_engine_options o = engine_case_options();
    o.device_workers = 2;
    open_sim(sim, o);
    submit("a", 1024, 30, 'a', CUZK_PRIORITY_NORMAL, 0);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 30, 'a');
    sim_stats s = backend_sim_stats(0);
    double busy = s.busy_seconds / (s.last_busy - s.first_busy);
    print_message("busy %.1f %%\n", 100 * busy);
    assert_true(busy > 0.75); /* on a busy machine; the figure proper is measured by the load tests */
    close_sim();
}

/* Most witnesses at once, made in so many milliseconds each by as many as 16 workers for a device that takes so many
 * seconds, in the start of a proof or in its finish, as one does that works beside its callers; and the time of all. */
static unsigned most_witnesses(unsigned witness_ms, double start_seconds, double finish_seconds, double *took) {
    sim_options sim = slow(start_seconds);
    sim.finish_seconds = finish_seconds;
    cuzk_error err;
    cuzk_engine_options o = engine_case_options();
    o.synthesis_workers = 16;
    o.queue_depth = 16;
    open_sim(sim, o);
    submit("warm", 1024, 1, 'w', CUZK_PRIORITY_NORMAL, 0);
    engine_case_expect(engine, "warm", CUZK_JOB_COMPLETED, 1024, 1, 'w');
    char *request = toy_request(1024, 40, 'a', -1, witness_ms);
    cuzk_submission s = engine_case_toy("a", request);
    double start = cpu_monotonic_seconds();
    engine_case_submit(engine, &s, false);
    free(request);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 40, 'a');
    *took = cpu_monotonic_seconds() - start;
    engine_view v;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    unsigned peak = v.peak_synthesized_in_flight;
    engine_view_free(&v);
    close_sim();
    return peak;
}

/* Sixteen workers may make witnesses. A slow device gets no more than it needs; for a fast one more and more work. */
static void workers_as_needed(void **state) {
    (void)state;
    double took;
    unsigned waiting = most_witnesses(10, 0.03, 0, &took);
    print_message("slow device: at most %u witnesses, %.2f s\n", waiting, took);
    assert_true(waiting <= 3); /* one that the device takes, two made ahead */
    waiting = most_witnesses(20, 0.001, 0.06, &took);
    print_message("slow device beside its callers: at most %u witnesses, %.2f s\n", waiting, took);
    assert_true(waiting <= 3);
    most_witnesses(500, 0.001, 0, &took);
    print_message("slow synthesis: 40 times 0.5 s in %.2f s\n", took);
    if (!TEST_SANITIZED) assert_true(took < 40 * 0.5 / 4); /* three at a time would take 6.7 s */
}

/* Each worker of the CPU holds a witness as long as it proves: however many there are, all have work, and one is ready.
 */
static void workers_of_the_cpu(void **state) {
    (void)state;
    sim_options sim = slow(0.1);
    cuzk_error err;
    cuzk_engine_options o = engine_case_options();
    o.synthesis_workers = 2;
    o.device_workers = 6;
    const backend *b = backend_sim_create(&sim, &err);
    assert_non_null(b);
    engine_device d = {b, 0, true};
    engine = engine_case_start(&o, &d, 1, NULL);
    submit("a", 1024, 24, 'a', CUZK_PRIORITY_NORMAL, 0);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 24, 'a');
    engine_view v;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    print_message("the CPU's six workers: at most %u witnesses\n", v.peak_synthesized_in_flight);
    assert_true(v.peak_synthesized_in_flight > 6 && v.peak_synthesized_in_flight <= 8);
    engine_view_free(&v);
    close_sim();
}

/* Permits and reservations given back too early: witnesses pile up before the slow device, and the trace of the engine
 * shows it; as it is, their number is flat. */
static unsigned pile(bool early) {
    static const circuit_kind *const kinds[] = {&toy_kind};
    sim_options sim = slow(0.1);
    cuzk_error err;
    cuzk_engine_options o = engine_case_options();
    o.synthesis_workers = 4;
    o.queue_depth = 2;
    const backend *b = backend_sim_create(&sim, &err);
    assert_non_null(b);
    engine_device d = {b, 0, false};
    engine_setup setup = {.devices = &d, .n_devices = 1, .kinds = kinds, .n_kinds = 1, .fault_release_early = early};
    assert_int_equal(engine_start(&engine, &o, &setup, &err), CUZK_OK);
    submit("a", 1024, 24, 'a', CUZK_PRIORITY_NORMAL, 0);
    engine_case_expect(engine, "a", CUZK_JOB_COMPLETED, 1024, 24, 'a');
    engine_view v;
    assert_int_equal(engine_view_get(engine, &v, &err), CUZK_OK);
    unsigned peak = v.peak_synthesized_in_flight;
    engine_view_free(&v);
    close_sim();
    return peak;
}

static void the_old_accident(void **state) {
    (void)state;
    unsigned with = pile(true), without = pile(false);
    print_message("witnesses waiting at most: %u with the fault, %u without\n", with, without);
    assert_true(with >= 15);
    assert_true(without <= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_priority_deadline_age),
        cmocka_unit_test(starvation_is_bounded),
        cmocka_unit_test(old_jobs_take_turns),
        cmocka_unit_test(budget_of_three),
        cmocka_unit_test(no_deadlock),
        cmocka_unit_test(the_head_is_not_overtaken),
        cmocka_unit_test(budget_shrinks_under_a_job),
        cmocka_unit_test(critical_goes_at_once),
        cmocka_unit_test(never_idle),
        cmocka_unit_test(workers_as_needed),
        cmocka_unit_test(workers_of_the_cpu),
        cmocka_unit_test(the_old_accident),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
