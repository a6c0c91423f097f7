/* Proofs on the CPU: the reference's bytes and sums, edges, faults, threads, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "backend/cpu/cpu.h"
#include "base/log.h"
#include "base/text.h"
#include "ref/groth16_case.h"
#include "ref/sanitized.h"

static cuzk_error err;
static pool *workers;
static char folder[256];

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

/* A known circuit with its key, made by ourselves from the known trapdoor (test_setup compares its bytes). */
typedef struct tiny_case {
    tiny_circuit *t;
    groth16_case c;
} tiny_case;

static void tiny_open(tiny_case *k, const char *name, bool bits) {
    static unsigned serial;
    char set[600], file[64];
    trapdoor trap;
    k->t = tiny_load(name, false, bits);
    snprintf(set, sizeof set, "%s/set.json", k->t->folder);
    OK(trapdoor_read(&trap, set, &err));
    snprintf(file, sizeof file, "tiny-%u", serial++);
    OK(case_make(&k->c, folder, file, tiny_run, k->t, k->t, &trap, workers, &err));
}

static void tiny_close(tiny_case *k) {
    case_free(&k->c);
    tiny_free(k->t);
}

/* Public inputs of the circuit's own witness. */
static const fr *inputs_of(const tiny_case *k) {
    return k->t->inputs + 1;
}

/* With CUZK_TEST_KEEP, proofs are left there for outside verifiers: NAME.vk, NAME.proof, NAME.inputs. */
static void keep(const char *name, const groth16_case *c, const uint8_t proof[PROOF_BYTES], const fr *inputs,
                 size_t n) {
    const char *to = getenv("CUZK_TEST_KEEP");
    char path[700];
    if (!to) return;
    size_t len;
    uint8_t *vk = case_read(c->vk_path, &len);
    snprintf(path, sizeof path, "%s/%s.vk", to, name);
    OK(file_write_all(path, vk, len, false, &err));
    free(vk);
    snprintf(path, sizeof path, "%s/%s.proof", to, name);
    OK(file_write_all(path, proof, PROOF_BYTES, false, &err));
    char *text = calloc(n + 1, 65);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[32];
        fr_to_be_bytes(bytes, &inputs[i]);
        text_hex(text + 65 * i, bytes, 32);
        text[65 * i + 64] = '\n';
    }
    snprintf(path, sizeof path, "%s/%s.inputs", to, name);
    OK(file_write_all(path, text, 65 * n, false, &err));
    free(text);
}

static void assert_proof_file(const tiny_case *k, const char *file, const groth16_proof *proof) {
    char path[600];
    uint8_t ours[PROOF_BYTES];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", k->t->folder, file);
    uint8_t *theirs = case_read(path, &n);
    proof_write(proof, ours);
    assert_int_equal(n, PROOF_BYTES);
    assert_memory_equal(ours, theirs, PROOF_BYTES);
    free(theirs);
}

static void the_references_proofs(void **state) {
    (void)state;
    fr zero;
    fr_set_zero(&zero);
    for (unsigned i = 0; i < tiny_count; i++) {
        for (int bits = 0; bits < (TEST_SANITIZED ? 1 : 2); bits++) {
            tiny_case k;
            groth16_proof proof;
            uint8_t bytes[PROOF_BYTES];
            char path[600];
            size_t n;
            tiny_open(&k, tiny_names[i], bits);
            const json_node *set = tiny_proof(k.t);
            fr r = case_hex(set, "r"), s = case_hex(set, "s");
            uint64_t live = case_live_bytes();
            OK(case_prove(&k.c, NULL, &r, &s, &proof, workers, NULL, &err));
            assert_proof_file(&k, "proof-0.bin", &proof);
            OK(case_prove(&k.c, NULL, &r, &s, &proof, NULL, NULL, &err)); /* the caller alone */
            assert_proof_file(&k, "proof-0.bin", &proof);
            OK(case_prove(&k.c, NULL, &zero, &zero, &proof, workers, NULL, &err));
            assert_proof_file(&k, "proof-0-rs0.bin", &proof);
            OK(case_prove(&k.c, NULL, NULL, NULL, &proof, workers, NULL, &err)); /* random: verified inside */
            proof_write(&proof, bytes);
            OK(proof_read(&proof, bytes, &err));
            OK(groth16_verify(&k.c.key.vk, &proof, inputs_of(&k), k.t->n_inputs - 1, &err));
            if (!bits) keep(tiny_names[i], &k.c, bytes, inputs_of(&k), k.t->n_inputs - 1);
            assert_int_equal(case_live_bytes(), live);
            /* The reference's own random proof. */
            snprintf(path, sizeof path, "%s/proof-0-random.bin", k.t->folder);
            uint8_t *theirs = case_read(path, &n);
            OK(proof_read(&proof, theirs, &err));
            OK(groth16_verify(&k.c.key.vk, &proof, inputs_of(&k), k.t->n_inputs - 1, &err));
            free(theirs);
            tiny_close(&k);
        }
    }
}

static void assert_g1(const json_node *msm, const char *name, const char *more, const g1 *sum) {
    uint8_t bytes[48];
    g1_affine a;
    g1 theirs, t;
    g1_set_infinity(&theirs);
    for (int i = 0; i < 2; i++) {
        const char *key = i ? more : name;
        if (!key) break;
        const json_node *n = tiny_member(msm, key);
        assert_true(text_unhex(bytes, 48, n->text, n->len));
        assert_int_equal(g1_decode_compressed(&a, bytes, SUBGROUP_CHECK), POINT_OK);
        g1_from_affine(&t, &a);
        g1_add(&theirs, &theirs, &t);
    }
    assert_true(g1_eq(&theirs, sum));
}

static void assert_g2(const json_node *msm, const char *name, const char *more, const g2 *sum) {
    uint8_t bytes[96];
    g2_affine a;
    g2 theirs, t;
    g2_set_infinity(&theirs);
    for (int i = 0; i < 2; i++) {
        const json_node *n = tiny_member(msm, i ? more : name);
        assert_true(text_unhex(bytes, 96, n->text, n->len));
        assert_int_equal(g2_decode_compressed(&a, bytes, SUBGROUP_CHECK), POINT_OK);
        g2_from_affine(&t, &a);
        g2_add(&theirs, &theirs, &t);
    }
    assert_true(g2_eq(&theirs, sum));
}

static void the_references_sums(void **state) {
    (void)state;
    for (unsigned i = 0; i < tiny_count; i++) {
        tiny_case k;
        witness w;
        pending_proof *pending;
        tiny_open(&k, tiny_names[i], true);
        const json_node *msm = tiny_member(tiny_json(k.t, "debug.json"), "msm");
        OK(witness_write(&w, k.c.shape, tiny_run, k.t, k.t, &err));
        prove_request q = {.key = &k.c.key, .shape = k.c.shape, .witness = &w};
        OK(backend_cpu()->prove_start(0, &pending, &q, workers, NULL, &err));
        assert_null(w.memory.data);
        assert_g1(msm, "h", NULL, &pending->sums.h);
        assert_g1(msm, "l", NULL, &pending->sums.l);
        assert_g1(msm, "a_inputs", "a_aux", &pending->sums.a);
        assert_g1(msm, "b_g1_inputs", "b_g1_aux", &pending->sums.b_g1);
        assert_g2(msm, "b_g2_inputs", "b_g2_aux", &pending->sums.b_g2);
        backend_cpu()->prove_abandon(pending);
        backend_cpu()->prove_abandon(NULL);
        tiny_close(&k);
    }
}

static void unsatisfied(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *row;
    } cases[] = {{"refused/unsatisfied", "constraint 0"}, {"refused/unsatisfied-input", "constraint 2"}};
    tiny_case k;
    tiny_open(&k, "cube", false);
    for (size_t i = 0; i < 2; i++) {
        tiny_circuit *bad = tiny_load(cases[i].name, false, false);
        groth16_proof proof;
        uint64_t live = case_live_bytes();
        assert_int_equal(case_prove(&k.c, bad, NULL, NULL, &proof, workers, NULL, &err), CUZK_UNSATISFIED);
        assert_int_equal(strncmp(err.where, cases[i].row, strlen(cases[i].row)), 0);
        assert_int_equal(case_live_bytes(), live);
        tiny_free(bad);
    }
    tiny_close(&k);
}

/* Every value wrong in turn: the first constraint that sees it is named. */
static void each_wrong_value_is_found(void **state) {
    (void)state;
    chain_circuit chain = {40, 3, 8};
    groth16_case c;
    fr x;
    fr_from_u64(&x, 3);
    OK(case_make(&c, folder, "wrong", chain_run, &chain, &x, NULL, workers, &err));
    witness good;
    OK(witness_write(&good, c.shape, chain_run, &chain, &x, &err));
    uint64_t n_fields = good.n_fields, places = good.n_fields + good.n_inputs;
    witness_free(&good);
    for (uint64_t i = 0; i < places; i++) {
        bool one = i == n_fields;
        witness w;
        pending_proof *pending;
        uint64_t bad;
        OK(witness_write(&w, c.shape, chain_run, &chain, &x, &err));
        fr *v = i < w.n_fields ? &w.fields[i] : &w.inputs[i - w.n_fields];
        fr_add(v, v, &x);
        OK(witness_check(&w, c.shape, &bad, workers, NULL, &err));
        assert_int_equal(bad == UINT64_MAX, one); /* no row's business: evaluation takes ONE for granted */
        prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w};
        assert_int_equal(backend_cpu()->prove_start(0, &pending, &q, workers, NULL, &err), CUZK_UNSATISFIED);
        char where[64];
        snprintf(where, sizeof where, "constraint %llu of 40", (unsigned long long)bad);
        assert_string_equal(one ? "" : where, err.where);
        assert_null(w.memory.data);
    }
    case_free(&c);
}

/* ---- edges ---- */

static void edge(uint64_t constraints, uint32_t publics, uint32_t bits) {
    chain_circuit chain = {constraints, publics, bits};
    groth16_case c;
    char name[64];
    static unsigned serial;
    snprintf(name, sizeof name, "edge-%u", serial++);
    fr x[4];
    fr_from_u64(&x[0], 5);
    fr_set_zero(&x[1]);
    fr_set_one(&x[2]);
    fr_neg(&x[3], &x[2]);
    OK(case_make(&c, folder, name, chain_run, &chain, &x[0], NULL, workers, &err));
    assert_int_equal(shape_rows(c.shape), constraints + publics + 1);
    for (int i = 0; i < 4; i++) {
        groth16_proof proof;
        witness w;
        uint8_t bytes[PROOF_BYTES];
        OK(case_prove(&c, &x[i], NULL, NULL, &proof, workers, NULL, &err));
        proof_write(&proof, bytes);
        OK(proof_read(&proof, bytes, &err));
        OK(witness_write(&w, c.shape, chain_run, &chain, &x[i], &err));
        OK(groth16_verify(&c.key.vk, &proof, w.inputs + 1, publics, &err));
        if (publics && i == 0) {
            keep(name, &c, bytes, w.inputs + 1, publics);
            fr_add(&w.inputs[publics], &w.inputs[publics], &x[2]);
            assert_int_equal(groth16_verify(&c.key.vk, &proof, w.inputs + 1, publics, &err), CUZK_FALSE);
        }
        witness_free(&w);
    }
    case_free(&c);
}

static void one_to_nine_constraints(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 9; n++) {
        edge(n, 0, 0);
        edge(n, 1, n > 2 ? (uint32_t)n - 2 : 0);
    }
}

static void at_the_edges_of_domains(void **state) {
    (void)state;
    for (unsigned k = 2; k <= (TEST_SANITIZED ? 5 : 10); k++) {
        for (int d = -1; d <= 1; d++) {
            uint64_t rows = (uint64_t)((1 << k) + d);
            if (rows >= 3) edge(rows - 2, 1, rows > 20 ? (uint32_t)rows / 2 : 0);
        }
    }
}

static void a_thousand_public_inputs(void **state) {
    (void)state;
    edge(1000, 1000, 0);
    edge(1100, 1000, 64);
}

/* ---- keys that do not belong ---- */

static void the_key_of_another_trapdoor(void **state) {
    (void)state;
    chain_circuit chain = {20, 1, 4};
    groth16_case a, b;
    groth16_proof proof;
    fr x;
    size_t n, m;
    fr_from_u64(&x, 7);
    OK(case_make(&a, folder, "mine", chain_run, &chain, &x, NULL, workers, &err));
    OK(case_make(&b, folder, "other", chain_run, &chain, &x, NULL, workers, &err));
    /* The queries of one behind the verifying key of the other. */
    uint8_t *mine = case_read(a.params_path, &n), *other = case_read(b.params_path, &m);
    assert_int_equal(n, m);
    memcpy(mine, other, verifying_key_bytes(&b.key.vk));
    char path[512];
    case_path(path, folder, "mixed.params");
    OK(file_write_all(path, mine, n, true, &err));
    proving_key_close(&a.key);
    OK(proving_key_open(&a.key, path, KEY_CHECK_FULL, workers, NULL, &err));
    uint64_t live = case_live_bytes();
    memset(&proof, 0x55, sizeof proof);
    groth16_proof before = proof;
    assert_int_equal(case_prove(&a, NULL, NULL, NULL, &proof, workers, NULL, &err), CUZK_INTERNAL);
    assert_memory_equal(&proof, &before, sizeof proof);
    assert_int_equal(case_live_bytes(), live);
    free(mine);
    free(other);
    case_free(&a);
    case_free(&b);
}

static void the_key_of_another_circuit(void **state) {
    (void)state;
    chain_circuit small = {20, 1, 4}, large = {21, 1, 4}, wide = {20, 2, 4};
    groth16_case a, b, c;
    groth16_proof proof;
    fr x;
    fr_from_u64(&x, 7);
    OK(case_make(&a, folder, "small", chain_run, &small, &x, NULL, workers, &err));
    OK(case_make(&b, folder, "large", chain_run, &large, &x, NULL, workers, &err));
    OK(case_make(&c, folder, "wide", chain_run, &wide, &x, NULL, workers, &err));
    assert_int_equal(proving_key_fits(&a.key, b.shape, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.what, "section l"));
    assert_int_equal(proving_key_fits(&a.key, c.shape, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.what, "section ic"));
    proving_key k = b.key;
    b.key = a.key;
    assert_int_equal(case_prove(&b, NULL, NULL, NULL, &proof, workers, NULL, &err), CUZK_FOREIGN);
    b.key = k;
    /* A witness of another circuit. */
    witness w;
    pending_proof *pending;
    OK(witness_write(&w, b.shape, chain_run, &large, &x, &err));
    prove_request q = {.key = &a.key, .shape = a.shape, .witness = &w};
    assert_int_equal(backend_cpu()->prove_start(0, &pending, &q, workers, NULL, &err), CUZK_FOREIGN);
    assert_non_null(strstr(err.expected, "auxiliary variables"));
    assert_null(w.memory.data);
    case_free(&a);
    case_free(&b);
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_references_proofs),
        cmocka_unit_test(the_references_sums),
        cmocka_unit_test(unsatisfied),
        cmocka_unit_test(each_wrong_value_is_found),
        cmocka_unit_test(one_to_nine_constraints),
        cmocka_unit_test(at_the_edges_of_domains),
        cmocka_unit_test(a_thousand_public_inputs),
        cmocka_unit_test(the_key_of_another_trapdoor),
        cmocka_unit_test(the_key_of_another_circuit),
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
