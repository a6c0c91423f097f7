/* Made-up PoSt inputs in a temporary folder, and one such sector through its whole life. Abort with a message when
 * anything is wrong. */
#ifndef CUZK_TESTS_REF_POST_CASE_H
#define CUZK_TESTS_REF_POST_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/pool.h"

typedef struct post_files {
    char folder[64], request[128];
    char **vanilla; /* n paths */
    size_t n;
} post_files;
void post_files_make(post_files *out, const char *kind, uint64_t sector_bytes, uint64_t seed, pool *workers);
void post_files_remove(post_files *f);

/* Made, written, read as a job, checked, public inputs the same from the request alone; with witness: satisfied, and
 * its public inputs those. Prints times for over 100 sectors. */
void post_synth_case(const char *kind, uint64_t sector_bytes, uint64_t seed, pool *workers, bool with_witness);

#endif
