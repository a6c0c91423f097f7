/* What the engine is inside; private to src/engine.
 *
 * One mutex guards jobs, partitions, queues, devices' states and lanes; work is seconds long, so that is fine enough.
 * Every change bumps a generation under it and wakes all who wait, so no wake-up can be lost. With it held nothing is
 * parsed, proved, verified, stored, loaded, allocated at length, or given back to a budget (whose call-back takes it).
 *
 * A job that has begun has its input parsed ("prepared"): shared, counted, closed by whoever drops the last reference.
 * Each try of a partition is an attempt: a heap object that owns everything its thread touches. A partition may turn
 * its back on an attempt (cancelled, hung): then the attempt's thread, whenever it returns, frees it.
 */
#ifndef CUZK_ENGINE_INTERNAL_H
#define CUZK_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include "api/internal.h"
#include "engine/engine.h"

#define KEPT_ENDED_JOBS 100u /* in views */
#define STUCK_GRACE 5.0      /* seconds that threads in a hung device get at the end */
/* Processes that may die while they work on one job: of a fault of the program, which the job may have brought about,
 * and of all causes. Kills and power cuts say nothing of the job, but what the kernel kills for want of memory may die
 * of it every time: the second is high enough for a machine that falls over each hour for a month, and brings the
 * others back within a day when a job takes the process down each minute. */
#define CRASHES_MAX 10u
#define DEATHS_MAX 1000u

typedef struct engine_job engine_job;
typedef struct engine_dev engine_dev;
typedef struct lane lane;

/* ---- a job's input and what its proofs need ---- */

typedef struct device_plan {
    bool made; /* else why */
    uint64_t host_bytes, device_bytes, shared_bytes /* of device_bytes */;
    uint64_t making_bytes; /* beside shared_bytes, while the device makes a development key */
    bool whole;            /* the key lies on the device as a whole */
    cuzk_error why;
} device_plan;

/* What proofs of a circuit need; made once, kept until the engine ends. */
typedef struct circuit_plan {
    struct circuit_plan *next;
    char circuit[64];
    resource_need need;
    device_plan on[ENGINE_MAX_DEVICES];
} circuit_plan;

typedef struct prepared {
    atomic_uint refs;
    job j;
    reservation bytes; /* of the parsed input */
    const circuit_plan *plan;
    uint32_t fits; /* devices whose plan fits what the engine may ever give */
} prepared;

/* ---- partitions ---- */

/* What proofs of a circuit share in a device's memory (shape and key), and its bytes there. It stays when no proof uses
 * it, until others need the room. */
typedef struct dev_resident {
    struct dev_resident *next;
    const circuit_plan *plan;
    uint64_t key_id; /* of the proving key */
    reservation bytes;
    unsigned users;
    double used;
    bool shown; /* the key's tier says so */
} dev_resident;

typedef enum { CLASS_DEVICE, CLASS_CPU, DEVICE_CLASSES } device_class;

typedef struct attempt {
    struct attempt *next; /* in the queue or among the pending */
    engine_job *job;
    unsigned partition;
    prepared *prep;
    resource *key; /* key and shape */
    device_class cls;
    bool critical, permit, synthesized, abandoned, abc_told; /* under the engine's lock */
    bool no_room;                                            /* others had the device's memory: it is no try */
    uint32_t excluded;                                       /* devices that failed this partition */
    uint64_t seen;                                           /* rooms when it was picked */
    witness w;
    reservation host, dev;
    engine_dev *device; /* once taken */
    dev_resident *resident;
    bool on_device; /* counted in device->in_hand */
    pending_proof *pending;
    prove_times times;
    atomic_int cancel;
    atomic_llong alive_ms; /* when the device last gave a sign; 0: not with a device */
    double since, synthesis, wait, started, device_seconds, finish;
    cuzk_engine *engine; /* for call-backs */
    char lane[24];
} attempt;

typedef struct partition {
    partition_state state;
    unsigned attempts;
    uint32_t excluded; /* devices that failed it */
    uint32_t suspects; /* devices that called its witness unsatisfied */
    bool has_proof, from_store;
    attempt *current;
    engine_dev *device;                                              /* of the last attempt */
    double synth_start, synth_seconds, device_start, device_seconds; /* monotonic; 0: not begun */
    groth16_proof proof;
} partition;

/* ---- jobs ---- */

struct engine_job {
    engine_job *older, *newer;            /* of all, by seq */
    engine_job *live_before, *live_after; /* of those not ended */
    engine_job *next_by_seq;
    engine_job *next_in_bucket; /* newest first */
    uint64_t seq;
    char *id;
    char kind[24], circuit[64];
    const circuit_kind *kind_code;
    uint8_t digest[32];
    uint64_t sector_bytes, payload_bytes;
    cuzk_priority priority; /* never DEFAULT */
    cuzk_device_policy policy;
    double submitted, deadline, finished; /* since the epoch; 0: none */
    double submitted_mono, started_mono, finished_mono;
    cuzk_job_state state;
    unsigned runs, crashes, waiters, n_partitions, n_done, n_active;
    unsigned uses;     /* threads and attempts that look at it */
    unsigned attempts; /* most of one partition */
    bool arriving;     /* not yet in the store */
    bool preparing, loading /* its key */, started, checked, counted_run, restored, ending, completing, verifying,
        listed;
    bool interrupted; /* a process died while it worked on it */
    bool unsaved;     /* its end is not in the store yet */
    bool superseded;
    uint64_t blocked_at; /* rooms when it asked for bytes and did not get them; 0: none */
    unsigned alone;      /* times it did not although nothing else was under way */
    atomic_int cancel;   /* of its preparation */
    prepared *prep;
    partition *partitions;
    uint8_t *proofs; /* only while unsaved */
    size_t proof_bytes;
    cuzk_error *error; /* of FAILED and CANCELLED */
    cuzk_job_times times;
};

/* ---- devices and lanes ---- */

struct engine_dev {
    const backend *b;
    unsigned number, index;
    bool is_cpu, quarantined, hung;
    char id[32], name[96], why[160];
    budget *memory; /* NULL for the CPU; it has no call-back: who gives bytes back bumps the generation */
    dev_resident *residents;
    double fault_at;  /* when it last failed to begin a proof */
    unsigned in_hand; /* attempts that it has: started and not finished */
    bool starving;    /* it had less in hand than it has workers before the next witness was made */
    uint64_t memory_bytes, free_bytes;
    double short_since, short_until; /* others have its memory; 0: not now */
    double looked;                   /* when free_bytes was asked for */
    unsigned fault_weight, busy;     /* busy: threads of ours in it */
    unsigned forgets;                /* threads that wait for it to give up a key */
    double forgets_since;
    uint64_t proofs, faults, wrong_proofs;
    double busy_since, busy_seconds;
};

typedef enum { LANE_SYNTHESIS, LANE_DEVICE, LANE_FINISH } lane_kind;

struct lane {
    lane *next;
    cuzk_engine *engine;
    pthread_t thread;
    lane_kind kind;
    bool critical_only, busy, stuck /* in a device that hung */, left;
    engine_dev *device;
    engine_dev *asks; /* something beside a proof: it may not answer */
    double asks_since;
    char name[48], trace_name[24];
    /* what it does; job_id is a copy, as the job may go */
    uint64_t job_seq;
    unsigned partition;
    double since;
    char job_id[256], job_kind[24];
};

#define JOB_BUCKETS 4096u

struct cuzk_engine {
    cuzk_engine_options o; /* resolved; texts and lists owned */
    const circuit_kind **kinds;
    size_t n_kinds;
    bool fault_release_early, crashed;
    bool death_unnoted;   /* the store could not take all */
    bool keys_on_devices; /* development keys are made by devices, unless they are there as files */
    cuzk_context *context;
    budget *host;
    resources *keys;
    trace *events;
    store *st;
    bool store_is_memory;
    reservation request_share;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    /* Of the idle synthesis workers one alone waits for changes; the others wait to follow it, so that many of them
     * cost nothing. */
    pthread_cond_t follow;
    bool led;
    uint64_t generation;
    pthread_cond_t ended; /* monotonic clock; of those that await a job: a thousand of them cost nothing */
    /* How often bytes of the host may have come free. Who was refused waits for this, not for the generation: otherwise
     * two that wait for bytes would wake each other without end by asking. */
    uint64_t rooms;
    bool draining, stopping;
    double started;
    char trouble[160];

    engine_job *oldest, *newest, *live_first, *live_last;
    engine_job **candidates; /* schedule_pick_locked's */
    size_t candidates_room;
    unsigned high_in_row; /* partitions of HIGH jobs begun since one below */
    bool taking[2];       /* a worker asks for a partition's bytes: [critical] */
    circuit_plan *plans;
    engine_job *buckets[JOB_BUCKETS], *by_seq[JOB_BUCKETS];
    uint64_t last_seq;
    unsigned n_live; /* not ended */
    unsigned calls;  /* inside public calls that wait or load */

    engine_dev devices[ENGINE_MAX_DEVICES];
    size_t n_devices;
    attempt *queue, *pending;
    unsigned queued[DEVICE_CLASSES], permits[DEVICE_CLASSES], n_pending;
    unsigned ahead[DEVICE_CLASSES];    /* permits that the devices have shown to need; 0: what schedule.c begins with */
    unsigned loading[DEVICE_CLASSES];  /* attempts with a permit that wait for their key to be loaded */
    unsigned starting[DEVICE_CLASSES]; /* those that a device has, which takes their witness */
    unsigned in_flight, peak_in_flight; /* synthesized, not yet given back by a device */
    lane *lanes;
    pthread_t watchdog, warmer;
    bool has_watchdog, has_warmer, warming;
    atomic_int cancel_all; /* of preload and warming */

    uint64_t request_bytes; /* being received */

    kind_counters counters[ENGINE_KINDS_MAX];
    size_t n_counters;
    uint64_t retries, cpu_fallbacks, verify_failures, superseded, joined, hung;
    uint64_t memory_payloads;    /* bytes of inputs that a store in memory holds */
    uint64_t untracked_at_start; /* memory of the process that was nobody's buffer */
    bool unexplained_told, cpu_told;
};

/* ---- engine.c ---- */
double engine_epoch(void);
/* Under the lock: bytes may have come free, or another need is to be met: who was refused asks again. */
void engine_room_locked(cuzk_engine *e);
/* Under the lock: bumps the generation and wakes. */
void engine_changed_locked(cuzk_engine *e);
/* Takes the lock for it. */
void engine_changed(cuzk_engine *e);
/* Under the lock: waits for a change, at most until (monotonic; negative: for ever). */
void engine_wait_locked(cuzk_engine *e, double until);
/* Under the lock: waits until this job ends or the engine stops, as long. */
void engine_wait_end_locked(cuzk_engine *e, const engine_job *j, double until);
/* Under the lock: a public call that was counted in `calls` returns; the engine may be freed right after. */
void engine_call_over_locked(cuzk_engine *e);
/* What a noncritical (critical) job could ever have: the total less what is never given back. */
uint64_t engine_usable_bytes(cuzk_engine *e, bool critical);
const circuit_kind *engine_kind(const cuzk_engine *e, const char *name); /* NULL when unknown */
bool engine_circuit_enabled(const cuzk_engine *e, const char *name);
/* By its name ("porep-32gib"). USAGE when there is none such. */
cuzk_status engine_circuit_by_name(const cuzk_engine *e, circuit *out, const char *name, cuzk_error *err);

/* ---- jobs.c ---- */
/* Under the lock: the newest of this id; NULL. */
engine_job *jobs_find_locked(cuzk_engine *e, const char *id);
engine_job *jobs_find_seq_locked(cuzk_engine *e, uint64_t seq);
void jobs_add_locked(cuzk_engine *e, engine_job *j);
void jobs_remove_locked(cuzk_engine *e, engine_job *j);
void jobs_free(engine_job *j); /* that is in no table */
/* The store holds the job's input no longer. */
void jobs_payload_gone_locked(cuzk_engine *e, const engine_job *j);
cuzk_status jobs_restore(cuzk_engine *e, cuzk_error *err);
void jobs_free_all(cuzk_engine *e);
/* At the end of an engine that was stopped in good order: jobs that it began are as if it had not. */
void jobs_give_back(cuzk_engine *e);
void jobs_trouble_locked(cuzk_engine *e, const cuzk_error *err);
void jobs_forget_old(cuzk_engine *e, double before);
/* Puts ends that the store did not take there now. */
void jobs_save_unsaved(cuzk_engine *e);
void jobs_store_fields_locked(const engine_job *j, store_job *out);
kind_counters *jobs_counters_locked(cuzk_engine *e, const char *kind);
bool jobs_ended(const engine_job *j);
/* Ends a job: FAILED or CANCELLED with why. The lock is not held; nothing happens when the job has ended or is ending.
 */
void jobs_end(cuzk_engine *e, engine_job *j, cuzk_job_state state, const cuzk_error *why);
/* All partitions are proved: takes the proofs to the store and ends the job. */
void jobs_complete(cuzk_engine *e, engine_job *j, uint8_t *proofs /* taken */, size_t bytes);
void jobs_unuse(cuzk_engine *e, engine_job *j); /* takes the lock */

/* ---- prepare.c ---- */
/* Parses, checks and loads what the job needs; the job is `preparing` and used. The lock is not held. */
void prepare_job(cuzk_engine *e, engine_job *j, lane *l);
void prepared_drop(prepared *p); /* without the lock; accepts NULL */
static inline prepared *prepared_use(prepared *p) {
    atomic_fetch_add(&p->refs, 1);
    return p;
}
/* Whether the circuit's key need not be made first. */
bool prepare_key_is_here(const cuzk_engine *e, const circuit *c);
/* Takes the parsed input from jobs that come after `head` and are not being worked on, since head lacks bytes. Without
 * the lock. */
void prepare_give_way(cuzk_engine *e, const engine_job *head);
/* The plans for a circuit, made by the first who asks. */
cuzk_status prepare_plan(cuzk_engine *e, const circuit *c, const circuit_plan **out, const cuzk_control *control,
                         cuzk_error *err);

/* ---- schedule.c ---- */
typedef enum { PICK_NONE, PICK_PREPARE, PICK_SYNTHESIZE, PICK_FAIL } pick_what;
typedef struct pick {
    pick_what what;
    engine_job *job; /* used: jobs_unuse (not for SYNTHESIZE: its attempt uses it) */
    attempt *attempt;
    uint64_t bytes; /* of the plan */
    bool crowded;   /* PREPARE: many parsed jobs wait that come after this one; they are to give way */
    cuzk_error why;
} pick;
/* Under the lock: the next thing that a synthesis worker is to do. */
void schedule_pick_locked(cuzk_engine *e, bool critical_only, pick *out);
/* Under the lock: the job was refused bytes that it asked for after this number of rooms was seen. True when it never
 * will get them: it was refused several times although nothing was under way, so that what is missing is taken for
 * good, by pinned keys for example. */
bool schedule_refused_locked(cuzk_engine *e, engine_job *j, uint64_t seen);
/* Under the lock: a witness was made for the class, whose devices may have waited for it. */
void schedule_made_locked(cuzk_engine *e, device_class cls);
/* Under the lock: a partition of this job begins. */
void schedule_began_locked(cuzk_engine *e, const engine_job *j);
/* Under the lock: whether a goes before b. */
bool schedule_before(const cuzk_engine *e, const engine_job *a, const engine_job *b, double now);
static inline bool schedule_is_critical(const engine_job *j) {
    return j->priority == CUZK_PRIORITY_CRITICAL;
}

/* ---- synthesis.c ---- */
void *synthesis_lane(void *arg);

/* ---- attempts.c ---- */
attempt *attempt_create(cuzk_engine *e, engine_job *j, unsigned k, device_class cls);
/* Without the lock: gives back all that it owns, and the job's use. No device has a proof of it pending. */
void attempt_free(attempt *a);
void attempts_free(attempt *chain); /* all of it; accepts NULL */
/* The same of one that may have a proof pending, which a device that hangs does not give back: for lanes of devices and
 * finalizers only. */
void attempt_drop(attempt *a, lane *l);
/* Under the lock: gives the permit back, if it has one. */
void attempt_permit_back_locked(attempt *a);
/* Under the lock: the partition turns its back on its attempt. Returned when nobody else has it in hand: free it. One
 * with a proof pending a finalizer frees. */
attempt *attempt_abandon_locked(cuzk_engine *e, partition *p);
/* After a try failed: tries again or ends the job. Takes the attempt. The lock is not held. */
void attempt_failed(attempt *a, const cuzk_error *why, bool wrong_proof);

/* ---- devices.c ---- */
cuzk_status devices_open(cuzk_engine *e, const engine_setup *setup, cuzk_error *err);
void devices_close(cuzk_engine *e);
void *device_lane(void *arg);
void devices_queue_locked(cuzk_engine *e, attempt *a);
/* Under the lock: queued attempts that no device suits any more go back; their partitions are looked at anew. After a
 * device was put in quarantine, and after one was queued, as its device may have gone while its witness was made.
 * Returned are those to be freed without the lock, chained. */
attempt *devices_requeue_locked(cuzk_engine *e);
/* Whether there are devices, and all of them read keys from their files and make development keys. */
bool devices_read_files(const cuzk_engine *e);
/* Where a partition may be proved now: the class and the host bytes it takes there, or false with why. */
bool devices_class_locked(cuzk_engine *e, const engine_job *j, const partition *p, device_class *cls,
                          uint64_t *host_bytes, cuzk_error *why);
/* Whether attempts of this class may be made by d. */
bool devices_suits(const engine_dev *d, device_class cls, uint32_t excluded, uint32_t fits);
/* Whether there can be a device at all for this policy of a job. */
cuzk_status devices_for_policy(cuzk_engine *e, cuzk_device_policy policy, cuzk_error *err);
void device_busy_locked(engine_dev *d, int by);
/* Counts a fault; after several the device is quarantined. Attempts to be freed without the lock are chained. */
attempt *device_fault_locked(cuzk_engine *e, engine_dev *d, const char *what, bool wrong_proof, bool at_once);
cuzk_device_policy devices_policy_locked(const cuzk_engine *e, cuzk_device_policy policy);

/* ---- device_memory.c ---- */
/* Under the lock: the bytes that a needs on d, and a's part in what is shared there; false: not now. */
bool device_memory_try_locked(engine_dev *d, attempt *a);
/* Under the lock: gives them back. */
void device_memory_give_locked(attempt *a);
/* Under the lock: the proof was started: what only the making of its key took is given back. */
void device_memory_started_locked(attempt *a);
/* What a proof needs on a device at most, when it finds nothing there and the device makes (or not) its key. */
uint64_t device_memory_most(const device_plan *plan, bool makes_key);
/* Under the lock: a key goes that no proof uses; key_id 0: all. */
void device_memory_forget_locked(engine_dev *d, uint64_t key_id);
/* Without the lock: the device gives up what it keeps of the key; one that hangs is waited for only until that is
 * known. */
void device_memory_forget_key(cuzk_engine *e, engine_dev *d, uint64_t key_id);
/* After a proof was started: the key's tier is resident, its pages on the host can go. Without the lock. */
void device_memory_show(attempt *a);

/* ---- finish.c ---- */
void *finish_lane(void *arg);
/* When all partitions have proofs: verifies and completes. Without the lock, job used. */
void finish_job_if_done(cuzk_engine *e, engine_job *j, prepared *prep, const resource *key, const char *lane_name);

/* ---- watchdog.c ---- */
void *watchdog_lane(void *arg);
void *warmer_lane(void *arg); /* the critical share: plan, keys */

/* ---- lanes (engine.c) ---- */
cuzk_status lane_start(cuzk_engine *e, lane_kind kind, engine_dev *d, unsigned number, bool critical_only,
                       cuzk_error *err);
void lane_busy_locked(lane *l, const engine_job *j, unsigned k);
void lane_idle_locked(lane *l);
/* Under the lock: the lane's thread asks the device something beside a proof, and the watchdog looks whether it
 * answers; NULL: it did. */
void lane_asks_locked(lane *l, engine_dev *d);

#endif
