#include "twin.h"

#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/random.h"
#include "math/curve.h"
#include "math/msm.h"
#include "math/ntt.h"

static pool *threads;
static cuzk_error error;

static void must(cuzk_status s) {
    if (s != CUZK_OK) {
        (void)!write(2, error.what, strlen(error.what));
        abort();
    }
}

void twin_init(void) {
    threads = pool_create(0, &error);
    assert(threads != NULL);
}

static chacha stream_of(uint64_t seed) {
    uint8_t key[32] = {0}, nonce[12] = {0};
    memcpy(key, &seed, sizeof seed);
    chacha c;
    chacha_init(&c, 20, 32, key, nonce);
    return c;
}

static void random_fr(fr *r, chacha *c) {
    fr_canon k;
    do {
        chacha_bytes(c, &k, sizeof k);
        k.l[3] &= UINT64_MAX >> 1;
    } while (!fr_limbs_reduced(k.l));
    fr_from_canon(r, &k);
}
static void random_fp(fp *r, chacha *c) {
    fp_canon k;
    do {
        chacha_bytes(c, &k, sizeof k);
        k.l[5] &= UINT64_MAX >> 3;
    } while (!fp_limbs_reduced(k.l));
    fp_from_canon(r, &k);
}

void twin_random(int field, void *out, size_t n, uint64_t seed) {
    chacha c = stream_of(seed);
    if (field == TWIN_FR) {
        fr *r = out;
        for (size_t i = 0; i < n; i++) random_fr(&r[i], &c);
        if (n > 3) {
            fr_set_zero(&r[0]);
            fr_set_one(&r[1]);
            fr_neg(&r[2], &r[1]);
            memcpy(r[3].l, fr_modulus, sizeof r[3].l);
            r[3].l[0] -= 1;
        }
        return;
    }
    fp *r = out;
    n *= field == TWIN_FP2 ? 2 : 1;
    for (size_t i = 0; i < n; i++) random_fp(&r[i], &c);
    if (n > 5) {
        fp_set_zero(&r[0]);
        fp_set_zero(&r[1]);
        fp_set_one(&r[2]);
        fp_neg(&r[3], &r[2]);
        memcpy(r[4].l, fp_modulus, sizeof r[4].l);
        r[4].l[0] -= 1;
    }
}

#define OPS(F)                                                                                                         \
    switch (op) {                                                                                                      \
    case TWIN_ADD: F##_add(&r[i], &x[i], &y[i]); break;                                                                \
    case TWIN_SUB: F##_sub(&r[i], &x[i], &y[i]); break;                                                                \
    case TWIN_MUL: F##_mul(&r[i], &x[i], &y[i]); break;                                                                \
    case TWIN_SQR: F##_sqr(&r[i], &x[i]); break;                                                                       \
    case TWIN_INV: F##_inv(&r[i], &x[i]); break;                                                                       \
    default: break;                                                                                                    \
    }

void twin_op(int field, int op, void *out, const void *a, const void *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (field == TWIN_FR) {
            fr *r = out;
            const fr *x = a, *y = b;
            if (op == TWIN_CANON) {
                fr_canon k;
                fr_to_canon(&k, &x[i]);
                memcpy(&r[i], &k, sizeof k);
            } else {
                OPS(fr)
            }
        } else if (field == TWIN_FP) {
            fp *r = out;
            const fp *x = a, *y = b;
            OPS(fp)
        } else {
            fp2 *r = out;
            const fp2 *x = a, *y = b;
            OPS(fp2)
        }
    }
}

void twin_scalars(void *out, size_t n, uint64_t seed) {
    chacha c = stream_of(seed);
    for (size_t i = 0; i < n; i++) {
        fr f;
        random_fr(&f, &c);
        fr_to_canon((fr_canon *)out + i, &f);
    }
}

#define POINTS(G)                                                                                                      \
    {                                                                                                                  \
        fixed_base_##G *t;                                                                                             \
        G##_affine base;                                                                                               \
        G##_generator_affine(&base);                                                                                   \
        must(fixed_base_##G##_create(&t, &base, n, threads, &error));                                                  \
        fixed_base_##G##_mul(t, out, k, n);                                                                            \
        fixed_base_##G##_destroy(t);                                                                                   \
    }

void twin_points(int group, void *out, size_t n, uint64_t seed) {
    fr_canon *k = malloc(n * sizeof *k + 1);
    assert(k != NULL);
    twin_scalars(k, n, seed);
    if (group == 1) POINTS(g1) else POINTS(g2) free(k);
}

void twin_negate(int group, void *point) {
    if (group == 1)
        g1_affine_neg(point, point);
    else
        g2_affine_neg(point, point);
}

static void powers(fr *low, fr *high, unsigned log2, unsigned low_bits, const fr *base, const fr *scale) {
    fr x = *scale, step = *base;
    for (size_t i = 0; i < (size_t)1 << low_bits; i++) {
        low[i] = x;
        fr_mul(&x, &x, base);
    }
    for (unsigned i = 0; i < low_bits; i++) fr_sqr(&step, &step);
    fr_set_one(&x);
    for (size_t i = 0; i < (size_t)1 << (log2 > low_bits ? log2 - low_bits : 0); i++) {
        high[i] = x;
        fr_mul(&x, &x, &step);
    }
}

void twin_ntt_tables(void *block, unsigned log2, unsigned low_bits, void *n_inverse, void *z_inverse) {
    ntt_root root = ntt_root_bellman();
    fr omega = root.omega_2_32, omega_inv, g = root.generator, g_inv, one, small = root.omega_2_32, small_inv, n_inv, z;
    for (unsigned i = log2; i < 32; i++) fr_sqr(&omega, &omega);
    for (unsigned i = 9; i < 32; i++) fr_sqr(&small, &small);
    fr_inv(&omega_inv, &omega);
    fr_inv(&g_inv, &g);
    fr_inv(&small_inv, &small);
    fr_set_one(&one);
    fr_from_u64(&n_inv, (uint64_t)1 << log2);
    fr_inv(&n_inv, &n_inv);
    z = g;
    for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
    fr_sub(&z, &z, &one);
    fr_inv(&z, &z);
    memcpy(n_inverse, &n_inv, sizeof n_inv);
    memcpy(z_inverse, &z, sizeof z);
    fr *at = block;
    size_t low = (size_t)1 << low_bits, step = low + ((size_t)1 << (log2 > low_bits ? log2 - low_bits : 0));
    powers(at, at + low, log2, low_bits, &omega, &one);
    powers(at + step, at + step + low, log2, low_bits, &omega_inv, &one);
    powers(at + 2 * step, at + 2 * step + low, log2, low_bits, &g, &n_inv);
    powers(at + 3 * step, at + 3 * step + low, log2, low_bits, &g_inv, &n_inv);
    at += 4 * step;
    fr x = one, y = one;
    for (int i = 0; i < 256; i++) {
        at[i] = x;
        at[256 + i] = y;
        fr_mul(&x, &x, &small);
        fr_mul(&y, &y, &small_inv);
    }
}

void twin_ntt(void *a, unsigned log2, bool inverse) {
    ntt_root root = ntt_root_bellman();
    ntt_domain *d;
    must(ntt_domain_create(&d, log2, &root, threads, &error));
    must((inverse ? ntt_inverse : ntt_forward)(d, a, threads, NULL, NULL, &error));
    ntt_domain_destroy(d);
}

void twin_quotient(void *a, void *b, void *c, unsigned log2) {
    ntt_root root = ntt_root_bellman();
    ntt_domain *d;
    must(ntt_domain_create(&d, log2, &root, threads, &error));
    must(ntt_quotient(d, a, b, c, true, threads, NULL, &error));
    ntt_domain_destroy(d);
}

#define MSM_EQUAL(G)                                                                                                   \
    {                                                                                                                  \
        const G##_xyzz *w = xyzz;                                                                                      \
        G got, want, part;                                                                                             \
        G##_set_infinity(&got);                                                                                        \
        for (unsigned i = windows; i-- > 0;) {                                                                         \
            for (unsigned j = 0; j < c; j++) G##_dbl(&got, &got);                                                      \
            G##_from_xyzz(&part, &w[i]);                                                                               \
            G##_add(&got, &got, &part);                                                                                \
        }                                                                                                              \
        if (scalars != NULL) {                                                                                         \
            must(msm_##G(&want, points, index, scalars, n, threads, NULL, NULL, &error));                              \
        } else {                                                                                                       \
            G##_set_infinity(&want);                                                                                   \
            for (size_t i = 0; i < n; i++) G##_add_affine(&want, &want, (const G##_affine *)points + index[i]);        \
        }                                                                                                              \
        return G##_eq(&got, &want);                                                                                    \
    }

bool twin_msm_equal(int group, const void *xyzz, unsigned windows, unsigned c, const void *points,
                    const uint32_t *index, const void *scalars, size_t n) {
    if (group == 1) MSM_EQUAL(g1)
    MSM_EQUAL(g2)
}
