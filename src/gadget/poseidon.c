/* Poseidon in a circuit.
 *
 * Every S-box makes variables for its input (when that is a combination), square, fourth and fifth power; matrices only
 * make combinations. Round 0 differs: the domain tag is a constant and stays one, and preimage elements are variables
 * already. In the partial rounds elements 1 to t-1 are never variables, so their combinations grow: over the t outputs
 * of the last full round and one output of each partial round. The coefficients depend on the constants alone; they are
 * worked out once for each width and kept (about 190 KiB for arity 11), which makes recording and hashing of large
 * circuits as cheap as reading a table.
 *
 * All variables are allocated first, in the order in which poseidon_trace gives their values, then come the
 * constraints.
 */
#include "gadget/poseidon.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define MAX_WIDTH 65
#define MAX_PARTIAL 61
#define MAX_TRACE (3 * 64 + 28 * MAX_WIDTH + 4 * MAX_PARTIAL + 1)

/* Basis: outputs of the S-boxes of full round 3, then of each partial round. */
typedef struct growth {
    const fr *sparse; /* the table is made from these; other instances may share an arity */
    fr *first;        /* partial round i: element 0 on entry, t + i coefficients, stride t + partial */
    fr *last;         /* after the partial rounds: t elements of t + partial coefficients */
} growth;

static fr *new_elements(size_t n) {
    fr *p = calloc(n, sizeof *p);
    if (p == NULL) abort();
    return p;
}

static void add_scaled(fr *to, const fr *from, const fr *k, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        fr p;
        fr_mul(&p, &from[i], k);
        fr_add(&to[i], &to[i], &p);
    }
}

static void make_growth(growth *g, const poseidon_constants *k) {
    const unsigned t = k->width, rp = k->partial_rounds, n = t + rp;
    g->sparse = k->sparse;
    g->first = new_elements((size_t)rp * n);
    g->last = new_elements((size_t)t * n);
    fr *e = g->last, *next = new_elements(n);
    for (unsigned j = 0; j < t; j++) {
        for (unsigned i = 0; i < t; i++) e[j * n + i] = k->pre_sparse[i * t + j];
    }
    for (unsigned round = 0; round < rp; round++) {
        const fr *w_hat = k->sparse + (size_t)round * (2 * t - 1), *v_rest = w_hat + t;
        memcpy(g->first + (size_t)round * n, e, n * sizeof *e);
        /* Element 0 goes through the S-box and becomes basis element t + round. */
        memset(next, 0, n * sizeof *next);
        next[t + round] = w_hat[0];
        for (unsigned j = 1; j < t; j++) {
            add_scaled(next, e + (size_t)j * n, &w_hat[j], t + round);
            e[(size_t)j * n + t + round] = v_rest[j - 1];
        }
        memcpy(e, next, n * sizeof *e);
    }
    free(next);
}

/* Kept until the process ends, like the constants. */
static const growth *growth_get(const poseidon_constants *k) {
    static growth table[MAX_WIDTH];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    growth *g = &table[k->arity];
    pthread_mutex_lock(&lock);
    if (g->sparse == NULL) make_growth(g, k);
    pthread_mutex_unlock(&lock);
    assert(g->sparse == k->sparse); /* poseidon_get's own constants, whatever the domain tag */
    return g;
}

/* Emits the constraints of one hash. `next` is the next variable of the trace, `constant` the next round constant. */
typedef struct emitter {
    cs *c;
    const poseidon_constants *k;
    cs_var next;
    const fr *constant;
    cs_var out[MAX_WIDTH]; /* outputs of the last S-box layer */
} emitter;

/* x * x = l2; l2 * l2 = l4; x * l4 = l5 - constant. Returns l5. */
static cs_var sbox(emitter *m, cs_var x, bool constant) {
    cs_var l2 = m->next, l4 = m->next + 1, l5 = m->next + 2;
    m->next += 3;
    lc_enforce_product(m->c, x, x, l2);
    lc_enforce_product(m->c, l2, l2, l4);
    if (!constant) {
        lc_enforce_product(m->c, x, l4, l5);
        return l5;
    }
    const fr *one = &lc_powers_get()->plus[0];
    fr minus;
    short_lc a, b, r;
    fr_neg(&minus, m->constant++);
    short_lc_init(&a);
    short_lc_init(&b);
    short_lc_init(&r);
    short_lc_add(&a, one, x);
    short_lc_add(&b, one, l4);
    short_lc_add(&r, &minus, CS_ONE);
    short_lc_add(&r, one, l5);
    cs_enforce(m->c, short_lc_get(&a), short_lc_get(&b), short_lc_get(&r));
    return l5;
}

/* A combination of n terms gets a variable: lc * 1 = v. Returns v. */
static cs_var name_lc(emitter *m, const cs_term *terms, unsigned n) {
    cs_lc lc = {.terms = (cs_term *)terms, .len = n, .cap = n};
    const fr *one = &lc_powers_get()->plus[0];
    short_lc b, r;
    short_lc_init(&b);
    short_lc_init(&r);
    short_lc_add(&b, one, CS_ONE);
    short_lc_add(&r, one, m->next);
    cs_enforce(m->c, &lc, short_lc_get(&b), short_lc_get(&r));
    return m->next++;
}

/* Round 0: (x + k) folded into the S-box. */
static void first_layer(emitter *m, const num *preimage) {
    const fr *one = &lc_powers_get()->plus[0];
    for (unsigned i = 1; i < m->k->width; i++) {
        cs_var l2 = m->next, l4 = m->next + 1, l5 = m->next + 2;
        fr minus;
        short_lc x, y, z, w;
        m->next += 3;
        fr_neg(&minus, m->constant++);
        short_lc_init(&x);
        short_lc_init(&y);
        short_lc_init(&z);
        short_lc_init(&w);
        short_lc_add(&x, &m->k->compressed[i], CS_ONE);
        short_lc_add(&x, one, preimage[i - 1].var);
        short_lc_add(&y, one, l2);
        cs_enforce(m->c, short_lc_get(&x), short_lc_get(&x), short_lc_get(&y));
        lc_enforce_product(m->c, l2, l2, l4);
        short_lc_add(&z, one, l4);
        short_lc_add(&w, &minus, CS_ONE);
        short_lc_add(&w, one, l5);
        cs_enforce(m->c, short_lc_get(&x), short_lc_get(&z), short_lc_get(&w));
        m->out[i] = l5;
    }
}

/* Column j of the matrix over the outputs of the last layer. `tag`: element 0 is that constant, not a variable. */
static void matrix_column(const emitter *m, cs_term *terms, const fr *matrix, unsigned j, const fr *tag) {
    unsigned t = m->k->width;
    for (unsigned i = 0; i < t; i++) {
        terms[i].coeff = matrix[i * t + j];
        terms[i].var = m->out[i];
    }
    if (tag == NULL) return;
    fr_mul(&terms[0].coeff, &terms[0].coeff, tag);
    terms[0].var = CS_ONE;
}

/* A full round on combinations: each gets a variable, then its S-box. */
static void full_layer(emitter *m, const fr *matrix, const fr *tag, bool constants) {
    unsigned t = m->k->width;
    cs_term terms[MAX_WIDTH];
    cs_var out[MAX_WIDTH];
    for (unsigned j = 0; j < t; j++) {
        matrix_column(m, terms, matrix, j, tag);
        out[j] = sbox(m, name_lc(m, terms, t), constants);
    }
    memcpy(m->out, out, t * sizeof *out);
}

static void partial_layers(emitter *m) {
    const growth *g = growth_get(m->k);
    const unsigned t = m->k->width, rp = m->k->partial_rounds, n = t + rp;
    cs_term terms[MAX_WIDTH + MAX_PARTIAL];
    for (unsigned i = 0; i < t; i++) terms[i].var = m->out[i];
    for (unsigned round = 0; round < rp; round++) {
        for (unsigned i = 0; i < t + round; i++) terms[i].coeff = g->first[(size_t)round * n + i];
        /* From the second round on the coefficient list starts at the full round's outputs just the same. */
        terms[t + round].var = sbox(m, name_lc(m, terms, t + round), true);
    }
    for (unsigned j = 0; j < t; j++) {
        for (unsigned i = 0; i < n; i++) terms[i].coeff = g->last[(size_t)j * n + i];
        m->out[j] = sbox(m, name_lc(m, terms, n), true);
    }
}

static void emit(cs *c, const poseidon_constants *k, const num *preimage, cs_var first) {
    emitter m = {.c = c, .k = k, .next = first, .constant = k->compressed + k->width};
    const uint64_t five = 5;
    fr tag;
    fr_add(&tag, &k->domain_tag, &k->compressed[0]);
    fr_pow(&tag, &tag, &five, 1);
    fr_add(&tag, &tag, m.constant++);
    first_layer(&m, preimage);
    full_layer(&m, k->mds, &tag, true);
    full_layer(&m, k->mds, NULL, true);
    full_layer(&m, k->mds, NULL, true);
    partial_layers(&m);
    full_layer(&m, k->mds, NULL, true);
    full_layer(&m, k->mds, NULL, true);
    full_layer(&m, k->mds, NULL, false);
    cs_term terms[MAX_WIDTH];
    matrix_column(&m, terms, k->mds, 1, NULL);
    name_lc(&m, terms, k->width);
    assert(m.next == first + poseidon_trace_len(k));
    assert(m.constant == k->compressed + k->n_compressed);
}

num poseidon_circuit(cs *c, const poseidon_constants *k, const num *preimage) {
    const unsigned n = poseidon_trace_len(k);
    fr trace[MAX_TRACE], values[MAX_WIDTH];
    num result;
    assert(k->width <= MAX_WIDTH && k->partial_rounds <= MAX_PARTIAL);
    if (c->values) {
        for (unsigned i = 0; i < k->arity; i++) values[i] = preimage[i].value;
        poseidon_trace(k, trace, values);
    } else {
        fr_set_zero(&trace[n - 1]);
    }
    cs_var first = 0;
    for (unsigned i = 0; i < n; i++) {
        cs_var v = cs_alloc(c, c->values ? &trace[i] : NULL);
        if (i == 0) first = v;
    }
    if (c->structure) emit(c, k, preimage, first);
    result.var = first + n - 1;
    result.value = trace[n - 1];
    return result;
}
