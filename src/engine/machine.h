/* What memory this machine gives this process at this moment. Pure reading; thread-safe. */
#ifndef CUZK_ENGINE_MACHINE_H
#define CUZK_ENGINE_MACHINE_H

#include <stdint.h>

/* The smaller of the machine's memory and the limits of this process's cgroup and its parents, versions 1 and 2. root
 * stands before every path that is read ("" for the real ones). 0 when nothing can be read. */
uint64_t machine_limit_bytes(const char *root);
/* limit less the margin; margin 0: 1/16 of it, at most 5 GiB. */
uint64_t machine_budget_of(uint64_t limit, uint64_t margin);

#endif
