/* See fake_gpu.h. */
#include "fake_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/gpu.h"

__attribute__((visibility("default"))) fake_gpu fake_gpu_state;
#define state fake_gpu_state

struct gpu_shape {
    int unused;
};
struct gpu_key {
    gpu_key_source source;
    unsigned sections;
};
struct gpu_proof {
    const gpu_key *key;
    bool ran;
};

static cuzk_status take(uint64_t bytes, cuzk_error *err) {
    if (state.limit && state.live + bytes > state.limit) return cuzk_fail(err, CUZK_MEMORY, "the fake device is full");
    state.live += bytes;
    return CUZK_OK;
}

static unsigned count(void) {
    return 1;
}
static cuzk_status info(unsigned device, gpu_facts *out, cuzk_error *err) {
    (void)device, (void)err;
    *out = (gpu_facts){.name = "fake", .memory_bytes = (uint64_t)2 << 30, .free_bytes = (uint64_t)2 << 30};
    return CUZK_OK;
}
static void memory(unsigned device, uint64_t *live, uint64_t *peak) {
    (void)device;
    *live = *peak = state.live;
}
static void reset_peak(unsigned device) {
    (void)device;
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
    (void)device, (void)s;
    if (take(FAKE_SHAPE_BYTES, err) != CUZK_OK) return CUZK_MEMORY;
    *out = calloc(1, sizeof **out);
    state.shapes++;
    return CUZK_OK;
}
static void shape_destroy(gpu_shape *s) {
    free(s);
    state.live -= FAKE_SHAPE_BYTES;
    state.shapes--;
}
static void shape_needs(const gpu_shape *s, uint64_t *shape, uint64_t *proof) {
    (void)s;
    *shape = FAKE_SHAPE_BYTES;
    *proof = FAKE_PROOF_BYTES;
}

static uint64_t key_bytes(const gpu_key_source *k, unsigned sections) {
    (void)k;
    return FAKE_SECTION_BYTES * (uint64_t)__builtin_popcount(sections);
}
static cuzk_status key_create(gpu_key **out, unsigned device, const gpu_key_source *k, unsigned sections,
                              cuzk_error *err) {
    (void)device;
    if (take(key_bytes(k, sections), err) != CUZK_OK) return CUZK_MEMORY;
    *out = calloc(1, sizeof **out);
    (*out)->source = *k;
    (*out)->sections = sections;
    state.keys++, state.keys_made++;
    return CUZK_OK;
}
static void key_destroy(gpu_key *k) {
    state.live -= key_bytes(NULL, k->sections);
    state.keys--;
    free(k);
}
static unsigned key_sections(const gpu_key *k) {
    return k->sections;
}

static uint64_t proof_bytes(const gpu_shape_source *s) {
    (void)s;
    return FAKE_PROOF_BYTES;
}
static cuzk_status proof_open(gpu_proof **out, const gpu_shape *s, const gpu_key *k, cuzk_error *err) {
    (void)s;
    if (take(FAKE_PROOF_BYTES, err) != CUZK_OK) return CUZK_MEMORY;
    *out = calloc(1, sizeof **out);
    (*out)->key = k;
    state.proofs++;
    memset(state.witness_bytes, 0, sizeof state.witness_bytes);
    return CUZK_OK;
}
static cuzk_status proof_put(gpu_proof *p, gpu_witness_part part, uint64_t offset, const void *from, uint64_t bytes,
                             cuzk_error *err) {
    (void)err;
    state.wrong += p->ran;
    state.witness_bytes[part] += bytes;
    if (part == GPU_FIELDS && offset + bytes <= state.fields_bytes) memcpy(state.fields + offset, from, bytes);
    return CUZK_OK;
}
static cuzk_status proof_run(gpu_proof *p, const gpu_stream *stream, cuzk_error *err) {
    const gpu_key_source *k = &p->key->source;
    const void *from[GPU_SECTIONS] = {k->h, k->l, k->a, k->b_g1, k->b_g2};
    const uint64_t points[GPU_SECTIONS] = {k->n_h, k->n_l, k->n_a, k->n_b, k->n_b};
    p->ran = true;
    state.chunks = 0;
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        uint64_t size = s == GPU_B_G2 ? 192 : 96, n;
        if (p->key->sections >> s & 1) continue;
        if (!stream) return cuzk_fail(err, CUZK_INTERNAL, "no stream for a missing section");
        for (uint64_t first = 0; first < points[s]; first += n) {
            void *to = stream->buffer[state.chunks++ % 2];
            n = stream->chunk_bytes / size < points[s] - first ? stream->chunk_bytes / size : points[s] - first;
            if (state.chunks == state.fail_chunk) return cuzk_fail(err, CUZK_DEVICE, "the fake device fails");
            cuzk_status st = stream->read(stream->user, (gpu_section)s, first, n, to, err);
            if (st != CUZK_OK) return st;
            state.wrong += memcmp(to, (const uint8_t *)from[s] + first * size, n * size) != 0;
        }
    }
    return CUZK_OK;
}
static cuzk_status proof_wait(gpu_proof *p, gpu_sums *out, cuzk_error *err) {
    static const uint8_t nothing[384];
    const gpu_msm_sum none = {1, 4, nothing};
    (void)err;
    state.wrong += !p->ran;
    *out = (gpu_sums){.first_bad = UINT64_MAX,
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
    free(p);
    state.live -= FAKE_PROOF_BYTES;
    state.proofs--;
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
                                .key_sections = key_sections,
                                .proof_bytes = proof_bytes,
                                .proof_open = proof_open,
                                .proof_put = proof_put,
                                .proof_run = proof_run,
                                .proof_wait = proof_wait,
                                .proof_destroy = proof_destroy,
                                .pin = pin,
                                .unpin = unpin};
    return &api;
}
