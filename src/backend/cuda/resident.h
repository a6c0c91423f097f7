/* Inside the C side of the CUDA backend: the loaded module, what stays in device memory, and shapes as the device side
 * wants them. */
#ifndef CUZK_BACKEND_CUDA_RESIDENT_H
#define CUZK_BACKEND_CUDA_RESIDENT_H

#include "backend/cuda/backend.h"
#include "backend/cuda/gpu.h"

#define GPU_DEVICES 64 /* the module counts no more */

/* The module's table; NULL when it cannot be used. */
const gpu_api *cuda_module(void);

/* A shape or a key in device memory. */
typedef struct resident {
    unsigned device;
    uint64_t id; /* of the shape or key; 0: free slot */
    bool is_key;
    void *object; /* gpu_shape or gpu_key */
    bool making;  /* by one of the users, without the table's lock */
    unsigned users;
    uint64_t used_at;
} resident;

/* *full is set when it was the device's memory that was short, not the host's. */
typedef cuzk_status (*resident_maker)(void **out, unsigned device, const void *source, bool *full, cuzk_error *err);
/* Finds the object, or makes it, putting out others that nobody uses while memory is short. Others that want it wait
 * for its maker, or until they are cancelled: two proofs never load one key twice. Give it back with resident_give. */
cuzk_status resident_take(resident **out, unsigned device, uint64_t id, bool is_key, resident_maker make,
                          const void *source, const cuzk_control *control, cuzk_error *err);
/* The object when it is there, taken; NULL otherwise, also while it is being made. */
resident *resident_take_present(unsigned device, uint64_t id, bool is_key);
void resident_give(resident *r);            /* accepts NULL */
unsigned resident_users(const resident *r); /* proofs that have taken it */
/* Puts out the least recently used one that nobody uses on the device; false when there is none. */
bool resident_put_out_one(unsigned device);
/* Puts out the device's copy of a key that is about to go. No proof uses it. */
void resident_forget_key(unsigned device, const proving_key *key);

/* The witness to an opened proof; on all threads of p when it is lazy. The cancel flag is looked at between pieces. */
cuzk_status upload_witness(gpu_proof *proof, const witness *w, const shape *s, pool *p, const cuzk_control *control,
                           cuzk_error *err);
/* What a buffer of so many bytes counts: whole pages. */
uint64_t upload_tracked_bytes(uint64_t bytes);
/* Tracked host bytes of a witness of this shape, and of the pieces in which a lazy one is made on its way. */
uint64_t upload_witness_bytes(const shape *s);
uint64_t upload_piece_bytes(const shape *s, unsigned threads);
cuzk_status upload_cancelled(const cuzk_control *control, cuzk_error *err);

/* From windows of XYZZ points (and one to be added; may be NULL) to a sum. */
void cuda_join_g1(g1 *out, const gpu_msm_sum *m, const void *bits);
void cuda_join_g2(g2 *out, const gpu_msm_sum *m, const void *bits);
/* Fills a table block of gpu_ntt_elements(log2) elements. */
void cuda_ntt_block(fr *block, unsigned log2, const ntt_root *root, fr *n_inverse, fr *z_inverse);

/* ---- keys on their way ---- */

/* A key for resident_take: which sections go to the device, and from where. */
typedef struct key_on_device {
    const proving_key *key;
    gpu_key_source source; /* stream_source */
    gpu_key_layout layout;
    pool *p;
    const cuzk_control *control;
} key_on_device;
gpu_key_source stream_source(const proving_key *k);
/* A resident_maker over a key_on_device: reads the points on all threads, from the host's or from the key's file.
 * KEY_DAMAGED as when the CPU converts the key. */
cuzk_status stream_make_key(void **out, unsigned device, const void *source, bool *full, cuzk_error *err);
/* Most bytes for the device: what was set, or its memory less what the driver wants. */
cuzk_status stream_limit(unsigned device, uint64_t *bytes, cuzk_error *err);
/* Where a key's sections lie within the limit beside shape and proofs: so that the fewest bytes a proof are streamed,
 * by one that is alone or by up to at_once that share a pass, if that spares a twentieth; MEMORY with the numbers when
 * shape and one proof alone do not fit. */
cuzk_status stream_layout(gpu_key_layout *out, const gpu_key_source *k, uint64_t shape_bytes,
                          const gpu_proof_size *proof, unsigned at_once, uint64_t limit, cuzk_error *err);
/* Proofs of a device's user that may come at once, as it said; 1 to GPU_PASS_MOST. */
unsigned stream_at_once(unsigned device);
/* Bytes of the sections that are not in the mask. */
uint64_t stream_missing_bytes(const gpu_key_source *k, unsigned sections);
/* Bytes of a chunk of what is streamed, two of which lie in the work memory; *chunks: of each pass, 1 for a whole key.
 */
uint64_t stream_chunk_bytes(const gpu_key_source *k, const gpu_key_layout *layout, unsigned *chunks);
/* … and of the pinned buffers by which a key comes to the device, once or in each pass. */
uint64_t stream_pinned_bytes(const gpu_key_source *k);
/* gpu_proofs_run of proofs of one key, with what is missing of it read for them; one at a time on a device. *held:
 * bytes of pinned memory that stay until pinned_leave, which is called once for each proof with *held not 0. */
cuzk_status stream_run(gpu_proof *const *proofs, unsigned n, unsigned device, const proving_key *key,
                       const gpu_key_layout *layout, uint64_t *held, pool *p, const cuzk_control *control,
                       cuzk_error *err);
/* The device's pinned memory, so many bytes or more, of one user at a time; give it back when it was OK. */
cuzk_status pinned_take(void **data, unsigned device, uint64_t bytes, cuzk_error *err);
/* It stays pinned as long as proofs that came by it have not ended: so many more from now on. Returns its bytes. */
uint64_t pinned_give(unsigned device, unsigned proofs);
void pinned_leave(unsigned device); /* one of them has */
/* stream_run for an opened proof whose witness is there and others of its key and shape that wait for a pass, too.
 * Returns when its pass has ended: what befalls the pass befalls all its proofs, but for being cancelled, which ends a
 * pass when all of them are. *held as in stream_run. Progress is told from this thread or the pool's. */
cuzk_status pass_run(gpu_proof *proof, unsigned device, const proving_key *key, const resident *key_there,
                     const resident *shape_there, uint64_t *held, pool *workers, const cuzk_control *control,
                     cuzk_error *err);
/* KEY_DAMAGED naming section, index and byte. */
cuzk_status stream_bad_point(const proving_key *key, const gpu_bad_point *bad, cuzk_error *err);

/* A development key made on the device (key->recipe), and its shape on the host and there; a resident_maker. */
typedef struct key_making {
    const proving_key *key;
    const shape *shape;
    const gpu_shape *on_device;
} key_making;
cuzk_status setup_make_key(void **out, unsigned device, const void *source, bool *full, cuzk_error *err);

/* A shape as the device side takes it, in place over the shape's own arrays, with what has to be made for it. */
typedef struct shape_source {
    gpu_shape_source gpu;
    buffer made; /* three bitmaps, the inputs in B, the transform's tables */
} shape_source;
cuzk_status shape_source_make(shape_source *s, const shape *sh, const ntt_root *root, cuzk_error *err);
void shape_source_free(shape_source *s);
/* A resident_maker over a shape_on_device. What the device is given is made by whoever sends it alone, since it takes
 * as much memory as a witness. */
typedef struct shape_on_device {
    const shape *shape;
    const ntt_root *root;
} shape_on_device;
cuzk_status resident_make_shape(void **out, unsigned device, const void *source, bool *full, cuzk_error *err);
/* low[i] = scale base^i, i < 2^low_bits; high[i] = base^(i 2^low_bits), as gpu_ntt_elements orders them. Returns the
 * end. */
fr *power_tables(fr *at, unsigned log2, unsigned low_bits, const fr *base, const fr *scale);

#endif
