/* Keys on their way to a device: which sections lie there, and how the points get there, once or for each proof; see
 * backend/cuda/resident.h.
 *
 * Through two pinned buffers of each device: while one is copied by the device, all threads fill the other, from points
 * on the host or from the key's file. They stay while any proof that was streamed there is in flight. */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/cuda/resident.h"

#define DRIVER_BYTES ((uint64_t)1 << 30) /* of a device's memory, left to the driver */
#define CHUNK_MOST ((uint64_t)512 << 20) /* of a section that is streamed, as the device adds it up */
#define BUFFER_MOST ((uint64_t)32 << 20) /* of what is on its way */
#define CHUNK_LEAST ((uint64_t)1 << 20)  /* multiples of it */
#define CHUNKS 4                         /* of the largest section, at least, so that copying and adding overlap */
#define TILE_BYTES ((uint64_t)1 << 20)   /* a thread copies at a time */

#define SHARE_GAIN 0.95 /* of the bytes streamed for a proof, at most, for a pass to be shared by one more */

static atomic_uint_least64_t limits[GPU_DEVICES];
static atomic_uint at_once[GPU_DEVICES];

void backend_cuda_proofs_at_once(unsigned device, unsigned proofs) {
    if (device < GPU_DEVICES) atomic_store(&at_once[device], proofs);
}

unsigned stream_at_once(unsigned device) {
    unsigned n = device < GPU_DEVICES ? atomic_load(&at_once[device]) : 0;
    return n < 1 ? 1 : n > GPU_PASS_MOST ? GPU_PASS_MOST : n;
}

void backend_cuda_limit_memory(unsigned device, uint64_t bytes) {
    if (!cuda_module() || device >= GPU_DEVICES) return;
    atomic_store(&limits[device], bytes);
    cuda_module()->memory_limit(device, bytes);
}

cuzk_status stream_limit(unsigned device, uint64_t *bytes, cuzk_error *err) {
    *bytes = device < GPU_DEVICES ? atomic_load(&limits[device]) : 0;
    if (*bytes) return CUZK_OK;
    gpu_facts f;
    cuzk_status st = cuda_module()->info(device, &f, err);
    if (st == CUZK_OK) *bytes = f.memory_bytes > DRIVER_BYTES ? f.memory_bytes - DRIVER_BYTES : 1;
    return st;
}

static size_t point_bytes(gpu_section s) {
    return s == GPU_B_G2 ? sizeof(g2_affine) : sizeof(g1_affine);
}

static params_section in_file(gpu_section s) {
    return (params_section)(PARAMS_H + (int)s);
}

static uint64_t section_points(const gpu_key_source *k, gpu_section s) {
    return s == GPU_H ? k->n_h : s == GPU_L ? k->n_l : s == GPU_A ? k->n_a : k->n_b;
}

gpu_key_source stream_source(const proving_key *k) {
    return (gpu_key_source){.n_h = k->count[PARAMS_H],
                            .n_l = k->count[PARAMS_L],
                            .n_a = k->count[PARAMS_A],
                            .n_b = k->count[PARAMS_B_G1],
                            .encoded = k->file != NULL,
                            .subgroup = k->subgroup};
}

uint64_t stream_missing_bytes(const gpu_key_source *k, unsigned sections) {
    uint64_t bytes = 0;
    for (unsigned s = 0; s < GPU_SECTIONS; s++)
        if (!(sections >> s & 1)) bytes += section_points(k, s) * point_bytes(s);
    return bytes;
}

cuzk_status stream_layout(gpu_key_layout *out, const gpu_key_source *k, uint64_t shape_bytes,
                          const gpu_proof_size *proof, unsigned proofs, uint64_t limit, cuzk_error *err) {
    uint64_t least = shape_bytes + proof->own + proof->work;
    double best = 0;
    *out = (gpu_key_layout){0};
    for (unsigned together = 1; together <= proofs; together++) {
        for (unsigned sections = 0; sections <= GPU_WHOLE_KEY; sections++) {
            bool whole = sections == GPU_WHOLE_KEY;
            if (whole && together > 1) continue;
            gpu_key_layout l = {sections, together, whole ? 0 : proof->work};
            uint64_t taken = shape_bytes + together * proof->own + (whole ? proof->work : 0);
            if (taken + cuda_module()->key_bytes(k, &l) > limit) continue;
            double each = (double)stream_missing_bytes(k, sections) / together;
            if (out->together && each >= best * (together > out->together ? SHARE_GAIN : 1)) continue;
            best = each;
            *out = l;
        }
    }
    if (out->together) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "the proof does not fit the device memory limit, even with the key on the host");
    cuzk_fail_expected(err, "%" PRIu64 " bytes", least);
    return cuzk_fail_found(err, "a limit of %" PRIu64 " bytes", limit);
}

uint64_t stream_chunk_bytes(const gpu_key_source *k, unsigned sections, unsigned *chunks) {
    bool whole = sections == GPU_WHOLE_KEY;
    uint64_t largest = 0, most = whole ? BUFFER_MOST : CHUNK_MOST;
    *chunks = whole;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t bytes = section_points(k, s) * point_bytes(s);
        if ((whole || !(sections >> s & 1)) && bytes > largest) largest = bytes;
    }
    uint64_t chunk = (largest / CHUNKS + CHUNK_LEAST) / CHUNK_LEAST * CHUNK_LEAST;
    if (chunk > most) chunk = most;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t per = chunk / point_bytes(s), n = section_points(k, s);
        if (!(sections >> s & 1)) *chunks += (unsigned)((n + per - 1) / per);
    }
    return chunk;
}

uint64_t stream_buffer_bytes(const gpu_key_source *k, unsigned sections) {
    unsigned chunks;
    uint64_t chunk = stream_chunk_bytes(k, sections, &chunks);
    return chunk < BUFFER_MOST ? chunk : BUFFER_MOST;
}

/* ---- the pinned buffers ---- */

/* Of each device, since the lock is held as long as a key takes: no device waits for another, which may hang. */
typedef struct device_buffers {
    pthread_mutex_t lock;
    buffer data[2];
    bool pinned[2];
    unsigned users; /* proofs that were streamed and have not ended */
} device_buffers;

static device_buffers buffers[GPU_DEVICES];
static pthread_once_t buffers_made = PTHREAD_ONCE_INIT;

static void make_locks(void) {
    for (unsigned d = 0; d < GPU_DEVICES; d++) pthread_mutex_init(&buffers[d].lock, NULL);
}

static device_buffers *buffers_of(unsigned device) {
    assert(device < GPU_DEVICES);
    pthread_once(&buffers_made, make_locks);
    return &buffers[device];
}

static void release_locked(device_buffers *b) {
    for (int k = 0; k < 2; k++) {
        if (b->pinned[k]) cuda_module()->unpin(b->data[k].data);
        b->pinned[k] = false;
        buffer_free(&b->data[k]);
    }
}

void stream_leave(unsigned device) {
    device_buffers *b = buffers_of(device);
    pthread_mutex_lock(&b->lock);
    if (--b->users == 0) release_locked(b);
    pthread_mutex_unlock(&b->lock);
}

static cuzk_status take_locked(device_buffers *b, uint64_t bytes, cuzk_error *err) {
    if (b->data[0].bytes >= bytes && b->data[1].bytes >= bytes) return CUZK_OK;
    release_locked(b);
    for (int k = 0; k < 2; k++) {
        cuzk_status st = buffer_alloc(&b->data[k], BUFFER_PINNED, bytes, err);
        if (st != CUZK_OK) {
            release_locked(b);
            return st;
        }
        b->pinned[k] = cuda_module()->pin(b->data[k].data, bytes);
    }
    return CUZK_OK;
}

cuzk_status stream_buffers_take(void *data[2], unsigned device, uint64_t bytes, cuzk_error *err) {
    device_buffers *b = buffers_of(device);
    pthread_mutex_lock(&b->lock);
    cuzk_status st = take_locked(b, bytes, err);
    for (int k = 0; k < 2; k++) data[k] = b->data[k].data;
    if (st != CUZK_OK) pthread_mutex_unlock(&b->lock);
    return st;
}

void stream_buffers_give(unsigned device) {
    device_buffers *b = buffers_of(device);
    if (b->users == 0) release_locked(b);
    pthread_mutex_unlock(&b->lock);
}

/* ---- reading ---- */

typedef struct reading {
    const proving_key *key;
    pool *p;
    const cuzk_control *control;
    params_section section;
    uint64_t at, bytes; /* in the section */
    uint8_t *to;
    atomic_bool failed;
    cuzk_error why; /* of the first tile that failed */
} reading;

static const uint8_t *host_points(const proving_key *k, params_section s) {
    const void *from[PARAMS_SECTIONS] = {
        [PARAMS_H] = k->h, [PARAMS_L] = k->l, [PARAMS_A] = k->a, [PARAMS_B_G1] = k->b_g1, [PARAMS_B_G2] = k->b_g2};
    return from[s];
}

static void read_tile(void *user, size_t tile, unsigned slot) {
    reading *r = user;
    (void)slot;
    uint64_t at = tile * TILE_BYTES, n = r->bytes - at < TILE_BYTES ? r->bytes - at : TILE_BYTES;
    cuzk_error e;
    if (!r->key->file)
        memcpy(r->to + at, host_points(r->key, r->section) + r->at + at, n);
    else if (file_reader_read(r->key->file, r->to + at, n, r->key->offset[r->section] + r->at + at, &e) != CUZK_OK &&
             !atomic_exchange(&r->failed, true))
        r->why = e;
}

static cuzk_status read_points(void *user, gpu_section section, uint64_t first, uint64_t n, void *to, cuzk_error *err) {
    reading *r = user;
    r->section = in_file(section);
    r->at = first * point_bytes(section);
    r->bytes = n * point_bytes(section);
    r->to = to;
    cuzk_status st =
        pool_run(r->p, r->control, "key to device", (r->bytes + TILE_BYTES - 1) / TILE_BYTES, read_tile, r, err);
    if (st != CUZK_OK || !atomic_load(&r->failed)) return st;
    *err = r->why;
    return err->status;
}

cuzk_status stream_bad_point(const proving_key *key, const gpu_bad_point *bad, cuzk_error *err) {
    static_assert((int)GPU_POINT_NOT_IN_SUBGROUP == (int)POINT_NOT_IN_SUBGROUP, "the same order");
    params_section s = in_file(bad->section);
    return params_point_fault(
        err, key->path, params_section_name(s), bad->index, key->offset[s] + bad->index * params_point_bytes(s),
        bad->fault == GPU_POINT_IDENTITY ? PARAMS_IDENTITY : point_status_text((point_status)bad->fault));
}

cuzk_status stream_make_key(void **out, unsigned device, const void *source, bool *full, cuzk_error *err) {
    const key_on_device *k = source;
    unsigned sections = k->layout.sections;
    gpu_bad_point bad;
    reading r = {.key = k->key, .p = k->p, .control = k->control};
    gpu_stream s = {.read = read_points, .user = &r, .buffer_bytes = stream_buffer_bytes(&k->source, sections)};
    cuzk_status st = sections ? stream_buffers_take(s.buffer, device, s.buffer_bytes, err) : CUZK_OK;
    if (st != CUZK_OK) return st;
    st = cuda_module()->key_create((gpu_key **)out, device, &k->source, &k->layout, sections ? &s : NULL, &bad, err);
    *full = st == CUZK_MEMORY;
    if (sections) stream_buffers_give(device);
    return st == CUZK_KEY_DAMAGED ? stream_bad_point(k->key, &bad, err) : st;
}

cuzk_status stream_run(gpu_proof *const *proofs, unsigned n, unsigned device, const proving_key *key, unsigned sections,
                       uint64_t *held, pool *p, const cuzk_control *control, cuzk_error *err) {
    unsigned chunks;
    gpu_key_source source = stream_source(key);
    reading r = {.key = key, .p = p, .control = control};
    gpu_stream s = {.read = read_points,
                    .user = &r,
                    .buffer_bytes = stream_buffer_bytes(&source, sections),
                    .chunk_bytes = stream_chunk_bytes(&source, sections, &chunks)};
    *held = 0;
    cuzk_status st = stream_buffers_take(s.buffer, device, s.buffer_bytes, err);
    if (st != CUZK_OK) return st;
    st = cuda_module()->proofs_run(proofs, n, &s, err);
    if (st == CUZK_OK) {
        device_buffers *b = buffers_of(device);
        b->users += n;
        *held = b->data[0].bytes + b->data[1].bytes;
    }
    stream_buffers_give(device);
    return st;
}
