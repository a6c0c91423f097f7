/* The context: a pool of threads and the limits that work keeps to.
 *
 * One context serves any number of jobs and threads: all functions that take one may be called by several threads at
 * once and share its pool. Destroy it after the last call that uses it has returned.
 */
#ifndef CUZK_CONTEXT_H
#define CUZK_CONTEXT_H

#include <stdint.h>
#include "cuzk/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_context cuzk_context;

typedef struct cuzk_settings {
    unsigned threads;      /* 0: as many as the process may use (affinity and cgroup quota); at most CUZK_MAX_THREADS */
    uint64_t memory_bytes; /* most host memory for tracked buffers; 0: what the machine (or its cgroup) has. Not 0: it
                              also becomes the process-wide limit of tracked buffers */
    uint64_t device_memory_bytes; /* most memory of a device; 0: what is free there. Of no effect on the CPU */
    const char *device; /* NULL or "auto": a CUDA device when there is one with room, else the CPU; "cpu"; "cuda" or
                           "cuda:N": that device, DEVICE when it cannot be had. Copied */
} cuzk_settings;

#define CUZK_MAX_THREADS 1024u

/* settings NULL: all defaults. Returned; free with cuzk_context_destroy. USAGE for too many threads, DEVICE for a
 * device that is not there, MEMORY or INTERNAL when threads cannot be started. */
cuzk_status cuzk_context_create(cuzk_context **out, const cuzk_settings *settings, cuzk_error *err);
void cuzk_context_destroy(cuzk_context *context);

unsigned cuzk_context_threads(const cuzk_context *context);
/* The limit in force, in bytes; never 0. */
uint64_t cuzk_context_memory_bytes(const cuzk_context *context);

/* Calls each with the name of every device that proofs can be made on: "cpu", then "cuda:0", … Names are borrowed until
 * each returns. Loads the CUDA module when there is one. */
void cuzk_device_list(void (*each)(void *user, const char *name), void *user);

/* "0.1.0". Static string. */
const char *cuzk_version(void);
/* The version of the arithmetic kernels that this CPU runs: "portable", "adx", "ifma". Static string. */
const char *cuzk_cpu_kernels(void);
/* The processor's own name. Static string. */
const char *cuzk_cpu_model(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
