/* Which keys there are. */
#include "daemon/keys.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "circuit/job.h"
#include "cuzk/key.h"
#include "format/bellperson.h"

static const char *folder_of(const config *c) {
    return c->param_cache[0] ? c->param_cache : cuzk_key_official_folder();
}

typedef struct key_report {
    const config *c;
    const char *folder;
    unsigned present, missing;
} key_report;

static bool is_enabled(const config *c, const char *name) {
    for (size_t i = 0; i < c->circuits.n; i++)
        if (strcmp(c->circuits.list[i], name) == 0) return true;
    return c->circuits.n == 0;
}

static void report_key(void *user, const char *name, const char *kind, uint64_t sector_bytes, const char *variant) {
    key_report *r = user;
    circuit c;
    cuzk_error err;
    char file[320], path[1024];
    if (!is_enabled(r->c, name) || circuit_open(&c, kind, sector_bytes, variant, &err) != CUZK_OK) return;
    circuit_file_name(&c, "params", file, sizeof file);
    circuit_close(&c);
    snprintf(path, sizeof path, "%s/%s", r->folder, file);
    if (file_exists(path)) {
        r->present++;
        log_info("key of %s: %s", name, file);
        return;
    }
    r->missing++;
    if (r->c->development_keys) return;
    if (r->c->circuits.n)
        log_warn("key of %s is missing: %s", name, path); /* somebody wants this one */
    else
        log_debug("key of %s is missing: %s", name, file);
}

void keys_report(const config *c) {
    key_report r = {.c = c, .folder = folder_of(c)};
    cuzk_circuit_list(report_key, &r);
    log_info("keys: %u of the %u enabled circuits have an official key in %s%s", r.present, r.present + r.missing,
             r.folder, c->development_keys ? "; development keys are taken for the others (worth nothing)" : "");
}

/* ---- those that are asked for ---- */

static cuzk_status check_file(const char *path, cuzk_error *err) {
    file_map m;
    params_view view;
    verifying_key vk;
    cuzk_status s = file_map_open(&m, path, err);
    if (s != CUZK_OK) return s;
    s = params_view_open(&view, path, m.data, m.bytes, err);
    file_map_close(&m);
    if (s == CUZK_OK) s = verifying_key_open(&vk, path, err);
    if (s == CUZK_OK) verifying_key_free(&vk);
    return s;
}

typedef struct key_check {
    const config *c;
    const char *wanted;
    cuzk_status status;
    cuzk_error *err;
} key_check;

static void check_one(void *user, const char *name, const char *kind, uint64_t sector_bytes, const char *variant) {
    key_check *k = user;
    circuit c;
    char file[320], path[1024];
    if (strcmp(name, k->wanted) != 0) return;
    k->status = circuit_open(&c, kind, sector_bytes, variant, k->err);
    if (k->status != CUZK_OK) return;
    circuit_file_name(&c, "params", file, sizeof file);
    circuit_close(&c);
    snprintf(path, sizeof path, "%s/%s", folder_of(k->c), file);
    if (file_exists(path)) {
        k->status = check_file(path, k->err);
    } else if (!k->c->development_keys) {
        cuzk_fail(k->err, CUZK_KEY_MISSING, "the key of %s, which srs.preload names, is not there", name);
        cuzk_fail_where(k->err, "%s", path);
        k->status = cuzk_fail_hint(k->err, "fetch it, name its folder in srs.param_cache, or leave the circuit out");
    }
}

cuzk_status keys_check(const config *c, cuzk_error *err) {
    key_check k = {.c = c, .status = CUZK_OK, .err = err};
    for (size_t i = 0; k.status == CUZK_OK && i < c->preload.n; i++) {
        k.wanted = c->preload.list[i];
        cuzk_circuit_list(check_one, &k);
    }
    return k.status;
}
