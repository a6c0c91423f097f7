/* Poseidon's constants: Grain stream, Cauchy matrix, compressed round constants, sparse factors.
 *
 * Everything follows from the width t: the raw round constants are the numbers below r in the output of a
 * self-shrinking 80-bit LFSR whose seed encodes the instance; the matrix is M[i][j] = 1 / (i + j + t); the compressed
 * constants are the raw ones pulled backwards through the matrices; the sparse matrices come from splitting M = M' M''
 * again and again, M' = diag(1, minor). All matrices act on row vectors.
 *
 * Made once for each arity (a few milliseconds for 11, about a second for 64) and kept until the process ends. No
 * memory here ends the process: the constants of the largest arity take half a megabyte.
 *
 * Source: docs/math/poseidon.md; Poseidon paper, appendices B and F.
 */
#include "math/poseidon.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAX_ARITY 64
#define FULL_ROUNDS 8

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
typedef unsigned __int128 u128;
#pragma GCC diagnostic pop

/* For 128 bits of security and full rounds 8 the paper's bound is 0.43 * 128 + log2 t - 6 partial rounds; 7.5 % are
 * added. */
static unsigned partial_rounds(unsigned t) {
    if (t <= 3) return 55;
    if (t <= 7) return 56;
    if (t <= 15) return 57;
    if (t <= 31) return 59;
    return t <= 62 ? 60 : 61;
}

static fr *new_elements(size_t n) {
    fr *p = calloc(n, sizeof *p);
    if (p == NULL) abort();
    return p;
}

/* ---- raw round constants ---- */

/* Bit k of the register is s_k; s_0 is the oldest. */
static unsigned grain_step(u128 *s) {
    unsigned bit = (unsigned)((*s >> 62) ^ (*s >> 51) ^ (*s >> 38) ^ (*s >> 23) ^ (*s >> 13) ^ *s) & 1;
    *s = (*s >> 1) | ((u128)bit << 79);
    return bit;
}

static unsigned grain_bit(u128 *s) {
    while (grain_step(s) == 0) grain_step(s);
    return grain_step(s);
}

static void grain_field(u128 *s, unsigned *at, unsigned value, unsigned bits) {
    while (bits-- > 0) *s |= (u128)(value >> bits & 1) << (*at)++;
}

static void raw_constants(fr *out, unsigned t, unsigned rp) {
    u128 s = 0;
    unsigned at = 0;
    grain_field(&s, &at, 1, 2); /* a prime field */
    grain_field(&s, &at, 1, 4); /* S-box kind, as the reference numbers it */
    grain_field(&s, &at, 255, 12);
    grain_field(&s, &at, t, 12);
    grain_field(&s, &at, FULL_ROUNDS, 10);
    grain_field(&s, &at, rp, 10);
    grain_field(&s, &at, (1u << 30) - 1, 30);
    for (int i = 0; i < 160; i++) grain_step(&s);
    for (size_t i = 0; i < (size_t)(FULL_ROUNDS + rp) * t; i++) {
        fr_canon c;
        do {
            memset(&c, 0, sizeof c);
            for (int bit = 254; bit >= 0; bit--) c.l[bit / 64] |= (uint64_t)grain_bit(&s) << (bit % 64);
        } while (!fr_limbs_reduced(c.l));
        fr_from_canon(&out[i], &c);
    }
}

/* ---- matrices, row by row ---- */

/* out = v * m; out may not overlap v. */
static void row_times(fr *out, const fr *v, const fr *m, unsigned n) {
    for (unsigned j = 0; j < n; j++) {
        fr acc, p;
        fr_set_zero(&acc);
        for (unsigned i = 0; i < n; i++) {
            fr_mul(&p, &v[i], &m[i * n + j]);
            fr_add(&acc, &acc, &p);
        }
        out[j] = acc;
    }
}

/* out = 1 / m by Gauss-Jordan elimination; m (n x n) is destroyed and must be regular. */
static void invert(fr *out, fr *m, unsigned n) {
    memset(out, 0, (size_t)n * n * sizeof *out);
    for (unsigned i = 0; i < n; i++) fr_set_one(&out[i * n + i]);
    for (unsigned c = 0; c < n; c++) {
        unsigned p = c;
        while (fr_is_zero(&m[p * n + c])) {
            p++;
            assert(p < n);
        }
        for (unsigned j = 0; j < n && p != c; j++) {
            fr x = m[p * n + j];
            m[p * n + j] = m[c * n + j];
            m[c * n + j] = x;
            x = out[p * n + j];
            out[p * n + j] = out[c * n + j];
            out[c * n + j] = x;
        }
        fr k, v;
        fr_inv(&k, &m[c * n + c]);
        for (unsigned j = 0; j < n; j++) {
            fr_mul(&m[c * n + j], &m[c * n + j], &k);
            fr_mul(&out[c * n + j], &out[c * n + j], &k);
        }
        for (unsigned i = 0; i < n; i++) {
            if (i == c) continue;
            k = m[i * n + c];
            for (unsigned j = 0; j < n; j++) {
                fr_mul(&v, &k, &m[c * n + j]);
                fr_sub(&m[i * n + j], &m[i * n + j], &v);
                fr_mul(&v, &k, &out[c * n + j]);
                fr_sub(&out[i * n + j], &out[i * n + j], &v);
            }
        }
    }
}

static void cauchy(fr *m, unsigned t) {
    for (unsigned i = 0; i < t; i++) {
        for (unsigned j = 0; j < t; j++) {
            fr_from_u64(&m[i * t + j], i + j + t);
            fr_inv(&m[i * t + j], &m[i * t + j]);
        }
    }
}

/* Constants of the full rounds move back through one matrix; those of the partial rounds are gathered into element 0
 * from the last to the first, and what is left joins the last constant of the first half. */
static void compress(fr *out, const fr *raw, const fr *inverse, unsigned t, unsigned rp) {
    const unsigned half = FULL_ROUNDS / 2;
    fr *const partial = out + (half + 1) * t;
    fr acc[MAX_ARITY + 1], v[MAX_ARITY + 1];
    memcpy(out, raw, t * sizeof *out);
    for (unsigned i = 1; i < half; i++) row_times(out + i * t, raw + i * t, inverse, t);
    memcpy(acc, raw + (half + rp) * t, t * sizeof *acc);
    for (unsigned i = 0; i < rp; i++) {
        row_times(v, acc, inverse, t);
        partial[rp - 1 - i] = v[0];
        fr_set_zero(&v[0]);
        for (unsigned j = 0; j < t; j++) fr_add(&acc[j], &raw[(half + rp - 1 - i) * t + j], &v[j]);
    }
    row_times(out + half * t, acc, inverse, t);
    for (unsigned i = 1; i < half; i++) {
        row_times(partial + rp + (i - 1) * t, raw + (half + rp + i) * t, inverse, t);
    }
}

static void sparse_factors(fr *pre_sparse, fr *sparse, const fr *mds, unsigned t, unsigned rp) {
    const unsigned n = t - 1;
    fr *cur = new_elements((size_t)t * t), *minor = new_elements((size_t)n * n);
    fr *work = new_elements((size_t)n * n), *inverse = new_elements((size_t)n * n);
    fr w[MAX_ARITY], p;
    memcpy(cur, mds, (size_t)t * t * sizeof *cur);
    for (unsigned round = rp; round-- > 0;) {
        fr *w_hat = sparse + (size_t)round * (2 * t - 1), *v_rest = w_hat + t;
        for (unsigned i = 0; i < n; i++) {
            w[i] = cur[(i + 1) * t];
            v_rest[i] = cur[i + 1];
            memcpy(minor + i * n, cur + (i + 1) * t + 1, n * sizeof *minor);
        }
        memcpy(work, minor, (size_t)n * n * sizeof *work);
        invert(inverse, work, n);
        w_hat[0] = cur[0];
        row_times(w_hat + 1, w, inverse, n);
        /* cur = M * diag(1, minor): column 0 of M stays, the rest of each row is multiplied. */
        for (unsigned i = 0; i < t; i++) {
            cur[i * t] = mds[i * t];
            for (unsigned j = 0; j < n; j++) {
                fr acc;
                fr_set_zero(&acc);
                for (unsigned m = 0; m < n; m++) {
                    fr_mul(&p, &mds[i * t + m + 1], &minor[m * n + j]);
                    fr_add(&acc, &acc, &p);
                }
                cur[i * t + j + 1] = acc;
            }
        }
    }
    memcpy(pre_sparse, cur, (size_t)t * t * sizeof *cur);
    free(cur);
    free(minor);
    free(work);
    free(inverse);
}

static poseidon_constants *make(unsigned arity) {
    const unsigned t = arity + 1, rp = partial_rounds(t), n = FULL_ROUNDS * t + rp;
    const size_t square = (size_t)t * t, sparse_len = (size_t)rp * (2 * t - 1);
    poseidon_constants *k = calloc(1, sizeof *k);
    if (k == NULL) abort();
    fr *all = new_elements(n + 2 * square + sparse_len);
    fr *compressed = all, *mds = compressed + n, *pre_sparse = mds + square, *sparse = pre_sparse + square;
    fr *raw = new_elements((size_t)(FULL_ROUNDS + rp) * t), *inverse = new_elements(square);
    fr *work = new_elements(square);
    raw_constants(raw, t, rp);
    cauchy(mds, t);
    memcpy(work, mds, square * sizeof *work);
    invert(inverse, work, t);
    compress(compressed, raw, inverse, t, rp);
    sparse_factors(pre_sparse, sparse, mds, t, rp);
    free(raw);
    free(inverse);
    free(work);
    *k = (poseidon_constants){.arity = arity,
                              .width = t,
                              .partial_rounds = rp,
                              .compressed = compressed,
                              .n_compressed = n,
                              .mds = mds,
                              .pre_sparse = pre_sparse,
                              .sparse = sparse};
    fr_from_u64(&k->domain_tag, arity == 64 ? UINT64_MAX : ((uint64_t)1 << arity) - 1);
    return k;
}

const poseidon_constants *poseidon_get(unsigned arity) {
    static _Atomic(poseidon_constants *) table[MAX_ARITY + 1];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    assert(arity >= 1 && arity <= MAX_ARITY);
    poseidon_constants *k = atomic_load_explicit(&table[arity], memory_order_acquire);
    if (k != NULL) return k;
    pthread_mutex_lock(&lock);
    k = atomic_load_explicit(&table[arity], memory_order_relaxed);
    if (k == NULL) {
        k = make(arity);
        atomic_store_explicit(&table[arity], k, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return k;
}
