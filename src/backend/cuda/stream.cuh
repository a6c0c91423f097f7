/* Sums over sections of a key that are not on the device, of several proofs at once: their points come in chunks, one
 * on its way while the one before is added up for each proof.
 *
 * Copies go by a stream of their own into two places at the start of the work memory; events keep a place from being
 * written while it is read. Results of the chunks are added on the device. */
#ifndef CUZK_CUDA_STREAM_CUH
#define CUZK_CUDA_STREAM_CUH

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
    cudaEvent_t up[2], used[2];
    uint8_t *place[2], *rest;
    uint32_t *bounds;
    size_t rest_bytes;
    unsigned turn;
    bool occupied; /* others have used the work memory since */
};
/* work: free once what is enqueued on `compute` has run. bounds: KEY_STREAM_CHUNKS + 1 numbers of device memory, free
 * at once. marks: set before, on `compute`. */
cuzk_status key_stream_open(key_stream *s, const gpu_stream *source, const gpu_key *k, cudaStream_t compute, void *work,
                            size_t work_bytes, uint32_t *bounds, point_marks *marks, cuzk_error *err);
/* Waits for the copies: the source's buffers are free then. */
void key_stream_close(key_stream *s);

template <class F> struct streamed_sum { /* of one proof */
    const fr *scalars;
    const uint64_t *bits;        /* NULL: none */
    xyzz<F> *bits_sum, *windows; /* zero before */
};
template <class F> struct streamed_query {
    gpu_section section;
    uint32_t n_points;
    const uint32_t *index; /* of the scalars' points, ascending; NULL: scalar i belongs to point i */
    uint32_t n_scalars;
    uint32_t first; /* with mask and n_words as for bit_sum_enqueue */
    ranked_bits mask;
    uint32_t n_words;
    streamed_sum<F> of[GPU_PASS_MOST];
    unsigned n;    /* proofs */
    msm_plan plan; /* out: the windows' number and size */
};
/* Returns when the section has been read and all is enqueued. */
template <class F> cuzk_status key_stream_sum(key_stream *s, streamed_query<F> *q, cuzk_error *err);

#endif
