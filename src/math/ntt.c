/* Number-theoretic transforms: how the levels' work is laid over memory and threads.
 *
 * Transforms go from natural to bit-reversed order (split) or back (join); the kernels do the levels
 * (math/kernels/ntt_kernels.c). The top levels, whose partners are far apart, are done in column passes: up to 2^8 rows
 * of 8 neighbouring elements are copied into a buffer that stays in the cache, taken through up to 8 levels, and
 * written back. What is left are blocks of 2^14 neighbours that fit the L2 cache. So 2^22 elements cross the memory bus
 * twice a transform, 2^30 three times.
 *
 * The quotient needs no reordering between its transforms: coefficients stay in bit-reversed order, where the shift by
 * g is a multiplication with mirrored powers. c needs no second transform: with P = A B mod X^n - g^n (the inverse
 * transform on the coset), h (X^n - 1) = A B - C gives h (g^n - 1) = P - C. Docs: docs/math/ntt.md.
 */
#include "math/ntt.h"

#include <assert.h>
#include "math/ntt_domain.h"

#define NTT_BLOCK_LOG2 14u
#define NTT_COLUMN_LEVELS 8u
#define NTT_COLUMNS 8u
#define NTT_TILE_LOG2 16u  /* elements of one pool tile, about */
#define NTT_SQUARE_LOG2 5u /* bit reversal works on squares of 32 x 32 */

/* Column pass i: levels[i] levels below depth[i]. */
typedef struct {
    unsigned count, depth[4], levels[4];
} ntt_passes;

typedef enum { NTT_SPLIT, NTT_JOIN, NTT_PRODUCT } ntt_column_work;
typedef enum {
    NTT_BLOCK_PLAIN,   /* split a */
    NTT_BLOCK_SCALE,   /* ... and times 1/n */
    NTT_BLOCK_UNSHIFT, /* ... and times g^-i / n */
    NTT_BLOCK_COSET,   /* a, b: split with the inverse root, times g^i / n, join; c: split */
    NTT_BLOCK_COMBINE, /* split a with the inverse root, a = (a g^-i - c) / (n (g^n - 1)) */
} ntt_block_work;

typedef struct {
    const ntt_domain *d;
    const struct ntt_kernels *kernels;
    pool *p;
    const cuzk_control *control;
    const char *stage;
    fr *a, *b, *c;
    bool inverse, canonical;
    unsigned passes, passed; /* pool runs in all and so far, which count alike in progress */
    /* of the pass at hand */
    ntt_column_work column_work;
    ntt_block_work block_work;
    unsigned depth, levels, block_log2;
    size_t units, units_per_tile;
} ntt_job;

static ntt_passes ntt_plan(unsigned log2) {
    ntt_passes p = {0};
    unsigned left = log2 > NTT_BLOCK_LOG2 ? log2 - NTT_BLOCK_LOG2 : 0, depth = 0;
    p.count = (left + NTT_COLUMN_LEVELS - 1) / NTT_COLUMN_LEVELS;
    for (unsigned i = 0; i < p.count; i++) {
        p.depth[i] = depth;
        p.levels[i] = left / (p.count - i);
        depth += p.levels[i];
        left -= p.levels[i];
    }
    return p;
}

static void ntt_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
    const ntt_job *job = user;
    job->control->progress(job->control->user, stage, job->passed * total + done, job->passes * total);
}

static cuzk_status ntt_run(ntt_job *job, size_t units, unsigned unit_log2, pool_tile fn, cuzk_error *err) {
    job->units = units;
    job->units_per_tile = unit_log2 < NTT_TILE_LOG2 ? (size_t)1 << (NTT_TILE_LOG2 - unit_log2) : 1;
    size_t tiles = (units + job->units_per_tile - 1) / job->units_per_tile;
    const cuzk_control *control = job->control;
    cuzk_control scaled;
    if (control && control->progress) {
        scaled = (cuzk_control){.cancel = control->cancel, .progress = ntt_progress, .user = job};
        control = &scaled;
    }
    cuzk_status s = pool_run(job->p, control, job->stage, tiles, fn, job, err);
    job->passed++;
    return s;
}

/* ---- column passes ---- */

static void ntt_load(fr *buf, const fr *a, size_t stride, size_t rows) {
    for (size_t r = 0; r < rows; r++) memcpy(buf + r * NTT_COLUMNS, a + r * stride, NTT_COLUMNS * sizeof *a);
}

static void ntt_store(fr *a, const fr *buf, size_t stride, size_t rows) {
    for (size_t r = 0; r < rows; r++) memcpy(a + r * stride, buf + r * NTT_COLUMNS, NTT_COLUMNS * sizeof *a);
}

static void ntt_column_unit(const ntt_job *job, size_t unit) {
    fr buf[NTT_COLUMNS << NTT_COLUMN_LEVELS];
    const fr *roots = job->d->roots;
    unsigned levels = job->levels, node_log2 = job->d->log2 - job->depth;
    size_t stride = (size_t)1 << (node_log2 - levels), groups = stride / NTT_COLUMNS, rows = (size_t)1 << levels;
    size_t node = unit / groups, at = (node << node_log2) + unit % groups * NTT_COLUMNS;
    ntt_load(buf, job->a + at, stride, rows);
    switch (job->column_work) {
    case NTT_SPLIT: job->kernels->split(buf, NTT_COLUMNS, levels, NTT_COLUMNS, roots, node, job->inverse); break;
    case NTT_JOIN: job->kernels->join(buf, NTT_COLUMNS, levels, NTT_COLUMNS, roots, node, job->inverse); break;
    case NTT_PRODUCT: {
        fr other[NTT_COLUMNS << NTT_COLUMN_LEVELS];
        ntt_load(other, job->b + at, stride, rows);
        job->kernels->join(buf, NTT_COLUMNS, levels, NTT_COLUMNS, roots, node, false);
        job->kernels->join(other, NTT_COLUMNS, levels, NTT_COLUMNS, roots, node, false);
        job->kernels->multiply(buf, other, rows * NTT_COLUMNS);
        job->kernels->split(buf, NTT_COLUMNS, levels, NTT_COLUMNS, roots, node, true);
        break;
    }
    }
    ntt_store(job->a + at, buf, stride, rows);
}

static void ntt_column_tile(void *ctx, size_t tile, unsigned slot) {
    const ntt_job *job = ctx;
    (void)slot;
    for (size_t u = tile * job->units_per_tile; u < (tile + 1) * job->units_per_tile && u < job->units; u++) {
        ntt_column_unit(job, u);
    }
}

static cuzk_status ntt_columns(ntt_job *job, fr *a, ntt_column_work work, unsigned depth, unsigned levels,
                               cuzk_error *err) {
    fr *kept = job->a;
    job->a = a;
    job->column_work = work;
    job->depth = depth;
    job->levels = levels;
    size_t units = ((size_t)1 << (job->d->log2 - levels)) / NTT_COLUMNS;
    cuzk_status s = ntt_run(job, units, levels + 3, ntt_column_tile, err);
    job->a = kept;
    return s;
}

/* ---- blocks ---- */

/* The powers' factor for position `at`, times extra; *run and *len: the stretch of neighbours that it serves. */
static fr ntt_power_run(const ntt_powers *powers, size_t at, size_t left, const fr *extra, const fr **run,
                        size_t *len) {
    size_t run_len = (size_t)1 << powers->run_log2, offset = at & (run_len - 1);
    fr factor;
    fr_mul(&factor, &powers->factor[at >> powers->run_log2], extra);
    *run = powers->run + offset;
    *len = run_len - offset < left ? run_len - offset : left;
    return factor;
}

static void ntt_block_coset(const ntt_job *job, size_t block, size_t at, size_t n) {
    const struct ntt_kernels *k = job->kernels;
    const fr *roots = job->d->roots;
    fr *a = job->a + at, *b = job->b + at;
    k->split(a, 1, job->block_log2, 1, roots, block, true);
    k->split(b, 1, job->block_log2, 1, roots, block, true);
    for (size_t i = 0, len; i < n; i += len) {
        const fr *run;
        fr factor = ntt_power_run(&job->d->shift_reversed, at + i, n - i, &job->d->n_inv, &run, &len);
        k->scale_two(a + i, b + i, run, &factor, len);
    }
    k->join(a, 1, job->block_log2, 1, roots, block, false);
    k->join(b, 1, job->block_log2, 1, roots, block, false);
    k->split(job->c + at, 1, job->block_log2, 1, roots, block, true);
}

/* With a factor in canonical form the products, too, are canonical. */
static void ntt_block_combine(const ntt_job *job, size_t at, size_t n) {
    fr extra, c_factor;
    fr_mul(&extra, &job->d->n_inv, &job->d->vanishing_inv);
    if (job->canonical) {
        fr_canon canon;
        fr_to_canon(&canon, &extra);
        memcpy(&extra, &canon, sizeof extra);
    }
    c_factor = extra;
    for (size_t i = 0, len; i < n; i += len) {
        const fr *run;
        fr factor = ntt_power_run(&job->d->unshift_reversed, at + i, n - i, &extra, &run, &len);
        job->kernels->combine(job->a + at + i, job->c + at + i, run, &factor, &c_factor, len);
    }
}

static void ntt_block_unit(const ntt_job *job, size_t block) {
    const ntt_domain *d = job->d;
    size_t n = (size_t)1 << job->block_log2, at = block << job->block_log2;
    fr *a = job->a + at;
    if (job->block_work == NTT_BLOCK_COSET) {
        ntt_block_coset(job, block, at, n);
        return;
    }
    job->kernels->split(a, 1, job->block_log2, 1, d->roots, block, job->inverse);
    if (job->block_work == NTT_BLOCK_SCALE) job->kernels->mul_constant(a, a, &d->n_inv, n);
    if (job->block_work == NTT_BLOCK_COMBINE) ntt_block_combine(job, at, n);
    if (job->block_work == NTT_BLOCK_UNSHIFT) {
        for (size_t i = 0, len; i < n; i += len) {
            const fr *run;
            fr factor = ntt_power_run(&d->unshift_reversed, at + i, n - i, &d->n_inv, &run, &len);
            job->kernels->scale(a + i, run, &factor, len);
        }
    }
}

static void ntt_block_tile(void *ctx, size_t tile, unsigned slot) {
    const ntt_job *job = ctx;
    (void)slot;
    for (size_t u = tile * job->units_per_tile; u < (tile + 1) * job->units_per_tile && u < job->units; u++) {
        ntt_block_unit(job, u);
    }
}

static cuzk_status ntt_blocks(ntt_job *job, ntt_block_work work, cuzk_error *err) {
    job->block_work = work;
    job->block_log2 = job->d->log2 < NTT_BLOCK_LOG2 ? job->d->log2 : NTT_BLOCK_LOG2;
    return ntt_run(job, (size_t)1 << (job->d->log2 - job->block_log2), job->block_log2, ntt_block_tile, err);
}

/* ---- bit reversal ---- */

/* The square of middle bits m: rows are the top bits, columns the lowest. Squares m and reverse(m) change places,
 * each transposed with both its indices mirrored. */
static void ntt_reverse_square(fr *a, unsigned log2, unsigned q, size_t m) {
    fr x[1u << 2 * NTT_SQUARE_LOG2], y[1u << 2 * NTT_SQUARE_LOG2];
    size_t side = (size_t)1 << q, other = ntt_reverse(m, log2 - 2 * q), rev[1u << NTT_SQUARE_LOG2];
    if (m > other) return;
    for (size_t i = 0; i < side; i++) rev[i] = ntt_reverse(i, q);
    for (size_t h = 0; h < side; h++) {
        memcpy(x + h * side, a + (h << (log2 - q)) + (m << q), side * sizeof *a);
        memcpy(y + h * side, a + (h << (log2 - q)) + (other << q), side * sizeof *a);
    }
    for (size_t h = 0; h < side; h++) {
        fr *to_other = a + (h << (log2 - q)) + (other << q), *to_m = a + (h << (log2 - q)) + (m << q);
        for (size_t l = 0; l < side; l++) to_other[l] = x[rev[l] * side + rev[h]];
        if (m == other) continue;
        for (size_t l = 0; l < side; l++) to_m[l] = y[rev[l] * side + rev[h]];
    }
}

static unsigned ntt_square_log2(unsigned log2) {
    return log2 / 2 < NTT_SQUARE_LOG2 ? log2 / 2 : NTT_SQUARE_LOG2;
}

static void ntt_reverse_tile(void *ctx, size_t tile, unsigned slot) {
    const ntt_job *job = ctx;
    (void)slot;
    for (size_t u = tile * job->units_per_tile; u < (tile + 1) * job->units_per_tile && u < job->units; u++) {
        ntt_reverse_square(job->a, job->d->log2, ntt_square_log2(job->d->log2), u);
    }
}

static cuzk_status ntt_reorder(ntt_job *job, cuzk_error *err) {
    unsigned q = ntt_square_log2(job->d->log2);
    return ntt_run(job, (size_t)1 << (job->d->log2 - 2 * q), 2 * q, ntt_reverse_tile, err);
}

/* ---- whole transforms ---- */

static void ntt_shift_tile(void *ctx, size_t tile, unsigned slot) {
    const ntt_job *job = ctx;
    const ntt_powers *shift = &job->d->shift;
    (void)slot;
    for (size_t u = tile * job->units_per_tile; u < (tile + 1) * job->units_per_tile && u < job->units; u++) {
        job->kernels->scale(job->a + (u << shift->run_log2), shift->run, &shift->factor[u],
                            (size_t)1 << shift->run_log2);
    }
}

static cuzk_status ntt_transform(const ntt_domain *d, fr *a, bool inverse, bool coset, pool *p, const cuzk_control *c,
                                 const char *stage, cuzk_error *err) {
    ntt_job job = {
        .d = d, .kernels = math_kernels()->ntt, .p = p, .control = c, .stage = stage, .a = a, .inverse = inverse};
    ntt_passes plan = ntt_plan(d->log2);
    cuzk_status s = CUZK_OK;
    if (d->log2 == 0) return CUZK_OK;
    job.passes = plan.count + 2 + (coset && !inverse);
    if (coset && !inverse) {
        unsigned run = d->shift.run_log2;
        s = ntt_run(&job, (size_t)1 << (d->log2 - run), run, ntt_shift_tile, err);
    }
    for (unsigned i = 0; i < plan.count && s == CUZK_OK; i++) {
        s = ntt_columns(&job, a, NTT_SPLIT, plan.depth[i], plan.levels[i], err);
    }
    if (s == CUZK_OK) {
        s = ntt_blocks(&job, !inverse ? NTT_BLOCK_PLAIN : coset ? NTT_BLOCK_UNSHIFT : NTT_BLOCK_SCALE, err);
    }
    if (s == CUZK_OK) s = ntt_reorder(&job, err);
    return s;
}

cuzk_status ntt_forward(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage,
                        cuzk_error *err) {
    return ntt_transform(d, a, false, false, p, c, stage, err);
}
cuzk_status ntt_inverse(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage,
                        cuzk_error *err) {
    return ntt_transform(d, a, true, false, p, c, stage, err);
}
cuzk_status ntt_coset_forward(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage,
                              cuzk_error *err) {
    return ntt_transform(d, a, false, true, p, c, stage, err);
}
cuzk_status ntt_coset_inverse(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage,
                              cuzk_error *err) {
    return ntt_transform(d, a, true, true, p, c, stage, err);
}

/* The product on the coset: the last column pass up for a and b, and the first one down for a, in one visit. */
static cuzk_status ntt_quotient_product(ntt_job *job, const ntt_passes *plan, cuzk_error *err) {
    cuzk_status s = CUZK_OK;
    if (plan->count == 0) { /* the coset values lie in natural order in one block */
        job->kernels->multiply(job->a, job->b, (size_t)1 << job->d->log2);
        return CUZK_OK;
    }
    job->inverse = false;
    for (unsigned i = plan->count; i-- > 1 && s == CUZK_OK;) {
        s = ntt_columns(job, job->a, NTT_JOIN, plan->depth[i], plan->levels[i], err);
        if (s == CUZK_OK) s = ntt_columns(job, job->b, NTT_JOIN, plan->depth[i], plan->levels[i], err);
    }
    if (s == CUZK_OK) s = ntt_columns(job, job->a, NTT_PRODUCT, plan->depth[0], plan->levels[0], err);
    job->inverse = true;
    for (unsigned i = 1; i < plan->count && s == CUZK_OK; i++) {
        s = ntt_columns(job, job->a, NTT_SPLIT, plan->depth[i], plan->levels[i], err);
    }
    return s;
}

cuzk_status ntt_quotient(const ntt_domain *d, fr *a, fr *b, fr *c, bool canonical, pool *p, const cuzk_control *ctl,
                         cuzk_error *err) {
    ntt_job job = {.d = d,
                   .kernels = math_kernels()->ntt,
                   .p = p,
                   .control = ctl,
                   .stage = "quotient",
                   .a = a,
                   .b = b,
                   .c = c,
                   .inverse = true,
                   .canonical = canonical};
    ntt_passes plan = ntt_plan(d->log2);
    fr *inputs[3] = {a, b, c};
    cuzk_status s = CUZK_OK;
    job.passes = plan.count > 0 ? 6 * plan.count + 1 : 3;
    for (int x = 0; x < 3; x++) {
        for (unsigned i = 0; i < plan.count && s == CUZK_OK; i++) {
            s = ntt_columns(&job, inputs[x], NTT_SPLIT, plan.depth[i], plan.levels[i], err);
        }
    }
    if (s == CUZK_OK) s = ntt_blocks(&job, NTT_BLOCK_COSET, err);
    if (s == CUZK_OK) s = ntt_quotient_product(&job, &plan, err);
    if (s == CUZK_OK) s = ntt_blocks(&job, NTT_BLOCK_COMBINE, err);
    if (s == CUZK_OK) s = ntt_reorder(&job, err);
    return s;
}
