/* What the handles of the public API are inside, and helpers that several of its files share. */
#ifndef CUZK_API_INTERNAL_H
#define CUZK_API_INTERNAL_H

#include <pthread.h>
#include "circuit/job.h"
#include "cuzk/cuzk.h"
#include "groth16/key.h"
#include "groth16/prove.h"
#include "r1cs/shape.h"

struct cuzk_context {
    pool *pool;
    uint64_t memory_bytes;
};

struct cuzk_circuit {
    circuit own;          /* empty when the circuit belongs to a job */
    const circuit *c;     /* own, or the job's */
    pthread_mutex_t lock; /* guards sh */
    shape *sh;
};

struct cuzk_job {
    job j;
    cuzk_circuit circ;
    pthread_mutex_t lock; /* guards checked */
    bool checked;
};

struct cuzk_key {
    proving_key key;
};

struct cuzk_vk {
    verifying_key vk;
};

/* The circuit's shape, loaded or recorded by the first caller while others wait. Borrowed until the circuit is closed.
 */
cuzk_status api_shape(cuzk_circuit *h, const shape **out, const cuzk_control *control, cuzk_error *err);
void api_circuit_init(cuzk_circuit *h, const circuit *c);
void api_circuit_clear(cuzk_circuit *h);

/* Points in each section of the circuit's key, and its sizes on disk and in native form. */
typedef struct api_key_counts {
    params_view view; /* counts only */
    uint64_t params_bytes, native_bytes;
} api_key_counts;
api_key_counts api_key_counts_of(const shape *s);

/* MEMORY unless need more bytes than live now fit the context's limit. what: "the witness". */
cuzk_status api_admit(const cuzk_context *context, uint64_t need, const char *what, cuzk_error *err);
/* The backend's plan on the CPU within the context's limit. */
cuzk_status api_backend_plan(const cuzk_context *context, const shape *s, prove_plan *out, cuzk_error *err);

/* INTERNAL unless the witness's public inputs are those that a verifier derives for the partition. */
cuzk_status api_inputs_agree(const job *j, unsigned partition, const witness *w, cuzk_error *err);
/* A constraint's place in the circuit, or "" when it cannot be found. */
void api_locate(const circuit *c, uint64_t constraint, char *out, size_t n);

/* Progress without counts: tells that a stage began. */
void api_stage(const cuzk_control *control, const char *stage);
/* CANCELLED (err filled) when the control says so. */
cuzk_status api_cancelled(const cuzk_control *control, cuzk_error *err);

#endif
