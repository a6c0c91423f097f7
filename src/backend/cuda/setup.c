/* Development keys made on a device, and from there to a file; see backend/cuda/backend.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/resident.h"
#include "base/hash.h"
#include "base/random.h"

static void put(uint8_t to[32], const fr *x) {
    memcpy(to, x, 32);
}

/* The scalars that the device needs, from the trapdoor. */
static void scalars(gpu_setup_source *g, unsigned log2, const trapdoor *t) {
    fr one, z, x;
    static const fr r_squared = {FR_R2}; /* the number R^2: as a residue it stands for R */
    fr_set_one(&one);
    z = t->tau;
    for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
    fr_sub(&z, &z, &one); /* tau^m - 1 */
    put(g->alpha, &t->alpha);
    put(g->beta, &t->beta);
    put(g->tau, &t->tau);
    fr_inv(&x, &t->gamma);
    put(g->gamma_inverse, &x);
    fr_inv(&x, &t->delta);
    put(g->delta_inverse, &x);
    fr_mul(&x, &x, &z);
    put(g->h_scale, &x);
    fr_from_u64(&x, (uint64_t)1 << log2);
    fr_inv(&x, &x);
    fr_mul(&x, &x, &z);
    put(g->lagrange_scale, &x);
    put(g->r_squared, &r_squared);
    secure_wipe(&x, sizeof x);
    secure_wipe(&z, sizeof z);
}

static cuzk_status make_key(gpu_key **out, const key_making *m, const gpu_shape_source *s, bool *full,
                            cuzk_error *err) {
    const gpu_api *api = cuda_module();
    const trapdoor *t = &m->key->recipe->trapdoor;
    unsigned low = api->ntt_low_bits();
    size_t elements = ((size_t)1 << low) + ((size_t)1 << (s->log2 > low ? s->log2 - low : 0));
    buffer tau = {0};
    fr one;
    g1_affine base1, *ic = malloc(s->n_inputs * sizeof *ic);
    g2_affine base2;
    gpu_setup_source g = {.tau_elements = elements,
                          .g1 = &base1,
                          .g2 = &base2,
                          .a_density = s->a_density,
                          .b_density = s->b_density,
                          .b_inputs = s->b_inputs,
                          .n_b_inputs = s->n_b_inputs,
                          .ic_out = ic};
    cuzk_status st = ic ? buffer_alloc(&tau, BUFFER_SETUP, elements * sizeof(fr), err)
                        : cuzk_fail(err, CUZK_MEMORY, "no memory to make a key");
    if (st == CUZK_OK) {
        g1_generator_affine(&base1);
        g2_generator_affine(&base2);
        fr_set_one(&one);
        power_tables(tau.data, s->log2, low, &t->tau, &one);
        g.tau_block = tau.data;
        scalars(&g, s->log2, t);
        st = api->setup(out, m->on_device, &g, err);
        *full = st == CUZK_MEMORY;
    }
    if (st == CUZK_OK) {
        st = key_recipe_made(m->key, ic, err);
        if (st != CUZK_OK) api->key_destroy(*out);
    }
    secure_wipe(&g, sizeof g);
    buffer_free(&tau);
    free(ic);
    return st;
}

cuzk_status setup_make_key(void **out, unsigned device, const void *source, bool *full, cuzk_error *err) {
    const key_making *m = source;
    shape_source src;
    (void)device; /* the shape's */
    cuzk_status st = shape_source_make(&src, m->shape, &m->key->root, err);
    if (st != CUZK_OK) return st;
    st = make_key((gpu_key **)out, m, &src.gpu, full, err);
    shape_source_free(&src);
    return st;
}

/* The key on the device, made when it is not there, and taken. */
static cuzk_status take_made(resident **out, unsigned device, const proving_key *k, const shape *s, cuzk_error *err) {
    resident *of_shape = NULL;
    shape_on_device wish = {s, &k->root};
    cuzk_status st = resident_take(&of_shape, device, shape_id(s), false, resident_make_shape, &wish, NULL, err);
    if (st == CUZK_OK) {
        key_making m = {k, s, of_shape->object};
        st = resident_take(out, device, k->id, true, setup_make_key, &m, NULL, err);
    }
    resident_give(of_shape);
    return st;
}

cuzk_status backend_cuda_setup(unsigned device, proving_key *out, const shape *s, const trapdoor *t, cuzk_error *err) {
    resident *r;
    memset(out, 0, sizeof *out);
    if (!cuda_module()) return cuzk_fail(err, CUZK_DEVICE, "there is no CUDA module");
    cuzk_status st = proving_key_recipe(out, s, t, err);
    if (st != CUZK_OK) return st;
    st = take_made(&r, device, out, s, err);
    if (st == CUZK_OK)
        resident_give(r);
    else
        proving_key_close(out);
    return st;
}

void backend_cuda_release_key(proving_key *k) {
    for (unsigned d = 0; cuda_module() && d < cuda_module()->count(); d++) resident_forget_key(d, k);
    proving_key_close(k);
}

/* The key on a device that has it, taken; NULL when none has. */
static resident *take_somewhere(const proving_key *k) {
    const gpu_api *api = cuda_module();
    resident *r = NULL;
    for (unsigned d = 0; api && !r && d < api->count(); d++) r = resident_take_present(d, k->id, true);
    return r;
}

cuzk_status backend_cuda_key_read(const proving_key *k, params_section section, uint64_t first, uint64_t n, void *out,
                                  cuzk_error *err) {
    const gpu_api *api = cuda_module();
    resident *r = take_somewhere(k);
    if (!r || section < PARAMS_H || section > PARAMS_B_G2) {
        resident_give(r);
        return cuzk_fail(err, CUZK_USAGE, "there is no such key on a device");
    }
    cuzk_status st = api->key_read(r->object, (gpu_section)(section - PARAMS_H), first, n, out, err);
    resident_give(r);
    return st;
}

/* ---- to files ---- */

#define WRITE_CHUNK ((uint64_t)32 << 20)
#define WRITE_TILE ((uint64_t)1 << 20)

typedef struct writing {
    const proving_key *key;
    setup_files files;
    pool *p;
    const cuzk_control *control;
    hash_ctx *sha256;
    uint64_t hashed; /* bytes of the file */
    /* of the chunk */
    const uint8_t *from;
    params_section section;
    uint64_t at, bytes; /* in the file */
    atomic_bool failed;
    cuzk_error why;
} writing;

/* A variable that occurs in no constraint would have the identity for its point. */
static bool has_identity(const writing *w, uint64_t from, uint64_t to) {
    uint64_t width = params_point_bytes(w->section);
    for (uint64_t i = (from + width - 1) / width * width; i < to; i += width)
        if (w->from[i] & 0x40) return true;
    return false;
}

/* The first tile is the chunk's part in the digest. */
static void write_tile(void *user, size_t tile, unsigned slot) {
    writing *w = user;
    (void)slot;
    if (tile == 0) {
        hash_update(w->sha256, w->from, w->bytes);
        return;
    }
    uint64_t at = (tile - 1) * WRITE_TILE, n = w->bytes - at < WRITE_TILE ? w->bytes - at : WRITE_TILE;
    cuzk_error e;
    cuzk_status st = has_identity(w, at, at + n) ? cuzk_fail(&e, CUZK_MALFORMED,
                                                             "a point of section %s is the identity: a variable is "
                                                             "unconstrained, or another trapdoor is to be chosen",
                                                             params_section_name(w->section))
                                                 : file_writer_pwrite(w->files.params, w->from + at, n, w->at + at, &e);
    if (st != CUZK_OK && !atomic_exchange(&w->failed, true)) w->why = e;
}

/* The numbers of points before sections that begin until here. */
static void hash_numbers(writing *w, uint64_t until) {
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        uint8_t number[4];
        if (w->files.offset[s] <= w->hashed || w->files.offset[s] > until) continue;
        params_write_count(number, w->key->count[s]);
        hash_update(w->sha256, number, sizeof number);
        w->hashed = w->files.offset[s];
    }
}

static cuzk_status write_points(void *user, gpu_section section, uint64_t first, uint64_t n, const void *from,
                                cuzk_error *err) {
    writing *w = user;
    w->section = (params_section)(PARAMS_H + (int)section);
    uint64_t width = params_point_bytes(w->section);
    w->from = from;
    w->at = w->files.offset[w->section] + first * width;
    w->bytes = n * width;
    hash_numbers(w, w->at);
    cuzk_status st = pool_run(w->p, w->control, "key: write", 1 + (size_t)((w->bytes + WRITE_TILE - 1) / WRITE_TILE),
                              write_tile, w, err);
    w->hashed = w->at + w->bytes;
    if (st != CUZK_OK || !atomic_load(&w->failed)) return st;
    *err = w->why;
    return err->status;
}

/* The verifying key at the front. */
static cuzk_status hash_front(writing *w, cuzk_error *err) {
    buffer front = {0};
    size_t n = verifying_key_bytes(&w->key->vk);
    cuzk_status st = buffer_alloc(&front, BUFFER_SETUP, n, err);
    if (st != CUZK_OK) return st;
    verifying_key_write(&w->key->vk, front.data);
    hash_update(w->sha256, front.data, n);
    w->hashed = n;
    buffer_free(&front);
    return CUZK_OK;
}

static cuzk_status write_file(writing *w, unsigned device, const gpu_key *key, cuzk_error *err) {
    uint64_t count[PARAMS_SECTIONS];
    gpu_sink sink = {.write = write_points, .user = w, .chunk_bytes = WRITE_CHUNK};
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) count[s] = w->key->count[s];
    cuzk_status st = setup_files_begin(&w->files, &w->key->vk, count, err);
    if (st == CUZK_OK) st = hash_front(w, err);
    if (st == CUZK_OK) st = pinned_take(&sink.buffer[0], device, 2 * sink.chunk_bytes, err);
    if (st != CUZK_OK) return st;
    sink.buffer[1] = (uint8_t *)sink.buffer[0] + sink.chunk_bytes;
    st = cuda_module()->key_write(key, &sink, err);
    pinned_give(device, 0);
    if (st != CUZK_OK) return st;
    hash_numbers(w, w->files.total);
    return setup_files_publish(&w->files, err);
}

cuzk_status backend_cuda_key_write(const proving_key *k, const char *params_path, const char *vk_path,
                                   setup_result *out, pool *p, const cuzk_control *control, cuzk_error *err) {
    writing w = {.key = k, .p = p, .control = control};
    cuzk_status st = setup_files_look(&w.files, params_path, vk_path, err);
    if (st != CUZK_OK) return st;
    resident *r = take_somewhere(k);
    if (!r) return cuzk_fail(err, CUZK_USAGE, "there is no such key on a device");
    w.sha256 = hash_create(HASH_SHA256);
    st = write_file(&w, r->device, r->object, err);
    setup_files_abort(&w.files);
    hash_final(w.sha256, out->params_sha256);
    hash_destroy(w.sha256);
    out->params_bytes = w.files.total;
    resident_give(r);
    return st;
}
