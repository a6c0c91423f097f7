/* What several tests of sector updates share. */
#ifndef CUZK_TESTS_REF_SNAP_CASE_H
#define CUZK_TESTS_REF_SNAP_CASE_H

#include "circuit/snap/snap.h"

/* The apex alone in a circuit (a cs_circuit; params is a snap_apex_case): comm_d, partition bits, leaves and the
 * partition path allocated before it. */
typedef struct snap_apex_case {
    unsigned partitions, leaves;
} snap_apex_case;
void snap_apex_alone(cs *c, const void *params, const void *instance);

/* A made-up update in a temporary folder. Aborts with a message when it cannot be made. */
typedef struct snap_files {
    char folder[64], request[128], vanilla[SNAP_MAX_PARTITIONS][128];
    const char *list[SNAP_MAX_PARTITIONS]; /* the paths in vanilla */
    size_t n;
} snap_files;
void snap_files_make(snap_files *out, uint64_t sector_bytes, uint64_t seed, pool *workers);
void snap_files_remove(snap_files *f);

/* Made, read as a job, checked, public inputs the same from the request alone; the witnesses of the first and of the
 * last partition are satisfied and have those. Prints times. False, with a message, when anything is wrong. */
bool snap_synth_case(uint64_t sector_bytes, uint64_t seed, pool *workers);

#endif
