/* See stream.cuh. */
#include "stream.cuh"

namespace {

/* bound[c] = number of indices below c * per, c = 0 … chunks. */
__global__ void bounds_kernel(uint32_t *bound, const uint32_t *index, uint32_t n, uint64_t per, uint32_t chunks) {
    uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c > chunks) return;
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (index[middle] < c * per)
            lo = middle + 1;
        else
            hi = middle;
    }
    bound[c] = lo;
}

template <class F> __global__ void add_windows_kernel(xyzz<F> *to, const xyzz<F> *more, unsigned n) {
    if (threadIdx.x < n) to[threadIdx.x].add(more[threadIdx.x]);
}

/* Points first .. first + n are at *at when what is enqueued on s->compute from now on runs. */
cuzk_status bring(key_stream *s, gpu_section section, uint64_t first, uint64_t n, unsigned *at, cuzk_error *err) {
    unsigned place = *at = s->turn++ & 1;
    CUDA_TRY(cudaStreamWaitEvent(s->copy, s->used[place], 0));
    cuzk_status st = carrier_bring(&s->points, section, first, n, s->place[place], err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(s->there, s->copy));
    CUDA_TRY(cudaStreamWaitEvent(s->compute, s->there, 0));
    return CUZK_OK;
}

/* bound of the scalars with an index. Not in the order of s->compute, which may be a section behind. */
cuzk_status find_bounds(key_stream *s, std::vector<uint32_t> *bound, const uint32_t *index, uint32_t n, uint64_t per,
                        uint32_t chunks, cuzk_error *err) {
    bounds_kernel<<<blocks_for(chunks + 1, 128), 128, 0, s->copy>>>(s->bounds, index, n, per, chunks);
    CUDA_TRY(
        cudaMemcpyAsync(bound->data(), s->bounds, (chunks + 1) * sizeof(uint32_t), cudaMemcpyDeviceToHost, s->copy));
    CUDA_TRY(cudaStreamSynchronize(s->copy));
    return CUZK_OK;
}

/* The work memory behind the places: one chunk's results and scalars, and what its sums need. */
template <class F> struct chunk_room {
    xyzz<F> *part;
    fr *scalars;
    uint8_t *work;
    size_t left;
};
template <class F> chunk_room<F> room(const key_stream *s, const streamed_query<F> *q) {
    workspace w = {s->rest, 0};
    chunk_room<F> r = {};
    r.part = w.take<xyzz<F>>(GPU_MAX_WINDOWS);
    if (q->query) r.scalars = w.take<fr>(q->most);
    r.work = w.take<uint8_t>(0);
    r.left = s->rest_bytes > w.used ? s->rest_bytes - w.used : 0;
    return r;
}

} // namespace

cuzk_status key_stream_open(key_stream *s, const gpu_stream *source, const gpu_key *k, cudaStream_t compute, void *work,
                            size_t work_bytes, uint32_t *bounds, point_marks *marks, cuzk_error *err) {
    workspace w = {static_cast<uint8_t *>(work), 0};
    s->source = source;
    s->compute = compute;
    for (auto &p : s->place) p = w.take<uint8_t>(source->chunk_bytes);
    s->bounds = bounds;
    s->encoded = k->encoded, s->subgroup = k->subgroup;
    s->marks = marks;
    s->rest = w.take<uint8_t>(0);
    if (w.used >= work_bytes) return cuzk_fail(err, CUZK_INTERNAL, "a chunk of the key is larger than its place");
    s->rest_bytes = work_bytes - w.used;
    CUDA_TRY(cudaStreamCreateWithFlags(&s->copy, cudaStreamNonBlocking));
    cuzk_status st = carrier_open(&s->points, source, k->device, s->copy, err);
    if (st != CUZK_OK) return st;
    for (cudaEvent_t *e : {&s->there, &s->used[0], &s->used[1]})
        CUDA_TRY(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    for (auto &e : s->used) CUDA_TRY(cudaEventRecord(e, compute)); /* as long as others use the work memory */
    return CUZK_OK;
}

void key_stream_close(key_stream *s) {
    carrier_close(&s->points);
    for (cudaEvent_t e : {s->there, s->used[0], s->used[1]})
        if (e) cudaEventDestroy(e);
    if (s->copy) cudaStreamDestroy(s->copy);
}

template <class F> cuzk_status key_stream_plan(key_stream *s, streamed_query<F> *q, cuzk_error *err) {
    q->per = s->source->chunk_bytes / sizeof(affine<F>);
    q->chunks = (uint32_t)((q->n_points + q->per - 1) / q->per);
    if (q->chunks > KEY_STREAM_CHUNKS) return cuzk_fail(err, CUZK_INTERNAL, "a section of the key has too many chunks");
    q->bound.resize(q->chunks + 1);
    if (q->query) {
        cuzk_status st = find_bounds(s, &q->bound, q->query->point, q->query->n, q->per, q->chunks, err);
        if (st != CUZK_OK) return st;
    } else {
        for (uint32_t c = 0; c <= q->chunks; c++)
            q->bound[c] = (uint32_t)(c * q->per < q->n_points ? c * q->per : q->n_points);
    }
    q->most = 0;
    for (uint32_t c = 0; c < q->chunks; c++)
        if (q->bound[c + 1] - q->bound[c] > q->most) q->most = q->bound[c + 1] - q->bound[c];
    size_t left = room<F>(s, q).left;
    q->plan = msm_plan_for<F>(q->most, left);
    if (q->plan.bytes <= left && bit_sum_bytes<F>() <= left) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "no room on the device to add up a chunk of the key");
    cuzk_fail_expected(err, "%llu bytes", (unsigned long long)q->plan.bytes);
    return cuzk_fail_found(err, "%llu bytes", (unsigned long long)left);
}

namespace {

/* Points `first` and following, which lie at `here`, times scalars begin .. end of one proof. */
template <class F>
cuzk_status add_chunk(key_stream *s, const streamed_query<F> *q, const streamed_sum<F> &of, const affine<F> *here,
                      uint64_t first, uint64_t n, uint32_t begin, uint32_t end, cuzk_error *err) {
    const chunk_room<F> w = room<F>(s, q);
    /* Numbers stay those of the whole section: the place stands for points from `first` on. */
    const affine<F> *whole =
        reinterpret_cast<const affine<F> *>(reinterpret_cast<uintptr_t>(here) - first * sizeof(affine<F>));
    if (of.bits) {
        cuzk_status st = bit_sum_range_enqueue<F>(of.bits_sum, whole, q->first, of.bits, q->mask, q->n_words,
                                                  (uint32_t)first, (uint32_t)(first + n), w.work, s->compute, err);
        if (st != CUZK_OK) return st;
    }
    msm_plan plan = q->plan;
    plan.n = end - begin;
    if (plan.n == 0) return CUZK_OK;
    if (q->query) gpu_query_gather(w.scalars, q->query, begin, end - begin, of.inputs, of.fields, s->compute);
    cuzk_status st =
        q->query ? msm_enqueue<F>(plan, w.part, whole, q->query->point + begin, w.scalars, w.work, s->compute, err)
                 : msm_enqueue<F>(plan, w.part, here, nullptr, of.scalars + begin, w.work, s->compute, err);
    if (st != CUZK_OK) return st;
    add_windows_kernel<F><<<1, 128, 0, s->compute>>>(of.windows, w.part, plan.windows);
    return CUZK_OK;
}

} // namespace

template <class F> cuzk_status key_stream_add(key_stream *s, const streamed_query<F> *q, uint32_t c, cuzk_error *err) {
    uint64_t first = c * q->per, n = q->n_points - first < q->per ? q->n_points - first : q->per;
    unsigned k;
    cuzk_status st = bring(s, q->section, first, n, &k, err);
    if (st != CUZK_OK) return st;
    affine<F> *here = reinterpret_cast<affine<F> *>(s->place[k]);
    if (s->encoded) st = points_decode_enqueue(here, n, first, s->subgroup, q->section, s->marks, s->compute, err);
    for (unsigned i = 0; i < q->n && st == CUZK_OK; i++)
        st = add_chunk<F>(s, q, q->of[i], here, first, n, q->bound[c], q->bound[c + 1], err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(s->used[k], s->compute));
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

#define INSTANCES(F)                                                                                                   \
    template cuzk_status key_stream_plan<F>(key_stream *, streamed_query<F> *, cuzk_error *);                          \
    template cuzk_status key_stream_add<F>(key_stream *, const streamed_query<F> *, uint32_t, cuzk_error *);
INSTANCES(fp)
INSTANCES(fp2)
