/* The points of a proving key; see groth16/setup_points.h.
 *
 * With the values u, v, w of each variable's polynomials at tau:
 *   ic_i = (beta u + alpha v + w)/gamma for inputs, l_i the same over delta for auxiliary variables,
 *   h_j = tau^j (tau^m - 1)/delta for j < m - 1, a_i = u, b_i = v (in G1 and in G2).
 * Variables that the shape's densities say are absent have no point in a or b. A variable that is there and whose value
 * is zero nevertheless cannot be told from an absent one by a prover; at a random tau this does not happen, and it is
 * refused.
 *
 * A tile is a few thousand variables: scalars, fixed-base products with shared inversions, bytes, one positional write.
 */
#include "groth16/setup_points.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

#define TILE 2048u /* a multiple of 64, for the bitmaps */

typedef struct slot_scratch {
    fr_canon scalars[TILE];
    union {
        g1_affine g1[TILE];
        g2_affine g2[TILE];
    } points;
    uint8_t bytes[TILE * sizeof(g2_affine)];
    uint64_t bitmap[TILE / 64];
} slot_scratch;

/* One run over the inputs, or over the auxiliary variables (or powers of tau) of a section. */
typedef struct section_run {
    const setup_points *sp;
    params_section section;
    bool inputs;
    uint64_t items;
    fr divisor_inv, h_scale;
    g1_affine *ic_out;
    file_writer *w;
    uint64_t offset;
    pthread_mutex_t lock;
    cuzk_error *err;
    cuzk_status status; /* the first failure; under lock */
    atomic_bool failed;
} section_run;

static void run_fail(section_run *r, const cuzk_error *e) {
    pthread_mutex_lock(&r->lock);
    if (r->status == CUZK_OK) {
        r->status = e->status;
        *r->err = *e;
    }
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->failed, true);
}

/* (beta u + alpha v + w) / divisor of variable i of all. */
static void combined(const section_run *r, uint64_t i, fr *out) {
    const qap_values *q = r->sp->qap;
    fr t;
    fr_mul(out, &r->sp->trapdoor->beta, &q->column[0][i]);
    fr_mul(&t, &r->sp->trapdoor->alpha, &q->column[1][i]);
    fr_add(out, out, &t);
    fr_add(out, out, &q->column[2][i]);
    fr_mul(out, out, &r->divisor_inv);
}

static bool refuse_zero(section_run *r, const fr *value, uint64_t i) {
    if (!fr_is_zero(value)) return false;
    const char *kind = r->inputs ? "public input" : "auxiliary variable";
    cuzk_error e;
    if (r->section == PARAMS_L) {
        cuzk_fail(&e, CUZK_MALFORMED, "%s %" PRIu64 " is unconstrained", kind, i);
        cuzk_fail_expected(&e, "every variable in at least one constraint with a non-zero coefficient");
        cuzk_fail_hint(&e, "a proof would not bind it; remove the variable or constrain it");
    } else {
        cuzk_fail(&e, CUZK_MALFORMED, "the point of %s %" PRIu64 " in section %s is the identity for this trapdoor",
                  kind, i, params_section_name(r->section));
        cuzk_fail_hint(&e, "choose another trapdoor");
    }
    run_fail(r, &e);
    return true;
}

/* Scalars of the tile's points, in order; *first is the index of the first of them in the section. */
static size_t tile_scalars(section_run *r, uint64_t at, size_t n, slot_scratch *s, uint64_t *first) {
    const setup_points *sp = r->sp;
    const qap_values *q = sp->qap;
    uint64_t base = r->inputs ? 0 : q->n_inputs;
    fr value;
    *first = at;
    switch (r->section) {
    case PARAMS_H:
        fr_pow(&value, &sp->trapdoor->tau, &at, 1);
        fr_mul(&value, &value, &r->h_scale);
        for (size_t i = 0; i < n; i++) {
            fr_to_canon(&s->scalars[i], &value);
            fr_mul(&value, &value, &sp->trapdoor->tau);
        }
        return n;
    case PARAMS_IC:
    case PARAMS_L:
        for (size_t i = 0; i < n; i++) {
            combined(r, base + at + i, &value);
            if (refuse_zero(r, &value, at + i)) return 0;
            fr_to_canon(&s->scalars[i], &value);
        }
        return n;
    default: break;
    }
    bool is_a = r->section == PARAMS_A;
    const fr *column = q->column[is_a ? 0 : 1];
    if (!r->inputs) {
        shape_bitmap_kind kind = is_a ? SHAPE_A_DENSITY : SHAPE_B_DENSITY;
        shape_bitmap(sp->shape, kind, at, n, s->bitmap);
        *first = shape_rank(sp->shape, kind, at) + (is_a ? q->n_inputs : shape_counts(sp->shape).b_input_density);
    } else if (!is_a) {
        *first = 0;
        for (uint32_t i = 0; i < at; i++) *first += shape_input_in_b(sp->shape, i);
    }
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        bool there =
            !r->inputs ? s->bitmap[i / 64] >> (i % 64) & 1 : is_a || shape_input_in_b(sp->shape, (uint32_t)(at + i));
        if (!there) continue;
        if (refuse_zero(r, &column[base + at + i], at + i)) return 0;
        fr_to_canon(&s->scalars[out++], &column[base + at + i]);
    }
    return out;
}

static void section_tile(void *user, size_t tile, unsigned slot) {
    section_run *r = user;
    if (atomic_load_explicit(&r->failed, memory_order_relaxed)) return;
    slot_scratch *s = (slot_scratch *)r->sp->scratch.data + slot;
    uint64_t at = (uint64_t)tile * TILE, first;
    size_t n = r->items - at < TILE ? (size_t)(r->items - at) : TILE;
    n = tile_scalars(r, at, n, s, &first);
    if (n == 0) return;
    size_t width = params_point_bytes(r->section);
    if (r->section == PARAMS_B_G2) {
        fixed_base_g2_mul(r->sp->g2, s->points.g2, s->scalars, n);
        for (size_t i = 0; i < n; i++) g2_encode_uncompressed(s->bytes + i * width, &s->points.g2[i]);
    } else {
        fixed_base_g1_mul(r->sp->g1, s->points.g1, s->scalars, n);
        for (size_t i = 0; i < n; i++) g1_encode_uncompressed(s->bytes + i * width, &s->points.g1[i]);
    }
    if (r->section == PARAMS_IC) {
        memcpy(r->ic_out + first, s->points.g1, n * sizeof(g1_affine));
        return;
    }
    cuzk_error e;
    if (file_writer_pwrite(r->w, s->bytes, n * width, r->offset + first * width, &e) != CUZK_OK) run_fail(r, &e);
}

uint64_t setup_points_scratch_bytes(unsigned threads) {
    return (uint64_t)threads * sizeof(slot_scratch);
}

uint64_t setup_section_count(const shape *s, params_section section) {
    cs_counts n = shape_counts(s);
    switch (section) {
    case PARAMS_IC: return n.inputs;
    case PARAMS_H: return ((uint64_t)1 << shape_domain_log2(s)) - 1;
    case PARAMS_L: return n.aux;
    case PARAMS_A: return n.inputs + n.a_aux_density;
    default: return n.b_input_density + n.b_aux_density;
    }
}

static cuzk_status run_part(section_run *r, bool inputs, uint64_t items, const char *stage, pool *p,
                            const cuzk_control *control) {
    r->inputs = inputs;
    r->items = items;
    cuzk_status st = pool_run(p, control, stage, (size_t)((items + TILE - 1) / TILE), section_tile, r, r->err);
    return r->status != CUZK_OK ? r->status : st;
}

cuzk_status setup_section(const setup_points *sp, params_section section, g1_affine *ic_out, file_writer *w,
                          uint64_t offset, pool *p, const cuzk_control *control, cuzk_error *err) {
    static const char *const stages[PARAMS_SECTIONS] = {"key: ic", "key: h",    "key: l",
                                                        "key: a",  "key: b_g1", "key: b_g2"};
    section_run r = {.sp = sp, .section = section, .ic_out = ic_out, .w = w, .offset = offset, .err = err};
    const trapdoor *t = sp->trapdoor;
    fr_inv(&r.divisor_inv, section == PARAMS_IC ? &t->gamma : &t->delta);
    fr_mul(&r.h_scale, &sp->qap->vanishing, &r.divisor_inv);
    pthread_mutex_init(&r.lock, NULL);
    cuzk_status st = CUZK_OK;
    bool has_inputs = section != PARAMS_H && section != PARAMS_L;
    if (has_inputs) st = run_part(&r, true, sp->qap->n_inputs, stages[section], p, control);
    if (st == CUZK_OK && section != PARAMS_IC) {
        uint64_t items = section == PARAMS_H ? setup_section_count(sp->shape, section) : sp->qap->n_aux;
        st = run_part(&r, false, items, stages[section], p, control);
    }
    pthread_mutex_destroy(&r.lock);
    return st;
}
