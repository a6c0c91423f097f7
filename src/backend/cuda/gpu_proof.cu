/* One proof in flight: its device memory, its stream, its results; see gpu.h.
 *
 * Order: the witness goes up (kept compact), a, b, c are evaluated there and compared, the quotient is made in place,
 * then the h sum (its sorting and bucket memory is that of a and c, which are no longer needed), then the three queries
 * of the witness: sums over bits, and multi-scalar multiplications over its few field elements. Sections of the key
 * that are not on the device come in chunks meanwhile (stream.cuh).
 */
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "gpu.cuh"
#include "msm.cuh"
#include "stream.cuh"
#include "sums.cuh"

namespace {

constexpr size_t WORK_MIN = (size_t)512 << 20; /* of MSM memory, where a and c are smaller than that */

enum { EV_START, EV_EVAL, EV_NTT, EV_H, EV_L, EV_A, EV_B_G1, EV_B_G2, EVENTS };

/* Results as they lie on the device and, copied, in pinned host memory. */
struct results {
    unsigned long long first_bad;
    point_marks marks; /* of points that were streamed */
    xyzz<fp> h[GPU_MAX_WINDOWS], l[GPU_MAX_WINDOWS], a[GPU_MAX_WINDOWS], b_g1[GPU_MAX_WINDOWS];
    xyzz<fp2> b_g2[GPU_MAX_WINDOWS];
    xyzz<fp> l_bits, a_bits, b_g1_bits;
    xyzz<fp2> b_g2_bits;
};

struct proof_parts {
    results *out;
    fr *inputs, *fields, *scalars, *b, *a, *c;
    uint64_t *bits;
    uint32_t *bounds; /* for sections of the key that are streamed */
    uint8_t *work;    /* overlaps a and c */
    size_t work_bytes, bytes;
};

proof_parts lay_out(uint32_t n_inputs, uint32_t n_words, uint32_t n_fields, uint32_t log2, const uint32_t n_query[3],
                    void *base) {
    proof_parts p;
    workspace w = {static_cast<uint8_t *>(base), 0};
    size_t m = (size_t)1 << log2;
    uint32_t most = n_query[0] > n_query[1] ? n_query[0] : n_query[1];
    if (n_query[2] > most) most = n_query[2];
    p.out = w.take<results>(1);
    p.inputs = w.take<fr>(n_inputs);
    p.bits = w.take<uint64_t>(n_words);
    p.fields = w.take<fr>(n_fields);
    p.scalars = w.take<fr>(most);
    p.bounds = w.take<uint32_t>(KEY_STREAM_CHUNKS + 1);
    p.b = w.take<fr>(m);
    size_t at = w.used;
    p.a = w.take<fr>(m);
    p.c = w.take<fr>(m);
    w.used = (at + 255) & ~(size_t)255;
    p.work_bytes = 2 * m * sizeof(fr) > WORK_MIN ? 2 * m * sizeof(fr) : WORK_MIN;
    /* At least one window of each sum at a time. */
    size_t need[3] = {msm_plan_for<fp>(m - 1, p.work_bytes).bytes, msm_plan_for<fp>(most, p.work_bytes).bytes,
                      msm_plan_for<fp2>(n_query[2], p.work_bytes).bytes};
    for (size_t n : need)
        if (n > p.work_bytes) p.work_bytes = n;
    p.work = w.take<uint8_t>(p.work_bytes);
    p.bytes = w.used;
    return p;
}

__global__ void gather_kernel(fr *scalars, const uint32_t *from, uint32_t n, const fr *inputs, const fr *fields) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t f = from[i];
    scalars[i] = (f & FROM_INPUT ? inputs[f & ~FROM_INPUT] : fields[f]).canon();
}

} // namespace

/* What a proof has from the device beside the borrowed: it passes from an ended proof to the next of its size, because
 * taking and freeing device memory waits for all that runs there. */
struct proof_slot {
    gpu_block memory;
    cudaStream_t stream = nullptr;
    cudaEvent_t event[EVENTS] = {};
    results *host = nullptr; /* pinned */
};

struct gpu_proof : proof_slot {
    proof_parts parts;
    const gpu_shape *shape;
    const gpu_key *key;
    msm_plan plan_h, plan_q[3], plan_b_g2;
};

namespace {

constexpr unsigned MAX_DEVICES = 64, SPARES = 2;
std::mutex slots_lock;
struct device_slots {
    unsigned alive; /* proofs; the last that ends leaves nothing */
    std::vector<proof_slot> spare;
} slots[MAX_DEVICES];

void slot_free(proof_slot *s) {
    if (s->memory.data) cudaSetDevice((int)s->memory.device);
    if (s->stream) cudaStreamDestroy(s->stream);
    for (auto &e : s->event)
        if (e) cudaEventDestroy(e);
    if (s->host) {
        memset((void *)s->host, 0, sizeof *s->host);
        cudaFreeHost(s->host);
    }
    if (s->memory.data) cudaMemset(s->memory.data, 0, s->memory.bytes); /* a witness was there */
    gpu_block_free(&s->memory);
    *s = proof_slot();
}

cuzk_status slot_take(proof_slot *s, unsigned device, size_t bytes, cuzk_error *err) {
    {
        std::lock_guard<std::mutex> hold(slots_lock);
        device_slots *d = &slots[device % MAX_DEVICES];
        d->alive++;
        for (size_t i = 0; i < d->spare.size(); i++) {
            if (d->spare[i].memory.bytes != bytes) continue;
            *s = d->spare[i];
            d->spare.erase(d->spare.begin() + (long)i);
            break;
        }
    }
    CUDA_TRY(cudaSetDevice((int)device));
    if (s->memory.data) return CUZK_OK;
    cuzk_status st = gpu_block_alloc(&s->memory, device, bytes, "proof", err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    for (auto &e : s->event) CUDA_TRY(cudaEventCreate(&e));
    CUDA_TRY(cudaHostAlloc((void **)&s->host, sizeof(results), cudaHostAllocDefault));
    return CUZK_OK;
}

/* healthy: all is there and nothing failed. */
void slot_give(proof_slot *s, unsigned device, bool healthy) {
    std::vector<proof_slot> gone;
    {
        std::lock_guard<std::mutex> hold(slots_lock);
        device_slots *d = &slots[device % MAX_DEVICES];
        d->alive--;
        if (d->alive == 0) gone.swap(d->spare);
        if (healthy && d->alive > 0 && d->spare.size() < SPARES)
            d->spare.push_back(*s);
        else
            gone.push_back(*s);
    }
    for (proof_slot &g : gone) slot_free(&g);
}

} // namespace

bool gpu_proof_drop_spares(unsigned device) {
    std::vector<proof_slot> gone;
    {
        std::lock_guard<std::mutex> hold(slots_lock);
        gone.swap(slots[device % MAX_DEVICES].spare);
    }
    for (proof_slot &g : gone) slot_free(&g);
    return !gone.empty();
}

namespace {

void counts_of(const gpu_shape *s, uint32_t n[3]) {
    for (int k = 0; k < 3; k++) n[k] = s->query[k].n;
}

/* Where a query's points begin for its aux variables, and which of these it has. */
struct query_side {
    gpu_section section;
    uint32_t n_points, first;
    ranked_bits mask;
};

/* Bits and field elements of one query, whose scalars have been gathered: from the device, or streamed. */
template <class F>
cuzk_status query_enqueue(gpu_proof *p, key_stream *stream, const gpu_query *q, const query_side &side,
                          const affine<F> *points, xyzz<F> *bits_sum, xyzz<F> *windows, msm_plan *plan,
                          cuzk_error *err) {
    const gpu_shape *s = p->shape;
    proof_parts *d = &p->parts;
    if (!points) {
        streamed_query<F> t = {side.section, side.n_points, q->point,   q->n,     d->scalars, d->bits,
                               side.first,   side.mask,     s->n_words, bits_sum, windows,    plan};
        return key_stream_sum<F>(stream, &t, err);
    }
    stream->occupied = true;
    cuzk_status st = bit_sum_enqueue<F>(bits_sum, points, side.first, d->bits, side.mask, s->n_words, side.n_points,
                                        d->work, d->work_bytes, p->stream, err);
    if (st != CUZK_OK || q->n == 0) return st;
    return msm_enqueue<F>(*plan, windows, points, q->point, d->scalars, d->work, p->stream, err);
}

void gather(gpu_proof *p, const gpu_query *q) {
    proof_parts *d = &p->parts;
    if (q->n)
        gather_kernel<<<blocks_for(q->n, 256), 256, 0, p->stream>>>(d->scalars, q->field, q->n, d->inputs, d->fields);
}

/* a, b, c and the coefficients of h, in b. */
cuzk_status quotient_enqueue(gpu_proof *p, cuzk_error *err) {
    const gpu_shape *s = p->shape;
    proof_parts *d = &p->parts;
    cudaStream_t stream = p->stream;
    cuzk_status st;
    CUDA_TRY(cudaEventRecord(p->event[EV_START], stream));
    CUDA_TRY(cudaMemsetAsync(d->out, 0, sizeof *d->out, stream));
    CUDA_TRY(cudaMemsetAsync(&d->out->marks, 0xff, sizeof d->out->marks, stream));
    rows_witness rw = {d->inputs, d->bits, d->fields};
    fr *abc[3] = {d->a, d->b, d->c};
    for (int m = 0; m < 3; m++)
        if ((st = rows_enqueue(&s->rows, m, &rw, abc[m], s->log2, stream, err)) != CUZK_OK) return st;
    st = rows_check_enqueue(d->a, d->b, d->c, s->rows.constraints, &d->out->first_bad, stream, err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_EVAL], stream));
    if ((st = ntt_quotient_enqueue(&s->ntt, d->a, d->b, d->c, stream, err)) != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_NTT], stream));
    return CUZK_OK;
}

/* The five sums. */
cuzk_status sums_enqueue(gpu_proof *p, key_stream *from, cuzk_error *err) {
    const gpu_shape *s = p->shape;
    const gpu_key *k = p->key;
    proof_parts *d = &p->parts;
    cudaStream_t stream = p->stream;
    results *out = d->out;
    ranked_bits all = {nullptr, nullptr};
    cuzk_status st;
    if (k->h) {
        from->occupied = true;
        st = msm_enqueue<fp>(p->plan_h, out->h, k->h, nullptr, d->b, d->work, stream, err);
    } else {
        streamed_query<fp> t = {GPU_H, k->n_h, nullptr, k->n_h, d->b, nullptr, 0, all, 0, nullptr, out->h, &p->plan_h};
        st = key_stream_sum<fp>(from, &t, err);
    }
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_H], stream));
    const gpu_query *q = s->query;
    gather(p, &q[0]);
    query_side side = {GPU_L, k->n_l, 0, all};
    st = query_enqueue<fp>(p, from, &q[0], side, k->l, &out->l_bits, out->l, &p->plan_q[0], err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_L], stream));
    gather(p, &q[1]);
    side = {GPU_A, k->n_a, s->n_inputs, s->a_density};
    st = query_enqueue<fp>(p, from, &q[1], side, k->a, &out->a_bits, out->a, &p->plan_q[1], err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_A], stream));
    gather(p, &q[2]);
    side = {GPU_B_G1, k->n_b, s->n_b_inputs, s->b_density};
    st = query_enqueue<fp>(p, from, &q[2], side, k->b_g1, &out->b_g1_bits, out->b_g1, &p->plan_q[2], err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_B_G1], stream));
    side.section = GPU_B_G2; /* the scalars are the same */
    st = query_enqueue<fp2>(p, from, &q[2], side, k->b_g2, &out->b_g2_bits, out->b_g2, &p->plan_b_g2, err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaEventRecord(p->event[EV_B_G2], stream));
    CUDA_TRY(cudaMemcpyAsync(p->host, out, sizeof *out, cudaMemcpyDeviceToHost, stream));
    return CUZK_OK;
}

cuzk_status open_proof(gpu_proof *p, cuzk_error *err) {
    const gpu_shape *s = p->shape;
    uint32_t n[3];
    counts_of(s, n);
    size_t bytes = lay_out(s->n_inputs, s->n_words, s->n_fields, s->log2, n, nullptr).bytes;
    cuzk_status st = slot_take(p, s->memory.device, bytes, err);
    if (st != CUZK_OK) return st;
    p->parts = lay_out(s->n_inputs, s->n_words, s->n_fields, s->log2, n, p->memory.data);
    p->plan_h = msm_plan_for<fp>(((size_t)1 << s->log2) - 1, p->parts.work_bytes);
    for (int k = 0; k < 3; k++) p->plan_q[k] = msm_plan_for<fp>(n[k], p->parts.work_bytes);
    p->plan_b_g2 = msm_plan_for<fp2>(n[2], p->parts.work_bytes);
    return CUZK_OK;
}

} // namespace

void gpu_shape_needs(const gpu_shape *s, uint64_t *shape_bytes, uint64_t *proof_bytes) {
    uint32_t n[3];
    counts_of(s, n);
    *shape_bytes = s->memory.bytes;
    *proof_bytes = lay_out(s->n_inputs, s->n_words, s->n_fields, s->log2, n, nullptr).bytes;
}

uint64_t gpu_proof_bytes(const gpu_shape_source *src) {
    uint32_t n[3] = {src->n_fields, src->n_inputs, src->n_b_inputs}, words = (src->n_aux + 63) / 64;
    for (uint32_t w = 0; w < words; w++) {
        n[1] += (uint32_t)__builtin_popcountll(src->is_field[w] & src->a_density[w]);
        n[2] += (uint32_t)__builtin_popcountll(src->is_field[w] & src->b_density[w]);
    }
    return lay_out(src->n_inputs, words, src->n_fields, src->log2, n, nullptr).bytes;
}

cuzk_status gpu_proof_open(gpu_proof **out, const gpu_shape *s, const gpu_key *k, cuzk_error *err) {
    gpu_proof *p = new (std::nothrow) gpu_proof();
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a proof");
    p->shape = s;
    p->key = k;
    cuzk_status st = open_proof(p, err);
    if (st == CUZK_OK)
        *out = p;
    else
        gpu_proof_destroy(p);
    return st;
}

cuzk_status gpu_proof_put(gpu_proof *p, gpu_witness_part part, uint64_t offset, const void *from, uint64_t bytes,
                          cuzk_error *err) {
    void *to[3] = {p->parts.inputs, p->parts.bits, p->parts.fields};
    CUDA_TRY(cudaSetDevice((int)p->memory.device));
    CUDA_TRY(cudaStreamSynchronize(p->stream));
    CUDA_TRY(
        cudaMemcpyAsync(static_cast<uint8_t *>(to[part]) + offset, from, bytes, cudaMemcpyHostToDevice, p->stream));
    return CUZK_OK;
}

cuzk_status gpu_proof_run(gpu_proof *p, const gpu_stream *source, cuzk_error *err) {
    const gpu_key *k = p->key;
    bool whole = k->h && k->l && k->a && k->b_g1 && k->b_g2;
    key_stream from = {};
    if (!whole && !source) return cuzk_fail(err, CUZK_INTERNAL, "a part of the key is nowhere");
    CUDA_TRY(cudaSetDevice((int)p->memory.device));
    CUDA_TRY(cudaStreamSynchronize(p->stream));
    cuzk_status st = quotient_enqueue(p, err);
    if (st == CUZK_OK && !whole)
        st = key_stream_open(&from, source, k, p->stream, p->parts.work, p->parts.work_bytes, p->parts.bounds,
                             &p->parts.out->marks, err);
    if (st == CUZK_OK) st = sums_enqueue(p, &from, err);
    key_stream_close(&from);
    return st;
}

cuzk_status gpu_proof_wait(gpu_proof *p, gpu_sums *out, cuzk_error *err) {
    CUDA_TRY(cudaSetDevice((int)p->memory.device));
    CUDA_TRY(cudaStreamSynchronize(p->stream));
    double ms[EVENTS] = {};
    for (int e = 1; e < EVENTS; e++) {
        float t;
        CUDA_TRY(cudaEventElapsedTime(&t, p->event[e - 1], p->event[e]));
        ms[e] = t;
    }
    const results *r = p->host;
    out->first_bad = r->first_bad;
    point_marks_read(&out->bad, &r->marks);
    out->h = {p->plan_h.windows, p->plan_h.c, r->h};
    out->l = {p->plan_q[0].windows, p->plan_q[0].c, r->l};
    out->a = {p->plan_q[1].windows, p->plan_q[1].c, r->a};
    out->b_g1 = {p->plan_q[2].windows, p->plan_q[2].c, r->b_g1};
    out->b_g2 = {p->plan_b_g2.windows, p->plan_b_g2.c, r->b_g2};
    out->l_bits = &r->l_bits;
    out->a_bits = &r->a_bits;
    out->b_g1_bits = &r->b_g1_bits;
    out->b_g2_bits = &r->b_g2_bits;
    out->eval = ms[EV_EVAL] / 1e3, out->ntt = ms[EV_NTT] / 1e3, out->msm_h = ms[EV_H] / 1e3,
    out->msm_l = ms[EV_L] / 1e3;
    out->msm_a = ms[EV_A] / 1e3, out->msm_b_g1 = ms[EV_B_G1] / 1e3, out->msm_b_g2 = ms[EV_B_G2] / 1e3;
    return CUZK_OK;
}

void gpu_proof_destroy(gpu_proof *p) {
    if (!p) return;
    unsigned device = p->shape->memory.device;
    cudaSetDevice((int)device);
    bool healthy = p->stream && cudaStreamSynchronize(p->stream) == cudaSuccess && p->host;
    slot_give(p, device, healthy);
    delete p;
}
