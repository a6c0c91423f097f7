/* See carry.cuh. */
#include "carry.cuh"

#include "curve.cuh"

size_t carrier_point_bytes(gpu_section section) {
    return section == GPU_B_G2 ? sizeof(affine<fp2>) : sizeof(affine<fp>);
}

cuzk_status carrier_open(carrier *c, const gpu_stream *from, unsigned device, cudaStream_t stream, cuzk_error *err) {
    c->from = from;
    c->device = device;
    c->stream = stream;
    c->taken.reset(new std::mutex[from->n_buffers]);
    c->sent.assign(from->n_buffers, nullptr);
    for (auto &e : c->sent) CUDA_TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return CUZK_OK;
}

void carrier_close(carrier *c) {
    if (!c->from) return;
    cudaStreamSynchronize(c->stream);
    for (auto e : c->sent)
        if (e) cudaEventDestroy(e);
    c->sent.clear();
    c->from = nullptr;
}

namespace {

struct load { /* one call of carrier_bring */
    carrier *c;
    gpu_section section;
    uint64_t first, n, per; /* per: points of a piece */
    uint8_t *to;
    std::atomic<bool> failed;
    std::mutex lock;
    cuzk_error why; /* of the first piece that failed */
};

cuzk_status carry_piece(load *l, uint64_t at, cuzk_error *err) {
    carrier *c = l->c;
    size_t bytes = carrier_point_bytes(l->section);
    uint64_t n = l->n - at < l->per ? l->n - at : l->per;
    unsigned b = c->turn++ % c->from->n_buffers;
    uint8_t *buffer = c->from->buffers + b * c->from->buffer_bytes;
    std::lock_guard<std::mutex> mine(c->taken[b]);
    CUDA_TRY(cudaSetDevice((int)c->device));
    CUDA_TRY(cudaEventSynchronize(c->sent[b]));
    cuzk_status st = c->from->read(c->from->user, l->section, l->first + at, n, buffer, err);
    if (st != CUZK_OK) return st;
    CUDA_TRY(cudaMemcpyAsync(l->to + at * bytes, buffer, n * bytes, cudaMemcpyHostToDevice, c->stream));
    CUDA_TRY(cudaEventRecord(c->sent[b], c->stream));
    return CUZK_OK;
}

void carry_tile(void *ctx, size_t tile, unsigned) {
    load *l = static_cast<load *>(ctx);
    cuzk_error why;
    if (l->failed || carry_piece(l, tile * l->per, &why) == CUZK_OK) return;
    std::lock_guard<std::mutex> hold(l->lock);
    if (!l->failed) l->why = why;
    l->failed = true;
}

} // namespace

cuzk_status carrier_bring(carrier *c, gpu_section section, uint64_t first, uint64_t n, void *to, cuzk_error *err) {
    load l = {};
    l.c = c;
    l.section = section;
    l.first = first, l.n = n, l.per = c->from->buffer_bytes / carrier_point_bytes(section);
    l.to = static_cast<uint8_t *>(to);
    cuzk_status st = c->from->each(c->from->user, (n + l.per - 1) / l.per, carry_tile, &l, err);
    if (st != CUZK_OK || !l.failed) return st;
    *err = l.why;
    return err->status;
}
