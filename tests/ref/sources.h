/* Paths as a job's inputs. */
#ifndef CUZK_TESTS_REF_SOURCES_H
#define CUZK_TESTS_REF_SOURCES_H

#include "circuit/job.h"

/* out has room for n and is returned. */
static inline const job_source *sources_of(job_source *out, const char *const *paths, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = (job_source){.path = paths[i]};
    return out;
}

#endif
