/* Prover inputs without a sealed sector: consistent paths, labels and commitments at any size, from a seed.
 */
#ifndef CUZK_SYNTH_H
#define CUZK_SYNTH_H

#include <stdint.h>
#include "cuzk/circuit.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Writes the input files of one job into folder, made when absent (for porep c1.json and request.json), and calls wrote
 * (may be NULL) with what each is ("c1", "request") and its path. The same seed gives the same bytes. USAGE for a kind
 * or variant that has no such writer, and when a file of that name is there already. */
cuzk_status cuzk_synth_sector(cuzk_context *context, cuzk_circuit *circuit, uint64_t seed, const char *folder,
                              void (*wrote)(void *user, const char *what, const char *path), void *user,
                              const cuzk_control *control, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
