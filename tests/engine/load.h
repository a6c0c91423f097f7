/* Loads for an engine, and what the process's memory does meanwhile. */
#ifndef CUZK_TESTS_ENGINE_LOAD_H
#define CUZK_TESTS_ENGINE_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include "backend/sim/sim.h"
#include "engine/engine_case.h"

/* A sanitizer's own memory and slowness are in the figures. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LOAD_INSTRUMENTED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define LOAD_INSTRUMENTED true
#endif
#endif
#ifndef LOAD_INSTRUMENTED
#define LOAD_INSTRUMENTED false
#endif

/* Samples the process every 5 ms from start to stop. Bytes are differences to the start, but for start_rss. */
typedef struct memory_watch {
    uint64_t start_rss, start_tracked;
    uint64_t peak_rss, peak_tracked;
    int64_t tracked_at_peak_rss;
    int64_t worst_unexplained; /* most that the resident bytes grew beyond the tracked ones, after two samples alike */
    unsigned samples;
    atomic_bool stop;
    pthread_t thread;
} memory_watch;
void memory_watch_start(memory_watch *w);
void memory_watch_stop(memory_watch *w);
/* The larger of 5 % and 100 MiB. */
uint64_t memory_slack(uint64_t bytes);

typedef struct load {
    cuzk_engine *engine;
    unsigned jobs, partitions, clients; /* clients: submit, await, submit the next; jobs are shared among them */
    uint64_t bytes;                     /* of the toy circuit */
    unsigned witness_ms;
    cuzk_priority priority;
    const char *name; /* front of the ids */
    /* filled: */
    double seconds;
    atomic_uint completed, failed, wrong;
    cuzk_error first_error;
} load;
/* Runs the load to its end; every proof is verified against its own inputs. */
void load_run(load *l);

/* An engine over a simulation whose devices are all given to it. with_cpu: and the CPU. */
cuzk_engine *load_engine(const cuzk_engine_options *o, const sim_options *sim, bool with_cpu, bool release_early);
/* Stops both. */
void load_engine_stop(cuzk_engine *e);
/* Host bytes that a proof of the toy circuit reserves on the simulation, without key and shape. */
uint64_t load_plan(const sim_options *sim, uint64_t bytes, unsigned threads);
/* Key and shape of the toy circuit are made, so that loads do not begin with it. */
void load_warm(uint64_t bytes);

#endif
