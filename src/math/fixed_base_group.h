/* The fixed-base functions of math/msm.h for one group; included by math/fixed_base.c only, after defining
 *   FIXED(x)  fixed_base_g1##x     FIXED_G(x)  g1_##x     FIXED_KERNEL(x)  msm->g1_##x     FIXED_AFFINE, FIXED_JACOBIAN
 * All are undefined at the end.
 */

struct FIXED() {
    unsigned bits;
    buffer table;
};

typedef struct {
    const struct math_kernels *kernels;
    unsigned bits;
    FIXED_AFFINE *table;
    FIXED_AFFINE bases[MSM_SCALAR_BITS]; /* 2^(bits w) * base */
} FIXED(_job);

size_t FIXED(_bytes)(size_t expected_scalars) {
    unsigned bits = fixed_bits(expected_scalars);
    return fixed_row_start(bits, msm_digit_windows(bits)) * sizeof(FIXED_AFFINE);
}

static void FIXED(_tile)(void *ctx, size_t tile, unsigned slot) {
    const FIXED(_job) *job = ctx;
    unsigned w = (unsigned)tile;
    (void)slot;
    job->kernels->FIXED_KERNEL(fixed_row)(job->table + fixed_row_start(job->bits, w), &job->bases[w],
                                          msm_digit_buckets(job->bits, w));
}

cuzk_status FIXED(_create)(FIXED() * *out, const FIXED_AFFINE *base, size_t expected_scalars, pool *p,
                           cuzk_error *err) {
    *out = NULL;
    cuzk_status s = CUZK_OK;
    FIXED() *t = calloc(1, sizeof *t);
    FIXED(_job) *job = calloc(1, sizeof *job);
    if (t == NULL || job == NULL) {
        s = cuzk_fail(err, CUZK_MEMORY, "no memory for a fixed-base table");
        goto end;
    }
    t->bits = fixed_bits(expected_scalars);
    s = buffer_alloc(&t->table, BUFFER_SETUP, FIXED(_bytes)(expected_scalars), err);
    if (s != CUZK_OK) goto end;
    unsigned windows = msm_digit_windows(t->bits);
    *job = (FIXED(_job)){.kernels = math_kernels(), .bits = t->bits, .table = t->table.data};
    FIXED_JACOBIAN power;
    FIXED_G(from_affine)(&power, base);
    for (unsigned w = 0; w < windows; w++) {
        FIXED_G(to_affine)(&job->bases[w], &power);
        for (unsigned i = 0; i < t->bits; i++) FIXED_G(dbl)(&power, &power);
    }
    s = pool_run(p, NULL, NULL, windows, FIXED(_tile), job, err);
    if (s != CUZK_OK) goto end;
    *out = t;
    t = NULL;
end:
    free(job);
    FIXED(_destroy)(t);
    return s;
}

void FIXED(_destroy)(FIXED() * t) {
    if (t == NULL) return;
    buffer_free(&t->table);
    free(t);
}

void FIXED(_mul)(const FIXED() * t, FIXED_AFFINE *out, const fr_canon *scalars, size_t n) {
    math_kernels()->FIXED_KERNEL(fixed_mul)(t->table.data, t->bits, out, scalars, n);
}

#undef FIXED
#undef FIXED_G
#undef FIXED_KERNEL
#undef FIXED_AFFINE
#undef FIXED_JACOBIAN
