/* Tracked buffers: every buffer of 1 MiB or more (and every secret one) comes from here.
 *
 * Each buffer has a class; live bytes, live count and peak are kept per class and in total (atomics, no lock). Buffers
 * are own anonymous mappings (page-aligned, zero-filled, given back to the system when freed), never malloc. Classes
 * marked secret are wiped before they are unmapped. Thread-safe; one buffer has one owner.
 */
#ifndef CUZK_BASE_BUFFER_H
#define CUZK_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cuzk/error.h"

/* X(NAME, "json name", secret) */
#define BUFFER_CLASS_LIST(X)                                                                                           \
    X(KEY, "key", false)                                                                                               \
    X(SHAPE, "shape", false)                                                                                           \
    X(WITNESS, "witness", true)                                                                                        \
    X(EVAL_ABC, "eval_abc", true)                                                                                      \
    X(NTT, "ntt", false)                                                                                               \
    X(MSM_SCRATCH, "msm_scratch", true)                                                                                \
    X(SETUP, "setup", true)                                                                                            \
    X(REQUEST, "request", false)                                                                                       \
    X(PINNED, "pinned", false)                                                                                         \
    X(OTHER, "other", false)

typedef enum {
#define X(name, text, secret) BUFFER_##name,
    BUFFER_CLASS_LIST(X)
#undef X
        BUFFER_CLASSES
} buffer_class;

typedef struct buffer {
    void *data; /* NULL when empty */
    size_t bytes;
    buffer_class cls;
} buffer;

typedef struct buffer_stats {
    uint64_t live_bytes, live_count, peak_bytes;
} buffer_stats;

/* Fills *out. bytes 0 gives an empty buffer and succeeds. Refused with MEMORY (need and limit named) when the process
 * limit would be passed or the system has none. */
cuzk_status buffer_alloc(buffer *out, buffer_class cls, size_t bytes, cuzk_error *err);
/* count * size with overflow check. */
cuzk_status buffer_alloc_array(buffer *out, buffer_class cls, size_t count, size_t size, cuzk_error *err);
/* Gives back the tail: afterwards the buffer holds `bytes` (rounded up to pages in the count). Not for growing. */
void buffer_shrink(buffer *b, size_t bytes);
/* Accepts an empty buffer; *b is empty afterwards. */
void buffer_free(buffer *b);

const char *buffer_class_name(buffer_class cls);
buffer_stats buffer_class_stats(buffer_class cls);
buffer_stats buffer_total_stats(void);
/* Peaks := live values. For measuring one run; the caller makes sure nothing else runs. */
void buffer_reset_peaks(void);
/* Process-wide limit of live tracked bytes; 0: none (the default). */
void buffer_set_limit(uint64_t bytes);
uint64_t buffer_limit(void);

#endif
