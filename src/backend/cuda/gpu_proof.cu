/* Proofs in flight: their device memory, streams, results; see gpu.h.
 *
 * Order: the witness goes up (kept compact), a, b, c are evaluated there and compared, the quotient is made in place,
 * then the h sum (its sorting and bucket memory is that of a and c, which are no longer needed), then the three queries
 * of the witness: sums over bits, and multi-scalar multiplications over its few field elements.
 *
 * Sections of the key that are not on the device come in chunks meanwhile (stream.cuh), for several proofs at once:
 * their quotients are made one after the other, since they have the work memory in common, then each sum for all.
 */
#include <algorithm>
#include <condition_variable>
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

enum { EV_START, EV_EVAL, EV_NTT, EV_SUMS, EV_H, EV_L, EV_A, EV_B_G1, EV_B_G2, EV_STREAMED, EV_DONE, EVENTS };

/* The queries of the witness; B's in G2 has the scalars of that in G1. */
enum { L, A, B_G1, G1_QUERIES, B_G2 = G1_QUERIES };
template <class F> struct query_sums { xyzz<F> bits, windows[GPU_MAX_WINDOWS]; };
/* Results as they lie on the device and, copied, in pinned host memory. */
struct results {
    unsigned long long first_bad;
    point_marks marks; /* of points that were streamed */
    xyzz<fp> h[GPU_MAX_WINDOWS];
    query_sums<fp> query[G1_QUERIES];
    query_sums<fp2> b_g2;
};
template <class F> query_sums<F> *query_of(results *r, int k);
template <> query_sums<fp> *query_of<fp>(results *r, int k) {
    return &r->query[k];
}
template <> query_sums<fp2> *query_of<fp2>(results *r, int) {
    return &r->b_g2;
}

struct proof_parts {
    results *out;
    fr *inputs, *fields, *scalars, *b, *a, *c;
    uint64_t *bits;
    uint32_t *bounds; /* for sections of the key that are streamed */
    uint8_t *work;    /* overlaps a and c */
    size_t work_bytes, own_bytes;
};

/* The proof's own parts from base on, and then, unless it lies elsewhere (work), the work memory. */
proof_parts lay_out(uint32_t n_inputs, uint32_t n_words, uint32_t n_fields, uint32_t log2, const uint32_t n_query[3],
                    void *base, void *work) {
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
    p.work = w.take<uint8_t>(0);
    p.own_bytes = w.used;
    if (work) p.work = static_cast<uint8_t *>(work);
    w = {p.work, 0};
    p.a = w.take<fr>(m);
    p.c = w.take<fr>(m);
    p.work_bytes = w.used > WORK_MIN ? w.used : WORK_MIN;
    /* At least one window of each sum at a time. */
    size_t need[3] = {msm_plan_for<fp>(m - 1, p.work_bytes).bytes, msm_plan_for<fp>(most, p.work_bytes).bytes,
                      msm_plan_for<fp2>(n_query[2], p.work_bytes).bytes};
    for (size_t n : need)
        if (n > p.work_bytes) p.work_bytes = n;
    return p;
}

__global__ void gather_kernel(fr *scalars, const uint32_t *from, uint32_t n, const fr *inputs, const fr *fields) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t f = from[i];
    scalars[i] = (f & FROM_INPUT ? inputs[f & ~FROM_INPUT] : fields[f]).canon();
}

} // namespace

void gpu_query_gather(fr *scalars, const gpu_query *q, uint32_t begin, uint32_t n, const fr *inputs, const fr *fields,
                      cudaStream_t stream) {
    gather_kernel<<<blocks_for(n, 256), 256, 0, stream>>>(scalars, q->field + begin, n, inputs, fields);
}

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
    cudaStream_t runs;                        /* its own stream or the key's, once anything was enqueued there … */
    bool enqueued;                            /* … and when that is all, EV_DONE comes after it */
    msm_plan plan_h, plan_of[G1_QUERIES + 1]; /* by query, L … B_G2 */
};

namespace {

constexpr unsigned MAX_DEVICES = 64, SPARES = 2;
std::mutex slots_lock;
std::condition_variable slots_freed;
struct device_slots {
    unsigned alive;   /* proofs; the last that ends leaves nothing */
    unsigned leaving; /* threads that free slots, without the lock */
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

/* What was taken out of the books; `leaving` counts this thread. */
void slots_free(std::vector<proof_slot> *gone, device_slots *d) {
    for (proof_slot &g : *gone) slot_free(&g);
    std::lock_guard<std::mutex> hold(slots_lock);
    d->leaving--;
    slots_freed.notify_all();
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
    device_slots *d = &slots[device % MAX_DEVICES];
    {
        std::lock_guard<std::mutex> hold(slots_lock);
        d->alive--;
        d->leaving++;
        if (d->alive == 0) gone.swap(d->spare);
        if (healthy && d->alive > 0 && d->spare.size() < SPARES)
            d->spare.push_back(*s);
        else
            gone.push_back(*s);
    }
    slots_free(&gone, d);
}

} // namespace

bool gpu_proof_drop_spares(unsigned device) {
    std::vector<proof_slot> gone;
    device_slots *d = &slots[device % MAX_DEVICES];
    {
        /* Who planned counts an ended proof's memory as free at once; others may be freeing it just now. */
        std::unique_lock<std::mutex> hold(slots_lock);
        bool any = d->leaving > 0 || !d->spare.empty();
        slots_freed.wait(hold, [d] { return d->leaving == 0; });
        if (d->spare.empty()) return any;
        gone.swap(d->spare);
        d->leaving++;
    }
    slots_free(&gone, d);
    return true;
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

/* What is enqueued together: one proof, or several that share a pass over what is missing of their key. */
struct run {
    gpu_proof *const *proofs;
    unsigned n;
    const gpu_shape *shape;
    const gpu_key *key;
    cudaStream_t stream;
    key_stream from;
};

cuzk_status record(run *r, int event, cuzk_error *err) {
    for (unsigned i = 0; i < r->n; i++) CUDA_TRY(cudaEventRecord(r->proofs[i]->event[event], r->stream));
    return CUZK_OK;
}

/* Bits and field elements of one query. */
template <class F>
cuzk_status query_enqueue(run *r, int query, const query_side &side, const affine<F> *points, cuzk_error *err) {
    const gpu_shape *s = r->shape;
    const gpu_query *q = &s->query[query == B_G2 ? B_G1 : query];
    for (unsigned i = 0; i < r->n; i++) {
        const proof_parts &d = r->proofs[i]->parts;
        query_sums<F> *to = query_of<F>(d.out, query);
        cuzk_status st = bit_sum_enqueue<F>(&to->bits, points, side.first, d.bits, side.mask, s->n_words, side.n_points,
                                            d.work, d.work_bytes, r->stream, err);
        if (st == CUZK_OK && q->n) {
            gpu_query_gather(d.scalars, q, 0, q->n, d.inputs, d.fields, r->stream);
            st = msm_enqueue<F>(r->proofs[i]->plan_of[query], to->windows, points, q->point, d.scalars, d.work,
                                r->stream, err);
        }
        if (st != CUZK_OK) return st;
    }
    return CUZK_OK;
}

/* a, b, c and the coefficients of h, in b. */
cuzk_status quotient_enqueue(gpu_proof *p, cuzk_error *err) {
    const gpu_shape *s = p->shape;
    proof_parts *d = &p->parts;
    cudaStream_t stream = p->runs;
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

cuzk_status h_enqueue(run *r, cuzk_error *err) {
    cuzk_status st = CUZK_OK;
    for (unsigned i = 0; i < r->n && st == CUZK_OK; i++) {
        const proof_parts &d = r->proofs[i]->parts;
        st = msm_enqueue<fp>(r->proofs[i]->plan_h, d.out->h, r->key->h, nullptr, d.b, d.work, r->stream, err);
    }
    return st;
}

query_side side_of(const run *r, int query) {
    const gpu_shape *s = r->shape;
    const gpu_key *k = r->key;
    if (query == L) return {GPU_L, k->n_l, 0, {nullptr, nullptr}};
    if (query == A) return {GPU_A, k->n_a, s->n_inputs, s->a_density};
    return {query == B_G1 ? GPU_B_G1 : GPU_B_G2, k->n_b, s->n_b_inputs, s->b_density};
}

/* Sums over the sections that lie on the device. */
cuzk_status resident_enqueue(run *r, cuzk_error *err) {
    const gpu_key *k = r->key;
    const affine<fp> *g1[G1_QUERIES] = {k->l, k->a, k->b_g1};
    cuzk_status st = record(r, EV_SUMS, err);
    if (st == CUZK_OK && k->h) st = h_enqueue(r, err);
    if (st == CUZK_OK) st = record(r, EV_H, err);
    for (int q = L; q < G1_QUERIES && st == CUZK_OK; q++) {
        if (g1[q]) st = query_enqueue<fp>(r, q, side_of(r, q), g1[q], err);
        if (st == CUZK_OK) st = record(r, EV_L + q, err);
    }
    if (st == CUZK_OK && k->b_g2) st = query_enqueue<fp2>(r, B_G2, side_of(r, B_G2), k->b_g2, err);
    if (st == CUZK_OK) st = record(r, EV_B_G2, err);
    return st;
}

/* ---- sections that are streamed ---- */

struct next_chunk {
    double at; /* of its section, 0 to 1 */
    int query; /* H_QUERY, L … B_G2 */
    uint32_t chunk;
};
constexpr int H_QUERY = -1;

template <class F>
cuzk_status plan_section(run *r, streamed_query<F> *t, int query, std::vector<next_chunk> *order, cuzk_error *err) {
    if (query == H_QUERY) {
        t->section = GPU_H, t->n_points = r->key->n_h;
    } else {
        query_side side = side_of(r, query);
        t->section = side.section, t->n_points = side.n_points, t->first = side.first, t->mask = side.mask;
        t->query = &r->shape->query[query == B_G2 ? B_G1 : query];
        t->n_words = r->shape->n_words;
    }
    cuzk_status st = key_stream_plan<F>(&r->from, t, err);
    if (st != CUZK_OK) return st;
    for (uint32_t c = 0; c < t->chunks; c++) order->push_back({(c + 0.5) / t->chunks, query, c});
    for (t->n = 0; t->n < r->n; t->n++) {
        const proof_parts &d = r->proofs[t->n]->parts;
        if (query == H_QUERY) continue;
        query_sums<F> *to = query_of<F>(d.out, query);
        t->of[t->n] = {nullptr, d.inputs, d.fields, d.bits, &to->bits, to->windows};
        r->proofs[t->n]->plan_of[query] = t->plan;
    }
    return CUZK_OK;
}

cuzk_status plan_h_section(run *r, streamed_query<fp> *t, std::vector<next_chunk> *order, cuzk_error *err) {
    cuzk_status st = plan_section<fp>(r, t, H_QUERY, order, err);
    for (unsigned i = 0; i < r->n && st == CUZK_OK; i++) {
        const proof_parts &d = r->proofs[i]->parts;
        t->of[i] = {d.b, nullptr, nullptr, nullptr, nullptr, d.out->h};
        r->proofs[i]->plan_h = t->plan;
    }
    return st;
}

cuzk_status streamed_enqueue(run *r, cuzk_error *err) {
    const gpu_key *k = r->key;
    const affine<fp> *g1[G1_QUERIES] = {k->l, k->a, k->b_g1};
    streamed_query<fp> h = {}, query[G1_QUERIES] = {};
    streamed_query<fp2> b_g2 = {};
    std::vector<next_chunk> order;
    cuzk_status st = k->h ? CUZK_OK : plan_h_section(r, &h, &order, err);
    for (int q = L; q < G1_QUERIES && st == CUZK_OK; q++)
        if (!g1[q]) st = plan_section<fp>(r, &query[q], q, &order, err);
    if (st == CUZK_OK && !k->b_g2) st = plan_section<fp2>(r, &b_g2, B_G2, &order, err);
    std::stable_sort(order.begin(), order.end(), [](const next_chunk &a, const next_chunk &b) { return a.at < b.at; });
    for (const next_chunk &c : order) {
        if (st != CUZK_OK) return st;
        st = c.query == B_G2      ? key_stream_add<fp2>(&r->from, &b_g2, c.chunk, err)
             : c.query == H_QUERY ? key_stream_add<fp>(&r->from, &h, c.chunk, err)
                                  : key_stream_add<fp>(&r->from, &query[c.query], c.chunk, err);
    }
    return st;
}

/* ---- the whole ---- */

/* The results on their way to the host. Points that were streamed have left their marks with the first proof, which may
 * be gone as soon as it counts as done. */
cuzk_status results_enqueue(run *r, cuzk_error *err) {
    for (unsigned i = 0; i < r->n; i++) {
        results *out = r->proofs[i]->parts.out;
        if (i)
            CUDA_TRY(cudaMemcpyAsync(&out->marks, &r->proofs[0]->parts.out->marks, sizeof out->marks,
                                     cudaMemcpyDeviceToDevice, r->stream));
        CUDA_TRY(cudaMemcpyAsync(r->proofs[i]->host, out, sizeof *out, cudaMemcpyDeviceToHost, r->stream));
    }
    cuzk_status st = record(r, EV_DONE, err);
    for (unsigned i = 0; i < r->n && st == CUZK_OK; i++) r->proofs[i]->enqueued = true;
    return st;
}

proof_parts parts_of(const gpu_shape *s, void *base, void *work) {
    uint32_t n[3];
    counts_of(s, n);
    return lay_out(s->n_inputs, s->n_words, s->n_fields, s->log2, n, base, work);
}

cuzk_status open_proof(gpu_proof *p, cuzk_error *err) {
    const gpu_shape *s = p->shape;
    void *work = p->key->work;
    proof_parts d = parts_of(s, nullptr, work);
    cuzk_status st = slot_take(p, s->memory.device, d.own_bytes + (work ? 0 : d.work_bytes), err);
    if (st != CUZK_OK) return st;
    p->parts = d = parts_of(s, p->memory.data, work);
    p->plan_h = msm_plan_for<fp>(((size_t)1 << s->log2) - 1, d.work_bytes);
    for (int k = L; k < G1_QUERIES; k++) p->plan_of[k] = msm_plan_for<fp>(s->query[k].n, d.work_bytes);
    p->plan_of[B_G2] = msm_plan_for<fp2>(s->query[B_G1].n, d.work_bytes);
    return CUZK_OK;
}

} // namespace

void gpu_shape_needs(const gpu_shape *s, uint64_t *shape_bytes, gpu_proof_size *proof) {
    proof_parts d = parts_of(s, nullptr, nullptr);
    *shape_bytes = s->memory.bytes;
    *proof = {d.own_bytes, d.work_bytes};
}

gpu_proof_size gpu_proof_size_of(const gpu_shape_source *src) {
    uint32_t n[3] = {src->n_fields, src->n_inputs, src->n_b_inputs}, words = (src->n_aux + 63) / 64;
    for (uint32_t w = 0; w < words; w++) {
        n[1] += (uint32_t)__builtin_popcountll(src->is_field[w] & src->a_density[w]);
        n[2] += (uint32_t)__builtin_popcountll(src->is_field[w] & src->b_density[w]);
    }
    proof_parts d = lay_out(src->n_inputs, words, src->n_fields, src->log2, n, nullptr, nullptr);
    return {d.own_bytes, d.work_bytes};
}

cuzk_status gpu_proof_open(gpu_proof **out, const gpu_shape *s, const gpu_key *k, cuzk_error *err) {
    if (k->work && k->work_bytes < parts_of(s, nullptr, nullptr).work_bytes)
        return cuzk_fail(err, CUZK_INTERNAL, "the device's key is of another circuit");
    gpu_proof *p = new (std::nothrow) gpu_proof();
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a proof");
    p->shape = s;
    p->key = k;
    {
        std::lock_guard<std::mutex> hold(k->open_lock);
        k->open++;
    }
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

cuzk_status gpu_proofs_run(gpu_proof *const *proofs, unsigned n, const gpu_stream *source, cuzk_error *err) {
    run r = {};
    r.proofs = proofs, r.n = n;
    r.shape = proofs[0]->shape, r.key = proofs[0]->key;
    bool whole = !r.key->work;
    bool same = n <= (whole ? 1 : GPU_PASS_MOST) && whole == !source;
    for (unsigned i = 0; i < n && same; i++) same = proofs[i]->shape == r.shape && proofs[i]->key == r.key;
    if (!same) return cuzk_fail(err, CUZK_INTERNAL, "proofs that cannot be made together");
    r.stream = whole ? proofs[0]->stream : r.key->passes;
    CUDA_TRY(cudaSetDevice((int)proofs[0]->memory.device));
    cuzk_status st = CUZK_OK;
    for (unsigned i = 0; i < n && st == CUZK_OK; i++) {
        CUDA_TRY(cudaStreamSynchronize(proofs[i]->stream)); /* its witness is there */
        proofs[i]->runs = r.stream;
        st = quotient_enqueue(proofs[i], err);
    }
    if (st == CUZK_OK) st = resident_enqueue(&r, err);
    if (st == CUZK_OK && !whole)
        st = key_stream_open(&r.from, source, r.key, r.stream, r.key->work, r.key->work_bytes, proofs[0]->parts.bounds,
                             &proofs[0]->parts.out->marks, err);
    if (st == CUZK_OK && !whole) st = streamed_enqueue(&r, err);
    if (st == CUZK_OK) st = record(&r, EV_STREAMED, err);
    if (st == CUZK_OK) st = results_enqueue(&r, err);
    key_stream_close(&r.from);
    return st;
}

cuzk_status gpu_proof_wait(gpu_proof *p, gpu_sums *out, cuzk_error *err) {
    CUDA_TRY(cudaSetDevice((int)p->memory.device));
    CUDA_TRY(cudaEventSynchronize(p->event[EV_DONE]));
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
    out->l = {p->plan_of[L].windows, p->plan_of[L].c, r->query[L].windows};
    out->a = {p->plan_of[A].windows, p->plan_of[A].c, r->query[A].windows};
    out->b_g1 = {p->plan_of[B_G1].windows, p->plan_of[B_G1].c, r->query[B_G1].windows};
    out->b_g2 = {p->plan_of[B_G2].windows, p->plan_of[B_G2].c, r->b_g2.windows};
    out->l_bits = &r->query[L].bits;
    out->a_bits = &r->query[A].bits;
    out->b_g1_bits = &r->query[B_G1].bits;
    out->b_g2_bits = &r->b_g2.bits;
    out->streamed = ms[EV_STREAMED] / 1e3;
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
    /* The key's stream goes on with proofs that came after this one. */
    if (p->runs)
        healthy &=
            (p->enqueued ? cudaEventSynchronize(p->event[EV_DONE]) : cudaStreamSynchronize(p->runs)) == cudaSuccess;
    {
        const gpu_key *k = p->key;
        std::lock_guard<std::mutex> hold(k->open_lock);
        if (--k->open == 0 && k->work) cudaMemsetAsync(k->work, 0, k->work_bytes, k->passes);
    }
    slot_give(p, device, healthy);
    delete p;
}
