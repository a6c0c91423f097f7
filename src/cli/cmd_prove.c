/* prove, plan. The order of prove: read the input, look at the output's place and the key's, check the vanilla proof,
 * plan, and only then work. The output file is opened (under a temporary name) before the work, so that a folder that
 * cannot be written to is found in time, and gets its name after every proof was verified. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/file.h"
#include "base/hash.h"

/* ---- plan ---- */

static void put_classes(json_out *o, const char *key, const cuzk_memory_class *classes, unsigned n) {
    json_put_key(o, key);
    json_begin_object(o);
    for (unsigned i = 0; i < n; i++) put_number(o, classes[i].name, classes[i].peak_bytes);
    json_end_object(o);
}

cuzk_status cmd_plan(const args *a, json_out *o, cuzk_error *err) {
    cuzk_circuit *c;
    cuzk_plan p;
    if (open_circuit(a, &c, err)) return err->status;
    cuzk_status s = cuzk_plan_make(a->context, c, &p, a->control, err);
    if (!s) {
        put_text(o, "circuit", cuzk_circuit_name(c));
        put_text(o, "device", p.device);
        put_number(o, "threads", cuzk_context_threads(a->context));
        put_number(o, "partitions", cuzk_circuit_partitions(c));
        put_number(o, "host_bytes", p.host_bytes);
        put_number(o, "device_bytes", p.device_bytes);
        put_number(o, "key_bytes", p.key_bytes);
        put_number(o, "shape_bytes", p.shape_bytes);
        put_number(o, "limit_bytes", p.limit_bytes);
        put_bool(o, "fits", p.fits);
        put_bool(o, "resident", p.resident);
        put_number(o, "chunks", p.chunks);
        put_classes(o, "buffers", p.classes, p.n_classes);
        json_put_key(o, "seconds_estimate");
        json_begin_object(o);
        put_seconds(o, "synthesis", p.seconds.synthesis);
        put_seconds(o, "eval", p.seconds.eval);
        put_seconds(o, "ntt", p.seconds.ntt);
        put_seconds(o, "msm_h", p.seconds.msm_h);
        put_seconds(o, "msm_rest", p.seconds.msm_rest);
        put_seconds(o, "verify", p.seconds.verify);
        put_seconds(o, "total", p.seconds.total);
        json_end_object(o);
    }
    cuzk_circuit_close(c);
    return s;
}

/* ---- prove ---- */

typedef struct proving {
    const args *a;
    cuzk_job *job;
    cuzk_key *key;
    char key_path[4096];
    unsigned *chosen;
    size_t n;
    file_writer *out;
    uint8_t *proofs;
    double parse, vanilla_check, shape, key_seconds;
    cuzk_prove_report report;
} proving;

static cuzk_status key_check_of(const args *a, cuzk_key_check *out, cuzk_error *err) {
    const char *how = a->value[OPT_KEY_CHECK];
    *out = CUZK_KEY_TRUSTED;
    if (!how || !strcmp(how, "trusted")) return CUZK_OK;
    *out = !strcmp(how, "digest") ? CUZK_KEY_DIGEST : CUZK_KEY_FULL;
    if (*out == CUZK_KEY_DIGEST || !strcmp(how, "full")) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "--key-check has no such way");
    cuzk_fail_expected(err, "trusted, digest or full");
    return cuzk_fail_found(err, "%s", how);
}

/* Where the key is, without opening it: a missing one should be found before anything else is done. */
static cuzk_status find_key(proving *p, cuzk_error *err) {
    const args *a = p->a;
    if (a->given[OPT_PARAMS] && a->given[OPT_DEV_KEY]) {
        cuzk_fail(err, CUZK_USAGE, "--params and --dev-key exclude each other");
        return cuzk_fail_hint(err, "give one of them, or neither for the official key");
    }
    if (a->given[OPT_DEV_KEY]) return CUZK_OK;
    if (!a->given[OPT_PARAMS]) {
        return cuzk_key_find(cuzk_job_circuit(p->job), p->key_path, sizeof p->key_path, err);
    }
    int n = snprintf(p->key_path, sizeof p->key_path, "%s", a->value[OPT_PARAMS]);
    if (n < 0 || (size_t)n >= sizeof p->key_path) return cuzk_fail(err, CUZK_USAGE, "the key's path is too long");
    if (file_exists(p->key_path)) return CUZK_OK;
    cuzk_fail(err, CUZK_KEY_MISSING, "the proving key is not there");
    cuzk_fail_where(err, "%s", p->key_path);
    return cuzk_fail_hint(err, "check --params; for a trial without official keys use --dev-key");
}

static cuzk_status development_key(proving *p, cuzk_error *err) {
    bool made;
    cuzk_circuit *c = cuzk_job_circuit(p->job);
    warn_loudly("using a DEVELOPMENT KEY for %s: its proofs are for trials only, no verifier with official keys takes "
                "them",
                cuzk_circuit_name(c));
    if (cuzk_key_development(p->a->context, c, p->key_path, sizeof p->key_path, &made, p->a->control, err)) {
        return err->status;
    }
    note("development key%s: %s", made ? " made" : "", p->key_path);
    return CUZK_OK;
}

/* What the proofs of a non-interactive PoRep are not yet; NULL for other circuits. */
static const char *shortcoming(const proving *p) {
    return strncmp(cuzk_circuit_name(cuzk_job_circuit(p->job)), "porep-ni-", 9) == 0
               ? "the chain takes non-interactive PoRep proofs aggregated only, and aggregation is not there yet: "
                 "these "
                 "are the partitions' proofs"
               : NULL;
}

static cuzk_status prove_work(proving *p, cuzk_error *err) {
    const args *a = p->a;
    cuzk_key_check check;
    cuzk_prove_options options = {
        .partitions = p->chosen, .n_partitions = p->n, .insecure_rs = a->value[OPT_INSECURE_RS]};
    if (key_check_of(a, &check, err)) return err->status;
    double start = cpu_monotonic_seconds();
    if (cuzk_job_check(a->context, p->job, a->control, err)) return err->status;
    p->vanilla_check = cpu_monotonic_seconds() - start;
    start = cpu_monotonic_seconds();
    if (cuzk_plan_admit(a->context, cuzk_job_circuit(p->job), a->control, err)) return err->status;
    p->shape = cpu_monotonic_seconds() - start;
    start = cpu_monotonic_seconds();
    if (a->given[OPT_DEV_KEY] && development_key(p, err)) return err->status;
    if (cuzk_key_open(&p->key, a->context, p->key_path, check, a->control, err)) return err->status;
    p->key_seconds = cpu_monotonic_seconds() - start;
    /* What is done once is not the proof's: recording the shape, making or converting the key. */
    cuzk_memory_reset_peaks();
    if (shortcoming(p)) warn_loudly("%s", shortcoming(p));
    if (options.insecure_rs)
        warn_loudly("r and s are taken from %s: these proofs are for tests only", options.insecure_rs);
    p->proofs = calloc(p->n, CUZK_PROOF_BYTES);
    if (!p->proofs) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu proofs", p->n);
    return cuzk_prove(a->context, p->job, p->key, &options, p->proofs, p->n * CUZK_PROOF_BYTES, &p->report, a->control,
                      err);
}

static void put_report(const proving *p, json_out *o) {
    const cuzk_prove_report *r = &p->report;
    const cuzk_prove_seconds *t = &r->seconds;
    uint8_t digest[32];
    hash_sha256(digest, p->proofs, p->n * CUZK_PROOF_BYTES);
    put_text(o, "proof", p->a->value[OPT_OUT]);
    put_hex(o, "proof_sha256", digest, sizeof digest);
    put_text(o, "circuit", cuzk_circuit_name(cuzk_job_circuit(p->job)));
    put_number(o, "partitions", r->partitions);
    if (shortcoming(p)) put_text(o, "note", shortcoming(p));
    put_bool(o, "verified", true);
    put_text(o, "key", cuzk_key_origin_name(cuzk_key_get_origin(p->key)));
    put_text(o, "params", p->key_path);
    put_text(o, "key_check", p->a->given[OPT_KEY_CHECK] ? p->a->value[OPT_KEY_CHECK] : "trusted");
    put_text(o, "device", r->device);
    put_number(o, "threads", cuzk_context_threads(p->a->context));
    json_put_key(o, "seconds");
    json_begin_object(o);
    put_seconds(o, "parse", p->parse);
    put_seconds(o, "vanilla_check", p->vanilla_check);
    put_seconds(o, "shape", p->shape);
    put_seconds(o, "key", p->key_seconds);
    put_seconds(o, "synthesis", t->synthesis);
    put_seconds(o, "eval", t->eval);
    put_seconds(o, "ntt", t->ntt);
    put_seconds(o, "msm_h", t->msm_h);
    put_seconds(o, "msm_l", t->msm_l);
    put_seconds(o, "msm_a", t->msm_a);
    put_seconds(o, "msm_b_g1", t->msm_b_g1);
    put_seconds(o, "msm_b_g2", t->msm_b_g2);
    put_seconds(o, "finish", t->finish);
    put_seconds(o, "verify", t->verify);
    put_seconds(o, "total", p->parse + p->vanilla_check + p->shape + p->key_seconds + t->total);
    json_end_object(o);
    put_number(o, "peak_rss_bytes", r->memory.peak_rss_bytes);
    put_number(o, "plan_host_bytes", r->plan_host_bytes);
    put_number(o, "tracked_peak_bytes", r->memory.peak_bytes);
    put_classes(o, "buffers", r->memory.classes, r->memory.n_classes);
}

/* What belongs to a daemon's job. */
static cuzk_status no_remote_options(const args *a, cuzk_error *err) {
    static const option remote[] = {OPT_TOKEN_FILE, OPT_TLS_CA,   OPT_TLS_CERT, OPT_TLS_KEY,
                                    OPT_ID,         OPT_PRIORITY, OPT_DEADLINE, OPT_POLICY};
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++) {
        if (!a->given[remote[i]]) continue;
        cuzk_fail(err, CUZK_USAGE, "--%s goes with --addr only", option_name(remote[i]));
        return cuzk_fail_hint(err, "name the daemon with --addr, or leave it out to prove here");
    }
    return CUZK_OK;
}

cuzk_status cmd_prove(const args *a, json_out *o, cuzk_error *err) {
    proving p = {.a = a};
    const char *path = a->value[OPT_OUT];
#ifdef CUZK_HAVE_DAEMON
    if (a->given[OPT_ADDR]) return cmd_prove_remote(a, o, err);
#endif
    if (no_remote_options(a, err)) return err->status;
    if (args_partitions(a, &p.chosen, &p.n, err)) return err->status;
    double start = cpu_monotonic_seconds();
    cuzk_status s = check_output(a, path, err);
    if (!s) s = open_job(a, false, &p.job, err);
    p.parse = cpu_monotonic_seconds() - start;
    if (!s) {
        if (!p.chosen) p.n = cuzk_job_partitions(p.job);
        s = find_key(&p, err);
    }
    if (!s && p.key_path[0] && file_same(path, p.key_path)) {
        cuzk_fail(err, CUZK_USAGE, "the output is the proving key");
        cuzk_fail_where(err, "%s", path);
        s = cuzk_fail_hint(err, "give another name; nothing was written");
    }
    if (!s) s = file_writer_open(&p.out, path, false, err);
    if (!s) s = prove_work(&p, err);
    if (!s) s = file_writer_write(p.out, p.proofs, p.n * CUZK_PROOF_BYTES, err);
    if (!s) {
        s = file_writer_commit(p.out, err);
        p.out = NULL;
    }
    if (!s) put_report(&p, o);
    file_writer_abort(p.out);
    cuzk_key_close(p.key);
    cuzk_job_close(p.job);
    free(p.proofs);
    free(p.chosen);
    return s;
}
