/* The pairing by every CPU version: golden values and products, bilinearity, infinity, many pairs. */
#include <assert.h>
#include "math/math_vectors.h"
#include "math/pairing.h"

static void pairing_with(const struct math_kernels *k, fp12 *out, const g1_affine *p, const g2_affine *q, size_t n) {
    k->pairing->miller(out, p, q, n);
    k->pairing->final_exp(out, out);
}

static void golden_values(void **state) {
    (void)state;
    size_t offset = 0, lines = 0, n;
    json_node *line;
    arena *ar;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (; (ar = test_next_line("pairing.jsonl", &offset, &line)) != NULL; lines++) {
        g1_affine p = vector_g1(json_member(line, "p"));
        g2_affine q = vector_g2(json_member(line, "q"));
        fp12 want = vector_fp12(json_member(line, "e")), e;
        for (size_t k = 0; k < n; k++) {
            pairing_with(all[k], &e, &p, &q, 1);
            assert_true(fp12_eq(&e, &want));
        }
        assert_int_equal(pairing_product_is_one(&p, &q, 1), json_member(line, "is_one")->kind == JSON_TRUE);
        arena_destroy(ar);
    }
    assert_true(lines >= 23);
}

static void golden_products(void **state) {
    (void)state;
    size_t offset = 0, lines = 0, versions;
    json_node *line;
    arena *ar;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    for (; (ar = test_next_line("pairing-products.jsonl", &offset, &line)) != NULL; lines++) {
        const json_node *pairs = json_member(line, "pairs");
        g1_affine p[16];
        g2_affine q[16];
        size_t n = pairs->len;
        assert_true(n <= 16);
        for (size_t i = 0; i < n; i++) {
            p[i] = vector_g1(json_at(json_at(pairs, i), 0));
            q[i] = vector_g2(json_at(json_at(pairs, i), 1));
        }
        fp12 want = vector_fp12(json_member(line, "product")), e;
        for (size_t k = 0; k < versions; k++) {
            pairing_with(all[k], &e, p, q, n);
            assert_true(fp12_eq(&e, &want));
        }
        assert_int_equal(pairing_product_is_one(p, q, n), json_member(line, "product_is_one")->kind == JSON_TRUE);
        arena_destroy(ar);
    }
    assert_true(lines >= 7);
}

static void multiple_g1(g1_affine *r, const fr_canon *k) {
    g1_affine g;
    g1 t;
    g1_generator_affine(&g);
    g1_from_affine(&t, &g);
    g1_mul(&t, &t, k);
    g1_to_affine(r, &t);
}

static void multiple_g2(g2_affine *r, const fr_canon *k) {
    g2_affine g;
    g2 t;
    g2_generator_affine(&g);
    g2_from_affine(&t, &g);
    g2_mul(&t, &t, k);
    g2_to_affine(r, &t);
}

static void fp12_slow_pow(fp12 *r, const fp12 *a, const fr_canon *k) {
    fp12 acc;
    fp12_set_one(&acc);
    for (int i = 255; i >= 0; i--) {
        fp12_sqr(&acc, &acc);
        if (k->l[i / 64] >> (i % 64) & 1) fp12_mul(&acc, &acc, a);
    }
    *r = acc;
}

static void bilinear(void **state) {
    (void)state;
    g1_affine g, ag;
    g2_affine h, bh;
    fp12 base, e, want;
    size_t n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    g1_generator_affine(&g);
    g2_generator_affine(&h);
    pairing_miller(&base, &g, &h, 1);
    pairing_final_exp(&base, &base);
    assert_false(fp12_is_one(&base));
    fr_canon order;
    memcpy(&order, fr_modulus, sizeof order);
    fp12_slow_pow(&e, &base, &order);
    assert_true(fp12_is_one(&e));
    for (int i = 0; i < 6; i++) {
        fr_canon a = test_scalar(), b = test_scalar(), ab;
        fr x, y;
        fr_from_canon(&x, &a);
        fr_from_canon(&y, &b);
        fr_mul(&x, &x, &y);
        fr_to_canon(&ab, &x);
        multiple_g1(&ag, &a);
        multiple_g2(&bh, &b);
        fp12_slow_pow(&want, &base, &ab);
        for (size_t k = 0; k < n; k++) {
            pairing_with(all[k], &e, &ag, &bh, 1);
            assert_true(fp12_eq(&e, &want));
        }
    }
}

/* sum a_i b_i = 0 makes the product 1, for numbers of pairs on both sides of one loop's room, infinity between. */
static void products(void **state) {
    (void)state;
    enum { MOST = 20 };
    g1_affine p[MOST];
    g2_affine q[MOST];
    fp12 e, part, all;
    for (size_t n = 2; n <= MOST; n += 3) {
        fr sum, x, y;
        fr_set_zero(&sum);
        for (size_t i = 0; i < n; i++) {
            fr_canon a = test_scalar(), b = test_scalar();
            fr_from_canon(&x, &a);
            fr_from_canon(&y, &b);
            if (i + 1 == n) { /* the last one closes the sum: a = -sum / b */
                fr_inv(&x, &y);
                fr_mul(&x, &x, &sum);
                fr_neg(&x, &x);
                fr_to_canon(&a, &x);
            } else {
                fr_mul(&x, &x, &y);
                if (i % 4 != 3) fr_add(&sum, &sum, &x);
            }
            multiple_g1(&p[i], &a);
            multiple_g2(&q[i], &b);
            if (i % 4 == 3 && i + 1 != n) {
                if (i % 8 == 3) g1_affine_set_infinity(&p[i]);
                if (i % 8 == 7) g2_affine_set_infinity(&q[i]);
            }
        }
        assert_true(pairing_product_is_one(p, q, n));
        fp12_set_one(&all);
        for (size_t i = 0; i < n; i++) {
            pairing_miller(&part, &p[i], &q[i], 1);
            pairing_final_exp(&part, &part);
            fp12_mul(&all, &all, &part);
        }
        assert_true(fp12_is_one(&all));
        g1_affine_neg(&p[n - 1], &p[n - 1]);
        assert_false(pairing_product_is_one(p, q, n));
        pairing_miller(&e, p, q, n);
        pairing_final_exp(&e, &e);
        assert_false(fp12_is_one(&e));
    }
    pairing_miller(&e, p, q, 0);
    assert_true(fp12_is_one(&e));
    assert_true(pairing_product_is_one(p, q, 0));
    for (int i = 0; i < MOST; i++) g1_affine_set_infinity(&p[i]);
    assert_true(pairing_product_is_one(p, q, MOST));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_values),
        cmocka_unit_test(golden_products),
        cmocka_unit_test(bilinear),
        cmocka_unit_test(products),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
