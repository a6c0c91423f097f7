/* Shapes kept in the cache folder: shapes/NAME.shape.
 *
 * Who finds no good file takes the file's lock, looks again (another process may have built it meanwhile), records the
 * shape and saves it under a temporary name that is renamed when complete. A killed writer leaves the lock free and no
 * file of the final name. The cache is a convenience: whatever goes wrong with it costs time, not the shape.
 */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"
#include "r1cs/shape_internal.h"

/* Opens the file when it is there, whole, and of this circuit and version. False: it has to be made. */
static bool open_fitting(shape **out, const char *path, const char *name, uint32_t version, bool warn) {
    cuzk_error err;
    if (!file_exists(path)) return false;
    if (shape_open(out, path, &err) != CUZK_OK) {
        if (warn) log_warn("%s: %s; it is made again", path, err.what);
        return false;
    }
    if (strcmp((*out)->name, name) == 0 && (*out)->version == version) return true;
    if (warn) log_info("%s: of circuit version %u; version %u is made", path, (*out)->version, version);
    shape_destroy(*out);
    return false;
}

static void tell_waiting(void *user) {
    log_info("waiting for another process that records the shape %s", (const char *)user);
}

static bool cache_path(char *path, size_t n, const char *name, cuzk_error *err) {
    char folder[4096];
    if (file_cache_folder(folder, sizeof folder, "shapes", err) != CUZK_OK) return false;
    return (size_t)snprintf(path, n, "%s/%s.shape", folder, name) < n;
}

cuzk_status shape_cached(shape **out, const char *name, uint32_t version, cs_circuit f, const void *params,
                         const cuzk_control *control, cuzk_error *err) {
    char path[4096 + SHAPE_NAME_BYTES + 8], waited[SHAPE_NAME_BYTES];
    cuzk_error cache_err = {0};
    assert(name[0] != '\0' && strlen(name) < SHAPE_NAME_BYTES);
    for (const char *p = name; *p != '\0'; p++) assert(isalnum((unsigned char)*p) || *p == '-' || *p == '_');
    snprintf(waited, sizeof waited, "%s", name);

    if (!cache_path(path, sizeof path, name, &cache_err)) {
        log_warn("the cache folder cannot be used (%s); the shape %s is recorded into memory", cache_err.what, name);
        return shape_record(out, f, params, control, err);
    }
    if (open_fitting(out, path, name, version, false)) return CUZK_OK;
    int lock;
    if (file_lock(&lock, path, tell_waiting, waited, &cache_err) != CUZK_OK) {
        log_warn("%s cannot be written (%s); the shape is recorded into memory", path, cache_err.what);
        return shape_record(out, f, params, control, err);
    }
    cuzk_status s = CUZK_OK;
    if (!open_fitting(out, path, name, version, true)) {
        s = shape_record(out, f, params, control, err);
        if (s == CUZK_OK) {
            memcpy((*out)->name, waited, sizeof waited);
            (*out)->version = version;
            if (shape_save_as(*out, name, version, path, &cache_err) != CUZK_OK)
                log_warn("%s cannot be written (%s); the shape stays in memory", path, cache_err.what);
        }
    }
    file_unlock(lock);
    return s;
}
