/* A device module for tests on machines without one: it keeps the books of the real one and computes nothing. */
#ifndef TEST_BACKEND_FAKE_GPU_H
#define TEST_BACKEND_FAKE_GPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_SHAPE_BYTES 1000u
#define FAKE_PROOF_BYTES 2000u  /* of them … */
#define FAKE_WORK_BYTES 1900u   /* … the work memory, which a key that is not whole there holds */
#define FAKE_SETUP_BYTES 5000u  /* while a key is made */
#define FAKE_SECTION_BYTES 150u /* of a key, each */

typedef struct fake_gpu {
    uint64_t live, peak, limit; /* device bytes */
    unsigned refuse;            /* so many takings fail for lack of memory */
    atomic_uint shapes, keys, proofs;
    unsigned keys_made;
    uint64_t witness_bytes[3]; /* of the last proof, by part */
    uint8_t *fields;           /* of the last proof; owned by whoever tests */
    uint64_t fields_bytes;     /* how many there is room for */
    const uint8_t *expect[5];  /* bytes of the sections, when they are to be looked at */
    unsigned chunks;           /* read by the last proof, or while the last key was made … */
    unsigned chunks_loaded;    /* … the latter */
    atomic_uint passes;        /* over keys that are streamed, from 1 on … */
    unsigned together[8];      /* … and the proofs of the first */
    unsigned fail_chunk;       /* n: the n-th chunk of a pass is a fault of the device; 0: none */
    unsigned fail_pass;        /* … of this pass alone; 0: of any */
    uint8_t written;           /* what the bytes of a key are that goes to a file */
    unsigned wrong;            /* calls that the real module would not bear */
    unsigned devices;          /* 0: one */
    atomic_bool hold, held;    /* a key goes to device 0 no faster than until hold is taken away; held: it does not */
    atomic_uint stop_pass;     /* the same of passes with this number and higher; 0: of none */
} fake_gpu;

#endif
