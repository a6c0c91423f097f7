/* An array that grows in chunks, so that growing neither copies nor holds two copies. Private to src/r1cs. */
#ifndef CUZK_R1CS_LIST_H
#define CUZK_R1CS_LIST_H

#include "base/buffer.h"

typedef struct list_chunk {
    buffer memory;
    size_t used;
} list_chunk;

typedef struct list {
    list_chunk *chunks;
    size_t n, cap;
    uint8_t *at, *end; /* free part of the last chunk */
    uint64_t bytes;    /* in closed chunks */
} list;

/* Closes the last chunk and begins another that has room for `bytes`. NULL: no memory. */
uint8_t *list_grow(list *l, size_t bytes, cuzk_error *err);

/* Room for the next `bytes` in one piece; NULL (err filled) when there is no memory. */
static inline void *list_room(list *l, size_t bytes, cuzk_error *err) {
    uint8_t *p = l->at;
    if ((size_t)(l->end - l->at) < bytes && (p = list_grow(l, bytes, err)) == NULL) return NULL;
    l->at = p + bytes;
    return p;
}

uint64_t list_bytes(const list *l);
/* Moves everything into one buffer (empty when the list is), giving each chunk back once it is copied. The list is
 * empty afterwards, also on failure. */
cuzk_status list_flatten(list *l, buffer *out, buffer_class cls, cuzk_error *err);
/* 16-bit elements become 32-bit ones. */
cuzk_status list_widen(list *l, cuzk_error *err);
void list_free(list *l);

#endif
