/* See engine/engine_case.h. */
#include "engine/engine_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cpu.h"

static _Noreturn void give_up(const char *what, const cuzk_error *err) {
    fprintf(stderr, "engine case: %s: %s (%s) expected %s found %s\n", what, err->what, err->where, err->expected,
            err->found);
    abort();
}

cuzk_engine_options engine_case_options(void) {
    return (cuzk_engine_options){.size = sizeof(cuzk_engine_options),
                                 .threads = 2,
                                 .memory_bytes = (uint64_t)256 << 20,
                                 .request_bytes = (uint64_t)8 << 20,
                                 .synthesis_workers = 2,
                                 .device_workers = 1,
                                 .devices = "cpu",
                                 .development_keys = true};
}

cuzk_engine *engine_case_start(const cuzk_engine_options *o, const engine_device *devices, size_t n, store *s) {
    static const circuit_kind *const kinds[] = {&toy_kind, &toy_lazy_kind};
    engine_setup setup = {.store = s, .devices = devices, .n_devices = n, .kinds = kinds, .n_kinds = 2};
    cuzk_engine *e;
    cuzk_error err;
    if (engine_start(&e, o, &setup, &err)) give_up("start", &err);
    return e;
}

cuzk_submission engine_case_toy(const char *id, const char *request) {
    return (cuzk_submission){
        .size = sizeof(cuzk_submission), .request_id = id, .kind = "toy", .request = {request, strlen(request)}};
}

void engine_case_submit(cuzk_engine *e, const cuzk_submission *s, bool joined) {
    cuzk_job_ticket ticket;
    cuzk_error err = {0};
    if (cuzk_engine_submit(e, s, &ticket, &err)) give_up("submit", &err);
    if (ticket.joined != joined) give_up(joined ? "it did not join" : "it joined", &err);
    if (s->request_id && strcmp(ticket.job_id, s->request_id) != 0) give_up("another id", &err);
}

void engine_case_expect(cuzk_engine *e, const char *id, cuzk_job_state state, uint64_t bytes, unsigned partitions,
                        uint64_t start) {
    cuzk_job_result r;
    cuzk_error err = {0};
    if (cuzk_engine_await(e, id, 120, &r, &err)) give_up("await", &err);
    if (r.state != state) {
        fprintf(stderr, "job %s is %s, wanted %s\n", id, cuzk_job_state_name(r.state), cuzk_job_state_name(state));
        give_up("state", &r.error);
    }
    if (state == CUZK_JOB_COMPLETED && !toy_verify(&toy_kind, bytes, partitions, start, r.proof, r.proof_bytes))
        give_up("the proofs are wrong", &r.error);
    cuzk_job_result_free(&r);
}

bool engine_case_until(bool (*condition)(void *user), void *user) {
    double end = cpu_monotonic_seconds() + 60;
    while (!condition(user)) {
        if (cpu_monotonic_seconds() > end) return false;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return true;
}

static void plan_of(const shape *s, unsigned threads, prove_plan *plan) {
    cuzk_error err;
    if (backend_cpu()->plan(0, s, threads, 0, 0, plan, &err)) give_up("plan", &err);
}

uint64_t engine_case_plan(uint64_t bytes, unsigned threads) {
    circuit c;
    shape *s;
    prove_plan plan;
    cuzk_error err;
    if (circuit_open_kind(&c, &toy_kind, bytes, "", &err)) give_up("circuit", &err);
    if (shape_record(&s, c.kind->synthesize, c.params, NULL, &err)) give_up("shape", &err);
    plan_of(s, threads, &plan);
    shape_destroy(s);
    circuit_close(&c);
    return plan.host_bytes;
}
