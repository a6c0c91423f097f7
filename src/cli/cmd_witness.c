/* witness: makes the witness of each partition, checks every constraint, prints inputs and digests. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_inputs(json_out *o, const uint8_t (*inputs)[32], size_t n) {
    json_put_key(o, "inputs");
    json_begin_array(o);
    for (size_t i = 0; i < n; i++) json_put_hex(o, inputs[i], 32);
    json_end_array(o);
}

static cuzk_status unsatisfied(const cuzk_witness_report *r, unsigned partition, cuzk_error *err) {
    cuzk_fail(err, CUZK_UNSATISFIED, "the witness does not satisfy the circuit");
    cuzk_fail_where(err, "partition %u, constraint %llu%s%.200s", partition, (unsigned long long)r->first_unsatisfied,
                    r->gadget[0] ? ", " : "", r->gadget);
    return cuzk_fail_hint(err, "`cuzk vanilla verify` found the input good, so please report this");
}

static cuzk_status witness_partition(const args *a, json_out *o, cuzk_job *job, unsigned k, cuzk_error *err) {
    cuzk_witness_report report;
    checkpoint_file *file = NULL;
    char path[4096];
    const char *prefix = a->value[OPT_CHECKPOINTS];
    size_t n = cuzk_job_public_count(job);
    uint8_t(*inputs)[32] = calloc(n ? n : 1, sizeof *inputs);
    if (!inputs) return cuzk_fail(err, CUZK_MEMORY, "no memory for public inputs");
    cuzk_status s = cuzk_job_public_inputs(job, k, inputs, err);
    if (!s && prefix) {
        int len = snprintf(path, sizeof path, "%s-%u.tsv", prefix, k);
        bool fits = len > 0 && (size_t)len < sizeof path;
        s = fits ? check_output(a, path, err) : cuzk_fail(err, CUZK_USAGE, "--checkpoints is too long for a path");
        if (!s) s = checkpoint_open(&file, path, "aux_sha256", err);
    }
    if (!s) {
        s = cuzk_witness_make(a->context, job, k, &report, prefix ? checkpoint_add : NULL, file, a->control, err);
    }
    if (!s && !report.satisfied) s = unsatisfied(&report, k, err);
    if (!s && prefix) {
        s = checkpoint_commit(file, err);
        file = NULL;
    }
    if (!s) {
        json_begin_object(o);
        put_number(o, "partition", k);
        put_inputs(o, (const uint8_t(*)[32])inputs, n);
        put_hex(o, "inputs_with_one_sha256", report.inputs_sha256, 32);
        put_number(o, "aux", report.aux);
        put_hex(o, "aux_sha256", report.aux_sha256, 32);
        put_number(o, "witness_bytes", report.witness_bytes);
        put_bool(o, "satisfied", report.satisfied);
        json_end_object(o);
    }
    checkpoint_abort(file);
    free(inputs);
    return s;
}

cuzk_status cmd_witness(const args *a, json_out *o, cuzk_error *err) {
    cuzk_job *job = NULL;
    unsigned *chosen;
    size_t n;
    if (args_partitions(a, &chosen, &n, err)) return err->status;
    cuzk_status s = open_job(a, false, &job, err);
    if (!s) s = cuzk_job_check(a->context, job, a->control, err);
    if (!s) {
        if (!chosen) n = cuzk_job_partitions(job);
        put_text(o, "circuit", cuzk_circuit_name(cuzk_job_circuit(job)));
        json_put_key(o, "partitions");
        json_begin_array(o);
        for (size_t i = 0; i < n && !s; i++) {
            s = witness_partition(a, o, job, chosen ? chosen[i] : (unsigned)i, err);
        }
        json_end_array(o);
    }
    cuzk_job_close(job);
    free(chosen);
    return s;
}
