/* Keys in device memory, their points on the way there and to a file; see gpu.h. */
#include <new>

#include "carry.cuh"
#include "gpu.cuh"
#include "points.cuh"

namespace {
/* One walk gives the places, and with a null base the size. */
size_t place(gpu_key *k, const gpu_key_layout *l, void *base) {
    workspace w = {static_cast<uint8_t *>(base), 0};
    unsigned sections = l->sections;
    if (sections & 1u << GPU_H) k->h = w.take<affine<fp>>(k->n_h);
    if (sections & 1u << GPU_L) k->l = w.take<affine<fp>>(k->n_l);
    if (sections & 1u << GPU_A) k->a = w.take<affine<fp>>(k->n_a);
    if (sections & 1u << GPU_B_G1) k->b_g1 = w.take<affine<fp>>(k->n_b);
    if (sections & 1u << GPU_B_G2) k->b_g2 = w.take<affine<fp2>>(k->n_b);
    if (l->work_bytes) k->work = w.take<uint8_t>(l->work_bytes);
    return w.used;
}
void counts_of(gpu_key *k, const gpu_key_source *src) {
    k->n_h = src->n_h, k->n_l = src->n_l, k->n_a = src->n_a, k->n_b = src->n_b;
    k->encoded = src->encoded, k->subgroup = src->subgroup;
}
} // namespace

uint64_t gpu_key_bytes(const gpu_key_source *src, const gpu_key_layout *layout) {
    gpu_key k = {};
    counts_of(&k, src);
    return place(&k, layout, nullptr);
}

cuzk_status gpu_key_reserve(gpu_key **out, unsigned device, const gpu_key_source *src, const gpu_key_layout *layout,
                            cuzk_error *err) {
    gpu_key *k = new (std::nothrow) gpu_key();
    if (!k) return cuzk_fail(err, CUZK_MEMORY, "no memory for a device key");
    k->device = device;
    k->together = layout->together;
    k->work_bytes = layout->work_bytes;
    counts_of(k, src);
    cuzk_status st = gpu_block_alloc(&k->memory, device, place(k, layout, nullptr), "proving key", err);
    if (st != CUZK_OK) {
        delete k;
        return st;
    }
    place(k, layout, k->memory.data);
    *out = k;
    if (!k->work) return CUZK_OK;
    CUDA_TRY(cudaStreamCreateWithFlags(&k->passes, cudaStreamNonBlocking));
    return CUZK_OK;
}

uint64_t gpu_key_points(const gpu_key *k, gpu_section s) {
    return s == GPU_H ? k->n_h : s == GPU_L ? k->n_l : s == GPU_A ? k->n_a : k->n_b;
}

namespace {

size_t point_bytes(gpu_section s) {
    return carrier_point_bytes(s);
}
uint8_t *section_at(const gpu_key *k, gpu_section s) {
    const void *at[GPU_SECTIONS] = {k->h, k->l, k->a, k->b_g1, k->b_g2};
    return static_cast<uint8_t *>(const_cast<void *>(at[s]));
}

/* A stream with two events and some memory: what moving a key's points needs. */
struct mover {
    cudaStream_t stream = nullptr;
    cudaEvent_t done[2] = {};
    gpu_block memory;
    unsigned turn = 0;
    ~mover() {
        if (stream) cudaStreamSynchronize(stream);
        for (auto &e : done)
            if (e) cudaEventDestroy(e);
        if (stream) cudaStreamDestroy(stream);
        gpu_block_free(&memory);
    }
};

cuzk_status mover_open(mover *m, unsigned device, size_t bytes, const char *what, cuzk_error *err) {
    CUDA_TRY(cudaSetDevice((int)device));
    CUDA_TRY(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    for (auto &e : m->done) CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return gpu_block_alloc(&m->memory, device, bytes, what, err);
}

constexpr uint64_t DECODED_BYTES = (uint64_t)128 << 20; /* at a time */

/* A section to its place. Encoded points are decoded where they lie. */
cuzk_status bring_section(carrier *c, gpu_key *k, gpu_section s, point_marks *marks, cuzk_error *err) {
    uint64_t n = gpu_key_points(k, s), per = DECODED_BYTES / point_bytes(s), count;
    for (uint64_t first = 0; first < n; first += count) {
        count = n - first < per ? n - first : per;
        uint8_t *to = section_at(k, s) + first * point_bytes(s);
        cuzk_status st = carrier_bring(c, s, first, count, to, err);
        if (st == CUZK_OK && k->encoded)
            st = s == GPU_B_G2 ? points_decode_enqueue(reinterpret_cast<affine<fp2> *>(to), count, first, k->subgroup,
                                                       s, marks, c->stream, err)
                               : points_decode_enqueue(reinterpret_cast<affine<fp> *>(to), count, first, k->subgroup, s,
                                                       marks, c->stream, err);
        if (st != CUZK_OK) return st;
    }
    return CUZK_OK;
}

cuzk_status bring_key(gpu_key *k, const gpu_stream *from, gpu_bad_point *bad, cuzk_error *err) {
    mover m;
    point_marks marks;
    cuzk_status st = mover_open(&m, k->device, sizeof marks, "marks of bad points", err);
    if (st != CUZK_OK) return st;
    point_marks *on_device = static_cast<point_marks *>(m.memory.data);
    CUDA_TRY(cudaMemsetAsync(on_device, 0xff, sizeof marks, m.stream));
    carrier c = {};
    st = carrier_open(&c, from, k->device, m.stream, err);
    for (unsigned s = 0; s < GPU_SECTIONS && st == CUZK_OK; s++)
        if (section_at(k, (gpu_section)s)) st = bring_section(&c, k, (gpu_section)s, on_device, err);
    carrier_close(&c);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaMemcpyAsync(&marks, on_device, sizeof marks, cudaMemcpyDeviceToHost, m.stream));
    CUDA_TRY(cudaStreamSynchronize(m.stream));
    point_marks_read(bad, &marks);
    return bad->fault == GPU_POINT_OK ? CUZK_OK : cuzk_fail(err, CUZK_KEY_DAMAGED, "a point of the key is bad");
}

} // namespace

cuzk_status gpu_key_create(gpu_key **out, unsigned device, const gpu_key_source *src, const gpu_key_layout *layout,
                           const gpu_stream *from, gpu_bad_point *bad, cuzk_error *err) {
    gpu_key *k = nullptr;
    *bad = {GPU_H, 0, GPU_POINT_OK};
    cuzk_status st = gpu_key_reserve(&k, device, src, layout, err);
    if (st == CUZK_OK && layout->sections) st = bring_key(k, from, bad, err);
    if (st == CUZK_OK)
        *out = k;
    else
        gpu_key_destroy(k);
    return st;
}

gpu_key_layout gpu_key_layout_of(const gpu_key *k) {
    gpu_key_layout l = {0, k->together, k->work_bytes};
    for (unsigned s = 0; s < GPU_SECTIONS; s++)
        if (section_at(k, (gpu_section)s)) l.sections |= 1u << s;
    return l;
}

void gpu_key_destroy(gpu_key *k) {
    if (!k) return;
    if (k->memory.data) cudaSetDevice((int)k->device);
    if (k->passes) {
        cudaStreamSynchronize(k->passes);
        cudaStreamDestroy(k->passes);
    }
    gpu_block_free(&k->memory);
    delete k;
}

cuzk_status gpu_key_read(const gpu_key *k, gpu_section section, uint64_t first, uint64_t n, void *out,
                         cuzk_error *err) {
    const uint8_t *from = section_at(k, section);
    if (!from) return cuzk_fail(err, CUZK_USAGE, "this section of the key is not on the device");
    CUDA_TRY(cudaSetDevice((int)k->device));
    CUDA_TRY(cudaMemcpy(out, from + first * point_bytes(section), n * point_bytes(section), cudaMemcpyDeviceToHost));
    return CUZK_OK;
}

namespace {

struct leaving { /* a chunk in a buffer, or on its way there */
    gpu_section section;
    uint64_t first, n;
};

cuzk_status encode_to(mover *m, const gpu_key *k, const leaving &c, void *scratch, void *to, cudaEvent_t done,
                      cuzk_error *err) {
    const uint8_t *from = section_at(k, c.section) + c.first * point_bytes(c.section);
    cuzk_status st =
        c.section == GPU_B_G2
            ? points_encode_enqueue(scratch, reinterpret_cast<const affine<fp2> *>(from), c.n, m->stream, err)
            : points_encode_enqueue(scratch, reinterpret_cast<const affine<fp> *>(from), c.n, m->stream, err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaMemcpyAsync(to, scratch, c.n * point_bytes(c.section), cudaMemcpyDeviceToHost, m->stream));
    CUDA_TRY(cudaEventRecord(done, m->stream));
    return CUZK_OK;
}

} // namespace

cuzk_status gpu_key_write(const gpu_key *k, const gpu_sink *to, cuzk_error *err) {
    mover m;
    leaving last = {GPU_H, 0, 0};
    if (gpu_key_layout_of(k).sections != GPU_WHOLE_KEY)
        return cuzk_fail(err, CUZK_USAGE, "the key is not whole on the device");
    cuzk_status st = mover_open(&m, k->device, 2 * to->chunk_bytes, "key on its way to a file", err);
    if (st != CUZK_OK) return st;
    auto write = [&](unsigned b) -> cuzk_status {
        if (last.n == 0) return CUZK_OK;
        CUDA_TRY(cudaEventSynchronize(m.done[b]));
        return to->write(to->user, last.section, last.first, last.n, to->buffer[b], err);
    };
    for (unsigned s = 0; s < GPU_SECTIONS; s++) {
        gpu_section section = (gpu_section)s;
        uint64_t n = gpu_key_points(k, section), per = to->chunk_bytes / point_bytes(section);
        for (uint64_t first = 0; first < n; first += per) {
            unsigned b = m.turn++ & 1;
            leaving now = {section, first, n - first < per ? n - first : per};
            void *scratch = static_cast<uint8_t *>(m.memory.data) + b * to->chunk_bytes;
            st = encode_to(&m, k, now, scratch, to->buffer[b], m.done[b], err);
            if (st == CUZK_OK) st = write(!b);
            if (st != CUZK_OK) return st;
            last = now;
        }
    }
    return write((m.turn - 1) & 1);
}
