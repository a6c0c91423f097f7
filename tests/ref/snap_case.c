/* What several tests of sector updates share. */
#include "ref/snap_case.h"

#include "circuit/snap/gadgets.h"

void snap_apex_alone(cs *c, const void *params, const void *instance) {
    const snap_apex_case *p = params;
    boolean partition[8];
    num leaves[SNAP_MAX_APEX], siblings[8];
    unsigned bits = 0;
    (void)instance;
    num comm_d = num_alloc(c, NULL);
    for (; (1u << bits) < p->partitions; bits++) partition[bits] = boolean_alloc(c, false);
    for (unsigned i = 0; i < p->leaves; i++) leaves[i] = num_alloc(c, NULL);
    for (unsigned i = 0; i < bits; i++) siblings[i] = num_alloc(c, NULL);
    snap_apex(c, &comm_d, partition, bits, leaves, p->leaves, siblings);
}
