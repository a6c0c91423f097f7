/* The public API as a caller meets it: contexts, circuits, jobs, keys, verification, and what each refuses.
 * Proving as a whole is in tests/cli/test_porep_2kib_slow.py and in the self test's Groth16 check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "cuzk/cuzk.h"
#include "ref/groth16_case.h"
#include "ref/sanitized.h"

#define CUBE TEST_DATA "/tiny/cube"
#define BAD TEST_DATA "/tiny/bad"
#define POREP TEST_DATA "/porep-2kib-a"

static cuzk_context *context;

static int start(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_settings settings = {.threads = 2};
    return cuzk_context_create(&context, &settings, &err) != CUZK_OK;
}

static int stop(void **state) {
    (void)state;
    cuzk_context_destroy(context);
    return 0;
}

static size_t read_file(const char *path, uint8_t *out, size_t room) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, room, f);
    fclose(f);
    return n;
}

/* ---- context ---- */

static unsigned threads_now(void) {
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void contexts(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_context *c;
    unsigned before = threads_now();
    assert_int_equal(cuzk_context_create(&c, NULL, &err), CUZK_OK);
    assert_true(cuzk_context_threads(c) >= 1);
    assert_true(cuzk_context_memory_bytes(c) > 0);
    cuzk_context_destroy(c);
    cuzk_context_destroy(NULL);
    cuzk_settings s = {.threads = CUZK_MAX_THREADS + 1};
    assert_int_equal(cuzk_context_create(&c, &s, &err), CUZK_USAGE);
    assert_null(c);
    s = (cuzk_settings){.threads = 1, .device = "cuda:99"};
    assert_int_equal(cuzk_context_create(&c, &s, &err), CUZK_DEVICE);
    s.device = "tpu";
    assert_int_equal(cuzk_context_create(&c, &s, &err), CUZK_USAGE);
    s.device = "cpu";
    assert_int_equal(cuzk_context_create(&c, &s, &err), CUZK_OK);
    assert_int_equal(cuzk_context_threads(c), 1);
    cuzk_context_destroy(c);
    assert_int_equal(threads_now(), before); /* nothing keeps the process */
}

/* ---- circuits ---- */

static void count_circuit(void *user, const char *name, const char *kind, uint64_t bytes, const char *variant) {
    unsigned *n = user;
    cuzk_circuit *c;
    cuzk_error err;
    assert_int_equal(strncmp(name, kind, strlen(kind)), 0);
    assert_int_equal(cuzk_circuit_open(&c, kind, bytes, variant, &err), CUZK_OK);
    assert_string_equal(cuzk_circuit_name(c), name);
    assert_true(cuzk_circuit_partitions(c) >= 1);
    cuzk_circuit_close(c);
    (*n)++;
}

static void circuits(void **state) {
    (void)state;
    unsigned n = 0;
    cuzk_error err;
    cuzk_circuit *c;
    cuzk_circuit_list(count_circuit, &n);
    assert_true(n >= 20);
    assert_int_equal(cuzk_circuit_open(&c, "porop", 2048, NULL, &err), CUZK_USAGE);
    assert_null(c);
    assert_int_equal(cuzk_circuit_open(&c, "porep", 2049, NULL, &err), CUZK_USAGE);
    assert_int_equal(cuzk_circuit_open(&c, "porep", 2048, "no", &err), CUZK_USAGE);
    cuzk_circuit_close(NULL);
}

/* A development key of ours that is damaged is made again; nobody else has it. */
static void damaged_development_key(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_circuit *c;
    cuzk_key *key;
    char path[4096], folder[256];
    bool made;
    case_folder_make(folder);
    assert_int_equal(cuzk_circuit_open(&c, "window-post", 2048, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_key_development(context, c, path, sizeof path, &made, NULL, &err), CUZK_OK);
    assert_true(made);
    for (int turn = TEST_SANITIZED; turn < 2; turn++) {
        assert_int_equal(cuzk_key_development(context, c, path, sizeof path, &made, NULL, &err), CUZK_OK);
        assert_false(made);
        FILE *f = fopen(path, "r+b"); /* a byte of a point, then the file's end */
        assert_non_null(f);
        if (turn == 0) {
            assert_int_equal(fseek(f, -1000, SEEK_END), 0);
            assert_int_equal(fputc(0xff, f), 0xff);
        } else {
            assert_int_equal(ftruncate(fileno(f), 100000), 0);
        }
        assert_int_equal(fclose(f), 0);
        assert_int_equal(cuzk_key_open(&key, context, path, CUZK_KEY_TRUSTED, NULL, &err), CUZK_KEY_DAMAGED);
        assert_int_equal(cuzk_key_development(context, c, path, sizeof path, &made, NULL, &err), CUZK_OK);
        assert_true(made);
    }
    cuzk_circuit_close(c);
    case_folder_remove(folder);
}

/* ---- jobs ---- */

static void read_hex_lines(const char *path, uint8_t (*out)[32], size_t *n) {
    char line[128];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    *n = 0;
    while (fgets(line, sizeof line, f)) {
        assert_true(text_unhex(out[(*n)++], 32, line, strcspn(line, "\n")));
    }
    fclose(f);
}

static void no_poseidon_updates(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_job *job;
    cuzk_job_files files = {.request = TEST_DATA "/snap-2kib-a/request.json", .variant = "poseidon"};
    assert_int_equal(cuzk_job_open(&job, "snap", &files, true, &err), CUZK_USAGE);
    assert_null(job);
    assert_non_null(strstr(err.what, "no format for them exists"));
    files.variant = NULL;
    assert_int_equal(cuzk_job_open(&job, "snap", &files, true, &err), CUZK_OK);
    cuzk_job_close(job);
}

static void public_inputs_are(const char *kind, const cuzk_job_files *files, bool facts_only) {
    cuzk_error err;
    cuzk_job *job;
    uint8_t want[64][32], found[64][32];
    size_t n;
    assert_int_equal(cuzk_job_open(&job, kind, files, facts_only, &err), CUZK_OK);
    assert_string_equal(cuzk_circuit_name(cuzk_job_circuit(job)), "porep-2kib");
    assert_int_equal(cuzk_job_partitions(job), 1);
    read_hex_lines(POREP "/inputs-0.txt", want, &n);
    assert_int_equal(cuzk_job_public_count(job), n);
    assert_int_equal(cuzk_job_public_inputs(job, 0, found, &err), CUZK_OK);
    assert_memory_equal(want, found, n * 32);
    assert_int_equal(cuzk_job_public_inputs(job, 1, found, &err), CUZK_USAGE);
    assert_int_equal(cuzk_job_check(context, job, NULL, &err), facts_only ? CUZK_USAGE : CUZK_OK);
    cuzk_job_close(job);
}

static void jobs(void **state) {
    (void)state;
    cuzk_job_files c1 = {.c1 = POREP "/c1.json"}, facts = {.request = POREP "/sector.json"};
    public_inputs_are("porep", &c1, false);
    public_inputs_are("porep", &c1, true);
    public_inputs_are("porep", &facts, true);
    cuzk_error err;
    cuzk_job *job;
    char *json;
    c1.variant = "ni";
    assert_int_equal(cuzk_job_open(&job, "porep", &c1, false, &err), CUZK_FOREIGN);
    assert_null(job);
    c1 = (cuzk_job_files){.c1 = POREP "/c1.json", .sector_bytes = 8u << 20};
    assert_int_not_equal(cuzk_job_open(&job, "porep", &c1, false, &err), CUZK_OK);
    c1 = (cuzk_job_files){.c1 = POREP "/none.json"};
    assert_int_equal(cuzk_job_open(&job, "porep", &c1, false, &err), CUZK_IO);
    assert_non_null(strstr(err.where, "none.json"));
    c1.c1 = POREP "/vk.bin";
    assert_int_equal(cuzk_job_open(&job, "porep", &c1, false, &err), CUZK_MALFORMED);
    c1.c1 = POREP "/c1-wrapped.json";
    assert_int_equal(cuzk_job_open(&job, "porep", &c1, false, &err), CUZK_OK);
    assert_int_equal(cuzk_job_inspect(job, &json, &err), CUZK_OK);
    assert_non_null(strstr(json, "\"registered_proof\":\"StackedDrg2KiBV1_1\""));
    cuzk_text_free(json);
    cuzk_text_free(NULL);
    cuzk_job_close(job);
    cuzk_job_close(NULL);
}

/* ---- keys ---- */

static void keys(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_key_facts f, vk_facts;
    bool valid;
    assert_int_equal(cuzk_key_inspect(CUBE "/params.bin", &f, NULL, &err), CUZK_OK);
    assert_true(f.proving);
    assert_int_equal(f.ic, 2);
    assert_int_equal(f.h, 7);
    assert_int_equal(f.l, 3);
    assert_int_equal(f.a, 5);
    assert_int_equal(f.b_g1, 2);
    assert_int_equal(f.b_g2, 2);
    assert_int_equal(f.origin, CUZK_KEY_UNKNOWN);
    assert_int_equal(cuzk_key_inspect(CUBE "/vk.bin", &vk_facts, NULL, &err), CUZK_OK);
    assert_false(vk_facts.proving);
    assert_memory_equal(f.vk_sha256, vk_facts.sha256, 32);
    assert_int_equal(cuzk_key_verify(context, CUBE "/params.bin", true, &valid, NULL, &err), CUZK_OK);
    assert_true(valid);
    assert_int_equal(cuzk_key_verify(context, BAD "/params-h0-not-in-subgroup.bin", true, &valid, NULL, &err), CUZK_OK);
    assert_false(valid);
    assert_non_null(strstr(err.where, "h"));
    assert_int_equal(cuzk_key_verify(context, BAD "/vk-alpha-not-on-curve.bin", false, &valid, NULL, &err), CUZK_OK);
    assert_false(valid);
    assert_int_equal(cuzk_key_verify(context, CUBE "/none", false, &valid, NULL, &err), CUZK_KEY_MISSING);
    assert_int_equal(cuzk_key_inspect(BAD "/params-short.bin", &f, NULL, &err), CUZK_KEY_DAMAGED);
    cuzk_key *key;
    assert_int_equal(cuzk_key_open(&key, context, CUBE "/none", CUZK_KEY_TRUSTED, NULL, &err), CUZK_KEY_MISSING);
    assert_int_equal(cuzk_key_open(&key, context, BAD "/params-short.bin", CUZK_KEY_TRUSTED, NULL, &err),
                     CUZK_KEY_DAMAGED);
    assert_null(key);
    assert_string_equal(cuzk_key_origin_name(CUZK_KEY_DEVELOPMENT), "development");
}

static void official_key(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_circuit *c;
    char path[4096];
    assert_int_equal(cuzk_circuit_open(&c, "porep", 2048, NULL, &err), CUZK_OK);
    setenv("FIL_PROOFS_PARAMETER_CACHE", "/nonexistent/folder", 1);
    assert_int_equal(cuzk_key_find(c, path, sizeof path, &err), CUZK_KEY_MISSING);
    assert_non_null(strstr(err.where, "/nonexistent/folder"));
    assert_non_null(strstr(err.expected, "v28-stacked-proof-of-replication-"));
    assert_non_null(strstr(err.hint, "--dev-key"));
    unsetenv("FIL_PROOFS_PARAMETER_CACHE");
    assert_string_equal(cuzk_key_official_folder(), "/var/tmp/filecoin-proof-parameters");
    cuzk_circuit_close(c);
}

/* ---- verifying ---- */

static void verify_groth16(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_vk *vk;
    uint8_t proof[2 * CUZK_PROOF_BYTES], input[1][32] = {{0}}, wrong[1][32] = {{0}};
    const uint8_t(*inputs[2])[32] = {(const uint8_t(*)[32])input, (const uint8_t(*)[32])input};
    size_t counts[2] = {1, 1};
    bool valid[2];
    input[0][31] = 35;
    wrong[0][31] = 36;
    assert_int_equal(cuzk_vk_open(&vk, CUBE "/vk.bin", &err), CUZK_OK);
    assert_int_equal(cuzk_vk_inputs(vk), 1);
    assert_int_equal(read_file(CUBE "/proof-0.bin", proof, sizeof proof), CUZK_PROOF_BYTES);
    memcpy(proof + CUZK_PROOF_BYTES, proof, CUZK_PROOF_BYTES);
    assert_int_equal(cuzk_verify_groth16(context, vk, inputs, counts, 2, proof, sizeof proof, valid, &err), CUZK_OK);
    assert_true(valid[0] && valid[1]);
    inputs[1] = (const uint8_t(*)[32])wrong;
    assert_int_equal(cuzk_verify_groth16(context, vk, inputs, counts, 2, proof, sizeof proof, valid, &err), CUZK_FALSE);
    assert_true(valid[0] && !valid[1]);
    assert_non_null(strstr(err.where, "proof 1"));
    /* One byte short; bytes that are no proof; an input that is not reduced; a number too few. */
    assert_int_equal(cuzk_verify_groth16(context, vk, inputs, counts, 2, proof, sizeof proof - 1, valid, &err),
                     CUZK_FALSE);
    assert_false(valid[0]);
    proof[5] ^= 1;
    assert_int_equal(cuzk_verify_groth16(context, vk, inputs, counts, 1, proof, CUZK_PROOF_BYTES, valid, &err),
                     CUZK_FALSE);
    memset(wrong, 0xff, sizeof wrong);
    assert_int_equal(cuzk_verify_groth16(context, vk, inputs, counts, 2, proof, sizeof proof, valid, &err),
                     CUZK_MALFORMED);
    counts[1] = 0;
    assert_int_equal(cuzk_verify_groth16(context, vk, inputs, counts, 2, proof, sizeof proof, valid, &err),
                     CUZK_FOREIGN);
    cuzk_vk_close(vk);
    cuzk_vk_close(NULL);
}

static void verify_job(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_vk *vk, *foreign;
    cuzk_job *job;
    uint8_t proof[CUZK_PROOF_BYTES];
    bool valid;
    cuzk_job_files facts = {.request = POREP "/sector.json"};
    unsigned partition = 0, none = 1;
    assert_int_equal(cuzk_job_open(&job, "porep", &facts, true, &err), CUZK_OK);
    assert_int_equal(cuzk_vk_open(&vk, POREP "/vk.bin", &err), CUZK_OK);
    assert_int_equal(cuzk_vk_open(&foreign, CUBE "/vk.bin", &err), CUZK_OK);
    read_file(POREP "/proof-0-random.bin", proof, sizeof proof);
    assert_int_equal(cuzk_verify(context, vk, job, NULL, 0, proof, sizeof proof, &valid, &err), CUZK_OK);
    assert_true(valid);
    assert_int_equal(cuzk_verify(context, vk, job, &partition, 1, proof, sizeof proof, &valid, &err), CUZK_OK);
    assert_int_equal(cuzk_verify(context, vk, job, &none, 1, proof, sizeof proof, &valid, &err), CUZK_USAGE);
    assert_int_equal(cuzk_verify(context, foreign, job, NULL, 0, proof, sizeof proof, &valid, &err), CUZK_FOREIGN);
    proof[191] ^= 1;
    assert_int_equal(cuzk_verify(context, vk, job, NULL, 0, proof, sizeof proof, &valid, &err), CUZK_FALSE);
    assert_false(valid);
    cuzk_vk_close(foreign);
    cuzk_vk_close(vk);
    cuzk_job_close(job);
}

/* ---- cancelling ---- */

static void cancelled(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_job *job;
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    cuzk_job_files c1 = {.c1 = POREP "/c1.json"};
    cuzk_memory before, after;
    cuzk_memory_get(&before);
    assert_int_equal(cuzk_job_open(&job, "porep", &c1, false, &err), CUZK_OK);
    assert_int_equal(cuzk_job_check(context, job, &control, &err), CUZK_CANCELLED);
    cuzk_job_close(job);
    cuzk_memory_get(&after);
    assert_int_equal(before.live_bytes, after.live_bytes);
}

static void setup_refuses(void **state) {
    (void)state;
    cuzk_error err;
    cuzk_circuit *c;
    cuzk_setup_report report;
    char folder[] = "/tmp/cuzk-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(cuzk_circuit_open(&c, "porep", 2048, NULL, &err), CUZK_OK);
    setenv("FIL_PROOFS_PARAMETER_CACHE", folder, 1);
    assert_int_equal(cuzk_setup(context, c, folder, NULL, &report, NULL, &err), CUZK_USAGE);
    unsetenv("FIL_PROOFS_PARAMETER_CACHE");
    assert_int_equal(cuzk_setup(context, c, folder, CUBE "/vk.bin", &report, NULL, &err), CUZK_MALFORMED);
    assert_int_equal(rmdir(folder), 0); /* nothing was written */
    cuzk_circuit_close(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),
        cmocka_unit_test(circuits),
        cmocka_unit_test(jobs),
        cmocka_unit_test(keys),
        cmocka_unit_test(official_key),
        cmocka_unit_test(verify_groth16),
        cmocka_unit_test(verify_job),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(damaged_development_key),
        cmocka_unit_test(no_poseidon_updates),
        cmocka_unit_test(setup_refuses),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
