/* Made-up prover inputs: see cuzk/synth.h. */
#include "api/internal.h"

#include <dirent.h>
#include <string.h>

/* Only an empty or absent folder: nobody's sealed sector is written over by a made-up one. */
static cuzk_status folder_free(const char *folder, cuzk_error *err) {
    DIR *d = opendir(folder);
    if (!d) return CUZK_OK;
    bool used = false;
    for (const struct dirent *e = readdir(d); e && !used; e = readdir(d)) {
        used = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    }
    closedir(d);
    if (!used) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the folder is not empty");
    cuzk_fail_where(err, "%s", folder);
    return cuzk_fail_hint(err, "give a new or empty folder");
}

static void ignore(void *user, const char *what, const char *path) {
    (void)user, (void)what, (void)path;
}

cuzk_status cuzk_synth_sector(cuzk_context *context, cuzk_circuit *h, uint64_t seed, const char *folder,
                              void (*wrote)(void *user, const char *what, const char *path), void *user,
                              const cuzk_control *control, cuzk_error *err) {
    const circuit_kind *kind = h->c->kind;
    if (!kind->synth) return cuzk_fail(err, CUZK_USAGE, "%s has no made-up sectors", kind->name);
    if (folder_free(folder, err)) return err->status;
    return kind->synth(h->c, seed, folder, context->pool, control, wrote ? wrote : ignore, user, err);
}
