/* Self test of the arithmetic; see api/selftest.h. Sources of the answers: the generators' encodings (draft-irtf-cfrg-
 * pairing-friendly-curves), the pairing of the generators as blst 0.3.17 gives it, Poseidon digests as neptune 11 gives
 * them; everything else by definition. */
#include "api/selftest.h"

#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "math/kernels.h"
#include "math/msm.h"
#include "math/ntt.h"
#include "math/pairing.h"
#include "math/poseidon.h"

/* A stream of field elements that is the same on every machine. */
static void seeded(chacha *c) {
    static const uint8_t key[32] = "cuzk self test", nonce[8];
    chacha_init(c, 12, 64, key, nonce);
}

static fr seeded_fr(chacha *c) {
    fr_canon n;
    fr r;
    do {
        chacha_bytes(c, &n, sizeof n);
        n.l[3] &= UINT64_MAX >> 1;
    } while (!fr_limbs_reduced(n.l));
    fr_from_canon(&r, &n);
    return r;
}

/* ---- fields ---- */

enum { FIELD_N = 64 };

/* a * b by doubling and adding, with nothing but additions. */
static fr fr_slow_mul(const fr *a, const fr *b) {
    fr_canon n;
    fr r;
    fr_to_canon(&n, b);
    fr_set_zero(&r);
    for (int i = 255; i >= 0; i--) {
        fr_add(&r, &r, &r);
        if (n.l[i / 64] >> (i % 64) & 1) fr_add(&r, &r, a);
    }
    return r;
}

static fp fp_slow_mul(const fp *a, const fp *b) {
    fp_canon n;
    fp r;
    fp_to_canon(&n, b);
    fp_set_zero(&r);
    for (int i = 383; i >= 0; i--) {
        fp_add(&r, &r, &r);
        if (n.l[i / 64] >> (i % 64) & 1) fp_add(&r, &r, a);
    }
    return r;
}

static const char *fr_checks(chacha *c) {
    const struct field_kernels *k = math_kernels()->field;
    fr a[FIELD_N], b[FIELD_N], r[FIELD_N], inverse[FIELD_N], scratch[FIELD_N];
    for (int i = 0; i < FIELD_N; i++) a[i] = seeded_fr(c), b[i] = seeded_fr(c);
    fr_set_zero(&a[0]);
    fr_set_one(&a[1]);
    fr_set_one(&b[2]);
    fr_neg(&b[2], &b[2]);
    fr_neg(&a[3], &a[1]);
    k->fr_mul(r, a, b, FIELD_N);
    for (int i = 0; i < FIELD_N; i++) {
        fr slow = fr_slow_mul(&a[i], &b[i]);
        if (!fr_eq(&r[i], &slow)) return "a product in Fr is wrong";
    }
    k->fr_sqr(r, a, FIELD_N);
    for (int i = 0; i < FIELD_N; i++) {
        fr slow = fr_slow_mul(&a[i], &a[i]);
        if (!fr_eq(&r[i], &slow)) return "a square in Fr is wrong";
    }
    memcpy(inverse, a, sizeof inverse);
    k->fr_batch_inv(inverse, FIELD_N, scratch);
    k->fr_mul(r, inverse, a, FIELD_N);
    if (!fr_is_zero(&inverse[0])) return "the inverse of 0 in Fr is not 0";
    for (int i = 1; i < FIELD_N; i++) {
        if (!fr_is_one(&r[i])) return "an inverse in Fr is wrong";
    }
    return NULL;
}

static const char *fp_checks(chacha *c) {
    const struct field_kernels *k = math_kernels()->field;
    fp a[FIELD_N], b[FIELD_N], r[FIELD_N], inverse[FIELD_N];
    for (int i = 0; i < FIELD_N; i++) {
        fp_from_u64(&a[i], chacha_u64(c));
        fp_from_u64(&b[i], chacha_u64(c));
        /* Spread the small numbers over the whole range. */
        for (int j = 0; j < 3; j++) {
            a[i] = fp_slow_mul(&a[i], &a[i]);
            b[i] = fp_slow_mul(&b[i], &b[i]);
        }
    }
    fp_set_zero(&a[0]);
    fp_set_one(&a[1]);
    fp_neg(&b[2], &a[1]);
    fp_neg(&a[3], &a[1]);
    k->fp_mul(r, a, b, FIELD_N);
    for (int i = 0; i < FIELD_N; i++) {
        fp slow = fp_slow_mul(&a[i], &b[i]);
        if (!fp_eq(&r[i], &slow)) return "a product in Fp is wrong";
    }
    k->fp_inv(inverse, a, FIELD_N);
    k->fp_mul(r, inverse, a, FIELD_N);
    for (int i = 1; i < FIELD_N; i++) {
        if (!fp_is_one(&r[i])) return "an inverse in Fp is wrong";
    }
    return NULL;
}

const char *selftest_fields(const selftest_env *env) {
    (void)env;
    chacha c;
    seeded(&c);
    const char *fault = fr_checks(&c);
    return fault ? fault : fp_checks(&c);
}

/* ---- points ---- */

static const char g1_hex[] =
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb";
static const char g2_hex[] =
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8";

static void g1_times(g1_affine *out, const g1_affine *p, uint64_t k) {
    fr_canon n = {{k, 0, 0, 0}};
    g1 sum;
    g1_from_affine(&sum, p);
    g1_mul(&sum, &sum, &n);
    g1_to_affine(out, &sum);
}

static void g2_times(g2_affine *out, const g2_affine *p, uint64_t k) {
    fr_canon n = {{k, 0, 0, 0}};
    g2 sum;
    g2_from_affine(&sum, p);
    g2_mul(&sum, &sum, &n);
    g2_to_affine(out, &sum);
}

const char *selftest_points(const selftest_env *env) {
    (void)env;
    uint8_t bytes1[48], bytes2[96], again1[48], again2[96];
    g1_affine p, gen1;
    g2_affine q, gen2;
    g1_generator_affine(&gen1);
    g2_generator_affine(&gen2);
    if (!text_unhex(bytes1, 48, g1_hex, 96) || !text_unhex(bytes2, 96, g2_hex, 192))
        return "hexadecimal reading is wrong";
    if (g1_decode_compressed(&p, bytes1, SUBGROUP_CHECK) || !g1_affine_eq(&p, &gen1))
        return "G1's generator does not decode";
    if (g2_decode_compressed(&q, bytes2, SUBGROUP_CHECK) || !g2_affine_eq(&q, &gen2))
        return "G2's generator does not decode";
    g1_times(&p, &gen1, 123456789);
    g2_times(&q, &gen2, 123456789);
    g1_encode_compressed(again1, &p);
    g2_encode_compressed(again2, &q);
    g1_affine p2;
    g2_affine q2;
    if (g1_decode_compressed(&p2, again1, SUBGROUP_CHECK) || !g1_affine_eq(&p, &p2))
        return "a G1 point changes on its way";
    if (g2_decode_compressed(&q2, again2, SUBGROUP_CHECK) || !g2_affine_eq(&q, &q2))
        return "a G2 point changes on its way";
    again1[47] ^= 1;
    again2[95] ^= 1;
    if (!g1_decode_compressed(&p2, again1, SUBGROUP_CHECK)) return "a wrong G1 point is taken";
    if (!g2_decode_compressed(&q2, again2, SUBGROUP_CHECK)) return "a wrong G2 point is taken";
    return NULL;
}

/* ---- pairing ---- */

/* The first two coefficients of e(G1, G2). */
static const char pairing_hex[2][97] = {
    "1250ebd871fc0a92a7b2d83168d0d727272d441befa15c503dd8e90ce98db3e7b6d194f60839c508a84305aaca1789b6",
    "089a1c5b46e5110b86750ec6a532348868a84045483c92b7af5af689452eafabf1a8943e50439f1d59882a98eaa0170f"};

const char *selftest_pairing(const selftest_env *env) {
    (void)env;
    g1_affine p[2], gen1;
    g2_affine q[2], gen2;
    fp12 e;
    uint8_t want[48], found[48];
    g1_generator_affine(&gen1);
    g2_generator_affine(&gen2);
    pairing_miller(&e, &gen1, &gen2, 1);
    pairing_final_exp(&e, &e);
    for (int i = 0; i < 2; i++) {
        text_unhex(want, 48, pairing_hex[i], 96);
        fp_to_be_bytes(found, i ? &e.c0.c0.c1 : &e.c0.c0.c0);
        if (memcmp(want, found, 48)) return "e(G1, G2) is not its known value";
    }
    /* e(6 P, Q) e(-2 P, 3 Q) = 1, and with 5 for 6 it is not. */
    g1_times(&p[0], &gen1, 6);
    g1_times(&p[1], &gen1, 2);
    g1_affine_neg(&p[1], &p[1]);
    q[0] = gen2;
    g2_times(&q[1], &gen2, 3);
    if (!pairing_product_is_one(p, q, 2)) return "the pairing is not bilinear";
    g1_times(&p[0], &gen1, 5);
    if (pairing_product_is_one(p, q, 2)) return "unequal pairings are taken for equal";
    return NULL;
}

/* ---- MSM ---- */

enum { MSM_N = 300 };

typedef struct msm_case {
    g1_affine p1[MSM_N];
    g2_affine p2[MSM_N];
    fr_canon scalars[MSM_N];
} msm_case;

/* Scalars at random, with zeros, ones and r - 1; points with infinity and equal ones. */
static void msm_fill(msm_case *m) {
    chacha c;
    seeded(&c);
    g1_affine gen1;
    g2_affine gen2;
    g1_generator_affine(&gen1);
    g2_generator_affine(&gen2);
    for (uint64_t i = 0; i < MSM_N; i++) {
        fr s = seeded_fr(&c);
        if (i % 11 == 3) fr_set_zero(&s);
        if (i % 11 == 5) fr_set_one(&s);
        if (i % 11 == 7) {
            fr_set_one(&s);
            fr_neg(&s, &s);
        }
        fr_to_canon(&m->scalars[i], &s);
        g1_times(&m->p1[i], &gen1, i % 13 == 0 ? 0 : 1 + i % 40);
        g2_times(&m->p2[i], &gen2, i % 13 == 0 ? 0 : 1 + i % 40);
    }
}

static const char *msm_compare(const selftest_env *env, const msm_case *m) {
    cuzk_error err;
    g1 fast1, slow1, t1;
    g2 fast2, slow2, t2;
    if (msm_g1(&fast1, m->p1, NULL, m->scalars, MSM_N, env->context->pool, NULL, NULL, &err)) return "MSM in G1 fails";
    if (msm_g2(&fast2, m->p2, NULL, m->scalars, MSM_N, env->context->pool, NULL, NULL, &err)) return "MSM in G2 fails";
    g1_set_infinity(&slow1);
    g2_set_infinity(&slow2);
    for (int i = 0; i < MSM_N; i++) {
        g1_from_affine(&t1, &m->p1[i]);
        g1_mul(&t1, &t1, &m->scalars[i]);
        g1_add(&slow1, &slow1, &t1);
        g2_from_affine(&t2, &m->p2[i]);
        g2_mul(&t2, &t2, &m->scalars[i]);
        g2_add(&slow2, &slow2, &t2);
    }
    if (!g1_eq(&fast1, &slow1)) return "a sum in G1 is wrong";
    if (!g2_eq(&fast2, &slow2)) return "a sum in G2 is wrong";
    return NULL;
}

const char *selftest_msm(const selftest_env *env) {
    msm_case *m = calloc(1, sizeof *m);
    if (!m) return "no memory";
    msm_fill(m);
    const char *fault = msm_compare(env, m);
    free(m);
    return fault;
}

/* ---- NTT ---- */

enum { NTT_LOG2 = 7, NTT_N = 1 << NTT_LOG2 };

static fr evaluate(const fr *coefficients, int n, const fr *x) {
    fr r;
    fr_set_zero(&r);
    for (int i = n; i-- > 0;) {
        fr_mul(&r, &r, x);
        fr_add(&r, &r, &coefficients[i]);
    }
    return r;
}

static const char *ntt_transforms(const selftest_env *env, const ntt_domain *d, const ntt_root *root, const fr *in) {
    cuzk_error err;
    pool *p = env->context->pool;
    fr out[NTT_N], x, omega = ntt_domain_omega(d);
    memcpy(out, in, sizeof out);
    if (ntt_coset_forward(d, out, p, NULL, NULL, &err)) return "a transform fails";
    x = root->generator;
    for (int i = 0; i < NTT_N; i++) {
        fr want = evaluate(in, NTT_N, &x);
        if (!fr_eq(&want, &out[i])) return "a coset transform is not an evaluation";
        fr_mul(&x, &x, &omega);
    }
    if (ntt_coset_inverse(d, out, p, NULL, NULL, &err) || memcmp(out, in, sizeof out))
        return "a coset transform has no way back";
    if (ntt_forward(d, out, p, NULL, NULL, &err) || ntt_inverse(d, out, p, NULL, NULL, &err))
        return "a transform fails";
    return memcmp(out, in, sizeof out) ? "a transform has no way back" : NULL;
}

/* h of a b - c = h (x^n - 1) at a point outside the domain. c are the products on the domain, so that h exists. */
static const char *ntt_quotient_check(const selftest_env *env, const ntt_domain *d, const fr *a, const fr *b) {
    cuzk_error err;
    pool *p = env->context->pool;
    fr e[3][NTT_N], k[3][NTT_N], at, va, vb, vc, vh, z, one;
    memcpy(e[0], a, sizeof e[0]);
    memcpy(e[1], b, sizeof e[1]);
    for (int i = 0; i < NTT_N; i++) fr_mul(&e[2][i], &a[i], &b[i]);
    memcpy(k, e, sizeof k);
    for (int i = 0; i < 3; i++) {
        if (ntt_inverse(d, k[i], p, NULL, NULL, &err)) return "a transform fails";
    }
    if (ntt_quotient(d, e[0], e[1], e[2], false, p, NULL, &err)) return "the quotient fails";
    fr_from_u64(&at, 987654321);
    va = evaluate(k[0], NTT_N, &at);
    vb = evaluate(k[1], NTT_N, &at);
    vc = evaluate(k[2], NTT_N, &at);
    vh = evaluate(e[0], NTT_N, &at);
    z = at;
    for (int i = 0; i < NTT_LOG2; i++) fr_sqr(&z, &z);
    fr_set_one(&one);
    fr_sub(&z, &z, &one);
    fr_mul(&vh, &vh, &z);
    fr_mul(&va, &va, &vb);
    fr_sub(&va, &va, &vc);
    return fr_eq(&va, &vh) ? NULL : "the quotient is wrong";
}

const char *selftest_ntt(const selftest_env *env) {
    cuzk_error err;
    ntt_domain *d;
    ntt_root root = ntt_root_bellman();
    chacha c;
    fr a[NTT_N], b[NTT_N];
    seeded(&c);
    for (int i = 0; i < NTT_N; i++) a[i] = seeded_fr(&c), b[i] = seeded_fr(&c);
    if (ntt_domain_create(&d, NTT_LOG2, &root, env->context->pool, &err)) return "no domain";
    const char *fault = ntt_transforms(env, d, &root, a);
    if (!fault) fault = ntt_quotient_check(env, d, a, b);
    ntt_domain_destroy(d);
    return fault;
}

/* ---- Poseidon ---- */

const char *selftest_poseidon(const selftest_env *env) {
    (void)env;
    /* Of 0, 1, 2, … */
    static const struct {
        unsigned arity;
        const char *hex;
    } answers[] = {{2, "396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff"},
                   {4, "58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075d"},
                   {8, "2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6"},
                   {11, "0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163"}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        fr in[11], out;
        uint8_t want[32], found[32];
        for (unsigned k = 0; k < answers[i].arity; k++) fr_from_u64(&in[k], k);
        poseidon_hash(poseidon_get(answers[i].arity), &out, in);
        text_unhex(want, 32, answers[i].hex, 64);
        fr_to_be_bytes(found, &out);
        if (memcmp(want, found, 32)) return "a digest is not the published one";
    }
    return NULL;
}
