/* What a proof will need, told before any work.
 */
#ifndef CUZK_PLAN_H
#define CUZK_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "cuzk/circuit.h"
#include "cuzk/memory.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Seconds of wall time, estimated. Not on the list: opening and converting a key. */
typedef struct cuzk_plan_seconds {
    double synthesis, eval, ntt, msm_h, msm_rest, verify, total;
} cuzk_plan_seconds;

typedef struct cuzk_plan {
    uint64_t host_bytes;   /* peak of tracked buffers of one partition at a time, the job's own input not counted */
    uint64_t device_bytes; /* 0 on the CPU */
    uint64_t key_bytes;    /* of the mapped proving key; not part of host_bytes */
    uint64_t shape_bytes;  /* of the mapped shape; not part of host_bytes */
    uint64_t limit_bytes;  /* of the context */
    bool fits;             /* host_bytes ≤ limit_bytes */
    bool resident;   /* buffers and key together fit the machine's memory, so that the key is read from disk once */
    unsigned chunks; /* parts a proof is cut into; 1: none */
    cuzk_plan_seconds seconds;
    cuzk_memory_class classes[CUZK_MAX_MEMORY_CLASSES]; /* peak_bytes of each class; live_bytes 0 */
    unsigned n_classes;
    char device[32]; /* "cpu", "cuda:0" */
} cuzk_plan;

/* Loads or records the shape; no key is needed. */
cuzk_status cuzk_plan_make(cuzk_context *context, cuzk_circuit *circuit, cuzk_plan *out, const cuzk_control *control,
                           cuzk_error *err);
/* MEMORY with need and limit when host_bytes and what is live now exceed the context's limit. */
cuzk_status cuzk_plan_admit(cuzk_context *context, cuzk_circuit *circuit, const cuzk_control *control, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
