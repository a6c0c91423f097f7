/* Circuits by name, their counts and their structure digest.
 *
 * A circuit is a KIND ("porep"), a sector size in bytes and a variant ("" or, for porep, "ni", "synthetic"). Its
 * structure (the shape) is recorded the first time something needs it and kept in the cache folder; a handle loads it
 * once. Handles are thread-safe; close one after the last use.
 */
#ifndef CUZK_CIRCUIT_H
#define CUZK_CIRCUIT_H

#include <stddef.h>
#include <stdint.h>
#include "cuzk/context.h"
#include "cuzk/control.h"
#include "cuzk/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_circuit cuzk_circuit;

/* Calls each with the name ("porep-ni-32gib"), kind, size and variant of every circuit there is. Texts are borrowed
 * until each returns. */
void cuzk_circuit_list(void (*each)(void *user, const char *name, const char *kind, uint64_t sector_bytes,
                                    const char *variant),
                       void *user);

/* variant may be NULL. Returned; free with cuzk_circuit_close. USAGE (with what there is) for an unknown kind, size or
 * variant. */
cuzk_status cuzk_circuit_open(cuzk_circuit **out, const char *kind, uint64_t sector_bytes, const char *variant,
                              cuzk_error *err);
void cuzk_circuit_close(cuzk_circuit *circuit);
/* "porep-2kib". Borrowed until the circuit is closed. */
const char *cuzk_circuit_name(const cuzk_circuit *circuit);
unsigned cuzk_circuit_partitions(const cuzk_circuit *circuit);

typedef struct cuzk_circuit_info {
    char name[64];
    uint64_t inputs;           /* with the constant ONE */
    uint64_t aux, constraints; /* the circuit's own constraints, without one for each input */
    uint64_t nnz[3];           /* non-zero coefficients of A, B, C */
    uint64_t a_aux_density, b_input_density, b_aux_density; /* variables that occur in A, B */
    unsigned domain_log2;                                   /* the evaluation domain has 2^domain_log2 points */
    unsigned partitions;                                    /* of a whole job */
    uint64_t shape_bytes;                                   /* of the recorded structure */
    uint64_t params_bytes;                                  /* of the .params file of this circuit */
    char params_file[288], vk_file[288];                    /* official names, without folder */
    char cache_identifier[256];
} cuzk_circuit_info;

/* Loads or records the shape. */
cuzk_status cuzk_circuit_info_get(cuzk_context *context, cuzk_circuit *circuit, cuzk_circuit_info *out,
                                  const cuzk_control *control, cuzk_error *err);

/* Called for each run of 65,536 constraints or values, the last may be short, with the digest of that run. */
typedef void (*cuzk_checkpoint)(void *user, uint64_t chunk, const uint8_t digest[32]);

/* BLAKE2s-256 over the circuit's structure (format: docs/cli.md, "circuit hash"). each may be NULL. */
cuzk_status cuzk_circuit_hash(cuzk_context *context, cuzk_circuit *circuit, uint8_t digest[32], cuzk_checkpoint each,
                              void *user, const cuzk_control *control, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
