/* An engine over the toy kind for tests: a temporary folder as $CUZK_CACHE, development keys, small budgets. Faults end
 * the test program with a message. */
#ifndef CUZK_TESTS_ENGINE_ENGINE_CASE_H
#define CUZK_TESTS_ENGINE_ENGINE_CASE_H

#include "engine/engine.h"
#include "engine/toy_kind.h"

/* Options for tests: development keys, the CPU, 2 threads, room for 8 MiB of inputs, a budget of 256 MiB, no critical
 * share, two synthesis workers, one device worker. */
cuzk_engine_options engine_case_options(void);
/* An engine with the toy kinds; devices (n 0: what the options say) and the store (taken; NULL: in memory) as given. */
cuzk_engine *engine_case_start(const cuzk_engine_options *o, const engine_device *devices, size_t n, store *s);
/* A submission of the toy kind with this request (a text; borrowed). */
cuzk_submission engine_case_toy(const char *id, const char *request);
/* Submits it; the ticket must say joined as wanted. */
void engine_case_submit(cuzk_engine *e, const cuzk_submission *s, bool joined);
/* Awaits (at most 120 s) and checks the state; COMPLETED: every proof is right for this circuit and start. */
void engine_case_expect(cuzk_engine *e, const char *id, cuzk_job_state state, uint64_t bytes, unsigned partitions,
                        uint64_t start);
/* Waits until the condition holds, at most 60 s. */
bool engine_case_until(bool (*condition)(void *user), void *user);
/* Host bytes that a proof of the toy circuit reserves on the CPU, with threads. */
uint64_t engine_case_plan(uint64_t bytes, unsigned threads);

#endif
