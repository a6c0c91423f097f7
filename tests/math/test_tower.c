/* fp2, fp6 and fp12: golden vectors, and every formula against schoolbook polynomials over the field below. */
#include <assert.h>
#include "math/math_vectors.h"
#include "math/pairing.h"

static void fp2_vectors(void **state) {
    (void)state;
    size_t offset = 0, lines = 0;
    json_node *line;
    arena *ar;
    for (; (ar = test_next_line("fp2.jsonl", &offset, &line)) != NULL; lines++) {
        fp2 a = vector_fp2(json_member(line, "a")), b = vector_fp2(json_member(line, "b")), r, want;
#define BINARY(op, key)                                                                                                \
    fp2_##op(&r, &a, &b);                                                                                              \
    want = vector_fp2(json_member(line, key));                                                                         \
    assert_true(fp2_eq(&r, &want));
        BINARY(add, "add")
        BINARY(sub, "sub")
        BINARY(mul, "mul")
        fp2_sqr(&r, &a);
        want = vector_fp2(json_member(line, "sqr"));
        assert_true(fp2_eq(&r, &want));
        fp2_mul_by_nonresidue(&r, &a);
        want = vector_fp2(json_member(line, "mul_1_plus_u"));
        assert_true(fp2_eq(&r, &want));
        fp2_inv(&r, &a);
        if (json_member(line, "inv")->kind == JSON_NULL) {
            assert_true(fp2_is_zero(&a) && fp2_is_zero(&r));
        } else {
            want = vector_fp2(json_member(line, "inv"));
            assert_true(fp2_eq(&r, &want));
        }
        r = a;
        if (json_member(line, "sqrt")->kind == JSON_NULL) {
            assert_false(fp2_sqrt(&r, &r));
            assert_true(fp2_eq(&r, &a));
        } else {
            want = vector_fp2(json_member(line, "sqrt"));
            assert_true(fp2_sqrt(&r, &r));
            fp2 minus;
            fp2_neg(&minus, &want);
            assert_true(fp2_eq(&r, &want) || fp2_eq(&r, &minus));
        }
        arena_destroy(ar);
    }
    assert_true(lines >= 100);
}

static void fp2_identities(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        fp2 a = test_fp2(), r, t, b;
        if (i % 10 == 0) fp_set_zero(&a.c1); /* the subfield has its own way in the root */
        if (i % 10 == 1) fp_set_zero(&a.c0);
        fp2_sqr(&t, &a);
        r = t;
        assert_true(fp2_sqrt(&r, &r));
        fp2_sqr(&b, &r);
        assert_true(fp2_eq(&b, &t));
        fp2_half(&t, &a);
        fp2_dbl(&t, &t);
        assert_true(fp2_eq(&t, &a));
        /* conj is the p-th power; a conj(a) is in fp. */
        fp2_conj(&t, &a);
        fp2_mul(&r, &a, &t);
        assert_true(fp_is_zero(&r.c1));
        fp2_add(&r, &a, &t);
        assert_true(fp_is_zero(&r.c1));
        fp2_mul_fp(&r, &a, &a.c0);
        fp2_set_zero(&t);
        t.c0 = a.c0;
        fp2_mul(&t, &a, &t);
        assert_true(fp2_eq(&r, &t));
        fp2_neg(&t, &a);
        assert_true(fp2_is_larger_half(&t) != fp2_is_larger_half(&a));
    }
    fp2 batch[20], before[20], scratch[20], t;
    for (int i = 0; i < 20; i++) {
        batch[i] = test_fp2();
        if (i % 6 == 0) fp2_set_zero(&batch[i]);
        before[i] = batch[i];
    }
    fp2_batch_inv(batch, 20, scratch);
    for (int i = 0; i < 20; i++) {
        fp2_mul(&t, &batch[i], &before[i]);
        assert_true(i % 6 == 0 ? fp2_is_zero(&batch[i]) : fp2_is_one(&t));
    }
}

/* Coefficients of w^0 .. w^5 over fp2, w^6 = 1 + u. */
static void to_powers(fp2 out[6], const fp12 *a) {
    const fp2 in_order[6] = {a->c0.c0, a->c1.c0, a->c0.c1, a->c1.c1, a->c0.c2, a->c1.c2};
    memcpy(out, in_order, sizeof in_order);
}

static fp12 slow_mul(const fp12 *a, const fp12 *b) {
    fp2 x[6], y[6], sum[11], t;
    to_powers(x, a);
    to_powers(y, b);
    memset(sum, 0, sizeof sum);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            fp2_mul(&t, &x[i], &y[j]);
            fp2_add(&sum[i + j], &sum[i + j], &t);
        }
    }
    for (int i = 10; i >= 6; i--) {
        fp2_mul_by_nonresidue(&t, &sum[i]);
        fp2_add(&sum[i - 6], &sum[i - 6], &t);
    }
    fp12 r = {{sum[0], sum[2], sum[4]}, {sum[1], sum[3], sum[5]}};
    return r;
}

static void fp12_slow_pow(fp12 *r, const fp12 *a, const uint64_t *e, int limbs) {
    fp12 acc;
    fp12_set_one(&acc);
    for (int i = 64 * limbs - 1; i >= 0; i--) {
        acc = slow_mul(&acc, &acc);
        if (e[i / 64] >> (i % 64) & 1) acc = slow_mul(&acc, a);
    }
    *r = acc;
}

static void fp12_vectors(void **state) {
    (void)state;
    size_t offset = 0, lines = 0, n;
    json_node *line;
    arena *ar;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (; (ar = test_next_line("fp12.jsonl", &offset, &line)) != NULL; lines++) {
        fp12 a = vector_fp12(json_member(line, "a")), b = vector_fp12(json_member(line, "b")), r, want;
#define EXPECT(key)                                                                                                    \
    want = vector_fp12(json_member(line, key));                                                                        \
    assert_true(fp12_eq(&r, &want));
        fp12_mul(&r, &a, &b);
        EXPECT("mul")
        fp12_sqr(&r, &a);
        EXPECT("sqr")
        fp12_inv(&r, &a);
        EXPECT("inv")
        fp12_conj(&r, &a);
        EXPECT("conj")
        fp12_frobenius(&r, &a, 1);
        EXPECT("frob1")
        fp12_frobenius(&r, &a, 2);
        EXPECT("frob2")
        fp12_frobenius(&r, &a, 3);
        EXPECT("frob3")
        for (size_t k = 0; k < n; k++) {
            all[k]->pairing->final_exp(&r, &a);
            EXPECT("final_exp")
        }
        fp12_cyclotomic_sqr(&r, &r);
        EXPECT("final_exp_cyclotomic_sqr")
        arena_destroy(ar);
    }
    assert_true(lines >= 10);
}

static void fp12_identities(void **state) {
    (void)state;
    fp12 zero, r, t;
    fp12_set_zero(&zero);
    fp12_inv(&r, &zero);
    assert_true(fp12_is_zero(&r));
    for (int i = 0; i < 100; i++) {
        fp12 a = test_fp12(), b = test_fp12(), want = slow_mul(&a, &b);
        if (i % 4 == 0) memset(&b.c1, 0, sizeof b.c1);
        if (i % 4 == 1) memset(&a.c0.c1, 0, sizeof a.c0.c1);
        want = slow_mul(&a, &b);
        fp12_mul(&r, &a, &b);
        assert_true(fp12_eq(&r, &want));
        r = a;
        fp12_mul(&r, &r, &b); /* aliased */
        assert_true(fp12_eq(&r, &want));
        r = b;
        fp12_mul(&r, &a, &r);
        assert_true(fp12_eq(&r, &want));
        want = slow_mul(&a, &a);
        fp12_sqr(&r, &a);
        assert_true(fp12_eq(&r, &want));
        r = a;
        fp12_mul(&r, &r, &r);
        assert_true(fp12_eq(&r, &want));
        fp12 sub = a; /* fp6: a with c1 = 0 */
        memset(&sub.c1, 0, sizeof sub.c1);
        want = slow_mul(&sub, &sub);
        fp6_sqr(&r.c0, &sub.c0);
        assert_true(fp6_eq(&r.c0, &want.c0));
        fp6_inv(&r.c0, &sub.c0);
        fp6_mul(&r.c0, &r.c0, &sub.c0);
        fp6_set_one(&t.c0);
        assert_true(fp6_eq(&r.c0, &t.c0));
        r = a;
        fp12_inv(&r, &r);
        want = slow_mul(&r, &a);
        assert_true(fp12_is_one(&want));
        fp12 line = {{b.c0.c0, b.c0.c1, zero.c0.c0}, {zero.c0.c0, b.c1.c1, zero.c0.c0}};
        want = slow_mul(&a, &line);
        r = a;
        fp12_mul_by_014(&r, &r, &line.c0.c0, &line.c0.c1, &line.c1.c1);
        assert_true(fp12_eq(&r, &want));
        fp12_add(&r, &a, &b);
        fp12_sub(&r, &r, &a);
        assert_true(fp12_eq(&r, &b));
        fp12_neg(&t, &b);
        fp12_add(&t, &t, &r);
        assert_true(fp12_is_zero(&t));
    }
}

/* The Frobenius maps against the p-th power, and the cyclotomic square against the plain one. */
static void frobenius(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        fp12 a = test_fp12(), want = a, r, t;
        for (int k = 1; k <= 3; k++) {
            fp12_slow_pow(&want, &want, fp_modulus, 6);
            fp12_frobenius(&r, &a, k);
            assert_true(fp12_eq(&r, &want));
        }
        for (int k = 0; k < 3; k++) fp12_slow_pow(&want, &want, fp_modulus, 6);
        fp12_conj(&r, &a); /* p^6 */
        assert_true(fp12_eq(&r, &want));
        /* a^((p^6 - 1)(p^2 + 1)) is in the cyclotomic subgroup. */
        fp12_inv(&t, &a);
        fp12_mul(&t, &t, &r);
        fp12_frobenius(&r, &t, 2);
        fp12_mul(&t, &t, &r);
        fp12_cyclotomic_sqr(&r, &t);
        fp12_sqr(&want, &t);
        assert_true(fp12_eq(&r, &want));
        fp12_cyclotomic_sqr(&t, &t);
        assert_true(fp12_eq(&t, &want));
        /* Outside it the two differ: otherwise the test above says nothing. */
        fp12_cyclotomic_sqr(&r, &a);
        fp12_sqr(&want, &a);
        assert_false(fp12_eq(&r, &want));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp2_vectors),     cmocka_unit_test(fp2_identities), cmocka_unit_test(fp12_vectors),
        cmocka_unit_test(fp12_identities), cmocka_unit_test(frobenius),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
