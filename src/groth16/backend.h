/* The device interface: a backend proves one partition, split into start and finish.
 *
 * prove_start takes what it needs and returns a pending proof that owns everything any thread or kernel still reads or
 * writes; key and shape are borrowed until the pending proof is finished or abandoned, the witness is taken (freed as
 * soon as it has been read). prove_finish joins what is left and assembles A, B, C; it may run on another thread than
 * prove_start and while another prove_start runs on the same device. prove_abandon frees the same things without a
 * proof. Exactly one of the two is called for each pending proof. A device fault is a status (DEVICE), never an exit.
 * Version number first, so that a loadable module can be refused.
 */
#ifndef CUZK_GROTH16_BACKEND_H
#define CUZK_GROTH16_BACKEND_H

#include "groth16/key.h"
#include "groth16/setup.h"
#include "groth16/setup_files.h"
#include "r1cs/witness.h"

#define BACKEND_VERSION 3u

typedef struct pending_proof pending_proof; /* the backend's own */

typedef struct prove_times { /* seconds of wall time of each stage */
    double eval, ntt, msm_h, msm_l, msm_a, msm_b_g1, msm_b_g2, finish, total;
} prove_times;

typedef struct prove_request {
    const proving_key *key; /* borrowed until finish or abandon */
    const shape *shape;     /* likewise */
    witness *witness;       /* taken: emptied by prove_start in every case */
    fr r, s;                /* blinding, Montgomery; wiped from the pending proof when it ends */
    /* Called (may be NULL) from prove_start or prove_finish after buffers were freed, with the most host bytes of
     * tracked buffers that this proof holds or may still take from now on; each time fewer. */
    void (*holds)(void *user, uint64_t host_bytes);
    /* Called (may be NULL) once from prove_start when the witness is gone long before it returns. */
    void (*witness_gone)(void *user);
    void *holds_user; /* of both */
    /* Asked (may be NULL) when the finished proof is wrong, by groth16_prove alone: whether the key's points are what
     * their file says. The key's owner knows what of it was used, and who else may be bringing points. */
    cuzk_status (*doubt)(void *user, const cuzk_control *control, cuzk_error *err);
    void *doubt_user;
} prove_request;

typedef struct prove_plan {                 /* exact bytes of tracked buffers */
    uint64_t host_bytes;                    /* peak of the whole, witness included */
    uint64_t host_by_class[BUFFER_CLASSES]; /* peak of each class */
    uint64_t device_bytes;
    uint64_t device_shared_bytes; /* of device_bytes: what all proofs of this circuit share there, and stays after them
                                     until its room is wanted (shape and key) */
    uint64_t device_making_bytes; /* beside device_shared_bytes, while a development key is made there */
    unsigned chunks;
    double seconds[6]; /* estimate: synthesis, eval, ntt, msm_h, msm_rest, verify */
} prove_plan;

typedef struct backend_device_info {
    char name[96];
    uint64_t memory_bytes, free_bytes;
} backend_device_info;

typedef struct backend {
    uint32_t version;  /* BACKEND_VERSION */
    const char *name;  /* "cpu", "cuda" */
    bool own_machine;  /* computes on the host: a wrong proof is then this program's fault, not a device's */
    bool makes_keys;   /* proves with keys that are recipes (groth16/setup.h) */
    bool lazy_witness; /* prove_start takes a lazy witness; for others groth16_prove makes it whole before */
    unsigned (*device_count)(void);
    cuzk_status (*device_info)(unsigned device, backend_device_info *out, cuzk_error *err);
    /* Counts alone are enough to plan (no key needed). MEMORY: a limit is too small, or there is no memory for
     * planning; TOO_LARGE: the device itself is too small (no device_limit was given). */
    cuzk_status (*plan)(unsigned device, const shape *s, unsigned threads, uint64_t host_limit, uint64_t device_limit,
                        prove_plan *out, cuzk_error *err);
    cuzk_status (*prove_start)(unsigned device, pending_proof **out, prove_request *req, pool *p,
                               const cuzk_control *control, cuzk_error *err);
    cuzk_status (*prove_finish)(pending_proof *pending, groth16_proof *out, prove_times *times, cuzk_error *err);
    void (*prove_abandon)(pending_proof *pending); /* accepts NULL */
    /* The key is about to go: what the device keeps of it goes, too. No proof uses it now. Only the key's id is
     * looked at: who asks may have gone on when the device answers late. NULL: keeps nothing. */
    void (*forget_key)(unsigned device, const proving_key *key);
    /* Known answers on a device, before it is trusted: DEVICE when it computes wrongly. p may be NULL. NULL: none. */
    cuzk_status (*self_test)(unsigned device, pool *p, cuzk_error *err);
    /* The most of a device's memory that the backend may take from now on, for plans, too; 0: all. NULL: no such limit.
     */
    void (*limit_memory)(unsigned device, uint64_t bytes);
    /* How many proofs its user starts at once on a device, from now on, for plans, too; 1 unless told. They may share
     * what each would do alone. NULL: makes no difference. */
    void (*proofs_at_once)(unsigned device, unsigned proofs);
} backend;

const backend *backend_cpu(void);

/* For backends: from the sums over the queries to a proof (docs/math/groth16.md). A = alpha + sum_a + r delta;
 * B = beta + sum_b + s delta; with A' and B' those without blinding, C = sum_h + sum_l + s A' + r B' (in G1)
 * + r s delta. r and s in Montgomery form. Pure. */
typedef struct groth16_sums {
    g1 h, l, a, b_g1;
    g2 b_g2;
} groth16_sums;
void groth16_assemble(groth16_proof *out, const verifying_key *vk, const groth16_sums *sums, const fr *r, const fr *s);

#endif
