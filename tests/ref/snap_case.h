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

#endif
