/* Circuits: see cuzk/circuit.h. */
#include "api/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cuzk_circuit_list(void (*each)(void *user, const char *name, const char *kind, uint64_t sector_bytes,
                                    const char *variant),
                       void *user) {
    for (size_t k = 0; k < circuit_kind_count(); k++) {
        const circuit_kind *kind = circuit_kind_at(k);
        for (const char *const *variant = kind->variants; *variant; variant++) {
            for (const uint64_t *size = kind->sizes; *size; size++) {
                circuit c;
                cuzk_error err;
                if (circuit_open(&c, kind->name, *size, *variant, &err)) continue; /* not all variants have all sizes */
                each(user, c.name, kind->name, *size, *variant);
                circuit_close(&c);
            }
        }
    }
}

void api_circuit_init(cuzk_circuit *h, const circuit *c) {
    h->c = c;
    h->sh = NULL;
    pthread_mutex_init(&h->lock, NULL);
}

void api_circuit_clear(cuzk_circuit *h) {
    shape_destroy(h->sh);
    h->sh = NULL;
    pthread_mutex_destroy(&h->lock);
}

cuzk_status cuzk_circuit_open(cuzk_circuit **out, const char *kind, uint64_t sector_bytes, const char *variant,
                              cuzk_error *err) {
    *out = NULL;
    cuzk_circuit *h = calloc(1, sizeof *h);
    if (!h) return cuzk_fail(err, CUZK_MEMORY, "no memory for a circuit");
    cuzk_status s = circuit_open(&h->own, kind, sector_bytes, variant ? variant : "", err);
    if (s) {
        free(h);
        return s;
    }
    api_circuit_init(h, &h->own);
    *out = h;
    return CUZK_OK;
}

void cuzk_circuit_close(cuzk_circuit *h) {
    if (!h) return;
    api_circuit_clear(h);
    circuit_close(&h->own);
    free(h);
}

const char *cuzk_circuit_name(const cuzk_circuit *h) {
    return h->c->name;
}

unsigned cuzk_circuit_partitions(const cuzk_circuit *h) {
    return h->c->partitions;
}

cuzk_status api_shape(cuzk_circuit *h, const shape **out, const cuzk_control *control, cuzk_error *err) {
    const circuit *c = h->c;
    cuzk_status s = CUZK_OK;
    pthread_mutex_lock(&h->lock);
    if (!h->sh) {
        s = shape_cached(&h->sh, c->shape_name, c->version, c->kind->synthesize, c->params, control, err);
        if (s) h->sh = NULL;
        if (!s && c->kind->lazy_blocks) shape_make_lazy(h->sh);
    }
    *out = h->sh;
    pthread_mutex_unlock(&h->lock);
    return s;
}

api_key_counts api_key_counts_of(const shape *s) {
    cs_counts n = shape_counts(s);
    api_key_counts k = {0};
    k.view.count[PARAMS_IC] = (uint32_t)n.inputs;
    k.view.count[PARAMS_H] = (uint32_t)((1ull << shape_domain_log2(s)) - 1);
    k.view.count[PARAMS_L] = (uint32_t)n.aux;
    /* Every input is in A, through its input constraint. */
    k.view.count[PARAMS_A] = (uint32_t)(n.inputs + n.a_aux_density);
    k.view.count[PARAMS_B_G1] = k.view.count[PARAMS_B_G2] = (uint32_t)(n.b_input_density + n.b_aux_density);
    k.params_bytes = VK_FIXED_BYTES;
    for (unsigned i = 0; i < PARAMS_SECTIONS; i++) {
        k.params_bytes += 4 + (i == PARAMS_B_G2 ? 192ull : 96ull) * k.view.count[i];
    }
    k.view.bytes = k.params_bytes;
    k.view.vk_bytes = VK_FIXED_BYTES + 4 + 96ull * k.view.count[PARAMS_IC];
    k.native_bytes = proving_key_native_bytes(&k.view);
    return k;
}

cuzk_status cuzk_circuit_info_get(cuzk_context *context, cuzk_circuit *h, cuzk_circuit_info *out,
                                  const cuzk_control *control, cuzk_error *err) {
    (void)context;
    const shape *s;
    if (api_shape(h, &s, control, err)) return err->status;
    const circuit *c = h->c;
    cs_counts n = shape_counts(s);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", c->name);
    out->inputs = n.inputs;
    out->aux = n.aux;
    out->constraints = n.constraints;
    memcpy(out->nnz, n.nnz, sizeof out->nnz);
    out->a_aux_density = n.a_aux_density;
    out->b_input_density = n.b_input_density;
    out->b_aux_density = n.b_aux_density;
    out->domain_log2 = shape_domain_log2(s);
    out->partitions = c->partitions;
    out->shape_bytes = shape_bytes(s);
    out->params_bytes = api_key_counts_of(s).params_bytes;
    circuit_file_name(c, "params", out->params_file, sizeof out->params_file);
    circuit_file_name(c, "vk", out->vk_file, sizeof out->vk_file);
    snprintf(out->cache_identifier, sizeof out->cache_identifier, "%s", c->cache_identifier);
    return CUZK_OK;
}

cuzk_status cuzk_circuit_hash(cuzk_context *context, cuzk_circuit *h, uint8_t digest[32], cuzk_checkpoint each,
                              void *user, const cuzk_control *control, cuzk_error *err) {
    (void)context;
    const shape *s;
    if (api_shape(h, &s, control, err)) return err->status;
    return shape_hash(s, digest, each, user, control, err);
}

void api_locate(const circuit *c, uint64_t constraint, char *out, size_t n) {
    cuzk_error ignored;
    if (cs_locate(out, n, constraint, c->kind->synthesize, c->params, &ignored)) out[0] = 0;
}
