/* What several commands do alike: opening circuits and jobs, checking where results go, putting values. */
#include "cli/cli.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"

cuzk_status open_circuit(const args *a, cuzk_circuit **out, cuzk_error *err) {
    uint64_t size;
    if (args_bytes(a, OPT_SIZE, &size, err)) return err->status;
    cuzk_status s = cuzk_circuit_open(out, a->operand[0], size, a->value[OPT_VARIANT], err);
    if (s && !err->hint[0]) cuzk_fail_hint(err, "`cuzk circuit list` names every circuit");
    return s;
}

cuzk_status open_job(const args *a, bool facts_only, cuzk_job **out, cuzk_error *err) {
    uint64_t size;
    if (args_bytes(a, OPT_SIZE, &size, err)) return err->status;
    cuzk_job_files files = {.c1 = a->value[OPT_C1],
                            .request = a->value[OPT_REQUEST],
                            .vanilla = a->list[OPT_VANILLA],
                            .n_vanilla = a->n_list[OPT_VANILLA],
                            .sector_bytes = size,
                            .variant = a->value[OPT_VARIANT]};
    if (!files.c1 && !files.request) {
        cuzk_fail(err, CUZK_USAGE, "the job's input is missing");
        cuzk_fail_expected(err, "--c1 FILE, or --request FILE%s", facts_only ? "" : " and --vanilla FILE");
        return cuzk_fail_hint(err, "`cuzk %s --help` shows an example", a->command->words);
    }
    return cuzk_job_open(out, a->operand[0], &files, facts_only, err);
}

/* ---- outputs ---- */

static cuzk_status not_an_input(const char *path, option o, const char *input, cuzk_error *err) {
    if (!input || !strcmp(input, "-") || !file_same(path, input)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the output is the file given as --%s", option_name(o));
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_hint(err, "give another name; nothing was written");
}

/* A result may lie in the cache folder, but not among the keys and shapes that are kept there under their own names. */
static cuzk_status not_among_ours(const char *folder, cuzk_error *err) {
    static const char *const ours[] = {"shapes", "keys", "dev-keys"};
    char own[4096];
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (file_cache_name(own, sizeof own, ours[i], err) || !file_same(folder, own)) continue;
        cuzk_fail(err, CUZK_USAGE, "the output's folder is one where cuzk keeps its own files");
        cuzk_fail_where(err, "%s", folder);
        return cuzk_fail_hint(err, "give another folder");
    }
    return CUZK_OK;
}

cuzk_status check_output(const args *a, const char *path, cuzk_error *err) {
    static const option inputs[] = {OPT_C1, OPT_REQUEST, OPT_VANILLA,     OPT_PARAMS,
                                    OPT_VK, OPT_INPUTS,  OPT_INSECURE_RS, OPT_INSECURE_TRAPDOOR};
    struct stat st;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        option o = inputs[i];
        if (!option_repeats(o) && not_an_input(path, o, a->value[o], err)) return err->status;
        for (size_t k = 0; k < a->n_list[o]; k++) {
            if (not_an_input(path, o, a->list[o][k], err)) return err->status;
        }
    }
    /* Renaming over a device or a pipe would replace it. */
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
        cuzk_fail(err, CUZK_USAGE, "the output is not a regular file");
        cuzk_fail_where(err, "%s", path);
        cuzk_fail_found(err, "%s", S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
        return cuzk_fail_hint(err, "give a file name");
    }
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", path);
    const char *folder = dirname(copy);
    if (not_among_ours(folder, err)) return err->status;
    if (!stat(folder, &st) && S_ISDIR(st.st_mode)) return CUZK_OK;
    cuzk_fail(err, CUZK_IO, "the output's folder is not there");
    cuzk_fail_where(err, "%s", folder);
    return cuzk_fail_hint(err, "make it first");
}

/* ---- checkpoint files ---- */

struct checkpoint_file {
    file_writer *writer;
    cuzk_error err; /* sticky: the callback cannot fail */
};

cuzk_status checkpoint_open(checkpoint_file **out, const char *path, const char *column, cuzk_error *err) {
    char line[64];
    *out = NULL;
    checkpoint_file *f = calloc(1, sizeof *f);
    if (!f) return cuzk_fail(err, CUZK_MEMORY, "no memory for a file");
    int n = snprintf(line, sizeof line, "chunk\t%s\n", column);
    cuzk_status s = file_writer_open(&f->writer, path, false, err);
    if (!s) s = file_writer_write(f->writer, line, (size_t)n, err);
    if (s) {
        checkpoint_abort(f);
        return s;
    }
    *out = f;
    return CUZK_OK;
}

void checkpoint_add(void *file, uint64_t chunk, const uint8_t digest[32]) {
    checkpoint_file *f = file;
    char line[96], hex[65];
    if (f->err.status) return;
    text_hex(hex, digest, 32);
    int n = snprintf(line, sizeof line, "%llu\t%s\n", (unsigned long long)chunk, hex);
    (void)file_writer_write(f->writer, line, (size_t)n, &f->err);
}

cuzk_status checkpoint_commit(checkpoint_file *f, cuzk_error *err) {
    cuzk_status s = f->err.status;
    if (s) {
        *err = f->err;
        file_writer_abort(f->writer);
    } else {
        s = file_writer_commit(f->writer, err);
    }
    free(f);
    return s;
}

void checkpoint_abort(checkpoint_file *f) {
    if (!f) return;
    file_writer_abort(f->writer);
    free(f);
}

/* ---- values ---- */

void put_hex(json_out *o, const char *key, const uint8_t *data, size_t n) {
    json_put_key(o, key);
    json_put_hex(o, data, n);
}

void put_text(json_out *o, const char *key, const char *text) {
    json_put_key(o, key);
    json_put_string(o, text);
}

void put_number(json_out *o, const char *key, uint64_t v) {
    json_put_key(o, key);
    json_put_u64(o, v);
}

void put_bool(json_out *o, const char *key, bool v) {
    json_put_key(o, key);
    json_put_bool(o, v);
}

/* Microseconds are enough. */
void put_seconds(json_out *o, const char *key, double v) {
    json_put_key(o, key);
    json_put_double(o, round(v * 1e6) / 1e6);
}
