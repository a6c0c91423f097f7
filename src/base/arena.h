/* A region allocator: many small objects with one owner and one end of life.
 *
 * Memory comes in chunks from the tracked allocator (class given at creation), so a job's arena is counted. Not
 * thread-safe. Objects are aligned to 16 bytes. Nothing is freed alone; arena_release returns to an earlier mark.
 */
#ifndef CUZK_BASE_ARENA_H
#define CUZK_BASE_ARENA_H

#include <stddef.h>
#include "base/buffer.h"

typedef struct arena arena;
typedef struct arena_mark {
    void *chunk;
    size_t used;
} arena_mark;

/* chunk_bytes 0: 1 MiB. NULL with err filled when there is no memory. Destroy accepts NULL and wipes secret classes. */
arena *arena_create(buffer_class cls, size_t chunk_bytes, cuzk_error *err);
void arena_destroy(arena *a);
/* Zeroed memory, the arena's own; NULL when there is none (also when the limit of tracked buffers is reached). */
void *arena_alloc(arena *a, size_t bytes);
/* count * size with overflow check. */
void *arena_alloc_array(arena *a, size_t count, size_t size);
/* A terminated copy of len bytes. */
char *arena_strdup(arena *a, const char *s, size_t len);
/* Release frees what was taken since the mark; marks are released in reverse order. */
arena_mark arena_save(const arena *a);
void arena_release(arena *a, arena_mark m);
size_t arena_bytes(const arena *a);

#endif
