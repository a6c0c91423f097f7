/* What several tests of sector updates share. */
#include "ref/snap_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"
#include "circuit/job.h"
#include "circuit/snap/gadgets.h"
#include "r1cs/witness.h"
#include "ref/sources.h"

void snap_apex_alone(cs *c, const void *params, const void *instance) {
    const snap_apex_case *p = params;
    boolean partition[8];
    num leaves[SNAP_MAX_APEX], siblings[8];
    unsigned bits = 0;
    (void)instance;
    num comm_d = num_alloc(c, NULL);
    for (; (1u << bits) < p->partitions; bits++) partition[bits] = boolean_alloc(c, false);
    for (unsigned i = 0; i < p->leaves; i++) leaves[i] = num_alloc(c, NULL);
    for (unsigned i = 0; i < bits; i++) siblings[i] = num_alloc(c, NULL);
    snap_apex(c, &comm_d, partition, bits, leaves, p->leaves, siblings);
}

static void wrote(void *user, const char *what, const char *path) {
    snap_files *f = user;
    char *to = strcmp(what, "request") == 0 ? f->request : f->vanilla[f->n];
    if (to != f->request) f->list[f->n++] = to;
    snprintf(to, sizeof f->request, "%s", path);
}

void snap_files_make(snap_files *out, uint64_t sector_bytes, uint64_t seed, pool *workers) {
    circuit c;
    cuzk_error err = {0};
    memset(out, 0, sizeof *out);
    snprintf(out->folder, sizeof out->folder, "/tmp/cuzk-snap-XXXXXX");
    if (mkdtemp(out->folder) == NULL || circuit_open(&c, "snap", sector_bytes, "", &err) != CUZK_OK ||
        c.kind->synth(&c, seed, out->folder, workers, NULL, wrote, out, &err) != CUZK_OK) {
        fprintf(stderr, "made-up update: %s: %s\n", err.where, err.what);
        abort();
    }
    circuit_close(&c);
}

void snap_files_remove(snap_files *f) {
    unlink(f->request);
    for (size_t i = 0; i < f->n; i++) unlink(f->vanilla[i]);
    rmdir(f->folder);
}

static bool witness_good(const job *j, const shape *s, unsigned k, const fr *inputs) {
    witness w;
    uint64_t bad;
    cuzk_error err;
    const circuit *c = &j->circuit;
    if (witness_write(&w, s, c->kind->synthesize, c->params, c->kind->instance(j, k), &err) != CUZK_OK) {
        fprintf(stderr, "witness: %s\n", err.what);
        return false;
    }
    bool ok = witness_check(&w, s, &bad, NULL, NULL, &err) == CUZK_OK && bad == UINT64_MAX;
    if (!ok) {
        char path[256];
        (void)cs_locate(path, sizeof path, bad, c->kind->synthesize, c->params, &err);
        fprintf(stderr, "constraint %llu fails: %s\n", (unsigned long long)bad, path);
    }
    ok = ok && w.n_inputs == SNAP_PUBLIC_INPUTS + 1 &&
         memcmp(w.inputs + 1, inputs, SNAP_PUBLIC_INPUTS * sizeof *inputs) == 0;
    witness_free(&w);
    return ok;
}

static bool whole_life(const job *j, const job *facts, pool *workers, double *check, double *witnesses) {
    cuzk_error err;
    shape *s;
    double t0 = cpu_monotonic_seconds();
    if (j->circuit.kind->job_check(j, workers, NULL, &err) != CUZK_OK) {
        fprintf(stderr, "%s: %s\n", err.where, err.what);
        return false;
    }
    *check = cpu_monotonic_seconds() - t0;
    if (shape_record(&s, j->circuit.kind->synthesize, j->circuit.params, NULL, &err) != CUZK_OK) return false;
    bool ok = true;
    t0 = cpu_monotonic_seconds();
    for (unsigned k = 0; k < j->partitions && ok; k++) {
        fr a[SNAP_PUBLIC_INPUTS], b[SNAP_PUBLIC_INPUTS];
        j->circuit.kind->public_inputs(j, k, a);
        facts->circuit.kind->public_inputs(facts, k, b);
        ok = memcmp(a, b, sizeof a) == 0;
        if (k == 0 || k + 1 == j->partitions) ok = ok && witness_good(j, s, k, a);
    }
    *witnesses = cpu_monotonic_seconds() - t0;
    shape_destroy(s);
    return ok;
}

bool snap_synth_case(uint64_t sector_bytes, uint64_t seed, pool *workers) {
    snap_files f;
    job j, facts;
    cuzk_error err;
    double t0 = cpu_monotonic_seconds(), check = 0, witnesses = 0;
    snap_files_make(&f, sector_bytes, seed, workers);
    double made = cpu_monotonic_seconds() - t0;
    job_source sources[sizeof f.list / sizeof f.list[0]];
    job_files files = {.request.path = f.request,
                       .vanilla = sources_of(sources, f.list, f.n),
                       .n_vanilla = f.n,
                       .size_override = sector_bytes};
    if (job_open(&j, "snap", &files, false, &err) != CUZK_OK ||
        job_open(&facts, "snap", &files, true, &err) != CUZK_OK) {
        fprintf(stderr, "%s: %s\n", err.where, err.what);
        return false;
    }
    bool ok = whole_life(&j, &facts, workers, &check, &witnesses);
    printf("%s: made %.2f s, checked %.2f s, witnesses %.2f s\n", j.circuit.name, made, check, witnesses);
    fflush(stdout);
    job_close(&facts);
    job_close(&j);
    snap_files_remove(&f);
    return ok;
}
