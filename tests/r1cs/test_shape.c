/* Shapes and witnesses of random circuits with blocks, against the same circuits kept plainly (ref/plain_cs.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/random.h"
#include "r1cs/witness.h"
#include "ref/plain_cs.h"
#include "ref/random_circuit.h"
#include "ref/sanitized.h"

static cuzk_error err;

#define OK(call) assert_string_equal(cuzk_status_name(call), "CUZK_OK")

/* Everything of one circuit that the checks need. */
typedef struct subject {
    random_circuit params;
    uint64_t instance;
    plain_cs *plain;
    shape *s;
    witness w;
} subject;

static void subject_make(subject *x) {
    x->plain = plain_make(random_circuit_run, &x->params, &x->instance);
    OK(shape_record(&x->s, random_circuit_run, &x->params, NULL, &err));
    OK(witness_write(&x->w, x->s, random_circuit_run, &x->params, &x->instance, &err));
}

static void subject_free(subject *x) {
    plain_free(x->plain);
    shape_destroy(x->s);
    witness_free(&x->w);
}

static void check_counts(const subject *x) {
    cs_counts a, b = shape_counts(x->s);
    OK(cs_count(&a, random_circuit_run, &x->params, &err));
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.aux, x->plain->n_aux);
    assert_int_equal(a.inputs, x->plain->n_inputs);
    assert_int_equal(a.constraints, x->plain->n_rows);
    assert_int_equal(shape_rows(x->s), a.constraints + a.inputs);
}

static void check_digest(const subject *x) {
    uint8_t a[32], b[32];
    OK(cs_hash(a, random_circuit_run, &x->params, NULL, NULL, &err));
    OK(shape_hash(x->s, b, NULL, NULL, NULL, &err));
    assert_memory_equal(a, b, 32);
}

static void check_values(const subject *x) {
    cs_checked k;
    uint64_t first_bad;
    OK(cs_check(&k, random_circuit_run, &x->params, &x->instance, &err));
    OK(witness_check(&x->w, x->s, &first_bad, NULL, NULL, &err));
    assert_int_equal(k.first_bad, x->params.spoil ? x->plain->n_rows - 1 : UINT64_MAX);
    assert_int_equal(first_bad, k.first_bad);
    assert_int_equal(x->w.n_inputs, k.n_inputs);
    for (uint64_t i = 0; i < k.n_inputs; i++) assert_true(fr_eq(&x->w.inputs[i], &k.inputs[i]));
    /* In uneven pieces, so that pieces begin in the middle of segments. */
    fr_canon *got = calloc(k.n_aux + 1, sizeof *got), known;
    for (uint64_t at = 0, n; at < k.n_aux; at += n) {
        n = 1 + at % 777;
        if (n > k.n_aux - at) n = k.n_aux - at;
        witness_expand(&x->w, x->s, at, n, got + at);
    }
    for (uint64_t i = 0; i < k.n_aux; i++) {
        fr_to_canon(&known, &k.aux[i]);
        assert_memory_equal(&got[i], &known, sizeof known);
    }
    free(got);
    free(k.inputs);
    free(k.aux);
}

static void check_eval(const subject *x) {
    uint64_t rows = shape_rows(x->s) + 10;
    fr *got = calloc(rows, sizeof *got);
    for (int m = 0; m < 3; m++) {
        for (uint64_t at = 0, n; at < rows; at += n) {
            n = 1 + at % 311;
            if (n > rows - at) n = rows - at;
            shape_eval(x->s, (shape_matrix)m, &x->w, at, n, got + at);
        }
        for (uint64_t i = 0; i < rows; i++) {
            fr known = plain_eval(x->plain, m, i);
            assert_true(fr_eq(&got[i], &known));
        }
    }
    free(got);
}

/* One bitmap over aux variables, told by `known`, in pieces and as ranks. */
static void check_bitmap(const subject *x, shape_bitmap_kind kind, const bool *known) {
    uint64_t total = x->plain->n_aux, rank = 0;
    static const uint64_t pieces[] = {64, 192, 1 << 20};
    for (size_t p = 0; p < 3; p++) {
        for (uint64_t at = 0; at < total + 128; at += pieces[p]) {
            uint64_t n = pieces[p] > total + 200 ? total + 200 : pieces[p], *bits = malloc((n + 63) / 64 * 8);
            memset(bits, 0xa5, (n + 63) / 64 * 8);
            shape_bitmap(x->s, kind, at, n, bits);
            for (uint64_t i = 0; i < (n + 63) / 64 * 64; i++)
                assert_int_equal(bits[i / 64] >> (i % 64) & 1, i < n && at + i < total && known[at + i]);
            free(bits);
        }
    }
    for (uint64_t i = 0; i < total; i++) {
        assert_int_equal(shape_rank(x->s, kind, i), rank);
        rank += known[i];
    }
    assert_int_equal(shape_rank(x->s, kind, total), rank);
}

static void check_bitmaps(const subject *x) {
    const plain_cs *p = x->plain;
    bool *used[2], *input_in_b = calloc(p->n_inputs, 1);
    for (int m = 0; m < 2; m++) {
        used[m] = calloc(p->n_aux + 1, 1);
        for (uint64_t r = 0; r < p->n_rows; r++) {
            const cs_lc *lc = &p->rows[r].lc[m];
            for (uint32_t i = 0; i < lc->len; i++) {
                cs_var v = lc->terms[i].var;
                fr sum = plain_coeff(p, m, r, v);
                if (fr_is_zero(&sum)) continue;
                if ((v & CS_INPUT) == 0)
                    used[m][v] = true;
                else if (m == 1)
                    input_in_b[v & ~CS_INPUT] = true;
            }
        }
    }
    check_bitmap(x, SHAPE_IS_FIELD, p->field);
    check_bitmap(x, SHAPE_A_DENSITY, used[0]);
    check_bitmap(x, SHAPE_B_DENSITY, used[1]);
    for (uint32_t i = 0; i < p->n_inputs; i++) assert_int_equal(shape_input_in_b(x->s, i), input_in_b[i]);
    uint64_t fields = 0;
    for (uint32_t i = 0; i < p->n_aux; i++) fields += p->field[i];
    assert_int_equal(shape_fields(x->s), fields);
    free(used[0]);
    free(used[1]);
    free(input_in_b);
}

typedef struct column_sums {
    fr *inputs, *aux;
} column_sums;

static void add_to_column(void *user, cs_var v, const fr *value) {
    column_sums *k = user;
    fr *to = (v & CS_INPUT) != 0 ? &k->inputs[v & ~CS_INPUT] : &k->aux[v];
    fr_add(to, to, value);
}

static column_sums columns(const plain_cs *p) {
    return (column_sums){calloc(p->n_inputs, sizeof(fr)), calloc(p->n_aux + 1, sizeof(fr))};
}

static void check_transposed(const subject *x) {
    const plain_cs *p = x->plain;
    uint64_t rows = shape_rows(x->s);
    fr *weights = calloc(rows, sizeof *weights);
    for (uint64_t i = 0; i < rows; i++) {
        fr_from_u64(&weights[i], i * i + 3);
        fr_neg(&weights[i], &weights[i]);
    }
    for (int m = 0; m < 3; m++) {
        column_sums known = columns(p), got = columns(p);
        for (uint64_t r = 0; r < p->n_rows; r++) {
            const cs_lc *lc = &p->rows[r].lc[m];
            for (uint32_t i = 0; i < lc->len; i++) {
                fr t;
                fr_mul(&t, &lc->terms[i].coeff, &weights[r]);
                add_to_column(&known, lc->terms[i].var, &t);
            }
        }
        for (uint32_t i = 0; m == 0 && i < p->n_inputs; i++)
            add_to_column(&known, CS_INPUT | i, &weights[p->n_rows + i]);
        for (uint64_t at = 0; at < rows; at += 500)
            shape_transposed(x->s, (shape_matrix)m, weights, at, 500, add_to_column, &got);
        assert_memory_equal(known.inputs, got.inputs, p->n_inputs * sizeof(fr));
        assert_memory_equal(known.aux, got.aux, p->n_aux * sizeof(fr));
        free(known.inputs);
        free(known.aux);
        free(got.inputs);
        free(got.aux);
    }
    free(weights);
}

static void check_all(random_circuit params) {
    subject x = {.params = params, .instance = params.seed + 1};
    uint64_t live = buffer_total_stats().live_bytes;
    subject_make(&x);
    check_counts(&x);
    check_digest(&x);
    check_values(&x);
    check_eval(&x);
    check_bitmaps(&x);
    check_transposed(&x);
    subject_free(&x);
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

static uint64_t new_seed(void) {
    uint64_t seed = 0;
    OK(random_bytes(&seed, sizeof seed, &err));
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static void test_random(void **state) {
    (void)state;
    uint64_t seed = new_seed();
    for (uint64_t i = 0; i < (TEST_SANITIZED ? 1 : 4); i++) {
        check_all((random_circuit){.seed = seed + i, .prologue = 60});
        check_all((random_circuit){.seed = seed + i, .prologue = 40, .block = 50, .epilogue = 40, .count = 5});
        check_all((random_circuit){.seed = seed + i, .prologue = 100, .block = 200, .epilogue = 100, .count = 1});
        check_all(
            (random_circuit){.seed = seed + i, .prologue = 30, .block = 40, .epilogue = 30, .count = 3, .spoil = true});
    }
    check_all((random_circuit){.seed = seed, .prologue = 100, .block = 20, .epilogue = 50, .count = 100});
    check_all(
        (random_circuit){.seed = seed, .prologue = 20, .block = 100, .epilogue = 20, .count = 2, .longest = 6000});
}

static void test_parameters(void **state) {
    (void)state;
    uint64_t seed = new_seed();
    for (uint64_t i = 0; i < (TEST_SANITIZED ? 1 : 4); i++) {
        check_all((random_circuit){
            .seed = seed + i, .prologue = 40, .block = 60, .epilogue = 40, .count = 5, .params = 1 + (unsigned)i});
        check_all((random_circuit){
            .seed = seed + i, .prologue = 100, .block = 200, .count = 3, .params = 64, .spoil = i % 2 != 0});
    }
    check_all((random_circuit){.seed = seed, .prologue = 100, .block = 20, .epilogue = 5, .count = 100, .params = 9});
    check_all((random_circuit){.seed = seed, .block = 20, .count = 3, .params = 9});
    check_all((random_circuit){.seed = seed, .prologue = 300, .block = 90, .count = 2, .params = 30, .longest = 6000});
}

static void test_empty_parts(void **state) {
    (void)state;
    uint64_t seed = new_seed();
    check_all((random_circuit){.seed = seed});
    check_all((random_circuit){.seed = seed, .block = 30, .count = 4});
    check_all((random_circuit){.seed = seed, .prologue = 30, .count = 4});
    check_all((random_circuit){.seed = seed, .prologue = 30, .epilogue = 30, .count = 4});
    check_all((random_circuit){.seed = seed, .prologue = 30, .block = 30, .count = 4});
    check_all((random_circuit){.seed = seed, .block = 1, .epilogue = 1, .count = 70});
}

/* The instance must not change the shape: two witnesses fit one. */
static void test_instances(void **state) {
    (void)state;
    random_circuit params = {.seed = new_seed(), .prologue = 50, .block = 60, .epilogue = 50, .count = 3};
    subject x = {.params = params, .instance = 1};
    subject_make(&x);
    for (uint64_t i = 2; i < 6; i++) {
        witness_free(&x.w);
        plain_free(x.plain);
        x.instance = i;
        x.plain = plain_make(random_circuit_run, &x.params, &x.instance);
        OK(witness_write(&x.w, x.s, random_circuit_run, &x.params, &x.instance, &err));
        check_values(&x);
        check_eval(&x);
    }
    subject_free(&x);
}

/* More than 65,536 coefficients: indices of 32 bits, widened in the middle of a run. */
static void test_many_coefficients(void **state) {
    (void)state;
    random_circuit params = {
        .seed = new_seed(), .prologue = 1500, .block = 4000, .epilogue = 3000, .count = 2, .many_coeffs = true};
    subject x = {.params = params, .instance = 5};
    shape_view v;
    subject_make(&x);
    shape_get_view(x.s, &v);
    print_message("%u coefficients\n", v.coeff_count);
    assert_true(v.coeff_count > 65536);
    assert_int_equal(v.coeff_width, 4);
    check_counts(&x);
    check_digest(&x);
    check_values(&x);
    check_eval(&x);
    check_transposed(&x);
    subject_free(&x);
}

/* The view's rows, relocated by hand, are the plain ones. */
static void test_view(void **state) {
    (void)state;
    random_circuit params = {.seed = new_seed(), .prologue = 80, .block = 60, .epilogue = 40, .count = 4, .params = 7};
    bool seen = false;
    subject x = {.params = params, .instance = 5};
    shape_view v;
    subject_make(&x);
    shape_get_view(x.s, &v);
    assert_int_equal(v.repeat, 4);
    assert_int_equal(v.coeff_width, 2);
    assert_int_equal(v.n_params, 7);
    fr one, sum;
    fr_set_one(&one);
    assert_true(fr_eq(&v.coeff_table[0], &one));
    fr_add(&sum, &v.coeff_table[0], &v.coeff_table[1]);
    assert_true(fr_is_zero(&sum));
    uint64_t row = 0;
    for (int s = 0; s < 3; s++) {
        const shape_segment_view *g = &v.segment[s];
        for (uint32_t copy = 0; copy < (s == 1 ? v.repeat : 1); copy++) {
            for (uint64_t r = 0; r < g->rows; r++, row++) {
                assert_int_equal(row, g->first_row + copy * g->rows + r);
                for (int m = 0; m < 3; m++) {
                    const shape_rows_view *rows = &g->matrix[m];
                    for (uint32_t at = r == 0 ? 0 : rows->row_end[r - 1]; at < rows->row_end[r]; at++) {
                        uint32_t stored = rows->vars[at], i = stored & ~(SHAPE_VAR_INPUT | SHAPE_VAR_OWN);
                        bool input = (stored & SHAPE_VAR_INPUT) != 0;
                        if (s == 1 && stored >> 29 == 1) {
                            i = v.params[copy * v.n_params + (stored & (SHAPE_VAR_PARAM - 1))];
                            seen = true;
                        } else if ((stored & SHAPE_VAR_OWN) != 0)
                            i += input ? g->first_input + copy * g->inputs : g->first_aux + copy * g->aux;
                        fr known = plain_coeff(x.plain, m, row, input ? CS_INPUT | i : i);
                        uint16_t k = ((const uint16_t *)rows->coeffs)[at];
                        assert_true(fr_eq(&v.coeff_table[k], &known));
                    }
                }
            }
        }
    }
    assert_int_equal(row, x.plain->n_rows);
    assert_true(seen);
    subject_free(&x);
}

static void test_pool(void **state) {
    (void)state;
    random_circuit params = {
        .seed = new_seed(), .prologue = 3000, .block = 3000, .epilogue = 500, .count = 4, .spoil = true};
    subject x = {.params = params, .instance = 5};
    uint64_t first_bad;
    pool *p = pool_create(3, &err);
    assert_non_null(p);
    subject_make(&x);
    OK(witness_check(&x.w, x.s, &first_bad, p, NULL, &err));
    assert_int_equal(first_bad, x.plain->n_rows - 1);
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    assert_int_equal(witness_check(&x.w, x.s, &first_bad, p, &control, &err), CUZK_CANCELLED);
    uint8_t digest[32];
    assert_int_equal(shape_hash(x.s, digest, NULL, NULL, &control, &err), CUZK_CANCELLED);
    pool_destroy(p);
    subject_free(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),    cmocka_unit_test(test_parameters),        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_instances), cmocka_unit_test(test_many_coefficients), cmocka_unit_test(test_view),
        cmocka_unit_test(test_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
