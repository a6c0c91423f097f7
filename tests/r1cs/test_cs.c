/* Linear combinations, paths, faults, and interpreters' answers on circuits small enough to be written down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/random.h"
#include "r1cs/interpreter.h"
#include "r1cs/witness.h"

static cuzk_error err;

#define OK(call) assert_string_equal(cuzk_status_name(call), "CUZK_OK")

static const cs_ops idle_ops = {interpreter_alloc,       interpreter_alloc_bits, interpreter_input, NULL,
                                interpreter_block_begin, interpreter_block_end};

static fr small(uint64_t v) {
    fr r;
    fr_from_u64(&r, v);
    return r;
}

static void assert_term(const cs_term *t, uint64_t coeff, cs_var var) {
    fr k = small(coeff);
    assert_int_equal(t->var, var);
    assert_true(fr_eq(&t->coeff, &k));
}

static void test_merge(void **state) {
    (void)state;
    cs c;
    cs_lc lc;
    fr minus;
    OK(interpreter_start(&c, &idle_ops, false, true, &err));
    cs_lc_init(&lc);
    cs_lc_merge(&lc);
    assert_int_equal(lc.len, 0);
    cs_lc_add_u64(&c, &lc, 5, 7);
    cs_lc_add_one(&c, &lc, CS_INPUT | 3);
    cs_lc_add_one(&c, &lc, 2);
    cs_lc_add_u64(&c, &lc, 2, CS_ONE);
    cs_lc_add_u64(&c, &lc, 4, 7);
    cs_lc_sub_one(&c, &lc, 2);
    cs_lc_add_u64(&c, &lc, 0, 1);
    cs_lc_merge(&lc);
    assert_int_equal(lc.len, 3);
    assert_term(&lc.terms[0], 2, CS_ONE);
    assert_term(&lc.terms[1], 1, CS_INPUT | 3);
    assert_term(&lc.terms[2], 9, 7);

    cs_lc twice;
    cs_lc_init(&twice);
    fr k = small(10);
    cs_lc_add_scaled(&c, &twice, &k, &lc);
    cs_lc_sub_one(&c, &lc, 9);
    cs_lc_add_scaled(&c, &twice, &k, &lc);
    cs_lc_merge(&twice);
    assert_int_equal(twice.len, 4);
    assert_term(&twice.terms[0], 40, CS_ONE);
    assert_term(&twice.terms[1], 20, CS_INPUT | 3);
    assert_term(&twice.terms[2], 180, 7);
    minus = small(10);
    fr_neg(&minus, &minus);
    assert_true(fr_eq(&twice.terms[3].coeff, &minus));
    /* A combination added to itself. */
    fr_set_one(&k);
    cs_lc_add_scaled(&c, &twice, &k, &twice);
    cs_lc_merge(&twice);
    assert_int_equal(twice.len, 4);
    assert_term(&twice.terms[2], 360, 7);
    OK(interpreter_end(&c));
}

/* Both normal forms against sums kept per variable, for lengths on both sides of every switch of method. */
static void test_normal_random(void **state) {
    (void)state;
    static const uint32_t lengths[] = {1, 2, 3, 23, 24, 25, 47, 48, 49, 50, 200, 2000, 9000};
    enum { VARS = 4096 };
    uint64_t seed = 0;
    OK(random_bytes(&seed, sizeof seed, &err));
    print_message("seed %llu\n", (unsigned long long)seed);
    srand48((long)seed);
    fr *sums = calloc(2 * VARS, sizeof *sums);
    lc_sorter sorter = {0};
    cs c;
    OK(interpreter_start(&c, &idle_ops, false, true, &err));
    for (int round = 0; round < 20; round++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            cs_lc lc;
            uint32_t vars = round % 4 == 0 ? VARS : 1 + (uint32_t)lrand48() % VARS, spread = round % 2 == 0 ? 1 : 70001;
            memset(sums, 0, 2 * VARS * sizeof *sums);
            cs_lc_init(&lc);
            for (uint32_t i = 0; i < lengths[l]; i++) {
                uint32_t v = (uint32_t)lrand48() % vars;
                bool input = lrand48() % 4 == 0;
                fr k = small((uint64_t)lrand48() % 3);
                if (lrand48() % 2 == 0) fr_neg(&k, &k);
                cs_lc_add(&c, &lc, &k, input ? CS_INPUT | v * spread : v * spread);
                fr *sum = &sums[input ? v : VARS + v];
                fr_add(sum, sum, &k);
            }
            lc_normal n = lc_sorter_run(&sorter, &c, &lc);
            uint32_t at = 0;
            for (uint32_t v = 0; v < 2 * VARS; v++) {
                if (fr_is_zero(&sums[v])) continue;
                assert_true(at < n.len);
                assert_int_equal(n.terms[at].var, v < VARS ? CS_INPUT | v * spread : (v - VARS) * spread);
                assert_true(fr_eq(&n.terms[at].coeff, &sums[v]));
                at++;
            }
            assert_int_equal(n.len, at);
            cs_term *kept = malloc((n.len + 1) * sizeof *kept);
            memcpy(kept, n.terms, n.len * sizeof *kept);
            cs_lc_merge(&lc);
            assert_int_equal(lc.len, at);
            for (uint32_t i = 0; i < at; i++) {
                assert_int_equal(lc.terms[i].var, kept[i].var);
                assert_true(fr_eq(&lc.terms[i].coeff, &kept[i].coeff));
            }
            free(kept);
        }
    }
    OK(interpreter_end(&c));
    lc_sorter_free(&sorter);
    free(sums);
}

static void test_path(void **state) {
    (void)state;
    cs c = {0};
    char text[64], tight[8];
    cs_path_text(&c, text, sizeof text);
    assert_string_equal(text, "");
    cs_push(&c, "challenge", 3);
    cs_push(&c, "sha256", UINT32_MAX);
    cs_path_text(&c, text, sizeof text);
    assert_string_equal(text, "challenge 3 / sha256");
    cs_path_text(&c, tight, sizeof tight);
    assert_string_equal(tight, "challen");
    for (int i = 0; i < 100; i++) cs_push(&c, "deep", 0);
    for (int i = 0; i < 100; i++) cs_pop(&c);
    cs_pop(&c);
    cs_path_text(&c, text, sizeof text);
    assert_string_equal(text, "challenge 3");
}

/* ---- circuits that do what they must not ---- */

typedef enum {
    GOOD,
    MISSING_VARIABLE,
    OTHER_BLOCK,
    EPILOGUE_USES_BLOCK,
    BETWEEN,
    PARAMS_NOT_ASCENDING,
    PARAMS_OF_BLOCK,
    PARAMS_ALSO_NAMED,
    PARAMS_FEWER,
    PARAMS_TOO_MANY,
    BLOCK_ORDER,
    UNFINISHED,
    NO_BEGIN,
    FAULT,
    TOO_MANY,
    MORE_BITS,    /* with values only */
    OTHER_KIND,   /* with values only */
    MORE_INPUTS,  /* with values only */
    FEWER_VALUES, /* with values only */
    UNEVEN_BLOCK, /* with values only */
} misdeed;

static void square(cs *c, cs_var v, cs_var is) {
    cs_lc a, b;
    arena_mark m = cs_save(c);
    if (!c->structure) return;
    cs_lc_init(&a);
    cs_lc_init(&b);
    cs_lc_add_one(c, &a, v);
    cs_lc_add_one(c, &b, is);
    cs_enforce(c, &a, &a, &b);
    cs_release(c, m);
}

static void block(cs *c, const misdeed *what, uint32_t i, cs_var *first) {
    bool value = c->values;
    fr v = small(9), root = small(3);
    cs_var x = cs_alloc(c, &root), y = cs_alloc(c, &v);
    if (*what == OTHER_KIND && value) cs_alloc(c, &root);
    cs_alloc_bits(c, *what == MORE_BITS && value ? 64 : *what == FEWER_VALUES && value ? 3 : 4, 5);
    if (*what == UNEVEN_BLOCK && value) cs_alloc_bit(c, true);
    if (i == 0) *first = x;
    square(c, *what == OTHER_BLOCK ? x + 100 : x, y);
    if (*what == PARAMS_ALSO_NAMED) square(c, 0, 0);
}

/* The prologue has variables 0 and, with parameters, 1 to 3. */
static bool with_params(cs *c, const misdeed *what, uint32_t i, uint32_t count) {
    cs_var params[CS_MAX_BLOCK_PARAMS + 1] = {1, 2};
    unsigned n = 2;
    if (*what == PARAMS_NOT_ASCENDING && i == 1) params[1] = 1;
    if (*what == PARAMS_OF_BLOCK && i == 1) params[1] = 4;
    if (*what == PARAMS_ALSO_NAMED && i == 1) params[0] = 0;
    if (*what == PARAMS_FEWER && i == 1) n = 1;
    if (*what == PARAMS_TOO_MANY) n = CS_MAX_BLOCK_PARAMS + 1;
    return cs_block_begin_with(c, i, count, params, n);
}

static void misbehave(cs *c, const void *params, const void *instance) {
    const misdeed *what = params;
    (void)instance;
    cs_var first = 0;
    fr one = small(1);
    cs_alloc(c, &one);
    cs_input(c, &one);
    if (*what >= PARAMS_NOT_ASCENDING && *what <= PARAMS_TOO_MANY) cs_alloc_bits(c, 3, 0);
    cs_push(c, "here", 1);
    if (*what == MORE_INPUTS && c->values) cs_input(c, &one);
    if (*what == FAULT) cs_fault(c, CUZK_MEMORY, "asked for"), cs_fault(c, CUZK_DISK, "later");
    if (*what == MISSING_VARIABLE) square(c, 1, 0);
    if (*what == NO_BEGIN) cs_block_end(c);
    for (unsigned i = 0; *what == TOO_MANY && i < CS_MAX_AUX / 64 + 1; i++) cs_alloc_bits(c, 64, 0);
    uint32_t count = 3;
    for (uint32_t i = *what == BLOCK_ORDER ? 1 : 0; i < count - (*what == UNFINISHED); i++) {
        bool wanted = *what >= PARAMS_NOT_ASCENDING && *what <= PARAMS_TOO_MANY ? with_params(c, what, i, count)
                                                                                : cs_block_begin(c, i, count);
        if (wanted) block(c, what, i, &first);
        cs_block_end(c);
        if (*what == BETWEEN && i == 0) cs_alloc(c, &one);
    }
    if (*what == EPILOGUE_USES_BLOCK) square(c, first, 0);
    cs_alloc(c, &one);
    cs_pop(c);
}

static void test_misdeeds(void **state) {
    (void)state;
    static const misdeed recorded[] = {
        MISSING_VARIABLE, OTHER_BLOCK,          EPILOGUE_USES_BLOCK, BETWEEN,           BLOCK_ORDER,  UNFINISHED,
        NO_BEGIN,         PARAMS_NOT_ASCENDING, PARAMS_OF_BLOCK,     PARAMS_ALSO_NAMED, PARAMS_FEWER, PARAMS_TOO_MANY};
    shape *s;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        memset(&err, 0, sizeof err);
        assert_int_equal(shape_record(&s, misbehave, &recorded[i], NULL, &err), CUZK_INTERNAL);
        assert_int_equal(err.status, CUZK_INTERNAL);
        assert_true(err.what[0] != '\0');
    }
    misdeed what = FAULT;
    assert_int_equal(shape_record(&s, misbehave, &what, NULL, &err), CUZK_MEMORY);
    assert_string_equal(err.what, "asked for");
    assert_string_equal(err.where, "here 1");
    cs_counts n;
    uint8_t digest[32];
    assert_int_equal(cs_count(&n, misbehave, &what, &err), CUZK_MEMORY);
    assert_int_equal(cs_hash(digest, misbehave, &what, NULL, NULL, &err), CUZK_MEMORY);
    what = TOO_MANY;
    assert_int_equal(cs_count(&n, misbehave, &what, &err), CUZK_INTERNAL);
}

static void test_other_values(void **state) {
    (void)state;
    static const misdeed changed[] = {MORE_BITS, OTHER_KIND, MORE_INPUTS, FEWER_VALUES, UNEVEN_BLOCK};
    misdeed good = GOOD;
    shape *s;
    witness w;
    uint64_t first_bad;
    OK(shape_record(&s, misbehave, &good, NULL, &err));
    OK(witness_write(&w, s, misbehave, &good, &good, &err));
    OK(witness_check(&w, s, &first_bad, NULL, NULL, &err));
    assert_int_equal(first_bad, UINT64_MAX);
    witness_free(&w);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        assert_int_equal(witness_write(&w, s, misbehave, &changed[i], &good, &err), CUZK_INTERNAL);
        assert_null(w.memory.data);
    }
    shape_destroy(s);
    assert_int_equal(buffer_class_stats(BUFFER_WITNESS).live_bytes, 0);
}

static void test_cancel(void **state) {
    (void)state;
    misdeed good = GOOD;
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    shape *s;
    uint64_t before = buffer_total_stats().live_bytes;
    assert_int_equal(shape_record(&s, misbehave, &good, &control, &err), CUZK_CANCELLED);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    /* A witness is left before its next block. */
    witness w;
    OK(shape_record(&s, misbehave, &good, NULL, &err));
    uint64_t with_shape = buffer_total_stats().live_bytes;
    assert_int_equal(witness_write_until(&w, s, misbehave, &good, &good, &control, &err), CUZK_CANCELLED);
    assert_int_equal(err.status, CUZK_CANCELLED);
    assert_null(w.memory.data);
    assert_int_equal(buffer_total_stats().live_bytes, with_shape);
    atomic_store(&cancel, 0);
    OK(witness_write_until(&w, s, misbehave, &good, &good, &control, &err));
    witness_free(&w);
    shape_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),    cmocka_unit_test(test_normal_random), cmocka_unit_test(test_path),
        cmocka_unit_test(test_misdeeds), cmocka_unit_test(test_other_values),  cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
