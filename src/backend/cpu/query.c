/* Sums over a key's queries weighted by the witness; see backend/cpu/query.h.
 *
 * Where the base of a variable is: L has one for each auxiliary variable; A one for each input, then one for each
 * auxiliary variable of its density; B one for each input of its density, then for each auxiliary variable of its
 * density. The density's rank gives the index.
 */
#include "backend/cpu/query.h"

#include "math/msm.h"

#define TILE 16384u /* auxiliary variables; a multiple of 64 */
#define WORDS (TILE / 64)

typedef struct slot_scratch {
    union {
        g1 g1;
        g2 g2;
    } sum;
    uint64_t density[WORDS];
    uint32_t index[TILE];
} slot_scratch;

static size_t round64(size_t n) {
    return (n + 63) & ~(size_t)63;
}

static size_t slot_bytes(void) {
    size_t s1 = msm_sum_g1_scratch_bytes(TILE), s2 = msm_sum_g2_scratch_bytes(TILE);
    return round64(sizeof(slot_scratch)) + round64(s1 > s2 ? s1 : s2);
}

static size_t list_capacity(const shape *s) {
    return (size_t)(shape_fields(s) + shape_counts(s).inputs);
}

static size_t kept_bytes(const shape *s) {
    return shape_is_lazy(s) ? round64((size_t)(shape_counts(s).aux + 7) / 8) : 0;
}

uint64_t query_work_bytes(const shape *s, unsigned threads) {
    size_t n = list_capacity(s);
    return round64(n * sizeof(fr_canon)) + round64(n * sizeof(uint32_t)) + kept_bytes(s) + threads * slot_bytes();
}

cuzk_status query_work_create(query_work *q, const shape *s, const witness *w, unsigned threads, cuzk_error *err) {
    *q = (query_work){.shape = s, .witness = w, .slot_bytes = slot_bytes(), .threads = threads};
    cuzk_status st = buffer_alloc(&q->memory, BUFFER_MSM_SCRATCH, (size_t)query_work_bytes(s, threads), err);
    if (st != CUZK_OK) return st;
    size_t n = list_capacity(s);
    uint8_t *at = q->memory.data;
    q->scalars = (fr_canon *)(void *)at;
    q->index = (uint32_t *)(void *)(at + round64(n * sizeof(fr_canon)));
    at += round64(n * sizeof(fr_canon)) + round64(n * sizeof(uint32_t));
    q->kept_bits = (uint64_t *)(void *)at;
    q->bits = witness_is_lazy(w) ? q->kept_bits : w->bits;
    q->slots = at + kept_bytes(s);
    return CUZK_OK;
}

void query_work_free(query_work *q) {
    buffer_free(&q->memory);
}

/* The density bitmap of a run of variables; all ones for L. Bits past the end are zero. */
static void density_bits(const shape *s, query_kind kind, uint64_t first, uint64_t n, uint64_t *out) {
    if (kind != QUERY_L) {
        shape_bitmap(s, kind == QUERY_A ? SHAPE_A_DENSITY : SHAPE_B_DENSITY, first, n, out);
        return;
    }
    memset(out, 0xff, (size_t)((n + 63) / 64) * 8);
    if (n % 64) out[n / 64] = UINT64_MAX >> (64 - n % 64);
}

/* Index of the base of the first auxiliary variable at or after `aux` that has one. */
static uint64_t first_base(const shape *s, query_kind kind, uint64_t aux) {
    cs_counts n = shape_counts(s);
    if (kind == QUERY_L) return aux;
    if (kind == QUERY_A) return n.inputs + shape_rank(s, SHAPE_A_DENSITY, aux);
    return n.b_input_density + shape_rank(s, SHAPE_B_DENSITY, aux);
}

/* Field elements with a base among the first n auxiliary variables. */
static uint64_t list_count_to(const shape *s, query_kind kind, uint64_t n) {
    uint64_t density[WORDS], fields[WORDS], count = 0;
    if (kind == QUERY_L) return shape_rank(s, SHAPE_IS_FIELD, n);
    for (uint64_t first = 0; first < n; first += TILE) {
        uint64_t len = n - first < TILE ? n - first : TILE;
        density_bits(s, kind, first, len, density);
        shape_bitmap(s, SHAPE_IS_FIELD, first, len, fields);
        for (uint64_t k = 0; k < (len + 63) / 64; k++) count += (uint64_t)__builtin_popcountll(density[k] & fields[k]);
    }
    return count;
}

uint64_t query_list_count(const shape *s, query_kind kind) {
    cs_counts n = shape_counts(s);
    uint64_t inputs = kind == QUERY_L ? 0 : kind == QUERY_A ? n.inputs : n.b_input_density;
    return inputs + list_count_to(s, kind, n.aux);
}

static void list_inputs(query_work *q, query_kind kind) {
    const witness *w = q->witness;
    if (kind == QUERY_L) return;
    for (uint32_t i = 0; i < w->n_inputs; i++) {
        if (kind == QUERY_B && !shape_input_in_b(q->shape, i)) continue;
        q->index[q->n] = (uint32_t)q->n;
        fr_to_canon(&q->scalars[q->n++], &w->inputs[i]);
    }
}

/* Field elements among the auxiliary variables first .. end, whose values w holds, from place `n` of the list on.
 * Returns the place after the last. */
static size_t list_range(const query_work *q, query_kind kind, const witness *w, uint64_t first, uint64_t end,
                         size_t n) {
    uint64_t density[WORDS], fields[WORDS];
    const fr *value = w->fields + (shape_rank(q->shape, SHAPE_IS_FIELD, first) - w->first_field);
    for (uint64_t at = first & ~(uint64_t)63; at < end; at += TILE) {
        uint64_t len = end - at < TILE ? end - at : TILE, base = first_base(q->shape, kind, at);
        density_bits(q->shape, kind, at, len, density);
        shape_bitmap(q->shape, SHAPE_IS_FIELD, at, len, fields);
        if (at < first) fields[0] &= UINT64_MAX << (first - at);
        for (uint64_t k = 0; k < (len + 63) / 64; k++) {
            for (uint64_t left = fields[k]; left; left &= left - 1) {
                uint64_t bit = left & -left;
                const fr *v = value++;
                if (!(density[k] & bit)) continue;
                q->index[n] = (uint32_t)(base + (uint64_t)__builtin_popcountll(density[k] & (bit - 1)));
                fr_to_canon(&q->scalars[n++], v);
            }
            base += (uint64_t)__builtin_popcountll(density[k]);
        }
    }
    return n;
}

/* ---- lists of a lazy witness, copy by copy ---- */

typedef struct list_run {
    query_work *q;
    query_kind kind;
    size_t first, each; /* place of the first copy's entries, and how many a copy has */
    uint32_t copy_aux;
} list_run;

static void list_copy(void *user, const witness *view, uint32_t copy, unsigned slot) {
    const list_run *r = user;
    query_work *q = r->q;
    uint64_t first = (uint64_t)copy * r->copy_aux, end = first + r->copy_aux;
    (void)slot;
    list_range(q, r->kind, view, first, end, r->first + copy * r->each);
    if (q->bits_kept) return;
    /* Neighbours share a word. */
    for (uint64_t i = first / 64; i <= (end - 1) / 64; i++) {
        uint64_t w = view->bits[i - view->first_word];
        if (w) __atomic_fetch_or(&q->kept_bits[i], w, __ATOMIC_RELAXED);
    }
}

/* All copies are alike, so each knows where its part of the list begins. */
static cuzk_status list_lazy(query_work *q, query_kind kind, pool *p, const cuzk_control *control, const char *stage,
                             cuzk_error *err) {
    shape_view v;
    shape_get_view(q->shape, &v);
    uint32_t aux = v.segment[1].aux; /* a lazy witness has nothing before the first copy */
    list_run r = {q, kind, q->n, (size_t)list_count_to(q->shape, kind, aux), aux};
    cuzk_status st = witness_each_copy(q->witness, q->shape, 0, v.repeat, list_copy, &r, p, control, stage, err);
    if (st != CUZK_OK) return st;
    q->bits_kept = true;
    q->n += v.repeat * r.each;
    return CUZK_OK;
}

cuzk_status query_list(query_work *q, query_kind kind, pool *p, const cuzk_control *control, const char *stage,
                       cuzk_error *err) {
    q->n = 0;
    list_inputs(q, kind);
    if (witness_is_lazy(q->witness)) return list_lazy(q, kind, p, control, stage, err);
    q->n = list_range(q, kind, q->witness, 0, q->witness->n_aux, q->n);
    return CUZK_OK;
}

/* ---- the bits that are one ---- */

typedef struct ones_run {
    query_work *q;
    query_kind kind;
    const g1_affine *g1_points;
    const g2_affine *g2_points; /* one of the two */
} ones_run;

static slot_scratch *slot_at(const query_work *q, unsigned slot) {
    return (slot_scratch *)(void *)(q->slots + slot * q->slot_bytes);
}

static void ones_tile(void *user, size_t tile, unsigned slot) {
    ones_run *r = user;
    const witness *w = r->q->witness;
    slot_scratch *s = slot_at(r->q, slot);
    void *sum_scratch = (uint8_t *)s + round64(sizeof *s);
    uint64_t first = (uint64_t)tile * TILE, len = w->n_aux - first < TILE ? w->n_aux - first : TILE;
    uint64_t base = first_base(r->q->shape, r->kind, first);
    const uint64_t *bits = r->q->bits + first / 64;
    size_t n = 0;
    density_bits(r->q->shape, r->kind, first, len, s->density);
    for (uint64_t k = 0; k < (len + 63) / 64; k++) {
        uint64_t density = s->density[k];
        for (uint64_t left = bits[k] & density; left; left &= left - 1) {
            uint64_t below = (left & -left) - 1;
            s->index[n++] = (uint32_t)(base + (uint64_t)__builtin_popcountll(density & below));
        }
        base += (uint64_t)__builtin_popcountll(density);
    }
    if (n == 0) return;
    if (r->g1_points) {
        g1 t;
        msm_sum_g1(&t, r->g1_points, s->index, n, sum_scratch);
        g1_add(&s->sum.g1, &s->sum.g1, &t);
    } else {
        g2 t;
        msm_sum_g2(&t, r->g2_points, s->index, n, sum_scratch);
        g2_add(&s->sum.g2, &s->sum.g2, &t);
    }
}

static cuzk_status sum_ones(ones_run *r, pool *p, const cuzk_control *control, const char *stage, cuzk_error *err) {
    for (unsigned i = 0; i < r->q->threads; i++) {
        slot_scratch *s = slot_at(r->q, i);
        if (r->g1_points) {
            g1_set_infinity(&s->sum.g1);
        } else {
            g2_set_infinity(&s->sum.g2);
        }
    }
    return pool_run(p, control, stage, (size_t)((r->q->witness->n_aux + TILE - 1) / TILE), ones_tile, r, err);
}

cuzk_status query_sum_g1(g1 *out, query_work *q, query_kind kind, const g1_affine *points, pool *p,
                         const cuzk_control *control, const char *stage, cuzk_error *err) {
    ones_run r = {.q = q, .kind = kind, .g1_points = points};
    g1_set_infinity(out);
    if (!points) return CUZK_OK; /* a query without points */
    cuzk_status st = msm_g1(out, points, q->index, q->scalars, q->n, p, control, stage, err);
    if (st == CUZK_OK) st = sum_ones(&r, p, control, stage, err);
    if (st != CUZK_OK) return st;
    for (unsigned i = 0; i < q->threads; i++) g1_add(out, out, &slot_at(q, i)->sum.g1);
    return CUZK_OK;
}

cuzk_status query_sum_g2(g2 *out, query_work *q, query_kind kind, const g2_affine *points, pool *p,
                         const cuzk_control *control, const char *stage, cuzk_error *err) {
    ones_run r = {.q = q, .kind = kind, .g2_points = points};
    g2_set_infinity(out);
    if (!points) return CUZK_OK;
    cuzk_status st = msm_g2(out, points, q->index, q->scalars, q->n, p, control, stage, err);
    if (st == CUZK_OK) st = sum_ones(&r, p, control, stage, err);
    if (st != CUZK_OK) return st;
    for (unsigned i = 0; i < q->threads; i++) g2_add(out, out, &slot_at(q, i)->sum.g2);
    return CUZK_OK;
}
