/* Keys on their way to a device: which sections lie there, and how the points get there, once or in each pass; see
 * backend/cuda/resident.h. All threads bring pieces of it, through the device's pinned buffers (pinned.c). */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/cuda/resident.h"

#define DRIVER_BYTES ((uint64_t)1 << 30) /* of a device's memory, left to the driver */
#define CHUNK_MOST ((uint64_t)512 << 20) /* of a section that is streamed, as the device adds it up */
#define BUFFERS 32u                      /* as many pieces of the largest section are on their way … */
#define BUFFER_MOST ((uint64_t)4 << 20)  /* … of so many bytes at most */
#define BUFFER_LEAST ((uint64_t)64 << 10)
#define CHUNK_LEAST ((uint64_t)1 << 20) /* multiples of it */
#define CHUNKS 4                        /* of the largest section, at least, so that copying and adding overlap */

#define WORK_SHARE 8    /* a chunk takes no more than this part of the work memory, where two of them lie */
#define SHARE_GAIN 0.95 /* of the bytes streamed for a proof, at most, for a pass to be shared by one more */

static atomic_uint_least64_t limits[GPU_DEVICES];
static atomic_uint users_threads[GPU_DEVICES];

void backend_cuda_proofs_at_once(unsigned device, unsigned proofs) {
    if (device < GPU_DEVICES) atomic_store(&users_threads[device], proofs);
}

unsigned stream_at_once(unsigned device) {
    unsigned n = device < GPU_DEVICES ? atomic_load(&users_threads[device]) : 0;
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

/* A mask that leaves out empty sections alone: the whole key is that. */
static bool lacks_nothing(const gpu_key_source *k, unsigned sections) {
    return sections != GPU_WHOLE_KEY && stream_missing_bytes(k, sections) == 0;
}

cuzk_status stream_layout(gpu_key_layout *out, const gpu_key_source *k, uint64_t shape_bytes,
                          const gpu_proof_size *proof, unsigned at_once, uint64_t limit, cuzk_error *err) {
    uint64_t least = shape_bytes + proof->own + proof->work;
    double best = 0;
    *out = (gpu_key_layout){0};
    for (unsigned together = 1; together <= at_once; together++) {
        for (unsigned sections = 0; sections <= GPU_WHOLE_KEY; sections++) {
            bool whole = sections == GPU_WHOLE_KEY;
            if ((whole && together > 1) || lacks_nothing(k, sections)) continue;
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

uint64_t stream_chunk_bytes(const gpu_key_source *k, const gpu_key_layout *layout, unsigned *chunks) {
    uint64_t largest = 0, most = layout->work_bytes / WORK_SHARE;
    *chunks = layout->sections == GPU_WHOLE_KEY;
    if (*chunks) return 0;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t bytes = section_points(k, s) * point_bytes(s);
        if (!(layout->sections >> s & 1) && bytes > largest) largest = bytes;
    }
    uint64_t chunk = (largest / CHUNKS + CHUNK_LEAST) / CHUNK_LEAST * CHUNK_LEAST;
    if (most > CHUNK_MOST) most = CHUNK_MOST;
    if (most < CHUNK_LEAST) most = CHUNK_LEAST;
    if (chunk > most) chunk = most;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t per = chunk / point_bytes(s), n = section_points(k, s);
        if (!(layout->sections >> s & 1)) *chunks += (unsigned)((n + per - 1) / per);
    }
    return chunk;
}

/* Number and size of the buffers. */
static void size_buffers(gpu_stream *s, const gpu_key_source *k) {
    uint64_t largest = 0;
    for (unsigned i = 0; i < GPU_SECTIONS; i++)
        if (section_points(k, i) * point_bytes(i) > largest) largest = section_points(k, i) * point_bytes(i);
    uint64_t bytes = (largest / BUFFERS + BUFFER_LEAST) / BUFFER_LEAST * BUFFER_LEAST;
    s->buffer_bytes = bytes < BUFFER_MOST ? bytes : BUFFER_MOST;
    uint64_t n = (largest + s->buffer_bytes - 1) / s->buffer_bytes;
    s->n_buffers = n < 1 ? 1 : n > BUFFERS ? BUFFERS : (unsigned)n;
}

uint64_t stream_pinned_bytes(const gpu_key_source *k) {
    gpu_stream s;
    size_buffers(&s, k);
    return s.n_buffers * s.buffer_bytes;
}

/* ---- reading ---- */

typedef struct reading {
    const proving_key *key;
    pool *p;
    const cuzk_control *control;
} reading;

static const uint8_t *host_points(const proving_key *k, params_section s) {
    const void *from[PARAMS_SECTIONS] = {
        [PARAMS_H] = k->h, [PARAMS_L] = k->l, [PARAMS_A] = k->a, [PARAMS_B_G1] = k->b_g1, [PARAMS_B_G2] = k->b_g2};
    return from[s];
}

static cuzk_status read_points(void *user, gpu_section section, uint64_t first, uint64_t n, void *to, cuzk_error *err) {
    const reading *r = user;
    params_section s = in_file(section);
    uint64_t at = first * point_bytes(section), bytes = n * point_bytes(section);
    if (r->key->file) return file_reader_read(r->key->file, to, bytes, r->key->offset[s] + at, err);
    memcpy(to, host_points(r->key, s) + at, bytes);
    return CUZK_OK;
}

static cuzk_status on_all_threads(void *user, size_t tiles, gpu_tile tile, void *ctx, cuzk_error *err) {
    const reading *r = user;
    return pool_run(r->p, r->control, "key to device", tiles, tile, ctx, err);
}

/* The stream's buffers, to be given back. */
static cuzk_status open_stream(gpu_stream *s, reading *r, unsigned device, const gpu_key_source *k, cuzk_error *err) {
    void *pinned = NULL;
    *s = (gpu_stream){.read = read_points, .each = on_all_threads, .user = r};
    size_buffers(s, k);
    cuzk_status st = pinned_take(&pinned, device, s->n_buffers * s->buffer_bytes, err);
    s->buffers = pinned;
    return st;
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
    gpu_stream s;
    reading r = {.key = k->key, .p = k->p, .control = k->control};
    cuzk_status st = sections ? open_stream(&s, &r, device, &k->source, err) : CUZK_OK;
    if (st != CUZK_OK) return st;
    st = cuda_module()->key_create((gpu_key **)out, device, &k->source, &k->layout, sections ? &s : NULL, &bad, err);
    *full = st == CUZK_MEMORY;
    if (sections) pinned_give(device, 0);
    return st == CUZK_KEY_DAMAGED ? stream_bad_point(k->key, &bad, err) : st;
}

cuzk_status stream_run(gpu_proof *const *proofs, unsigned n, unsigned device, const proving_key *key,
                       const gpu_key_layout *layout, uint64_t *held, pool *p, const cuzk_control *control,
                       cuzk_error *err) {
    unsigned chunks;
    gpu_stream s;
    gpu_key_source source = stream_source(key);
    reading r = {.key = key, .p = p, .control = control};
    *held = 0;
    cuzk_status st = open_stream(&s, &r, device, &source, err);
    if (st != CUZK_OK) return st;
    s.chunk_bytes = stream_chunk_bytes(&source, layout, &chunks);
    st = cuda_module()->proofs_run(proofs, n, &s, err);
    uint64_t bytes = pinned_give(device, st == CUZK_OK ? n : 0);
    if (st == CUZK_OK) *held = bytes;
    return st;
}
