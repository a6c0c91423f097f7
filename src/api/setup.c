/* Development keys: see cuzk/setup.h, and cuzk_key_development in cuzk/key.h. */
#include "api/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "backend/cuda/backend.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"
#include "groth16/setup.h"

/* A key with a known trapdoor under an official name in the official folder would be taken for the real one. */
static cuzk_status folder_allowed(const char *folder, cuzk_error *err) {
    const char *official = cuzk_key_official_folder();
    if (!file_same(folder, official)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "development keys are never written into the official parameter folder");
    cuzk_fail_where(err, "%s", folder);
    return cuzk_fail_hint(err, "give another folder");
}

static cuzk_status must_not_exist(const char *path, cuzk_error *err) {
    struct stat st;
    if (lstat(path, &st)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "a key is never written over an existing file");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_hint(err, "give another folder, or move that file away");
}

static cuzk_status join(char *out, size_t n, const char *folder, const circuit *c, const char *extension,
                        cuzk_error *err) {
    char name[288];
    circuit_file_name(c, extension, name, sizeof name);
    int len = snprintf(out, n, "%s/%s", folder, name);
    if (len > 0 && (size_t)len < n) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the path is too long");
    return cuzk_fail_where(err, "%s", folder);
}

static cuzk_status make(cuzk_context *context, const shape *s, const trapdoor *t, const cuzk_setup_report *report,
                        setup_result *out, const cuzk_control *control, cuzk_error *err) {
    unsigned device;
    if (!api_key_maker(context, s, &device)) {
        ntt_root root = ntt_root_bellman();
        cuzk_status st = api_admit(context, setup_bytes(s, pool_threads(context->pool)), "key making", err);
        return st ? st : groth16_setup(s, t, &root, report->params, report->vk, out, context->pool, control, err);
    }
    proving_key key;
    api_stage(control, "making the key on the device");
    cuzk_status st = backend_cuda_setup(device, &key, s, t, err);
    if (st) return st;
    st = backend_cuda_key_write(&key, report->params, report->vk, out, context->pool, control, err);
    backend_cuda_release_key(&key);
    return st;
}

cuzk_status cuzk_setup(cuzk_context *context, cuzk_circuit *h, const char *folder, const char *trapdoor_file,
                       cuzk_setup_report *report, const cuzk_control *control, cuzk_error *err) {
    double start = cpu_monotonic_seconds();
    trapdoor t;
    setup_result result;
    const shape *s;
    memset(report, 0, sizeof *report);
    if (folder_allowed(folder, err)) return err->status;
    if (join(report->params, sizeof report->params, folder, h->c, "params", err)) return err->status;
    if (join(report->vk, sizeof report->vk, folder, h->c, "vk", err)) return err->status;
    if (must_not_exist(report->params, err) || must_not_exist(report->vk, err)) return err->status;
    /* The trapdoor first, as a bad file should be found before a folder is made. */
    cuzk_status status = trapdoor_file ? trapdoor_read(&t, trapdoor_file, err) : trapdoor_random(&t, err);
    if (!status) status = file_make_folders(folder, err);
    /* Again: the folder may have come into being as a link's target. */
    if (!status) status = folder_allowed(folder, err);
    if (!status) status = api_shape(h, &s, control, err);
    if (!status) {
        status = make(context, s, &t, report, &result, control, err);
        if (status == CUZK_MALFORMED && trapdoor_file) cuzk_fail_within(err, "%s, $.trapdoor", trapdoor_file);
    }
    secure_wipe(&t, sizeof t);
    if (status) return status;
    report->params_bytes = result.params_bytes;
    memcpy(report->params_sha256, result.params_sha256, sizeof report->params_sha256);
    report->seconds = cpu_monotonic_seconds() - start;
    return CUZK_OK;
}

/* Both files there, whole, and of this circuit. Points are looked at where the key is converted or goes to a device,
 * which is where they first can be wrong; the copy is kept, so that this is no work that opening the key does not need.
 */
static cuzk_status sound(bool *yes, cuzk_context *context, cuzk_circuit *h, const char *path, const char *vk, bool tell,
                         const cuzk_control *control, cuzk_error *err) {
    proving_key key;
    verifying_key small;
    const shape *s;
    unsigned device;
    *yes = false;
    if (!file_exists(path) || !file_exists(vk)) return CUZK_OK;
    cuzk_status status = api_shape(h, &s, control, err);
    if (status) return status;
    status = verifying_key_open(&small, vk, err);
    if (!status) {
        verifying_key_free(&small);
        status = (api_key_maker(context, s, &device) ? proving_key_open_file : proving_key_open)(
            &key, path, KEY_CHECK_TRUSTED, context->pool, control, err);
    }
    if (!status) {
        status = proving_key_fits(&key, s, err);
        proving_key_close(&key);
    }
    *yes = status == CUZK_OK;
    if (status != CUZK_KEY_DAMAGED && status != CUZK_MALFORMED && status != CUZK_FOREIGN) return status;
    if (tell)
        log_warn("a development key in the cache folder is damaged and is made again: %s (%s)", err->where, err->what);
    return CUZK_OK;
}

static void waiting(void *user) {
    api_stage(user, "waiting for another process that makes this key");
}

cuzk_status cuzk_key_development(cuzk_context *context, cuzk_circuit *h, char *path, size_t path_bytes, bool *made,
                                 const cuzk_control *control, cuzk_error *err) {
    char folder[4096], vk[4096];
    int lock = -1;
    *made = false;
    if (file_cache_folder(folder, sizeof folder, "dev-keys", err)) return err->status;
    if (join(path, path_bytes, folder, h->c, "params", err)) return err->status;
    if (join(vk, sizeof vk, folder, h->c, "vk", err)) return err->status;
    bool have;
    if (sound(&have, context, h, path, vk, false, control, err)) return err->status;
    if (have) return CUZK_OK;
    /* One process makes the key; the others wait for it and find it there. */
    cuzk_control copy = control ? *control : (cuzk_control){0};
    if (file_lock(&lock, path, waiting, &copy, err)) return err->status;
    cuzk_status status = sound(&have, context, h, path, vk, true, control, err);
    if (!status && !have) {
        /* A process that was killed between the two renames left one of them; half a key is of no use. */
        remove(path);
        remove(vk);
        cuzk_setup_report report;
        status = cuzk_setup(context, h, folder, NULL, &report, control, err);
        *made = status == CUZK_OK;
    }
    file_unlock(lock);
    return status;
}
