/* A prover input without a sealed sector: consistent in everything that a challenge looks at, at any sector size.
 * For tests and benchmarks; deterministic by seed. Source: docs/circuits/porep.md. */
#ifndef CUZK_CIRCUIT_POREP_SYNTH_H
#define CUZK_CIRCUIT_POREP_SYNTH_H

#include "circuit/porep/vanilla.h"

/* The made-up sector in memory; values live in a. Only the interactive kind: the other kinds' challenges follow from
 * comm_r, which is not known before the challenged nodes are (USAGE). registered gives porep_id and API version; p the
 * layers and shape. */
cuzk_status synth_porep_build(porep_c1 *out, porep_request *facts, arena *a, const porep_params *p,
                              const porep_registered *registered, uint64_t seed, pool *workers,
                              const cuzk_control *control, cuzk_error *err);

#define SYNTH_PATH_BYTES 4096
/* Writes FOLDER/c1.json (envelope) and FOLDER/request.json (what a verifier knows); makes the folder. The paths are
 * filled in. */
cuzk_status synth_porep(const porep_params *p, const porep_registered *registered, uint64_t seed, const char *folder,
                        pool *workers, const cuzk_control *control, char c1_path[SYNTH_PATH_BYTES],
                        char request_path[SYNTH_PATH_BYTES], cuzk_error *err);
/* The registered proof that synth-sector uses for a size: API 1.1.0 of that size, or of 2 KiB where the size has none
 * (then --size is needed to read it). */
void synth_porep_registered(porep_registered *out, uint64_t sector_bytes);

#endif
