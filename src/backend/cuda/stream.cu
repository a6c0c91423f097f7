/* See stream.cuh. */
#include "stream.cuh"

#include <vector>

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
cuzk_status bring(key_stream *s, gpu_section section, uint64_t first, uint64_t n, size_t point_bytes, unsigned *at,
                  cuzk_error *err) {
    unsigned k = *at = s->turn++ & 1;
    CUDA_TRY(cudaEventSynchronize(s->up[k]));
    cuzk_status st = s->source->read(s->source->user, section, first, n, s->source->buffer[k], err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaStreamWaitEvent(s->copy, s->used[k], 0));
    CUDA_TRY(cudaMemcpyAsync(s->place[k], s->source->buffer[k], n * point_bytes, cudaMemcpyHostToDevice, s->copy));
    CUDA_TRY(cudaEventRecord(s->up[k], s->copy));
    CUDA_TRY(cudaStreamWaitEvent(s->compute, s->up[k], 0));
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

} // namespace

cuzk_status key_stream_open(key_stream *s, const gpu_stream *source, const gpu_key *k, cudaStream_t compute, void *work,
                            size_t work_bytes, uint32_t *bounds, point_marks *marks, cuzk_error *err) {
    workspace w = {static_cast<uint8_t *>(work), 0};
    *s = {};
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
    for (int k = 0; k < 2; k++) {
        CUDA_TRY(cudaEventCreateWithFlags(&s->up[k], cudaEventDisableTiming));
        CUDA_TRY(cudaEventCreateWithFlags(&s->used[k], cudaEventDisableTiming));
    }
    s->occupied = true;
    return CUZK_OK;
}

void key_stream_close(key_stream *s) {
    if (s->copy) cudaStreamSynchronize(s->copy);
    for (int k = 0; k < 2; k++) {
        if (s->up[k]) cudaEventDestroy(s->up[k]);
        if (s->used[k]) cudaEventDestroy(s->used[k]);
    }
    if (s->copy) cudaStreamDestroy(s->copy);
    *s = {};
}

namespace {

/* Where each chunk's scalars begin, and how many the fullest has. */
template <class F>
cuzk_status cut(key_stream *s, const streamed_query<F> *q, uint64_t per, uint32_t chunks, std::vector<uint32_t> *bound,
                uint32_t *most, cuzk_error *err) {
    if (q->index) {
        cuzk_status st = find_bounds(s, bound, q->index, q->n_scalars, per, chunks, err);
        if (st != CUZK_OK) return st;
    } else {
        for (uint32_t c = 0; c <= chunks; c++)
            (*bound)[c] = (uint32_t)(c * per < q->n_scalars ? c * per : q->n_scalars);
    }
    *most = 0;
    for (uint32_t c = 0; c < chunks; c++)
        if ((*bound)[c + 1] - (*bound)[c] > *most) *most = (*bound)[c + 1] - (*bound)[c];
    return CUZK_OK;
}

/* Points first .. first + n, which lie at `here`, times scalars begin .. end of one proof. */
template <class F>
cuzk_status add_chunk(key_stream *s, const streamed_query<F> *q, const streamed_sum<F> &of, const affine<F> *here,
                      uint64_t first, uint64_t n, uint32_t begin, uint32_t end, xyzz<F> *part, uint8_t *work,
                      cuzk_error *err) {
    /* Numbers stay those of the whole section: the place stands for points from `first` on. */
    const affine<F> *whole =
        reinterpret_cast<const affine<F> *>(reinterpret_cast<uintptr_t>(here) - first * sizeof(affine<F>));
    if (of.bits) {
        cuzk_status st = bit_sum_range_enqueue<F>(of.bits_sum, whole, q->first, of.bits, q->mask, q->n_words,
                                                  (uint32_t)first, (uint32_t)(first + n), work, s->compute, err);
        if (st != CUZK_OK) return st;
    }
    msm_plan plan = q->plan;
    plan.n = end - begin;
    if (plan.n == 0) return CUZK_OK;
    cuzk_status st = msm_enqueue<F>(plan, part, q->index ? whole : here, q->index ? q->index + begin : nullptr,
                                    of.scalars + begin, work, s->compute, err);
    if (st != CUZK_OK) return st;
    add_windows_kernel<F><<<1, 128, 0, s->compute>>>(of.windows, part, plan.windows);
    return CUZK_OK;
}

} // namespace

template <class F> cuzk_status key_stream_sum(key_stream *s, streamed_query<F> *q, cuzk_error *err) {
    uint64_t per = s->source->chunk_bytes / sizeof(affine<F>);
    for (int k = 0; k < 2 && s->occupied; k++) CUDA_TRY(cudaEventRecord(s->used[k], s->compute));
    s->occupied = false;
    uint32_t chunks = (uint32_t)((q->n_points + per - 1) / per), most;
    if (chunks > KEY_STREAM_CHUNKS) return cuzk_fail(err, CUZK_INTERNAL, "a section of the key has too many chunks");
    std::vector<uint32_t> bound(chunks + 1);
    workspace w = {s->rest, 0};
    xyzz<F> *part = w.take<xyzz<F>>(GPU_MAX_WINDOWS);
    uint8_t *work = w.take<uint8_t>(0);
    size_t left = s->rest_bytes > w.used ? s->rest_bytes - w.used : 0;
    cuzk_status st = cut<F>(s, q, per, chunks, &bound, &most, err);
    if (st != CUZK_OK) return st;
    q->plan = msm_plan_for<F>(most, left);
    if (q->plan.bytes > left || bit_sum_bytes<F>() > left) {
        cuzk_fail(err, CUZK_MEMORY, "no room on the device to add up a chunk of the key");
        cuzk_fail_expected(err, "%llu bytes", (unsigned long long)q->plan.bytes);
        return cuzk_fail_found(err, "%llu bytes", (unsigned long long)left);
    }
    for (uint32_t c = 0; c < chunks; c++) {
        uint64_t first = c * per, n = q->n_points - first < per ? q->n_points - first : per;
        unsigned k;
        st = bring(s, q->section, first, n, sizeof(affine<F>), &k, err);
        if (st != CUZK_OK) return st;
        affine<F> *here = reinterpret_cast<affine<F> *>(s->place[k]);
        if (s->encoded) st = points_decode_enqueue(here, n, first, s->subgroup, q->section, s->marks, s->compute, err);
        for (unsigned i = 0; i < q->n && st == CUZK_OK; i++)
            st = add_chunk<F>(s, q, q->of[i], here, first, n, bound[c], bound[c + 1], part, work, err);
        if (st != CUZK_OK) return st;
        CUDA_TRY(cudaEventRecord(s->used[k], s->compute));
    }
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

template cuzk_status key_stream_sum<fp>(key_stream *, streamed_query<fp> *, cuzk_error *);
template cuzk_status key_stream_sum<fp2>(key_stream *, streamed_query<fp2> *, cuzk_error *);
