/* The self test's device side; see gpu.h. */
#include <cstring>

#include "gpu.cuh"
#include "msm.cuh"

namespace {

template <class F> struct msm_test {
    msm_plan plan;
    affine<F> *points;
    xyzz<F> *windows;
    uint8_t *work;
};
struct test_parts {
    fr *scalars, *block, *made, *a, *b, *c;
    msm_test<fp> g1;
    msm_test<fp2> g2;
    size_t bytes;
};

template <class F> void place(msm_test<F> *m, workspace *w, uint32_t n) {
    m->plan = msm_plan_for<F>(n, (size_t)512 << 20);
    m->points = w->take<affine<F>>(n);
    m->windows = w->take<xyzz<F>>(GPU_MAX_WINDOWS);
    m->work = w->take<uint8_t>(m->plan.bytes);
}

test_parts lay_out(const gpu_self_test *t, void *base) {
    test_parts p;
    workspace w = {static_cast<uint8_t *>(base), 0};
    size_t m = (size_t)1 << t->log2;
    p.scalars = w.take<fr>(t->n_g1 > t->n_g2 ? t->n_g1 : t->n_g2);
    p.block = w.take<fr>(ntt_table_elements(t->log2));
    p.made = w.take<fr>(ntt_made_elements(t->log2));
    p.a = w.take<fr>(m);
    p.b = w.take<fr>(m);
    p.c = w.take<fr>(m);
    place(&p.g1, &w, t->n_g1);
    place(&p.g2, &w, t->n_g2);
    p.bytes = w.used;
    return p;
}

template <class F>
cuzk_status run_msm(const msm_test<F> *m, void *out, unsigned *windows, unsigned *c, const void *points, size_t n,
                    const fr *scalars, cuzk_error *err) {
    CUDA_TRY(cudaMemcpy(m->points, points, n * sizeof(affine<F>), cudaMemcpyHostToDevice));
    cuzk_status st = msm_enqueue<F>(m->plan, m->windows, m->points, nullptr, scalars, m->work, 0, err);
    if (st != CUZK_OK) return st;
    *windows = m->plan.windows;
    *c = m->plan.c;
    CUDA_TRY(cudaMemcpy(out, m->windows, m->plan.windows * sizeof(xyzz<F>), cudaMemcpyDeviceToHost));
    return CUZK_OK;
}

cuzk_status run(const test_parts *p, gpu_self_test *t, cuzk_error *err) {
    size_t n = t->n_g1 > t->n_g2 ? t->n_g1 : t->n_g2, m = ((size_t)1 << t->log2) * sizeof(fr);
    CUDA_TRY(cudaMemcpy(p->scalars, t->scalars, n * sizeof(fr), cudaMemcpyHostToDevice));
    cuzk_status st = run_msm<fp>(&p->g1, t->g1_windows, &t->g1_n_windows, &t->g1_c, t->g1, t->n_g1, p->scalars, err);
    if (st == CUZK_OK)
        st = run_msm<fp2>(&p->g2, t->g2_windows, &t->g2_n_windows, &t->g2_c, t->g2, t->n_g2, p->scalars, err);
    if (st != CUZK_OK) return st;
    ntt_tables tables;
    CUDA_TRY(cudaMemcpy(p->block, t->ntt_block, ntt_table_elements(t->log2) * sizeof(fr), cudaMemcpyHostToDevice));
    ntt_tables_place(&tables, t->log2, p->block, p->made);
    memcpy(&tables.n_inverse, t->n_inverse, sizeof(fr));
    memcpy(&tables.z_inverse, t->z_inverse, sizeof(fr));
    if ((st = ntt_tables_make(&tables, 0, err)) != CUZK_OK) return st;
    CUDA_TRY(cudaMemcpy(p->a, t->a, m, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(p->b, t->b, m, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(p->c, t->c, m, cudaMemcpyHostToDevice));
    if ((st = ntt_quotient_enqueue(&tables, p->a, p->b, p->c, 0, err)) != CUZK_OK) return st;
    CUDA_TRY(cudaMemcpy(t->quotient, p->b, m, cudaMemcpyDeviceToHost));
    return CUZK_OK;
}

} // namespace

cuzk_status gpu_run_self_test(unsigned device, gpu_self_test *t, cuzk_error *err) {
    gpu_block memory;
    cuzk_status st = gpu_block_alloc(&memory, device, lay_out(t, nullptr).bytes, "self test", err);
    if (st != CUZK_OK) return st;
    test_parts p = lay_out(t, memory.data);
    st = run(&p, t, err);
    gpu_block_free(&memory);
    return st;
}
