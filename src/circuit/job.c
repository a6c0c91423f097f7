/* The table of proof kinds, and what is common to their circuits and jobs. */
#include "circuit/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const circuit_kind porep_kind, winning_post_kind, window_post_kind, snap_kind;

static const circuit_kind *const kinds[] = {&porep_kind, &winning_post_kind, &window_post_kind, &snap_kind};

size_t circuit_kind_count(void) {
    return sizeof kinds / sizeof kinds[0];
}

const circuit_kind *circuit_kind_at(size_t i) {
    assert(i < circuit_kind_count());
    return kinds[i];
}

const circuit_kind *circuit_kind_find(const char *name) {
    for (size_t i = 0; i < circuit_kind_count(); i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

/* "2kib", "512mib", "32gib". */
static void size_name(char *out, size_t n, uint64_t bytes) {
    static const char units[] = "kmgt";
    unsigned unit = 0;
    bytes >>= 10;
    while (bytes >= 1024 && bytes % 1024 == 0 && unit < 3) bytes >>= 10, unit++;
    snprintf(out, n, "%llu%cib", (unsigned long long)bytes, units[unit]);
}

static void names_of_variants(char *out, size_t n, const circuit_kind *k) {
    out[0] = 0;
    for (size_t i = 1; k->variants[i]; i++) {
        size_t used = strlen(out);
        snprintf(out + used, n - used, "%s%s", i > 1 ? ", " : "", k->variants[i]);
    }
}

static cuzk_status unknown_kind(const char *kind, cuzk_error *err) {
    cuzk_fail(err, CUZK_USAGE, "there is no circuit kind \"%.40s\"", kind);
    char text[160] = "";
    for (size_t i = 0; i < circuit_kind_count(); i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", kinds[i]->name);
    }
    return cuzk_fail_expected(err, "%s", text);
}

static cuzk_status check_names(const circuit_kind *k, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    char text[160] = "", one[24];
    size_t i = 0;
    while (k->sizes[i] != 0 && k->sizes[i] != sector_bytes) i++;
    if (k->sizes[i] == 0) {
        for (i = 0; k->sizes[i] != 0; i++) {
            size_t used = strlen(text);
            size_name(one, sizeof one, k->sizes[i]);
            snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", one);
        }
        cuzk_fail(err, CUZK_USAGE, "%s has no circuit of this sector size", k->name);
        cuzk_fail_expected(err, "%s", text);
        return cuzk_fail_found(err, "%llu bytes", (unsigned long long)sector_bytes);
    }
    for (i = 0; k->variants[i]; i++)
        if (strcmp(k->variants[i], variant) == 0) return CUZK_OK;
    names_of_variants(text, sizeof text, k);
    cuzk_fail(err, CUZK_USAGE, "%s has no variant \"%.40s\"", k->name, variant);
    return cuzk_fail_expected(err, "%s", text[0] ? text : "no variant");
}

cuzk_status circuit_open(circuit *out, const char *kind, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    const circuit_kind *k = circuit_kind_find(kind);
    memset(out, 0, sizeof *out);
    return k ? circuit_open_kind(out, k, sector_bytes, variant, err) : unknown_kind(kind, err);
}

cuzk_status circuit_open_kind(circuit *out, const circuit_kind *k, uint64_t sector_bytes, const char *variant,
                              cuzk_error *err) {
    memset(out, 0, sizeof *out);
    if (!variant) variant = "";
    cuzk_status s = check_names(k, sector_bytes, variant, err);
    if (s != CUZK_OK) return s;
    char size[24];
    size_name(size, sizeof size, sector_bytes);
    out->kind = k;
    out->sector_bytes = sector_bytes;
    snprintf(out->variant, sizeof out->variant, "%s", variant);
    snprintf(out->name, sizeof out->name, "%s%s%s-%s", k->name, variant[0] ? "-" : "", variant, size);
    /* A kind whose variants differ in structure overwrites this. */
    snprintf(out->shape_name, sizeof out->shape_name, "%s-%s", k->name, size);
    s = k->open(out, sector_bytes, variant, err);
    if (s != CUZK_OK) memset(out, 0, sizeof *out);
    return s;
}

void circuit_close(circuit *c) {
    free(c->params_memory);
    memset(c, 0, sizeof *c);
}

void circuit_file_name(const circuit *c, const char *extension, char *out, size_t n) {
    snprintf(out, n, "v28-%s.%s", c->cache_identifier, extension);
}

cuzk_status job_open(job *out, const char *kind, const job_files *files, bool facts_only, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    const circuit_kind *k = circuit_kind_find(kind);
    return k ? job_open_kind(out, k, files, facts_only, err) : unknown_kind(kind, err);
}

cuzk_status job_open_kind(job *out, const circuit_kind *kind, const job_files *files, bool facts_only,
                          cuzk_error *err) {
    memset(out, 0, sizeof *out);
    out->facts_only = facts_only;
    out->memory = arena_create(BUFFER_REQUEST, 0, err);
    if (!out->memory) return err->status;
    cuzk_status s = kind->job_open(out, files, facts_only, err);
    if (s != CUZK_OK) job_close(out);
    return s;
}

cuzk_status job_witness(witness *out, const job *j, const shape *s, unsigned partition, cuzk_error *err) {
    return job_witness_until(out, j, s, partition, NULL, err);
}

cuzk_status job_witness_until(witness *out, const job *j, const shape *s, unsigned partition,
                              const cuzk_control *control, cuzk_error *err) {
    const circuit *c = &j->circuit;
    const void *instance = c->kind->instance(j, partition);
    if (!shape_is_lazy(s)) return witness_write_until(out, s, c->kind->synthesize, c->params, instance, control, err);
    size_t n = c->kind->public_count(c);
    fr *inputs = calloc(n + 1, sizeof *inputs);
    if (!inputs) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", n);
    c->kind->public_inputs(j, partition, inputs);
    cuzk_status status = witness_write_lazy(out, s, c->kind->synthesize, c->params, instance, inputs, n, err);
    free(inputs);
    return status;
}

void job_close(job *j) {
    const circuit_kind *k = j->circuit.kind;
    if (k && k->close) k->close(j);
    circuit_close(&j->circuit);
    arena_destroy(j->memory);
    memset(j, 0, sizeof *j);
}
