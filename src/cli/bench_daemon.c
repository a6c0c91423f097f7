/* A batch against a daemon: a connection for each client, and one for the samples, which are read from the daemon's
 * status document. Peaks are the largest of the samples, since the daemon's own are those of its whole life. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/client.h"
#include "cuzk/v1/proving.pb-c.h"
#include "rpc/pb.h"

typedef struct daemon_target {
    bench_target base;
    bench_run seen; /* peaks, from the samples */
    rpc_client *status, **clients;
    unsigned n_clients;
} daemon_target;

/* ---- proofs ---- */

static int kind_number(const char *kind) {
    static const char *const kinds[] = {"", "porep", "snap", "window-post", "winning-post"};
    for (int i = 1; i < 5; i++) {
        if (!strcmp(kinds[i], kind)) return i;
    }
    return 0;
}

typedef struct message {
    cuzk_bytes *parts;
    size_t n;
    uint8_t outer[16], (*heads)[16], *scalars;
} message;

static void add_part(message *m, uint32_t field, cuzk_bytes data) {
    uint8_t *head = m->heads[m->n / 2];
    if (!data.n) return;
    m->parts[m->n++] = (cuzk_bytes){head, pb_put_bytes_head(head, field, data.n)};
    m->parts[m->n++] = data;
}

/* A ProveRequest; the input's bytes are sent from where they are. */
static cuzk_status make_message(message *m, const cuzk_submission *s, cuzk_error *err) {
    Cuzk__V1__SubmitProofRequest q = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    size_t room = 2 * s->n_vanilla + 8, bytes = 0;
    q.proof_kind = (Cuzk__V1__ProofKind)kind_number(s->kind);
    q.sector_size_override = s->sector_bytes;
    q.request_id = (char *)(uintptr_t)s->request_id;
    q.cancel_on_disconnect = true;
    size_t n = cuzk__v1__submit_proof_request__get_packed_size(&q);
    *m = (message){
        .parts = calloc(room, sizeof *m->parts), .heads = calloc(room, sizeof *m->heads), .scalars = malloc(n + 1)};
    if (!m->parts || !m->heads || !m->scalars) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    cuzk__v1__submit_proof_request__pack(&q, m->scalars);
    m->n = 1; /* the outer head's place */
    m->parts[m->n++] = (cuzk_bytes){m->scalars, n};
    add_part(m, 10, s->c1);
    add_part(m, 104, s->request);
    for (size_t i = 0; i < s->n_vanilla; i++) add_part(m, 11, s->vanilla[i]);
    for (size_t i = 1; i < m->n; i++) bytes += m->parts[i].n;
    m->parts[0] = (cuzk_bytes){m->outer, pb_put_bytes_head(m->outer, 1, bytes)};
    return CUZK_OK;
}

static void message_free(message *m) {
    free(m->parts);
    free(m->heads);
    free(m->scalars);
}

static void take_error(cuzk_job_result *out, const Cuzk__V1__AwaitProofResponse *r) {
    const Cuzk__V1__Error *e = r->error;
    bool known = e && e->code > 0 && e->code <= CUZK_STATUS_LAST;
    out->state = r->status == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED ? CUZK_JOB_CANCELLED : CUZK_JOB_FAILED;
    cuzk_fail(&out->error, known ? (cuzk_status)e->code : CUZK_INTERNAL, "%s", e ? e->what : r->error_message);
    if (!e) return;
    cuzk_fail_where(&out->error, "%s", e->where);
    cuzk_fail_expected(&out->error, "%s", e->expected);
    cuzk_fail_found(&out->error, "%s", e->found);
    cuzk_fail_hint(&out->error, "%s", e->hint);
}

static void take_result(cuzk_job_result *out, const Cuzk__V1__AwaitProofResponse *r) {
    const Cuzk__V1__Times *t = r->times;
    out->attempts = r->attempts;
    if (t) {
        out->times = (cuzk_job_times){.queue_wait = t->queue_wait,
                                      .key_load = t->key_load,
                                      .vanilla_check = t->vanilla_check,
                                      .synthesis = t->synthesis,
                                      .device_wait = t->device_wait,
                                      .device = t->device,
                                      .finish = t->finish,
                                      .verify = t->verify,
                                      .total = t->total};
    }
    if (r->status == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED && r->proof.len) {
        out->state = CUZK_JOB_COMPLETED;
    } else {
        take_error(out, r);
    }
}

static cuzk_status daemon_prove(bench_target *t, unsigned number, const cuzk_submission *s, cuzk_job_result *out,
                                cuzk_error *err) {
    daemon_target *d = (daemon_target *)t;
    uint8_t *reply = NULL;
    size_t n;
    message m;
    cuzk_status status = make_message(&m, s, err);
    if (!status) status = rpc_client_call(d->clients[number], PROVING "Prove", m.parts, m.n, 0, &reply, &n, err);
    if (!status) {
        Cuzk__V1__ProveResponse *r = cuzk__v1__prove_response__unpack(NULL, n, reply);
        status = r && r->result ? CUZK_OK : client_bad_answer(err);
        if (!status) take_result(out, r->result);
        if (r) cuzk__v1__prove_response__free_unpacked(r, NULL);
    }
    free(reply);
    message_free(&m);
    return status;
}

/* ---- samples ---- */

static uint64_t number_at(const json_node *object, const char *key) {
    const json_node *m = json_member(object, key);
    return m && m->kind == JSON_NUMBER ? strtoull(m->text, NULL, 10) : 0;
}

static void read_classes(const json_node *memory, bench_sample *out) {
    const json_node *list = json_member(memory, "classes");
    for (const json_node *m = list ? list->first : NULL; m; m = m->next) {
        const json_node *name = json_member(m, "name");
        for (int c = 0; name && c < BUFFER_CLASSES; c++) {
            if (name->text && !strcmp(name->text, buffer_class_name((buffer_class)c))) {
                out->classes[c] = number_at(m, "bytes");
            }
        }
    }
}

/* The document's root lives in the arena. */
static cuzk_status read_status(daemon_target *d, arena *a, const json_node **root, cuzk_error *err) {
    char *text;
    json_node *tree;
    if (client_document(d->status, INSPECTION "GetStatusDocument", NULL, 0, &text, err)) return err->status;
    size_t n = strlen(text);
    cuzk_status s = json_tree(&tree, a, "status", text, n, n + 1, err);
    free(text);
    if (!s) *root = tree;
    return s;
}

static cuzk_status daemon_sample(bench_target *t, bench_sample *out, cuzk_error *err) {
    daemon_target *d = (daemon_target *)t;
    const json_node *root = NULL;
    arena *a = arena_create(BUFFER_OTHER, 0, err);
    if (!a) return err->status;
    cuzk_status s = read_status(d, a, &root, err);
    if (!s) {
        const json_node *memory = json_member(root, "memory");
        out->rss = number_at(memory, "rss_bytes");
        out->unexplained = number_at(memory, "unexplained_bytes");
        out->tracked = number_at(memory, "tracked_bytes");
        out->reserved = number_at(memory, "used_bytes");
        out->budget = number_at(memory, "total_bytes");
        read_classes(memory, out);
        if (out->tracked > d->seen.peak_tracked) d->seen.peak_tracked = out->tracked;
        for (int c = 0; c < BUFFER_CLASSES; c++) {
            if (out->classes[c] > d->seen.peak_classes[c]) d->seen.peak_classes[c] = out->classes[c];
        }
    }
    arena_destroy(a);
    return s;
}

/* ---- the end ---- */

static cuzk_status daemon_finish(bench_target *t, bench_run *r, cuzk_error *err) {
    daemon_target *d = (daemon_target *)t;
    const json_node *root = NULL;
    arena *a = arena_create(BUFFER_OTHER, 0, err);
    if (!a) return err->status;
    cuzk_status s = read_status(d, a, &root, err);
    if (!s) {
        const json_node *workers = json_member(root, "gpu_workers"), *devices = json_member(root, "devices");
        r->pw = (unsigned)number_at(json_member(root, "synthesis"), "max_concurrent");
        r->gw = workers && devices && devices->len ? (unsigned)(workers->len / devices->len) : 0;
        snprintf(r->devices, sizeof r->devices, "%.150s", rpc_client_address(d->status));
        for (const json_node *n = devices ? devices->first : NULL; n; n = n->next) {
            uint64_t peak = number_at(json_member(n, "budget"), "peak_used_bytes");
            if (peak > r->peak_device) r->peak_device = peak;
        }
        r->peak_tracked = d->seen.peak_tracked;
        memcpy(r->peak_classes, d->seen.peak_classes, sizeof r->peak_classes);
    }
    arena_destroy(a);
    return s;
}

static cuzk_status daemon_trace(bench_target *t, char **json, cuzk_error *err) {
    return client_document(((daemon_target *)t)->status, INSPECTION "GetTrace", NULL, 0, json, err);
}

static void daemon_close(bench_target *t) {
    daemon_target *d = (daemon_target *)t;
    for (unsigned i = 0; i < d->n_clients; i++) rpc_client_close(d->clients[i]);
    rpc_client_close(d->status);
    free(d->clients);
    free(d);
}

cuzk_status bench_daemon_open(bench_target **out, const args *a, unsigned clients, cuzk_error *err) {
    static const bench_target_ops ops = {daemon_prove, daemon_sample, daemon_finish, daemon_trace, daemon_close};
    *out = NULL;
    daemon_target *d = calloc(1, sizeof *d);
    if (!d) return cuzk_fail(err, CUZK_MEMORY, "no memory for a client");
    *d = (daemon_target){.base = {.ops = &ops, .sample_every = 0.5}, .clients = calloc(clients, sizeof *d->clients)};
    cuzk_status s = d->clients ? client_open(a, &d->status, err) : cuzk_fail(err, CUZK_MEMORY, "no memory for clients");
    for (unsigned i = 0; i < clients && !s; i++) {
        s = client_open(a, &d->clients[i], err);
        d->n_clients += !s;
    }
    if (s) {
        daemon_close(&d->base);
    } else {
        *out = &d->base;
    }
    return s;
}
