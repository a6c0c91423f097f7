/* Development keys: the reference's bytes for the same trapdoor, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "ref/groth16_case.h"

static cuzk_error err;
static pool *workers;
static char folder[256];

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

static void paths(const char *name, char params[512], char vk[512]) {
    char file[128];
    snprintf(file, sizeof file, "%s.params", name);
    for (char *c = file; *c; c++) *c = *c == '/' ? '-' : *c;
    case_path(params, folder, file);
    snprintf(vk, 512, "%.500s.vk", params);
}

static void same_file(const char *a, const char *b) {
    size_t n, m;
    uint8_t *x = case_read(a, &n), *y = case_read(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* With every variable a field element, and with bits as bits: the key may not depend on it. */
static void the_references_bytes(void **state) {
    (void)state;
    ntt_root root = ntt_root_bellman();
    for (unsigned i = 0; i < tiny_count; i++) {
        for (int bits = 0; bits < 2; bits++) {
            tiny_circuit *t = tiny_load(tiny_names[i], false, bits);
            const json_node *set = tiny_json(t, "set.json");
            char golden[600], params[512], vk[512], hex[65], name[64];
            shape *s;
            trapdoor trap;
            setup_result made;
            snprintf(golden, sizeof golden, "%s/set.json", t->folder);
            OK(trapdoor_read(&trap, golden, &err));
            OK(shape_record(&s, tiny_run, t, NULL, &err));
            snprintf(name, sizeof name, "%s-%d", tiny_names[i], bits);
            paths(name, params, vk);
            uint64_t before = buffer_total_stats().live_bytes;
            buffer_reset_peaks();
            OK(groth16_setup(s, &trap, &root, params, vk, &made, workers, NULL, &err));
            assert_true(buffer_class_stats(BUFFER_SETUP).peak_bytes <= setup_bytes(s, pool_threads(workers)));
            assert_int_equal(buffer_total_stats().live_bytes, before);
            assert_int_equal(made.params_bytes, tiny_u64(set, "params_bytes"));
            text_hex(hex, made.params_sha256, 32);
            assert_string_equal(hex, tiny_member(set, "params_sha256")->text);
            snprintf(golden, sizeof golden, "%s/vk.bin", t->folder);
            same_file(golden, vk);
            snprintf(golden, sizeof golden, "%s/params.bin", t->folder);
            if (access(golden, R_OK) == 0) same_file(golden, params);
            char marker[600];
            snprintf(marker, sizeof marker, "%s.development", params);
            assert_int_equal(access(marker, R_OK), 0);
            shape_destroy(s);
            tiny_free(t);
        }
    }
}

/* No pool: the caller alone makes the same bytes. */
static void one_thread(void **state) {
    (void)state;
    ntt_root root = ntt_root_bellman();
    tiny_circuit *t = tiny_load("mimc-322", false, false);
    char golden[600], params[512], vk[512];
    shape *s;
    trapdoor trap;
    setup_result made;
    snprintf(golden, sizeof golden, "%s/set.json", t->folder);
    OK(trapdoor_read(&trap, golden, &err));
    OK(shape_record(&s, tiny_run, t, NULL, &err));
    paths("alone", params, vk);
    OK(groth16_setup(s, &trap, &root, params, vk, &made, NULL, NULL, &err));
    snprintf(golden, sizeof golden, "%s/params.bin", t->folder);
    same_file(golden, params);
    shape_destroy(s);
    tiny_free(t);
}

static cuzk_status try_setup(const char *circuit, const trapdoor *trap, const char *name) {
    ntt_root root = ntt_root_bellman();
    tiny_circuit *t = tiny_load(circuit, false, false);
    char params[512], vk[512], marker[600];
    shape *s;
    setup_result made;
    OK(shape_record(&s, tiny_run, t, NULL, &err));
    paths(name, params, vk);
    uint64_t before = buffer_total_stats().live_bytes;
    cuzk_status st = groth16_setup(s, trap, &root, params, vk, &made, workers, NULL, &err);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    if (st != CUZK_OK) {
        snprintf(marker, sizeof marker, "%s.development", params);
        assert_int_not_equal(access(params, F_OK), 0);
        assert_int_not_equal(access(vk, F_OK), 0);
        assert_int_not_equal(access(marker, F_OK), 0);
    }
    shape_destroy(s);
    tiny_free(t);
    return st;
}

static void bad_trapdoors(void **state) {
    (void)state;
    trapdoor good;
    OK(trapdoor_random(&good, &err));
    for (int i = 0; i < 5; i++) {
        trapdoor t = good;
        fr *part[] = {&t.alpha, &t.beta, &t.gamma, &t.delta, &t.tau};
        static const char *const names[] = {"alpha", "beta", "gamma", "delta", "tau"};
        fr_set_zero(part[i]);
        assert_int_equal(try_setup("cube", &t, "bad"), CUZK_MALFORMED);
        assert_non_null(strstr(err.what, names[i]));
    }
    /* Every point of the cube's domain of eight. */
    trapdoor t = good;
    fr w = ntt_root_bellman().omega_2_32;
    for (int i = 0; i < 29; i++) fr_sqr(&w, &w);
    fr_set_one(&t.tau);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(try_setup("cube", &t, "bad"), CUZK_MALFORMED);
        assert_non_null(strstr(err.what, "domain"));
        fr_mul(&t.tau, &t.tau, &w);
    }
    assert_true(fr_is_one(&t.tau));
}

static void unconstrained_variables(void **state) {
    (void)state;
    static const char *const names[] = {"refused/unconstrained-aux", "refused/zero-coefficient-aux",
                                        "refused/cancelled-aux"};
    trapdoor t;
    OK(trapdoor_random(&t, &err));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(try_setup(names[i], &t, "unconstrained"), CUZK_MALFORMED);
        assert_string_equal(err.what, "auxiliary variable 3 is unconstrained");
    }
}

/* u_1 of this circuit at tau is tau's own value: x in rows 0 and 1 with coefficients that cancel at one tau. */
static void vanish(cs *c, const void *params, const void *instance) {
    (void)instance;
    cs_var x = cs_alloc(c, NULL), y = cs_alloc(c, NULL);
    for (int i = 0; c->structure && i < 2; i++) {
        cs_lc a, b, out;
        cs_lc_init(&a);
        cs_lc_init(&b);
        cs_lc_init(&out);
        cs_lc_add(c, &a, (const fr *)params + i, x);
        cs_lc_add_one(c, &b, y);
        cs_lc_add_one(c, &out, x);
        cs_enforce(c, &a, &b, &out);
    }
}

/* A variable that is in A but whose polynomial is zero at tau would be taken for an absent one. */
static void vanishing_variable(void **state) {
    (void)state;
    trapdoor t;
    OK(trapdoor_random(&t, &err));
    /* L_0(tau) : L_1(tau) = 1/(tau - 1) : w/(tau - w) on the domain of four; coefficients w (tau - 1) and w - tau. */
    fr k[2], one, w = ntt_root_bellman().omega_2_32;
    for (int i = 0; i < 30; i++) fr_sqr(&w, &w);
    fr_set_one(&one);
    fr_sub(&k[0], &t.tau, &one);
    fr_mul(&k[0], &k[0], &w);
    fr_sub(&k[1], &w, &t.tau);
    shape *s;
    setup_result made;
    ntt_root root = ntt_root_bellman();
    char params[512], vk[512];
    paths("vanish", params, vk);
    OK(shape_record(&s, vanish, k, NULL, &err));
    assert_int_equal(shape_domain_log2(s), 2);
    assert_int_equal(groth16_setup(s, &t, &root, params, vk, &made, workers, NULL, &err), CUZK_MALFORMED);
    assert_non_null(strstr(err.what, "section a"));
    fr_add(&t.tau, &t.tau, &one);
    OK(groth16_setup(s, &t, &root, params, vk, &made, workers, NULL, &err));
    shape_destroy(s);
}

static void never_over_a_file(void **state) {
    (void)state;
    trapdoor t;
    OK(trapdoor_random(&t, &err));
    OK(try_setup("cube", &t, "there"));
    char params[512], vk[512], keep[600];
    paths("there", params, vk);
    snprintf(keep, sizeof keep, "%s.keep", params);
    assert_int_equal(link(params, keep), 0);
    ntt_root root = ntt_root_bellman();
    tiny_circuit *c = tiny_load("cube", false, false);
    shape *s;
    setup_result made;
    OK(shape_record(&s, tiny_run, c, NULL, &err));
    assert_int_equal(groth16_setup(s, &t, &root, params, vk, &made, workers, NULL, &err), CUZK_USAGE);
    assert_non_null(strstr(err.where, params));
    same_file(params, keep);
    assert_int_equal(unlink(params), 0); /* the verifying key alone is in the way, too */
    assert_int_equal(groth16_setup(s, &t, &root, params, vk, &made, workers, NULL, &err), CUZK_USAGE);
    assert_non_null(strstr(err.where, vk));
    shape_destroy(s);
    tiny_free(c);
}

static void damaged_trapdoor_files(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"trapdoor\":3}",
        "{\"trapdoor\":{\"alpha\":\"00\"}}",
        "{\"trapdoor\":{\"alpha\":\"73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001\"}}"};
    char path[512];
    trapdoor t;
    case_path(path, folder, "trapdoor.json");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        OK(file_write_all(path, bad[i], strlen(bad[i]), false, &err));
        assert_int_equal(trapdoor_read(&t, path, &err), CUZK_MALFORMED);
        assert_non_null(strstr(err.where, "trapdoor.json"));
    }
    case_path(path, folder, "none.json");
    assert_int_equal(trapdoor_read(&t, path, &err), CUZK_IO);
}

static atomic_int cancel_flag;
static void cancel_at(void *user, const char *stage, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    if (strcmp(stage, user) == 0) atomic_store(&cancel_flag, 1);
}

static void cancelled_in_every_stage(void **state) {
    (void)state;
    static char stages[][24] = {
        "key: Lagrange values", "key: columns", "key: ic", "key: h", "key: l", "key: a", "key: b_g1", "key: b_g2"};
    tiny_circuit *c = tiny_load("bits-heavy", false, true);
    ntt_root root = ntt_root_bellman();
    shape *s;
    trapdoor t;
    setup_result made;
    char params[512], vk[512];
    unsigned cancelled = 0;
    OK(trapdoor_random(&t, &err));
    OK(shape_record(&s, tiny_run, c, NULL, &err));
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        cuzk_control control = {&cancel_flag, cancel_at, stages[i]};
        uint64_t before = buffer_total_stats().live_bytes;
        char name[32];
        snprintf(name, sizeof name, "cancel-%zu", i);
        paths(name, params, vk);
        atomic_store(&cancel_flag, 0);
        cuzk_status st = groth16_setup(s, &t, &root, params, vk, &made, workers, &control, &err);
        assert_int_equal(atomic_load(&cancel_flag), 1);
        assert_int_equal(buffer_total_stats().live_bytes, before);
        if (st == CUZK_OK) continue; /* the flag came with the last tile of the last stage */
        assert_int_equal(st, CUZK_CANCELLED);
        assert_int_not_equal(access(params, F_OK), 0);
        assert_int_not_equal(access(vk, F_OK), 0);
        cancelled++;
    }
    assert_true(cancelled >= sizeof stages / sizeof *stages - 1);
    shape_destroy(s);
    tiny_free(c);
}

static int begin(void **state) {
    (void)state;
    case_folder_make(folder);
    workers = pool_create(3, &err);
    return workers ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    pool_destroy(workers);
    case_folder_remove(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_references_bytes),   cmocka_unit_test(one_thread),
        cmocka_unit_test(bad_trapdoors),          cmocka_unit_test(unconstrained_variables),
        cmocka_unit_test(vanishing_variable),     cmocka_unit_test(never_over_a_file),
        cmocka_unit_test(damaged_trapdoor_files), cmocka_unit_test(cancelled_in_every_stage),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
