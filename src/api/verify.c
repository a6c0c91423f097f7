/* Verifying: see cuzk/proof.h. */
#include "api/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Verifies proof i against Montgomery inputs; OK or FALSE with err filled, or a failure. */
static cuzk_status verify_one(const cuzk_vk *vk, const uint8_t *proof_bytes, const fr *inputs, size_t n_inputs,
                              cuzk_error *err) {
    groth16_proof proof;
    cuzk_status s = proof_read(&proof, proof_bytes, err);
    if (s == CUZK_MALFORMED) return err->status = CUZK_FALSE; /* does not decode: false */
    if (s) return s;
    return groth16_verify(&vk->vk, &proof, inputs, n_inputs, err);
}

static cuzk_status length_false(size_t n, size_t proofs_bytes, cuzk_error *err) {
    cuzk_fail(err, CUZK_FALSE, "the proof has the wrong length");
    cuzk_fail_expected(err, "%zu bytes (%zu of %u each)", n * PROOF_BYTES, n, PROOF_BYTES);
    return cuzk_fail_found(err, "%zu bytes", proofs_bytes);
}

/* Nothing verified is not "all valid". */
static cuzk_status no_proof(cuzk_error *err) {
    return cuzk_fail(err, CUZK_USAGE, "there is no proof to verify");
}

static cuzk_status count_foreign(const cuzk_vk *vk, size_t n_inputs, cuzk_error *err) {
    cuzk_fail(err, CUZK_FOREIGN, "the number of public inputs is not that of the verifying key");
    cuzk_fail_expected(err, "%zu", cuzk_vk_inputs(vk));
    return cuzk_fail_found(err, "%zu", n_inputs);
}

cuzk_status cuzk_verify(cuzk_context *context, const cuzk_vk *vk, const cuzk_job *h, const unsigned *partitions,
                        size_t n_partitions, const uint8_t *proofs, size_t proofs_bytes, bool *valid, cuzk_error *err) {
    (void)context;
    size_t n = partitions ? n_partitions : h->j.partitions, n_inputs = cuzk_job_public_count(h);
    if (n == 0) return no_proof(err);
    memset(valid, 0, n * sizeof *valid);
    for (size_t i = 0; i < n && partitions; i++) {
        if (partitions[i] < h->j.partitions) continue;
        cuzk_fail(err, CUZK_USAGE, "the job has no such partition");
        cuzk_fail_expected(err, "0 to %u", h->j.partitions - 1);
        return cuzk_fail_found(err, "%u", partitions[i]);
    }
    if (n_inputs != cuzk_vk_inputs(vk)) {
        count_foreign(vk, n_inputs, err);
        return cuzk_fail_hint(err, "give the verifying key of %s", h->j.circuit.name);
    }
    if (proofs_bytes != n * PROOF_BYTES) return length_false(n, proofs_bytes, err);
    fr *inputs = calloc(n_inputs ? n_inputs : 1, sizeof *inputs);
    if (!inputs) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", n_inputs);
    cuzk_status result = CUZK_OK;
    for (size_t i = 0; i < n; i++) {
        unsigned partition = partitions ? partitions[i] : (unsigned)i;
        cuzk_error one;
        h->j.circuit.kind->public_inputs(&h->j, partition, inputs);
        cuzk_status s = verify_one(vk, proofs + i * PROOF_BYTES, inputs, n_inputs, &one);
        valid[i] = s == CUZK_OK;
        if (s == CUZK_OK || (s == CUZK_FALSE && result == CUZK_FALSE)) continue;
        *err = one;
        result = cuzk_fail_within(err, "partition %u", partition);
        if (s != CUZK_FALSE) break;
    }
    free(inputs);
    return result;
}

/* Big-endian numbers as field elements; MALFORMED for one that is not reduced. */
static cuzk_status read_inputs(fr *out, const uint8_t (*in)[32], size_t n, cuzk_error *err) {
    for (size_t i = 0; i < n; i++) {
        if (fr_from_be_bytes(&out[i], in[i])) continue;
        cuzk_fail(err, CUZK_MALFORMED, "a public input is not below the group order");
        return cuzk_fail_where(err, "public input %zu", i);
    }
    return CUZK_OK;
}

cuzk_status cuzk_verify_groth16(cuzk_context *context, const cuzk_vk *vk, const uint8_t (*const *inputs)[32],
                                const size_t *n_inputs, size_t n, const uint8_t *proofs, size_t proofs_bytes,
                                bool *valid, cuzk_error *err) {
    (void)context;
    size_t want = cuzk_vk_inputs(vk);
    cuzk_status result = CUZK_OK;
    if (n == 0) return no_proof(err);
    memset(valid, 0, n * sizeof *valid);
    fr *in = calloc(want ? want : 1, sizeof *in);
    if (!in) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", want);
    /* All inputs are looked at before any proof, as a bad input is not an answer about a proof. */
    for (size_t i = 0; i < n && !result; i++) {
        if (n_inputs[i] != want) result = count_foreign(vk, n_inputs[i], err);
        if (!result) result = read_inputs(in, inputs[i], want, err);
        if (result) result = cuzk_fail_within(err, "proof %zu", i);
    }
    if (!result && proofs_bytes != n * PROOF_BYTES) result = length_false(n, proofs_bytes, err);
    bool usable = !result;
    for (size_t i = 0; i < n && usable; i++) {
        cuzk_error one;
        cuzk_status s = read_inputs(in, inputs[i], want, &one);
        if (!s) s = verify_one(vk, proofs + i * PROOF_BYTES, in, want, &one);
        valid[i] = s == CUZK_OK;
        if (s == CUZK_OK || (s == CUZK_FALSE && result == CUZK_FALSE)) continue;
        *err = one;
        result = cuzk_fail_within(err, "proof %zu", i);
        usable = s == CUZK_FALSE;
    }
    free(in);
    return result;
}
