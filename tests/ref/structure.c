/* Structure against the reference's table. */
#include "ref/structure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/cpu.h"
#include "r1cs/shape.h"

typedef struct row {
    unsigned long long inputs, aux, constraints, nnz[3], a_aux, b_input, b_aux;
    char digest[65];
} row;

static bool find_row(row *out, const char *path, const char *name) {
    char line[512];
    bool found = false;
    size_t n = strlen(name);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    while (!found && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, name, n) != 0 || line[n] != '\t') continue;
        found = sscanf(line + n, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %64s", &out->inputs, &out->aux,
                       &out->constraints, &out->nnz[0], &out->nnz[1], &out->nnz[2], &out->a_aux, &out->b_input,
                       &out->b_aux, out->digest) == 10;
    }
    fclose(f);
    if (!found) fprintf(stderr, "%s: no line %s\n", path, name);
    return found;
}

static bool same(const char *name, const char *what, unsigned long long want, unsigned long long found) {
    if (want == found) return true;
    fprintf(stderr, "%s: %s: expected %llu, found %llu\n", name, what, want, found);
    return false;
}

static bool row_equal(const char *name, const row *want, const cs_counts *n, const uint8_t digest[32]) {
    char hex[65];
    bool ok = same(name, "inputs", want->inputs, n->inputs);
    ok &= same(name, "aux", want->aux, n->aux);
    ok &= same(name, "constraints", want->constraints, n->constraints);
    ok &= same(name, "nnz A", want->nnz[0], n->nnz[0]);
    ok &= same(name, "nnz B", want->nnz[1], n->nnz[1]);
    ok &= same(name, "nnz C", want->nnz[2], n->nnz[2]);
    ok &= same(name, "a_aux density", want->a_aux, n->a_aux_density);
    ok &= same(name, "b_input density", want->b_input, n->b_input_density);
    ok &= same(name, "b_aux density", want->b_aux, n->b_aux_density);
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(hex, want->digest) != 0) {
        fprintf(stderr, "%s: digest: expected %s, found %s\n", name, want->digest, hex);
        ok = false;
    }
    return ok;
}

bool structure_equal(const char *path, const char *name, cs_circuit f, const void *params) {
    row want;
    cs_counts n;
    cuzk_error err;
    uint8_t digest[32];
    if (!find_row(&want, path, name)) return false;
    double t0 = cpu_monotonic_seconds();
    if (cs_count(&n, f, params, &err) != CUZK_OK) {
        fprintf(stderr, "%s: count: %s\n", name, err.what);
        return false;
    }
    double t1 = cpu_monotonic_seconds();
    if (cs_hash(digest, f, params, NULL, NULL, &err) != CUZK_OK) {
        fprintf(stderr, "%s: hash: %s\n", name, err.what);
        return false;
    }
    double t2 = cpu_monotonic_seconds();
    bool ok = row_equal(name, &want, &n, digest);
    printf("%s: %s; count %.2f s, hash %.2f s\n", name, ok ? "equal" : "DIFFERENT", t1 - t0, t2 - t1);
    fflush(stdout);
    return ok;
}

bool structure_equal_shape(const char *path, const char *name, cs_circuit f, const void *params) {
    row want;
    cuzk_error err;
    shape *s;
    uint8_t digest[32];
    if (!find_row(&want, path, name)) return false;
    double t0 = cpu_monotonic_seconds();
    buffer_reset_peaks();
    if (shape_record(&s, f, params, NULL, &err) != CUZK_OK) {
        fprintf(stderr, "%s: record: %s\n", name, err.what);
        return false;
    }
    double t1 = cpu_monotonic_seconds(), peak = (double)buffer_total_stats().peak_bytes / (1 << 20);
    cs_counts n = shape_counts(s);
    bool ok = shape_hash(s, digest, NULL, NULL, NULL, &err) == CUZK_OK && row_equal(name, &want, &n, digest);
    printf("%s: %s; record %.2f s, %.0f MiB at most, shape %.0f MiB, hash %.2f s\n", name, ok ? "equal" : "DIFFERENT",
           t1 - t0, peak, (double)shape_bytes(s) / (1 << 20), cpu_monotonic_seconds() - t1);
    fflush(stdout);
    shape_destroy(s);
    return ok;
}
