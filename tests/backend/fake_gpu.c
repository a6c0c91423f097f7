/* See fake_gpu.h. */
#include "fake_gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/gpu.h"

__attribute__((visibility("default"))) fake_gpu fake_gpu_state;
#define state fake_gpu_state

struct gpu_shape {
    uint32_t n_inputs, n_aux, log2;
};
struct gpu_key {
    gpu_key_source source;
    gpu_key_layout layout;
    bool busy; /* a pass is under way */
};
struct gpu_proof {
    gpu_key *key;
    uint64_t bytes;
    gpu_bad_point bad;
    bool ran;
};

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;

static cuzk_status take(uint64_t bytes, atomic_uint *number, cuzk_error *err) {
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&books);
    if (state.limit && state.live + bytes > state.limit) {
        st = cuzk_fail(err, CUZK_MEMORY, "the fake device is full");
    } else if (state.refuse) {
        state.refuse--;
        st = cuzk_fail(err, CUZK_MEMORY, "others have the fake device's memory");
    } else {
        state.live += bytes;
        ++*number;
        if (state.live > state.peak) state.peak = state.live;
    }
    pthread_mutex_unlock(&books);
    return st;
}
static void give(uint64_t bytes, atomic_uint *number) {
    pthread_mutex_lock(&books);
    state.live -= bytes;
    --*number;
    pthread_mutex_unlock(&books);
}

static unsigned count(void) {
    return state.devices ? state.devices : 1;
}
static cuzk_status info(unsigned device, gpu_facts *out, cuzk_error *err) {
    (void)device, (void)err;
    *out = (gpu_facts){.name = "fake", .memory_bytes = (uint64_t)2 << 30, .free_bytes = (uint64_t)2 << 30};
    if (state.refuse) out->free_bytes = 0;
    return CUZK_OK;
}
static void memory(unsigned device, uint64_t *live, uint64_t *peak) {
    (void)device;
    *live = state.live;
    *peak = state.peak;
}
static void reset_peak(unsigned device) {
    (void)device;
    state.peak = state.live;
}
static void limit(unsigned device, uint64_t bytes) {
    (void)device;
    state.limit = bytes;
}
static unsigned low_bits(void) {
    return 14;
}
static size_t ntt_elements(unsigned log2) {
    return 4 * (((size_t)1 << 14) + ((size_t)1 << (log2 > 14 ? log2 - 14 : 0))) + 512;
}

static uint64_t shape_bytes(const gpu_shape_source *s) {
    (void)s;
    return FAKE_SHAPE_BYTES;
}
static cuzk_status shape_create(gpu_shape **out, unsigned device, const gpu_shape_source *s, cuzk_error *err) {
    (void)device;
    if (take(FAKE_SHAPE_BYTES, &state.shapes, err) != CUZK_OK) return CUZK_MEMORY;
    *out = calloc(1, sizeof **out);
    (*out)->n_inputs = s->n_inputs;
    (*out)->n_aux = s->n_aux;
    (*out)->log2 = s->log2;
    return CUZK_OK;
}
static void shape_destroy(gpu_shape *s) {
    free(s);
    give(FAKE_SHAPE_BYTES, &state.shapes);
}
static gpu_proof_size proof_size(const gpu_shape_source *s) {
    (void)s;
    return (gpu_proof_size){FAKE_PROOF_BYTES - FAKE_WORK_BYTES, FAKE_WORK_BYTES};
}
static void shape_needs(const gpu_shape *s, uint64_t *shape, gpu_proof_size *proof) {
    (void)s;
    *shape = FAKE_SHAPE_BYTES;
    *proof = proof_size(NULL);
}

static uint64_t key_bytes(const gpu_key_source *k, const gpu_key_layout *l) {
    (void)k;
    return FAKE_SECTION_BYTES * (uint64_t)__builtin_popcount(l->sections) + l->work_bytes;
}
static uint64_t points_of(const gpu_key_source *k, unsigned section) {
    const uint64_t points[GPU_SECTIONS] = {k->n_h, k->n_l, k->n_a, k->n_b, k->n_b};
    return points[section];
}

/* One piece of a chunk, on its way through a buffer. The fake decodes nothing; of encoded points it knows those as bad
 * whose first byte is 0xff. */
typedef struct piece {
    const gpu_key_source *key;
    const gpu_stream *from;
    unsigned section;
    uint64_t first, n, size;
    gpu_bad_point *bad;
    cuzk_status status;
    cuzk_error why;
} piece;
static void carry(void *ctx, size_t tile, unsigned slot) {
    piece *p = ctx;
    uint8_t *to = p->from->buffers + (p->first / p->n) % p->from->n_buffers * p->from->buffer_bytes;
    (void)tile, (void)slot;
    p->status = p->from->read(p->from->user, (gpu_section)p->section, p->first, p->n, to, &p->why);
    for (uint64_t i = 0; p->key->encoded && p->status == CUZK_OK && i < p->n; i++)
        if (to[i * p->size] == 0xff && p->bad->fault == GPU_POINT_OK)
            *p->bad = (gpu_bad_point){(gpu_section)p->section, p->first + i, GPU_POINT_BAD_FLAGS};
    if (state.expect[p->section] && p->status == CUZK_OK)
        state.wrong += memcmp(to, state.expect[p->section] + p->first * p->size, p->n * p->size) != 0;
}

/* Reads a section as the device would, and looks whether the bytes are those that the test expects. */
static cuzk_status read_section(const gpu_key_source *k, unsigned s, const gpu_stream *from, gpu_bad_point *bad,
                                cuzk_error *err) {
    uint64_t size = s == GPU_B_G2 ? 192 : 96, n, chunk = (from->chunk_bytes ? from->chunk_bytes : 1 << 20) / size;
    for (uint64_t first = 0; first < points_of(k, s); first += chunk) {
        uint64_t end = points_of(k, s) - first < chunk ? points_of(k, s) : first + chunk;
        if (++state.chunks == state.fail_chunk && (!state.fail_pass || state.fail_pass == state.passes))
            return cuzk_fail(err, CUZK_DEVICE, "the fake device fails");
        for (uint64_t at = first; at < end; at += n) {
            n = from->buffer_bytes / size < end - at ? from->buffer_bytes / size : end - at;
            piece p = {k, from, s, at, n, size, bad, CUZK_OK, {0}};
            cuzk_status st = from->each(from->user, 1, carry, &p, err);
            if (st == CUZK_OK && p.status != CUZK_OK) *err = p.why;
            if (st != CUZK_OK || p.status != CUZK_OK) return st != CUZK_OK ? st : p.status;
        }
    }
    return CUZK_OK;
}

/* As a device that hangs, but for ten seconds at most, which is wrong. */
static bool key_stops(void) {
    return state.hold;
}
static bool pass_stops(void) {
    return state.stop_pass && state.passes >= state.stop_pass;
}
static void hold(unsigned device, bool (*stops)(void)) {
    if (device != 0 || !stops()) return;
    state.held = true;
    for (int i = 0; stops(); i++) {
        usleep(10000);
        if (i < 1000) continue;
        state.wrong++;
        state.hold = false;
        state.stop_pass = 0;
    }
    state.held = false;
}

static cuzk_status key_create(gpu_key **out, unsigned device, const gpu_key_source *k, const gpu_key_layout *l,
                              const gpu_stream *from, gpu_bad_point *bad, cuzk_error *err) {
    hold(device, key_stops);
    *bad = (gpu_bad_point){GPU_H, 0, GPU_POINT_OK};
    if (take(key_bytes(k, l), &state.keys, err) != CUZK_OK) return CUZK_MEMORY;
    cuzk_status st = CUZK_OK;
    state.chunks = 0;
    for (unsigned s = 0; s < GPU_SECTIONS && st == CUZK_OK; s++)
        if (l->sections >> s & 1) st = read_section(k, s, from, bad, err);
    if (st == CUZK_OK && bad->fault != GPU_POINT_OK) st = cuzk_fail(err, CUZK_KEY_DAMAGED, "bad");
    if (st != CUZK_OK) {
        give(key_bytes(k, l), &state.keys);
        return st;
    }
    *out = calloc(1, sizeof **out);
    (*out)->source = *k;
    (*out)->layout = *l;
    state.keys_made++;
    state.chunks_loaded = state.chunks;
    return CUZK_OK;
}
static cuzk_status setup(gpu_key **out, const gpu_shape *s, const gpu_setup_source *src, cuzk_error *err) {
    atomic_uint working = 0;
    if (take(5 * FAKE_SECTION_BYTES, &state.keys, err) != CUZK_OK) return CUZK_MEMORY;
    if (take(FAKE_SETUP_BYTES, &working, err) != CUZK_OK) {
        give(5 * FAKE_SECTION_BYTES, &state.keys);
        return CUZK_MEMORY;
    }
    give(FAKE_SETUP_BYTES, &working);
    for (uint32_t i = 0; i < s->n_inputs; i++) memcpy((uint8_t *)src->ic_out + i * 96, src->g1, 96);
    *out = calloc(1, sizeof **out);
    (*out)->layout = (gpu_key_layout){GPU_WHOLE_KEY, 1, 0};
    (*out)->source =
        (gpu_key_source){.n_h = (1u << s->log2) - 1, .n_l = s->n_aux, .n_a = s->n_inputs, .n_b = src->n_b_inputs};
    for (uint32_t w = 0; w < (s->n_aux + 63) / 64; w++) {
        (*out)->source.n_a += (uint32_t)__builtin_popcountll(src->a_density[w]);
        (*out)->source.n_b += (uint32_t)__builtin_popcountll(src->b_density[w]);
    }
    state.keys_made++;
    return CUZK_OK;
}
static cuzk_status key_write(const gpu_key *k, const gpu_sink *to, cuzk_error *err) {
    unsigned turn = 0;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t size = s == GPU_B_G2 ? 192 : 96, n;
        for (uint64_t first = 0; first < points_of(&k->source, s); first += n) {
            void *from = to->buffer[turn++ % 2];
            n = to->chunk_bytes / size < points_of(&k->source, s) - first ? to->chunk_bytes / size
                                                                          : points_of(&k->source, s) - first;
            memset(from, state.written, n * size);
            cuzk_status st = to->write(to->user, (gpu_section)s, first, n, from, err);
            if (st != CUZK_OK) return st;
        }
    }
    return CUZK_OK;
}
static uint64_t setup_bytes(uint32_t inputs, uint32_t aux, uint32_t log2) {
    (void)inputs, (void)aux, (void)log2;
    return FAKE_SETUP_BYTES;
}
static void key_destroy(gpu_key *k) {
    give(key_bytes(NULL, &k->layout), &state.keys);
    free(k);
}
static gpu_key_layout key_layout(const gpu_key *k) {
    return k->layout;
}

static cuzk_status proof_open(gpu_proof **out, const gpu_shape *s, const gpu_key *k, cuzk_error *err) {
    (void)s;
    uint64_t bytes = FAKE_PROOF_BYTES - k->layout.work_bytes;
    if (take(bytes, &state.proofs, err) != CUZK_OK) return CUZK_MEMORY;
    *out = calloc(1, sizeof **out);
    (*out)->bytes = bytes;
    (*out)->key = (gpu_key *)(uintptr_t)k;
    pthread_mutex_lock(&books);
    memset(state.witness_bytes, 0, sizeof state.witness_bytes);
    pthread_mutex_unlock(&books);
    return CUZK_OK;
}
static cuzk_status proof_put(gpu_proof *p, gpu_witness_part part, uint64_t offset, const void *from, uint64_t bytes,
                             cuzk_error *err) {
    (void)err;
    pthread_mutex_lock(&books);
    state.wrong += p->ran;
    state.witness_bytes[part] += bytes;
    pthread_mutex_unlock(&books);
    if (part == GPU_FIELDS && offset + bytes <= state.fields_bytes) memcpy(state.fields + offset, from, bytes);
    return CUZK_OK;
}
static cuzk_status proofs_run(gpu_proof *const *proofs, unsigned n, const gpu_stream *stream, cuzk_error *err) {
    cuzk_status st = CUZK_OK;
    gpu_bad_point bad = {GPU_H, 0, GPU_POINT_OK};
    gpu_key *k = proofs[0]->key;
    bool whole = k->layout.sections == GPU_WHOLE_KEY;
    if (!whole && !stream) return cuzk_fail(err, CUZK_INTERNAL, "no stream for a missing section");
    state.wrong += n < 1 || n > (whole ? 1 : GPU_PASS_MOST) || k->busy;
    k->busy = !whole;
    for (unsigned i = 0; i < n; i++) {
        state.wrong += proofs[i]->ran || proofs[i]->key != k;
        proofs[i]->ran = true;
    }
    if (!whole) {
        state.chunks = 0; /* one reads at a time */
        if (state.passes < 8) state.together[state.passes] = n;
        state.passes++;
        hold(0, pass_stops);
    }
    for (unsigned s = 0; s < GPU_SECTIONS && st == CUZK_OK; s++)
        if (!(k->layout.sections >> s & 1)) st = read_section(&k->source, s, stream, &bad, err);
    for (unsigned i = 0; i < n; i++) proofs[i]->bad = bad;
    k->busy = false;
    return st;
}
static cuzk_status proof_wait(gpu_proof *p, gpu_sums *out, cuzk_error *err) {
    static const uint8_t nothing[384];
    const gpu_msm_sum none = {1, 4, nothing};
    (void)err;
    state.wrong += !p->ran;
    *out = (gpu_sums){.first_bad = UINT64_MAX,
                      .bad = p->bad,
                      .h = none,
                      .l = none,
                      .a = none,
                      .b_g1 = none,
                      .b_g2 = none,
                      .l_bits = nothing,
                      .a_bits = nothing,
                      .b_g1_bits = nothing,
                      .b_g2_bits = nothing};
    return CUZK_OK;
}
static void proof_destroy(gpu_proof *p) {
    give(p->bytes, &state.proofs);
    free(p);
}
static bool pin(void *data, uint64_t bytes) {
    (void)data, (void)bytes;
    return true;
}
static void unpin(void *data) {
    (void)data;
}

__attribute__((visibility("default"))) const gpu_api *cuzk_gpu_api(void);
const gpu_api *cuzk_gpu_api(void) {
    static const gpu_api api = {.version = GPU_API_VERSION,
                                .count = count,
                                .info = info,
                                .memory = memory,
                                .memory_reset_peak = reset_peak,
                                .memory_limit = limit,
                                .ntt_elements = ntt_elements,
                                .ntt_low_bits = low_bits,
                                .shape_bytes = shape_bytes,
                                .shape_create = shape_create,
                                .shape_destroy = shape_destroy,
                                .shape_needs = shape_needs,
                                .key_bytes = key_bytes,
                                .key_create = key_create,
                                .key_destroy = key_destroy,
                                .key_layout = key_layout,
                                .setup = setup,
                                .setup_bytes = setup_bytes,
                                .key_write = key_write,
                                .proof_size = proof_size,
                                .proof_open = proof_open,
                                .proof_put = proof_put,
                                .proofs_run = proofs_run,
                                .proof_wait = proof_wait,
                                .proof_destroy = proof_destroy,
                                .pin = pin,
                                .unpin = unpin};
    return &api;
}
