/* submit, await, prove --addr, cancel, preload, evict: what a daemon is asked to do. Files are mapped and sent from
 * there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/client.h"
#include "cuzk/v1/proving.pb-c.h"
#include "rpc/pb.h"

#define MAX_STDIN (256u << 20)

/* ---- the message of a job ---- */

typedef struct input { /* a file, or standard input */
    file_map map;
    buffer read;
    const uint8_t *data;
    size_t n;
} input;

typedef struct outgoing {
    input *inputs;
    size_t n_inputs;
    cuzk_bytes *parts; /* head and bytes of each input, after the message's own head */
    size_t n_parts;
    uint8_t (*heads)[16], *scalars, outer[16];
} outgoing;

static cuzk_status open_input(input *in, const char *path, cuzk_error *err) {
    memset(in, 0, sizeof *in);
    if (!strcmp(path, "-")) {
        if (file_read(&in->read, path, MAX_STDIN, err)) return err->status;
        in->data = in->read.data;
        in->n = in->read.bytes;
        return CUZK_OK;
    }
    if (file_map_open(&in->map, path, err)) return err->status;
    in->data = in->map.data;
    in->n = in->map.bytes;
    return CUZK_OK;
}

static void outgoing_free(outgoing *m) {
    for (size_t i = 0; i < m->n_inputs; i++) {
        file_map_close(&m->inputs[i].map);
        buffer_free(&m->inputs[i].read);
    }
    free(m->inputs);
    free(m->parts);
    free(m->heads);
    free(m->scalars);
}

static cuzk_status add_input(outgoing *m, uint32_t field, const char *path, cuzk_error *err) {
    if (!path) return CUZK_OK;
    size_t i = m->n_inputs;
    if (open_input(&m->inputs[i], path, err)) return err->status;
    m->n_inputs++;
    m->parts[m->n_parts++] = (cuzk_bytes){m->heads[i], pb_put_bytes_head(m->heads[i], field, m->inputs[i].n)};
    m->parts[m->n_parts++] = (cuzk_bytes){m->inputs[i].data, m->inputs[i].n};
    return CUZK_OK;
}

static cuzk_status choose(const char *name, const char *word, const char *const *words, int first, int *out,
                          const char *expected, cuzk_error *err) {
    if (!word) return CUZK_OK;
    for (int i = first; words[i]; i++) {
        if (strcmp(words[i], word)) continue;
        *out = i;
        return CUZK_OK;
    }
    cuzk_fail(err, CUZK_USAGE, "--%s has no such value", name);
    cuzk_fail_expected(err, "%s", expected);
    return cuzk_fail_found(err, "%s", word);
}

static cuzk_status fill_scalars(const args *a, Cuzk__V1__SubmitProofRequest *q, cuzk_error *err) {
    static const char *const kinds[] = {"", "porep", "snap", "window-post", "winning-post", NULL};
    static const char *const priorities[] = {"", "low", "normal", "high", "critical", NULL};
    static const char *const policies[] = {"", "prefer-gpu", "require-gpu", "cpu", NULL};
    int kind = 0, priority = 0, policy = 0;
    uint64_t size, deadline;
    for (int i = 1; kinds[i]; i++)
        if (!strcmp(kinds[i], a->operand[0])) kind = i;
    if (!kind) {
        cuzk_fail(err, CUZK_USAGE, "there is no circuit kind \"%.40s\"", a->operand[0]);
        return cuzk_fail_expected(err, "porep, snap, window-post or winning-post");
    }
    if (choose("priority", a->value[OPT_PRIORITY], priorities, 1, &priority, "low, normal, high or critical", err) ||
        choose("policy", a->value[OPT_POLICY], policies, 1, &policy, "prefer-gpu, require-gpu or cpu", err) ||
        args_bytes(a, OPT_SIZE, &size, err) || args_number(a, OPT_DEADLINE, 1, 1u << 30, &deadline, err))
        return err->status;
    q->proof_kind = (Cuzk__V1__ProofKind)kind;
    q->priority = (Cuzk__V1__Priority)priority;
    q->device_policy = (Cuzk__V1__DevicePolicy)policy;
    q->sector_size_override = size;
    q->deadline_ms = deadline * 1000;
    q->request_id = (char *)(uintptr_t)(a->given[OPT_ID] ? a->value[OPT_ID] : "");
    return CUZK_OK;
}

static cuzk_status check_files(const args *a, cuzk_error *err) {
    bool is_porep = !strcmp(a->operand[0], "porep");
    if (is_porep ? a->given[OPT_C1] : a->given[OPT_REQUEST] && a->given[OPT_VANILLA]) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the job's input is missing");
    cuzk_fail_expected(err, is_porep ? "--c1 FILE" : "--request FILE and --vanilla FILE");
    return cuzk_fail_hint(err, "`cuzk %s --help` shows an example", a->command->words);
}

/* m is to be freed also after a failure. prove: as a ProveRequest. */
static cuzk_status make_message(const args *a, bool prove, outgoing *m, cuzk_error *err) {
    Cuzk__V1__SubmitProofRequest q = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    size_t files = 2 + a->n_list[OPT_VANILLA], bytes = 0;
    memset(m, 0, sizeof *m);
    if (fill_scalars(a, &q, err) || check_files(a, err)) return err->status;
    q.cancel_on_disconnect = prove;
    size_t n = cuzk__v1__submit_proof_request__get_packed_size(&q);
    m->inputs = calloc(files, sizeof *m->inputs);
    m->heads = calloc(files, sizeof *m->heads);
    m->parts = calloc(2 * files + 2, sizeof *m->parts);
    m->scalars = malloc(n + 1);
    if (!m->inputs || !m->heads || !m->parts || !m->scalars) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    cuzk__v1__submit_proof_request__pack(&q, m->scalars);
    m->n_parts = 1; /* the outer head's place */
    m->parts[m->n_parts++] = (cuzk_bytes){m->scalars, n};
    if (add_input(m, 10, a->value[OPT_C1], err) || add_input(m, 104, a->value[OPT_REQUEST], err)) return err->status;
    for (size_t i = 0; i < a->n_list[OPT_VANILLA]; i++)
        if (add_input(m, 11, a->list[OPT_VANILLA][i], err)) return err->status;
    for (size_t i = 1; i < m->n_parts; i++) bytes += m->parts[i].n;
    m->parts[0] = (cuzk_bytes){m->outer, prove ? pb_put_bytes_head(m->outer, 1, bytes) : 0};
    return CUZK_OK;
}

static cuzk_status send_job(const args *a, bool prove, uint8_t **reply, size_t *n, cuzk_error *err) {
    outgoing m;
    rpc_client *c = NULL;
    cuzk_status s = make_message(a, prove, &m, err);
    if (!s) s = client_open(a, &c, err);
    if (!s)
        s = rpc_client_call(c, prove ? PROVING "Prove" : PROVING "SubmitProof", m.parts, m.n_parts, 0, reply, n, err);
    rpc_client_close(c);
    outgoing_free(&m);
    return s;
}

/* ---- results ---- */

static cuzk_status job_failed(const Cuzk__V1__AwaitProofResponse *r, cuzk_error *err) {
    const Cuzk__V1__Error *e = r->error;
    bool known = e && e->code > 0 && e->code <= CUZK_STATUS_LAST;
    cuzk_fail(err, known ? (cuzk_status)e->code : CUZK_INTERNAL, "%s", e ? e->what : r->error_message);
    if (!e) return err->status;
    cuzk_fail_where(err, "%s", e->where);
    cuzk_fail_expected(err, "%s", e->expected);
    cuzk_fail_found(err, "%s", e->found);
    cuzk_fail_hint(err, "%s", e->hint);
    return cuzk_fail_within(err, "job %.100s", r->job_id);
}

static void put_times(json_out *o, const Cuzk__V1__Times *t) {
    if (!t) return;
    json_put_key(o, "seconds");
    json_begin_object(o);
    put_seconds(o, "queue_wait", t->queue_wait);
    put_seconds(o, "key_load", t->key_load);
    put_seconds(o, "vanilla_check", t->vanilla_check);
    put_seconds(o, "synthesis", t->synthesis);
    put_seconds(o, "device_wait", t->device_wait);
    put_seconds(o, "device", t->device);
    put_seconds(o, "finish", t->finish);
    put_seconds(o, "verify", t->verify);
    put_seconds(o, "total", t->total);
    json_end_object(o);
}

static cuzk_status put_proof(const args *a, json_out *o, const Cuzk__V1__AwaitProofResponse *r, cuzk_error *err) {
    uint8_t digest[32];
    const char *path = a->value[OPT_OUT];
    if (path && file_write_all(path, r->proof.data, r->proof.len, false, err)) return err->status;
    hash_sha256(digest, r->proof.data, r->proof.len);
    put_text(o, "job_id", r->job_id);
    put_text(o, "state", "completed");
    if (path)
        put_text(o, "proof", path);
    else
        put_hex(o, "proof_hex", r->proof.data, r->proof.len);
    put_hex(o, "proof_sha256", digest, 32);
    put_number(o, "partitions", r->proof.len / 192);
    put_number(o, "attempts", r->attempts);
    put_times(o, r->times);
    return CUZK_OK;
}

static cuzk_status put_result(const args *a, json_out *o, const Cuzk__V1__AwaitProofResponse *r, cuzk_error *err) {
    switch (r->status) {
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED: return put_proof(a, o, r, err);
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED:
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED: return job_failed(r, err);
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT:
        cuzk_fail(err, CUZK_REFUSED, "the job has not ended yet");
        cuzk_fail_where(err, "job %.200s", r->job_id);
        return cuzk_fail_hint(err, "it goes on; `cuzk await` it again, or `cuzk jobs` to see its state");
    default: return client_bad_answer(err);
    }
}

/* ---- commands ---- */

cuzk_status cmd_submit(const args *a, json_out *o, cuzk_error *err) {
    uint8_t *reply;
    size_t n;
    if (send_job(a, false, &reply, &n, err)) return err->status;
    Cuzk__V1__SubmitProofResponse *r = cuzk__v1__submit_proof_response__unpack(NULL, n, reply);
    free(reply);
    if (!r) return client_bad_answer(err);
    put_text(o, "job_id", r->job_id);
    put_number(o, "queue_position", r->queue_position);
    put_bool(o, "joined", r->joined);
    cuzk__v1__submit_proof_response__free_unpacked(r, NULL);
    return CUZK_OK;
}

cuzk_status cmd_prove_remote(const args *a, json_out *o, cuzk_error *err) {
    static const option local[] = {OPT_THREADS, OPT_MEMORY,    OPT_DEVICE,    OPT_DEVICE_MEMORY, OPT_PARAMS,
                                   OPT_DEV_KEY, OPT_KEY_CHECK, OPT_PARTITION, OPT_INSECURE_RS,   OPT_VARIANT};
    uint8_t *reply;
    size_t n;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        if (!a->given[local[i]]) continue;
        cuzk_fail(err, CUZK_USAGE, "--%s does not go with --addr", option_name(local[i]));
        return cuzk_fail_hint(err, "the daemon's configuration decides that");
    }
    if (check_output(a, a->value[OPT_OUT], err) || send_job(a, true, &reply, &n, err)) return err->status;
    Cuzk__V1__ProveResponse *r = cuzk__v1__prove_response__unpack(NULL, n, reply);
    free(reply);
    cuzk_status s = r && r->result ? put_result(a, o, r->result, err) : client_bad_answer(err);
    if (r) cuzk__v1__prove_response__free_unpacked(r, NULL);
    return s;
}

cuzk_status cmd_await(const args *a, json_out *o, cuzk_error *err) {
    rpc_client *c;
    uint64_t timeout;
    uint8_t head[16], number[16], *reply;
    size_t n;
    const char *id = a->operand[0];
    if (a->given[OPT_OUT] && check_output(a, a->value[OPT_OUT], err)) return err->status;
    if (args_number(a, OPT_TIMEOUT, 1, 1u << 30, &timeout, err) || client_open(a, &c, err)) return err->status;
    const cuzk_bytes parts[] = {{head, pb_put_bytes_head(head, 1, strlen(id))},
                                {id, strlen(id)},
                                {number, pb_put_varint_field(number, 2, timeout * 1000)}};
    cuzk_status s = rpc_client_call(c, PROVING "AwaitProof", parts, 3, 0, &reply, &n, err);
    rpc_client_close(c);
    if (s) return s;
    Cuzk__V1__AwaitProofResponse *r = cuzk__v1__await_proof_response__unpack(NULL, n, reply);
    free(reply);
    s = r ? put_result(a, o, r, err) : client_bad_answer(err);
    if (r) cuzk__v1__await_proof_response__free_unpacked(r, NULL);
    return s;
}

cuzk_status cmd_cancel(const args *a, json_out *o, cuzk_error *err) {
    uint8_t *reply;
    size_t n;
    if (client_ask(a, PROVING "CancelProof", 1, a->operand[0], &reply, &n, err)) return err->status;
    Cuzk__V1__CancelProofResponse *r = cuzk__v1__cancel_proof_response__unpack(NULL, n, reply);
    free(reply);
    if (!r) return client_bad_answer(err);
    put_text(o, "job_id", a->operand[0]);
    put_bool(o, "was_running", r->was_running);
    cuzk__v1__cancel_proof_response__free_unpacked(r, NULL);
    return CUZK_OK;
}

cuzk_status cmd_preload(const args *a, json_out *o, cuzk_error *err) {
    uint8_t *reply;
    size_t n;
    if (client_ask(a, PROVING "PreloadSRS", 1, a->operand[0], &reply, &n, err)) return err->status;
    Cuzk__V1__PreloadSrsResponse *r = cuzk__v1__preload_srs_response__unpack(NULL, n, reply);
    free(reply);
    if (!r) return client_bad_answer(err);
    put_text(o, "circuit", a->operand[0]);
    put_bool(o, "already_loaded", r->already_loaded);
    put_seconds(o, "seconds", (double)r->load_time_ms / 1000);
    cuzk__v1__preload_srs_response__free_unpacked(r, NULL);
    return CUZK_OK;
}

cuzk_status cmd_evict(const args *a, json_out *o, cuzk_error *err) {
    uint8_t *reply;
    size_t n;
    if (client_ask(a, PROVING "EvictSRS", 1, a->operand[0], &reply, &n, err)) return err->status;
    Cuzk__V1__EvictSrsResponse *r = cuzk__v1__evict_srs_response__unpack(NULL, n, reply);
    free(reply);
    if (!r) return client_bad_answer(err);
    put_text(o, "circuit", a->operand[0]);
    put_bool(o, "was_loaded", r->was_loaded);
    put_number(o, "freed_bytes", r->freed_bytes);
    cuzk__v1__evict_srs_response__free_unpacked(r, NULL);
    return CUZK_OK;
}
