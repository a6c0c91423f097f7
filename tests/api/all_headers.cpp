// Uses every handle of the public API from C++, so that the headers stay usable there. Compiled, not run.
#include "cuzk/cuzk.h"

int main() {
    cuzk_error err{};
    cuzk_context *context = nullptr;
    cuzk_settings settings{};
    settings.threads = 1;
    if (cuzk_context_create(&context, &settings, &err) != CUZK_OK) return cuzk_status_exit(err.status);
    cuzk_control control{};
    cuzk_circuit *circuit = nullptr;
    cuzk_circuit_info info{};
    cuzk_plan plan{};
    cuzk_job *job = nullptr;
    cuzk_job_files files{};
    cuzk_key *key = nullptr;
    cuzk_vk *vk = nullptr;
    cuzk_prove_report report{};
    cuzk_memory memory{};
    uint8_t proof[CUZK_PROOF_BYTES];
    bool valid = false;
    cuzk_status s = cuzk_circuit_open(&circuit, "porep", 2048, nullptr, &err);
    if (!s) s = cuzk_circuit_info_get(context, circuit, &info, &control, &err);
    if (!s) s = cuzk_plan_make(context, circuit, &plan, &control, &err);
    if (!s) s = cuzk_job_open(&job, "porep", &files, false, &err);
    if (!s) s = cuzk_key_open(&key, context, "k.params", CUZK_KEY_TRUSTED, &control, &err);
    if (!s) s = cuzk_vk_open(&vk, "k.vk", &err);
    if (!s) s = cuzk_prove(context, job, key, nullptr, proof, sizeof proof, &report, &control, &err);
    if (!s) s = cuzk_verify(context, vk, job, nullptr, 0, proof, sizeof proof, &valid, &err);
    if (!s) s = cuzk_selftest(context, nullptr, nullptr, &control, &err);
    cuzk_engine *engine = nullptr;
    cuzk_engine_options options{};
    options.size = sizeof options;
    cuzk_submission submission{};
    cuzk_job_ticket ticket{};
    cuzk_job_result result{};
    if (!s) s = cuzk_engine_start(&engine, &options, &err);
    if (!s) s = cuzk_engine_submit(engine, &submission, &ticket, &err);
    if (!s) s = cuzk_engine_await(engine, ticket.job_id, -1, &result, &err);
    cuzk_job_result_free(&result);
    cuzk_engine_stop(engine, 0);
    cuzk_memory_get(&memory);
    cuzk_vk_close(vk);
    cuzk_key_close(key);
    cuzk_job_close(job);
    cuzk_circuit_close(circuit);
    cuzk_context_destroy(context);
    return cuzk_status_exit(s);
}
