/* What the handles of the public API are inside, and functions that several of its files share. */
#ifndef CUZK_API_INTERNAL_H
#define CUZK_API_INTERNAL_H

#include <pthread.h>
#include "circuit/job.h"
#include "cuzk/cuzk.h"
#include "groth16/key.h"
#include "groth16/prove.h"
#include "r1cs/shape.h"

typedef enum { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA } device_choice;

struct cuzk_context {
    pool *pool;
    uint64_t memory_bytes, device_memory_bytes /* 0: no limit */;
    device_choice device;
    unsigned cuda_device; /* of DEVICE_CUDA */
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
    pthread_mutex_t bringing; /* of the points to the host (api_key_bring) */
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

/* leave: the points stay in the file, for devices (proving_key_open_file). */
cuzk_status api_key_open(cuzk_key **out, cuzk_context *context, const char *path, bool leave, key_check check,
                         const cuzk_control *control, cuzk_error *err);
/* A development key with a random trapdoor, that devices make (proving_key_recipe). */
cuzk_status api_key_recipe(cuzk_key **out, const shape *s, cuzk_error *err);
/* cuzk_key_close for who has told devices that the key goes. */
void api_key_free(cuzk_key *key);
/* The key's points on the host, for the CPU, when they were left in the file. */
cuzk_status api_key_bring(cuzk_context *context, const cuzk_key *key, const cuzk_control *control, cuzk_error *err);
/* proving_key_doubt while others may bring the points: OK when they are on their way. */
cuzk_status api_key_doubt(cuzk_context *context, const cuzk_key *key, const cuzk_control *control, cuzk_error *err);
/* MEMORY unless need more bytes than live now fit the context's limit. what: "the witness". */
cuzk_status api_admit(const cuzk_context *context, uint64_t need, const char *what, cuzk_error *err);
/* Where a proof of this shape is made, and its plan there. */
typedef struct api_target {
    const backend *backend;
    unsigned device;
    char name[32]; /* "cpu", "cuda:0" */
    prove_plan plan;
} api_target;
/* "auto", "cpu", "cuda", "cuda:N" into the context; NULL is auto. USAGE when it is none of these, DEVICE when it is not
 * there. */
cuzk_status api_device_set(cuzk_context *context, const char *device, cuzk_error *err);
/* limited: MEMORY when the plan does not fit what is left of the context's memory. Automatic choice takes a CUDA device
 * only when the plan fits its free memory, and says so in the log when it does not. */
cuzk_status api_target_of(const cuzk_context *context, const shape *s, bool limited, api_target *out, cuzk_error *err);
/* The CUDA device that makes development keys: the one asked for, or with automatic choice the first that has room for
 * shape, key and making. False: the CPU makes them. */
bool api_key_maker(const cuzk_context *context, const shape *s, unsigned *device);

/* INTERNAL unless the witness's public inputs are those that a verifier derives for the partition. */
cuzk_status api_inputs_agree(const job *j, unsigned partition, const witness *w, cuzk_error *err);
/* A constraint's place in the circuit, or "" when it cannot be found. */
void api_locate(const circuit *c, uint64_t constraint, char *out, size_t n);

/* Progress without counts: tells that a stage began. */
void api_stage(const cuzk_control *control, const char *stage);
/* CANCELLED (err filled) when the control says so. */
cuzk_status api_cancelled(const cuzk_control *control, cuzk_error *err);

#endif
