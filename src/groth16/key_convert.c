/* Converting a proving key to native points; see groth16/key_convert.h.
 *
 * The file is walked once, a chunk of some megabytes at a time. The tiles of a chunk decode points (range, curve
 * equation, no identities) and write them to their place; two more tiles feed the chunk to the two digests of the
 * file, so that hashing runs beside decoding. After a chunk the kernel is told that its pages may go: neither the
 * source nor the copy stays in this process's memory. Subgroup membership is not checked here, as in the reference;
 * `key verify --full` does it (groth16/key_check.c).
 *
 * The copy holds points as this program computes with them (little-endian 64-bit limbs, Montgomery form), so it is no
 * exchange format: version and size of the header, or a digest that does not fit, make it worthless and it is made
 * again.
 */
#include "groth16/key_convert.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define PAGE ((uint64_t)4096)
#define CHUNK_BYTES ((uint64_t)12 << 20) /* a multiple of a tile's bytes */
#define TILE_BYTES ((uint64_t)192 << 10)
#define HASH_TILES 2u

static const char magic[8] = {'c', 'u', 'z', 'k', '-', 'k', 'e', 'y'};

static uint64_t round_up(uint64_t n) {
    return (n + PAGE - 1) & ~(PAGE - 1);
}

uint64_t proving_key_native_bytes(const params_view *v) {
    uint64_t n = 0;
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++)
        n += round_up((uint64_t)v->count[s] * params_point_bytes(s));
    return n;
}

void converted_header_make(converted_header *h, const char *path, const file_map *source, const params_view *v) {
    memset(h, 0, sizeof *h);
    memcpy(h->magic, magic, sizeof magic);
    h->version = CONVERTED_VERSION;
    h->header_bytes = CONVERTED_HEADER_BYTES;
    h->dev = source->dev;
    h->inode = source->inode;
    h->bytes = source->bytes;
    h->mtime_ns = source->mtime_ns;
    h->ctime_ns = source->ctime_ns;
    h->total_bytes = CONVERTED_HEADER_BYTES;
    for (params_section s = PARAMS_IC; s < PARAMS_SECTIONS; s++) {
        uint64_t bytes = (uint64_t)v->count[s] * params_point_bytes(s);
        h->count[s] = v->count[s];
        if (s == PARAMS_IC) continue;
        h->offset[s] = round_up(h->total_bytes);
        if (bytes) h->total_bytes = h->offset[s] + bytes;
    }
    snprintf(h->source, sizeof h->source, "%s", path);
}

static void header_digest(uint8_t out[32], const converted_header *h) {
    hash_sha256(out, h, offsetof(converted_header, digest));
}

void converted_header_seal(converted_header *h) {
    header_digest(h->digest, h);
}

static bool sealed(const converted_header *h) {
    uint8_t digest[32];
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->version != CONVERTED_VERSION ||
        h->header_bytes != CONVERTED_HEADER_BYTES) {
        return false;
    }
    header_digest(digest, h);
    return memcmp(digest, h->digest, sizeof digest) == 0 && memchr(h->source, 0, sizeof h->source);
}

bool converted_header_fits(const converted_header *h, const converted_header *w) {
    return sealed(h) && h->dev == w->dev && h->inode == w->inode && h->bytes == w->bytes &&
           h->mtime_ns == w->mtime_ns && h->ctime_ns == w->ctime_ns && h->total_bytes == w->total_bytes &&
           memcmp(h->count, w->count, sizeof h->count) == 0 && memcmp(h->offset, w->offset, sizeof h->offset) == 0;
}

bool converted_file_sound(const file_map *m) {
    const converted_header *h = (const void *)m->data;
    return m->bytes >= CONVERTED_HEADER_BYTES && sealed(h) && h->total_bytes == m->bytes;
}

/* ---- conversion ---- */

typedef struct convert_run {
    const file_map *source;
    const char *path;
    hash_ctx *sha256, *blake2b;
    file_writer *w;
    uint8_t *chunk; /* native points of the chunk: scratch when w, the final place otherwise */
    /* of the chunk */
    params_section section;
    uint64_t first, n;           /* points */
    uint64_t file_at, native_at; /* of point `first`; native_at in the converted file */
    uint64_t hash_at, hash_bytes;
    pthread_mutex_t lock; /* guards the rest */
    uint64_t bad;         /* smallest bad index, UINT64_MAX: none */
    const char *bad_fault;
    cuzk_status status;
    cuzk_error error;
} convert_run;

static void hash_part(convert_run *r, hash_ctx *h) {
    if (h && r->hash_bytes) hash_update(h, r->source->data + r->hash_at, (size_t)r->hash_bytes);
}

static void note_bad(convert_run *r, uint64_t index, const char *fault) {
    pthread_mutex_lock(&r->lock);
    if (index < r->bad) {
        r->bad = index;
        r->bad_fault = fault;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Index of the first identity among n points, n when there is none. */
static uint64_t first_infinity(params_section section, const void *points, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (section == PARAMS_B_G2 ? g2_affine_is_infinity((const g2_affine *)points + i)
                                   : g1_affine_is_infinity((const g1_affine *)points + i)) {
            return i;
        }
    }
    return n;
}

static void convert_tile(void *user, size_t tile, unsigned slot) {
    (void)slot;
    convert_run *r = user;
    if (tile < HASH_TILES) {
        hash_part(r, tile == 0 ? r->sha256 : r->blake2b);
        return;
    }
    uint64_t width = params_point_bytes(r->section), per_tile = TILE_BYTES / width;
    uint64_t first = (tile - HASH_TILES) * per_tile, n = r->n - first < per_tile ? r->n - first : per_tile;
    const uint8_t *in = r->source->data + r->file_at + first * width;
    uint8_t *out = r->chunk + first * width;
    size_t bad;
    point_status st = r->section == PARAMS_B_G2
                          ? g2_load_many((g2_affine *)(void *)out, in, (size_t)n, SUBGROUP_SKIP, &bad)
                          : g1_load_many((g1_affine *)(void *)out, in, (size_t)n, SUBGROUP_SKIP, &bad);
    if (st != POINT_OK) note_bad(r, r->first + first + bad, point_status_text(st));
    uint64_t infinity = first_infinity(r->section, out, bad);
    if (infinity < bad) note_bad(r, r->first + first + infinity, PARAMS_IDENTITY);
    if (st != POINT_OK || infinity < bad) return;
    if (!r->w) return;
    cuzk_error e;
    cuzk_status ws = file_writer_pwrite(r->w, out, (size_t)(n * width), r->native_at + first * width, &e);
    if (ws != CUZK_OK) {
        pthread_mutex_lock(&r->lock);
        r->status = ws;
        r->error = e;
        pthread_mutex_unlock(&r->lock);
    }
}

/* One chunk of a section; the bytes between the last hashed one and the chunk's end are hashed with it. */
static cuzk_status convert_chunk(convert_run *r, pool *p, const cuzk_control *control, cuzk_error *err) {
    uint64_t width = params_point_bytes(r->section), end = r->file_at + r->n * width;
    r->hash_bytes = end - r->hash_at;
    size_t tiles = HASH_TILES + (size_t)((r->n * width + TILE_BYTES - 1) / TILE_BYTES);
    cuzk_status st = pool_run(p, control, "key: convert", tiles, convert_tile, r, err);
    if (st != CUZK_OK) return st;
    if (r->bad != UINT64_MAX) {
        return params_point_fault(err, r->path, params_section_name(r->section), r->bad,
                                  r->file_at + (r->bad - r->first) * width, r->bad_fault);
    }
    if (r->status != CUZK_OK) {
        *err = r->error;
        return r->status;
    }
    file_map_done(r->source, (size_t)r->hash_at, (size_t)r->hash_bytes);
    r->hash_at = end;
    return CUZK_OK;
}

static cuzk_status convert_sections(convert_run *r, const converted_header *h, uint8_t *memory, const params_view *v,
                                    pool *p, const cuzk_control *control, cuzk_error *err) {
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        uint64_t width = params_point_bytes(s), per_chunk = CHUNK_BYTES / width;
        r->section = s;
        for (uint64_t i = 0; i < v->count[s]; i += per_chunk) {
            r->first = i;
            r->n = v->count[s] - i < per_chunk ? v->count[s] - i : per_chunk;
            r->file_at = v->offset[s] + i * width;
            r->native_at = h->offset[s] + i * width;
            if (memory) r->chunk = memory + (r->native_at - CONVERTED_HEADER_BYTES);
            cuzk_status st = convert_chunk(r, p, control, err);
            if (st != CUZK_OK) return st;
        }
    }
    r->hash_bytes = r->source->bytes - r->hash_at; /* counts of empty sections at the end */
    hash_part(r, r->sha256);
    hash_part(r, r->blake2b);
    return CUZK_OK;
}

cuzk_status key_convert(converted_header *h, file_writer *w, uint8_t *memory, const char *path, const file_map *source,
                        const params_view *v, pool *p, const cuzk_control *control, cuzk_error *err) {
    assert(!w != !memory);
    buffer chunk = {0};
    convert_run r = {.source = source, .path = path, .w = w, .bad = UINT64_MAX};
    cuzk_status st = CUZK_OK;
    if (w) {
        st = buffer_alloc(&chunk, BUFFER_KEY, (size_t)CHUNK_BYTES, err);
        if (st != CUZK_OK) return st;
        r.chunk = chunk.data;
    }
    r.sha256 = hash_create(HASH_SHA256);
    r.blake2b = hash_create(HASH_BLAKE2B512);
    pthread_mutex_init(&r.lock, NULL);
    st = convert_sections(&r, h, memory, v, p, control, err);
    if (st == CUZK_OK) {
        hash_final(r.sha256, h->sha256);
        hash_final(r.blake2b, h->blake2b);
    }
    pthread_mutex_destroy(&r.lock);
    hash_destroy(r.sha256);
    hash_destroy(r.blake2b);
    buffer_free(&chunk);
    return st;
}

/* ---- comparing a copy ---- */

#define COMPARE_POINTS 256u

typedef struct compare_run {
    params_section section;
    const uint8_t *encoded, *native;
    uint64_t n;
    atomic_ullong first; /* smallest index of a point that differs, UINT64_MAX: none */
} compare_run;

static void compare_tile(void *user, size_t tile, unsigned slot) {
    (void)slot;
    compare_run *r = user;
    union {
        g1_affine g1[COMPARE_POINTS];
        g2_affine g2[COMPARE_POINTS];
    } fresh;
    uint64_t width = params_point_bytes(r->section), first = (uint64_t)tile * COMPARE_POINTS;
    size_t n = r->n - first < COMPARE_POINTS ? (size_t)(r->n - first) : COMPARE_POINTS, good;
    const uint8_t *in = r->encoded + first * width, *old = r->native + first * width;
    if (r->section == PARAMS_B_G2)
        (void)g2_load_many(fresh.g2, in, n, SUBGROUP_SKIP, &good);
    else
        (void)g1_load_many(fresh.g1, in, n, SUBGROUP_SKIP, &good);
    for (size_t i = 0; i < n; i++) {
        if (i < good && memcmp((const uint8_t *)&fresh + i * width, old + i * width, (size_t)width) == 0) continue;
        unsigned long long seen = atomic_load(&r->first), at = first + i;
        while (at < seen && !atomic_compare_exchange_weak(&r->first, &seen, at)) {
        }
        return;
    }
}

cuzk_status key_convert_compare(const converted_header *h, const uint8_t *copy, const file_map *source,
                                const params_view *v, params_section *section, uint64_t *index, pool *p,
                                const cuzk_control *control, cuzk_error *err) {
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        compare_run r = {.section = s, .encoded = source->data + v->offset[s], .native = copy + h->offset[s]};
        r.n = v->count[s];
        atomic_init(&r.first, UINT64_MAX);
        size_t tiles = (size_t)((r.n + COMPARE_POINTS - 1) / COMPARE_POINTS);
        cuzk_status st = pool_run(p, control, "key: compare the converted copy", tiles, compare_tile, &r, err);
        if (st != CUZK_OK) return st;
        *section = s;
        *index = atomic_load(&r.first);
        if (*index != UINT64_MAX) return CUZK_OK;
    }
    return CUZK_OK;
}
