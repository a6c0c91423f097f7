/* Levels of number-theoretic transforms, one CPU version.
 *
 * A transform of 2^k is a binary tree. Its node number i at depth l stands for the residues modulo x^m - root(i)^2, m =
 * 2^(k-l): splitting takes the pair (x_j, x_(j + m/2)) to (x_j + root(i) x_(j + m/2), x_j - root(i) x_(j + m/2)), the
 * residues modulo x^(m/2) -+ root(i), children 2i and 2i + 1. One multiplier serves a whole node, and its number does
 * not depend on k: the table begins 1, sqrt(-1), ... in bit-reversed order of exponents. Natural order in, bit-reversed
 * order out. Joining walks back up. With the inverse root the same table serves: 1/root(i) = -root(i with all bits
 * below its top one flipped).
 *
 * Fully reduced arithmetic. Layout of the work over memory: math/ntt.c. Docs: docs/math/ntt.md.
 */
#include "math/kernels.h"

/* Subtrees of this many levels (32 KiB) are finished before the next is begun. */
#define NTT_LEAF_LEVELS 10u

/* root(i) or its inverse up to sign: *flip says that the sign is minus. */
static inline const fr *ntt_root_at(const fr *roots, size_t i, bool inverse, bool *flip) {
    *flip = inverse && i != 0;
    if (!*flip) return &roots[i];
    size_t top = (size_t)1 << (63 - __builtin_clzll((unsigned long long)i));
    return &roots[i ^ (top - 1)];
}

/* One node: `half` rows of `columns` against the next `half`. */
static inline void ntt_split_node(fr *a, size_t stride, size_t half, size_t columns, const fr *root, bool one,
                                  bool flip) {
    for (size_t r = 0; r < half; r++) {
        fr *u = a + r * stride, *v = u + half * stride;
        for (size_t c = 0; c < columns; c++) {
            fr t, x = u[c];
            if (one) {
                t = v[c];
            } else {
                fr_mul(&t, &v[c], root);
            }
            fr *plus = flip ? &v[c] : &u[c], *minus = flip ? &u[c] : &v[c];
            fr_add(plus, &x, &t);
            fr_sub(minus, &x, &t);
        }
    }
}

static inline void ntt_join_node(fr *a, size_t stride, size_t half, size_t columns, const fr *root, bool one,
                                 bool flip) {
    for (size_t r = 0; r < half; r++) {
        fr *u = a + r * stride, *v = u + half * stride;
        for (size_t c = 0; c < columns; c++) {
            fr t;
            if (flip) {
                fr_sub(&t, &v[c], &u[c]);
            } else {
                fr_sub(&t, &u[c], &v[c]);
            }
            fr_add(&u[c], &u[c], &v[c]);
            if (one) {
                v[c] = t;
            } else {
                fr_mul(&v[c], &t, root);
            }
        }
    }
}

static void ntt_split(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node,
                      bool inverse) {
    bool flip;
    if (levels == 0) return;
    if (levels > NTT_LEAF_LEVELS) {
        size_t half = (size_t)1 << (levels - 1);
        const fr *root = ntt_root_at(roots, node, inverse, &flip);
        ntt_split_node(a, stride, half, columns, root, node == 0, flip);
        ntt_split(a, stride, levels - 1, columns, roots, 2 * node, inverse);
        ntt_split(a + half * stride, stride, levels - 1, columns, roots, 2 * node + 1, inverse);
        return;
    }
    for (unsigned l = 0; l < levels; l++) {
        size_t half = (size_t)1 << (levels - 1 - l);
        for (size_t j = 0; j < (size_t)1 << l; j++) {
            size_t i = (node << l) + j;
            const fr *root = ntt_root_at(roots, i, inverse, &flip);
            ntt_split_node(a + 2 * half * j * stride, stride, half, columns, root, i == 0, flip);
        }
    }
}

static void ntt_join(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node,
                     bool inverse) {
    bool flip;
    if (levels == 0) return;
    if (levels > NTT_LEAF_LEVELS) {
        size_t half = (size_t)1 << (levels - 1);
        ntt_join(a, stride, levels - 1, columns, roots, 2 * node, inverse);
        ntt_join(a + half * stride, stride, levels - 1, columns, roots, 2 * node + 1, inverse);
        const fr *root = ntt_root_at(roots, node, inverse, &flip);
        ntt_join_node(a, stride, half, columns, root, node == 0, flip);
        return;
    }
    for (unsigned l = levels; l-- > 0;) {
        size_t half = (size_t)1 << (levels - 1 - l);
        for (size_t j = 0; j < (size_t)1 << l; j++) {
            size_t i = (node << l) + j;
            const fr *root = ntt_root_at(roots, i, inverse, &flip);
            ntt_join_node(a + 2 * half * j * stride, stride, half, columns, root, i == 0, flip);
        }
    }
}

static void ntt_scale(fr *a, const fr *table, const fr *factor, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr f;
        fr_mul(&f, &table[i], factor);
        fr_mul(&a[i], &a[i], &f);
    }
}

static void ntt_scale_two(fr *a, fr *b, const fr *table, const fr *factor, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr f;
        fr_mul(&f, &table[i], factor);
        fr_mul(&a[i], &a[i], &f);
        fr_mul(&b[i], &b[i], &f);
    }
}

static void ntt_combine(fr *a, const fr *c, const fr *table, const fr *factor, const fr *c_factor, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr f, t;
        fr_mul(&f, &table[i], factor);
        fr_mul(&f, &a[i], &f);
        fr_mul(&t, &c[i], c_factor);
        fr_sub(&a[i], &f, &t);
    }
}

static void ntt_mul_constant(fr *r, const fr *a, const fr *factor, size_t n) {
    fr f = *factor; /* r may hold it */
    for (size_t i = 0; i < n; i++) fr_mul(&r[i], &a[i], &f);
}

static void ntt_multiply(fr *r, const fr *b, size_t n) {
    for (size_t i = 0; i < n; i++) fr_mul(&r[i], &r[i], &b[i]);
}

#ifdef NTT_VECTOR /* a header with other versions of split and join, which may use these */
#include NTT_VECTOR
#else
#define ntt_split_vector ntt_split
#define ntt_join_vector ntt_join
#endif

const struct ntt_kernels KERNEL_NAME(ntt_kernels) = {
    .split = ntt_split_vector,
    .join = ntt_join_vector,
    .scale = ntt_scale,
    .scale_two = ntt_scale_two,
    .combine = ntt_combine,
    .mul_constant = ntt_mul_constant,
    .multiply = ntt_multiply,
};
