/* verify KIND, verify groth16. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "format/public_inputs.h"

#define PROOF_FILE_LIMIT ((size_t)16 << 20)
#define INPUTS_FILE_LIMIT ((size_t)64 << 20)

static void put_valid(json_out *o, const bool *valid, size_t n) {
    json_begin_array(o);
    for (size_t i = 0; i < n; i++) json_put_bool(o, valid[i]);
    json_end_array(o);
}

static void put_reason(json_out *o, const cuzk_error *err) {
    json_put_key(o, "fault");
    json_begin_object(o);
    output_error_members(o, err);
    json_end_object(o);
}

static cuzk_status verify_job(const args *a, json_out *o, cuzk_job *job, const cuzk_vk *vk, const buffer *proof,
                              cuzk_error *err) {
    unsigned *chosen;
    size_t n;
    if (args_partitions(a, &chosen, &n, err)) return err->status;
    if (!chosen) n = cuzk_job_partitions(job);
    bool *valid = calloc(n, sizeof *valid);
    cuzk_status s = valid ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the answer");
    if (!s) s = cuzk_verify(a->context, vk, job, chosen, n, proof->data, proof->bytes, valid, err);
    if (s == CUZK_OK || s == CUZK_FALSE) {
        put_bool(o, "valid", s == CUZK_OK);
        put_text(o, "circuit", cuzk_circuit_name(cuzk_job_circuit(job)));
        json_put_key(o, "partitions");
        put_valid(o, valid, n);
        json_put_key(o, "invalid_partitions");
        json_begin_array(o);
        for (size_t i = 0; i < n; i++) {
            if (!valid[i]) json_put_u64(o, chosen ? chosen[i] : i);
        }
        json_end_array(o);
        if (s) put_reason(o, err);
    }
    free(valid);
    free(chosen);
    return s;
}

cuzk_status cmd_verify(const args *a, json_out *o, cuzk_error *err) {
    cuzk_job *job = NULL;
    cuzk_vk *vk = NULL;
    buffer proof = {0};
    cuzk_status s = open_job(a, true, &job, err);
    if (!s) s = cuzk_vk_open(&vk, a->value[OPT_VK], err);
    if (!s) s = file_read(&proof, a->operand[1], PROOF_FILE_LIMIT, err);
    if (!s) s = verify_job(a, o, job, vk, &proof, err);
    buffer_free(&proof);
    cuzk_vk_close(vk);
    cuzk_job_close(job);
    return s;
}

/* ---- verify groth16 ---- */

static cuzk_status read_inputs(public_inputs *out, const char *path, cuzk_error *err) {
    buffer text;
    if (file_read(&text, path, INPUTS_FILE_LIMIT, err)) return err->status;
    cuzk_status s = public_inputs_read(out, path, text.data, text.bytes, err);
    buffer_free(&text);
    return s;
}

cuzk_status cmd_verify_groth16(const args *a, json_out *o, cuzk_error *err) {
    size_t n = a->n_list[OPT_INPUTS];
    cuzk_vk *vk = NULL;
    buffer proof = {0};
    public_inputs *in = calloc(n, sizeof *in);
    const uint8_t(**elements)[32] = calloc(n, sizeof *elements);
    size_t *counts = calloc(n, sizeof *counts);
    bool *valid = calloc(n, sizeof *valid);
    cuzk_status s = CUZK_OK;
    if (!in || !elements || !counts || !valid) s = cuzk_fail(err, CUZK_MEMORY, "no memory for public inputs");
    if (!s) s = cuzk_vk_open(&vk, a->value[OPT_VK], err);
    for (size_t i = 0; i < n && !s; i++) {
        s = read_inputs(&in[i], a->list[OPT_INPUTS][i], err);
        elements[i] = (const uint8_t(*)[32])in[i].element;
        counts[i] = in[i].n;
    }
    if (!s) s = file_read(&proof, a->operand[0], PROOF_FILE_LIMIT, err);
    if (!s) {
        s = cuzk_verify_groth16(a->context, vk, (const uint8_t(*const *)[32])elements, counts, n, proof.data,
                                proof.bytes, valid, err);
    }
    if (s == CUZK_OK || s == CUZK_FALSE) {
        json_put_key(o, "valid");
        put_valid(o, valid, n);
        if (s) put_reason(o, err);
    }
    for (size_t i = 0; in && i < n; i++) public_inputs_free(&in[i]);
    free(in);
    free(elements);
    free(counts);
    free(valid);
    buffer_free(&proof);
    cuzk_vk_close(vk);
    return s;
}
