/* The device side of the CUDA backend, as the C side (backend.c) sees it: shapes and keys in device memory, one proof
 * in flight.
 *
 * Everything crosses as plain bytes in the host's layout (Montgomery residues, affine points). A device fault is a
 * status. Sizes are told before anything is allocated. Objects belong to one device; shapes and keys are read-only
 * after creation and may be used by several proofs at once. Device memory is counted per device (gpu_memory).
 */
#ifndef CUZK_CUDA_GPU_H
#define CUZK_CUDA_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---- */
unsigned gpu_count(void);
typedef struct gpu_facts {
    char name[96];
    uint64_t memory_bytes, free_bytes;
    unsigned major, minor, multiprocessors;
} gpu_facts;
cuzk_status gpu_info(unsigned device, gpu_facts *out, cuzk_error *err);
/* Live and peak bytes that this module holds on the device. */
void gpu_memory(unsigned device, uint64_t *live, uint64_t *peak);
void gpu_memory_reset_peak(unsigned device);
/* Most bytes that this module may hold on the device; 0: as many as there are. */
void gpu_memory_limit(unsigned device, uint64_t bytes);

/* ---- shapes ---- */
typedef struct gpu_matrix_source {
    const uint32_t *row_end, *vars;
    const void *coeffs;
    uint64_t nnz;
} gpu_matrix_source;
typedef struct gpu_segment_source {
    uint64_t first_row, rows;
    uint32_t copies, first_aux, aux, first_input, inputs;
    gpu_matrix_source matrix[3];
    uint32_t n_params; /* of each copy, see r1cs/shape.h */
    const uint32_t *params;
} gpu_segment_source;
typedef struct gpu_shape_source {
    gpu_segment_source segment[3];
    const void *coeff_table; /* 32 bytes each */
    uint32_t coeff_count, coeff_width;
    uint64_t constraints;
    uint32_t n_inputs, n_aux, n_fields, log2;
    const uint64_t *is_field, *a_density, *b_density; /* (n_aux + 63) / 64 words each */
    const uint32_t *b_inputs;                         /* inputs that occur in B, ascending */
    uint32_t n_b_inputs;
    const void *ntt_block; /* gpu_ntt_elements(log2) elements of 32 bytes, in ntt_table_elements' order, ntt.cuh */
    uint8_t n_inverse[32], z_inverse[32];
} gpu_shape_source;
typedef struct gpu_shape gpu_shape;
size_t gpu_ntt_elements(unsigned log2);
unsigned gpu_ntt_low_bits(void);
uint64_t gpu_shape_bytes(const gpu_shape_source *src);
cuzk_status gpu_shape_create(gpu_shape **out, unsigned device, const gpu_shape_source *src, cuzk_error *err);
void gpu_shape_destroy(gpu_shape *s);
/* Device bytes of a proof in flight: its own, and work memory, which proofs of a key that is not whole on the device
 * have in common. */
typedef struct gpu_proof_size {
    uint64_t own, work;
} gpu_proof_size;
/* Bytes that it holds, and those of a proof. */
void gpu_shape_needs(const gpu_shape *s, uint64_t *shape_bytes, gpu_proof_size *proof);

/* ---- keys ---- */
typedef struct gpu_key_source {
    uint32_t n_h, n_l, n_a, n_b;
    bool encoded;  /* the points come as a .params file has them: the device decodes and checks them (range, curve) */
    bool subgroup; /* … and that they are in the subgroup */
} gpu_key_source;
typedef enum { GPU_H, GPU_L, GPU_A, GPU_B_G1, GPU_B_G2, GPU_SECTIONS } gpu_section;
#define GPU_WHOLE_KEY ((1u << GPU_SECTIONS) - 1)
/* Where points come from, and threads that bring them. */
typedef void (*gpu_tile)(void *ctx, size_t tile, unsigned slot);
typedef struct gpu_stream {
    /* Points first .. first + n of a section to `to`, 96 bytes a point, b_g2 192. By several threads at once. */
    cuzk_status (*read)(void *user, gpu_section section, uint64_t first, uint64_t n, void *to, cuzk_error *err);
    /* Calls `tile` with all numbers below `tiles`, on as many threads as there are; returns when none of them is in it
     * any more. Not OK: some were left out, since nobody wants them. */
    cuzk_status (*each)(void *user, size_t tiles, gpu_tile tile, void *ctx, cuzk_error *err);
    void *user;
    uint8_t *buffers; /* pinned: n_buffers of buffer_bytes */
    unsigned n_buffers;
    uint64_t buffer_bytes;
    uint64_t chunk_bytes; /* of a section that is streamed: what the device adds up at a time */
} gpu_stream;
/* What is wrong with an encoded point; up to ..._NOT_IN_SUBGROUP as point_status of math/encoding.h. */
typedef enum {
    GPU_POINT_OK,
    GPU_POINT_BAD_FLAGS,
    GPU_POINT_RANGE,
    GPU_POINT_NOT_ON_CURVE,
    GPU_POINT_NOT_IN_SUBGROUP,
    GPU_POINT_IDENTITY
} gpu_point_fault;
typedef struct gpu_bad_point { /* the first of the key, in the order of sections */
    gpu_section section;
    uint64_t index;
    gpu_point_fault fault; /* GPU_POINT_OK: none */
} gpu_bad_point;
typedef struct gpu_key gpu_key;
/* How a key lies. Proofs stream the sections that are not on the device. */
typedef struct gpu_key_layout {
    unsigned sections;   /* on the device: a mask of 1 << GPU_H, … */
    unsigned together;   /* proofs that are expected to share a pass over the others; 1 for a whole key */
    uint64_t work_bytes; /* which the key holds for all its proofs; 0 for a whole key, whose proofs have their own */
} gpu_key_layout;
uint64_t gpu_key_bytes(const gpu_key_source *src, const gpu_key_layout *layout);
/* from may be NULL when no section is to lie there. KEY_DAMAGED with *bad filled. */
cuzk_status gpu_key_create(gpu_key **out, unsigned device, const gpu_key_source *src, const gpu_key_layout *layout,
                           const gpu_stream *from, gpu_bad_point *bad, cuzk_error *err);
void gpu_key_destroy(gpu_key *k); /* no proof uses it any more */
gpu_key_layout gpu_key_layout_of(const gpu_key *k);

/* A development key made on the device. Field elements are Montgomery residues of 32 bytes. */
typedef struct gpu_setup_source {
    uint8_t alpha[32], beta[32], tau[32], gamma_inverse[32], delta_inverse[32];
    uint8_t lagrange_scale[32]; /* (tau^m - 1) / m */
    uint8_t h_scale[32];        /* (tau^m - 1) / delta */
    uint8_t r_squared[32];      /* the number 2^512 mod r */
    const void *tau_block;      /* low and high powers of tau as in gpu_ntt_elements' order: tau^i, i < 2^low_bits; then
                                   tau^(i 2^low_bits) */
    uint64_t tau_elements;
    const void *g1, *g2; /* generators, affine */
    const uint64_t *a_density, *b_density;
    const uint32_t *b_inputs;
    uint32_t n_b_inputs;
    void *ic_out; /* n_inputs points of G1 */
} gpu_setup_source;
cuzk_status gpu_setup(gpu_key **out, const gpu_shape *s, const gpu_setup_source *src, cuzk_error *err);
/* Device bytes of the work, beside shape and key. */
uint64_t gpu_setup_bytes(uint32_t n_inputs, uint32_t n_aux, uint32_t log2);
/* Points of a section that is on the device back to the host, affine. */
cuzk_status gpu_key_read(const gpu_key *k, gpu_section section, uint64_t first, uint64_t n, void *out, cuzk_error *err);
/* Where points go: `write` takes them from one of the two pinned buffers, while the device fills the other. */
typedef struct gpu_sink {
    cuzk_status (*write)(void *user, gpu_section section, uint64_t first, uint64_t n, const void *from,
                         cuzk_error *err);
    void *user;
    void *buffer[2];
    uint64_t chunk_bytes;
} gpu_sink;
/* All points of a key that is whole on the device, section after section in the form of a .params file. Takes two
 * chunks of device memory meanwhile. */
cuzk_status gpu_key_write(const gpu_key *k, const gpu_sink *to, cuzk_error *err);

/* ---- proofs ---- */
/* The parts of a witness, and the bytes of a whole one: n_inputs * 32, n_words * 8, n_fields * 32. */
typedef enum { GPU_INPUTS, GPU_BITS, GPU_FIELDS } gpu_witness_part;

#define GPU_MAX_WINDOWS 72
typedef struct gpu_msm_sum { /* sum over w of 2^(c w) windows[w]; XYZZ points of 192 (G1) or 384 (G2) bytes */
    unsigned windows, c;
    const void *data;
} gpu_msm_sum;
typedef struct gpu_sums {
    uint64_t first_bad; /* row with a b != c, UINT64_MAX when satisfied */
    gpu_bad_point bad;  /* of the points that were streamed */
    gpu_msm_sum h, l, a, b_g1, b_g2;
    const void *l_bits, *a_bits, *b_g1_bits, *b_g2_bits; /* one XYZZ point each, to be added */
    /* Seconds on the device, for all proofs of a pass, but for eval and ntt; streamed: all sections that were. */
    double eval, ntt, msm_h, msm_l, msm_a, msm_b_g1, msm_b_g2, streamed;
} gpu_sums;
typedef struct gpu_proof gpu_proof;
/* Device bytes of one proof in flight, from the shape's counts alone. */
gpu_proof_size gpu_proof_size_of(const gpu_shape_source *src);
/* Takes the proof's memory. Shape and key (which belongs to the shape) are borrowed until the proof is destroyed. */
cuzk_status gpu_proof_open(gpu_proof **out, const gpu_shape *s, const gpu_key *k, cuzk_error *err);
/* A piece of the witness goes to the device. From ordinary memory it has been read on return; from pinned memory
 * (gpu_pin) when the next call for this proof returns. */
cuzk_status gpu_proof_put(gpu_proof *p, gpu_witness_part part, uint64_t offset_bytes, const void *from, uint64_t bytes,
                          cuzk_error *err);
/* Enqueues everything and returns; the witnesses have been read, and so have the sections of the key that are streamed
 * (it takes as long as they take). One proof whose key is whole, without a stream; or up to GPU_PASS_MOST proofs of one
 * key that is not, which share the pass over the rest: one such call at a time for a key. Once for a proof. */
#define GPU_PASS_MOST 4u
cuzk_status gpu_proofs_run(gpu_proof *const *proofs, unsigned n, const gpu_stream *stream, cuzk_error *err);
/* Waits. The sums are owned by the proof. */
cuzk_status gpu_proof_wait(gpu_proof *p, gpu_sums *out, cuzk_error *err);
void gpu_proof_destroy(gpu_proof *p); /* waits for its kernels first; accepts NULL */
/* Host memory that copies reach directly; false: it stays as it is, and copies are slower. */
bool gpu_pin(void *data, uint64_t bytes);
void gpu_unpin(void *data);

/* ---- self test ---- */
/* Sums of scalars (canonical) times points, and the quotient of a, b, c, as a proof computes them; for known answers.
 * windows: room for GPU_MAX_WINDOWS XYZZ points. */
typedef struct gpu_self_test {
    const void *g1, *g2; /* n_g1, n_g2 affine points */
    const void *scalars; /* of 32 bytes, as many as points of the longer list */
    uint32_t n_g1, n_g2;
    void *g1_windows, *g2_windows;
    unsigned g1_n_windows, g1_c, g2_n_windows, g2_c; /* filled in */
    unsigned log2;
    const void *ntt_block, *n_inverse, *z_inverse; /* as in gpu_shape_source */
    const void *a, *b, *c;                         /* 2^log2 elements each */
    void *quotient;
} gpu_self_test;
cuzk_status gpu_run_self_test(unsigned device, gpu_self_test *t, cuzk_error *err);

/* For tests of faults: the n-th call of the CUDA runtime from now on fails for lack of memory, or as a fault of the
 * device (once); 0: none does. */
void gpu_fail_at(unsigned n, bool memory);

/* ---- the module ---- */
/* libcuzk-cuda.so exports cuzk_gpu_api(); the program loads it when it is there, so that one program runs on hosts with
 * and without a driver. */
#define GPU_API_VERSION 5u
typedef struct gpu_api {
    uint32_t version; /* GPU_API_VERSION */
    unsigned (*count)(void);
    cuzk_status (*info)(unsigned, gpu_facts *, cuzk_error *);
    void (*memory)(unsigned, uint64_t *, uint64_t *);
    void (*memory_reset_peak)(unsigned);
    void (*memory_limit)(unsigned, uint64_t);
    size_t (*ntt_elements)(unsigned);
    unsigned (*ntt_low_bits)(void);
    uint64_t (*shape_bytes)(const gpu_shape_source *);
    cuzk_status (*shape_create)(gpu_shape **, unsigned, const gpu_shape_source *, cuzk_error *);
    void (*shape_destroy)(gpu_shape *);
    void (*shape_needs)(const gpu_shape *, uint64_t *, gpu_proof_size *);
    uint64_t (*key_bytes)(const gpu_key_source *, const gpu_key_layout *);
    cuzk_status (*key_create)(gpu_key **, unsigned, const gpu_key_source *, const gpu_key_layout *, const gpu_stream *,
                              gpu_bad_point *, cuzk_error *);
    void (*key_destroy)(gpu_key *);
    gpu_key_layout (*key_layout)(const gpu_key *);
    cuzk_status (*setup)(gpu_key **, const gpu_shape *, const gpu_setup_source *, cuzk_error *);
    uint64_t (*setup_bytes)(uint32_t, uint32_t, uint32_t);
    cuzk_status (*key_read)(const gpu_key *, gpu_section, uint64_t, uint64_t, void *, cuzk_error *);
    cuzk_status (*key_write)(const gpu_key *, const gpu_sink *, cuzk_error *);
    gpu_proof_size (*proof_size)(const gpu_shape_source *);
    cuzk_status (*proof_open)(gpu_proof **, const gpu_shape *, const gpu_key *, cuzk_error *);
    cuzk_status (*proof_put)(gpu_proof *, gpu_witness_part, uint64_t, const void *, uint64_t, cuzk_error *);
    cuzk_status (*proofs_run)(gpu_proof *const *, unsigned, const gpu_stream *, cuzk_error *);
    cuzk_status (*proof_wait)(gpu_proof *, gpu_sums *, cuzk_error *);
    void (*proof_destroy)(gpu_proof *);
    bool (*pin)(void *, uint64_t);
    void (*unpin)(void *);
    cuzk_status (*self_test)(unsigned, gpu_self_test *, cuzk_error *);
    void (*fail_at)(unsigned, bool);
} gpu_api;
typedef const gpu_api *(*gpu_api_entry)(void);
#define GPU_API_ENTRY "cuzk_gpu_api"

#ifdef __cplusplus
}
#endif
#endif
