/* Jobs through the engine on the CPU: proofs, identity, cancelling, deadlines, refusals, memory given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "base/file.h"
#include "engine/engine_case.h"
#include "engine/view.h"
#include "ref/groth16_case.h"

static char folder[256];
static cuzk_engine *engine;

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

static void open_engine(void) {
    cuzk_engine_options o = engine_case_options();
    engine = engine_case_start(&o, NULL, 0, NULL);
}

static void close_engine(double drain) {
    cuzk_engine_stop(engine, drain);
    engine = NULL;
}

static void submit_toy(const char *id, uint64_t bytes, unsigned partitions, uint64_t start, unsigned witness_ms) {
    char *request = toy_request(bytes, partitions, start, -1, witness_ms);
    cuzk_submission s = engine_case_toy(id, request);
    engine_case_submit(engine, &s, false);
    free(request);
}

/* ---- proofs ---- */

static void one_job(void **state) {
    (void)state;
    open_engine();
    submit_toy("one", 1024, 1, 5, 0);
    engine_case_expect(engine, "one", CUZK_JOB_COMPLETED, 1024, 1, 5);
    close_engine(0);
}

static void many_partitions(void **state) {
    (void)state;
    open_engine();
    submit_toy("many", 1024, 7, 100, 0);
    submit_toy("other", 2048, 3, 9, 0);
    engine_case_expect(engine, "many", CUZK_JOB_COMPLETED, 1024, 7, 100);
    engine_case_expect(engine, "other", CUZK_JOB_COMPLETED, 2048, 3, 9);
    close_engine(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_job),
        cmocka_unit_test(many_partitions),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
