/* A witness on its way to the device: whole, or copy by copy of the circuit's block; see backend/cuda/resident.h.
 *
 * A lazy witness's values are made on all threads for some copies at a time, into one of two pinned buffers, while the
 * other is on its way: the host never holds more than those. */
#include <stdlib.h>

#include "backend/cuda/resident.h"

#define PIECE_BYTES ((uint64_t)256 << 20) /* of a lazy witness, at most, or a copy */
#define PIECES 4                          /* at least, so that making and copying overlap */

/* Copies of one piece, and the bytes of its field elements. */
static uint32_t piece_copies(const shape *s, uint64_t *bytes) {
    shape_view v;
    shape_get_view(s, &v);
    uint64_t copy = v.repeat ? shape_fields(s) / v.repeat * sizeof(fr) : 0;
    uint64_t n = copy ? PIECE_BYTES / copy : v.repeat;
    if (n > (v.repeat + PIECES - 1) / PIECES) n = (v.repeat + PIECES - 1) / PIECES;
    if (n < 1) n = 1;
    *bytes = n * copy;
    return (uint32_t)n;
}

uint64_t upload_tracked_bytes(uint64_t bytes) {
    return (bytes + 4095) & ~(uint64_t)4095;
}

static uint64_t bitmap_bytes(const shape *s) {
    return (shape_counts(s).aux + 63) / 64 * 8;
}

uint64_t upload_witness_bytes(const shape *s) {
    return upload_tracked_bytes(shape_is_lazy(s) ? witness_lazy_bytes(s) : witness_bytes(s));
}

uint64_t upload_piece_bytes(const shape *s, unsigned threads) {
    if (!shape_is_lazy(s)) return 0;
    uint64_t piece;
    piece_copies(s, &piece);
    return upload_tracked_bytes(bitmap_bytes(s)) + 2 * upload_tracked_bytes(piece) +
           witness_each_copy_bytes(s, threads);
}

cuzk_status upload_cancelled(const cuzk_control *control, cuzk_error *err) {
    if (!control || !control->cancel || !atomic_load(control->cancel)) return CUZK_OK;
    return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
}

static cuzk_status upload_lazy(gpu_proof *proof, const witness *w, const shape *s, pool *p, const cuzk_control *control,
                               cuzk_error *err) {
    const gpu_api *api = cuda_module();
    buffer bits = {0}, piece[2] = {{0}};
    bool pinned[2] = {false};
    uint64_t bytes;
    uint32_t step = piece_copies(s, &bytes);
    shape_view v;
    shape_get_view(s, &v);
    cuzk_status st = buffer_alloc(&bits, BUFFER_WITNESS, bitmap_bytes(s), err);
    for (int k = 0; k < 2 && st == CUZK_OK; k++) {
        st = buffer_alloc(&piece[k], BUFFER_WITNESS, bytes, err);
        pinned[k] = st == CUZK_OK && bytes && api->pin(piece[k].data, bytes);
    }
    uint64_t copy_bytes = v.repeat ? bytes / step : 0;
    for (uint32_t first = 0, k = 0; first < v.repeat && st == CUZK_OK; first += step, k = !k) {
        uint32_t n = v.repeat - first < step ? v.repeat - first : step;
        st = witness_fill(w, s, first, n, piece[k].data, bits.data, p, control, err);
        if (st == CUZK_OK && copy_bytes)
            st = api->proof_put(proof, GPU_FIELDS, first * copy_bytes, piece[k].data, n * copy_bytes, err);
    }
    if (st == CUZK_OK && bits.bytes) st = api->proof_put(proof, GPU_BITS, 0, bits.data, bitmap_bytes(s), err);
    if (st == CUZK_OK) st = api->proof_put(proof, GPU_INPUTS, 0, w->inputs, w->n_inputs * sizeof(fr), err);
    cuzk_error ignored;
    if (st != CUZK_OK) (void)api->proof_put(proof, GPU_INPUTS, 0, w->inputs, 0, &ignored); /* waits for the pieces */
    for (int k = 0; k < 2; k++) {
        if (pinned[k]) api->unpin(piece[k].data);
        buffer_free(&piece[k]);
    }
    buffer_free(&bits);
    return st;
}

cuzk_status upload_witness(gpu_proof *proof, const witness *w, const shape *s, pool *p, const cuzk_control *control,
                           cuzk_error *err) {
    if (witness_is_lazy(w)) return upload_lazy(proof, w, s, p, control, err);
    const gpu_api *api = cuda_module();
    cuzk_status st = api->proof_put(proof, GPU_INPUTS, 0, w->inputs, w->n_inputs * sizeof(fr), err);
    if (st == CUZK_OK) st = api->proof_put(proof, GPU_BITS, 0, w->bits, (w->n_aux + 63) / 64 * sizeof(uint64_t), err);
    if (st == CUZK_OK) st = upload_cancelled(control, err);
    if (st == CUZK_OK && w->n_fields)
        st = api->proof_put(proof, GPU_FIELDS, 0, w->fields, w->n_fields * sizeof(fr), err);
    return st;
}
