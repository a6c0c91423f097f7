/* Chunks begin at 16 KiB and double to 2 MiB: small circuits stay small, and a chunk of 2 MiB is one huge page. */
#include "r1cs/list.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_LEAST ((size_t)16 << 10)
#define CHUNK_MOST ((size_t)2 << 20)

static void close_last(list *l) {
    if (l->n == 0 || l->at == NULL) return;
    list_chunk *last = &l->chunks[l->n - 1];
    last->used = (size_t)(l->at - (uint8_t *)last->memory.data);
    l->bytes += last->used;
    l->at = l->end = NULL;
}

uint8_t *list_grow(list *l, size_t bytes, cuzk_error *err) {
    close_last(l);
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 16 : l->cap * 2;
        list_chunk *chunks = realloc(l->chunks, cap * sizeof *chunks);
        if (chunks == NULL) {
            cuzk_fail(err, CUZK_MEMORY, "no memory for a list of chunks");
            return NULL;
        }
        l->chunks = chunks;
        l->cap = cap;
    }
    size_t want = CHUNK_LEAST;
    for (size_t i = 0; i < l->n && want < CHUNK_MOST; i++) want *= 2;
    if (want < bytes) want = bytes;
    list_chunk *c = &l->chunks[l->n];
    *c = (list_chunk){0};
    if (buffer_alloc(&c->memory, BUFFER_SHAPE, want, err) != CUZK_OK) return NULL;
    l->n++;
    l->at = c->memory.data;
    l->end = l->at + want;
    return l->at;
}

uint64_t list_bytes(const list *l) {
    uint64_t open = l->at == NULL ? 0 : (uint64_t)(l->at - (uint8_t *)l->chunks[l->n - 1].memory.data);
    return l->bytes + open;
}

cuzk_status list_flatten(list *l, buffer *out, buffer_class cls, cuzk_error *err) {
    close_last(l);
    cuzk_status s = buffer_alloc(out, cls, l->bytes, err);
    uint8_t *to = out->data;
    for (size_t i = 0; i < l->n; i++) {
        list_chunk *c = &l->chunks[i];
        if (s == CUZK_OK && c->used > 0) {
            memcpy(to, c->memory.data, c->used);
            to += c->used;
        }
        buffer_free(&c->memory);
    }
    l->n = 0;
    list_free(l);
    return s;
}

cuzk_status list_widen(list *l, cuzk_error *err) {
    list wide = {0};
    close_last(l);
    for (size_t i = 0; i < l->n; i++) {
        list_chunk *c = &l->chunks[i];
        size_t n = c->used / 2;
        const uint16_t *from = c->memory.data;
        uint32_t *to = n == 0 ? NULL : list_room(&wide, n * 4, err);
        if (n > 0 && to == NULL) {
            list_free(&wide);
            return err->status;
        }
        for (size_t j = 0; j < n; j++) to[j] = from[j];
        buffer_free(&c->memory);
        c->used = 0;
    }
    l->n = 0;
    list_free(l);
    *l = wide;
    return CUZK_OK;
}

void list_free(list *l) {
    for (size_t i = 0; i < l->n; i++) buffer_free(&l->chunks[i].memory);
    free(l->chunks);
    *l = (list){0};
}
