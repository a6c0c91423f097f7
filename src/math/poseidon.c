/* Poseidon over fr in the "optimised" form of the neptune library: values only; the circuit is gadget/poseidon.c.
 *
 * The permutation has 4 full rounds, partial_rounds partial rounds and 4 full rounds, with S-box x^5. Round constants
 * are moved behind the S-boxes ("compressed"), and the matrix of each partial round is replaced by a sparse one, so
 * that a partial round costs 2 t - 1 products instead of t^2. Constants are made in poseidon_constants.c.
 *
 * Dot products are accumulated unreduced and reduced once. The sum is kept below r 2^256 by one conditional subtraction
 * of r 2^256 for each two products: r < 0.454 * 2^256, so r 2^256 + 2 r^2 < 2^512 and eight limbs always hold it.
 *
 * Sources: reference/filecoin-porep-circuit.md §2.9; Grassi and others, "Poseidon: A New Hash Function for
 * Zero-Knowledge Proof Systems" (2021), appendix B for the sparse matrices.
 */
#include "math/poseidon.h"

#include <assert.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* unsigned __int128 */

#define MAX_WIDTH 65

/* t += a * b, eight limbs; the caller leaves room. */
static inline __attribute__((always_inline)) void wide_mul_add(uint64_t t[8], const fr *a, const fr *b) {
    uint64_t over = 0;
    for (int i = 0; i < 4; i++) {
        unsigned __int128 v = 0;
        for (int j = 0; j < 4; j++) {
            v = (unsigned __int128)a->l[j] * b->l[i] + t[i + j] + (uint64_t)(v >> 64);
            t[i + j] = (uint64_t)v;
        }
        /* Carries out of row i meet limb i + 4; `over` is row i-1's carry out of that sum. */
        v = (unsigned __int128)t[i + 4] + (uint64_t)(v >> 64) + over;
        t[i + 4] = (uint64_t)v;
        over = (uint64_t)(v >> 64);
    }
}

/* Montgomery reduction of t < r 2^256. */
static inline __attribute__((always_inline)) void wide_reduce(fr *out, uint64_t t[8]) {
    uint64_t over = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t k = t[i] * FR_NEG_INV;
        unsigned __int128 v = 0;
        for (int j = 0; j < 4; j++) {
            v = (unsigned __int128)k * fr_modulus[j] + t[i + j] + (uint64_t)(v >> 64);
            t[i + j] = (uint64_t)v;
        }
        v = (unsigned __int128)t[i + 4] + (uint64_t)(v >> 64) + over;
        t[i + 4] = (uint64_t)v;
        over = (uint64_t)(v >> 64);
    }
    fr_reduce_once(out, t + 4); /* (r 2^256 + r 2^256) / 2^256 = 2 r */
}

/* out = sum of a[i] * b[i * stride], i < n. */
static inline __attribute__((always_inline)) void dot(fr *out, const fr *a, const fr *b, size_t stride, unsigned n) {
    uint64_t t[8] = {0};
    unsigned i = 0;
    for (; i + 2 <= n; i += 2) {
        wide_mul_add(t, &a[i], &b[i * stride]);
        wide_mul_add(t, &a[i + 1], &b[(i + 1) * stride]);
        fr high;
        fr_reduce_once(&high, t + 4);
        memcpy(t + 4, &high, sizeof high);
    }
    if (i < n) {
        wide_mul_add(t, &a[i], &b[i * stride]);
        fr high;
        fr_reduce_once(&high, t + 4);
        memcpy(t + 4, &high, sizeof high);
    }
    wide_reduce(out, t);
}

/* Walks the rounds; `trace` (may be NULL) is where the next intermediate goes. */
typedef struct walk {
    const poseidon_constants *k;
    const fr *constant; /* next compressed constant */
    fr *trace;
    fr state[MAX_WIDTH];
} walk;

static inline __attribute__((always_inline)) void keep(walk *w, const fr *v) {
    if (w->trace != NULL) *w->trace++ = *v;
}

/* x -> x^5 + c; c may be NULL. The input is an intermediate of its own when the circuit allocates it. */
static inline __attribute__((always_inline)) void sbox(walk *w, fr *x, const fr *c, bool input_kept) {
    fr l2, l4, l5;
    if (input_kept) keep(w, x);
    fr_sqr(&l2, x);
    fr_sqr(&l4, &l2);
    fr_mul(&l5, x, &l4);
    if (c != NULL) fr_add(&l5, &l5, c);
    keep(w, &l2);
    keep(w, &l4);
    keep(w, &l5);
    *x = l5;
}

static inline __attribute__((always_inline)) void mix_full(walk *w, const fr *matrix) {
    unsigned t = w->k->width;
    fr next[MAX_WIDTH];
    for (unsigned j = 0; j < t; j++) dot(&next[j], w->state, matrix + j, t, t);
    memcpy(w->state, next, t * sizeof *next);
}

static inline __attribute__((always_inline)) void mix_sparse(walk *w, const fr *sparse) {
    unsigned t = w->k->width;
    fr first, p, s0 = w->state[0];
    dot(&first, w->state, sparse, 1, t);
    for (unsigned j = 1; j < t; j++) {
        fr_mul(&p, &s0, &sparse[t + j - 1]);
        fr_add(&w->state[j], &w->state[j], &p);
    }
    w->state[0] = first;
}

static inline __attribute__((always_inline)) void full_round(walk *w, bool constants, const fr *matrix) {
    unsigned t = w->k->width;
    for (unsigned i = 0; i < t; i++) sbox(w, &w->state[i], constants ? w->constant++ : NULL, true);
    mix_full(w, matrix);
}

static inline __attribute__((always_inline)) void permute(const poseidon_constants *k, fr *trace, fr *out,
                                                          const fr *preimage) {
    walk w;
    unsigned t = k->width;
    assert(t <= MAX_WIDTH);
    w.k = k;
    w.trace = NULL; /* the tag's S-box is constant: never an intermediate */
    w.constant = k->compressed + t;
    fr_add(&w.state[0], &k->domain_tag, &k->compressed[0]);
    sbox(&w, &w.state[0], w.constant++, false);
    w.trace = trace;
    for (unsigned i = 1; i < t; i++) {
        fr_add(&w.state[i], &preimage[i - 1], &k->compressed[i]);
        sbox(&w, &w.state[i], w.constant++, false);
    }
    mix_full(&w, k->mds);
    full_round(&w, true, k->mds);
    full_round(&w, true, k->mds);
    full_round(&w, true, k->pre_sparse);
    for (unsigned i = 0; i < k->partial_rounds; i++) {
        sbox(&w, &w.state[0], w.constant++, true);
        mix_sparse(&w, k->sparse + (size_t)i * (2 * t - 1));
    }
    for (int i = 0; i < 3; i++) full_round(&w, true, k->mds);
    full_round(&w, false, k->mds);
    assert(w.constant == k->compressed + k->n_compressed);
    keep(&w, &w.state[1]);
    if (out != NULL) *out = w.state[1];
}

#pragma GCC diagnostic pop

void poseidon_hash(const poseidon_constants *k, fr *out, const fr *preimage) {
    /* Constant widths let the compiler unroll the dot products. */
    poseidon_constants c = *k;
    switch (c.width) {
    case 3: c.width = 3; break;
    case 5: c.width = 5; break;
    case 9: c.width = 9; break;
    case 12: c.width = 12; break;
    default: break;
    }
    permute(&c, NULL, out, preimage);
}

unsigned poseidon_trace_len(const poseidon_constants *k) {
    return 3 * k->arity + 28 * k->width + 4 * k->partial_rounds + 1;
}

void poseidon_trace(const poseidon_constants *k, fr *trace, const fr *preimage) {
    permute(k, trace, NULL, preimage);
}
