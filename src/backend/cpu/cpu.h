/* Inside the CPU backend: the pending proof and the evaluation stage. Tests look at the sums through it. */
#ifndef CUZK_BACKEND_CPU_CPU_H
#define CUZK_BACKEND_CPU_CPU_H

#include "groth16/backend.h"

/* The sums of docs/math/groth16.md, waiting to be assembled. Lives in a buffer of class WITNESS, since r and s are
 * secret. */
struct pending_proof {
    buffer self;
    const proving_key *key;
    groth16_sums sums;
    fr r, s;
    prove_times times;
};

/* Evaluates a, b, c (2^log2 elements each, zeroed) and compares a * b with c in every row. UNSATISFIED naming the first
 * constraint that fails. */
cuzk_status cpu_evaluate(fr *a, fr *b, fr *c, const shape *s, const witness *w, pool *p, const cuzk_control *control,
                         cuzk_error *err);

/* Most bytes of tracked buffers from a point of the proof on; the first is the plan's host_bytes. */
typedef struct cpu_holds {
    uint64_t all, after_quotient, after_h, after_witness;
} cpu_holds;
cpu_holds cpu_holds_of(const shape *s, unsigned threads);

cuzk_status cpu_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit, uint64_t device_limit,
                     prove_plan *out, cuzk_error *err);

#endif
