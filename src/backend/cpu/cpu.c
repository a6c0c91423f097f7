/* The CPU backend: one partition's proof on this machine's cores; see groth16/backend.h.
 *
 * Stages in the order that keeps least in memory: a, b, c are evaluated and checked (witness and 3 n elements), the
 * quotient is made in place (and the domain's twiddles), b and c go, the h sum is taken (n elements), a goes, then the
 * sums over l, a and b are taken from the witness, and the witness goes. What is left is five points: prove_start does
 * all the work, since it has the pool; prove_finish puts the proof together.
 *
 * Values of a lazy witness are made while they are read, copy by copy: once for a, b and c together, and once for each
 * list of scalars.
 *
 * Every stage leaves on cancellation with all buffers freed. Blinding is handled in variable time, as all scalars are
 * here: the machine is trusted by the prover.
 */
#include "backend/cpu/cpu.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/query.h"
#include "base/cpu.h"
#include "math/msm.h"

#define EVAL_TILE 4096u

/* ---- evaluation ---- */

typedef struct eval_run {
    fr *a, *b, *c;
    const shape *shape;
    const witness *witness;
    uint64_t rows;
    atomic_uint_fast64_t first_bad;
} eval_run;

static void eval_rows(eval_run *r, const witness *w, uint64_t first, uint64_t n) {
    if (atomic_load_explicit(&r->first_bad, memory_order_relaxed) < first) return;
    shape_eval(r->shape, MATRIX_A, w, first, n, r->a + first);
    shape_eval(r->shape, MATRIX_B, w, first, n, r->b + first);
    shape_eval(r->shape, MATRIX_C, w, first, n, r->c + first);
    for (uint64_t i = first; i < first + n; i++) {
        fr t;
        fr_mul(&t, &r->a[i], &r->b[i]);
        if (fr_eq(&t, &r->c[i])) continue;
        uint_fast64_t seen = atomic_load(&r->first_bad);
        while (i < seen && !atomic_compare_exchange_weak(&r->first_bad, &seen, i)) {
        }
        return;
    }
}

static void eval_tile(void *user, size_t tile, unsigned slot) {
    eval_run *r = user;
    uint64_t first = (uint64_t)tile * EVAL_TILE;
    (void)slot;
    eval_rows(r, r->witness, first, r->rows - first < EVAL_TILE ? r->rows - first : EVAL_TILE);
}

static void eval_copy(void *user, const witness *view, uint32_t copy, unsigned slot) {
    eval_run *r = user;
    shape_view v;
    (void)slot;
    shape_get_view(r->shape, &v);
    eval_rows(r, view, v.segment[1].first_row + copy * v.segment[1].rows, v.segment[1].rows);
}

/* A, B and C together, so that values are made once; the input constraints come after all copies. */
static cuzk_status eval_lazy(eval_run *r, pool *p, const cuzk_control *control, cuzk_error *err) {
    shape_view v;
    uint64_t own = shape_counts(r->shape).constraints;
    shape_get_view(r->shape, &v);
    cuzk_status st = witness_each_copy(r->witness, r->shape, 0, v.repeat, eval_copy, r, p, control, "evaluate", err);
    if (st == CUZK_OK) eval_rows(r, r->witness, own, r->rows - own);
    return st;
}

cuzk_status cpu_evaluate(fr *a, fr *b, fr *c, const shape *s, const witness *w, pool *p, const cuzk_control *control,
                         cuzk_error *err) {
    eval_run r = {.a = a, .b = b, .c = c, .shape = s, .witness = w, .rows = shape_rows(s)};
    atomic_init(&r.first_bad, UINT64_MAX);
    size_t tiles = (size_t)((r.rows + EVAL_TILE - 1) / EVAL_TILE);
    cuzk_status st = witness_is_lazy(w) ? eval_lazy(&r, p, control, err)
                                        : pool_run(p, control, "evaluate", tiles, eval_tile, &r, err);
    uint64_t bad = atomic_load(&r.first_bad);
    if (st != CUZK_OK || bad == UINT64_MAX) return st;
    cuzk_fail(err, CUZK_UNSATISFIED, "the witness does not satisfy constraint %" PRIu64, bad);
    cuzk_fail_where(err, "constraint %" PRIu64 " of %" PRIu64, bad, shape_counts(s).constraints);
    return cuzk_fail_expected(err, "A * B = C");
}

/* ---- start ---- */

static double lap(double *since) {
    double now = cpu_monotonic_seconds(), took = now - *since;
    *since = now;
    return took;
}

/* What the proof may hold from now on is told as it falls. */
static void tell(const prove_request *q, uint64_t *told, uint64_t now) {
    if (!q->holds || now >= *told) return;
    *told = now;
    q->holds(q->holds_user, now);
}

/* From the witness to the sum over h. */
static cuzk_status quotient_sum(pending_proof *d, const prove_request *q, const cpu_holds *holds, uint64_t *told,
                                pool *p, const cuzk_control *control, cuzk_error *err) {
    unsigned log2 = shape_domain_log2(q->shape);
    size_t m = (size_t)1 << log2;
    buffer v[3] = {{0}};
    ntt_domain *domain = NULL;
    double t = cpu_monotonic_seconds();
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 3; i++) {
        st = buffer_alloc_array(&v[i], BUFFER_EVAL_ABC, m, sizeof(fr), err);
        if (st != CUZK_OK) goto done;
    }
    st = cpu_evaluate(v[0].data, v[1].data, v[2].data, q->shape, q->witness, p, control, err);
    d->times.eval = lap(&t);
    if (st == CUZK_OK) st = ntt_domain_create(&domain, log2, &q->key->root, p, err);
    if (st == CUZK_OK) st = ntt_quotient(domain, v[0].data, v[1].data, v[2].data, true, p, control, err);
    ntt_domain_destroy(domain);
    buffer_free(&v[2]);
    buffer_free(&v[1]);
    if (st == CUZK_OK) tell(q, told, holds->after_quotient);
    d->times.ntt = lap(&t);
    if (st == CUZK_OK) st = msm_g1(&d->sums.h, q->key->h, NULL, v[0].data, m - 1, p, control, "h MSM", err);
    d->times.msm_h = lap(&t);
done:
    for (int i = 0; i < 3; i++) buffer_free(&v[i]);
    if (st == CUZK_OK) tell(q, told, holds->after_h);
    return st;
}

/* The sums over l, a, b_g1, b_g2. */
static cuzk_status witness_sums(pending_proof *d, const prove_request *q, pool *p, const cuzk_control *control,
                                cuzk_error *err) {
    query_work w;
    double t = cpu_monotonic_seconds();
    cuzk_status st = query_work_create(&w, q->shape, q->witness, p ? pool_threads(p) : 1, err);
    if (st != CUZK_OK) return st;
    st = query_list(&w, QUERY_L, p, control, "l MSM", err);
    if (st == CUZK_OK) st = query_sum_g1(&d->sums.l, &w, QUERY_L, q->key->l, p, control, "l MSM", err);
    d->times.msm_l = lap(&t);
    if (st != CUZK_OK) goto done;
    st = query_list(&w, QUERY_A, p, control, "a MSM", err);
    if (st == CUZK_OK) st = query_sum_g1(&d->sums.a, &w, QUERY_A, q->key->a, p, control, "a MSM", err);
    d->times.msm_a = lap(&t);
    if (st != CUZK_OK) goto done;
    st = query_list(&w, QUERY_B, p, control, "b_g1 MSM", err);
    if (st == CUZK_OK) st = query_sum_g1(&d->sums.b_g1, &w, QUERY_B, q->key->b_g1, p, control, "b_g1 MSM", err);
    d->times.msm_b_g1 = lap(&t);
    if (st != CUZK_OK) goto done;
    st = query_sum_g2(&d->sums.b_g2, &w, QUERY_B, q->key->b_g2, p, control, "b_g2 MSM", err);
    d->times.msm_b_g2 = lap(&t);
done:
    query_work_free(&w);
    return st;
}

static cuzk_status check_witness(const prove_request *q, cuzk_error *err) {
    cs_counts n = shape_counts(q->shape);
    const witness *w = q->witness;
    uint64_t fields = shape_fields(q->shape);
    if (w->n_inputs == n.inputs && w->n_aux == n.aux && w->n_fields == fields) {
        if (fr_is_one(&w->inputs[0])) return CUZK_OK; /* evaluation takes ONE for granted, the sums do not */
        return cuzk_fail(err, CUZK_UNSATISFIED, "the witness's first input is not one");
    }
    cuzk_fail(err, CUZK_FOREIGN, "the witness belongs to another circuit");
    cuzk_fail_expected(err, "%" PRIu64 " inputs, %" PRIu64 " auxiliary variables, %" PRIu64 " of them field elements",
                       n.inputs, n.aux, fields);
    return cuzk_fail_found(err, "%" PRIu32 ", %" PRIu64 ", %" PRIu64, w->n_inputs, w->n_aux, w->n_fields);
}

static void cpu_abandon(pending_proof *d) {
    if (!d) return;
    buffer self = d->self; /* freeing wipes the proof's blinding with it */
    buffer_free(&self);
}

static cuzk_status cpu_start(unsigned device, pending_proof **out, prove_request *req, pool *p,
                             const cuzk_control *control, cuzk_error *err) {
    (void)device;
    pending_proof *d = NULL;
    buffer self = {0};
    cpu_holds holds = cpu_holds_of(req->shape, p ? pool_threads(p) : 1);
    uint64_t told = holds.all;
    *out = NULL;
    cuzk_status st = proving_key_fits(req->key, req->shape, err);
    if (st == CUZK_OK && !proving_key_on_host(req->key))
        st = cuzk_fail(err, CUZK_USAGE, "the key's points are not on the host");
    if (st == CUZK_OK) st = check_witness(req, err);
    if (st == CUZK_OK) st = buffer_alloc(&self, BUFFER_WITNESS, sizeof *d, err);
    if (st != CUZK_OK) goto done;
    d = self.data;
    d->self = self;
    d->key = req->key;
    d->r = req->r;
    d->s = req->s;
    double start = cpu_monotonic_seconds();
    st = quotient_sum(d, req, &holds, &told, p, control, err);
    if (st == CUZK_OK) st = witness_sums(d, req, p, control, err);
    d->times.total = cpu_monotonic_seconds() - start;
done:
    witness_free(req->witness);
    if (st == CUZK_OK) {
        tell(req, &told, holds.after_witness);
        *out = d;
    } else {
        cpu_abandon(d);
    }
    return st;
}

/* ---- finish ---- */

static cuzk_status cpu_finish(pending_proof *d, groth16_proof *out, prove_times *times, cuzk_error *err) {
    (void)err;
    double start = cpu_monotonic_seconds();
    groth16_assemble(out, &d->key->vk, &d->sums, &d->r, &d->s);
    d->times.finish = cpu_monotonic_seconds() - start;
    d->times.total += d->times.finish;
    if (times) *times = d->times;
    cpu_abandon(d);
    return CUZK_OK;
}

static unsigned cpu_device_count(void) {
    return 1;
}

static cuzk_status cpu_device_info(unsigned device, backend_device_info *out, cuzk_error *err) {
    if (device != 0) return cuzk_fail(err, CUZK_USAGE, "there is only one CPU device, number 0");
    const cpu_facts *f = cpu_get();
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s, %u threads", f->model, f->threads);
    uint64_t used = cpu_rss_bytes();
    out->memory_bytes = f->memory_bytes;
    out->free_bytes = f->memory_bytes > used ? f->memory_bytes - used : 0;
    return CUZK_OK;
}

const backend *backend_cpu(void) {
    static const backend b = {
        .version = BACKEND_VERSION,
        .name = "cpu",
        .own_machine = true,
        .lazy_witness = true,
        .device_count = cpu_device_count,
        .device_info = cpu_device_info,
        .plan = cpu_plan,
        .prove_start = cpu_start,
        .prove_finish = cpu_finish,
        .prove_abandon = cpu_abandon,
    };
    return &b;
}
