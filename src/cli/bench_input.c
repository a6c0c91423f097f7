/* The job of a batch: files as `prove` takes them, or a made-up sector in a temporary folder that goes at once. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define MAX_INPUT ((size_t)256 << 20)

static cuzk_status read_vanilla(bench_input *in, const char *const *paths, size_t n, cuzk_error *err) {
    if (!n) return CUZK_OK;
    in->vanilla = calloc(n, sizeof *in->vanilla);
    in->vanilla_bytes = calloc(n, sizeof *in->vanilla_bytes);
    if (!in->vanilla || !in->vanilla_bytes) return cuzk_fail(err, CUZK_MEMORY, "no memory for the input's names");
    for (size_t i = 0; i < n; i++) {
        if (file_read(&in->vanilla[i], paths[i], MAX_INPUT, err)) return err->status;
        in->n_vanilla = i + 1;
        in->vanilla_bytes[i] = (cuzk_bytes){in->vanilla[i].data, in->vanilla[i].bytes};
    }
    return CUZK_OK;
}

static cuzk_status read_files(bench_input *in, const char *c1, const char *request, const char *const *vanilla,
                              size_t n_vanilla, cuzk_error *err) {
    cuzk_submission *s = &in->submission;
    if (c1 && file_read(&in->c1, c1, MAX_INPUT, err)) return err->status;
    if (request && file_read(&in->request, request, MAX_INPUT, err)) return err->status;
    if (read_vanilla(in, vanilla, n_vanilla, err)) return err->status;
    s->c1 = (cuzk_bytes){in->c1.data, in->c1.bytes};
    s->request = (cuzk_bytes){in->request.data, in->request.bytes};
    s->vanilla = in->vanilla_bytes;
    s->n_vanilla = in->n_vanilla;
    return CUZK_OK;
}

/* ---- a made-up sector ---- */

typedef struct made_files {
    char *c1, *request, **vanilla, **all;
    size_t n_vanilla, n_all;
    bool failed;
} made_files;

static void note_file(void *user, const char *what, const char *path) {
    made_files *m = user;
    char *copy = strdup(path);
    char **all = realloc(m->all, (m->n_all + 1) * sizeof *all);
    if (all) m->all = all;
    if (!all || !copy) {
        free(copy);
        m->failed = true;
        return;
    }
    m->all[m->n_all++] = copy;
    if (!strcmp(what, "c1")) {
        m->c1 = copy;
    } else if (!strcmp(what, "request")) {
        m->request = copy;
    } else {
        char **vanilla = realloc(m->vanilla, (m->n_vanilla + 1) * sizeof *vanilla);
        m->failed = m->failed || !vanilla;
        if (vanilla) m->vanilla = vanilla, m->vanilla[m->n_vanilla++] = copy;
    }
}

static void remove_files(made_files *m, const char *folder) {
    for (size_t i = 0; i < m->n_all; i++) {
        unlink(m->all[i]);
        free(m->all[i]);
    }
    free(m->all);
    free(m->vanilla);
    rmdir(folder);
}

static cuzk_status make_sector(bench_input *in, const args *a, cuzk_error *err) {
    const char *base = getenv("TMPDIR");
    char folder[4096];
    cuzk_circuit *c;
    made_files m = {0};
    if (!a->given[OPT_SIZE]) {
        cuzk_fail(err, CUZK_USAGE, "--synthetic needs --size");
        return cuzk_fail_expected(err, "such as --size 2KiB");
    }
    if (open_circuit(a, &c, err)) return err->status;
    snprintf(folder, sizeof folder, "%s/cuzk-bench-XXXXXX", base && *base ? base : "/tmp");
    cuzk_status s = mkdtemp(folder) ? CUZK_OK : cuzk_fail(err, CUZK_IO, "no temporary folder can be made");
    if (s) {
        cuzk_fail_where(err, "%.300s", folder);
    } else {
        s = cuzk_synth_sector(a->context, c, 1, folder, note_file, &m, a->control, err);
        if (!s && m.failed) s = cuzk_fail(err, CUZK_MEMORY, "no memory for the input's names");
        if (!s) s = read_files(in, m.c1, m.request, (const char *const *)m.vanilla, m.n_vanilla, err);
        remove_files(&m, folder);
    }
    cuzk_circuit_close(c);
    return s;
}

/* ---- both ---- */

/* What the job is made for; a false or malformed input is refused before an engine starts. */
static cuzk_status look_at_job(bench_input *in, const args *a, cuzk_error *err) {
    cuzk_job *job;
    cuzk_job_files files = {.c1 = in->c1.data ? "c1" : NULL,
                            .request = in->request.data ? "request" : NULL,
                            .n_vanilla = in->n_vanilla,
                            .sector_bytes = in->submission.sector_bytes,
                            .variant = a->value[OPT_VARIANT],
                            .c1_data = in->submission.c1,
                            .request_data = in->submission.request,
                            .vanilla_data = in->vanilla_bytes};
    if (cuzk_job_open(&job, a->operand[0], &files, false, err)) return err->status;
    snprintf(in->circuit, sizeof in->circuit, "%s", cuzk_circuit_name(cuzk_job_circuit(job)));
    in->partitions = cuzk_job_partitions(job);
    cuzk_job_close(job);
    return CUZK_OK;
}

cuzk_status bench_input_open(bench_input *in, const args *a, cuzk_error *err) {
    bool files = a->given[OPT_C1] || a->given[OPT_REQUEST] || a->given[OPT_VANILLA];
    *in = (bench_input){.submission = {.size = sizeof(cuzk_submission), .kind = a->operand[0]}};
    if (args_bytes(a, OPT_SIZE, &in->submission.sector_bytes, err)) return err->status;
    if (files == a->given[OPT_SYNTHETIC]) {
        cuzk_fail(err, CUZK_USAGE, files ? "--synthetic and files are given" : "the job's input is missing");
        cuzk_fail_expected(err, "--c1 FILE, or --request FILE and --vanilla FILE..., or --synthetic");
        return cuzk_fail_hint(err, "`cuzk %s --help` shows an example", a->command->words);
    }
    cuzk_status s = a->given[OPT_SYNTHETIC] ? make_sector(in, a, err)
                                            : read_files(in, a->value[OPT_C1], a->value[OPT_REQUEST],
                                                         a->list[OPT_VANILLA], a->n_list[OPT_VANILLA], err);
    return s ? s : look_at_job(in, a, err);
}

void bench_input_free(bench_input *in) {
    buffer_free(&in->c1);
    buffer_free(&in->request);
    for (size_t i = 0; i < in->n_vanilla; i++) buffer_free(&in->vanilla[i]);
    free(in->vanilla);
    free(in->vanilla_bytes);
    *in = (bench_input){0};
}
