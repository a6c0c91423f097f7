/* Development keys that devices make for themselves; see groth16/setup.h. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/serial.h"
#include "groth16/setup.h"
#include "groth16/setup_points.h"

static void times_g1(g1_affine *out, const fr *k) {
    g1_affine g;
    g1 p;
    fr_canon n;
    g1_generator_affine(&g);
    g1_from_affine(&p, &g);
    fr_to_canon(&n, k);
    g1_mul(&p, &p, &n);
    g1_to_affine(out, &p);
    secure_wipe(&n, sizeof n);
}

static void times_g2(g2_affine *out, const fr *k) {
    g2_affine g;
    g2 p;
    fr_canon n;
    g2_generator_affine(&g);
    g2_from_affine(&p, &g);
    fr_to_canon(&n, k);
    g2_mul(&p, &p, &n);
    g2_to_affine(out, &p);
    secure_wipe(&n, sizeof n);
}

cuzk_status proving_key_recipe(proving_key *out, const shape *s, const trapdoor *t, cuzk_error *err) {
    buffer self = {0};
    memset(out, 0, sizeof *out);
    cuzk_status st = trapdoor_check(t, shape_domain_log2(s), err);
    if (st == CUZK_OK) st = buffer_alloc(&self, BUFFER_SETUP, sizeof(key_recipe), err);
    if (st != CUZK_OK) return st;
    out->recipe = self.data;
    out->recipe->self = self;
    out->recipe->trapdoor = *t;
    pthread_mutex_init(&out->recipe->lock, NULL);
    for (params_section i = 0; i < PARAMS_SECTIONS; i++) out->count[i] = (uint32_t)setup_section_count(s, i);
    out->root = ntt_root_bellman();
    out->origin = KEY_DEVELOPMENT;
    out->id = serial_next();
    out->vk.n_ic = out->count[PARAMS_IC];
    out->vk.ic = calloc(out->vk.n_ic, sizeof *out->vk.ic);
    if (!out->vk.ic) {
        proving_key_close(out);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a verifying key of %u points", out->vk.n_ic);
    }
    times_g1(&out->vk.alpha_g1, &t->alpha);
    times_g1(&out->vk.beta_g1, &t->beta);
    times_g2(&out->vk.beta_g2, &t->beta);
    times_g2(&out->vk.gamma_g2, &t->gamma);
    times_g1(&out->vk.delta_g1, &t->delta);
    times_g2(&out->vk.delta_g2, &t->delta);
    return CUZK_OK;
}

cuzk_status key_recipe_made(const proving_key *k, const g1_affine *ic, cuzk_error *err) {
    size_t bytes = k->vk.n_ic * sizeof *ic;
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&k->recipe->lock);
    if (!k->recipe->made) {
        memcpy(k->vk.ic, ic, bytes);
        k->recipe->made = true;
    } else if (memcmp(k->vk.ic, ic, bytes) != 0) {
        st = cuzk_fail(err, CUZK_DEVICE, "a development key was made twice, and the two are not the same");
    }
    pthread_mutex_unlock(&k->recipe->lock);
    return st;
}
