/* Memory and devices under load, on a simulated device: no setting passes the budget, devices do not idle, everything
 * is given back, urgent work goes first. The full sizes are in test_load_slow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "engine/load.h"
#include "ref/groth16_case.h"

static const uint64_t mib = 1 << 20;
static char folder[256];

static sim_options small_sim(void) {
    return (sim_options){.devices = 1,
                         .memory_bytes = (uint64_t)8 << 30,
                         .host_bytes = (uint64_t)12 << 20,
                         .device_bytes = (uint64_t)1 << 30,
                         .upload_seconds = 0.004,
                         .compute_seconds = 0.012};
}

/* A budget that holds three partitions, key and shape, and the inputs. */
static cuzk_engine_options three_partitions(const sim_options *sim, uint64_t bytes, unsigned pw, unsigned gw) {
    cuzk_engine_options o = engine_case_options();
    o.request_bytes = 1 * mib;
    o.memory_bytes = o.request_bytes + 3 * load_plan(sim, bytes, o.threads) + 8 * mib; /* parsed inputs, key, shape */
    o.synthesis_workers = pw;
    o.device_workers = gw;
    return o;
}

static engine_view view_of(cuzk_engine *e) {
    engine_view v;
    cuzk_error err;
    assert_int_equal(engine_view_get(e, &v, &err), CUZK_OK);
    return v;
}

static void no_setting_passes_the_budget(void **state) {
    (void)state;
    static const struct { unsigned pw, gw, clients; } settings[] = {{1, 1, 1}, {64, 2, 8}, {64, 4, 64}};
    sim_options sim = small_sim();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        uint64_t tracked = buffer_total_stats().live_bytes;
        cuzk_engine_options o = three_partitions(&sim, 1024, settings[i].pw, settings[i].gw);
        cuzk_engine *e = load_engine(&o, &sim, false, false);
        load l = {.engine = e, .jobs = 10, .partitions = 4, .clients = settings[i].clients, .bytes = 1024};
        memory_watch w;
        buffer_reset_peaks();
        memory_watch_start(&w);
        load_run(&l);
        memory_watch_stop(&w);
        engine_view v = view_of(e);
        print_message("pw %2u gw %u j %2u: %.2f s, tracked peak %.1f MiB of %.1f, reserved %.1f, in flight %u\n",
                      settings[i].pw, settings[i].gw, settings[i].clients, l.seconds,
                      (double)w.peak_tracked / (double)mib, (double)o.memory_bytes / (double)mib,
                      (double)v.host.peak_reserved / (double)mib, v.peak_synthesized_in_flight);
        assert_int_equal(l.completed, 10);
        assert_int_equal(l.failed, 0);
        assert_int_equal(l.wrong, 0);
        assert_true(buffer_total_stats().peak_bytes - tracked <= o.memory_bytes);
        assert_true(v.host.peak_reserved <= o.memory_bytes);
        assert_true(v.peak_synthesized_in_flight <= 3 + settings[i].gw); /* those with a device have given most back */
        assert_true(LOAD_INSTRUMENTED || w.peak_rss <= o.memory_bytes + memory_slack(o.memory_bytes));
        assert_int_equal(backend_sim_stats(0).refused_bytes, 0);
        engine_view_free(&v);
        load_engine_stop(e);
        assert_int_equal(buffer_total_stats().live_bytes, tracked);
    }
}

/* ---- the old accident ---- */

typedef struct pile {
    unsigned peak_in_flight, waiting_in_trace;
    uint64_t peak_witnesses, live_in_trace;
    double seconds;
} pile;

/* From the trace alone: most partitions that were synthesized and not yet taken, and most tracked bytes. */
static void read_trace(cuzk_engine *e, pile *out) {
    static trace_event events[16384];
    size_t n = trace_events(engine_trace(e), 0, events, sizeof events / sizeof *events);
    int waiting = 0, most = 0;
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == TRACE_DEVICE_QUEUED) waiting++;
        if (events[i].kind == TRACE_DEVICE_TAKEN) waiting--;
        if (waiting > most) most = waiting;
        if (events[i].kind == TRACE_SYNTH_DONE && events[i].host_live > out->live_in_trace)
            out->live_in_trace = events[i].host_live;
    }
    out->waiting_in_trace = (unsigned)most;
}

static pile pile_up(bool release_early) {
    sim_options sim = {.devices = 1, .memory_bytes = (uint64_t)8 << 30, .device_bytes = mib, .compute_seconds = 0.06};
    cuzk_engine_options o = three_partitions(&sim, 8 << 10, 12, 1);
    uint64_t before = buffer_total_stats().live_bytes;
    cuzk_engine *e = load_engine(&o, &sim, false, release_early);
    load l = {.engine = e, .jobs = 6, .partitions = 4, .clients = 6, .bytes = 8 << 10};
    pile out = {0};
    buffer_reset_peaks();
    load_run(&l);
    assert_int_equal(l.completed, 6);
    out.seconds = l.seconds;
    out.peak_witnesses = buffer_class_stats(BUFFER_WITNESS).peak_bytes;
    engine_view v = view_of(e);
    out.peak_in_flight = v.peak_synthesized_in_flight;
    engine_view_free(&v);
    read_trace(e, &out);
    out.live_in_trace -= before;
    load_engine_stop(e);
    print_message("%s: in flight %u, waiting by the trace %u, witnesses %.2f MiB, live by the trace %.2f MiB, %.1f s\n",
                  release_early ? "released early" : "as it is", out.peak_in_flight, out.waiting_in_trace,
                  (double)out.peak_witnesses / (double)mib, (double)out.live_in_trace / (double)mib, out.seconds);
    return out;
}

/* A slow device, fast synthesis, and permits that are given back when synthesis ends: partitions pile up. The
 * instruments must show it; and without the fault the line is flat. */
static void the_old_accident_is_seen(void **state) {
    (void)state;
    pile bad = pile_up(true), good = pile_up(false);
    assert_true(bad.peak_in_flight >= 15);
    assert_true(bad.waiting_in_trace >= 15);
    assert_true(good.peak_in_flight <= 3);
    assert_true(good.waiting_in_trace <= 3);
    assert_true(bad.peak_witnesses > 3 * good.peak_witnesses);
}

/* ---- a device that never idles ---- */

static double busy_share(void) {
    sim_stats s = backend_sim_stats(0);
    return s.busy_seconds / (s.last_busy - s.first_busy);
}

static sim_options slow_finish(void) {
    return (sim_options){.devices = 1,
                         .memory_bytes = (uint64_t)8 << 30,
                         .device_bytes = mib,
                         .upload_seconds = 0.03,
                         .compute_seconds = 0.1,
                         .finish_seconds = 0.04};
}

/* One worker that does all: start, finish, verify, one proof after the other. */
static double one_worker_for_all(unsigned n) {
    groth16_case c;
    chain_circuit chain = {256, 2, 32};
    cuzk_error err;
    fr x0;
    sim_options sim = slow_finish();
    const backend *b = backend_sim_create(&sim, &err);
    pool *p = pool_create(2, &err);
    fr_from_u64(&x0, 3);
    assert_int_equal(case_make(&c, folder, "busy", chain_run, &chain, &x0, NULL, p, &err), CUZK_OK);
    for (unsigned i = 0; i < n; i++) {
        witness w;
        groth16_proof proof;
        assert_int_equal(witness_write(&w, c.shape, c.run, c.params, c.instance, &err), CUZK_OK);
        prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w};
        assert_int_equal(groth16_blinding(&q.r, &q.s, &err), CUZK_OK);
        assert_int_equal(groth16_prove(b, 0, &proof, NULL, &q, p, NULL, &err), CUZK_OK);
    }
    double busy = busy_share();
    backend_sim_destroy();
    case_free(&c);
    pool_destroy(p);
    return busy;
}

static double split_proving(void) {
    sim_options sim = slow_finish();
    cuzk_engine_options o = engine_case_options();
    o.device_workers = 2;
    cuzk_engine *e = load_engine(&o, &sim, false, false);
    load l = {.engine = e, .jobs = 3, .partitions = 6, .clients = 3, .bytes = 1024};
    load_run(&l);
    double busy = busy_share();
    assert_int_equal(l.completed, 3);
    load_engine_stop(e);
    return busy;
}

static void split_proving_keeps_the_device_busy(void **state) {
    (void)state;
    const double wanted = LOAD_INSTRUMENTED ? 0.9 : 0.98;
    double split = 0, alone = one_worker_for_all(6);
    /* The processors may be taken by others for a moment, which is no fault of the engine's. */
    for (int tries = 0; tries < 3 && split < wanted; tries++) split = split_proving();
    print_message("the device computes %.1f %% of the time; with one worker for all %.1f %%\n", 100 * split,
                  100 * alone);
    assert_true(split >= wanted);
    assert_true(alone < 0.8);
}

/* ---- cancelling gives memory back ---- */

typedef struct settled {
    cuzk_engine *e;
    uint64_t reserved, tracked, device;
} settled;

static settled settled_now(cuzk_engine *e) {
    engine_view v = view_of(e);
    settled s = {e, v.host.reserved, buffer_total_stats().live_bytes, v.devices[0].budget.reserved};
    engine_view_free(&v);
    return s;
}

static bool is_settled(void *user) {
    const settled *s = user;
    settled now = settled_now(s->e);
    return now.reserved <= s->reserved && now.tracked <= s->tracked && now.device <= s->device;
}

static bool is_busy(void *user) {
    const settled *s = user;
    return settled_now(s->e).device > s->device && buffer_total_stats().live_bytes > s->tracked + 20 * mib;
}

static void ended_in_mid_proof(bool by_deadline) {
    sim_options sim = small_sim();
    cuzk_engine_options o = three_partitions(&sim, 1024, 4, 2);
    cuzk_engine *e = load_engine(&o, &sim, false, false);
    load first = {.engine = e, .jobs = 1, .partitions = 1, .clients = 1, .bytes = 1024};
    load_run(&first); /* key and shape are there */
    settled before = settled_now(e);
    backend_sim_faults(0, &(sim_faults){.slow = 10000});
    char *request = toy_request(1024, 6, 5, -1, 0);
    cuzk_submission s = engine_case_toy("long", request);
    s.deadline_seconds = by_deadline ? 0.6 : 0;
    double start = cpu_monotonic_seconds();
    engine_case_submit(e, &s, false);
    assert_true(engine_case_until(is_busy, &before));
    bool was;
    cuzk_error err;
    double ended;
    if (by_deadline) {
        engine_case_expect(e, "long", CUZK_JOB_CANCELLED, 1024, 6, 5);
        ended = start + s.deadline_seconds;
    } else {
        ended = cpu_monotonic_seconds();
        assert_int_equal(cuzk_engine_cancel(e, "long", &was, &err), CUZK_OK);
        assert_true(was);
    }
    assert_true(engine_case_until(is_settled, &before));
    double took = cpu_monotonic_seconds() - ended;
    print_message("%s: memory is back after %.0f ms\n", by_deadline ? "deadline" : "cancelled", 1000 * took);
    assert_true(took < 1);
    backend_sim_faults(0, &(sim_faults){0});
    load next = {.engine = e, .jobs = 1, .partitions = 2, .clients = 1, .bytes = 1024, .name = "next"};
    load_run(&next);
    assert_int_equal(next.completed, 1);
    free(request);
    load_engine_stop(e);
}

static void cancelled_in_mid_proof(void **state) {
    (void)state;
    ended_in_mid_proof(false);
}

static void late_in_mid_proof(void **state) {
    (void)state;
    ended_in_mid_proof(true);
}

/* ---- urgent work ---- */

static double when(cuzk_engine *e, uint64_t seq, trace_kind kind) {
    static trace_event events[16384];
    size_t n = trace_events(engine_trace(e), 0, events, sizeof events / sizeof *events);
    for (size_t i = 0; i < n; i++)
        if (events[i].job == seq && events[i].kind == kind) return events[i].at;
    return -1;
}

static unsigned count_events(cuzk_engine *e, trace_kind kind) {
    static trace_event events[16384];
    size_t n = trace_events(engine_trace(e), 0, events, sizeof events / sizeof *events);
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) count += events[i].kind == kind;
    return count;
}

static bool budget_is_full(void *user) {
    cuzk_engine *e = user;
    engine_view v = view_of(e);
    bool full = v.host.refused > 0 && v.queued_partitions + v.synthesized_in_flight > 0;
    engine_view_free(&v);
    return full;
}

/* The queue is full of low work, the budget is full, the device is slow: a critical job gets through at once. */
static void critical_goes_first(void **state) {
    (void)state;
    sim_options sim = small_sim();
    cuzk_engine_options o = three_partitions(&sim, 1024, 4, 2);
    o.critical_bytes = load_plan(&sim, 1024, o.threads) + 4 * mib;
    o.memory_bytes += o.critical_bytes;
    cuzk_engine *e = load_engine(&o, &sim, false, false);
    char id[32], *low = toy_request(1024, 8, 5, -1, 0), *urgent = toy_request(1024, 1, 900, -1, 0);
    load first = {.engine = e, .jobs = 1, .partitions = 1, .clients = 1, .bytes = 1024};
    load_run(&first);
    backend_sim_faults(0, &(sim_faults){.slow = 50}); /* 0.6 s a partition */
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "low-%d", i);
        cuzk_submission s = engine_case_toy(id, low);
        s.priority = CUZK_PRIORITY_LOW;
        engine_case_submit(e, &s, false);
    }
    assert_true(engine_case_until(budget_is_full, e));
    cuzk_submission s = engine_case_toy("urgent", urgent);
    s.priority = CUZK_PRIORITY_CRITICAL;
    double start = cpu_monotonic_seconds();
    engine_case_submit(e, &s, false);
    engine_case_expect(e, "urgent", CUZK_JOB_COMPLETED, 1024, 1, 900);
    double total = cpu_monotonic_seconds() - start;
    uint64_t seq = engine_find(e, "urgent");
    double synthesis = when(e, seq, TRACE_SYNTH_START) - start, device = when(e, seq, TRACE_DEVICE_TAKEN) - start;
    print_message("critical: begins after %.0f ms, is on the device after %.0f ms, done after %.2f s\n",
                  1000 * synthesis, 1000 * device, total);
    assert_true(synthesis >= 0 && synthesis < 1);
    assert_true(device >= 0 && device < 1);
    assert_true(total < 4); /* two that were at the device before it, and its own time */
    backend_sim_faults(0, &(sim_faults){0});
    free(low);
    free(urgent);
    load_engine_stop(e);
}

static bool has_parsed(void *user) {
    cuzk_engine *e = user;
    return count_events(e, TRACE_JOB_PARSED) >= 3;
}

/* Jobs of several circuits wait for bytes, none of them loaded: they sleep, and do not wake one another for nothing. */
static void who_waits_sleeps(void **state) {
    (void)state;
    sim_options sim = small_sim();
    cuzk_engine_options o = engine_case_options();
    o.request_bytes = 1 * mib;
    o.memory_bytes = o.request_bytes + load_plan(&sim, 4096, o.threads) + load_plan(&sim, 1024, o.threads) - 2 * mib;
    o.synthesis_workers = 4;
    cuzk_engine *e = load_engine(&o, &sim, false, false);
    static const struct {
        const char *id;
        uint64_t bytes;
        cuzk_priority priority;
    } jobs[] = {
        {"first", 4096, CUZK_PRIORITY_LOW}, {"low", 2048, CUZK_PRIORITY_LOW}, {"high", 1024, CUZK_PRIORITY_HIGH}};
    backend_sim_faults(0, &(sim_faults){.slow = 10000});
    for (int i = 0; i < 3; i++) {
        char *request = toy_request(jobs[i].bytes, 1, 7, -1, 0);
        cuzk_submission s = engine_case_toy(jobs[i].id, request);
        s.priority = jobs[i].priority;
        engine_case_submit(e, &s, false);
        free(request);
        while (count_events(e, TRACE_JOB_PARSED) < (unsigned)i + 1) nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    assert_true(engine_case_until(has_parsed, e));
    nanosleep(&(struct timespec){0, 300000000}, NULL);
    engine_view before = view_of(e);
    nanosleep(&(struct timespec){1, 0}, NULL);
    engine_view after = view_of(e);
    print_message("refused %llu times in a second\n", (unsigned long long)(after.host.refused - before.host.refused));
    assert_true(after.host.refused - before.host.refused < 60);
    engine_view_free(&before);
    engine_view_free(&after);
    backend_sim_faults(0, &(sim_faults){0});
    for (int i = 0; i < 3; i++) engine_case_expect(e, jobs[i].id, CUZK_JOB_COMPLETED, jobs[i].bytes, 1, 7);
    load_engine_stop(e);
}

static bool low_work_is_on_the_cpu(void *user) {
    cuzk_engine *e = user;
    engine_view v = view_of(e);
    bool on = v.host.refused > 0 && count_events(e, TRACE_DEVICE_TAKEN) > 1;
    engine_view_free(&v);
    return on;
}

/* The same where the CPU proves: the low proofs' tiles and the critical one's share the threads. */
static void critical_goes_first_on_the_cpu(void **state) {
    (void)state;
    const uint64_t large = 32 << 10;
    cuzk_engine_options o = engine_case_options();
    load_warm(large);
    o.request_bytes = 1 * mib;
    o.critical_bytes = engine_case_plan(1024, o.threads) + 4 * mib;
    /* For one low proof and a bit, so that bytes are what the next waits for. */
    o.memory_bytes = o.request_bytes + o.critical_bytes + engine_case_plan(large, o.threads) + 12 * mib;
    cuzk_engine *e = engine_case_start(&o, NULL, 0, NULL);
    load first = {.engine = e, .jobs = 1, .partitions = 1, .clients = 1, .bytes = 1024};
    load_run(&first);
    char id[32], *low = toy_request(large, 6, 5, -1, 0), *urgent = toy_request(1024, 1, 900, -1, 0);
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof id, "low-%d", i);
        cuzk_submission s = engine_case_toy(id, low);
        s.priority = CUZK_PRIORITY_LOW;
        engine_case_submit(e, &s, false);
    }
    assert_true(engine_case_until(low_work_is_on_the_cpu, e));
    cuzk_submission s = engine_case_toy("urgent", urgent);
    s.priority = CUZK_PRIORITY_CRITICAL;
    double start = cpu_monotonic_seconds();
    engine_case_submit(e, &s, false);
    engine_case_expect(e, "urgent", CUZK_JOB_COMPLETED, 1024, 1, 900);
    double total = cpu_monotonic_seconds() - start;
    uint64_t seq = engine_find(e, "urgent");
    double synthesis = when(e, seq, TRACE_SYNTH_START) - start, device = when(e, seq, TRACE_DEVICE_TAKEN) - start;
    print_message("critical on the CPU: begins after %.0f ms, is proved from %.0f ms on, done after %.2f s\n",
                  1000 * synthesis, 1000 * device, total);
    assert_true(synthesis >= 0 && synthesis < 1);
    assert_true(device >= 0 && device < 1);
    free(low);
    free(urgent);
    cuzk_engine_stop(e, 0);
}

/* ---- three keys, one and a half of which fit ---- */

static void *run_load(void *user) {
    load_run(user);
    return NULL;
}

static void keys_take_turns(void **state) {
    (void)state;
    static const uint64_t sizes[] = {4 << 10, 8 << 10, 16 << 10};
    uint64_t largest_plan = 0, tracked = buffer_total_stats().live_bytes;
    cuzk_engine_options o = engine_case_options();
    for (int i = 0; i < 3; i++) {
        load_warm(sizes[i]);
        uint64_t plan = engine_case_plan(sizes[i], o.threads);
        if (plan > largest_plan) largest_plan = plan;
    }
    o.request_bytes = 1 * mib;
    o.memory_bytes = o.request_bytes + largest_plan + 5 * mib; /* inputs, and one key and a half */
    o.idle_eviction_seconds = 0.001;
    cuzk_engine *e = engine_case_start(&o, NULL, 0, NULL);
    load l[3];
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        l[i] = (load){.engine = e, .jobs = 4, .partitions = 2, .clients = 2, .bytes = sizes[i], .name = names[i]};
        assert_int_equal(pthread_create(&t[i], NULL, run_load, &l[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(l[i].completed, 4);
        assert_int_equal(l[i].wrong + l[i].failed, 0);
    }
    engine_view v = view_of(e);
    assert_true(v.host.peak_reserved <= o.memory_bytes);
    engine_view_free(&v);
    assert_true(count_events(e, TRACE_KEY_EVICTED) >= 2);
    cuzk_engine_stop(e, 0);
    assert_int_equal(buffer_total_stats().live_bytes, tracked);
}

/* ---- few threads, many jobs ---- */

static void few_threads(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        cuzk_engine_options o = engine_case_options();
        o.threads = threads;
        o.synthesis_workers = threads;
        cuzk_engine *e = engine_case_start(&o, NULL, 0, NULL);
        load l = {.engine = e, .jobs = 32, .partitions = 1, .clients = 32, .bytes = 1024};
        load_run(&l);
        print_message("32 jobs on %u threads: %.2f s\n", threads, l.seconds);
        assert_int_equal(l.completed, 32);
        cuzk_engine_stop(e, 0);
    }
}

/* ---- nothing grows ---- */

static void a_load_leaves_nothing(void **state) {
    (void)state;
    sim_options sim = small_sim();
    cuzk_engine_options o = three_partitions(&sim, 1024, 8, 2);
    cuzk_engine *e = load_engine(&o, &sim, false, false);
    load warm = {.engine = e, .jobs = 4, .partitions = 2, .clients = 4, .bytes = 1024, .name = "warm"};
    load_run(&warm);
    settled before = settled_now(e);
    uint64_t live[BUFFER_CLASSES], count[BUFFER_CLASSES];
    for (int i = 0; i < BUFFER_CLASSES; i++) {
        live[i] = buffer_class_stats((buffer_class)i).live_bytes;
        count[i] = buffer_class_stats((buffer_class)i).live_count;
    }
    uint64_t rss = cpu_rss_bytes();
    load l = {.engine = e, .jobs = 30, .partitions = 2, .clients = 8, .bytes = 1024, .name = "more"};
    load_run(&l);
    assert_int_equal(l.completed, 30);
    assert_true(engine_case_until(is_settled, &before));
    for (int i = 0; i < BUFFER_CLASSES; i++) {
        if (i == BUFFER_REQUEST) continue; /* results are kept by the store in memory until they are purged */
        assert_int_equal(buffer_class_stats((buffer_class)i).live_bytes, live[i]);
        assert_int_equal(buffer_class_stats((buffer_class)i).live_count, count[i]);
    }
    assert_int_equal(backend_sim_stats(0).live_bytes, 0);
    assert_true(LOAD_INSTRUMENTED || cpu_rss_bytes() < rss + memory_slack(rss) / 4);
    load_engine_stop(e);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_setting_passes_the_budget),
        cmocka_unit_test(the_old_accident_is_seen),
        cmocka_unit_test(split_proving_keeps_the_device_busy),
        cmocka_unit_test(cancelled_in_mid_proof),
        cmocka_unit_test(late_in_mid_proof),
        cmocka_unit_test(who_waits_sleeps),
        cmocka_unit_test(critical_goes_first),
        cmocka_unit_test(critical_goes_first_on_the_cpu),
        cmocka_unit_test(keys_take_turns),
        cmocka_unit_test(few_threads),
        cmocka_unit_test(a_load_leaves_nothing),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    load_warm(1024);
    load_warm(2 << 10);
    load_warm(4 << 10);
    load_warm(8 << 10);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    case_folder_remove(folder);
    return failed;
}
