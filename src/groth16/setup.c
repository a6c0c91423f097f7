/* Development keys; see groth16/setup.h.
 *
 * The polynomials' values at tau (groth16/qap.h), then section by section the points (groth16/setup_points.h), written
 * at their places into the key's file (groth16/setup_files.h). The generators are the curve's standard ones.
 *
 * Memory: the values, then fixed-base tables and a small scratch a thread; never the key.
 * Source: docs/math/groth16.md (bellperson's generator, whose bytes these are for the same trapdoor).
 */
#include "groth16/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "groth16/setup_files.h"
#include "groth16/setup_points.h"

#define TRAPDOOR_FILE_LIMIT ((size_t)16 << 20)

/* ---- trapdoors ---- */

cuzk_status trapdoor_random(trapdoor *t, cuzk_error *err) {
    fr *part[] = {&t->alpha, &t->beta, &t->gamma, &t->delta, &t->tau};
    for (size_t i = 0; i < 5; i++) {
        do {
            cuzk_status s = fr_random(part[i], err);
            if (s != CUZK_OK) return s;
        } while (fr_is_zero(part[i]));
    }
    return CUZK_OK;
}

static cuzk_status trapdoor_member(fr *out, const json_node *object, const char *name, const char *path,
                                   cuzk_error *err) {
    const json_node *n = json_member(object, name);
    uint8_t bytes[32];
    if (!n || n->kind != JSON_STRING || !text_unhex(bytes, sizeof bytes, n->text, n->len)) {
        cuzk_fail(err, CUZK_MALFORMED, "the trapdoor's %s is %s", name, n ? "not 64 hex digits" : "missing");
    } else if (!fr_from_be_bytes(out, bytes)) {
        cuzk_fail(err, CUZK_MALFORMED, "the trapdoor's %s is not below r", name);
    } else {
        secure_wipe(bytes, sizeof bytes);
        return CUZK_OK;
    }
    return cuzk_fail_where(err, "%s, $.trapdoor.%s", path, name);
}

cuzk_status trapdoor_read(trapdoor *t, const char *path, cuzk_error *err) {
    buffer text = {0};
    arena *a = NULL;
    json_node *tree;
    cuzk_status s = file_read(&text, path, TRAPDOOR_FILE_LIMIT, err);
    if (s != CUZK_OK) return s;
    a = arena_create(BUFFER_SETUP, 0, err);
    if (!a) {
        s = err->status;
        goto done;
    }
    s = json_tree(&tree, a, path, text.data, text.bytes, TRAPDOOR_FILE_LIMIT, err);
    if (s != CUZK_OK) goto done;
    const json_node *object = json_member(tree, "trapdoor");
    if (!object) {
        cuzk_fail(err, CUZK_MALFORMED, "the file holds no trapdoor");
        cuzk_fail_where(err, "%s, $", path);
        s = cuzk_fail_expected(err, "{\"trapdoor\": {\"alpha\", \"beta\", \"gamma\", \"delta\", \"tau\"}}");
        goto done;
    }
    struct {
        const char *name;
        fr *out;
    } members[] = {
        {"alpha", &t->alpha}, {"beta", &t->beta}, {"gamma", &t->gamma}, {"delta", &t->delta}, {"tau", &t->tau}};
    for (size_t i = 0; i < 5 && s == CUZK_OK; i++)
        s = trapdoor_member(members[i].out, object, members[i].name, path, err);
done:
    arena_destroy(a);
    secure_wipe(text.data, text.bytes);
    buffer_free(&text);
    if (s != CUZK_OK) secure_wipe(t, sizeof *t);
    return s;
}

cuzk_status trapdoor_check(const trapdoor *t, unsigned log2, cuzk_error *err) {
    const struct {
        const char *name;
        const fr *value;
    } parts[] = {
        {"alpha", &t->alpha}, {"beta", &t->beta}, {"gamma", &t->gamma}, {"delta", &t->delta}, {"tau", &t->tau}};
    for (size_t i = 0; i < 5; i++) {
        if (!fr_is_zero(parts[i].value)) continue;
        cuzk_fail(err, CUZK_MALFORMED, "the trapdoor's %s is zero", parts[i].name);
        return cuzk_fail_hint(err, "choose another %s", parts[i].name);
    }
    fr power = t->tau;
    for (unsigned i = 0; i < log2; i++) fr_sqr(&power, &power);
    bool outside = !fr_is_one(&power);
    secure_wipe(&power, sizeof power);
    if (outside) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "the trapdoor's tau is a point of the domain");
    cuzk_fail_expected(err, "tau^%llu different from 1", 1ull << log2);
    return cuzk_fail_hint(err, "choose another tau");
}

/* ---- the key ---- */

typedef struct setup_run {
    setup_points points;
    fixed_base_g1 *g1;
    fixed_base_g2 *g2;
    qap_values qap;
    verifying_key vk;
    uint64_t count[PARAMS_SECTIONS];
} setup_run;

static uint64_t g1_scalars(const uint64_t count[PARAMS_SECTIONS]) {
    uint64_t n = 3;
    for (int s = PARAMS_IC; s <= PARAMS_B_G1; s++) n += count[s];
    return n;
}

static uint64_t g2_scalars(const uint64_t count[PARAMS_SECTIONS]) {
    return 3 + count[PARAMS_B_G2];
}

static void section_counts(const shape *s, uint64_t count[PARAMS_SECTIONS]) {
    for (params_section i = 0; i < PARAMS_SECTIONS; i++) count[i] = setup_section_count(s, i);
}

uint64_t setup_bytes(const shape *s, unsigned threads) {
    uint64_t count[PARAMS_SECTIONS], page = 4096;
    section_counts(s, count);
    uint64_t points = qap_bytes(s) + fixed_base_g1_bytes(g1_scalars(count)) + fixed_base_g2_bytes(g2_scalars(count)) +
                      setup_points_scratch_bytes(threads);
    uint64_t values = qap_peak_bytes(s);
    return (points > values ? points : values) + 8 * page; /* each buffer is rounded up to pages */
}

static void vk_points(setup_run *r, const trapdoor *t) {
    fr_canon k[3];
    g1_affine p[3];
    g2_affine q[3];
    fr_to_canon(&k[0], &t->alpha);
    fr_to_canon(&k[1], &t->beta);
    fr_to_canon(&k[2], &t->delta);
    fixed_base_g1_mul(r->g1, p, k, 3);
    fr_to_canon(&k[0], &t->gamma);
    fixed_base_g2_mul(r->g2, q, k, 3);
    r->vk.alpha_g1 = p[0];
    r->vk.beta_g1 = p[1];
    r->vk.delta_g1 = p[2];
    r->vk.gamma_g2 = q[0];
    r->vk.beta_g2 = q[1];
    r->vk.delta_g2 = q[2];
    secure_wipe(k, sizeof k);
}

/* Values, tables and scratch. */
static cuzk_status prepare(setup_run *r, const shape *s, const trapdoor *t, const ntt_root *root, pool *p,
                           const cuzk_control *control, cuzk_error *err) {
    section_counts(s, r->count);
    cuzk_status st = setup_files_fit(r->count, err);
    if (st == CUZK_OK) st = qap_evaluate(&r->qap, s, &t->tau, root, p, control, err);
    g1_affine g1_base;
    g2_affine g2_base;
    g1_generator_affine(&g1_base);
    g2_generator_affine(&g2_base);
    if (st == CUZK_OK) st = fixed_base_g1_create(&r->g1, &g1_base, (size_t)g1_scalars(r->count), p, err);
    if (st == CUZK_OK) st = fixed_base_g2_create(&r->g2, &g2_base, (size_t)g2_scalars(r->count), p, err);
    if (st == CUZK_OK) {
        st = buffer_alloc(&r->points.scratch, BUFFER_SETUP, (size_t)setup_points_scratch_bytes(p ? pool_threads(p) : 1),
                          err);
    }
    if (st != CUZK_OK) return st;
    r->points.shape = s;
    r->points.qap = &r->qap;
    r->points.trapdoor = t;
    r->points.g1 = r->g1;
    r->points.g2 = r->g2;
    r->vk.n_ic = (uint32_t)r->count[PARAMS_IC];
    r->vk.ic = malloc((size_t)r->vk.n_ic * sizeof *r->vk.ic);
    if (!r->vk.ic)
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a verifying key of %" PRIu32 " points", r->vk.n_ic);
    return CUZK_OK;
}

static void release(setup_run *r) {
    buffer_free(&r->points.scratch);
    fixed_base_g1_destroy(r->g1);
    fixed_base_g2_destroy(r->g2);
    qap_free(&r->qap);
    verifying_key_free(&r->vk);
}

static cuzk_status write_sections(setup_run *r, setup_files *f, pool *p, const cuzk_control *control, cuzk_error *err) {
    cuzk_status st = CUZK_OK;
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS && st == CUZK_OK; s++)
        st = setup_section(&r->points, s, NULL, f->params, f->offset[s], p, control, err);
    return st;
}

cuzk_status groth16_setup(const shape *s, const trapdoor *t, const ntt_root *root, const char *params_path,
                          const char *vk_path, setup_result *out, pool *p, const cuzk_control *control,
                          cuzk_error *err) {
    setup_run r = {0};
    setup_files f = {0};
    cuzk_status st = trapdoor_check(t, shape_domain_log2(s), err);
    if (st == CUZK_OK) st = setup_files_look(&f, params_path, vk_path, err);
    if (st == CUZK_OK) st = prepare(&r, s, t, root, p, control, err);
    if (st == CUZK_OK) st = setup_section(&r.points, PARAMS_IC, r.vk.ic, NULL, 0, p, control, err);
    if (st == CUZK_OK) vk_points(&r, t);
    if (st == CUZK_OK) st = setup_files_begin(&f, &r.vk, r.count, err);
    if (st == CUZK_OK) st = write_sections(&r, &f, p, control, err);
    if (st == CUZK_OK) st = setup_files_publish(&f, err);
    if (st == CUZK_OK) {
        out->params_bytes = f.total;
        st = setup_files_hash(out->params_sha256, params_path, err);
    }
    setup_files_abort(&f);
    release(&r);
    return st;
}
