/* The circuit's polynomials at tau; see groth16/qap.h.
 *
 * The Lagrange polynomial of domain point w^j at tau is (tau^m - 1)/m * w^j / (tau - w^j); the denominators of a tile
 * are inverted together. Column i of a matrix at tau is then the sum over rows j of entry (j, i) times that value: one
 * walk over the non-zeros, done for the three matrices at the same time on three threads at most. The input constraints
 * that follow the circuit's own (Input(i) * 0 = 0) give A one more entry for each input.
 *
 * Source: Groth, "On the size of pairing-based non-interactive arguments" (2016); docs/math/groth16.md.
 */
#include "groth16/qap.h"

#define LAGRANGE_TILE 1024u

static void pow_u64(fr *r, const fr *a, uint64_t e) {
    fr_pow(r, a, &e, 1);
}

typedef struct lagrange_ctx {
    fr *out;
    uint64_t rows;
    fr omega, tau, scale; /* scale = (tau^m - 1)/m */
} lagrange_ctx;

static void lagrange_tile(void *user, size_t tile, unsigned slot) {
    (void)slot;
    lagrange_ctx *c = user;
    uint64_t first = (uint64_t)tile * LAGRANGE_TILE;
    size_t n = c->rows - first < LAGRANGE_TILE ? (size_t)(c->rows - first) : LAGRANGE_TILE;
    fr denominator[LAGRANGE_TILE], scratch[LAGRANGE_TILE], w;
    pow_u64(&w, &c->omega, first);
    for (size_t i = 0; i < n; i++) {
        fr_sub(&denominator[i], &c->tau, &w);
        fr_mul(&c->out[first + i], &w, &c->scale);
        fr_mul(&w, &w, &c->omega);
    }
    fr_batch_inv(denominator, n, scratch);
    for (size_t i = 0; i < n; i++) fr_mul(&c->out[first + i], &c->out[first + i], &denominator[i]);
}

typedef struct columns_ctx {
    const shape *shape;
    const fr *lagrange;
    qap_values *out;
    uint64_t constraints;
} columns_ctx;

typedef struct column_sink {
    fr *column;
    uint32_t n_inputs;
} column_sink;

static void add_term(void *user, cs_var var, const fr *value) {
    column_sink *s = user;
    fr *at = var & CS_INPUT ? &s->column[var & ~CS_INPUT] : &s->column[(uint64_t)s->n_inputs + var];
    fr_add(at, at, value);
}

static void columns_tile(void *user, size_t matrix, unsigned slot) {
    (void)slot;
    columns_ctx *c = user;
    column_sink sink = {c->out->column[matrix], c->out->n_inputs};
    shape_transposed(c->shape, (shape_matrix)matrix, c->lagrange, 0, c->constraints, add_term, &sink);
    if (matrix != MATRIX_A) return;
    for (uint32_t i = 0; i < c->out->n_inputs; i++) {
        fr_add(&sink.column[i], &sink.column[i], &c->lagrange[c->constraints + i]);
    }
}

uint64_t qap_bytes(const shape *s) {
    cs_counts n = shape_counts(s);
    return 3 * (n.inputs + n.aux) * sizeof(fr);
}

uint64_t qap_peak_bytes(const shape *s) {
    return qap_bytes(s) + shape_rows(s) * sizeof(fr);
}

cuzk_status qap_evaluate(qap_values *out, const shape *s, const fr *tau, const ntt_root *root, pool *p,
                         const cuzk_control *control, cuzk_error *err) {
    cs_counts counts = shape_counts(s);
    unsigned log2 = shape_domain_log2(s);
    uint64_t n = counts.inputs + counts.aux, m = (uint64_t)1 << log2;
    *out = (qap_values){.n_inputs = (uint32_t)counts.inputs, .n_aux = counts.aux};
    buffer lagrange = {0};
    fr one, t;
    fr_set_one(&one);
    pow_u64(&out->vanishing, tau, m);
    fr_sub(&out->vanishing, &out->vanishing, &one);
    if (fr_is_zero(&out->vanishing)) {
        cuzk_fail(err, CUZK_MALFORMED, "the trapdoor's tau is a point of the domain");
        cuzk_fail_expected(err, "tau^%llu different from 1", (unsigned long long)m);
        return cuzk_fail_hint(err, "choose another tau");
    }
    cuzk_status st = buffer_alloc_array(&out->memory, BUFFER_SETUP, (size_t)n, 3 * sizeof(fr), err);
    if (st == CUZK_OK) st = buffer_alloc_array(&lagrange, BUFFER_SETUP, (size_t)shape_rows(s), sizeof(fr), err);
    if (st != CUZK_OK) goto done;
    for (int i = 0; i < 3; i++) out->column[i] = (fr *)out->memory.data + (uint64_t)i * n;

    lagrange_ctx lc = {.out = lagrange.data, .rows = shape_rows(s), .omega = root->omega_2_32, .tau = *tau};
    for (unsigned i = log2; i < 32; i++) fr_sqr(&lc.omega, &lc.omega);
    fr_from_u64(&t, m);
    fr_inv(&t, &t);
    fr_mul(&lc.scale, &out->vanishing, &t);
    st = pool_run(p, control, "key: Lagrange values", (size_t)((lc.rows + LAGRANGE_TILE - 1) / LAGRANGE_TILE),
                  lagrange_tile, &lc, err);
    if (st != CUZK_OK) goto done;

    columns_ctx cc = {s, lagrange.data, out, counts.constraints};
    st = pool_run(p, control, "key: columns", 3, columns_tile, &cc, err);
done:
    buffer_free(&lagrange);
    if (st != CUZK_OK) qap_free(out);
    return st;
}

void qap_free(qap_values *q) {
    buffer_free(&q->memory);
    memset(q, 0, sizeof *q);
}
