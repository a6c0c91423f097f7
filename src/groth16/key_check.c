/* Every point of a key: on the curve and in the subgroup; see groth16/key_check.h.
 *
 * Testing one point costs a multiplication by a 128-bit number (G1) or a 64-bit one (G2). Many points are tested
 * together: they are thrown at random into 2^9 bins, the points of a bin are added up, and each sum is tested. If any
 * point is outside the subgroup, look at the bin of the last such point given where the others fell: its sum passes
 * only if the bin's other bad parts cancel it, and every other bin must pass too, so at most one of the bins will do: a
 * bad set passes one round with probability at most 2^-9. Eight rounds with fresh randomness leave 2^-72. When a sum
 * fails, the tile's points are tested one by one, so that the first bad one is named.
 *
 * Points come from a .params file (decoded here) or from the converted copy (tested against the curve equation).
 */
#include "groth16/key_check.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/random.h"
#include "math/msm.h"

#define TILE_G1 (1u << 17)
#define TILE_G2 (1u << 16)
#define BINS 512u
#define ROUNDS 8u
#define SUM_PIECE 4096u /* points a sum takes at once */
#define ALONE 2048u     /* points that are tested one by one; of so few a round says less */

typedef struct check_run {
    params_section section;
    const uint8_t *raw; /* encoded points of the section, or NULL */
    const void *native; /* or these */
    uint64_t n;
    uint8_t seed[32];
    uint8_t *scratch; /* slot_bytes each */
    size_t slot_bytes, sum_bytes;
    pthread_mutex_t lock;
    uint64_t bad; /* smallest bad index */
    const char *bad_fault;
} check_run;

/* A slot's scratch: decoded points, bin of each point, indices by bin, then scratch of the sums. */
typedef struct slot_parts {
    void *points;
    uint32_t *index;
    uint16_t *bin;
    void *sum;
} slot_parts;

static uint64_t tile_points(params_section s) {
    return s == PARAMS_B_G2 ? TILE_G2 : TILE_G1;
}

static size_t slot_bytes(params_section s, bool raw, size_t sum_bytes) {
    size_t n = (size_t)tile_points(s);
    return (raw ? n * params_point_bytes(s) : 0) + n * 4 + n * 2 + ((sum_bytes + 63) & ~(size_t)63);
}

static slot_parts parts_of(const check_run *r, unsigned slot) {
    uint8_t *at = r->scratch + (size_t)slot * r->slot_bytes;
    size_t n = (size_t)tile_points(r->section);
    slot_parts q = {.points = at};
    if (r->raw) at += n * params_point_bytes(r->section);
    q.sum = at;
    at += (r->sum_bytes + 63) & ~(size_t)63;
    q.index = (uint32_t *)(void *)at;
    q.bin = (uint16_t *)(void *)(at + n * 4);
    return q;
}

static void note_bad(check_run *r, uint64_t index, const char *fault) {
    pthread_mutex_lock(&r->lock);
    if (index < r->bad) {
        r->bad = index;
        r->bad_fault = fault;
    }
    pthread_mutex_unlock(&r->lock);
}

/* What is wrong with point i: identity or off the curve; with subgroup: outside the subgroup. NULL when nothing is. */
static const char *fault_of(const check_run *r, const void *points, uint64_t i, bool subgroup) {
    bool infinity, good;
    if (r->section == PARAMS_B_G2) {
        const g2_affine *q = (const g2_affine *)points + i;
        infinity = g2_affine_is_infinity(q);
        good = subgroup ? g2_affine_in_subgroup(q) : g2_affine_on_curve(q);
    } else {
        const g1_affine *q = (const g1_affine *)points + i;
        infinity = g1_affine_is_infinity(q);
        good = subgroup ? g1_affine_in_subgroup(q) : g1_affine_on_curve(q);
    }
    if (infinity) return PARAMS_IDENTITY;
    return good ? NULL : point_status_text(subgroup ? POINT_NOT_IN_SUBGROUP : POINT_NOT_ON_CURVE);
}

static bool sum_in_subgroup(const check_run *r, const void *points, const uint32_t *index, size_t n, void *scratch) {
    if (r->section == PARAMS_B_G2) {
        g2 acc, part;
        g2_affine a;
        g2_set_infinity(&acc);
        for (size_t at = 0; at < n; at += SUM_PIECE) {
            msm_sum_g2(&part, points, index + at, n - at < SUM_PIECE ? n - at : SUM_PIECE, scratch);
            g2_add(&acc, &acc, &part);
        }
        g2_to_affine(&a, &acc);
        return g2_affine_in_subgroup(&a);
    }
    g1 acc, part;
    g1_affine a;
    g1_set_infinity(&acc);
    for (size_t at = 0; at < n; at += SUM_PIECE) {
        msm_sum_g1(&part, points, index + at, n - at < SUM_PIECE ? n - at : SUM_PIECE, scratch);
        g1_add(&acc, &acc, &part);
    }
    g1_to_affine(&a, &acc);
    return g1_affine_in_subgroup(&a);
}

/* Throws n points into bins (a counting sort) and tests each bin's sum. */
static bool round_passes(const check_run *r, chacha *random, const void *points, size_t n, const slot_parts *q) {
    uint32_t end[BINS + 1] = {0};
    chacha_bytes(random, q->bin, n * sizeof *q->bin);
    for (size_t i = 0; i < n; i++) end[(q->bin[i] &= BINS - 1) + 1]++;
    for (unsigned b = 0; b < BINS; b++) end[b + 1] += end[b];
    uint32_t at[BINS];
    memcpy(at, end, sizeof at);
    for (size_t i = 0; i < n; i++) q->index[at[q->bin[i]]++] = (uint32_t)i;
    for (unsigned b = 0; b < BINS; b++) {
        size_t count = end[b + 1] - end[b];
        if (count && !sum_in_subgroup(r, points, q->index + end[b], count, q->sum)) return false;
    }
    return true;
}

static bool rounds_pass(const check_run *r, chacha *random, const void *points, size_t n, const slot_parts *q) {
    for (unsigned k = 0; k < ROUNDS; k++) {
        if (!round_passes(r, random, points, n, q)) return false;
    }
    return true;
}

/* Index of the first of n points outside the subgroup; n when there is none. */
static size_t first_outside(const check_run *r, chacha *random, const void *points, size_t n, const slot_parts *q) {
    size_t width = params_point_bytes(r->section), low = 0, high = n;
    while (high - low > ALONE) {
        size_t half = (high - low) / 2;
        if (rounds_pass(r, random, (const uint8_t *)points + low * width, half, q)) {
            low += half;
        } else {
            high = low + half;
        }
    }
    for (; low < high; low++) {
        if (fault_of(r, points, low, true)) return low;
    }
    return n;
}

static void check_tile(void *user, size_t tile, unsigned slot) {
    check_run *r = user;
    uint64_t per_tile = tile_points(r->section), width = params_point_bytes(r->section),
             first = (uint64_t)tile * per_tile;
    size_t n = (size_t)(r->n - first < per_tile ? r->n - first : per_tile);
    slot_parts q = parts_of(r, slot);
    const void *points = q.points;
    const char *fault;
    if (r->raw) {
        /* A fault in the encoding ends the tile there; what comes before it is still looked at. */
        size_t bad;
        point_status s = r->section == PARAMS_B_G2
                             ? g2_load_many(q.points, r->raw + first * width, n, SUBGROUP_SKIP, &bad)
                             : g1_load_many(q.points, r->raw + first * width, n, SUBGROUP_SKIP, &bad);
        if (s != POINT_OK) note_bad(r, first + bad, point_status_text(s));
        n = bad;
    } else {
        points = (const uint8_t *)r->native + first * width;
    }
    for (size_t i = 0; i < n; i++) {
        if (!(fault = fault_of(r, points, i, false))) continue;
        note_bad(r, first + i, fault);
        n = i;
    }
    chacha random;
    uint8_t nonce[12] = {0};
    uint64_t t = tile;
    memcpy(nonce, &t, sizeof t);
    nonce[8] = (uint8_t)r->section;
    chacha_init(&random, 12, 32, r->seed, nonce);
    if (n > ALONE && rounds_pass(r, &random, points, n, &q)) return;
    size_t bad = first_outside(r, &random, points, n, &q);
    if (bad < n) note_bad(r, first + bad, fault_of(r, points, bad, true));
}

/* raw: the section's encoded points, or NULL and native. *bad: index of the first bad point, UINT64_MAX when none. */
static cuzk_status check_section(params_section section, const uint8_t *raw, const void *native, uint64_t n,
                                 uint64_t *bad, const char **fault, pool *p, const cuzk_control *control,
                                 cuzk_error *err) {
    check_run r = {.section = section, .raw = raw, .native = native, .n = n, .bad = UINT64_MAX};
    buffer scratch = {0};
    *bad = UINT64_MAX;
    cuzk_status st = random_bytes(r.seed, sizeof r.seed, err);
    if (st != CUZK_OK || n == 0) return st;
    r.sum_bytes = section == PARAMS_B_G2 ? msm_sum_g2_scratch_bytes(SUM_PIECE) : msm_sum_g1_scratch_bytes(SUM_PIECE);
    r.slot_bytes = slot_bytes(section, raw != NULL, r.sum_bytes);
    st = buffer_alloc_array(&scratch, BUFFER_OTHER, p ? pool_threads(p) : 1, r.slot_bytes, err);
    if (st != CUZK_OK) return st;
    r.scratch = scratch.data;
    pthread_mutex_init(&r.lock, NULL);
    uint64_t per_tile = tile_points(section);
    st = pool_run(p, control, "key: check points", (size_t)((n + per_tile - 1) / per_tile), check_tile, &r, err);
    pthread_mutex_destroy(&r.lock);
    buffer_free(&scratch);
    *bad = r.bad;
    *fault = r.bad_fault;
    return st;
}

cuzk_status key_check_native(const proving_key *k, const params_view *v, pool *p, const cuzk_control *control,
                             cuzk_error *err) {
    const void *points[PARAMS_SECTIONS] = {NULL, k->h, k->l, k->a, k->b_g1, k->b_g2};
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        uint64_t bad;
        const char *fault;
        cuzk_status st = check_section(s, NULL, points[s], k->count[s], &bad, &fault, p, control, err);
        if (st != CUZK_OK) return st;
        if (bad == UINT64_MAX) continue;
        return params_point_fault(err, k->path, params_section_name(s), bad, v->offset[s] + bad * params_point_bytes(s),
                                  fault);
    }
    return CUZK_OK;
}

cuzk_status key_check_file(const char *path, const file_map *m, const params_view *v, pool *p,
                           const cuzk_control *control, cuzk_error *err) {
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        uint64_t bad, bytes = (uint64_t)v->count[s] * params_point_bytes(s);
        const char *fault;
        cuzk_status st = check_section(s, m->data + v->offset[s], NULL, v->count[s], &bad, &fault, p, control, err);
        if (st != CUZK_OK) return st;
        file_map_done(m, (size_t)v->offset[s], (size_t)bytes);
        if (bad == UINT64_MAX) continue;
        return params_point_fault(err, path, params_section_name(s), bad, v->offset[s] + bad * params_point_bytes(s),
                                  fault);
    }
    return CUZK_OK;
}

/* A verifying key alone, or a proving key file. */
cuzk_status key_verify_file(const char *path, bool full, bool *valid, pool *p, const cuzk_control *control,
                            cuzk_error *err) {
    file_map m;
    params_view v;
    verifying_key vk;
    *valid = false;
    cuzk_status st = file_map_open(&m, path, err);
    if (st != CUZK_OK) return st;
    st = verifying_key_read(&vk, path, m.data, m.bytes, err);
    if (st == CUZK_OK) { /* a .vk file: everything was looked at */
        verifying_key_free(&vk);
        goto done;
    }
    st = params_view_open(&v, path, m.data, m.bytes, err);
    if (st == CUZK_OK) st = verifying_key_read(&vk, path, m.data, v.vk_bytes, err);
    if (st != CUZK_OK) goto done;
    verifying_key_free(&vk);
    if (full) st = key_check_file(path, &m, &v, p, control, err);
done:
    file_map_close(&m);
    *valid = st == CUZK_OK;
    return st == CUZK_KEY_DAMAGED ? CUZK_OK : st;
}
