/* Products of four field elements in lanes (math/kernels_fma/fpx4.h, fp2x4.h, frx4.h) against those of math/field.h and
 * fp2.h: random limbs, the longest that are allowed, negative ones; and the ways from and to memory form. */
#include "math_test.h"

#ifdef CUZK_HAVE_FMA
#include <immintrin.h>
#include "base/cpu.h"

/* Only what follows may use the vector units: main runs on any CPU. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "math/kernels_fma/fp2x4.h"
#include "math/kernels_fma/fpx4.h"
#include "math/kernels_fma/frx4.h"

#define LONG (INT64_C(3) << 47)         /* of one factor: a difference of sums */
#define SHORT ((INT64_C(1) << 47) + 32) /* of the other: a product */

typedef struct {
    int64_t limb[4][8];
} lanes;

static int64_t random_limb(int64_t most) {
    uint64_t r;
    chacha_bytes(&test_rng, &r, sizeof r);
    return (int64_t)(r % (2 * (uint64_t)most + 1)) - most;
}

/* Limbs of one kind or another, none beyond `most`. */
static void choose(int64_t limb[8], int64_t most, unsigned kind, bool is_fr) {
    for (int j = 0; j < 8; j++) {
        int64_t modulus = is_fr ? j < 6 ? (int64_t)frx4_p[0][j][0] : 0 : (int64_t)fpx4_p[0][j][0];
        int64_t r = random_limb(most);
        switch (kind) {
        case 0: limb[j] = r; break;
        case 1: limb[j] = most; break;
        case 2: limb[j] = -most; break;
        case 3: limb[j] = j & 1 ? most : -most; break;
        case 4: limb[j] = j & 1 ? -most : most; break;
        case 5: limb[j] = r & 1 ? most : -most; break;
        case 6: limb[j] = 0; break;
        case 7: limb[j] = j == 0; break;
        case 8: limb[j] = -(int64_t)(j == 0); break;
        case 9: limb[j] = modulus; break;                                    /* p */
        case 10: limb[j] = modulus - (j == 0); break;                        /* p - 1 */
        case 11: limb[j] = j == (is_fr ? 5 : 7) ? 0 : r < 0 ? -r : r; break; /* no top limb */
        case 12: limb[j] = r >> (r & 31); break;                             /* of all lengths */
        case 13: limb[j] = j == (r & 7) ? most : 0; break;
        default: limb[j] = INT64_C(1) << (is_fr ? 42 : 47); break; /* ties of the splitting */
        }
    }
}
#define KINDS 15u

static void to_lanes(fpx4 *a, const lanes *l) {
    double all[8][4];
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 8; j++) all[j][i] = (double)l->limb[i][j];
    }
    memcpy(a, all, sizeof all);
}

/* The number itself modulo p, as words. */
static fp number(const int64_t limb[8]) {
    fp r, t;
    fp_set_zero(&r);
    for (int j = 8; j-- > 0;) {
        for (int i = 0; i < 48; i++) fp_dbl(&r, &r);
        memset(&t, 0, sizeof t);
        t.l[0] = (uint64_t)(limb[j] < 0 ? -limb[j] : limb[j]);
        if (limb[j] < 0) {
            fp_sub(&r, &r, &t);
        } else {
            fp_add(&r, &r, &t);
        }
    }
    return r;
}

/* `beyond`: how far limbs may be from 2^47. */
static void check_lanes(const fpx4 *got, const fp want[4], int beyond, unsigned kind) {
    double all[8][4];
    fp x[4];
    memcpy(all, got, sizeof all);
    for (int j = 0; j < 7; j++) {
        for (int i = 0; i < 4; i++) assert_true(all[j][i] <= 0x1p47 + beyond && all[j][i] >= -0x1p47 - beyond);
    }
    fpx4_get(x, got);
    for (int i = 0; i < 4; i++) {
        assert_true(fp_limbs_reduced(x[i].l));
        if (!fp_eq(&x[i], &want[i])) fail_msg("kinds %u: lane %d is wrong", kind, i);
    }
}

static void products(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    for (unsigned round = 0; round < 40 * KINDS * KINDS; round++) {
        unsigned kind = round % (KINDS * KINDS);
        lanes a, b;
        fpx4 x, y, xy, yx, yy;
        fp product[4], square[4];
        for (int i = 0; i < 4; i++) {
            choose(a.limb[i], LONG, i == 3 ? 0 : kind / KINDS, false);
            choose(b.limb[i], SHORT, i == 2 ? 0 : kind % KINDS, false);
            fp u = number(a.limb[i]), v = number(b.limb[i]);
            fp_mul(&product[i], &u, &v);
            fp_sqr(&square[i], &v);
        }
        to_lanes(&x, &a);
        to_lanes(&y, &b);
        fpx4_mul(&xy, &x, &y);
        fpx4_mul(&yx, &y, &x);
        fpx4_sqr(&yy, &y);
        check_lanes(&xy, product, 16, kind);
        check_lanes(&yx, product, 16, kind);
        check_lanes(&yy, square, 16, kind);
        fpx4_mul(&x, &x, &y); /* in place */
        fpx4_sqr(&y, &y);
        assert_memory_equal(&x, &xy, sizeof x);
        assert_memory_equal(&y, &yy, sizeof y);
    }
}

/* Two products reduced together; of one of both the limbs may be long when those of the other are short. */
static void sums_of_products(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    for (unsigned round = 0; round < 40 * KINDS * KINDS; round++) {
        unsigned kind = round % (KINDS * KINDS);
        lanes l[4];
        fpx4 x[4], sum, squares;
        fp want[4], want_squares[4];
        /* Two halves of what one product may have, or all of it beside nothing. */
        int64_t most = round / (KINDS * KINDS) % 3 == 0 ? LONG : LONG / 2, other = most == LONG ? 0 : LONG / 2;
        for (int i = 0; i < 4; i++) {
            fp n[4], t;
            choose(l[0].limb[i], most, i == 3 ? 0 : kind / KINDS, false);
            choose(l[1].limb[i], SHORT, i == 2 ? 0 : kind % KINDS, false);
            choose(l[2].limb[i], other, i == 3 ? 1 : round / (3 * KINDS * KINDS) % KINDS, false);
            choose(l[3].limb[i], SHORT, i == 2 ? 1 : kind / KINDS, false);
            if (other == 0) memset(l[2].limb[i], 0, sizeof l[2].limb[i]); /* some kinds have limbs of their own */
            for (int j = 0; j < 4; j++) n[j] = number(l[j].limb[i]);
            fp_mul(&want[i], &n[0], &n[1]);
            fp_mul(&t, &n[2], &n[3]);
            fp_add(&want[i], &want[i], &t);
            fp_sqr(&want_squares[i], &n[1]);
            fp_sqr(&t, &n[3]);
            fp_add(&want_squares[i], &want_squares[i], &t);
        }
        for (int j = 0; j < 4; j++) to_lanes(&x[j], &l[j]);
        fpx4_mul_add(&sum, &x[0], &x[1], &x[2], &x[3]);
        fpx4_sqr_add(&squares, &x[1], &x[3]);
        check_lanes(&sum, want, 32, kind);
        check_lanes(&squares, want_squares, 32, kind);
        fpx4_mul_add(&x[0], &x[2], &x[3], &x[0], &x[1]); /* in place, and the other way round */
        fpx4_sqr_add(&x[1], &x[3], &x[1]);
        check_lanes(&x[0], want, 32, kind);
        check_lanes(&x[1], want_squares, 32, kind);
    }
}

/* Products of fp2 of limbs as products and carried differences have them. */
static void fp2_products(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    for (unsigned round = 0; round < 20 * KINDS * KINDS; round++) {
        unsigned kind = round % (KINDS * KINDS);
        lanes l[4];
        fp2x4 a, b, r;
        fp2 x[4], y[4], want;
        fp want0[4][4], want1[4][4];
        for (int i = 0; i < 4; i++) {
            for (unsigned j = 0; j < 4; j++) {
                choose(l[j].limb[i], SHORT, i == 3 ? 0 : j % 2 == 0 ? kind / KINDS : kind % KINDS, false);
            }
            x[i] = (fp2){number(l[0].limb[i]), number(l[1].limb[i])};
            y[i] = (fp2){number(l[2].limb[i]), number(l[3].limb[i])};
            fp2_mul(&want, &x[i], &y[i]);
            want0[0][i] = want.c0, want1[0][i] = want.c1;
            fp2_sqr(&want, &x[i]);
            want0[2][i] = want.c0, want1[2][i] = want.c1;
            fp2_conj(&want, &x[i]);
            fp2_mul(&want, &x[i], &want);
            want0[3][i] = want.c0;
            assert_true(fp_is_zero(&want.c1));
            fp2_conj(&want, &y[i]);
            fp2_mul(&want, &x[i], &want);
            want0[1][i] = want.c0, want1[1][i] = want.c1;
        }
        to_lanes(&a.c0, &l[0]), to_lanes(&a.c1, &l[1]);
        to_lanes(&b.c0, &l[2]), to_lanes(&b.c1, &l[3]);
        fp2x4_mul(&r, &a, &b);
        check_lanes(&r.c0, want0[0], 32, kind);
        check_lanes(&r.c1, want1[0], 32, kind);
        fp2x4_mul_conj(&r, &a, &b);
        check_lanes(&r.c0, want0[1], 32, kind);
        check_lanes(&r.c1, want1[1], 32, kind);
        fp2x4_sqr(&r, &a);
        check_lanes(&r.c0, want0[2], 16, kind);
        check_lanes(&r.c1, want1[2], 16, kind);
        fp2x4_norm(&r.c0, &a);
        check_lanes(&r.c0, want0[3], 32, kind);
    }
}

/* Carrying changes limbs, not the number. */
static void carries(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    for (unsigned round = 0; round < 100 * KINDS; round++) {
        lanes a;
        fpx4 x;
        double all[8][4];
        for (int i = 0; i < 4; i++) choose(a.limb[i], INT64_C(1) << 49, round % KINDS, false);
        to_lanes(&x, &a);
        fpx4_carry(&x);
        memcpy(all, &x, sizeof all);
        for (int i = 0; i < 4; i++) {
            int64_t limb[8];
            for (int j = 0; j < 8; j++) {
                limb[j] = (int64_t)all[j][i];
                if (j < 7) assert_true(limb[j] <= (INT64_C(1) << 47) + 2 && limb[j] >= -(INT64_C(1) << 47) - 2);
            }
            fp want = number(a.limb[i]), got = number(limb);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
}

static fp random_fp(unsigned kind) {
    fp r, one = {{1}};
    do {
        chacha_bytes(&test_rng, &r, sizeof r);
        r.l[5] &= UINT64_MAX >> 3;
    } while (!fp_limbs_reduced(r.l));
    if (kind < 3) fp_set_zero(&r);
    if (kind == 1) r = one;
    if (kind == 2) fp_neg(&r, &one);
    return r;
}

/* Words to limbs by bytes, differences, sums below a product, and words again. */
static void memory_form(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    for (unsigned round = 0; round < 20000; round++) {
        fp a[4], b[4], c[4], x[4];
        fpx4 u, v;
        fpx4_int l, m, n;
        for (unsigned i = 0; i < 4; i++) {
            a[i] = random_fp(round % 5);
            b[i] = random_fp(round / 5 % 5);
            c[i] = random_fp(round / 25 % 5);
            if (round / 125 % 3 == 1) c[i] = b[i];                 /* differences of zero */
            if (round / 125 % 3 == 2) fp_sub(&c[i], &a[i], &b[i]); /* a - b - c is zero */
            fpx4_set(&u, (int)i, &a[i]);
        }
        fpx4_get(x, &u);
        for (int i = 0; i < 4; i++) assert_memory_equal(&x[i], &a[i], sizeof x[i]);
        fpx4_load(&m, (const fp *const[4]){&b[0], &b[1], &b[2], &b[3]});
        fpx4_load(&n, (const fp *const[4]){&c[0], &c[1], &c[2], &c[3]});
        fpx4_difference(&v, &m, &n);
        fpx4_get(x, &v);
        for (int i = 0; i < 4; i++) {
            fp want;
            fp_sub(&want, &b[i], &c[i]);
            assert_memory_equal(&x[i], &want, sizeof want);
        }
        for (int j = 0; j < 8; j++) m.v[j] = _mm256_add_epi64(m.v[j], n.v[j]);
        fpx4_reduce(&l, &u, &m);
        uint64_t all[6][4];
        __m256i w[6];
        fpx4_to_words(w, &l);
        memcpy(all, w, sizeof all);
        for (int i = 0; i < 4; i++) {
            fp want;
            fp_sub(&want, &a[i], &b[i]);
            fp_sub(&want, &want, &c[i]);
            for (int j = 0; j < 6; j++) assert_int_equal(all[j][i], want.l[j]);
        }
    }
}

/* The number itself modulo r, as words. */
static fr fr_number(const int64_t limb[6]) {
    fr r, t;
    fr_set_zero(&r);
    for (int j = 6; j-- > 0;) {
        for (int i = 0; i < 43; i++) fr_dbl(&r, &r);
        memset(&t, 0, sizeof t);
        t.l[0] = (uint64_t)(limb[j] < 0 ? -limb[j] : limb[j]);
        if (limb[j] < 0) {
            fr_sub(&r, &r, &t);
        } else {
            fr_add(&r, &r, &t);
        }
    }
    return r;
}

static void fr_to_lanes(frx4 *a, const lanes *l) {
    double all[6][4];
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 6; j++) all[j][i] = (double)l->limb[i][j];
    }
    memcpy(a, all, sizeof all);
}

static fr random_fr(void) {
    fr_canon c = test_scalar();
    fr r;
    memcpy(&r, &c, sizeof r);
    return r;
}

/* Long limbs times factors, and times products. */
static void fr_products(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    const int64_t most = INT64_C(1) << 49, half = INT64_C(1) << 42;
    for (unsigned round = 0; round < 400 * KINDS; round++) {
        lanes a, b;
        frx4 x, y, f;
        fr want[4], factor[4], got[4], four;
        fr_from_u64(&four, 4);
        for (int i = 0; i < 4; i++) {
            choose(a.limb[i], most, round % KINDS, true);
            choose(b.limb[i], half, round / KINDS % KINDS, true);
            fr u = fr_number(a.limb[i]);
            factor[i] = random_fr();
            if (round % 3 == 1) fr_set_zero(&factor[i]);
            if (round % 3 == 1) factor[i].l[0] = round & 1;
            if (round % 3 == 2) fr_neg(&factor[i], &factor[i]);
            if (round % 7 == 1) fr_set_one(&factor[i]);
            fr_mul(&want[i], &u, &factor[i]);
            if (i & 1) fr_neg(&want[i], &want[i]);
        }
        frx4_load(&f, (const fr *const[4]){&factor[0], &factor[1], &factor[2], &factor[3]});
        frx4_store((fr *const[4]){&got[0], &got[1], &got[2], &got[3]}, &f);
        assert_memory_equal(got, factor, sizeof got);
        frx4_factor(&f, _mm256_setr_pd(0.0, -0.0, 0.0, -0.0));
        fr_to_lanes(&x, &a);
        fr_to_lanes(&y, &b);
        frx4_mul(&f, &x, &f);
        frx4_store((fr *const[4]){&got[0], &got[1], &got[2], &got[3]}, &f);
        for (int i = 0; i < 4; i++) {
            assert_true(fr_limbs_reduced(got[i].l));
            if (!fr_eq(&got[i], &want[i])) fail_msg("kind %u: lane %d times a factor is wrong", round % KINDS, i);
        }
        frx4_mul(&y, &x, &y);
        frx4_store((fr *const[4]){&got[0], &got[1], &got[2], &got[3]}, &y);
        for (int i = 0; i < 4; i++) { /* R is 4 times that of memory */
            fr u = fr_number(a.limb[i]), v = fr_number(b.limb[i]);
            fr_mul(&u, &u, &v);
            fr_mul(&got[i], &got[i], &four);
            if (!fr_eq(&got[i], &u)) fail_msg("kinds %u: lane %d is wrong", round % (KINDS * KINDS), i);
        }
    }
}

/* Carrying changes limbs, not the number. */
static void fr_carries(void **state) {
    (void)state;
    if (!cpu_get()->avx2_fma) skip();
    for (unsigned round = 0; round < 100 * KINDS; round++) {
        lanes a;
        frx4 x;
        double all[6][4];
        for (int i = 0; i < 4; i++) choose(a.limb[i], INT64_C(1) << 49, round % KINDS, true);
        fr_to_lanes(&x, &a);
        frx4_carry(&x);
        memcpy(all, &x, sizeof all);
        for (int i = 0; i < 4; i++) {
            int64_t limb[6];
            for (int j = 0; j < 6; j++) {
                limb[j] = (int64_t)all[j][i];
                if (j < 5) assert_in_range(limb[j] + (INT64_C(1) << 43), INT64_C(1) << 42, INT64_C(3) << 42 | 256);
            }
            fr want = fr_number(a.limb[i]), got = fr_number(limb);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
static void products(void **state) {
    (void)state;
    skip(); /* no such kernels in this build */
}

static void sums_of_products(void **state) {
    (void)state;
    skip();
}

static void fp2_products(void **state) {
    (void)state;
    skip();
}

static void carries(void **state) {
    (void)state;
    skip();
}

static void memory_form(void **state) {
    (void)state;
    skip();
}

static void fr_products(void **state) {
    (void)state;
    skip();
}

static void fr_carries(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),   cmocka_unit_test(sums_of_products), cmocka_unit_test(fp2_products),
        cmocka_unit_test(carries),    cmocka_unit_test(memory_form),      cmocka_unit_test(fr_products),
        cmocka_unit_test(fr_carries),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
