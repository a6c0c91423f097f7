/* Sums over sections of a key that are not on the device, of several proofs at once: their points come in chunks, one
 * on its way while the one before is added up for each proof.
 *
 * Copies go by a stream of their own into two places at the start of the work memory; events keep a place from being
 * written while it is read. Results of the chunks are added on the device. */
#ifndef CUZK_CUDA_STREAM_CUH
#define CUZK_CUDA_STREAM_CUH

#include <vector>

#include "carry.cuh"
#include "gpu.cuh"
#include "msm.cuh"
#include "points.cuh"
#include "sums.cuh"

#define KEY_STREAM_CHUNKS 4096u /* of a section, at most */

struct key_stream {
    const gpu_stream *source;
    bool encoded, subgroup; /* as in gpu_key_source */
    point_marks *marks;
    cudaStream_t compute, copy;
    carrier points;
    cudaEvent_t there, used[2]; /* a whole chunk; what its place was needed for */
    uint8_t *place[2], *rest;
    uint32_t *bounds;
    size_t rest_bytes;
    unsigned turn;
};
/* *s: all zero. work: free once what is enqueued on `compute` until now has run. bounds: KEY_STREAM_CHUNKS + 1 numbers
 * of device memory, free at once. marks: set before, on `compute`. */
cuzk_status key_stream_open(key_stream *s, const gpu_stream *source, const gpu_key *k, cudaStream_t compute, void *work,
                            size_t work_bytes, uint32_t *bounds, point_marks *marks, cuzk_error *err);
/* Waits for the copies: the source's buffers are free then. Once, also after a failed key_stream_open. */
void key_stream_close(key_stream *s);

template <class F> struct streamed_sum { /* of one proof */
    const fr *scalars;                   /* of the points in order, or … */
    const fr *inputs, *fields;           /* … where the query's come from */
    const uint64_t *bits;                /* NULL: none */
    xyzz<F> *bits_sum, *windows;         /* zero before */
};
template <class F> struct streamed_query {
    gpu_section section;
    uint32_t n_points;
    const gpu_query *query; /* NULL: scalar i belongs to point i, and there are no bits */
    uint32_t first;         /* with mask and n_words as for bit_sum_enqueue */
    ranked_bits mask;
    uint32_t n_words;
    streamed_sum<F> of[GPU_PASS_MOST];
    unsigned n; /* proofs */
    /* Made by key_stream_plan. */
    uint32_t chunks;
    uint64_t per;                /* points of a chunk */
    std::vector<uint32_t> bound; /* scalars of chunk c: bound[c] to below bound[c + 1] */
    uint32_t most;               /* scalars of the fullest */
    msm_plan plan;               /* windows' number and size */
};
/* How a section is cut. Waits for the copies. */
template <class F> cuzk_status key_stream_plan(key_stream *s, streamed_query<F> *q, cuzk_error *err);
/* Returns when the chunk has been read and all is enqueued. */
template <class F>
cuzk_status key_stream_add(key_stream *s, const streamed_query<F> *q, uint32_t chunk, cuzk_error *err);

#endif
