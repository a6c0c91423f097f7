/* Keys: see cuzk/key.h. */
#include "api/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "backend/cuda/backend.h"
#include "base/file.h"
#include "base/hash.h"

#define OFFICIAL_FOLDER "/var/tmp/filecoin-proof-parameters"

const char *cuzk_key_origin_name(cuzk_key_origin origin) {
    switch (origin) {
    case CUZK_KEY_OFFICIAL: return "official";
    case CUZK_KEY_DEVELOPMENT: return "development";
    default: return "unknown";
    }
}

static cuzk_key_origin origin_public(key_origin o) {
    return o == KEY_OFFICIAL ? CUZK_KEY_OFFICIAL : o == KEY_DEVELOPMENT ? CUZK_KEY_DEVELOPMENT : CUZK_KEY_UNKNOWN;
}

/* A key that is not there has its own code, since fetching it is the cure. */
static cuzk_status key_present(const char *path, cuzk_error *err) {
    struct stat st;
    if (!stat(path, &st) || errno != ENOENT) return CUZK_OK;
    cuzk_fail(err, CUZK_KEY_MISSING, "the key file is not there");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_hint(err, "check the path; for a trial without official keys use --dev-key");
}

cuzk_status api_key_open(cuzk_key **out, cuzk_context *context, const char *path, bool leave, key_check check,
                         const cuzk_control *control, cuzk_error *err) {
    *out = NULL;
    if (key_present(path, err)) return err->status;
    cuzk_key *key = calloc(1, sizeof *key);
    if (!key) return cuzk_fail(err, CUZK_MEMORY, "no memory for a key");
    cuzk_status s =
        (leave ? proving_key_open_file : proving_key_open)(&key->key, path, check, context->pool, control, err);
    if (s) {
        free(key);
        return s;
    }
    pthread_mutex_init(&key->bringing, NULL);
    *out = key;
    return CUZK_OK;
}

cuzk_status api_key_recipe(cuzk_key **out, const shape *s, cuzk_error *err) {
    trapdoor t;
    *out = NULL;
    cuzk_key *key = calloc(1, sizeof *key);
    if (!key) return cuzk_fail(err, CUZK_MEMORY, "no memory for a key");
    cuzk_status st = trapdoor_random(&t, err);
    if (!st) st = proving_key_recipe(&key->key, s, &t, err);
    secure_wipe(&t, sizeof t);
    if (st) {
        free(key);
        return st;
    }
    pthread_mutex_init(&key->bringing, NULL);
    *out = key;
    return CUZK_OK;
}

cuzk_status cuzk_key_open(cuzk_key **out, cuzk_context *context, const char *path, cuzk_key_check check,
                          const cuzk_control *control, cuzk_error *err) {
    static const key_check inner[] = {
        [CUZK_KEY_TRUSTED] = KEY_CHECK_TRUSTED, [CUZK_KEY_DIGEST] = KEY_CHECK_DIGEST, [CUZK_KEY_FULL] = KEY_CHECK_FULL};
    /* A device reads the file itself; should the CPU prove after all, the points are brought then. */
    bool leave = context->device != DEVICE_CPU && backend_cuda(NULL);
    return api_key_open(out, context, path, leave, inner[check], control, err);
}

cuzk_status api_key_bring(cuzk_context *context, const cuzk_key *key, const cuzk_control *control, cuzk_error *err) {
    cuzk_key *k = (cuzk_key *)(uintptr_t)key; /* read-only to its users, but for this first use */
    pthread_mutex_lock(&k->bringing);
    cuzk_status s = proving_key_bring(&k->key, context->pool, control, err);
    pthread_mutex_unlock(&k->bringing);
    return s;
}

cuzk_status api_key_doubt(cuzk_context *context, const cuzk_key *key, const cuzk_control *control, cuzk_error *err) {
    cuzk_key *k = (cuzk_key *)(uintptr_t)key;
    if (pthread_mutex_trylock(&k->bringing)) return CUZK_OK; /* nothing was made with them yet */
    proving_key now = k->key;                                /* so that nobody waits for the comparison */
    pthread_mutex_unlock(&k->bringing);
    return proving_key_doubt(&now, context->pool, control, err);
}

void cuzk_key_close(cuzk_key *key) {
    const backend *cuda = key && key->key.file ? backend_cuda(NULL) : NULL;
    for (unsigned d = 0; cuda && d < cuda->device_count(); d++) cuda->forget_key(d, &key->key);
    api_key_free(key);
}

void api_key_free(cuzk_key *key) {
    if (!key) return;
    proving_key_close(&key->key);
    pthread_mutex_destroy(&key->bringing);
    free(key);
}

cuzk_key_origin cuzk_key_get_origin(const cuzk_key *key) {
    return origin_public(key->key.origin);
}

const char *cuzk_key_official_folder(void) {
    const char *folder = getenv("FIL_PROOFS_PARAMETER_CACHE");
    return folder && *folder ? folder : OFFICIAL_FOLDER;
}

cuzk_status cuzk_key_find(const cuzk_circuit *h, char *path, size_t path_bytes, cuzk_error *err) {
    char name[288];
    const char *folder = cuzk_key_official_folder();
    circuit_file_name(h->c, "params", name, sizeof name);
    int n = snprintf(path, path_bytes, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= path_bytes) return cuzk_fail(err, CUZK_USAGE, "the parameter folder's path is too long");
    if (file_exists(path)) return CUZK_OK;
    cuzk_fail(err, CUZK_KEY_MISSING, "the proving key of %s is not there", h->c->name);
    cuzk_fail_where(err, "folder %s", folder);
    cuzk_fail_expected(err, "%s", name);
    return cuzk_fail_hint(err, "fetch that file, set FIL_PROOFS_PARAMETER_CACHE to its folder, give --params FILE, or "
                               "use --dev-key for a trial");
}

/* Digest of a mapped file with progress, so that a 60 GB key does not look like a hang. */
static cuzk_status file_digest(const file_map *m, uint8_t out[32], const cuzk_control *control, cuzk_error *err) {
    const size_t tile = (size_t)16 << 20;
    size_t tiles = (m->bytes + tile - 1) / tile;
    hash_ctx *h = hash_create(HASH_SHA256);
    for (size_t i = 0; i < tiles; i++) {
        if (api_cancelled(control, err)) {
            hash_destroy(h);
            return err->status;
        }
        size_t at = i * tile, len = m->bytes - at < tile ? m->bytes - at : tile;
        hash_update(h, m->data + at, len);
        file_map_done(m, at, len);
        if (control && control->progress) control->progress(control->user, "SHA-256", i + 1, tiles);
    }
    hash_final(h, out);
    hash_destroy(h);
    return CUZK_OK;
}

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A .vk file ends after its ic points; a .params file goes on. */
static bool is_vk_alone(const file_map *m) {
    return m->bytes >= VK_FIXED_BYTES + 4 && m->bytes == VK_FIXED_BYTES + 4 + 96ull * be32(m->data + VK_FIXED_BYTES);
}

cuzk_status cuzk_key_inspect(const char *path, cuzk_key_facts *out, const cuzk_control *control, cuzk_error *err) {
    file_map m;
    memset(out, 0, sizeof *out);
    if (key_present(path, err)) return err->status;
    if (file_map_open(&m, path, err)) return err->status;
    out->curve = "bls12-381";
    out->bytes = m.bytes;
    cuzk_status s = CUZK_OK;
    if (is_vk_alone(&m)) {
        out->ic = be32(m.data + VK_FIXED_BYTES);
        out->vk_bytes = m.bytes;
    } else {
        params_view v;
        s = params_view_open(&v, path, m.data, m.bytes, err);
        if (s) goto end;
        out->proving = true;
        out->ic = v.count[PARAMS_IC];
        out->h = v.count[PARAMS_H];
        out->l = v.count[PARAMS_L];
        out->a = v.count[PARAMS_A];
        out->b_g1 = v.count[PARAMS_B_G1];
        out->b_g2 = v.count[PARAMS_B_G2];
        out->vk_bytes = v.vk_bytes;
    }
    hash_sha256(out->vk_sha256, m.data, out->vk_bytes);
    hash_blake2b512(out->vk_blake2b512, m.data, out->vk_bytes);
    out->origin = origin_public(key_origin_of(path, m.data, out->vk_bytes));
    s = file_digest(&m, out->sha256, control, err);
end:
    file_map_close(&m);
    return s;
}

cuzk_status cuzk_key_verify(cuzk_context *context, const char *path, bool full, bool *valid,
                            const cuzk_control *control, cuzk_error *err) {
    *valid = false;
    if (key_present(path, err)) return err->status;
    file_map m;
    if (file_map_open(&m, path, err)) return err->status;
    bool vk_alone = is_vk_alone(&m);
    file_map_close(&m);
    if (!vk_alone) return key_verify_file(path, full, valid, context->pool, control, err);
    /* A verifying key is small: its points are always all checked. */
    verifying_key vk;
    if (!verifying_key_open(&vk, path, err)) {
        verifying_key_free(&vk);
        *valid = true;
    } else if (err->status != CUZK_KEY_DAMAGED && err->status != CUZK_MALFORMED) {
        return err->status;
    }
    return CUZK_OK;
}

cuzk_status cuzk_vk_open(cuzk_vk **out, const char *path, cuzk_error *err) {
    *out = NULL;
    if (key_present(path, err)) return err->status;
    cuzk_vk *vk = calloc(1, sizeof *vk);
    if (!vk) return cuzk_fail(err, CUZK_MEMORY, "no memory for a key");
    cuzk_status s = verifying_key_open(&vk->vk, path, err);
    if (s) {
        free(vk);
        return s;
    }
    *out = vk;
    return CUZK_OK;
}

void cuzk_vk_close(cuzk_vk *vk) {
    if (!vk) return;
    verifying_key_free(&vk->vk);
    free(vk);
}

size_t cuzk_vk_inputs(const cuzk_vk *vk) {
    return vk->vk.n_ic - 1;
}
