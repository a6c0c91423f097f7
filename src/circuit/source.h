/* Where an input of a job comes from: a file, or bytes in memory.
 *
 * Every reader of prover input takes its bytes from here. A file is read whole into a tracked buffer (class request),
 * never mapped: an input that is cut while it is read cannot end the process, and its bytes are counted. The limit is
 * checked before memory is taken. Bytes in memory are borrowed.
 */
#ifndef CUZK_CIRCUIT_SOURCE_H
#define CUZK_CIRCUIT_SOURCE_H

#include "base/buffer.h"

/* One input. All zero: not given. */
typedef struct job_source {
    const char *path; /* a file, "-" for standard input; with data: a name for errors, or NULL */
    const void *data; /* NULL: the file is read */
    size_t bytes;     /* of data */
} job_source;

static inline bool source_given(const job_source *s) {
    return s->path || s->data;
}
/* What errors call it: its path, or `what` ("request"). */
const char *source_name(const job_source *s, const char *what);

typedef struct source_text { /* an input's bytes; do not move */
    const char *name;        /* for errors: the path, or "vanilla 3" */
    const void *data;
    size_t bytes;
    buffer owned;
    char made_name[32];
} source_text;

#define SOURCE_ALONE SIZE_MAX /* index of an input that has no others of its sort */

/* what and index name an input that has no path. MALFORMED when it is larger than the limit, IO. On failure *out needs
 * no closing. */
cuzk_status source_open(source_text *out, const job_source *s, const char *what, size_t index, size_t limit,
                        cuzk_error *err);
void source_close(source_text *t);

#endif
