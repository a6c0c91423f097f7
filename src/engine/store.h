/* Where jobs outlive the process: the interface, and a version in memory for embedded engines and tests.
 *
 * The engine calls every function from several threads at once, never with a lock of its own held. A store makes what
 * it answered OK to durable before it returns. seq numbers jobs in the order of their coming, for ever; it is chosen by
 * the engine, above every one that the store knows. A second, shared database can implement the same table later.
 */
#ifndef CUZK_ENGINE_STORE_H
#define CUZK_ENGINE_STORE_H

#include "base/buffer.h"
#include "cuzk/engine.h"

typedef struct store store;

typedef struct store_job { /* texts are borrowed for the call */
    uint64_t seq;
    const char *request_id, *kind, *circuit; /* circuit "" until the input is parsed */
    uint8_t digest[32];                      /* SHA-256 of the content */
    uint64_t sector_bytes;
    cuzk_priority priority;
    cuzk_device_policy policy;
    double submitted, deadline; /* seconds since the epoch; deadline 0: none */
    uint64_t payload_bytes;
    cuzk_job_state state;
    unsigned partitions; /* 0: not known yet */
    /* Processes that have begun it and not stopped in good order, so that a job that kills its process is not begun for
     * ever. */
    unsigned runs;
    unsigned crashes; /* those of them that died of a fault of the program */
    double finished;  /* since the epoch; 0 */
    cuzk_error error;
    cuzk_job_times times;
} store_job;

typedef struct store_ops {
    /* Job and payload, durable before OK. DISK, IO. */
    cuzk_status (*put)(store *s, const store_job *job, const cuzk_submission *payload, cuzk_error *err);
    /* The payload's parts: 0 c1, 1 request, 2… vanilla. *out is a buffer of class request, empty for an empty part. */
    cuzk_status (*payload_parts)(store *s, uint64_t seq, size_t *parts, cuzk_error *err);
    cuzk_status (*payload)(store *s, uint64_t seq, size_t part, buffer *out, cuzk_error *err);
    /* State, circuit, partitions, runs, crashes, error, times, finished are updated. A finished job's payload is
     * dropped: at once as far as others see, its bytes perhaps later. */
    cuzk_status (*update)(store *s, const store_job *job, cuzk_error *err);
    /* One verified proof, or the whole result (partition UINT_MAX) with the state COMPLETED in one step. */
    cuzk_status (*put_proof)(store *s, uint64_t seq, unsigned partition, const uint8_t proof[192], cuzk_error *err);
    cuzk_status (*complete)(store *s, const store_job *job, const uint8_t *proofs, size_t bytes, cuzk_error *err);
    cuzk_status (*proofs)(store *s, uint64_t seq, void (*each)(void *user, unsigned partition, const uint8_t *proof),
                          void *user, cuzk_error *err); /* those of put_proof */
    cuzk_status (*result)(store *s, uint64_t seq, buffer *out, cuzk_error *err);
    /* One attempt of a partition: where, and how it ended. */
    cuzk_status (*attempt)(store *s, uint64_t seq, unsigned partition, const char *device, double seconds,
                           const cuzk_error *outcome /* status OK: done */, cuzk_error *err);
    /* Every job, oldest first; at start, and for `cuzk jobs`. */
    cuzk_status (*each)(store *s, void (*each)(void *user, const store_job *job), void *user, cuzk_error *err);
    /* Finished jobs older than this time (seconds since the epoch) go. */
    cuzk_status (*purge)(store *s, double before, uint64_t *gone, cuzk_error *err);
    /* Whether it can be written to now: DISK, IO. Leaves no trace. */
    cuzk_status (*probe)(store *s, cuzk_error *err);
    void (*close)(store *s);
} store_ops;

struct store { /* first member of each implementation */
    const store_ops *ops;
};

/* Keeps everything in memory: payloads and results in tracked buffers of class request. Returned; free with ops->close.
 */
store *store_memory_create(cuzk_error *err);

#endif
