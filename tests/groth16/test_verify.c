/* Verification: the reference's bad proofs and keys, batches, numbers of inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/log.h"
#include "base/text.h"
#include "ref/groth16_case.h"

static cuzk_error err;
static pool *workers;
static char folder[256];

#define BAD TEST_DATA "/tiny/bad/"
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

/* Calls row with the cells of each line after the heading. */
static unsigned each_row(const char *file, unsigned columns, void (*row)(char **cells)) {
    size_t n;
    char *text = (char *)case_read(file, &n), *state;
    unsigned rows = 0;
    text[n] = 0; /* case_read leaves room */
    char *line = strtok_r(text, "\n", &state);
    while ((line = strtok_r(NULL, "\n", &state))) {
        char *cells[8], *at = line;
        for (unsigned i = 0; i < columns; i++) cells[i] = strsep(&at, "\t");
        row(cells);
        rows++;
    }
    free(text);
    return rows;
}

/* Public inputs of a text file; false when a line is no canonical element. */
static bool read_inputs(const char *file, fr out[8], size_t *n) {
    size_t len;
    char path[512], *state;
    snprintf(path, sizeof path, BAD "%s", file);
    char *text = (char *)case_read(path, &len);
    text[len] = 0;
    *n = 0;
    bool ok = true;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        uint8_t bytes[32];
        assert_true(*n < 8 && text_unhex(bytes, 32, line, strlen(line)));
        if (!fr_from_be_bytes(&out[(*n)++], bytes)) ok = false;
    }
    free(text);
    return ok;
}

static verifying_key good_vk;

/* A proof file of another length than a proof's is refused by whoever reads it; here, too. */
static cuzk_status judge(const char *proof_file, const char *inputs_file) {
    char path[512];
    size_t n, len;
    groth16_proof proof;
    fr inputs[8];
    snprintf(path, sizeof path, BAD "%s", proof_file);
    uint8_t *data = case_read(path, &len);
    cuzk_status st = len == PROOF_BYTES ? proof_read(&proof, data, &err) : CUZK_MALFORMED;
    free(data);
    if (!read_inputs(inputs_file, inputs, &n)) return CUZK_MALFORMED;
    return st == CUZK_OK ? groth16_verify(&good_vk, &proof, inputs, n, &err) : st;
}

static unsigned accepted;
static void one_proof(char **c) {
    bool want = strcmp(c[4], "true") == 0 && strcmp(c[0], "long") != 0;
    cuzk_status st = judge(c[1], c[2]);
    if ((st == CUZK_OK) != want) fail_msg("proof %s: %s", c[0], cuzk_status_name(st));
    if (strcmp(c[4], "false") == 0) assert_int_equal(st, CUZK_FALSE);
    if (strncmp(c[4], "Malformed", 9) == 0) assert_int_equal(st, CUZK_USAGE);
    if (strcmp(c[3], "ok") != 0) assert_int_equal(st, CUZK_MALFORMED);
    if (c[0][1] == '-' && st == CUZK_MALFORMED) { /* a-…, b-…, c-…: the element is named */
        char element[16];
        snprintf(element, sizeof element, "element %c,", c[0][0] - 'a' + 'A');
        assert_non_null(strstr(err.where, element));
    }
    accepted += st == CUZK_OK;
}

static void the_references_bad_proofs(void **state) {
    (void)state;
    OK(verifying_key_open(&good_vk, BAD "vk.bin", &err));
    accepted = 0;
    assert_int_equal(each_row(BAD "expected.tsv", 7, one_proof), 59);
    assert_int_equal(accepted, 3); /* good, negated-a-and-b, rerandomised */
    verifying_key_free(&good_vk);
}

static void one_key(char **c) {
    char path[512];
    bool want = strcmp(c[0], "vk-good") == 0, valid = true;
    snprintf(path, sizeof path, BAD "%s", c[1]);
    OK(key_verify_file(path, true, &valid, workers, NULL, &err));
    if (valid != want) fail_msg("key %s: %d", c[0], valid);
    if (!want) {
        assert_int_equal(err.status, CUZK_KEY_DAMAGED);
        assert_non_null(strstr(err.where, c[1]));
    }
    if (strncmp(c[0], "vk", 2) != 0) return;
    verifying_key vk;
    cuzk_status st = verifying_key_open(&vk, path, &err);
    assert_int_equal(st, want ? CUZK_OK : CUZK_KEY_DAMAGED);
    if (want) verifying_key_free(&vk);
    if (strstr(c[0], "alpha")) assert_non_null(strstr(err.where, "alpha_g1"));
    if (strstr(c[0], "gamma")) assert_non_null(strstr(err.where, "gamma_g2"));
    if (strstr(c[0], "delta")) assert_non_null(strstr(err.where, "delta_g2"));
    if (strstr(c[0], "ic1")) assert_non_null(strstr(err.where, "section ic, index 1,"));
}

static void the_references_bad_keys(void **state) {
    (void)state;
    assert_int_equal(each_row(BAD "expected-keys.tsv", 5, one_key), 20);
}

static void keys_read_and_written(void **state) {
    (void)state;
    for (unsigned i = 0; i < tiny_count; i++) {
        char path[600];
        size_t n;
        verifying_key a, b;
        snprintf(path, sizeof path, TEST_DATA "/tiny/%s/vk.bin", tiny_names[i]);
        uint8_t *data = case_read(path, &n);
        OK(verifying_key_open(&a, path, &err));
        assert_int_equal(verifying_key_bytes(&a), n);
        uint8_t *again = malloc(n);
        verifying_key_write(&a, again);
        assert_memory_equal(again, data, n);
        /* From the front of the proving key, too. */
        snprintf(path, sizeof path, TEST_DATA "/tiny/%s/params.bin", tiny_names[i]);
        if (access(path, R_OK) == 0) {
            OK(verifying_key_open(&b, path, &err));
            verifying_key_write(&b, again);
            assert_memory_equal(again, data, n);
            verifying_key_free(&b);
        }
        verifying_key_free(&a);
        free(again);
        free(data);
    }
}

/* ---- batches ---- */

#define BATCH 11

static void batches(void **state) {
    (void)state;
    chain_circuit chain = {30, 3, 5};
    groth16_case c;
    groth16_proof proofs[BATCH];
    fr values[BATCH][3], x, one;
    const fr *inputs[BATCH];
    fr_set_one(&one);
    fr_from_u64(&x, 2);
    OK(case_make(&c, folder, "batch", chain_run, &chain, &x, NULL, workers, &err));
    for (int i = 0; i < BATCH; i++) {
        witness w;
        fr_from_u64(&x, (uint64_t)i * 1000003);
        OK(case_prove(&c, &x, NULL, NULL, &proofs[i], workers, NULL, &err));
        OK(witness_write(&w, c.shape, chain_run, &chain, &x, &err));
        memcpy(values[i], w.inputs + 1, sizeof values[i]);
        inputs[i] = values[i];
        witness_free(&w);
    }
    const verifying_key *vk = &c.key.vk;
    assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 3, 0, workers, &err), CUZK_USAGE);
    for (size_t n = 1; n <= BATCH; n++) {
        OK(groth16_verify_batch(vk, proofs, inputs, 3, n, workers, &err));
        OK(groth16_verify_batch(vk, proofs, inputs, 3, n, NULL, &err));
    }
    assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 2, BATCH, workers, &err), CUZK_USAGE);
    assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 4, BATCH, workers, &err), CUZK_USAGE);
    assert_int_equal(groth16_verify(vk, proofs, inputs[0], 2, &err), CUZK_USAGE);
    for (size_t k = 0; k < BATCH; k++) {
        /* Each input of each proof, and each element of it. */
        for (int i = 0; i < 3; i++) {
            fr saved = values[k][i];
            fr_add(&values[k][i], &values[k][i], &one);
            assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 3, BATCH, workers, &err), CUZK_FALSE);
            values[k][i] = saved;
        }
        groth16_proof saved = proofs[k];
        g1_affine_neg(&proofs[k].a, &proofs[k].a);
        assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 3, BATCH, workers, &err), CUZK_FALSE);
        proofs[k] = saved;
        g2_affine_neg(&proofs[k].b, &proofs[k].b);
        assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 3, BATCH, workers, &err), CUZK_FALSE);
        proofs[k] = saved;
        proofs[k].c = proofs[(k + 1) % BATCH].c;
        assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 3, BATCH, workers, &err), CUZK_FALSE);
        proofs[k] = saved;
    }
    /* Two errors that cancel without weights: C of one plus G, of another minus G. */
    g1_affine g, neg;
    g1 t;
    g1_generator_affine(&g);
    g1_affine_neg(&neg, &g);
    for (int i = 0; i < 2; i++) {
        g1_from_affine(&t, &proofs[i].c);
        g1_add_affine(&t, &t, i ? &neg : &g);
        g1_to_affine(&proofs[i].c, &t);
    }
    assert_int_equal(groth16_verify_batch(vk, proofs, inputs, 3, BATCH, workers, &err), CUZK_FALSE);
    case_free(&c);
}

/* Proofs of one key under another of the same circuit. */
static void another_key(void **state) {
    (void)state;
    chain_circuit chain = {30, 3, 5};
    groth16_case a, b;
    groth16_proof proof;
    witness w;
    fr x;
    fr_from_u64(&x, 2);
    OK(case_make(&a, folder, "key-a", chain_run, &chain, &x, NULL, workers, &err));
    OK(case_make(&b, folder, "key-b", chain_run, &chain, &x, NULL, workers, &err));
    OK(case_prove(&a, NULL, NULL, NULL, &proof, workers, NULL, &err));
    OK(witness_write(&w, a.shape, chain_run, &chain, &x, &err));
    OK(groth16_verify(&a.key.vk, &proof, w.inputs + 1, 3, &err));
    assert_int_equal(groth16_verify(&b.key.vk, &proof, w.inputs + 1, 3, &err), CUZK_FALSE);
    witness_free(&w);
    case_free(&a);
    case_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_references_bad_proofs),
        cmocka_unit_test(the_references_bad_keys),
        cmocka_unit_test(keys_read_and_written),
        cmocka_unit_test(batches),
        cmocka_unit_test(another_key),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    workers = pool_create(3, &err);
    if (!workers) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(workers);
    case_folder_remove(folder);
    return failed;
}
