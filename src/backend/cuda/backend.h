/* The CUDA backend: NULL when the module libcuzk-cuda.so is not there, does not load, or is of another version; why
 * says so in one sentence.
 *
 * The module is looked for at $CUZK_CUDA_MODULE, beside the program, and in the loader's path. Shapes and keys stay in
 * device memory between proofs and are put out, least recently used first, when another needs their place and no proof
 * is using them. Thread-safe.
 */
#ifndef CUZK_BACKEND_CUDA_BACKEND_H
#define CUZK_BACKEND_CUDA_BACKEND_H

#include "groth16/backend.h"

const backend *backend_cuda(const char **why);
/* Live and peak bytes of device memory that the backend holds. */
void backend_cuda_memory(unsigned device, uint64_t *live, uint64_t *peak);
/* Puts out what no proof is using (all devices). */
void backend_cuda_evict(void);

/* Most bytes of the device's memory that the backend takes (0: as many as there are), so that a large card can stand
 * for a small one. Keys that do not fit beside shape and one proof stay on the host, wholly or in part, and each pass
 * streams what is missing. For proofs and keys from now on. */
void backend_cuda_limit_memory(unsigned device, uint64_t bytes);
/* As many proofs as the device's user starts at once, each by a thread of its own (1 unless told; more than a few make
 * no difference): keys that do not fit are then laid out for proofs that share a pass over them, where that pays. For
 * plans and keys from now on. */
void backend_cuda_proofs_at_once(unsigned device, unsigned proofs);
/* Passes over keys that were streamed to the device so far, to their end, and the proofs that they served. */
void backend_cuda_pass_counts(unsigned device, uint64_t *passes, uint64_t *proofs);
/* What the device computes (multi-scalar multiplications in G1 and G2, a quotient) against this program's CPU code:
 * DEVICE naming the first that differs. A second or so, 300 MB of device memory; p may be NULL. */
cuzk_status backend_cuda_self_test(unsigned device, pool *p, cuzk_error *err);
/* For tests of faults: the n-th call to the device from now on fails once, for lack of memory or as a fault; 0: none.
 */
void backend_cuda_fail_at(unsigned n, bool memory);

/* A development key that devices make in their memory (groth16/setup.h, a recipe), made here on one: its verifying key
 * is complete. It is put out like other keys and made again for its next proof. MALFORMED for a trapdoor that will not
 * do. Not while devices are busy with it: backend_cuda_release_key closes it. */
cuzk_status backend_cuda_setup(unsigned device, proving_key *out, const shape *s, const trapdoor *t, cuzk_error *err);
void backend_cuda_release_key(proving_key *k);
/* Such a key, on a device now, as bellperson's files (as groth16_setup writes them; also a marker). MALFORMED when a
 * variable is unconstrained. Two buffers of 32 MiB (class PINNED). */
cuzk_status backend_cuda_key_write(const proving_key *k, const char *params_path, const char *vk_path,
                                   setup_result *out, pool *p, const cuzk_control *control, cuzk_error *err);
/* Points of a section of such a key (PARAMS_H … PARAMS_B_G2) back to the host; 96 bytes each, 192 for b_g2. */
cuzk_status backend_cuda_key_read(const proving_key *k, params_section section, uint64_t first, uint64_t n, void *out,
                                  cuzk_error *err);

#endif
