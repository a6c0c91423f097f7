/* blst's multi-scalar multiplication by dlopen, when tools/oracles/fetch_blst.sh has built it: an outside oracle.
 *
 * Its points have the same memory form as ours (Montgomery with R = 2^384, Jacobian or affine), its scalars are 32
 * little-endian bytes.
 */
#ifndef CUZK_TESTS_REF_BLST_ORACLE_H
#define CUZK_TESTS_REF_BLST_ORACLE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "math/curve.h"

typedef size_t (*blst_scratch_fn)(size_t n);
typedef void (*blst_g1_fn)(g1 *out, const g1_affine *const points[], size_t n, const uint8_t *const scalars[],
                           size_t bits, void *scratch);
typedef void (*blst_g2_fn)(g2 *out, const g2_affine *const points[], size_t n, const uint8_t *const scalars[],
                           size_t bits, void *scratch);

typedef struct blst_oracle {
    blst_scratch_fn g1_scratch, g2_scratch;
    blst_g1_fn g1_msm;
    blst_g2_fn g2_msm;
} blst_oracle;

static inline bool blst_symbol(void *library, const char *name, void *fn, size_t size) {
    void *p = dlsym(library, name);
    memcpy(fn, &p, size); /* ISO C has no cast from object to function pointers */
    return p != NULL;
}

/* CUZK_BLST names the library; else `fallback`. False when it is not there. */
static inline bool blst_open(blst_oracle *o, const char *fallback) {
    const char *path = getenv("CUZK_BLST");
    void *l = dlopen(path != NULL ? path : fallback, RTLD_NOW | RTLD_LOCAL);
    if (l == NULL) return false;
    return blst_symbol(l, "blst_p1s_mult_pippenger_scratch_sizeof", &o->g1_scratch, sizeof o->g1_scratch) &&
           blst_symbol(l, "blst_p2s_mult_pippenger_scratch_sizeof", &o->g2_scratch, sizeof o->g2_scratch) &&
           blst_symbol(l, "blst_p1s_mult_pippenger", &o->g1_msm, sizeof o->g1_msm) &&
           blst_symbol(l, "blst_p2s_mult_pippenger", &o->g2_msm, sizeof o->g2_msm);
}

static inline void blst_msm_g1(const blst_oracle *o, g1 *out, const g1_affine *points, const fr_canon *scalars,
                               size_t n) {
    const g1_affine *const p[] = {points, NULL};
    const uint8_t *const s[] = {(const uint8_t *)scalars, NULL};
    void *scratch = malloc(o->g1_scratch(n));
    o->g1_msm(out, p, n, s, 255, scratch);
    free(scratch);
}

static inline void blst_msm_g2(const blst_oracle *o, g2 *out, const g2_affine *points, const fr_canon *scalars,
                               size_t n) {
    const g2_affine *const p[] = {points, NULL};
    const uint8_t *const s[] = {(const uint8_t *)scalars, NULL};
    void *scratch = malloc(o->g2_scratch(n));
    o->g2_msm(out, p, n, s, 255, scratch);
    free(scratch);
}

/* Processor time of this thread: waiting for a busy machine does not count. */
static inline double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
