/* What the process's tracked buffers hold now, and the most they held.
 *
 * Every buffer of 1 MiB or more is tracked under a class. Mapped key and shape files are not buffers and not counted.
 * The counters are process-wide; reading them is thread-safe.
 */
#ifndef CUZK_MEMORY_H
#define CUZK_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define CUZK_MAX_MEMORY_CLASSES 16

typedef struct cuzk_memory_class {
    const char *name; /* "key", "witness", "eval_abc", …; static string */
    uint64_t live_bytes, peak_bytes;
} cuzk_memory_class;

typedef struct cuzk_memory {
    cuzk_memory_class classes[CUZK_MAX_MEMORY_CLASSES];
    unsigned n_classes;
    uint64_t live_bytes, peak_bytes;    /* of all classes together */
    uint64_t rss_bytes, peak_rss_bytes; /* of the process, as the system counts */
} cuzk_memory;

void cuzk_memory_get(cuzk_memory *out);
/* Peaks of the tracked buffers become the live values: for measuring one piece of work while nothing else runs. */
void cuzk_memory_reset_peaks(void);

/* Frees a text that a cuzk function returned. Accepts NULL. */
void cuzk_text_free(char *text);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
