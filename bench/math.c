/* Speeds of the mathematics, one thread, each CPU version: a table.
 *
 * bench_math [log2 of the largest MSM, 18] [log2 of the largest NTT, 20]. Times are the thread's processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/random.h"
#include "math/kernels.h"
#include "math/msm.h"
#include "math/ntt.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(size_t bytes) {
    void *p = malloc(bytes);
    if (p == NULL) abort();
    return p;
}

static fr *random_fr(size_t n) {
    cuzk_error err;
    fr *a = need(n * sizeof *a);
    for (size_t i = 0; i < n; i++) {
        if (fr_random(&a[i], &err) != CUZK_OK) abort();
    }
    return a;
}

/* ns per operation of `call` over n elements, best of several. */
#define PER_ELEMENT(label, n, call)                                                                                    \
    do {                                                                                                               \
        double best = 1e9;                                                                                             \
        for (int round_ = 0; round_ < 20; round_++) {                                                                  \
            double t0_ = seconds();                                                                                    \
            for (int i_ = 0; i_ < 20; i_++) call;                                                                      \
            double t_ = (seconds() - t0_) / 20;                                                                        \
            if (t_ < best) best = t_;                                                                                  \
        }                                                                                                              \
        printf("%-9s %-28s %10.1f ns\n", k->isa, label, 1e9 * best / (double)(n));                                     \
    } while (0)

static void bench_fields(const struct math_kernels *k) {
    const size_t n = 256;
    fr *a = random_fr(2 * n), *b = a + n;
    fp *x = need(2 * n * sizeof *x), *y = x + n;
    for (size_t i = 0; i < 2 * n; i++) {
        fp_canon c = {{0}};
        memcpy(&c, &a[i], sizeof a[i]);
        fp_from_canon(&x[i], &c);
    }
    PER_ELEMENT("fr multiplication", n, k->field->fr_mul(a, a, b, n));
    PER_ELEMENT("fr addition", n, k->field->fr_add(a, a, b, n));
    PER_ELEMENT("fp multiplication", n, k->field->fp_mul(x, x, y, n));
    PER_ELEMENT("fp addition", n, k->field->fp_add(x, x, y, n));
    PER_ELEMENT("fp inversion", 16, k->field->fp_inv(x, x, 16));
    free(a);
    free(x);
}

#define BENCH_GROUP(G)                                                                                                 \
    static void bench_##G(const struct math_kernels *k, unsigned to) {                                                 \
        size_t most = (size_t)1 << to;                                                                                 \
        cuzk_error err;                                                                                                \
        fr *x = random_fr(most);                                                                                       \
        fr_canon *scalars = need(most * sizeof *scalars);                                                              \
        G##_affine base, *points = need(most * sizeof *points);                                                        \
        fixed_base_##G *table;                                                                                         \
        G out;                                                                                                         \
        k->field->fr_to_canon(scalars, x, most);                                                                       \
        G##_generator_affine(&base);                                                                                   \
        double t0 = seconds();                                                                                         \
        if (fixed_base_##G##_create(&table, &base, 300000, NULL, &err) != CUZK_OK) abort();                            \
        printf("%-9s %-28s %10.1f ms\n", k->isa, #G " fixed-base table", 1e3 * (seconds() - t0));                      \
        t0 = seconds();                                                                                                \
        fixed_base_##G##_mul(table, points, scalars, most);                                                            \
        printf("%-9s %-28s %10.2f us\n", k->isa, #G " fixed-base product", 1e6 * (seconds() - t0) / (double)most);     \
        fixed_base_##G##_destroy(table);                                                                               \
        for (size_t i = 0; i < most; i++) memcpy(&scalars[i], &x[i], sizeof scalars[i]);                               \
        void *scratch = need(msm_sum_##G##_scratch_bytes(most));                                                       \
        t0 = seconds();                                                                                                \
        msm_sum_##G(&out, points, NULL, most, scratch);                                                                \
        printf("%-9s %-28s %10.1f ns\n", k->isa, #G " sum, a point", 1e9 * (seconds() - t0) / (double)most);           \
        free(scratch);                                                                                                 \
        for (unsigned log2 = 14; log2 <= to; log2 += 2) {                                                              \
            size_t n = (size_t)1 << log2;                                                                              \
            char label[40];                                                                                            \
            t0 = seconds();                                                                                            \
            if (msm_##G(&out, points, NULL, scalars, n, NULL, NULL, NULL, &err) != CUZK_OK) abort();                   \
            double t = seconds() - t0;                                                                                 \
            snprintf(label, sizeof label, #G " MSM 2^%u", log2);                                                       \
            printf("%-9s %-28s %10.1f ms %10.3f Mpt/s\n", k->isa, label, 1e3 * t, 1e-6 * (double)n / t);               \
        }                                                                                                              \
        free(x);                                                                                                       \
        free(scalars);                                                                                                 \
        free(points);                                                                                                  \
    }

BENCH_GROUP(g1)
BENCH_GROUP(g2)

static void bench_ntt(const struct math_kernels *k, unsigned to) {
    cuzk_error err;
    ntt_root root = ntt_root_bellman();
    for (unsigned log2 = 16; log2 <= to; log2 += 2) {
        size_t n = (size_t)1 << log2;
        char label[40];
        ntt_domain *d;
        fr *a = random_fr(n), *b = need(2 * n * sizeof *b), *c = b + n;
        memcpy(b, a, n * sizeof *a);
        memcpy(c, a, n * sizeof *a);
        if (ntt_domain_create(&d, log2, &root, NULL, &err) != CUZK_OK) abort();
        double t0 = seconds();
        if (ntt_forward(d, a, NULL, NULL, NULL, &err) != CUZK_OK) abort();
        double t = seconds() - t0;
        snprintf(label, sizeof label, "NTT 2^%u", log2);
        printf("%-9s %-28s %10.1f ms %10.2f ns a butterfly\n", k->isa, label, 1e3 * t,
               1e9 * t / ((double)n / 2 * (double)log2));
        t0 = seconds();
        if (ntt_quotient(d, a, b, c, true, NULL, NULL, &err) != CUZK_OK) abort();
        t = seconds() - t0;
        snprintf(label, sizeof label, "quotient 2^%u", log2);
        printf("%-9s %-28s %10.1f ms %10.2f ns a butterfly\n", k->isa, label, 1e3 * t,
               1e9 * t / (6 * (double)n / 2 * (double)log2));
        ntt_domain_destroy(d);
        free(a);
        free(b);
    }
}

int main(int argc, char **argv) {
    unsigned msm_to = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 18;
    unsigned ntt_to = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (msm_to < 14 || msm_to > 24) msm_to = 18;
    if (ntt_to < 16 || ntt_to > 26) ntt_to = 20;
    for (size_t v = 0; v < versions; v++) {
        math_kernels_use(all[v]);
        bench_fields(all[v]);
        bench_g1(all[v], msm_to);
        bench_g2(all[v], msm_to > 16 ? 16 : msm_to);
        bench_ntt(all[v], ntt_to);
    }
    return 0;
}
