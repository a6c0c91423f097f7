/* split and join of math/kernels/ntt_kernels.c in four lanes of doubles; included from there beside the plain ones.
 *
 * Four transforms of up to 2^8 elements go side by side: of four neighbouring columns, which share their roots, or of
 * four neighbouring nodes, each with roots of its own. They are brought into lanes once, taken through all their levels
 * without carries, and fully reduced on the way back. One column of more levels is done as a matrix: upper levels by
 * columns, lower levels by nodes.
 *
 * Lengths: split adds a product to each sum at each level, so after 8 levels limbs are below 2^47. join, and split in
 * node 0, whose root is 1, double sums, to 2^47 after four levels; then they are carried. So what is multiplied is
 * below 2^48. Values stay below 2^8 r.
 */
#include "math/kernels_fma/frx4.h"

#define NTT_LANES_LEVELS 8u

typedef struct {
    fr *a[4];       /* each lane's first element */
    size_t stride;  /* from an element to the next */
    size_t node[4]; /* each lane's node */
    unsigned levels;
    const fr *roots;
    double (*shared)[6]; /* of a node that all lanes have: its roots as factors, (2^depth + j)-th: node j below */
    bool inverse, zero;  /* zero: the shared node is number 0 */
} ntt_lanes;

/* The roots of the lanes' nodes j, `depth` levels below their first ones. */
static void ntt_lanes_root(frx4 *r, const ntt_lanes *n, unsigned depth, size_t j) {
    const fr *from[4];
    double negative[4];
    if (n->shared != NULL) {
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) r->v[i] = _mm256_broadcast_sd(&n->shared[((size_t)1 << depth) + j][i]);
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        bool flip;
        from[i] = ntt_root_at(n->roots, (n->node[i] << depth) + j, n->inverse, &flip);
        negative[i] = flip ? -0.0 : 0.0;
    }
    frx4_load(r, from);
    frx4_factor(r, _mm256_loadu_pd(negative));
}

/* All roots below a node, four at a time. */
static void ntt_lanes_share(double (*shared)[6], const fr *roots, size_t node, unsigned levels, bool inverse) {
    for (size_t at = 0; at < (size_t)1 << levels; at += 4) {
        const fr *from[4];
        double negative[4], limbs[6][4];
        frx4 r;
        for (size_t i = 0; i < 4; i++) {
            size_t k = at + i > 0 ? at + i : 1, depth = 63 - (size_t)__builtin_clzll((unsigned long long)k);
            bool flip;
            from[i] = ntt_root_at(roots, (node << depth) + k - ((size_t)1 << depth), inverse, &flip);
            negative[i] = flip ? -0.0 : 0.0;
        }
        frx4_load(&r, from);
        frx4_factor(&r, _mm256_loadu_pd(negative));
        memcpy(limbs, &r, sizeof limbs);
        for (size_t i = 0; i < 4; i++) {
            for (int j = 0; j < 6; j++) shared[at + i][j] = limbs[j][i];
        }
    }
}

static void ntt_lanes_load(frx4 *x, const ntt_lanes *n) {
    for (size_t r = 0; r < (size_t)1 << n->levels; r++) {
        const size_t at = r * n->stride;
        frx4_load(&x[r], (const fr *const[4]){n->a[0] + at, n->a[1] + at, n->a[2] + at, n->a[3] + at});
    }
}

static void ntt_lanes_store(const ntt_lanes *n, const frx4 *x) {
    for (size_t r = 0; r < (size_t)1 << n->levels; r++) {
        const size_t at = r * n->stride;
        frx4_store((fr *const[4]){n->a[0] + at, n->a[1] + at, n->a[2] + at, n->a[3] + at}, &x[r]);
    }
}

/* One node: `half` elements against the next `half`. With the root 1, of node 0, no limb is shortened by a product, so
 * they are carried after four levels. */
X4_INLINE void ntt_lanes_split_node(frx4 *u, size_t half, const frx4 *root, bool carry) {
    frx4 *v = u + half, t;
    for (size_t r = 0; r < half; r++) {
        if (root != NULL) {
            frx4_mul(&t, &v[r], root);
        } else {
            t = v[r];
        }
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) {
            v[r].v[i] = _mm256_sub_pd(u[r].v[i], t.v[i]);
            u[r].v[i] = _mm256_add_pd(u[r].v[i], t.v[i]);
        }
        if (carry) {
            frx4_carry(&u[r]);
            frx4_carry(&v[r]);
        }
    }
}

X4_INLINE void ntt_lanes_join_node(frx4 *u, size_t half, const frx4 *root, bool carry) {
    frx4 *v = u + half, t;
    for (size_t r = 0; r < half; r++) {
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) {
            t.v[i] = _mm256_sub_pd(u[r].v[i], v[r].v[i]);
            u[r].v[i] = _mm256_add_pd(u[r].v[i], v[r].v[i]);
        }
        if (carry) frx4_carry(&u[r]);
        if (root != NULL) {
            frx4_mul(&v[r], &t, root);
        } else {
            if (carry) frx4_carry(&t);
            v[r] = t;
        }
    }
}

static void ntt_lanes_split(const ntt_lanes *n) {
    frx4 x[1u << NTT_LANES_LEVELS], root;
    ntt_lanes_load(x, n);
    for (unsigned l = 0; l < n->levels; l++) {
        size_t half = (size_t)1 << (n->levels - 1 - l), j = 0;
        if (n->zero) {
            ntt_lanes_split_node(x, half, NULL, l == 3);
            j = 1;
        }
        for (; j < (size_t)1 << l; j++) {
            ntt_lanes_root(&root, n, l, j);
            ntt_lanes_split_node(x + 2 * half * j, half, &root, false);
        }
    }
    ntt_lanes_store(n, x);
}

static void ntt_lanes_join(const ntt_lanes *n) {
    frx4 x[1u << NTT_LANES_LEVELS], root;
    ntt_lanes_load(x, n);
    for (unsigned l = n->levels; l-- > 0;) {
        size_t half = (size_t)1 << (n->levels - 1 - l), j = 0;
        if (n->zero) {
            ntt_lanes_join_node(x, half, NULL, half == 8);
            j = 1;
        }
        for (; j < (size_t)1 << l; j++) {
            ntt_lanes_root(&root, n, l, j);
            ntt_lanes_join_node(x + 2 * half * j, half, &root, half == 8);
        }
    }
    ntt_lanes_store(n, x);
}

/* `columns` neighbours (4 or a multiple) of one node. */
static void ntt_lanes_columns(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node,
                              bool inverse, void (*work)(const ntt_lanes *n)) {
    double shared[1u << NTT_LANES_LEVELS][6];
    ntt_lanes n = {.stride = stride, .levels = levels, .shared = shared, .zero = node == 0};
    ntt_lanes_share(shared, roots, node, levels, inverse);
    for (size_t c = 0; c < columns; c += 4) {
        for (int i = 0; i < 4; i++) n.a[i] = a + c + i;
        work(&n);
    }
}

/* `count` neighbouring nodes (4 or a multiple) of one column. */
static void ntt_lanes_nodes(fr *a, unsigned levels, size_t count, const fr *roots, size_t node, bool inverse,
                            void (*work)(const ntt_lanes *n)) {
    ntt_lanes n = {.stride = 1, .levels = levels, .roots = roots, .inverse = inverse};
    for (size_t j = 0; j < count; j += 4) {
        for (size_t i = 0; i < 4; i++) {
            n.node[i] = node + j + i;
            n.a[i] = a + ((j + i) << levels);
        }
        work(&n);
    }
}

static void ntt_split_vector(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node,
                             bool inverse) {
    unsigned upper = levels / 2, lower = levels - upper;
    if (columns % 4 == 0 && levels >= 2 && levels <= NTT_LANES_LEVELS) {
        ntt_lanes_columns(a, stride, levels, columns, roots, node, inverse, ntt_lanes_split);
    } else if (columns == 1 && stride == 1 && levels >= 4 && lower <= NTT_LANES_LEVELS) {
        size_t nodes = (size_t)1 << upper, len = (size_t)1 << lower;
        ntt_lanes_columns(a, len, upper, len, roots, node, inverse, ntt_lanes_split);
        ntt_lanes_nodes(a, lower, nodes, roots, node << upper, inverse, ntt_lanes_split);
    } else {
        ntt_split(a, stride, levels, columns, roots, node, inverse);
    }
}

static void ntt_join_vector(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node,
                            bool inverse) {
    unsigned upper = levels / 2, lower = levels - upper;
    if (columns % 4 == 0 && levels >= 2 && levels <= NTT_LANES_LEVELS) {
        ntt_lanes_columns(a, stride, levels, columns, roots, node, inverse, ntt_lanes_join);
    } else if (columns == 1 && stride == 1 && levels >= 4 && lower <= NTT_LANES_LEVELS) {
        size_t nodes = (size_t)1 << upper, len = (size_t)1 << lower;
        ntt_lanes_nodes(a, lower, nodes, roots, node << upper, inverse, ntt_lanes_join);
        ntt_lanes_columns(a, len, upper, len, roots, node, inverse, ntt_lanes_join);
    } else {
        ntt_join(a, stride, levels, columns, roots, node, inverse);
    }
}
