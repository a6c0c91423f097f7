/* Development keys. For development and tests only: whoever makes a key this way can forge proofs for it.
 */
#ifndef CUZK_SETUP_H
#define CUZK_SETUP_H

#include <stdint.h>
#include "cuzk/circuit.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_setup_report {
    char params[4096], vk[4096]; /* paths, with the circuit's official file names */
    uint64_t params_bytes;
    uint8_t params_sha256[32];
    double seconds;
} cuzk_setup_report;

/* Makes a key into folder (made when absent). trapdoor_file NULL: random, forgotten afterwards; otherwise a JSON file
 * with {"trapdoor": {"alpha": hex, …}}, for reproducible test keys. USAGE for the official parameter folder and over an
 * existing key; MEMORY before work when it does not fit the limit. */
cuzk_status cuzk_setup(cuzk_context *context, cuzk_circuit *circuit, const char *folder, const char *trapdoor_file,
                       cuzk_setup_report *report, const cuzk_control *control, cuzk_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
