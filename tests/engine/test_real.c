/* A real circuit through the engine, as an embedding program uses it: a winning PoSt of a 2 KiB sector, submitted from
 * memory, proved on the CPU, and verified by the public API against the request alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cuzk/cuzk.h"
#include "ref/groth16_case.h"

#define WINNING TEST_DATA "/winning-post-2kib-a"

static char folder[256];

static int make_folder(void **state) {
    (void)state;
    case_folder_make(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    case_folder_remove(folder);
    return 0;
}

static void verify(const uint8_t *proof, size_t n) {
    cuzk_error err;
    cuzk_context *context;
    cuzk_job *job;
    cuzk_circuit *c;
    cuzk_vk *vk;
    char path[4096];
    bool made, valid = false;
    cuzk_job_files facts = {.request = WINNING "/request.json"};
    assert_int_equal(cuzk_context_create(&context, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_job_open(&job, "winning-post", &facts, true, &err), CUZK_OK);
    assert_int_equal(cuzk_circuit_open(&c, "winning-post", 2048, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_key_development(context, c, path, sizeof path, &made, NULL, &err), CUZK_OK);
    assert_false(made); /* the engine made it */
    memcpy(strrchr(path, '.'), ".vk", 4);
    assert_int_equal(cuzk_vk_open(&vk, path, &err), CUZK_OK);
    assert_int_equal(cuzk_verify(context, vk, job, NULL, 0, proof, n, &valid, &err), CUZK_OK);
    assert_true(valid);
    cuzk_vk_close(vk);
    cuzk_circuit_close(c);
    cuzk_job_close(job);
    cuzk_context_destroy(context);
}

static void winning_post(void **state) {
    (void)state;
    static const char *const circuits[] = {"winning-post-2kib"};
    cuzk_engine_options o = {.size = sizeof o,
                             .devices = "cpu",
                             .development_keys = true,
                             .circuits = circuits,
                             .n_circuits = 1,
                             .memory_bytes = (uint64_t)2 << 30,
                             .critical_bytes = UINT64_MAX};
    cuzk_engine *e;
    cuzk_error err;
    size_t request_bytes, vanilla_bytes;
    uint8_t *request = case_read(WINNING "/request.json", &request_bytes);
    uint8_t *vanilla = case_read(WINNING "/vanilla-0.bin", &vanilla_bytes);
    cuzk_bytes proofs[] = {{vanilla, vanilla_bytes}};
    cuzk_submission s = {.size = sizeof s,
                         .request_id = "winpost-f01000-6543203f39a47fa7",
                         .kind = "winning-post",
                         .request = {request, request_bytes},
                         .vanilla = proofs,
                         .n_vanilla = 1};
    for (int round = 0; round < 2; round++) { /* the second engine finds the key and keeps a share for it */
        assert_int_equal(cuzk_engine_start(&e, &o, &err), CUZK_OK);
        cuzk_job_ticket ticket;
        cuzk_job_result r;
        assert_int_equal(cuzk_engine_submit(e, &s, &ticket, &err), CUZK_OK);
        assert_string_equal(ticket.job_id, s.request_id);
        assert_int_equal(cuzk_engine_await(e, ticket.job_id, -1, &r, &err), CUZK_OK);
        if (r.state != CUZK_JOB_COMPLETED) fail_msg("%s (%s)", r.error.what, r.error.where);
        print_message("total %.3f s: wait %.3f, key %.3f, check %.3f, synthesis %.3f, device %.3f, finish %.3f, verify "
                      "%.3f\n",
                      r.times.total, r.times.queue_wait, r.times.key_load, r.times.vanilla_check, r.times.synthesis,
                      r.times.device, r.times.finish, r.times.verify);
        assert_int_equal(r.proof_bytes, 192);
        verify(r.proof, r.proof_bytes);
        cuzk_job_result_free(&r);
        if (round == 1) {
            char *json;
            assert_int_equal(cuzk_engine_status_json(e, &json, &err), CUZK_OK);
            assert_non_null(strstr(json, "winning-post-2kib"));
            cuzk_text_free(json);
        }
        cuzk_engine_stop(e, 5);
    }
    /* A vanilla proof of which a bit is wrong never reaches a device. */
    vanilla[vanilla_bytes / 2] ^= 1;
    cuzk_job_ticket ticket;
    cuzk_job_result r;
    assert_int_equal(cuzk_engine_start(&e, &o, &err), CUZK_OK);
    cuzk_status st = cuzk_engine_submit(e, &s, &ticket, &err);
    if (st == CUZK_OK) {
        assert_int_equal(cuzk_engine_await(e, ticket.job_id, -1, &r, &err), CUZK_OK);
        assert_int_equal(r.state, CUZK_JOB_FAILED);
        assert_true(r.error.status == CUZK_UNSATISFIED || r.error.status == CUZK_MALFORMED);
        assert_true(r.times.device == 0);
    }
    cuzk_engine_stop(e, 0);
    free(request);
    free(vanilla);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(winning_post)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
