/* Prover inputs without a sealed sector: consistent paths, labels and commitments at any size, from a seed.
 */
#ifndef CUZK_SYNTH_H
#define CUZK_SYNTH_H

#include <stdint.h>
#include "cuzk/context.h"
#include "cuzk/control.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the input files of one job of KIND to out (for porep one commit-phase-1 JSON file). The same seed gives the
 * same bytes. USAGE for a kind that has no such writer, and over existing files. */
cuzk_status cuzk_synth_sector(cuzk_context *context, const char *kind, uint64_t sector_bytes, const char *variant,
                              uint64_t seed, const char *out, const cuzk_control *control, cuzk_error *err);

#ifdef __cplusplus
}
#endif
#endif
