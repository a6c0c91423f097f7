#include "ref/post_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"
#include "circuit/job.h"
#include "r1cs/witness.h"
#include "ref/sources.h"

static void must(cuzk_status s, const cuzk_error *err, const char *what) {
    if (s == CUZK_OK) return;
    fprintf(stderr, "%s: %s: %s (expected %s, found %s)\n", what, err->where, err->what, err->expected, err->found);
    abort();
}

static void must_be(bool true_, const char *what) {
    if (true_) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void wrote(void *user, const char *what, const char *path) {
    post_files *f = user;
    if (strcmp(what, "request") == 0) {
        snprintf(f->request, sizeof f->request, "%s", path);
        return;
    }
    f->vanilla = realloc(f->vanilla, (f->n + 1) * sizeof *f->vanilla);
    f->vanilla[f->n++] = strdup(path);
}

void post_files_make(post_files *out, const char *kind, uint64_t sector_bytes, uint64_t seed, pool *workers) {
    circuit c;
    cuzk_error err;
    memset(out, 0, sizeof *out);
    snprintf(out->folder, sizeof out->folder, "/tmp/cuzk-post-XXXXXX");
    must_be(mkdtemp(out->folder) != NULL, "mkdtemp");
    must(circuit_open(&c, kind, sector_bytes, "", &err), &err, "circuit");
    must(c.kind->synth(&c, seed, out->folder, workers, NULL, wrote, out, &err), &err, "synth");
    circuit_close(&c);
    must_be(out->request[0] && out->n > 0, "files are missing");
}

void post_files_remove(post_files *f) {
    unlink(f->request);
    for (size_t i = 0; i < f->n; i++) {
        unlink(f->vanilla[i]);
        free(f->vanilla[i]);
    }
    free(f->vanilla);
    rmdir(f->folder);
}

static void check_witness(const job *j, const fr *inputs, size_t n) {
    shape *s;
    witness w;
    uint64_t bad;
    cuzk_error err;
    const circuit *c = &j->circuit;
    must(shape_record(&s, c->kind->synthesize, c->params, NULL, &err), &err, "shape");
    must(witness_write(&w, s, c->kind->synthesize, c->params, c->kind->instance(j, 0), &err), &err, "witness");
    must(witness_check(&w, s, &bad, NULL, NULL, &err), &err, "witness check");
    must_be(bad == UINT64_MAX, "the witness is not satisfied");
    must_be(w.n_inputs == n + 1 && memcmp(w.inputs + 1, inputs, n * sizeof *inputs) == 0,
            "the witness has other public inputs");
    witness_free(&w);
    shape_destroy(s);
}

void post_synth_case(const char *kind, uint64_t sector_bytes, uint64_t seed, pool *workers, bool with_witness) {
    post_files f;
    job j, facts;
    cuzk_error err;
    double t0 = cpu_monotonic_seconds();
    post_files_make(&f, kind, sector_bytes, seed, workers);
    double t1 = cpu_monotonic_seconds();
    job_source *sources = calloc(f.n, sizeof *sources);
    if (!sources) abort();
    job_files files = {.request.path = f.request,
                       .vanilla = sources_of(sources, (const char *const *)f.vanilla, f.n),
                       .n_vanilla = f.n,
                       .size_override = sector_bytes};
    buffer_reset_peaks();
    must(job_open(&j, kind, &files, false, &err), &err, "open");
    uint64_t tracked = buffer_total_stats().peak_bytes;
    double t2 = cpu_monotonic_seconds();
    must(j.circuit.kind->job_check(&j, workers, NULL, &err), &err, "check");
    double t3 = cpu_monotonic_seconds();
    if (f.n > 100)
        printf("%s: %zu sectors made and written %.2f s; read %.2f s, tracked peak %.1f MB; checked %.2f s\n",
               j.circuit.name, f.n, t1 - t0, t2 - t1, (double)tracked / 1e6, t3 - t2);
    must_be(j.partitions == 1, "not one partition");
    must(job_open(&facts, kind, &files, true, &err), &err, "request alone");
    free(sources);
    size_t n = j.circuit.kind->public_count(&j.circuit);
    fr *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    j.circuit.kind->public_inputs(&j, 0, a);
    facts.circuit.kind->public_inputs(&facts, 0, b);
    must_be(memcmp(a, b, n * sizeof *a) == 0, "public inputs differ");
    if (with_witness) check_witness(&j, a, n);
    free(a);
    free(b);
    job_close(&facts);
    job_close(&j);
    post_files_remove(&f);
}
