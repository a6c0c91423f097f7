/* Room for inputs being received, within request_bytes; inputs that wait in memory (store_memory.c) are in it, too. */
#include "engine/engine_internal.h"

#include <assert.h>

bool engine_request_try(cuzk_engine *e, uint64_t bytes) {
    pthread_mutex_lock(&e->lock);
    uint64_t used = e->request_bytes + e->memory_payloads;
    bool got = !e->stopping && used <= e->o.request_bytes && bytes <= e->o.request_bytes - used;
    if (got) e->request_bytes += bytes;
    pthread_mutex_unlock(&e->lock);
    return got;
}

void engine_request_done(cuzk_engine *e, uint64_t bytes) {
    pthread_mutex_lock(&e->lock);
    assert(bytes <= e->request_bytes);
    e->request_bytes -= bytes;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
}
