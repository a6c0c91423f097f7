/* Keys that do not fit a device: which sections lie there, and how the others get there for each proof; see
 * backend/cuda/resident.h.
 *
 * Two pinned buffers, there while any such proof is: while one is copied by the device, all threads fill the other from
 * the key's mapping. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/cuda/resident.h"

#define DRIVER_BYTES ((uint64_t)1 << 30) /* of a device's memory, left to the driver */
#define CHUNK_MOST ((uint64_t)512 << 20) /* of a section */
#define CHUNK_LEAST ((uint64_t)1 << 20)  /* multiples of it */
#define CHUNKS 4                         /* of the largest section, at least, so that copying and adding overlap */
#define TILE_BYTES ((uint64_t)2 << 20)   /* a thread copies at a time */
#define DEVICES 64

static atomic_uint_least64_t limits[DEVICES];

void backend_cuda_limit_memory(unsigned device, uint64_t bytes) {
    if (!cuda_module() || device >= DEVICES) return;
    atomic_store(&limits[device], bytes);
    cuda_module()->memory_limit(device, bytes);
}

cuzk_status stream_limit(unsigned device, uint64_t *bytes, cuzk_error *err) {
    *bytes = device < DEVICES ? atomic_load(&limits[device]) : 0;
    if (*bytes) return CUZK_OK;
    gpu_facts f;
    cuzk_status st = cuda_module()->info(device, &f, err);
    if (st == CUZK_OK) *bytes = f.memory_bytes > DRIVER_BYTES ? f.memory_bytes - DRIVER_BYTES : 1;
    return st;
}

static size_t point_bytes(gpu_section s) {
    return s == GPU_B_G2 ? sizeof(g2_affine) : sizeof(g1_affine);
}

static uint64_t section_points(const gpu_key_source *k, gpu_section s) {
    return s == GPU_H ? k->n_h : s == GPU_L ? k->n_l : s == GPU_A ? k->n_a : k->n_b;
}

static const uint8_t *section_from(const gpu_key_source *k, gpu_section s) {
    const void *from[GPU_SECTIONS] = {k->h, k->l, k->a, k->b_g1, k->b_g2};
    return from[s];
}

cuzk_status stream_sections(unsigned *sections, const gpu_key_source *k, uint64_t shape_bytes, uint64_t proof_bytes,
                            uint64_t limit, cuzk_error *err) {
    uint64_t taken = shape_bytes + proof_bytes;
    *sections = 0;
    if (taken > limit) {
        cuzk_fail(err, CUZK_MEMORY, "the proof does not fit the device memory limit, even with the key on the host");
        cuzk_fail_expected(err, "%" PRIu64 " bytes", taken);
        return cuzk_fail_found(err, "a limit of %" PRIu64 " bytes", limit);
    }
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        unsigned more = *sections | 1u << s;
        if (taken + cuda_module()->key_bytes(k, more) <= limit) *sections = more;
    }
    return CUZK_OK;
}

uint64_t stream_chunk_bytes(const gpu_key_source *k, unsigned sections, unsigned *chunks) {
    uint64_t largest = 0;
    *chunks = 1;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t bytes = section_points(k, s) * point_bytes(s);
        if (!(sections >> s & 1) && bytes > largest) largest = bytes;
    }
    if (!largest) return 0;
    uint64_t chunk = (largest / CHUNKS + CHUNK_LEAST) / CHUNK_LEAST * CHUNK_LEAST;
    if (chunk > CHUNK_MOST) chunk = CHUNK_MOST;
    *chunks = 0;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t per = chunk / point_bytes(s), n = section_points(k, s);
        if (!(sections >> s & 1)) *chunks += (unsigned)((n + per - 1) / per);
    }
    return chunk;
}

/* ---- the pinned buffers ---- */

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static buffer buffers[2];
static bool pinned[2];
static unsigned users; /* proofs that were streamed and have not ended */

static void release_locked(void) {
    for (int k = 0; k < 2; k++) {
        if (pinned[k]) cuda_module()->unpin(buffers[k].data);
        pinned[k] = false;
        buffer_free(&buffers[k]);
    }
}

void stream_leave(void) {
    pthread_mutex_lock(&buffers_lock);
    if (--users == 0) release_locked();
    pthread_mutex_unlock(&buffers_lock);
}

static cuzk_status take_locked(uint64_t bytes, cuzk_error *err) {
    if (buffers[0].bytes >= bytes && buffers[1].bytes >= bytes) return CUZK_OK;
    release_locked();
    for (int k = 0; k < 2; k++) {
        cuzk_status st = buffer_alloc(&buffers[k], BUFFER_PINNED, bytes, err);
        if (st != CUZK_OK) {
            release_locked();
            return st;
        }
        pinned[k] = cuda_module()->pin(buffers[k].data, bytes);
    }
    return CUZK_OK;
}

/* ---- reading ---- */

typedef struct reading {
    const gpu_key_source *key;
    pool *p;
    const cuzk_control *control;
    const uint8_t *from;
    uint8_t *to;
    uint64_t bytes;
} reading;

static void copy_tile(void *ctx, size_t tile, unsigned slot) {
    const reading *r = ctx;
    (void)slot;
    uint64_t at = tile * TILE_BYTES, n = r->bytes - at < TILE_BYTES ? r->bytes - at : TILE_BYTES;
    memcpy(r->to + at, r->from + at, n);
}

static cuzk_status read_points(void *user, gpu_section section, uint64_t first, uint64_t n, void *to, cuzk_error *err) {
    reading *r = user;
    r->from = section_from(r->key, section) + first * point_bytes(section);
    r->to = to;
    r->bytes = n * point_bytes(section);
    return pool_run(r->p, r->control, "key to device", (r->bytes + TILE_BYTES - 1) / TILE_BYTES, copy_tile, r, err);
}

cuzk_status stream_run(gpu_proof *proof, const gpu_key_source *k, unsigned sections, uint64_t *held, pool *p,
                       const cuzk_control *control, cuzk_error *err) {
    unsigned chunks;
    reading r = {.key = k, .p = p, .control = control};
    gpu_stream s = {.read = read_points, .user = &r, .chunk_bytes = stream_chunk_bytes(k, sections, &chunks)};
    *held = 0;
    if (!s.chunk_bytes) return cuda_module()->proof_run(proof, NULL, err);
    if (!k->h) return cuzk_fail(err, CUZK_USAGE, "a key that was made on a device can only be used there");
    pthread_mutex_lock(&buffers_lock);
    cuzk_status st = take_locked(s.chunk_bytes, err);
    if (st == CUZK_OK) {
        for (int i = 0; i < 2; i++) s.buffer[i] = buffers[i].data;
        st = cuda_module()->proof_run(proof, &s, err);
    }
    if (st == CUZK_OK) {
        users++;
        *held = 2 * s.chunk_bytes;
    } else if (users == 0) {
        release_locked();
    }
    pthread_mutex_unlock(&buffers_lock);
    return st;
}
