/* A simulated device: really proves, by the CPU backend beneath, with the memory, the times and the faults of a device
 * that is not there. For tests and for trying settings.
 *
 * A proof's plan is the CPU's, and host_bytes and device_bytes more. The host's are really taken from tracked buffers
 * and every page of them is written; the device's are counted against memory_bytes. prove_start uploads (several at
 * once), then computes (one proof at a time on a device, in the order of their coming), gives two thirds of host_bytes
 * back and tells so; prove_finish gives back the rest. Both look at the control's cancel every few milliseconds and
 * report progress as often. One simulation a process at a time; functions are thread-safe.
 */
#ifndef CUZK_BACKEND_SIM_SIM_H
#define CUZK_BACKEND_SIM_SIM_H

#include "groth16/backend.h"

#define SIM_MAX_DEVICES 8u

/* Each N: every N-th on that device; 0: never. */
typedef struct sim_faults {
    unsigned allocation_every; /* fails with MEMORY; a proof makes three */
    unsigned launch_every;     /* fails with DEVICE, naming the stage; a proof makes eight */
    unsigned flip_every;       /* results of prove_finish come out wrong */
    double slow;               /* times take so many times as long; 0: 1 */
    bool hang;                 /* computing stands still, whatever cancel says, until this is false again */
    bool dead;                 /* everything fails with DEVICE */
} sim_faults;

typedef struct sim_options {
    unsigned devices;                                       /* 1 to SIM_MAX_DEVICES */
    uint64_t memory_bytes;                                  /* of each device */
    uint64_t host_bytes, device_bytes;                      /* of each proof, beside what the CPU proof beneath takes */
    double upload_seconds, compute_seconds, finish_seconds; /* compute: at least, as the proof beneath takes its time */
} sim_options;

/* Borrowed until backend_sim_destroy. NULL (err filled) when there is no memory or a simulation is there already. */
const backend *backend_sim_create(const sim_options *options, cuzk_error *err);
/* No proof is under way. */
void backend_sim_destroy(void);
/* Takes effect at once, on proofs under way, too. */
void backend_sim_faults(unsigned device, const sim_faults *faults);

typedef struct sim_stats {
    uint64_t started, finished, abandoned, failed;
    uint64_t wrong;                  /* results that came out wrong */
    uint64_t refused_bytes;          /* starts that found the device's memory full: a plan that was not kept */
    uint64_t peak_bytes, live_bytes; /* of device memory */
    uint64_t keys_seen, keys_forgotten, keys_used_after; /* used_after: proofs with a key that was forgotten */
    double busy_seconds, first_busy, last_busy; /* computing; cpu_monotonic_seconds of its first start and last end */
} sim_stats;
sim_stats backend_sim_stats(unsigned device);

#endif
