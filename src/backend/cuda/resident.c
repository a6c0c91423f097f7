/* Shapes and keys in device memory between proofs; see backend/cuda/resident.h. */
#include "backend/cuda/resident.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define api cuda_module()

#define RESIDENTS 64
static resident table[RESIDENTS];
static uint64_t uses;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER; /* or failed */

static void destroy(const resident *gone) {
    if (gone->is_key)
        api->key_destroy(gone->object);
    else
        api->shape_destroy(gone->object);
}

static resident *find_locked(unsigned device, uint64_t id, bool is_key) {
    for (resident *r = table; r < table + RESIDENTS; r++)
        if (r->id == id && r->device == device && r->is_key == is_key) return r;
    return NULL;
}

/* Takes the least recently used entry that nobody uses (on this device; any device: UINT32_MAX) out of the table. False
 * when there is none. */
static bool take_out_locked(unsigned device, resident *gone) {
    resident *oldest = NULL;
    for (resident *r = table; r < table + RESIDENTS; r++) {
        if (!r->id || r->users || (device != UINT32_MAX && r->device != device)) continue;
        if (!oldest || r->used_at < oldest->used_at) oldest = r;
    }
    if (!oldest) return false;
    *gone = *oldest;
    memset(oldest, 0, sizeof *oldest);
    return true;
}

bool resident_put_out_one(unsigned device) {
    resident gone;
    pthread_mutex_lock(&table_lock);
    bool any = take_out_locked(device, &gone);
    pthread_mutex_unlock(&table_lock);
    if (any) destroy(&gone);
    return any;
}

/* Until an entry was made or failed, or a tenth of a second, so that a cancelled proof does not wait for a key. */
static void wait_locked(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&made, &table_lock, &until);
}

/* *out: an entry that is being made and counted as used, or one that is there; MEMORY when the table is full of what is
 * used. Waits while another makes it. *gone: what was put out for its place, for the caller to destroy without the lock
 * (id 0: nothing). */
static cuzk_status claim_locked(resident **out, unsigned device, uint64_t id, bool is_key, resident *gone,
                                const cuzk_control *control, cuzk_error *err) {
    resident *r;
    gone->id = 0;
    while ((r = find_locked(device, id, is_key)) && r->making) {
        cuzk_status st = upload_cancelled(control, err);
        if (st != CUZK_OK) return st;
        wait_locked();
    }
    if (!r) {
        r = find_locked(0, 0, false);
        if (!r && take_out_locked(UINT32_MAX, gone)) r = find_locked(0, 0, false);
        if (!r) return cuzk_fail(err, CUZK_MEMORY, "%d shapes and keys are in use on devices at once", RESIDENTS);
        *r = (resident){.device = device, .id = id, .is_key = is_key, .making = true};
    }
    r->users++;
    r->used_at = ++uses;
    *out = r;
    return CUZK_OK;
}

cuzk_status resident_take(resident **out, unsigned device, uint64_t id, bool is_key, resident_maker make,
                          const void *source, const cuzk_control *control, cuzk_error *err) {
    resident gone = {0}, *r = NULL;
    assert(id != 0);
    pthread_mutex_lock(&table_lock);
    cuzk_status st = claim_locked(&r, device, id, is_key, &gone, control, err);
    bool making = st == CUZK_OK && r->making;
    pthread_mutex_unlock(&table_lock);
    if (gone.id) destroy(&gone);
    if (st != CUZK_OK) return st;
    if (making) {
        void *object = NULL;
        bool full;
        do {
            full = false;
            st = make(&object, device, source, &full, err);
        } while (full && resident_put_out_one(device));
        pthread_mutex_lock(&table_lock);
        r->object = object;
        r->making = false;
        if (st != CUZK_OK) memset(r, 0, sizeof *r); /* who waited for it finds nothing and tries for itself */
        pthread_cond_broadcast(&made);
        pthread_mutex_unlock(&table_lock);
        if (st != CUZK_OK) return st;
    }
    *out = r;
    return CUZK_OK;
}

resident *resident_take_present(unsigned device, uint64_t id, bool is_key) {
    pthread_mutex_lock(&table_lock);
    resident *found = find_locked(device, id, is_key);
    if (found && found->making) found = NULL;
    if (found) {
        found->users++;
        found->used_at = ++uses;
    }
    pthread_mutex_unlock(&table_lock);
    return found;
}

void resident_give(resident *r) {
    if (!r) return;
    pthread_mutex_lock(&table_lock);
    r->users--;
    r->used_at = ++uses;
    pthread_mutex_unlock(&table_lock);
}

unsigned resident_users(const resident *r) {
    pthread_mutex_lock(&table_lock);
    unsigned n = r->users;
    pthread_mutex_unlock(&table_lock);
    return n;
}

void resident_forget_key(unsigned device, const proving_key *key) {
    pthread_mutex_lock(&table_lock);
    resident *r = find_locked(device, key->id, true), gone = {0};
    if (r && !r->users) {
        gone = *r;
        memset(r, 0, sizeof *r);
    }
    pthread_mutex_unlock(&table_lock);
    if (gone.id) destroy(&gone);
}

/* ---- shapes and keys as the device side wants them ---- */

void shape_source_free(shape_source *s) {
    buffer_free(&s->made);
}

static void segment_source(gpu_segment_source *to, const shape_segment_view *from, uint32_t copies) {
    *to = (gpu_segment_source){.first_row = from->first_row,
                               .rows = from->rows,
                               .copies = copies,
                               .first_aux = from->first_aux,
                               .aux = from->aux,
                               .first_input = from->first_input,
                               .inputs = from->inputs};
    for (int m = 0; m < 3; m++)
        to->matrix[m] = (gpu_matrix_source){from->matrix[m].row_end, from->matrix[m].vars, from->matrix[m].coeffs,
                                            from->matrix[m].nnz};
}

fr *power_tables(fr *at, unsigned log2, unsigned low_bits, const fr *base, const fr *scale) {
    fr x = *scale, step = *base;
    for (size_t i = 0; i < (size_t)1 << low_bits; i++) {
        *at++ = x;
        fr_mul(&x, &x, base);
    }
    for (unsigned i = 0; i < low_bits; i++) fr_sqr(&step, &step);
    fr_set_one(&x);
    for (size_t i = 0; i < (size_t)1 << (log2 > low_bits ? log2 - low_bits : 0); i++) {
        *at++ = x;
        fr_mul(&x, &x, &step);
    }
    return at;
}

static fr root_of_order(const ntt_root *root, unsigned log2) {
    fr w = root->omega_2_32;
    for (unsigned i = log2; i < 32; i++) fr_sqr(&w, &w);
    return w;
}

void cuda_ntt_block(fr *block, unsigned log2, const ntt_root *root, fr *n_inverse, fr *z_inverse) {
    fr one, w = root_of_order(root, log2), w_inv, g_inv, z, small = root_of_order(root, 9), small_inv;
    unsigned low = api->ntt_low_bits();
    fr_set_one(&one);
    fr_inv(&w_inv, &w);
    fr_inv(&g_inv, &root->generator);
    fr_inv(&small_inv, &small);
    fr_from_u64(n_inverse, (uint64_t)1 << log2);
    fr_inv(n_inverse, n_inverse);
    z = root->generator;
    for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
    fr_sub(&z, &z, &one);
    fr_inv(z_inverse, &z);
    fr *at = power_tables(block, log2, low, &w, &one);
    at = power_tables(at, log2, low, &w_inv, &one);
    at = power_tables(at, log2, low, &root->generator, n_inverse);
    at = power_tables(at, log2, low, &g_inv, n_inverse);
    for (int k = 0; k < 2; k++) {
        fr x = one;
        for (int i = 0; i < 256; i++) {
            *at++ = x;
            fr_mul(&x, &x, k ? &small_inv : &small);
        }
    }
}

cuzk_status shape_source_make(shape_source *s, const shape *sh, const ntt_root *root, cuzk_error *err) {
    cs_counts n = shape_counts(sh);
    unsigned log2 = shape_domain_log2(sh);
    uint64_t words = (n.aux + 63) / 64;
    size_t table_bytes = api->ntt_elements(log2) * sizeof(fr);
    memset(s, 0, sizeof *s);
    cuzk_status st = buffer_alloc(&s->made, BUFFER_SHAPE,
                                  table_bytes + words * 3 * sizeof(uint64_t) + n.inputs * sizeof(uint32_t), err);
    if (st != CUZK_OK) return st;
    fr *tables = s->made.data;
    uint64_t *bitmaps = (uint64_t *)((char *)s->made.data + table_bytes);
    uint32_t *b_inputs = (uint32_t *)(bitmaps + 3 * words);
    shape_view v;
    shape_get_view(sh, &v);
    segment_source(&s->gpu.segment[0], &v.segment[0], 1);
    segment_source(&s->gpu.segment[1], &v.segment[1], v.repeat);
    segment_source(&s->gpu.segment[2], &v.segment[2], 1);
    s->gpu.segment[1].n_params = v.n_params;
    s->gpu.segment[1].params = v.params;
    s->gpu.coeff_table = v.coeff_table;
    s->gpu.coeff_count = v.coeff_count;
    s->gpu.coeff_width = v.coeff_width;
    s->gpu.constraints = n.constraints;
    s->gpu.n_inputs = (uint32_t)n.inputs;
    s->gpu.n_aux = (uint32_t)n.aux;
    s->gpu.n_fields = (uint32_t)shape_fields(sh);
    s->gpu.log2 = log2;
    static const shape_bitmap_kind kinds[3] = {SHAPE_IS_FIELD, SHAPE_A_DENSITY, SHAPE_B_DENSITY};
    for (int k = 0; k < 3; k++) shape_bitmap(sh, kinds[k], 0, n.aux, bitmaps + (uint64_t)k * words);
    s->gpu.is_field = bitmaps;
    s->gpu.a_density = bitmaps + words;
    s->gpu.b_density = bitmaps + 2 * words;
    for (uint32_t i = 0; i < n.inputs; i++)
        if (shape_input_in_b(sh, i)) b_inputs[s->gpu.n_b_inputs++] = i;
    s->gpu.b_inputs = b_inputs;
    s->gpu.ntt_block = tables;
    fr n_inverse, z_inverse;
    cuda_ntt_block(tables, log2, root, &n_inverse, &z_inverse);
    memcpy(s->gpu.n_inverse, &n_inverse, sizeof n_inverse);
    memcpy(s->gpu.z_inverse, &z_inverse, sizeof z_inverse);
    return CUZK_OK;
}

cuzk_status resident_make_shape(void **out, unsigned device, const void *source, bool *full, cuzk_error *err) {
    const shape_on_device *s = source;
    shape_source src;
    cuzk_status st = shape_source_make(&src, s->shape, s->root, err);
    if (st != CUZK_OK) return st;
    st = api->shape_create((gpu_shape **)out, device, &src.gpu, err);
    *full = st == CUZK_MEMORY;
    shape_source_free(&src);
    return st;
}
