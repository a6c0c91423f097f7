/* The engine's inner face, for the program's own layers (store, rpc, http, daemon, cli) and tests. */
#ifndef CUZK_ENGINE_ENGINE_H
#define CUZK_ENGINE_ENGINE_H

#include "engine/store.h"
#include "engine/trace.h"
#include "engine/view.h"
#include "groth16/backend.h"

/* A device as the engine sees it: a backend's, and the cuzk_engine_options do not name it. For simulated devices. */
typedef struct engine_device {
    const backend *backend;
    unsigned device;
    bool is_cpu; /* computes on the pool, and counts as the CPU for the policy */
} engine_device;

typedef struct engine_setup {     /* beside the public options */
    store *store;                 /* taken: closed by cuzk_engine_stop; NULL: in memory */
    const engine_device *devices; /* n_devices 0: what options.devices says */
    size_t n_devices;
    const circuit_kind *const *kinds; /* proof kinds beside the circuit table's; for tests */
    size_t n_kinds;
    /* For the tests of the instruments: partitions give their permit and their reservation back when synthesis ends, as
     * the old system did. */
    bool fault_release_early;
    /* The process that had the store before died of a fault of the program, which one of the jobs that it worked on may
     * have brought about. */
    bool crashed;
} engine_setup;

/* setup NULL: none. */
cuzk_status engine_start(cuzk_engine **out, const cuzk_engine_options *options, const engine_setup *setup,
                         cuzk_error *err);

/* Whether the store has taken how the process before ended, for all jobs that it worked on; else the next start is to
 * be told of it again. */
bool engine_deaths_noted(cuzk_engine *e);

trace *engine_trace(cuzk_engine *e);
/* Bumps after every change that a watcher may want to see; waits at most timeout seconds for it to differ from `seen`
 * and returns it. For server-sent events. */
uint64_t engine_generation(cuzk_engine *e, uint64_t seen, double timeout);

/* Room for inputs being received, within request_bytes. False when there is none now; who waits is the caller's to
 * order. */
bool engine_request_try(cuzk_engine *e, uint64_t bytes);
void engine_request_done(cuzk_engine *e, uint64_t bytes);

/* A job by its request id (the newest) as stored: for `cuzk jobs`, all with each. */
cuzk_status engine_jobs(cuzk_engine *e, void (*each)(void *user, const store_job *job), void *user, cuzk_error *err);
/* No new job is begun from now on (SIGTERM); submit answers REFUSED. */
void engine_drain(cuzk_engine *e);
/* What SIGHUP may change: bytes, workers' number is fixed. */
void engine_reload(cuzk_engine *e, const cuzk_engine_options *options);
/* A waiter that stays with one job: await by seq. 0 when there is no such id. */
uint64_t engine_find(cuzk_engine *e, const char *job_id);
cuzk_status engine_await_seq(cuzk_engine *e, uint64_t seq, double timeout_seconds, cuzk_job_result *out,
                             cuzk_error *err);

/* Waiters that hold no thread (they look with engine_await_seq, timeout 0, after each new generation): a job that is
 * superseded while it runs goes on as long as somebody waits for it. engine_submit_wait is cuzk_engine_submit, and the
 * caller waits for *seq from the first moment; engine_wait_begin is engine_find, and the caller waits for what it
 * returns (nothing for 0). Each is ended with engine_wait_end, which also ends the job when nobody else waits and the
 * waiter wishes it, or the job is superseded: it may write to the store and free a proof's memory. */
cuzk_status engine_submit_wait(cuzk_engine *e, const cuzk_submission *submission, cuzk_job_ticket *ticket,
                               uint64_t *seq, cuzk_error *err);
uint64_t engine_wait_begin(cuzk_engine *e, const char *job_id);
void engine_wait_end(cuzk_engine *e, uint64_t seq, bool wishes_end);
/* Ends loads of keys that nobody's job asked for (preload). Before a stop, so that those who wait for one return. */
void engine_stop_loads(cuzk_engine *e);

#endif
