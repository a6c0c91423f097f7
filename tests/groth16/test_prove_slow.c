/* Tens of thousands of public inputs: key, proof and verification, with time that grows as they do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "base/log.h"
#include "ref/groth16_case.h"

static cuzk_error err;
static pool *workers;
static char folder[256];

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

/* Seconds of everything. */
static double many(uint32_t publics) {
    chain_circuit chain = {publics, publics, 0};
    groth16_case c;
    groth16_proof proof;
    witness w;
    char name[64];
    fr x, one;
    double start = cpu_monotonic_seconds();
    fr_from_u64(&x, 5);
    fr_set_one(&one);
    snprintf(name, sizeof name, "public-%u", publics);
    OK(case_make(&c, folder, name, chain_run, &chain, &x, NULL, workers, &err));
    OK(case_prove(&c, NULL, NULL, NULL, &proof, workers, NULL, &err));
    OK(witness_write(&w, c.shape, chain_run, &chain, &x, &err));
    OK(groth16_verify(&c.key.vk, &proof, w.inputs + 1, publics, &err));
    fr_add(&w.inputs[publics], &w.inputs[publics], &one);
    assert_int_equal(groth16_verify(&c.key.vk, &proof, w.inputs + 1, publics, &err), CUZK_FALSE);
    assert_int_equal(groth16_verify(&c.key.vk, &proof, w.inputs + 1, publics - 1, &err), CUZK_USAGE);
    witness_free(&w);
    case_free(&c);
    return cpu_monotonic_seconds() - start;
}

static void fifty_thousand(void **state) {
    (void)state;
    many(10);
    double thousand = many(1000), all = many(50000);
    print_message("1,000 public inputs: %.2f s, 50,000: %.2f s\n", thousand, all);
    assert_true(all < 200 * thousand);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fifty_thousand)};
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    workers = pool_create(2, &err);
    if (!workers) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(workers);
    case_folder_remove(folder);
    return failed;
}
