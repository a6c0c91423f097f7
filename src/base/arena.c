/* A region allocator on a stack of tracked buffers; see base/arena.h.
 *
 * Each chunk starts with its own header. Memory is handed out zeroed: what a chunk never held is zero already, so only
 * the part below its high-water mark is cleared. An object larger than a chunk gets a chunk of its own size.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN ((size_t)16)
#define DEFAULT_CHUNK ((size_t)1 << 20)

typedef struct chunk {
    buffer memory; /* holds this header too */
    struct chunk *older;
    size_t used, high; /* from the start of memory */
} chunk;

struct arena {
    buffer_class cls;
    size_t chunk_bytes, bytes;
    chunk *newest;
};

#define HEADER ((sizeof(chunk) + ALIGN - 1) & ~(ALIGN - 1))

static chunk *add_chunk(arena *a, size_t payload, cuzk_error *err) {
    size_t bytes = a->chunk_bytes;
    if (payload > bytes - HEADER) bytes = payload + HEADER; /* the caller bounded payload */
    buffer memory;
    if (buffer_alloc(&memory, a->cls, bytes, err)) return NULL;
    chunk *c = memory.data;
    *c = (chunk){memory, a->newest, HEADER, HEADER};
    a->newest = c;
    a->bytes += bytes;
    return c;
}

arena *arena_create(buffer_class cls, size_t chunk_bytes, cuzk_error *err) {
    arena *a = calloc(1, sizeof *a);
    if (!a) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for an arena");
        return NULL;
    }
    a->cls = cls;
    a->chunk_bytes = chunk_bytes ? chunk_bytes : DEFAULT_CHUNK;
    if (a->chunk_bytes < 2 * HEADER) a->chunk_bytes = 2 * HEADER;
    if (!add_chunk(a, 0, err)) {
        free(a);
        return NULL;
    }
    return a;
}

static void drop_newest(arena *a) {
    chunk *c = a->newest;
    buffer memory = c->memory;
    a->newest = c->older;
    a->bytes -= memory.bytes;
    buffer_free(&memory);
}

void arena_destroy(arena *a) {
    if (!a) return;
    while (a->newest) drop_newest(a);
    free(a);
}

void *arena_alloc(arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + ALIGN - 1) & ~(ALIGN - 1);
    if (!bytes) bytes = ALIGN;
    chunk *c = a->newest;
    if (bytes > c->memory.bytes - c->used) {
        cuzk_error ignored;
        c = add_chunk(a, bytes, &ignored);
        if (!c) return NULL;
    }
    char *p = (char *)c + c->used;
    if (c->high > c->used) {
        size_t dirty = c->high - c->used;
        memset(p, 0, dirty < bytes ? dirty : bytes);
    }
    c->used += bytes;
    if (c->high < c->used) c->high = c->used;
    return p;
}

void *arena_alloc_array(arena *a, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    return arena_alloc(a, bytes);
}

char *arena_strdup(arena *a, const char *s, size_t len) {
    if (len == SIZE_MAX) return NULL;
    char *copy = arena_alloc(a, len + 1);
    if (copy && len) memcpy(copy, s, len);
    return copy;
}

arena_mark arena_save(const arena *a) {
    return (arena_mark){a->newest, a->newest->used};
}

void arena_release(arena *a, arena_mark m) {
    while (a->newest != m.chunk) {
        assert(a->newest->older); /* the mark is not of this arena */
        drop_newest(a);
    }
    assert(m.used <= a->newest->used);
    a->newest->used = m.used;
}

size_t arena_bytes(const arena *a) {
    return a->bytes;
}
