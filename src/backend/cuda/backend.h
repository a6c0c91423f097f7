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
 * for a small one. Keys that do not fit beside shape and one proof stay on the host, wholly or in part, and each proof
 * streams what is missing. For proofs and keys from now on. */
void backend_cuda_limit_memory(unsigned device, uint64_t bytes);
/* What the device computes (multi-scalar multiplications in G1 and G2, a quotient) against this program's CPU code:
 * DEVICE naming the first that differs. A second or so, 300 MB of device memory; p may be NULL. */
cuzk_status backend_cuda_self_test(unsigned device, pool *p, cuzk_error *err);
/* For tests of faults: the n-th call to the device from now on fails once, for lack of memory or as a fault; 0: none.
 */
void backend_cuda_fail_at(unsigned n, bool memory);

/* A development key made in device memory and kept there until backend_cuda_release_key, for a shape: no points on the
 * host. trapdoor: alpha, beta, gamma, delta, tau (Montgomery), none zero, tau not in the domain. The key's vk is
 * complete; its h … b_g2 are NULL, so that only this device can prove with it. */
cuzk_status backend_cuda_setup(unsigned device, proving_key *out, const shape *s, const fr trapdoor[5],
                               cuzk_error *err);
void backend_cuda_release_key(proving_key *k);
/* Points of a section of such a key (PARAMS_H … PARAMS_B_G2) back to the host; 96 bytes each, 192 for b_g2. */
cuzk_status backend_cuda_key_read(const proving_key *k, params_section section, uint64_t first, uint64_t n, void *out,
                                  cuzk_error *err);

#endif
