/* Number-theoretic transforms: golden vectors, the definition's sums, round trips and spot evaluations at sizes that
 * need column passes, the quotient from its definition; each CPU version, over 1 to 3 threads. */
#include "math/math_test.h"
#include "base/hash.h"
#include "math/ntt.h"
#include "ref/ntt_ref.h"
#include "ref/sanitized.h"

typedef cuzk_status (*transform)(const ntt_domain *, fr *, pool *, const cuzk_control *, const char *, cuzk_error *);

static const struct {
    const char *key;
    transform fn;
} transforms[] = {
    {"fft", ntt_forward}, {"ifft", ntt_inverse}, {"coset_fft", ntt_coset_forward}, {"icoset_fft", ntt_coset_inverse}};

static fr *random_elements(size_t n) {
    fr *a = test_alloc(n * sizeof *a);
    for (size_t i = 0; i < n; i++) {
        fr_canon c = test_scalar();
        fr_from_canon(&a[i], &c);
    }
    return a;
}

static fr *copy_of(const fr *a, size_t n) {
    fr *b = test_alloc(n * sizeof *b);
    memcpy(b, a, n * sizeof *b);
    return b;
}

static ntt_domain *domain_of(unsigned log2, ntt_root root) {
    ntt_domain *d;
    cuzk_error err;
    assert_int_equal(ntt_domain_create(&d, log2, &root, test_pools[2], &err), CUZK_OK);
    return d;
}

static void sha256_le(uint8_t out[32], const fr *a, size_t n) {
    uint8_t *bytes = test_alloc(32 * n);
    for (size_t i = 0; i < n; i++) fr_to_le_bytes(bytes + 32 * i, &a[i]);
    hash_sha256(out, bytes, 32 * n);
    free(bytes);
}

static void golden_file(const char *name, size_t lines_expected) {
    size_t offset = 0, lines = 0;
    json_node *line;
    cuzk_error err;
    for (arena *a; (a = test_next_line(name, &offset, &line)) != NULL; arena_destroy(a), lines++) {
        unsigned log2 = (unsigned)strtoul(json_member(line, "log_n")->text, NULL, 10);
        size_t n = (size_t)1 << log2, versions;
        ntt_domain *d = domain_of(log2, ntt_root_bellman());
        fr omega = ntt_domain_omega(d), want = test_hex_fr(json_member(line, "omega"));
        assert_true(fr_eq(&omega, &want));
        fr *input = test_alloc(n * sizeof *input);
        for (size_t i = 0; i < n; i++) input[i] = test_hex_fr(json_at(json_member(line, "input"), i));
        const struct math_kernels *const *all = math_kernels_all(&versions);
        for (size_t v = 0; v < versions; v++) {
            math_kernels_use(all[v]);
            for (size_t t = 0; t < sizeof transforms / sizeof transforms[0]; t++) {
                fr *x = copy_of(input, n);
                uint8_t got[32], digest[32];
                assert_int_equal(transforms[t].fn(d, x, test_pools[1 + v % 3], NULL, NULL, &err), CUZK_OK);
                const json_node *text = json_member(json_member(line, "sha256_le"), transforms[t].key);
                assert_true(text_unhex(digest, 32, text->text, text->len));
                sha256_le(got, x, n);
                if (memcmp(got, digest, 32) != 0) fail_msg("%s of 2^%u, %s", transforms[t].key, log2, all[v]->isa);
                free(x);
            }
        }
        math_kernels_use(NULL);
        free(input);
        ntt_domain_destroy(d);
    }
    assert_int_equal(lines, lines_expected);
}

static void golden(void **state) {
    (void)state;
    golden_file("ntt.jsonl", 9);
    golden_file("ntt-1024.jsonl", 1);
}

/* Both roots, n = 1 .. 512, against the definition. */
static void definition(void **state) {
    (void)state;
    cuzk_error err;
    for (unsigned log2 = 0; log2 <= 9; log2++) {
        for (int kind = 0; kind < 2; kind++) {
            ntt_root root = kind == 0 ? ntt_root_bellman() : ntt_root_snarkjs();
            size_t n = (size_t)1 << log2;
            ntt_domain *d = domain_of(log2, root);
            fr *in = random_elements(n), *want = test_alloc(n * sizeof *want), *x, one, w = ntt_domain_omega(d);
            fr_set_one(&one);
            ref_dft(want, in, n, &w, &one);
            x = copy_of(in, n);
            assert_int_equal(ntt_forward(d, x, NULL, NULL, NULL, &err), CUZK_OK);
            assert_memory_equal(x, want, n * sizeof *x);
            assert_int_equal(ntt_inverse(d, x, NULL, NULL, NULL, &err), CUZK_OK);
            assert_memory_equal(x, in, n * sizeof *x);
            assert_int_equal(ntt_coset_forward(d, x, NULL, NULL, NULL, &err), CUZK_OK);
            fr *shifted = copy_of(in, n);
            ref_shift(shifted, n, &root.generator);
            ref_dft(want, shifted, n, &w, &one);
            assert_memory_equal(x, want, n * sizeof *x);
            assert_int_equal(ntt_coset_inverse(d, x, NULL, NULL, NULL, &err), CUZK_OK);
            assert_memory_equal(x, in, n * sizeof *x);
            free(in);
            free(want);
            free(x);
            free(shifted);
            ntt_domain_destroy(d);
        }
    }
}

/* Sizes with no, one and several blocks: values at some points by Horner's rule, versions and threads alike, round
 * trips. */
static void large(void **state) {
    (void)state;
    static const unsigned sizes[] = {10, 13, 14, 15, 16, 17};
    cuzk_error err;
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] - (TEST_SANITIZED ? 3 : 0); i++) {
        size_t n = (size_t)1 << sizes[i];
        ntt_root root = ntt_root_bellman();
        ntt_domain *d = domain_of(sizes[i], root);
        fr *in = random_elements(n), *first[4] = {NULL};
        for (size_t v = 0; v < versions; v++) {
            math_kernels_use(all[v]);
            for (unsigned threads = 1; threads <= 3; threads++) {
                for (int t = 0; t < 4; t++) {
                    fr *x = copy_of(in, n);
                    assert_int_equal(transforms[t].fn(d, x, test_pools[threads], NULL, "ntt", &err), CUZK_OK);
                    if (first[t] == NULL) {
                        first[t] = x;
                    } else {
                        assert_memory_equal(x, first[t], n * sizeof *x);
                        free(x);
                    }
                }
            }
        }
        math_kernels_use(NULL);
        for (int sample = 0; sample < 4; sample++) {
            uint64_t at[1] = {sample == 0 ? 0 : chacha_u64(&test_rng) % n};
            fr w = ntt_domain_omega(d), x, value;
            fr_pow(&x, &w, at, 1);
            ref_evaluate(&value, in, n, &x);
            assert_true(fr_eq(&value, &first[0][at[0]]));
            fr_mul(&x, &x, &root.generator);
            ref_evaluate(&value, in, n, &x);
            assert_true(fr_eq(&value, &first[2][at[0]]));
        }
        assert_int_equal(ntt_forward(d, first[1], test_pools[2], NULL, NULL, &err), CUZK_OK);
        assert_memory_equal(first[1], in, n * sizeof *in);
        assert_int_equal(ntt_coset_forward(d, first[3], test_pools[2], NULL, NULL, &err), CUZK_OK);
        assert_memory_equal(first[3], in, n * sizeof *in);
        for (int t = 0; t < 4; t++) free(first[t]);
        free(in);
        ntt_domain_destroy(d);
    }
}

/* a b - c = h (X^n - 1): at a random point when c = a b on the domain; for any a, b, c the quotient is the one that the
 * textbook's seven transforms give. */
static void quotient_case(unsigned log2, bool satisfied, bool canonical, pool *p, ntt_root root) {
    cuzk_error err;
    size_t n = (size_t)1 << log2;
    ntt_domain *d = domain_of(log2, root);
    fr *a = random_elements(n), *b = random_elements(n), *c = random_elements(n);
    fr *h = copy_of(a, n), *hb = copy_of(b, n), *hc = copy_of(c, n), z, one;
    if (satisfied) {
        for (size_t i = 0; i < n; i++) fr_mul(&c[i], &a[i], &b[i]);
        memcpy(hc, c, n * sizeof *hc);
    }
    assert_int_equal(ntt_quotient(d, h, hb, hc, canonical, p, NULL, &err), CUZK_OK);
    if (canonical) {
        for (size_t i = 0; i < n; i++) {
            fr_canon k;
            memcpy(&k, &h[i], sizeof k);
            assert_true(fr_limbs_reduced(k.l));
            fr_from_canon(&h[i], &k);
        }
    }
    ntt_inverse(d, a, p, NULL, NULL, &err);
    ntt_inverse(d, b, p, NULL, NULL, &err);
    ntt_inverse(d, c, p, NULL, NULL, &err);
    fr_set_one(&one);
    if (satisfied) {
        fr_canon random = test_scalar();
        fr x, va, vb, vc, vh;
        fr_from_canon(&x, &random);
        ref_evaluate(&va, a, n, &x);
        ref_evaluate(&vb, b, n, &x);
        ref_evaluate(&vc, c, n, &x);
        ref_evaluate(&vh, h, n, &x);
        fr_mul(&va, &va, &vb);
        fr_sub(&va, &va, &vc);
        z = x;
        for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
        fr_sub(&z, &z, &one);
        fr_mul(&vh, &vh, &z);
        assert_true(fr_eq(&va, &vh));
        assert_true(fr_is_zero(&h[n - 1]));
    }
    ntt_coset_forward(d, a, p, NULL, NULL, &err);
    ntt_coset_forward(d, b, p, NULL, NULL, &err);
    ntt_coset_forward(d, c, p, NULL, NULL, &err);
    z = root.generator;
    for (unsigned i = 0; i < log2; i++) fr_sqr(&z, &z);
    fr_sub(&z, &z, &one);
    fr_inv(&z, &z);
    for (size_t i = 0; i < n; i++) {
        fr_mul(&a[i], &a[i], &b[i]);
        fr_sub(&a[i], &a[i], &c[i]);
        fr_mul(&a[i], &a[i], &z);
    }
    ntt_coset_inverse(d, a, p, NULL, NULL, &err);
    assert_memory_equal(a, h, n * sizeof *a);
    free(a);
    free(b);
    free(c);
    free(h);
    free(hb);
    free(hc);
    ntt_domain_destroy(d);
}

static void quotient(void **state) {
    (void)state;
    static const unsigned sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16};
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    for (size_t v = 0; v < versions; v++) {
        math_kernels_use(all[v]);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] - (TEST_SANITIZED ? 3 : 0); i++) {
            ntt_root root = i % 2 == 0 ? ntt_root_bellman() : ntt_root_snarkjs();
            quotient_case(sizes[i], true, true, test_pools[1 + i % 3], root);
            quotient_case(sizes[i], false, i % 2 == 0, NULL, root);
        }
    }
    math_kernels_use(NULL);
}

/* The extreme values of reduced elements in every place. */
static void extreme_values(void **state) {
    (void)state;
    cuzk_error err;
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    for (unsigned log2 = 1; log2 <= 9; log2 += 2) {
        size_t n = (size_t)1 << log2;
        ntt_domain *d = domain_of(log2, ntt_root_bellman());
        fr w = ntt_domain_omega(d), one, *in = test_alloc(n * sizeof *in), *want = test_alloc(n * sizeof *want);
        fr_set_one(&one);
        for (int pattern = 0; pattern < 4; pattern++) {
            for (size_t i = 0; i < n; i++) { /* limbs of r - 1, 0, 1 */
                fr_canon low = {{pattern == 3}}, c = pattern == 0 || (pattern == 1 && i % 2) ? test_minus_one() : low;
                memcpy(&in[i], &c, sizeof c);
            }
            ref_dft(want, in, n, &w, &one);
            for (size_t v = 0; v < versions; v++) {
                math_kernels_use(all[v]);
                fr *x = copy_of(in, n);
                assert_int_equal(ntt_forward(d, x, NULL, NULL, NULL, &err), CUZK_OK);
                assert_memory_equal(x, want, n * sizeof *x);
                assert_int_equal(ntt_inverse(d, x, NULL, NULL, NULL, &err), CUZK_OK);
                assert_memory_equal(x, in, n * sizeof *x);
                free(x);
            }
            math_kernels_use(NULL);
        }
        free(in);
        free(want);
        ntt_domain_destroy(d);
    }
}

static void memory_and_cancelling(void **state) {
    (void)state;
    cuzk_error err;
    uint64_t before = buffer_class_stats(BUFFER_NTT).live_bytes;
    ntt_domain *d = domain_of(16, ntt_root_bellman());
    assert_true(buffer_class_stats(BUFFER_NTT).live_bytes - before < ntt_domain_bytes(16) + 4096);
    assert_true(buffer_class_stats(BUFFER_NTT).live_bytes - before >= ntt_domain_bytes(16));
    assert_true(ntt_domain_bytes(27) <= ((size_t)1 << 31) + ((size_t)1 << 22));
    assert_int_equal(ntt_domain_log2(d), 16);
    atomic_int stop = 1;
    cuzk_control control = {.cancel = &stop};
    fr *a = random_elements((size_t)1 << 16);
    assert_int_equal(ntt_forward(d, a, test_pools[2], &control, "ntt", &err), CUZK_CANCELLED);
    free(a);
    ntt_domain_destroy(d);
    assert_int_equal(buffer_class_stats(BUFFER_NTT).live_bytes, before);
}

/* The part that is done, which never falls. */
static void note_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
    double *part = user, now = (double)done / (double)total;
    (void)stage;
    assert_true(now >= *part && now <= 1);
    *part = now;
}

static void progress(void **state) {
    (void)state;
    cuzk_error err;
    for (unsigned log2 = 1; log2 <= 17; log2 += 4) {
        size_t n = (size_t)1 << log2;
        ntt_domain *d = domain_of(log2, ntt_root_bellman());
        fr *a = random_elements(n), *b = random_elements(n), *c = random_elements(n);
        double part;
        cuzk_control control = {.progress = note_progress, .user = &part};
        for (size_t t = 0; t < sizeof transforms / sizeof transforms[0]; t++) {
            part = 0;
            assert_int_equal(transforms[t].fn(d, a, test_pools[0], &control, "ntt", &err), CUZK_OK);
            assert_true(part == 1);
        }
        part = 0;
        assert_int_equal(ntt_quotient(d, a, b, c, false, test_pools[0], &control, &err), CUZK_OK);
        assert_true(part == 1);
        free(a);
        free(b);
        free(c);
        ntt_domain_destroy(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),   cmocka_unit_test(definition),     cmocka_unit_test(large),
        cmocka_unit_test(quotient), cmocka_unit_test(extreme_values), cmocka_unit_test(memory_and_cancelling),
        cmocka_unit_test(progress),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
