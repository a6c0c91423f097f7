/* One synthetic sector through its whole life: made, written, read as a job, checked, public inputs from proof and from
 * request. */
#ifndef CUZK_TESTS_REF_POREP_SYNTH_CASE_H
#define CUZK_TESTS_REF_POREP_SYNTH_CASE_H

#include <stdint.h>
#include "base/pool.h"

/* Aborts with a message on stderr when anything is wrong. Prints times and sizes for documents over 1 MiB. */
void porep_synth_case(uint64_t sector_bytes, uint64_t seed, pool *workers);

#endif
