/* Inside the device side: memory that is counted, and what shapes and keys hold. */
#ifndef CUZK_CUDA_GPU_CUH
#define CUZK_CUDA_GPU_CUH

#include <mutex>

#include "curve.cuh"
#include "device.cuh"
#include "gpu.h"
#include "ntt.cuh"
#include "rows.cuh"

/* One counted block of device memory. */
struct gpu_block {
    unsigned device = 0;
    void *data = nullptr;
    size_t bytes = 0;
};
/* MEMORY naming need and free bytes when the device has not enough. Sets the calling thread's device. */
cuzk_status gpu_block_alloc(gpu_block *b, unsigned device, size_t bytes, const char *what, cuzk_error *err);
void gpu_block_free(gpu_block *b);
/* Frees what ended proofs left for the next, or waits for those that are being freed; false when there was nothing. */
bool gpu_proof_drop_spares(unsigned device);

/* Field elements of a query: point indices and where their scalars come from. The query's inputs come first, with their
 * own scalars. */
struct gpu_query {
    uint32_t *point, *field; /* n entries each; field: index into the witness's fields, or FROM_INPUT | input */
    uint32_t n;
};
#define FROM_INPUT 0x80000000u
/* Scalars begin .. begin + n of a query, canonical. */
void gpu_query_gather(fr *scalars, const gpu_query *q, uint32_t begin, uint32_t n, const fr *inputs, const fr *fields,
                      cudaStream_t stream);

struct gpu_shape {
    gpu_block memory;
    rows_shape rows;
    ntt_tables ntt;
    ranked_bits a_density, b_density;
    gpu_query query[3]; /* L, A, B */
    uint32_t n_inputs, n_b_inputs, n_aux, n_words, n_fields, log2;
};

/* A key of the source's counts, and room for what the layout says, with nothing in it yet. */
cuzk_status gpu_key_reserve(gpu_key **out, unsigned device, const gpu_key_source *src, const gpu_key_layout *layout,
                            cuzk_error *err);

struct gpu_key { /* sections that are not on the device: NULL */
    gpu_block memory;
    unsigned device, together;
    /* Of a key that is not whole here: its proofs' work memory, and the stream in whose order they use it. */
    uint8_t *work;
    uint64_t work_bytes;
    cudaStream_t passes;
    mutable std::mutex open_lock;
    mutable unsigned open;  /* proofs; the last to end wipes the work memory before another can begin */
    bool encoded, subgroup; /* those that are streamed, as in gpu_key_source */
    const affine<fp> *h, *l, *a, *b_g1;
    const affine<fp2> *b_g2;
    uint32_t n_h, n_l, n_a, n_b;
};
/* Points of a section, wherever they are. */
uint64_t gpu_key_points(const gpu_key *k, gpu_section s);

#endif
