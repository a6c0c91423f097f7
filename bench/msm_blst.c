/* Multi-scalar multiplication against blst's Pippenger: one thread, same process, same data, results compared.
 *
 * bench_msm_blst [log2 of the largest size, 18]. Needs tools/oracles/fetch_blst.sh; says so and succeeds without. Times
 * are the thread's processor time. The scalars are uniform; ratio above 1: ours is faster.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/random.h"
#include "math/kernels.h"
#include "math/msm.h"
#include "ref/blst_oracle.h"

static void *need(void *p) {
    if (p == NULL) abort();
    return p;
}

#define BENCH(G)                                                                                                       \
    static int bench_##G(const blst_oracle *blst, unsigned from, unsigned to) {                                        \
        size_t most = (size_t)1 << to, versions;                                                                       \
        cuzk_error err;                                                                                                \
        G##_affine base, *points = need(malloc(most * sizeof *points));                                                \
        fr_canon *scalars = need(malloc(most * sizeof *scalars));                                                      \
        fixed_base_##G *table;                                                                                         \
        const struct math_kernels *const *all = math_kernels_all(&versions);                                           \
        G##_generator_affine(&base);                                                                                   \
        for (size_t i = 0; i < most; i++) {                                                                            \
            fr x;                                                                                                      \
            if (fr_random(&x, &err) != CUZK_OK) abort();                                                               \
            fr_to_canon(&scalars[i], &x);                                                                              \
        }                                                                                                              \
        if (fixed_base_##G##_create(&table, &base, most, NULL, &err) != CUZK_OK) abort();                              \
        fixed_base_##G##_mul(table, points, scalars, most);                                                            \
        fixed_base_##G##_destroy(table);                                                                               \
        for (size_t i = 0; i < most / 2; i++) { /* scalars that are not the logarithms */                              \
            fr_canon t = scalars[i];                                                                                   \
            scalars[i] = scalars[most - 1 - i];                                                                        \
            scalars[most - 1 - i] = t;                                                                                 \
        }                                                                                                              \
        for (unsigned log2 = from; log2 <= to; log2 += 2) {                                                            \
            size_t n = (size_t)1 << log2;                                                                              \
            G want, got;                                                                                               \
            double t0 = thread_seconds();                                                                              \
            blst_msm_##G(blst, &want, points, scalars, n);                                                             \
            double theirs = thread_seconds() - t0;                                                                     \
            for (size_t v = 0; v < versions; v++) {                                                                    \
                math_kernels_use(all[v]);                                                                              \
                t0 = thread_seconds();                                                                                 \
                if (msm_##G(&got, points, NULL, scalars, n, NULL, NULL, NULL, &err) != CUZK_OK) abort();               \
                double ours = thread_seconds() - t0;                                                                   \
                printf("%-4s 2^%-3u %-9s %10.1f ms %8.3f Mpt/s   blst %10.1f ms   ratio %5.2f  %s\n", #G, log2,        \
                       all[v]->isa, 1e3 * ours, 1e-6 * (double)n / ours, 1e3 * theirs, theirs / ours,                  \
                       G##_eq(&got, &want) ? "equal" : "DIFFERENT");                                                   \
                if (!G##_eq(&got, &want)) return 1;                                                                    \
            }                                                                                                          \
            math_kernels_use(NULL);                                                                                    \
        }                                                                                                              \
        free(points);                                                                                                  \
        free(scalars);                                                                                                 \
        return 0;                                                                                                      \
    }

BENCH(g1)
BENCH(g2)

int main(int argc, char **argv) {
    blst_oracle blst;
    unsigned to = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 18;
    if (!blst_open(&blst, "build/oracles/libblst.so")) {
        printf("bench_msm_blst: no blst; run tools/oracles/fetch_blst.sh first\n");
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (to < 14 || to > 24) to = 18;
    return bench_g1(&blst, 14, to) != 0 || bench_g2(&blst, 14, to > 18 ? 18 : to) != 0;
}
