/* A device module for tests on machines without one: it keeps the books of the real one and computes nothing. */
#ifndef TEST_BACKEND_FAKE_GPU_H
#define TEST_BACKEND_FAKE_GPU_H

#include <stdint.h>

#define FAKE_SHAPE_BYTES 1000u
#define FAKE_PROOF_BYTES 2000u
#define FAKE_SECTION_BYTES 100u /* of a key, each */

typedef struct fake_gpu {
    uint64_t live, limit; /* device bytes */
    unsigned shapes, keys, keys_made, proofs;
    uint64_t witness_bytes[3]; /* of the last proof, by part */
    uint8_t *fields;           /* of the last proof; owned by whoever tests */
    uint64_t fields_bytes;     /* how many there is room for */
    unsigned chunks;           /* read by the last proof */
    unsigned fail_chunk;       /* n: the n-th chunk of a proof is a fault of the device; 0: none */
    unsigned wrong;            /* calls that the real module would not bear */
} fake_gpu;

#endif
