/* Proofs of any content: what is accepted is written back to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "format/bellperson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    groth16_proof p;
    uint8_t again[PROOF_BYTES];
    if (size < PROOF_BYTES) return 0;
    cuzk_status st = proof_read(&p, data, &err);
    if (st != CUZK_OK) {
        if (st != CUZK_MALFORMED || err.where[0] == 0) abort();
        return 0;
    }
    proof_write(&p, again);
    if (memcmp(again, data, PROOF_BYTES) != 0) abort();
    return 0;
}
