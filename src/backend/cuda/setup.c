/* Development keys made on a device; see backend/cuda/backend.h. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/resident.h"
#include "base/random.h"
#include "base/serial.h"

typedef struct making {
    gpu_setup_source gpu;
    const gpu_shape *shape;
} making;

static cuzk_status make(void **out, unsigned device, const void *source, cuzk_error *err) {
    (void)device;
    const making *m = source;
    return cuda_module()->setup((gpu_key **)out, m->shape, &m->gpu, err);
}

static void put(uint8_t to[32], const fr *x) {
    memcpy(to, x, 32);
}

static void times_g1(g1_affine *out, const fr *k) {
    g1_affine g;
    g1 p;
    fr_canon n;
    g1_generator_affine(&g);
    g1_from_affine(&p, &g);
    fr_to_canon(&n, k);
    g1_mul(&p, &p, &n);
    g1_to_affine(out, &p);
    secure_wipe(&n, sizeof n);
}

static void times_g2(g2_affine *out, const fr *k) {
    g2_affine g;
    g2 p;
    fr_canon n;
    g2_generator_affine(&g);
    g2_from_affine(&p, &g);
    fr_to_canon(&n, k);
    g2_mul(&p, &p, &n);
    g2_to_affine(out, &p);
    secure_wipe(&n, sizeof n);
}

/* The scalars that the device needs, from the trapdoor. */
static void scalars(gpu_setup_source *g, unsigned log2, const fr t[5]) {
    fr one, z, x;
    static const fr r_squared = {FR_R2}; /* the number R^2: as a residue it stands for R */
    fr_set_one(&one);
    z = t[4];
    for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
    fr_sub(&z, &z, &one); /* tau^m - 1 */
    put(g->alpha, &t[0]);
    put(g->beta, &t[1]);
    put(g->tau, &t[4]);
    fr_inv(&x, &t[2]);
    put(g->gamma_inverse, &x);
    fr_inv(&x, &t[3]);
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

static void verifying_part(verifying_key *vk, const fr t[5]) {
    times_g1(&vk->alpha_g1, &t[0]);
    times_g1(&vk->beta_g1, &t[1]);
    times_g2(&vk->beta_g2, &t[1]);
    times_g2(&vk->gamma_g2, &t[2]);
    times_g1(&vk->delta_g1, &t[3]);
    times_g2(&vk->delta_g2, &t[3]);
}

cuzk_status backend_cuda_setup(unsigned device, proving_key *out, const shape *s, const fr trapdoor[5],
                               cuzk_error *err) {
    making m = {0};
    shape_source src;
    resident *shape_there = NULL, *key_there = NULL;
    memset(out, 0, sizeof *out);
    if (!cuda_module()) return cuzk_fail(err, CUZK_DEVICE, "there is no CUDA module");
    out->root = ntt_root_bellman();
    out->origin = KEY_DEVELOPMENT;
    out->id = serial_next();
    cuzk_status st = shape_source_make(&src, s, &out->root, err);
    if (st != CUZK_OK) return st;
    unsigned low = cuda_module()->ntt_low_bits();
    size_t elements = ((size_t)1 << low) + ((size_t)1 << (src.gpu.log2 > low ? src.gpu.log2 - low : 0));
    fr *tau = malloc(elements * sizeof *tau), one;
    out->vk.n_ic = src.gpu.n_inputs;
    out->vk.ic = malloc(src.gpu.n_inputs * sizeof *out->vk.ic);
    if (!tau || !out->vk.ic) {
        st = cuzk_fail(err, CUZK_MEMORY, "no memory to make a key");
        goto done;
    }
    g1_affine base1;
    g2_affine base2;
    g1_generator_affine(&base1);
    g2_generator_affine(&base2);
    fr_set_one(&one);
    power_tables(tau, src.gpu.log2, low, &trapdoor[4], &one);
    scalars(&m.gpu, src.gpu.log2, trapdoor);
    m.gpu.tau_block = tau;
    m.gpu.tau_elements = elements;
    m.gpu.g1 = &base1;
    m.gpu.g2 = &base2;
    m.gpu.a_density = src.gpu.a_density;
    m.gpu.b_density = src.gpu.b_density;
    m.gpu.b_inputs = src.gpu.b_inputs;
    m.gpu.n_b_inputs = src.gpu.n_b_inputs;
    m.gpu.ic_out = out->vk.ic;
    st = resident_take(&shape_there, device, shape_id(s), false, resident_make_shape, &src.gpu, err);
    if (st != CUZK_OK) goto done;
    m.shape = shape_there->object;
    st = resident_take(&key_there, device, out->id, true, make, &m, err);
    resident_give(shape_there);
    if (st != CUZK_OK) goto done; /* key_there stays taken: the key exists nowhere else */
    verifying_part(&out->vk, trapdoor);
    cs_counts n = shape_counts(s);
    out->count[PARAMS_IC] = (uint32_t)n.inputs;
    out->count[PARAMS_H] = (uint32_t)(((uint64_t)1 << src.gpu.log2) - 1);
    out->count[PARAMS_L] = (uint32_t)n.aux;
    out->count[PARAMS_A] = (uint32_t)(n.inputs + n.a_aux_density);
    out->count[PARAMS_B_G1] = out->count[PARAMS_B_G2] = (uint32_t)(n.b_input_density + n.b_aux_density);
done:
    secure_wipe(&m, sizeof m);
    free(tau);
    shape_source_free(&src);
    if (st != CUZK_OK) verifying_key_free(&out->vk);
    return st;
}

static resident *key_of(const proving_key *k) {
    for (unsigned d = 0; cuda_module() && d < cuda_module()->count(); d++) {
        resident *r = resident_find(d, k->id, true);
        if (r) return r;
    }
    return NULL;
}

void backend_cuda_release_key(proving_key *k) {
    resident_give(key_of(k));
    verifying_key_free(&k->vk);
    memset(k, 0, sizeof *k);
}

cuzk_status backend_cuda_key_read(const proving_key *k, params_section section, uint64_t first, uint64_t n, void *out,
                                  cuzk_error *err) {
    const resident *r = key_of(k);
    if (!r || section < PARAMS_H || section > PARAMS_B_G2)
        return cuzk_fail(err, CUZK_USAGE, "there is no such key on a device");
    return cuda_module()->key_read(r->object, (int)(section - PARAMS_H), first, n, out, err);
}
