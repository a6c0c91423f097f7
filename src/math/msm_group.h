/* The public functions of math/msm.h for one group; included by math/msm.c only, after defining
 *   MSM_PUBLIC(a, b)  the public name a_g1b       MSM_G(x)  g1_##x       MSM_KERNEL(x)  msm->g1_##x
 *   MSM_AFFINE, MSM_JACOBIAN  the point types
 * All are undefined at the end.
 */

typedef struct {
    const struct math_kernels *kernels;
    const MSM_AFFINE *points;
    const uint32_t *index;
    const fr_canon *scalars;
    size_t n, slot_bytes;
    msm_plan plan;
    MSM_JACOBIAN *sums;
    uint8_t *slots;
} MSM_G(msm_job);

static size_t MSM_G(msm_slot_bytes)(const msm_plan *plan, size_t n) {
    return msm_round(math_kernels()->MSM_KERNEL(window_bytes)(n, plan->bits));
}

static size_t MSM_G(msm_sums_bytes)(const msm_plan *plan) {
    return msm_round(plan->windows * msm_plan_ranges(plan) * sizeof(MSM_JACOBIAN));
}

size_t MSM_PUBLIC(msm, _scratch_bytes)(size_t n, unsigned threads) {
    if (n <= MSM_FEW) return 0;
    msm_plan plan = msm_plan_for(n, threads);
    return MSM_G(msm_sums_bytes)(&plan) + threads * MSM_G(msm_slot_bytes)(&plan, n);
}

static void MSM_G(msm_tile)(void *ctx, size_t tile, unsigned slot) {
    const MSM_G(msm_job) *job = ctx;
    msm_tile_at t = msm_plan_tile(&job->plan, job->n, tile);
    job->kernels->MSM_KERNEL(window)(&job->sums[t.sum], job->index != NULL ? job->points : job->points + t.begin,
                                     job->index != NULL ? job->index + t.begin : NULL, job->scalars + t.begin,
                                     t.end - t.begin, job->plan.bits, t.window, job->slots + slot * job->slot_bytes);
}

static void MSM_G(msm_few)(MSM_JACOBIAN *out, const MSM_AFFINE *points, const uint32_t *index, const fr_canon *scalars,
                           size_t n) {
    MSM_G(set_infinity)(out);
    for (size_t i = 0; i < n; i++) {
        MSM_JACOBIAN term;
        MSM_G(from_affine)(&term, &points[index != NULL ? index[i] : i]);
        MSM_G(mul)(&term, &term, &scalars[i]);
        MSM_G(add)(out, out, &term);
    }
}

cuzk_status MSM_PUBLIC(msm, )(MSM_JACOBIAN *out, const MSM_AFFINE *points, const uint32_t *index,
                              const fr_canon *scalars, size_t n, pool *p, const cuzk_control *control,
                              const char *stage, cuzk_error *err) {
    if (n <= MSM_FEW) {
        MSM_G(msm_few)(out, points, index, scalars, n);
        return CUZK_OK;
    }
    unsigned threads = msm_threads(p);
    MSM_G(msm_job)
    job = {.kernels = math_kernels(),
           .points = points,
           .index = index,
           .scalars = scalars,
           .n = n,
           .plan = msm_plan_for(n, threads)};
    job.slot_bytes = MSM_G(msm_slot_bytes)(&job.plan, n);
    size_t sums_bytes = MSM_G(msm_sums_bytes)(&job.plan);
    buffer scratch;
    cuzk_status s = buffer_alloc(&scratch, BUFFER_MSM_SCRATCH, sums_bytes + threads * job.slot_bytes, err);
    if (s != CUZK_OK) return s;
    job.sums = scratch.data;
    job.slots = (uint8_t *)scratch.data + sums_bytes;
    size_t ranges = msm_plan_ranges(&job.plan);
    for (size_t i = 0; i < job.plan.windows * ranges; i++) MSM_G(set_infinity)(&job.sums[i]);
    s = pool_run(p, control, stage, msm_plan_tiles(&job.plan), MSM_G(msm_tile), &job, err);
    if (s == CUZK_OK) job.kernels->MSM_KERNEL(combine)(out, job.sums, job.plan.windows, ranges, job.plan.bits);
    buffer_free(&scratch);
    return s;
}

size_t MSM_PUBLIC(msm_sum, _scratch_bytes)(size_t n) {
    return n == 0 ? 0 : math_kernels()->MSM_KERNEL(sum_bytes)();
}

void MSM_PUBLIC(msm_sum, )(MSM_JACOBIAN *out, const MSM_AFFINE *points, const uint32_t *index, size_t n,
                           void *scratch) {
    if (n == 0) {
        MSM_G(set_infinity)(out);
        return;
    }
    math_kernels()->MSM_KERNEL(sum)(out, points, index, n, scratch);
}

#undef MSM_PUBLIC
#undef MSM_G
#undef MSM_KERNEL
#undef MSM_AFFINE
#undef MSM_JACOBIAN
