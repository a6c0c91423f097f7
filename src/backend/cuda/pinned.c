/* Pinned buffers of each device, by which keys come and go; see backend/cuda/resident.h. */
#include <assert.h>
#include <pthread.h>

#include "backend/cuda/resident.h"

/* Of each device, since one has them as long as a key takes: no device waits for another, which may hang. */
typedef struct device_buffer {
    pthread_mutex_t lock;
    pthread_cond_t given;
    buffer data;
    bool pinned, taken;
    unsigned users; /* proofs that were streamed and have not ended */
} device_buffer;

static device_buffer buffers[GPU_DEVICES];
static pthread_once_t buffers_made = PTHREAD_ONCE_INIT;

static void make_locks(void) {
    for (unsigned d = 0; d < GPU_DEVICES; d++) {
        pthread_mutex_init(&buffers[d].lock, NULL);
        pthread_cond_init(&buffers[d].given, NULL);
    }
}

static device_buffer *buffer_of(unsigned device) {
    assert(device < GPU_DEVICES);
    pthread_once(&buffers_made, make_locks);
    return &buffers[device];
}

static void release_locked(device_buffer *b) {
    if (b->pinned) cuda_module()->unpin(b->data.data);
    b->pinned = false;
    buffer_free(&b->data);
}

cuzk_status pinned_take(void **data, unsigned device, uint64_t bytes, cuzk_error *err) {
    device_buffer *b = buffer_of(device);
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&b->lock);
    while (b->taken) pthread_cond_wait(&b->given, &b->lock);
    if (b->data.bytes < bytes) {
        release_locked(b);
        st = buffer_alloc(&b->data, BUFFER_PINNED, bytes, err);
        if (st == CUZK_OK) b->pinned = cuda_module()->pin(b->data.data, bytes);
    }
    b->taken = st == CUZK_OK;
    if (st != CUZK_OK) pthread_cond_signal(&b->given);
    *data = b->data.data;
    pthread_mutex_unlock(&b->lock);
    return st;
}

uint64_t pinned_give(unsigned device, unsigned proofs) {
    device_buffer *b = buffer_of(device);
    pthread_mutex_lock(&b->lock);
    b->users += proofs;
    if (b->users == 0) release_locked(b);
    b->taken = false;
    uint64_t bytes = b->data.bytes;
    pthread_cond_signal(&b->given);
    pthread_mutex_unlock(&b->lock);
    return bytes;
}

void pinned_leave(unsigned device) {
    device_buffer *b = buffer_of(device);
    pthread_mutex_lock(&b->lock);
    if (--b->users == 0 && !b->taken) release_locked(b);
    pthread_mutex_unlock(&b->lock);
}
