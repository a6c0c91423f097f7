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

#endif
