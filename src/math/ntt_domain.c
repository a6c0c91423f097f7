/* Domains of number-theoretic transforms: roots in the order that the kernels want, and powers of the coset shift.
 *
 * roots[i], i < n/2, is w^e with e/n = the bits of i mirrored behind the point, halved: 0, 1/4, 1/8, 3/8, 1/16, ... so
 * that roots[2^j + m] = roots[m] * (a root of order 2^(j+2)), and a longer table begins with a shorter one. Powers of g
 * come from two short tables: g^(hi 2^k + lo) = high[hi] * low[lo].
 */
#include "math/ntt_domain.h"

#include <assert.h>
#include <stdlib.h>

#define NTT_FILL_TILE ((size_t)1 << 14)

static ntt_root ntt_root_of(uint64_t generator) {
    uint64_t t[4]; /* (r - 1) / 2^32 */
    for (int i = 0; i < 4; i++) t[i] = fr_modulus[i] >> 32 | (i < 3 ? fr_modulus[i + 1] << 32 : 0);
    ntt_root root;
    fr_from_u64(&root.generator, generator);
    fr_pow(&root.omega_2_32, &root.generator, t, 4);
    return root;
}

ntt_root ntt_root_bellman(void) {
    return ntt_root_of(7);
}
ntt_root ntt_root_snarkjs(void) {
    return ntt_root_of(5);
}

static size_t ntt_roots_count(unsigned log2) {
    return log2 == 0 ? 1 : (size_t)1 << (log2 - 1);
}

static size_t ntt_powers_count(unsigned log2) {
    return ((size_t)1 << ntt_low_log2(log2)) + ((size_t)1 << ntt_high_log2(log2));
}

size_t ntt_domain_bytes(unsigned log2) {
    return (ntt_roots_count(log2) + 3 * ntt_powers_count(log2)) * sizeof(fr);
}

typedef struct {
    const struct math_kernels *kernels;
    fr *to;
    const fr *from;
    fr factor;
    size_t n;
} ntt_fill_job;

static void ntt_fill_tile(void *ctx, size_t tile, unsigned slot) {
    const ntt_fill_job *job = ctx;
    size_t at = tile * NTT_FILL_TILE, len = job->n - at < NTT_FILL_TILE ? job->n - at : NTT_FILL_TILE;
    (void)slot;
    job->kernels->ntt->mul_constant(job->to + at, job->from + at, &job->factor, len);
}

static cuzk_status ntt_fill_roots(ntt_domain *d, const ntt_root *root, pool *p, cuzk_error *err) {
    fr order[33]; /* order[j]: a root of order 2^j */
    order[32] = root->omega_2_32;
    for (int j = 31; j >= 0; j--) fr_sqr(&order[j], &order[j + 1]);
    d->omega = order[d->log2];
    fr_set_one(&d->roots[0]);
    for (unsigned j = 0; j + 2 <= d->log2; j++) {
        size_t n = (size_t)1 << j;
        ntt_fill_job job = {math_kernels(), d->roots + n, d->roots, order[j + 2], n};
        cuzk_status s = pool_run(p, NULL, NULL, (n + NTT_FILL_TILE - 1) / NTT_FILL_TILE, ntt_fill_tile, &job, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

/* Natural order, then the same products where the positions are bit-reversed: there a run of 2^high_log2 neighbours
 * walks the mirrored high table, and the run's number chooses from the mirrored low table. */
static void ntt_fill_powers(const ntt_domain *d, ntt_powers *natural, ntt_powers *reversed, fr *space, const fr *g) {
    unsigned low_log2 = ntt_low_log2(d->log2), high_log2 = ntt_high_log2(d->log2);
    fr *low = space, *high = space + ((size_t)1 << low_log2), step = *g;
    fr_set_one(&low[0]);
    for (size_t i = 1; i < (size_t)1 << low_log2; i++) fr_mul(&low[i], &low[i - 1], g);
    for (unsigned i = 0; i < low_log2; i++) fr_sqr(&step, &step);
    fr_set_one(&high[0]);
    for (size_t i = 1; i < (size_t)1 << high_log2; i++) fr_mul(&high[i], &high[i - 1], &step);
    *natural = (ntt_powers){.run = low, .run_log2 = low_log2, .factor = high};
    if (reversed == NULL) return;
    fr *run = space + ntt_powers_count(d->log2), *factor = run + ((size_t)1 << high_log2);
    for (size_t i = 0; i < (size_t)1 << high_log2; i++) run[i] = high[ntt_reverse(i, high_log2)];
    for (size_t i = 0; i < (size_t)1 << low_log2; i++) factor[i] = low[ntt_reverse(i, low_log2)];
    *reversed = (ntt_powers){.run = run, .run_log2 = high_log2, .factor = factor};
}

static void ntt_permute(fr *a, unsigned bits) {
    for (size_t i = 0; i < (size_t)1 << bits; i++) {
        size_t j = ntt_reverse(i, bits);
        if (i < j) {
            fr t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
    }
}

cuzk_status ntt_domain_create(ntt_domain **out, unsigned log2, const ntt_root *root, pool *p, cuzk_error *err) {
    assert(log2 <= 32);
    *out = NULL;
    ntt_domain *d = calloc(1, sizeof *d);
    if (d == NULL) return cuzk_fail(err, CUZK_MEMORY, "no memory for a transform's domain");
    d->log2 = log2;
    cuzk_status s = buffer_alloc(&d->memory, BUFFER_NTT, ntt_domain_bytes(log2), err);
    if (s != CUZK_OK) goto fail;
    d->roots = d->memory.data;
    s = ntt_fill_roots(d, root, p, err);
    if (s != CUZK_OK) goto fail;
    fr *space = d->roots + ntt_roots_count(log2), n, g_inv;
    ntt_powers inverse;
    ntt_fill_powers(d, &d->shift, &d->shift_reversed, space, &root->generator);
    /* Powers of 1/g are wanted in reversed order only: permuted where they are. */
    fr_inv(&g_inv, &root->generator);
    ntt_fill_powers(d, &inverse, NULL, space + 2 * ntt_powers_count(log2), &g_inv);
    fr *low = space + 2 * ntt_powers_count(log2), *high = low + ((size_t)1 << ntt_low_log2(log2));
    ntt_permute(low, ntt_low_log2(log2));
    ntt_permute(high, ntt_high_log2(log2));
    d->unshift_reversed = (ntt_powers){.run = high, .run_log2 = ntt_high_log2(log2), .factor = low};
    fr_from_u64(&n, UINT64_C(1) << log2);
    fr_inv(&d->n_inv, &n);
    fr z = root->generator, one; /* g^n - 1 */
    for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
    fr_set_one(&one);
    fr_sub(&z, &z, &one);
    assert(!fr_is_zero(&z)); /* the shift lies outside of the domain */
    fr_inv(&d->vanishing_inv, &z);
    *out = d;
    return CUZK_OK;
fail:
    ntt_domain_destroy(d);
    return s;
}

void ntt_domain_destroy(ntt_domain *d) {
    if (d == NULL) return;
    buffer_free(&d->memory);
    free(d);
}

unsigned ntt_domain_log2(const ntt_domain *d) {
    return d->log2;
}
fr ntt_domain_omega(const ntt_domain *d) {
    return d->omega;
}
