/* Witnesses: see cuzk/witness.h. */
#include "api/internal.h"

#include <stdlib.h>
#include <string.h>

/* The circuit's inputs must be the ones that a verifier derives; anything else is our fault, as the vanilla proof was
 * found good. */
cuzk_status api_inputs_agree(const job *j, unsigned partition, const witness *w, cuzk_error *err) {
    size_t n = j->circuit.kind->public_count(&j->circuit);
    cuzk_status s = CUZK_OK;
    fr *inputs = calloc(n + 1, sizeof *inputs);
    if (!inputs) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", n);
    j->circuit.kind->public_inputs(j, partition, inputs);
    size_t bad = 0;
    while (bad < n && bad + 1 < w->n_inputs && fr_eq(&inputs[bad], &w->inputs[bad + 1])) bad++;
    if (w->n_inputs != n + 1 || bad < n) {
        s = cuzk_fail(err, CUZK_INTERNAL, "the witness has other public inputs than the verifier derives");
        cuzk_fail_where(err, "partition %u, public input %zu", partition, bad);
        cuzk_fail_hint(err, "please report this");
    }
    free(inputs);
    return s;
}

static cuzk_status report_fill(cuzk_witness_report *report, const cuzk_job *h, const shape *s, const witness *w,
                               cuzk_checkpoint each, void *user, cuzk_context *context, const cuzk_control *control,
                               cuzk_error *err) {
    report->inputs = w->n_inputs - 1;
    report->aux = w->n_aux;
    report->witness_bytes = w->memory.bytes;
    if (witness_digests(w, s, report->inputs_sha256, report->aux_sha256, each, user, err)) return err->status;
    if (witness_check(w, s, &report->first_unsatisfied, context->pool, control, err)) return err->status;
    report->satisfied = report->first_unsatisfied == UINT64_MAX;
    if (!report->satisfied) {
        api_locate(&h->j.circuit, report->first_unsatisfied, report->gadget, sizeof report->gadget);
    }
    return CUZK_OK;
}

cuzk_status cuzk_witness_make(cuzk_context *context, cuzk_job *h, unsigned partition, cuzk_witness_report *report,
                              cuzk_checkpoint each, void *user, const cuzk_control *control, cuzk_error *err) {
    memset(report, 0, sizeof *report);
    if (partition >= h->j.partitions) {
        cuzk_fail(err, CUZK_USAGE, "the job has no such partition");
        cuzk_fail_expected(err, "0 to %u", h->j.partitions - 1);
        return cuzk_fail_found(err, "%u", partition);
    }
    if (cuzk_job_check(context, h, control, err)) return err->status;
    const shape *s;
    if (api_shape(&h->circ, &s, control, err)) return err->status;
    uint64_t need = shape_is_lazy(s) ? witness_lazy_bytes(s) : witness_bytes(s);
    if (api_admit(context, need, "the witness", err)) return err->status;
    api_stage(control, "synthesis");
    witness w = {0};
    cuzk_status status = job_witness(&w, &h->j, s, partition, err);
    if (!status) status = api_cancelled(control, err);
    if (!status) status = report_fill(report, h, s, &w, each, user, context, control, err);
    if (!status && report->satisfied) status = api_inputs_agree(&h->j, partition, &w, err);
    witness_free(&w);
    return status ? cuzk_fail_within(err, "partition %u", partition) : CUZK_OK;
}
