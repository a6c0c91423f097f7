/* The server with decent clients: every RPC, identity, waiting, cancelling, disconnecting, many clients, TLS, tokens,
 * health, sockets, stopping. */
#include "rpc/rpc_case.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include "base/json.h"
#include "base/text.h"
#include "rpc/raw_client.h"

#define COMPLETED CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED
#define FAILED CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED
#define CANCELLED CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED
#define TIMED_OUT CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT

static void free_await(Cuzk__V1__AwaitProofResponse *r) {
    cuzk__v1__await_proof_response__free_unpacked(r, NULL);
}

static void free_prove(Cuzk__V1__ProveResponse *r) {
    cuzk__v1__prove_response__free_unpacked(r, NULL);
}

/* A call whose message is one text field. */
static uint8_t *ask(rpc_client *c, const char *method, const char *text, size_t *n) {
    cuzk_error err;
    uint8_t head[16], *reply;
    const cuzk_bytes parts[] = {{head, text ? pb_put_bytes_head(head, 1, strlen(text)) : 0},
                                {text, text ? strlen(text) : 0}};
    if (rpc_client_call(c, method, parts, 2, 30, &reply, n, &err)) rpc_case_fault(method, &err);
    return reply;
}

static bool cancel(rpc_client *c, const char *id) {
    size_t n;
    uint8_t *reply = ask(c, PROVING "CancelProof", id, &n);
    Cuzk__V1__CancelProofResponse *r = cuzk__v1__cancel_proof_response__unpack(NULL, n, reply);
    bool was_running = r->was_running;
    cuzk__v1__cancel_proof_response__free_unpacked(r, NULL);
    free(reply);
    return was_running;
}

static void test_submit_await_prove(void **state) {
    (void)state;
    rpc_case c;
    bool joined;
    cuzk_error err;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    char *request = toy_request(1024, 3, 5, -1, 0), *other = toy_request(1024, 3, 6, -1, 0);
    if (rpc_case_submit(client, SNAP, "a", request, &joined, &err)) rpc_case_fault("submit", &err);
    assert_false(joined);
    Cuzk__V1__AwaitProofResponse *r = rpc_case_await(client, "a", 0);
    assert_true(rpc_case_right(r, 3, 5));
    assert_non_null(r->times);
    assert_true(r->times->total > 0 && r->total_ms <= (uint64_t)(r->times->total * 1000) + 1);
    assert_int_equal(r->attempts, 1);
    /* The same id and content is the same job; other content another. */
    if (rpc_case_submit(client, SNAP, "a", request, &joined, &err)) rpc_case_fault("submit", &err);
    assert_true(joined);
    Cuzk__V1__ProveResponse *p = rpc_case_prove(client, SNAP, "a", request);
    assert_memory_equal(p->result->proof.data, r->proof.data, r->proof.len);
    free_prove(p);
    p = rpc_case_prove(client, SNAP, "a", other);
    assert_true(rpc_case_right(p->result, 3, 6));
    free_prove(p);
    /* Without an id one is made. */
    p = rpc_case_prove(client, POREP, "", request);
    assert_true(strlen(p->result->job_id) >= 32 && rpc_case_right(p->result, 3, 5));
    free_prove(p);
    free_await(r);
    free(request);
    free(other);
    rpc_client_close(client);
    rpc_case_stop(&c);
}

static void test_failures_are_in_the_answer(void **state) {
    (void)state;
    rpc_case c;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    Cuzk__V1__ProveResponse *p = rpc_case_prove(client, POREP, "bad", "{\"bad_check\": true}");
    assert_int_equal(p->result->status, FAILED);
    assert_int_equal(p->result->proof.len, 0);
    assert_non_null(p->result->error);
    assert_string_equal(p->result->error->name, "CUZK_UNSATISFIED");
    assert_non_null(strstr(p->result->error_message, p->result->error->what));
    free_prove(p);
    p = rpc_case_prove(client, POREP, "broken", "{\"start\": \xff");
    assert_int_equal(p->result->status, FAILED);
    assert_int_equal(strncmp(p->result->error_message, "C1 parse failed: ", 17), 0);
    assert_true(text_is_utf8(p->result->error_message, strlen(p->result->error_message)));
    free_prove(p);
    /* A failed job is tried anew. */
    char *request = toy_request(1024, 1, 1, -1, 0);
    p = rpc_case_prove(client, POREP, "bad", request);
    assert_true(rpc_case_right(p->result, 1, 1));
    free_prove(p);
    free(request);
    rpc_client_close(client);
    rpc_case_stop(&c);
}

static cuzk_status refusal(rpc_client *c, const char *method, const void *data, size_t n, cuzk_error *err) {
    uint8_t *reply = NULL;
    size_t reply_n;
    memset(err, 0, sizeof *err);
    cuzk_status s = rpc_client_call(c, method, &(cuzk_bytes){data, n}, 1, 10, &reply, &reply_n, err);
    free(reply);
    return s;
}

static void test_bad_calls(void **state) {
    (void)state;
    rpc_case c;
    cuzk_error err;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    assert_int_equal(refusal(client, PROVING "SubmitProof", "", 0, &err), CUZK_USAGE);
    assert_non_null(strstr(err.where, "proof_kind"));
    assert_int_equal(refusal(client, PROVING "Prove", "", 0, &err), CUZK_USAGE);
    assert_int_equal(refusal(client, PROVING "Prove", "\x0a\x05", 2, &err), CUZK_MALFORMED);
    assert_int_equal(refusal(client, PROVING "SubmitProof", "\x10\x04", 2, &err), CUZK_MALFORMED); /* no randomness */
    assert_int_equal(refusal(client, PROVING "AwaitProof", "\x0a\x01x", 3, &err), CUZK_REFUSED);
    assert_non_null(strstr(err.what, "no such job"));
    assert_int_equal(refusal(client, PROVING "AwaitProof", "\xff", 1, &err), CUZK_MALFORMED);
    assert_int_equal(refusal(client, PROVING "Nothing", "", 0, &err), CUZK_USAGE);
    assert_int_equal(refusal(client, PROVING "PreloadSRS", "\x0a\x07nothing", 9, &err), CUZK_USAGE);
    char *large = calloc(1, 70000);
    assert_int_equal(refusal(client, PROVING "CancelProof", large, 70000, &err), CUZK_REFUSED);
    assert_non_null(strstr(err.expected, "65536"));
    assert_non_null(strstr(err.found, "70000"));
    free(large);
    /* The connection goes on. */
    assert_false(cancel(client, "nobody"));
    rpc_client_close(client);
    rpc_case_stop(&c);
}

static void test_await_timeout_and_cancel(void **state) {
    (void)state;
    rpc_case c;
    cuzk_error err;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    char *slow = toy_request(1024, 64, 1, -1, 200);
    if (rpc_case_submit(client, WINDOW, "slow", slow, NULL, &err)) rpc_case_fault("submit", &err);
    double start = cpu_monotonic_seconds();
    Cuzk__V1__AwaitProofResponse *r = rpc_case_await(client, "slow", 100);
    assert_int_equal(r->status, TIMED_OUT);
    double took = cpu_monotonic_seconds() - start;
    assert_true(took > 0.09 && took < 2);
    free_await(r);
    assert_true(cancel(client, "slow"));
    r = rpc_case_await(client, "slow", 0);
    assert_int_equal(r->status, CANCELLED);
    assert_true(r->error_message[0]);
    free_await(r);
    assert_false(cancel(client, "slow"));
    /* A deadline of the client ends the call and not the job. */
    if (rpc_case_submit(client, WINDOW, "slow", slow, NULL, &err)) rpc_case_fault("submit", &err);
    uint8_t *reply;
    size_t n;
    const cuzk_bytes message = {"\x0a\x04slow", 6};
    assert_int_not_equal(rpc_client_call(client, PROVING "AwaitProof", &message, 1, 0.1, &reply, &n, &err), CUZK_OK);
    r = rpc_case_await(client, "slow", 1);
    assert_int_equal(r->status, TIMED_OUT);
    free_await(r);
    assert_true(cancel(client, "slow"));
    free(slow);
    rpc_client_close(client);
    rpc_case_stop(&c);
}

typedef struct waiter {
    const rpc_case *c;
    int kind;
    char id[32];
    char *request;
    uint64_t start, bytes; /* bytes 0: 1024 */
    unsigned partitions;
    bool right;
} waiter;

static void *prove_thread(void *user) {
    waiter *w = user;
    rpc_client *client = rpc_case_client(w->c);
    Cuzk__V1__ProveResponse *p = rpc_case_prove(client, w->kind, w->id, w->request);
    w->right = rpc_case_right_of(p->result, w->bytes ? w->bytes : 1024, w->partitions, w->start);
    free_prove(p);
    rpc_client_close(client);
    return NULL;
}

static bool runs(void *user) {
    cuzk_job_result r;
    cuzk_error err;
    if (cuzk_engine_await(user, "x", 0, &r, &err)) return false;
    cuzk_job_result_free(&r);
    return r.state == CUZK_JOB_RUNNING;
}

/* A client reuses its id with other content while an older client still waits: each gets its own answer. */
static void test_superseded_while_awaited(void **state) {
    (void)state;
    rpc_case c;
    pthread_t t[2];
    rpc_case_start(&c, 0, NULL);
    waiter w[2] = {{.c = &c, .kind = SNAP, .id = "x", .start = 10, .partitions = 4},
                   {.c = &c, .kind = SNAP, .id = "x", .start = 20, .partitions = 4}};
    for (int i = 0; i < 2; i++) {
        w[i].request = toy_request(1024, 4, w[i].start, -1, 100);
        pthread_create(&t[i], NULL, prove_thread, &w[i]);
        if (i == 0) assert_true(engine_case_until(runs, c.engine));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        assert_true(w[i].right);
        free(w[i].request);
    }
    rpc_case_stop(&c);
}

static bool is_cancelled(void *user) {
    cuzk_job_result r;
    cuzk_error err;
    if (cuzk_engine_await(user, "x", 0, &r, &err)) return false;
    cuzk_job_result_free(&r);
    return r.state == CUZK_JOB_CANCELLED;
}

static void disconnect(const rpc_case *c, size_t n, const uint8_t *message) {
    raw_client raw;
    raw_open(&raw, c->socket, "/" PROVING "Prove", message, n, true);
    raw_run(&raw, 0.3, 1);
    assert_false(raw.closed);
    assert_true(engine_case_until(runs, c->engine));
    raw_close_client(&raw);
}

static uint8_t *framed(uint8_t *message, size_t *n) {
    uint8_t *out = malloc(*n + 5);
    for (int i = 0; i < 5; i++) out[i] = (uint8_t)(i ? *n >> (32 - 8 * i) : 0);
    memcpy(out + 5, message, *n);
    free(message);
    *n += 5;
    return out;
}

/* The client is gone when its last byte is read; the input is large, so that a worker takes a while over it. All but
 * that byte goes before: who closes at once is not heard at all, since the first thing that the server does is to
 * write. */
static void gone_while_a_worker_has_it(const rpc_case *c, const char *request) {
    const size_t pad = 900000, n_request = strlen(request);
    size_t n;
    raw_client raw;
    cuzk_error err;
    cuzk_job_result r = {0};
    char *large = malloc(n_request + pad + 16);
    int at = sprintf(large, "%.*s, \"pad\": \"", (int)n_request - 1, request);
    memset(large + at, 'x', pad);
    memcpy(large + at + pad, "\"}", 3);
    uint8_t *message = rpc_case_prove_message(SNAP, "y", large, true, &n);
    message = framed(message, &n);
    raw_open(&raw, c->socket, "/" PROVING "Prove", message, n - 1, false);
    raw_run(&raw, 1, 1);
    assert_true(raw.sent == n - 1 && !raw.closed);
    raw_more(&raw, message + n - 1, 1, true);
    assert_true(raw_send(&raw));
    raw_close_client(&raw);
    for (int turn = 0; turn < 400 && r.state != CUZK_JOB_CANCELLED; turn++, usleep(50000)) {
        assert_int_equal(cuzk_engine_await(c->engine, "y", 0, &r, &err), CUZK_OK);
        cuzk_job_result_free(&r);
    }
    assert_int_equal(r.state, CUZK_JOB_CANCELLED);
    free(message);
    free(large);
}

static void test_disconnect(void **state) {
    (void)state;
    rpc_case c;
    size_t n;
    rpc_case_start(&c, 0, NULL);
    char *slow = toy_request(1024, 64, 1, -1, 100);
    uint8_t *message = rpc_case_prove_message(SNAP, "x", slow, false, &n);
    message = framed(message, &n);
    disconnect(&c, n, message);
    usleep(300000);
    assert_true(runs(c.engine)); /* not asked: it goes on, and who sends it again joins it */
    cuzk_error err;
    bool joined;
    rpc_client *again = rpc_case_client(&c);
    if (rpc_case_submit(again, SNAP, "x", slow, &joined, &err)) rpc_case_fault("submit", &err);
    assert_true(joined);
    rpc_client_close(again);
    free(message);
    /* Asked, but somebody else waits. */
    message = rpc_case_prove_message(SNAP, "x", slow, true, &n);
    message = framed(message, &n);
    raw_client other;
    raw_open(&other, c.socket, "/" PROVING "AwaitProof", "\0\0\0\0\3\x0a\1x", 8, true);
    raw_run(&other, 0.2, 1);
    disconnect(&c, n, message);
    usleep(300000);
    assert_true(runs(c.engine));
    raw_close_client(&other);
    usleep(200000);
    /* Asked, and nobody does. */
    disconnect(&c, n, message);
    assert_true(engine_case_until(is_cancelled, c.engine));
    free(message);
    gone_while_a_worker_has_it(&c, slow);
    free(slow);
    rpc_case_stop(&c);
}

/* 64 clients, three kinds, three keys, eight jobs of different size, each asked for by eight clients. */
static void test_many_clients(void **state) {
    (void)state;
    enum { CLIENTS = 64, JOBS = 8 };
    static waiter w[CLIENTS];
    pthread_t t[CLIENTS];
    rpc_case c;
    rpc_case_start(&c, 0, NULL);
    for (unsigned i = 0; i < CLIENTS; i++) {
        unsigned k = i % JOBS;
        w[i] = (waiter){.c = &c, .kind = SNAP + (int)(k % 3), .start = 100 + k, .partitions = 1 + k % 4};
        w[i].bytes = 1024u << k % 3;
        snprintf(w[i].id, sizeof w[i].id, "job %u", k);
        char *plain = toy_request(w[i].bytes, w[i].partitions, w[i].start, -1, 5);
        size_t pad = k * 100000, len = strlen(plain); /* up to 700 kB */
        w[i].request = malloc(len + pad + 32);
        plain[len - 1] = 0;
        int at = sprintf(w[i].request, "%s, \"pad\": \"", plain);
        memset(w[i].request + at, 'x', pad);
        strcpy(w[i].request + at + pad, "\"}");
        free(plain);
    }
    for (unsigned i = 0; i < CLIENTS; i++) assert_int_equal(pthread_create(&t[i], NULL, prove_thread, &w[i]), 0);
    unsigned right = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        pthread_join(t[i], NULL);
        right += w[i].right;
        free(w[i].request);
    }
    assert_int_equal(right, CLIENTS);
    rpc_case_stop(&c);
    assert_int_equal(buffer_class_stats(BUFFER_REQUEST).live_bytes, 0);
}

static void test_documents(void **state) {
    (void)state;
    rpc_case c;
    cuzk_error err;
    size_t n;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    char *request = toy_request(1024, 2, 1, -1, 0);
    free_prove(rpc_case_prove(client, SNAP, "done", request));
    uint8_t *reply = ask(client, PROVING "GetStatus", NULL, &n);
    Cuzk__V1__GetStatusResponse *s = cuzk__v1__get_status_response__unpack(NULL, n, reply);
    assert_non_null(s);
    assert_int_equal(s->total_proofs_completed, 1);
    assert_true(s->n_loaded_srs >= 1 && s->loaded_srs[0]->size_bytes > 0);
    assert_true(s->memory_budget_bytes == (uint64_t)256 << 20);
    cuzk__v1__get_status_response__free_unpacked(s, NULL);
    free(reply);
    reply = ask(client, PROVING "GetMetrics", NULL, &n);
    assert_true(n > 100 && memmem(reply, n, "cuzk_", 5));
    free(reply);
    static const char *const documents[] = {INSPECTION "GetStatusDocument", INSPECTION "ListJobs",
                                            INSPECTION "GetTrace"};
    for (size_t i = 0; i < 3; i++) {
        reply = ask(client, documents[i], NULL, &n);
        Cuzk__V1__Document *d = cuzk__v1__document__unpack(NULL, n, reply);
        json_node *top;
        arena *a = arena_create(BUFFER_OTHER, 0, &err);
        assert_int_equal(json_tree(&top, a, documents[i], d->json, strlen(d->json), strlen(d->json) + 1, &err),
                         CUZK_OK);
        const json_node *first = i == 1 ? json_at(json_member(top, "jobs"), 0) : NULL;
        if (i == 1) assert_string_equal(json_member(first, "job_id")->text, "done");
        if (i == 1) assert_string_equal(json_member(first, "state")->text, "completed");
        arena_destroy(a);
        cuzk__v1__document__free_unpacked(d, NULL);
        free(reply);
    }
    free(request);
    rpc_client_close(client);
    rpc_case_stop(&c);
}

static void test_health(void **state) {
    (void)state;
    rpc_case c;
    cuzk_error err;
    size_t n;
    raw_client watch, unknown;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    uint8_t *reply = ask(client, "grpc.health.v1.Health/Check", "cuzk.v1.ProvingEngine", &n);
    assert_int_equal(n, 2);
    assert_memory_equal(reply, "\x08\x01", 2);
    free(reply);
    assert_int_equal(refusal(client, "grpc.health.v1.Health/Check", "\x0a\x01x", 3, &err), CUZK_USAGE);
    raw_open(&watch, c.socket, "/grpc.health.v1.Health/Watch", "\0\0\0\0\0", 5, true);
    raw_run(&watch, 5, 7);
    assert_memory_equal(watch.reply, "\0\0\0\0\2\x08\x01", 7);
    raw_open(&unknown, c.socket, "/grpc.health.v1.Health/Watch", "\0\0\0\0\3\x0a\1x", 8, true);
    raw_run(&unknown, 5, 7);
    assert_memory_equal(unknown.reply, "\0\0\0\0\2\x08\x03", 7);
    rpc_server_drain(c.server);
    raw_run(&watch, 5, 14);
    assert_memory_equal(watch.reply + 7, "\0\0\0\0\2\x08\x02", 7);
    reply = ask(client, "grpc.health.v1.Health/Check", NULL, &n);
    assert_memory_equal(reply, "\x08\x02", 2);
    free(reply);
    rpc_client_close(client);
    raw_close_client(&watch);
    raw_close_client(&unknown);
    rpc_case_stop(&c);
}

/* ---- TLS ---- */

static void write_pem(const char *folder, const char *name, X509 *cert, EVP_PKEY *key) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    if (cert) PEM_write_X509(f, cert);
    if (key) PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
}

/* NAME.pem and NAME.key: a certificate for 127.0.0.1 that is its own authority. */
static void make_certificate(const char *folder, const char *name) {
    char file[64];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_set_pubkey(cert, key);
    X509_NAME *subject = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, subject);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(cert, e, -1);
    X509_EXTENSION_free(e);
    X509_sign(cert, key, EVP_sha256());
    snprintf(file, sizeof file, "%s.pem", name);
    write_pem(folder, file, cert, NULL);
    snprintf(file, sizeof file, "%s.key", name);
    write_pem(folder, file, NULL, key);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static cuzk_status check_health(const rpc_client_options *o, cuzk_error *err) {
    rpc_client *client;
    uint8_t *reply = NULL;
    size_t n;
    cuzk_status s = rpc_client_open(&client, o, err);
    if (s) return s;
    s = rpc_client_call(client, PROVING "CancelProof", NULL, 0, 10, &reply, &n, err);
    free(reply);
    rpc_client_close(client);
    return s;
}

static void test_tls_and_token(void **state) {
    (void)state;
    rpc_case c;
    cuzk_error err;
    char folder[256], cert[300], key[300], other[300], other_key[300], address[64], unix_address[300];
    const char *listen[] = {"127.0.0.1:0"};
    case_folder_make(folder);
    make_certificate(folder, "server");
    make_certificate(folder, "client");
    snprintf(cert, sizeof cert, "%s/server.pem", folder);
    snprintf(key, sizeof key, "%s/server.key", folder);
    snprintf(other, sizeof other, "%s/client.pem", folder);
    snprintf(other_key, sizeof other_key, "%s/client.key", folder);
    const rpc_options o = {.listen = listen, .n_listen = 1, .tls_cert = cert, .tls_key = key, .token = "sesame"};
    rpc_case_start(&c, 0, &o);
    snprintf(address, sizeof address, "%s", rpc_server_address(c.server, 1));
    snprintf(unix_address, sizeof unix_address, "%s", rpc_server_address(c.server, 0));
    rpc_client_options good = {.address = address, .tls_ca = cert, .token = "sesame"}, bad = good;
    if (check_health(&good, &err)) rpc_case_fault("TLS", &err);
    bad.token = NULL;
    assert_int_equal(check_health(&bad, &err), CUZK_REFUSED);
    bad.token = "sesamf";
    assert_int_equal(check_health(&bad, &err), CUZK_REFUSED);
    bad.token = "sesame and more";
    assert_int_equal(check_health(&bad, &err), CUZK_REFUSED);
    bad = good;
    bad.tls_ca = other; /* an authority that does not know this server */
    assert_int_equal(check_health(&bad, &err), CUZK_UNREACHABLE);
    assert_non_null(strstr(err.found, "certificate"));
    bad.tls_ca = NULL; /* plain to a TLS port */
    assert_int_equal(check_health(&bad, &err), CUZK_UNREACHABLE);
    bad = (rpc_client_options){.address = unix_address}; /* the socket's mode protects it */
    if (check_health(&bad, &err)) rpc_case_fault("unix", &err);
    /* New ones while it runs; what cannot be used changes nothing. */
    rpc_options renewed = o;
    renewed.tls_key = other_key;
    assert_int_equal(rpc_server_renew(c.server, &renewed, &err), CUZK_MALFORMED);
    renewed.tls_cert = renewed.tls_key = NULL;
    assert_int_equal(rpc_server_renew(c.server, &renewed, &err), CUZK_USAGE);
    if (check_health(&good, &err)) rpc_case_fault("TLS as before", &err);
    renewed = (rpc_options){.tls_cert = other, .tls_key = other_key, .token = "abracadabra"};
    if (rpc_server_renew(c.server, &renewed, &err)) rpc_case_fault("renewed", &err);
    bad = (rpc_client_options){.address = address, .tls_ca = other, .token = "abracadabra"};
    for (int turn = 0; turn < 100 && check_health(&bad, &err); turn++) usleep(20000); /* the loop takes them */
    if (check_health(&bad, &err)) rpc_case_fault("new TLS", &err);
    bad.token = "sesame";
    assert_int_equal(check_health(&bad, &err), CUZK_REFUSED);
    assert_int_equal(check_health(&good, &err), CUZK_UNREACHABLE);
    rpc_case_stop(&c);
    /* Clients need certificates. */
    rpc_options strict = o;
    strict.tls_client_ca = other;
    rpc_case_start(&c, 0, &strict);
    snprintf(address, sizeof address, "%s", rpc_server_address(c.server, 1));
    assert_int_equal(check_health(&good, &err), CUZK_UNREACHABLE);
    good.tls_cert = other;
    good.tls_key = other_key;
    if (check_health(&good, &err)) rpc_case_fault("client certificate", &err);
    rpc_case_stop(&c);
    strict.tls_key = other_key; /* not the certificate's */
    rpc_server *s;
    assert_int_equal(rpc_server_start(&s, NULL, &strict, &err), CUZK_MALFORMED);
    case_folder_remove(folder);
}

/* ---- sockets and stopping ---- */

static cuzk_status try_listen(const rpc_case *c, const char *address, cuzk_error *err) {
    rpc_server *s;
    memset(err, 0, sizeof *err);
    const rpc_options o = {.listen = &address, .n_listen = 1};
    cuzk_status status = rpc_server_start(&s, c->engine, &o, err);
    if (!status) rpc_server_stop(s, 0);
    return status;
}

static void test_sockets(void **state) {
    (void)state;
    rpc_case c;
    cuzk_error err;
    struct stat st;
    char path[600], address[700];
    const rpc_options o = {.socket_mode = 0600};
    rpc_case_start(&c, 0, &o);
    assert_int_equal(stat(c.socket + 7, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(try_listen(&c, c.socket, &err), CUZK_IO); /* a living server's */
    assert_non_null(strstr(err.what, "another daemon"));
    snprintf(path, sizeof path, "%s/file", c.folder);
    FILE *f = fopen(path, "w");
    fclose(f);
    snprintf(address, sizeof address, "unix://%s", path);
    assert_int_equal(try_listen(&c, address, &err), CUZK_IO); /* no socket */
    assert_int_equal(stat(path, &st), 0);
    snprintf(address, sizeof address, "unix://%s/deep/er/s", c.folder);
    assert_int_equal(try_listen(&c, address, &err), CUZK_OK); /* folders are made */
    /* What a killed server leaves: a socket that nobody listens on. */
    struct sockaddr_un dead = {.sun_family = AF_UNIX};
    snprintf(dead.sun_path, sizeof dead.sun_path, "%.90s/dead", c.folder);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&dead, sizeof dead), 0);
    close(fd);
    snprintf(address, sizeof address, "unix://%s", dead.sun_path);
    assert_int_equal(try_listen(&c, address, &err), CUZK_OK);
    assert_int_equal(try_listen(&c, "0.0.0.0:0", &err), CUZK_USAGE);
    assert_non_null(strstr(err.what, "TLS"));
    assert_int_equal(try_listen(&c, "127.0.0.1", &err), CUZK_USAGE);
    assert_int_equal(try_listen(&c, "nowhere.invalid:1", &err), CUZK_USAGE);
    assert_int_equal(try_listen(&c, "127.0.0.1:99999", &err), CUZK_USAGE);
    rpc_case_stop(&c);
    rpc_client *client;
    const rpc_client_options gone = {.address = c.socket};
    assert_int_equal(rpc_client_open(&client, &gone, &err), CUZK_UNREACHABLE);
}

static void test_stop_with_waiting_calls(void **state) {
    (void)state;
    rpc_case c;
    raw_client raw;
    cuzk_error err;
    rpc_case_start(&c, 0, NULL);
    rpc_client *client = rpc_case_client(&c);
    char *slow = toy_request(1024, 64, 1, -1, 200);
    if (rpc_case_submit(client, SNAP, "x", slow, NULL, &err)) rpc_case_fault("submit", &err);
    raw_open(&raw, c.socket, "/" PROVING "AwaitProof", "\0\0\0\0\3\x0a\1x", 8, true);
    raw_run(&raw, 0.2, 1);
    double start = cpu_monotonic_seconds();
    rpc_server_stop(c.server, 0.2);
    c.server = NULL;
    assert_true(cpu_monotonic_seconds() - start < 3);
    raw_run(&raw, 2, 1);
    assert_int_equal(raw.status, 14); /* UNAVAILABLE, and why */
    assert_non_null(strstr(raw.message, "stops"));
    raw_close_client(&raw);
    rpc_client_close(client);
    cuzk_engine_stop(c.engine, 0);
    case_folder_remove(c.folder);
    free(slow);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit_await_prove),
        cmocka_unit_test(test_failures_are_in_the_answer),
        cmocka_unit_test(test_bad_calls),
        cmocka_unit_test(test_await_timeout_and_cancel),
        cmocka_unit_test(test_superseded_while_awaited),
        cmocka_unit_test(test_disconnect),
        cmocka_unit_test(test_many_clients),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_tls_and_token),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_stop_with_waiting_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
