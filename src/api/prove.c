/* Proving: see cuzk/proof.h. One partition at a time; each proof is verified by groth16_prove, and all of them again in
 * one batch against the verifier's public inputs, before a byte leaves. */
#include "api/internal.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "base/cpu.h"
#include "base/file.h"
#include "base/text.h"

typedef struct run {
    cuzk_context *context;
    cuzk_job *job;
    const cuzk_key *key;
    const cuzk_control *control;
    const shape *sh;
    const unsigned *partitions; /* NULL: all */
    size_t n, n_inputs;
    arena *scratch;
    const json_node *fixed; /* the "proofs" list of --insecure-rs, or NULL */
    groth16_proof *proofs;
    fr **inputs;
    prove_times times;
    double synthesis, verify;
    const api_target *target;
} run;

static unsigned partition_at(const run *r, size_t i) {
    return r->partitions ? r->partitions[i] : (unsigned)i;
}

static cuzk_status check_partitions(const run *r, cuzk_error *err) {
    for (size_t i = 0; i < r->n; i++) {
        unsigned k = partition_at(r, i);
        if (k >= r->job->j.partitions) {
            cuzk_fail(err, CUZK_USAGE, "the job has no such partition");
            cuzk_fail_expected(err, "0 to %u", r->job->j.partitions - 1);
            return cuzk_fail_found(err, "%u", k);
        }
        for (size_t l = 0; l < i; l++) {
            if (partition_at(r, l) == k) return cuzk_fail(err, CUZK_USAGE, "partition %u is named twice", k);
        }
    }
    return CUZK_OK;
}

/* ---- blinding ---- */

static cuzk_status fixed_load(run *r, const char *path, cuzk_error *err) {
    buffer text = {0};
    json_node *root;
    const size_t limit = (size_t)16 << 20;
    if (file_read(&text, path, limit, err)) return err->status;
    cuzk_status s = json_tree(&root, r->scratch, path, text.data, text.bytes, limit, err);
    secure_wipe(text.data, text.bytes);
    buffer_free(&text);
    if (s) return s;
    r->fixed = json_member(root, "proofs");
    if (r->fixed && r->fixed->kind == JSON_ARRAY) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "the file holds no blinding");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_expected(err, "{\"proofs\": [{\"index\": 0, \"r\": hex, \"s\": hex}, …]}");
}

static bool fixed_element(fr *out, const json_node *entry, const char *name) {
    const json_node *n = json_member(entry, name);
    uint8_t bytes[32];
    return n && n->kind == JSON_STRING && text_unhex(bytes, 32, n->text, n->len) && fr_from_be_bytes(out, bytes);
}

static cuzk_status blinding(const run *r, unsigned partition, fr *out_r, fr *out_s, cuzk_error *err) {
    if (!r->fixed) return groth16_blinding(out_r, out_s, err);
    for (const json_node *entry = r->fixed->first; entry; entry = entry->next) {
        const json_node *index = json_member(entry, "index");
        uint64_t k;
        if (!index || index->kind != JSON_NUMBER || !text_u64(&k, index->text, index->len) || k != partition) continue;
        if (fixed_element(out_r, entry, "r") && fixed_element(out_s, entry, "s")) return CUZK_OK;
        cuzk_fail(err, CUZK_MALFORMED, "r or s is not a field element");
        cuzk_fail_expected(err, "64 hexadecimal digits, a number below the group order");
        return cuzk_fail_where(err, "the entry of \"proofs\" with index %u", partition);
    }
    cuzk_fail(err, CUZK_MALFORMED, "the file with r and s has no entry for this partition");
    return cuzk_fail_where(err, "\"proofs\", index %u", partition);
}

/* ---- one partition ---- */

static cuzk_status doubt_key(void *user, const cuzk_control *control, cuzk_error *err) {
    const run *r = user;
    return api_key_doubt(r->context, r->key, control, err);
}

static cuzk_status prove_partition(run *r, size_t i, cuzk_error *err) {
    unsigned k = partition_at(r, i);
    witness w = {0};
    prove_times times = {0};
    fr blind_r, blind_s;
    if (api_cancelled(r->control, err)) return err->status;
    if (blinding(r, k, &blind_r, &blind_s, err)) return err->status;
    double start = cpu_monotonic_seconds();
    api_stage(r->control, "synthesis");
    cuzk_status s = job_witness(&w, &r->job->j, r->sh, k, err);
    if (!s) s = api_inputs_agree(&r->job->j, k, &w, err);
    r->synthesis += cpu_monotonic_seconds() - start;
    if (!s) {
        prove_request request = {.key = &r->key->key,
                                 .shape = r->sh,
                                 .witness = &w,
                                 .r = blind_r,
                                 .s = blind_s,
                                 .doubt = doubt_key,
                                 .doubt_user = r};
        s = groth16_prove(r->target->backend, r->target->device, &r->proofs[i], &times, &request, r->context->pool,
                          r->control, err);
        secure_wipe(&request, sizeof request);
    }
    witness_free(&w);
    secure_wipe(&blind_r, sizeof blind_r);
    secure_wipe(&blind_s, sizeof blind_s);
    r->times.eval += times.eval;
    r->times.ntt += times.ntt;
    r->times.msm_h += times.msm_h;
    r->times.msm_l += times.msm_l;
    r->times.msm_a += times.msm_a;
    r->times.msm_b_g1 += times.msm_b_g1;
    r->times.msm_b_g2 += times.msm_b_g2;
    r->times.finish += times.finish;
    r->times.total += times.total;
    return s ? cuzk_fail_within(err, "partition %u", k) : CUZK_OK;
}

/* All proofs against the public inputs that a verifier derives. groth16_prove has looked at each already; this catches
 * what lies between it and the caller, such as proofs in the wrong order. */
static cuzk_status verify_all(run *r, cuzk_error *err) {
    double start = cpu_monotonic_seconds();
    api_stage(r->control, "verification");
    for (size_t i = 0; i < r->n; i++) {
        r->job->j.circuit.kind->public_inputs(&r->job->j, partition_at(r, i), r->inputs[i]);
    }
    cuzk_status s = groth16_verify_batch(&r->key->key.vk, r->proofs, (const fr *const *)r->inputs, r->n_inputs, r->n,
                                         r->context->pool, err);
    if (s == CUZK_FALSE) {
        cuzk_fail(err, CUZK_INTERNAL, "the finished proofs do not verify together");
        s = cuzk_fail_hint(err, "nothing was written; run `cuzk selftest`, and please report this");
    }
    r->verify += cpu_monotonic_seconds() - start;
    return s;
}

static cuzk_status run_alloc(run *r, cuzk_error *err) {
    r->scratch = arena_create(BUFFER_OTHER, (size_t)64 << 10, err);
    if (!r->scratch) return err->status;
    r->proofs = arena_alloc_array(r->scratch, r->n, sizeof *r->proofs);
    r->inputs = arena_alloc_array(r->scratch, r->n, sizeof *r->inputs);
    for (size_t i = 0; r->inputs && i < r->n; i++) {
        r->inputs[i] = arena_alloc_array(r->scratch, r->n_inputs + 1, sizeof **r->inputs);
        if (!r->inputs[i]) r->inputs = NULL;
    }
    return r->proofs && r->inputs ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for %zu proofs", r->n);
}

static void report_fill(cuzk_prove_report *report, const run *r, uint64_t plan_bytes) {
    report->partitions = (unsigned)r->n;
    report->plan_host_bytes = plan_bytes;
    snprintf(report->device, sizeof report->device, "%s", r->target->name);
    report->seconds.synthesis = r->synthesis;
    report->seconds.eval = r->times.eval;
    report->seconds.ntt = r->times.ntt;
    report->seconds.msm_h = r->times.msm_h;
    report->seconds.msm_l = r->times.msm_l;
    report->seconds.msm_a = r->times.msm_a;
    report->seconds.msm_b_g1 = r->times.msm_b_g1;
    report->seconds.msm_b_g2 = r->times.msm_b_g2;
    report->seconds.finish = r->times.finish;
    report->seconds.verify = r->verify;
    cuzk_memory_get(&report->memory);
}

cuzk_status cuzk_prove(cuzk_context *context, cuzk_job *h, const cuzk_key *key, const cuzk_prove_options *options,
                       uint8_t *proofs, size_t proofs_bytes, cuzk_prove_report *report, const cuzk_control *control,
                       cuzk_error *err) {
    static const cuzk_prove_options defaults;
    cuzk_prove_report unused;
    if (!options) options = &defaults;
    if (!report) report = &unused;
    memset(report, 0, sizeof *report);
    double start = cpu_monotonic_seconds(), mark;
    run r = {.context = context,
             .job = h,
             .key = key,
             .control = control,
             .partitions = options->partitions,
             .n = options->partitions ? options->n_partitions : h->j.partitions,
             .n_inputs = cuzk_job_public_count(h)};
    api_target target;
    uint64_t plan_bytes = 0;
    if (proofs_bytes != r.n * CUZK_PROOF_BYTES || !r.n) {
        cuzk_fail(err, CUZK_USAGE, "the room for proofs has the wrong length");
        cuzk_fail_expected(err, "%zu bytes", r.n * CUZK_PROOF_BYTES);
        return cuzk_fail_found(err, "%zu bytes", proofs_bytes);
    }
    if (check_partitions(&r, err)) return err->status;
    cuzk_status s = cuzk_job_check(context, h, control, err);
    report->seconds.vanilla_check = cpu_monotonic_seconds() - start;
    mark = cpu_monotonic_seconds();
    if (!s) s = api_shape(&h->circ, &r.sh, control, err);
    report->seconds.shape = cpu_monotonic_seconds() - mark;
    if (!s) s = proving_key_fits(&key->key, r.sh, err);
    if (!s) s = run_alloc(&r, err);
    if (!s && options->insecure_rs) s = fixed_load(&r, options->insecure_rs, err);
    if (!s) s = api_target_of(context, r.sh, true, &target, err);
    if (!s) s = api_admit(context, target.plan.host_bytes, "the proof", err);
    if (!s && !target.backend->makes_keys) s = api_key_bring(context, key, control, err);
    r.target = &target;
    /* What lives now stays until the end: the job's input, and key or shape where they could not be mapped. */
    if (!s) plan_bytes = target.plan.host_bytes + buffer_total_stats().live_bytes;
    for (size_t i = 0; i < r.n && !s; i++) s = prove_partition(&r, i, err);
    if (!s) s = verify_all(&r, err);
    for (size_t i = 0; i < r.n && !s; i++) proof_write(&r.proofs[i], proofs + i * CUZK_PROOF_BYTES);
    if (!s) report_fill(report, &r, plan_bytes);
    report->seconds.total = cpu_monotonic_seconds() - start;
    arena_destroy(r.scratch);
    return s;
}
