/* Known answers for a device: what a proof's kernels compute against this program's own CPU code. See
 * backend/cuda/backend.h. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/resident.h"
#include "math/msm.h"

/* Sizes at which the kernels of full-size proofs run, not those for small ones; fewer different points, so that making
 * them takes no time, and equal points meet in buckets. */
#define N_G1 40000u
#define N_G2 33000u
#define DISTINCT 509u
#define LOG2 12u

typedef struct answers {
    buffer memory;
    g1_affine *p1;
    g2_affine *p2;
    fr_canon *scalars;
    fr *a, *b, *c, *quotient, *block;
    g1_xyzz *w1;
    g2_xyzz *w2;
} answers;

static cuzk_status room(answers *t, cuzk_error *err) {
    size_t m = (size_t)1 << LOG2, sizes[] = {N_G1 * sizeof *t->p1,
                                             N_G2 * sizeof *t->p2,
                                             N_G1 * sizeof *t->scalars,
                                             m * sizeof(fr),
                                             m * sizeof(fr),
                                             m * sizeof(fr),
                                             m * sizeof(fr),
                                             cuda_module()->ntt_elements(LOG2) * sizeof(fr),
                                             GPU_MAX_WINDOWS * sizeof *t->w1,
                                             GPU_MAX_WINDOWS * sizeof *t->w2};
    void **parts[] = {(void **)&t->p1, (void **)&t->p2,       (void **)&t->scalars, (void **)&t->a,  (void **)&t->b,
                      (void **)&t->c,  (void **)&t->quotient, (void **)&t->block,   (void **)&t->w1, (void **)&t->w2};
    size_t all = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) all += sizes[i];
    cuzk_status st = buffer_alloc(&t->memory, BUFFER_OTHER, all, err);
    uint8_t *at = t->memory.data;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && st == CUZK_OK; at += sizes[i++]) *parts[i] = at;
    return st;
}

/* Multiples of the generators, one of each group at infinity, and the powers of a number as scalars and values. */
static void questions(answers *t) {
    g1 x1;
    g2 x2;
    g1_affine base1;
    g2_affine base2;
    fr x, step;
    g1_generator_affine(&base1);
    g2_generator_affine(&base2);
    g1_set_infinity(&x1);
    g2_set_infinity(&x2);
    for (size_t i = 0; i < DISTINCT; i++) {
        g1_to_affine(&t->p1[i], &x1);
        g2_to_affine(&t->p2[i], &x2);
        g1_add_affine(&x1, &x1, &base1);
        g2_add_affine(&x2, &x2, &base2);
    }
    for (size_t i = DISTINCT; i < N_G1; i++) t->p1[i] = t->p1[i % DISTINCT];
    for (size_t i = DISTINCT; i < N_G2; i++) t->p2[i] = t->p2[i % DISTINCT];
    fr_from_u64(&x, 3);
    fr_from_u64(&step, 0x9e3779b97f4a7c15u);
    for (size_t i = 0; i < N_G1; i++) {
        fr_to_canon(&t->scalars[i], &x);
        if (i < (size_t)1 << LOG2) t->a[i] = x;
        fr_mul(&x, &x, &step);
    }
    for (size_t i = 0; i < (size_t)1 << LOG2; i++) {
        fr_sqr(&t->b[i], &t->a[i]);
        fr_mul(&t->c[i], &t->a[i], &t->b[i]);
    }
}

static cuzk_status wrong(unsigned device, const char *what, cuzk_error *err) {
    cuzk_fail(err, CUZK_DEVICE, "the device computes wrongly: %s", what);
    cuzk_fail_where(err, "CUDA device %u", device);
    return cuzk_fail_hint(err, "do not use it; its driver, its memory or this program's CUDA module may be at fault");
}

static cuzk_status compare(unsigned device, answers *t, const gpu_self_test *g, pool *p, cuzk_error *err) {
    g1 got1, want1;
    g2 got2, want2;
    ntt_domain *d;
    ntt_root root = ntt_root_bellman();
    gpu_msm_sum s1 = {g->g1_n_windows, g->g1_c, t->w1}, s2 = {g->g2_n_windows, g->g2_c, t->w2};
    cuda_join_g1(&got1, &s1, NULL);
    cuda_join_g2(&got2, &s2, NULL);
    cuzk_status st = msm_g1(&want1, t->p1, NULL, t->scalars, N_G1, p, NULL, NULL, err);
    if (st == CUZK_OK) st = msm_g2(&want2, t->p2, NULL, t->scalars, N_G2, p, NULL, NULL, err);
    if (st != CUZK_OK) return st;
    if (!g1_eq(&got1, &want1)) return wrong(device, "a multi-scalar multiplication in G1", err);
    if (!g2_eq(&got2, &want2)) return wrong(device, "a multi-scalar multiplication in G2", err);
    st = ntt_domain_create(&d, LOG2, &root, p, err);
    if (st != CUZK_OK) return st;
    st = ntt_quotient(d, t->a, t->b, t->c, true, p, NULL, err); /* canonical, in a */
    ntt_domain_destroy(d);
    if (st != CUZK_OK) return st;
    size_t coefficients = ((size_t)1 << LOG2) - 1;
    if (memcmp(t->a, t->quotient, coefficients * sizeof(fr)) != 0)
        return wrong(device, "a quotient of polynomials", err);
    return CUZK_OK;
}

cuzk_status backend_cuda_self_test(unsigned device, pool *p, cuzk_error *err) {
    const gpu_api *api = cuda_module();
    if (!api || device >= api->count()) return cuzk_fail(err, CUZK_DEVICE, "there is no CUDA device %u", device);
    answers t = {0};
    fr n_inverse, z_inverse;
    ntt_root root = ntt_root_bellman();
    cuzk_status st = room(&t, err);
    if (st == CUZK_OK) {
        questions(&t);
        cuda_ntt_block(t.block, LOG2, &root, &n_inverse, &z_inverse);
        gpu_self_test g = {.g1 = t.p1,
                           .g2 = t.p2,
                           .scalars = t.scalars,
                           .n_g1 = N_G1,
                           .n_g2 = N_G2,
                           .g1_windows = t.w1,
                           .g2_windows = t.w2,
                           .log2 = LOG2,
                           .ntt_block = t.block,
                           .n_inverse = &n_inverse,
                           .z_inverse = &z_inverse,
                           .a = t.a,
                           .b = t.b,
                           .c = t.c,
                           .quotient = t.quotient};
        st = api->self_test(device, &g, err);
        if (st == CUZK_OK) st = compare(device, &t, &g, p, err);
    }
    buffer_free(&t.memory);
    return st;
}
