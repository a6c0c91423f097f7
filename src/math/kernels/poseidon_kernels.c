/* Poseidon's permutation, one CPU version.
 *
 * 4 full rounds, the partial rounds, 4 full rounds, S-box x^5. Round constants are moved behind the S-boxes
 * ("compressed"), and the matrix of each partial round is replaced by a sparse one, so that a partial round costs
 * 2 t - 1 products instead of t^2. Constants come from math/poseidon_constants.c.
 *
 * More than half of the products belong to dot products. Those are added up unreduced, in nine limbs, and reduced once:
 * a multiple of r 2^256 found from the leading bits is taken away, then comes one Montgomery reduction.
 *
 * Sources: docs/math/poseidon.md; Grassi and others, "Poseidon: A New Hash Function for
 * Zero-Knowledge Proof Systems" (2021), appendix B for the sparse matrices.
 */
#include <assert.h>
#include "math/kernels.h"
#include "math/poseidon.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* unsigned __int128 */

#define MAX_WIDTH 65

/* p = a * b, unreduced. */
#if defined(CUZK_ISA_ADX) || defined(CUZK_ISA_IFMA)
#define PRODUCT_ROW(code, i)                                                                                           \
    __asm__(code                                                                                                       \
            : [t0] "+&r"(p[i]), [t1] "+&r"(p[i + 1]), [t2] "+&r"(p[i + 2]), [t3] "+&r"(p[i + 3]), [lo] "=&r"(lo),      \
              [top] "=&r"(p[i + 4]), "=&d"(k)                                                                          \
            : [a] "r"(a->l), [b] "r"(b->l), "m"(*a), "m"(*b)                                                           \
            : "cc")

static inline __attribute__((always_inline)) void wide_product(uint64_t p[8], const fr *a, const fr *b) {
    uint64_t lo, k;
    __asm__(ADX_ROW_0_HEAD ADX_ROW_0_NEXT(24, t3, top) ADX_ROW_0_TAIL
            : [t0] "=&r"(p[0]), [t1] "=&r"(p[1]), [t2] "=&r"(p[2]), [t3] "=&r"(p[3]), [lo] "=&r"(lo), [top] "=&r"(p[4]),
              "=&d"(k)
            : [a] "r"(a->l), [b] "r"(b->l), "m"(*a), "m"(*b)
            : "cc");
    PRODUCT_ROW(ADX_ROW_4(8), 1);
    PRODUCT_ROW(ADX_ROW_4(16), 2);
    PRODUCT_ROW(ADX_ROW_4(24), 3);
}
#undef PRODUCT_ROW
#else
static inline __attribute__((always_inline)) void wide_product(uint64_t p[8], const fr *a, const fr *b) {
    unsigned __int128 v;
    for (int i = 0; i < 4; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 4; j++) {
            v = (unsigned __int128)a->l[j] * b->l[i] + (i == 0 ? 0 : p[i + j]) + carry;
            p[i + j] = (uint64_t)v;
            carry = (uint64_t)(v >> 64);
        }
        p[i + 4] = carry;
    }
}
#endif

/* t += p. */
static inline __attribute__((always_inline)) void wide_add(uint64_t t[9], const uint64_t p[8]) {
#ifdef CUZK_X86_64
    __asm__("addq %[p0], (%[t])\n\tadcq %[p1], 8(%[t])\n\tadcq %[p2], 16(%[t])\n\tadcq %[p3], 24(%[t])\n\t"
            "adcq %[p4], 32(%[t])\n\tadcq %[p5], 40(%[t])\n\tadcq %[p6], 48(%[t])\n\tadcq %[p7], 56(%[t])\n\t"
            "adcq $0, 64(%[t])"
            : "+m"(*(uint64_t(*)[9])t)
            : [t] "r"(t), [p0] "r"(p[0]), [p1] "r"(p[1]), [p2] "r"(p[2]), [p3] "r"(p[3]), [p4] "r"(p[4]),
              [p5] "r"(p[5]), [p6] "r"(p[6]), [p7] "r"(p[7])
            : "cc");
#else
    uint64_t carry = 0;
    for (int i = 0; i < 8; i++) {
        unsigned __int128 v = (unsigned __int128)t[i] + p[i] + carry;
        t[i] = (uint64_t)v;
        carry = (uint64_t)(v >> 64);
    }
    t[8] += carry;
#endif
}

/* Takes q r 2^256 from t, q from the leading bits: r's first byte is 0x73, so q is the quotient or one less (the
 * quotient is at most 30), and t ends below 2 r 2^256. */
static inline __attribute__((always_inline)) void wide_lower(uint64_t t[9]) {
    uint64_t q = (t[8] << 8 | t[7] >> 56) / 0x74, borrow = 0, carry = 0;
    for (int i = 0; i < 4; i++) {
        unsigned __int128 v = (unsigned __int128)q * fr_modulus[i] + carry;
        carry = (uint64_t)(v >> 64);
        unsigned __int128 d = (unsigned __int128)t[4 + i] - (uint64_t)v - borrow;
        t[4 + i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    /* 2 r < 2^256: the ninth limb is now zero. */
}

/* Montgomery reduction of t < r 2^256. */
static inline __attribute__((always_inline)) void wide_reduce(fr *out, uint64_t *t) {
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

/* out = sum of a[i] * b[i * stride], i < n ≤ 65. */
static inline void dot(fr *out, const fr *a, const fr *b, size_t stride, unsigned n) {
    uint64_t t[9] = {0};
    fr high;
    for (unsigned i = 0; i < n; i++) {
        uint64_t p[8];
        wide_product(p, &a[i], &b[i * stride]);
        wide_add(t, p);
    }
    wide_lower(t);
    fr_reduce_once(&high, t + 4);
    memcpy(t + 4, &high, sizeof high);
    wide_reduce(out, t);
}

/* Walks the rounds; `trace` (may be NULL) is where the next intermediate goes. */
typedef struct walk {
    const poseidon_constants *k;
    const fr *constant; /* next compressed constant */
    fr *trace;
    fr state[MAX_WIDTH];
} walk;

static inline void keep(walk *w, const fr *v) {
    if (w->trace != NULL) *w->trace++ = *v;
}

/* x -> x^5 + c; c may be NULL. The input is an intermediate of its own when the circuit allocates it. */
static inline void sbox(walk *w, fr *x, const fr *c, bool input_kept) {
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

static void mix_full(walk *w, const fr *matrix) {
    unsigned t = w->k->width;
    fr next[MAX_WIDTH];
    for (unsigned j = 0; j < t; j++) dot(&next[j], w->state, matrix + j, t, t);
    memcpy(w->state, next, t * sizeof *next);
}

static void mix_sparse(walk *w, const fr *sparse) {
    unsigned t = w->k->width;
    fr first, p, s0 = w->state[0];
    dot(&first, w->state, sparse, 1, t);
    for (unsigned j = 1; j < t; j++) {
        fr_mul(&p, &s0, &sparse[t + j - 1]);
        fr_add(&w->state[j], &w->state[j], &p);
    }
    w->state[0] = first;
}

static void full_round(walk *w, bool constants, const fr *matrix) {
    unsigned t = w->k->width;
    for (unsigned i = 0; i < t; i++) sbox(w, &w->state[i], constants ? w->constant++ : NULL, true);
    mix_full(w, matrix);
}

static void poseidon_permute(const poseidon_constants *k, fr *trace, fr *out, const fr *preimage) {
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

const struct poseidon_kernels KERNEL_NAME(poseidon_kernels) = {.permute = poseidon_permute};
