/* Loading and unloading of one circuit's shape and key; see engine/resource_load.h.
 *
 * The key is the file of the official name in the parameter folder; where development keys are allowed and it is not
 * there, the development key of the cache folder, made when it must be. A key with another origin than the published
 * ones is refused unless development keys are allowed: proofs of it would verify here and nowhere else.
 */
#include "engine/resource_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "groth16/setup.h"

resource *resource_create(resources *owner, const circuit *c, cuzk_error *err) {
    resource *e = calloc(1, sizeof *e);
    if (!e) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for a circuit");
        return NULL;
    }
    e->owner = owner;
    if (circuit_open_kind(&e->circuit, c->kind, c->sector_bytes, c->variant, err)) {
        free(e);
        return NULL;
    }
    api_circuit_init(&e->handle, &e->circuit);
    return e;
}

void resource_destroy(resource *e) {
    if (!e) return;
    api_circuit_clear(&e->handle);
    circuit_close(&e->circuit);
    free(e);
}

static bool join(char *out, size_t n, const char *folder, const char *name) {
    int len = snprintf(out, n, "%s/%s", folder, name);
    return len > 0 && (size_t)len < n;
}

/* Where the development key would be; false when that cannot be said. *there tells whether it is complete. */
static bool development_path(const circuit *c, char *path, size_t n, bool *there) {
    char folder[4096], name[288], vk[4096 + 320];
    cuzk_error ignored;
    if (file_cache_name(folder, sizeof folder, "dev-keys", &ignored)) return false;
    circuit_file_name(c, "vk", name, sizeof name);
    if (!join(vk, sizeof vk, folder, name)) return false;
    circuit_file_name(c, "params", name, sizeof name);
    if (!join(path, n, folder, name)) return false;
    *there = file_exists(path) && file_exists(vk);
    return true;
}

cuzk_status resource_key_path(const resource *e, const resources_options *o, char *path, size_t path_bytes, bool *make,
                              cuzk_error *err) {
    char name[288];
    bool there;
    const char *folder = o->params_folder ? o->params_folder : cuzk_key_official_folder();
    *make = false;
    circuit_file_name(&e->circuit, "params", name, sizeof name);
    if (!join(path, path_bytes, folder, name))
        return cuzk_fail(err, CUZK_USAGE, "the parameter folder's path is too long");
    if (file_exists(path)) return CUZK_OK;
    if (o->development_keys && development_path(&e->circuit, path, path_bytes, &there)) {
        *make = !there;
        return CUZK_OK;
    }
    cuzk_fail(err, CUZK_KEY_MISSING, "the proving key of %s is not there", e->circuit.name);
    cuzk_fail_where(err, "folder %s", folder);
    cuzk_fail_expected(err, "%s", name);
    return cuzk_fail_hint(err, "fetch that file into the folder, or for a trial allow development keys (--dev-key; a "
                               "daemon: keys.development)");
}

cuzk_status resource_load_shape(resource *e, const resources_options *o, resource_need *need,
                                const cuzk_control *control, cuzk_error *err) {
    char path[4096 + 320];
    bool make;
    cuzk_status st = resource_key_path(e, o, path, sizeof path, &make, err);
    if (st == CUZK_OK && !e->shape) st = api_shape(&e->handle, &e->shape, control, err);
    if (st != CUZK_OK) return st;
    *need = (resource_need){shape_bytes(e->shape), api_key_counts_of(e->shape).native_bytes,
                            make && !o->made_on_devices ? setup_bytes(e->shape, pool_threads(o->context->pool)) : 0};
    return CUZK_OK;
}

static cuzk_status not_official(const cuzk_key *key, const char *path, cuzk_error *err) {
    cuzk_fail(err, CUZK_FOREIGN, "the key is not an official one");
    cuzk_fail_where(err, "%s", path);
    cuzk_fail_expected(err, "a key whose verifying key has a published digest");
    cuzk_fail_found(err, "a key of origin \"%s\"", cuzk_key_origin_name(cuzk_key_get_origin(key)));
    return cuzk_fail_hint(
        err, "fetch the key again; for a trial allow development keys (--dev-key; a daemon: keys.development)");
}

cuzk_status resource_load_key(resource *e, const resources_options *o, const cuzk_control *control, cuzk_error *err) {
    char path[4096 + 320];
    bool make, made;
    cuzk_key *key = NULL;
    cuzk_status st = resource_key_path(e, o, path, sizeof path, &make, err);
    if (st == CUZK_OK && make && o->made_on_devices) return api_key_recipe(&e->key, e->shape, err);
    if (st == CUZK_OK && make)
        st = cuzk_key_development(o->context, &e->handle, path, sizeof path, &made, control, err);
    if (st == CUZK_OK) st = api_key_open(&key, o->context, path, o->files_to_devices, KEY_CHECK_TRUSTED, control, err);
    if (st != CUZK_OK) return st;
    if (!o->development_keys && cuzk_key_get_origin(key) != CUZK_KEY_OFFICIAL) st = not_official(key, path, err);
    if (st == CUZK_OK && proving_key_fits(&key->key, e->shape, err)) st = cuzk_fail_within(err, "%s", path);
    if (st != CUZK_OK) {
        cuzk_key_close(key);
        return st;
    }
    e->key = key;
    return CUZK_OK;
}

cuzk_status resource_bring_points(resource *e, const resources_options *o, const cuzk_control *control,
                                  cuzk_error *err) {
    return api_key_bring(o->context, e->key, control, err);
}

void resource_unload(resource *e) {
    api_key_free(e->key);
    api_circuit_clear(&e->handle);
    api_circuit_init(&e->handle, &e->circuit);
    e->key = NULL;
    e->shape = NULL;
}

void resource_drop_pages(const resource *e) {
    if (e->key) file_map_done(&e->key->key.map, 0, e->key->key.map.bytes);
}
