/* What old and new clients send, as submissions: every kind of proof, ids, priorities, orders, and faults. The vanilla
 * proofs here are heads only; the real ones go through the peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "cuzk/v1/proving.pb-c.h"
#include "rpc/details.h"
#include "rpc/pb.h"
#include "rpc/submission.h"

typedef Cuzk__V1__SubmitProofRequest request;

static uint8_t randomness[32] = {1, 2, 3}, comm_a[32] = {0xa}, comm_b[32] = {0xb}, comm_c[32] = {0xc};
static uint8_t heads[3][64]; /* sector 300, 7, 70001; comm_r full of 0x30, 0x31, 0x32 */
static ProtobufCBinaryData vanilla[3];

static int set_up(void **state) {
    (void)state;
    static const uint64_t numbers[] = {300, 7, 70001};
    for (int i = 0; i < 3; i++) {
        for (int b = 0; b < 8; b++) heads[i][b] = (uint8_t)(numbers[i] >> (8 * b));
        memset(heads[i] + 8, 0x30 + i, 32);
        vanilla[i] = (ProtobufCBinaryData){sizeof heads[i], heads[i]};
    }
    return 0;
}

static request new_request(int kind, const char *id) {
    request q = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    q.proof_kind = (Cuzk__V1__ProofKind)kind;
    q.request_id = (char *)(uintptr_t)id;
    return q;
}

/* Packs and reads it; prove: within a ProveRequest. *message is to be freed after the submission. */
static cuzk_status read_it(rpc_submission *out, request *q, bool prove, uint8_t **message, cuzk_error *err) {
    Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
    p.submit = q;
    const ProtobufCMessage *m = prove ? &p.base : &q->base;
    size_t n = protobuf_c_message_get_packed_size(m);
    *message = malloc(n + 1);
    protobuf_c_message_pack(m, *message);
    return rpc_submission_read(out, *message, n, prove, err);
}

static void expect(request *q, const char *kind, const char *json) {
    for (int prove = 0; prove < 2; prove++) {
        rpc_submission s;
        cuzk_error err;
        uint8_t *message;
        if (read_it(&s, q, prove, &message, &err)) fail_msg("%s (%s)", err.what, err.where);
        assert_string_equal(s.job.kind, kind);
        assert_string_equal(s.job.request_id, q->request_id);
        assert_int_equal(s.job.request.n, strlen(json));
        if (memcmp(s.job.request.data, json, strlen(json))) fail_msg("%s", (const char *)s.job.request.data);
        rpc_submission_free(&s);
        free(message);
    }
}

static void expect_fault(request *q, cuzk_status status, const char *where) {
    rpc_submission s;
    cuzk_error err = {0};
    uint8_t *message;
    assert_int_equal(read_it(&s, q, false, &message, &err), status);
    assert_string_equal(err.where, where);
    rpc_submission_free(&s);
    free(message);
}

#define Z28 "00000000000000000000000000000000000000000000000000000000"

static void test_porep(void **state) {
    (void)state;
    static const char c1[] = "{\"SectorNum\":5,\"Phase1Out\":\"e30=\",\"SectorSize\":2048}";
    request q = new_request(1, "porep-1000-5");
    q.vanilla_proof = (ProtobufCBinaryData){strlen(c1), (uint8_t *)(uintptr_t)c1};
    q.sector_size = 32ull << 30; /* labels; what is proved says C1 */
    q.registered_proof = 8;
    q.sector_number = 5;
    q.miner_id = 1000;
    expect(&q, "porep", "{\"sector_number\":5,\"miner_id\":1000}");
    q.sector_number = q.miner_id = 0;
    expect(&q, "porep", "{}");
    q.vanilla_proof.len = 0;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.vanilla_proof");
}

static void test_snap(void **state) {
    (void)state;
    request q = new_request(2, "snap-1000-5");
    ProtobufCBinaryData parts[16];
    for (int i = 0; i < 16; i++) parts[i] = vanilla[i % 3];
    q.vanilla_proofs = parts;
    q.n_vanilla_proofs = 16;
    q.registered_proof = 3;
    q.miner_id = 1000;
    q.comm_r_old = (ProtobufCBinaryData){32, comm_a};
    q.comm_r_new = (ProtobufCBinaryData){32, comm_b};
    q.comm_d_new = (ProtobufCBinaryData){32, comm_c};
    expect(&q, "snap",
           "{\"registered_proof\":3,\"miner_id\":1000,\"comm_r_old\":\"0a000000" Z28 "\",\"comm_r_new\":\"0b000000" Z28
           "\",\"comm_d_new\":\"0c000000" Z28 "\"}");
    rpc_submission s;
    cuzk_error err;
    uint8_t *message;
    assert_int_equal(read_it(&s, &q, false, &message, &err), CUZK_OK);
    assert_int_equal(s.job.n_vanilla, 16); /* in the client's order */
    for (int i = 0; i < 16; i++) assert_memory_equal(s.job.vanilla[i].data, heads[i % 3], 64);
    rpc_submission_free(&s);
    free(message);
    q.comm_d_new.len = 31;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.comm_d_new");
    q.comm_d_new.len = 32;
    q.registered_proof = 5;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.registered_proof");
}

#define HEX32(c) c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c
#define SECTOR(number, c) "{\"number\":" number ",\"comm_r\":\"" HEX32(c) "\"}"

static void test_window(void **state) {
    (void)state;
    request q = new_request(3, "wdpost-1000-0-[1 2 3 0 0 0 0 0]");
    q.vanilla_proofs = vanilla;
    q.n_vanilla_proofs = 3;
    q.registered_proof = 13;
    q.miner_id = 1000;
    q.randomness = (ProtobufCBinaryData){32, randomness};
    q.partition_index = 2;
    expect(&q, "window-post",
           "{\"registered_proof\":13,\"miner_id\":1000,\"randomness\":\"01020300" Z28
           "\",\"partition_index\":2,\"sectors\":[" SECTOR("7", "31") "," SECTOR("300", "30") "," SECTOR("70001",
                                                                                                         "32") "]}");
    rpc_submission s;
    cuzk_error err;
    uint8_t *message;
    assert_int_equal(read_it(&s, &q, false, &message, &err), CUZK_OK);
    static const int order[] = {1, 0, 2}; /* with the sectors */
    for (int i = 0; i < 3; i++) assert_memory_equal(s.job.vanilla[i].data, heads[order[i]], 64);
    assert_int_equal(s.job.priority, CUZK_PRIORITY_DEFAULT);
    rpc_submission_free(&s);
    free(message);
    q.registered_proof = 4;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.registered_proof");
    q.registered_proof = 8;
    q.randomness.len = 0;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.randomness");
    q.randomness.len = 32;
    vanilla[1].len = 39;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.vanilla_proofs[1]");
    vanilla[1].len = 64;
    q.n_vanilla_proofs = 0;
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.vanilla_proofs");
}

static void test_winning(void **state) {
    (void)state;
    request q = new_request(4, "winpost-1000-0102030000000000");
    q.vanilla_proofs = vanilla; /* the first counts */
    q.n_vanilla_proofs = 3;
    q.registered_proof = 3;
    q.miner_id = 1000;
    q.randomness = (ProtobufCBinaryData){32, randomness};
    expect(&q, "winning-post",
           "{\"registered_proof\":3,\"miner_id\":1000,\"randomness\":\"01020300" Z28
           "\",\"sectors\":[" SECTOR("300", "30") "]}");
}

static void test_common(void **state) {
    (void)state;
    static const struct {
        int wire;
        cuzk_priority priority;
    } priorities[] = {{0, CUZK_PRIORITY_DEFAULT}, {1, CUZK_PRIORITY_LOW},      {2, CUZK_PRIORITY_NORMAL},
                      {3, CUZK_PRIORITY_HIGH},    {4, CUZK_PRIORITY_CRITICAL}, {9, CUZK_PRIORITY_NORMAL}};
    static uint8_t json[] = "{\"sectors\":[]}";
    for (size_t i = 0; i < sizeof priorities / sizeof *priorities; i++) {
        rpc_submission s;
        cuzk_error err;
        uint8_t *message;
        request q = new_request(3, "");
        q.priority = (Cuzk__V1__Priority)priorities[i].wire;
        q.request_json = (ProtobufCBinaryData){sizeof json - 1, json};
        q.deadline_ms = 1500;
        q.device_policy = CUZK__V1__DEVICE_POLICY__CPU;
        q.sector_size_override = 4096;
        q.cancel_on_disconnect = true;
        assert_int_equal(read_it(&s, &q, true, &message, &err), CUZK_OK);
        assert_int_equal(s.job.priority, priorities[i].priority);
        assert_int_equal(s.job.policy, CUZK_CPU);
        assert_int_equal(s.job.sector_bytes, 4096);
        assert_true(s.job.deadline_seconds == 1.5 && s.cancel_on_disconnect);
        assert_memory_equal(s.job.request.data, json, sizeof json - 1);
        rpc_submission_free(&s);
        free(message);
    }
    request q = new_request(0, "x");
    expect_fault(&q, CUZK_USAGE, "SubmitProofRequest.proof_kind");
    q = new_request(5, "x");
    expect_fault(&q, CUZK_USAGE, "SubmitProofRequest.proof_kind");
    q = new_request(3, "line\nbreak");
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.request_id");
    q = new_request(3, "bad utf-8 \xff");
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.request_id");
    q = new_request(3, "delete \x7f");
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.request_id");
    q = new_request(3, "control sequence \xc2\x9b");
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.request_id");
    char id[257];
    memset(id, 'i', 256);
    id[256] = 0;
    q = new_request(3, id);
    expect_fault(&q, CUZK_MALFORMED, "SubmitProofRequest.request_id");
}

static void test_lying_messages(void **state) {
    (void)state;
    static const struct {
        uint8_t data[16];
        size_t n;
    } cases[] = {{{0x0a, 5, 'a'}, 3},                                         /* shorter than it says */
                 {{0x52, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9}, /* a length without an end */
                 {{0x52, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}, 7},             /* 2^41 bytes */
                 {{0x0b, 0x0c}, 2},                                           /* a group */
                 {{0x02, 1}, 2},                                              /* field 0 */
                 {{0x10}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rpc_submission s;
        cuzk_error err;
        assert_int_equal(rpc_submission_read(&s, cases[i].data, cases[i].n, false, &err), CUZK_MALFORMED);
        rpc_submission_free(&s);
    }
    /* More vanilla proofs than any job has: two bytes each. */
    enum { MANY = 70000 };
    uint8_t *many = malloc(2 * MANY);
    for (size_t i = 0; i < MANY; i++) many[2 * i] = 0x5a, many[2 * i + 1] = 0;
    rpc_submission s;
    cuzk_error err;
    assert_int_equal(rpc_submission_read(&s, many, (size_t)2 * MANY, false, &err), CUZK_MALFORMED);
    rpc_submission_free(&s);
    free(many);
}

static void test_names(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"porep-32g", "porep-32gib"},       {"porep-64g", "porep-64gib"},
                                           {"wpost-32g", "window-post-32gib"}, {"winning-32g", "winning-post-32gib"},
                                           {"snap-32g", "snap-32gib"},         {"snap-64g", "snap-64gib"},
                                           {"porep-ni-2kib", "porep-ni-2kib"}};
    char name[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        rpc_circuit_name(name, pairs[i][0]);
        assert_string_equal(name, pairs[i][1]);
        const char *old = rpc_circuit_old_name(pairs[i][1]);
        assert_string_equal(old ? old : pairs[i][1], pairs[i][0]);
    }
}

/* An error over the wire and back. */
static void test_details(void **state) {
    (void)state;
    cuzk_error err, back;
    cuzk_fail(&err, CUZK_KEY_MISSING, "the key is not there: 100 %%, caf\xc3\xa9 \xff");
    cuzk_fail_where(&err, "folder /x");
    cuzk_fail_expected(&err, "a file");
    cuzk_fail_hint(&err, "fetch it");
    char *details = details_encode(9, &err), *message = details_message(&err);
    details_decode(&back, 9, message, details);
    assert_int_equal(back.status, CUZK_KEY_MISSING);
    assert_string_equal(back.what, "the key is not there: 100 %, caf\xc3\xa9 ?");
    assert_string_equal(back.where, "folder /x");
    assert_string_equal(back.expected, "a file");
    assert_string_equal(back.found, "");
    assert_string_equal(back.hint, "fetch it");
    /* From a server that sends no details. */
    details_decode(&back, 5, message, NULL);
    assert_int_equal(back.status, CUZK_REFUSED);
    assert_string_equal(back.what, "the key is not there: 100 %, caf\xc3\xa9 ? (folder /x; expected a file). fetch it");
    details_decode(&back, 14, NULL, "not base64!");
    assert_int_equal(back.status, CUZK_UNREACHABLE);
    free(details);
    free(message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_porep),   cmocka_unit_test(test_snap),    cmocka_unit_test(test_window),
        cmocka_unit_test(test_winning), cmocka_unit_test(test_common),  cmocka_unit_test(test_lying_messages),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_details),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
