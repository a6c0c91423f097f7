/* The table of CPU versions.
 *
 * Each source in math/kernels/ is compiled once per CPU version with CUZK_ISA set to portable or adx, and exports one
 * struct of functions named with KERNEL_NAME, so that the versions live side by side in one program. math_kernels() is
 * the best version that this CPU runs (base/cpu.h; the environment can lower it); math_kernels_all() lists every
 * version it can run, for tests.
 *
 * To add a kernel file x: a struct x_kernels, its extern lines below, a member of math_kernels, and the lines in
 * kernels.c. Thread-safe.
 */
#ifndef CUZK_MATH_KERNELS_H
#define CUZK_MATH_KERNELS_H

#include <stddef.h>
#include "math/encoding.h"
#include "math/field.h"
#include "math/msm_kernels.h"
#include "math/ntt_kernels.h"
#include "math/tower.h"

/* Only in kernel sources: KERNEL_NAME(field_kernels) is field_kernels_portable, field_kernels_adx, … */
#ifdef CUZK_ISA
#define KERNEL_PASTE_(a, b) a##_##b
#define KERNEL_PASTE(a, b) KERNEL_PASTE_(a, b)
#define KERNEL_NAME(x) KERNEL_PASTE(x, CUZK_ISA)
#endif

/* Loops over arrays of n elements; r may be a or b, but may not overlap them otherwise. */
struct field_kernels {
    void (*fr_add)(fr *r, const fr *a, const fr *b, size_t n);
    void (*fr_sub)(fr *r, const fr *a, const fr *b, size_t n);
    void (*fr_mul)(fr *r, const fr *a, const fr *b, size_t n);
    void (*fr_sqr)(fr *r, const fr *a, size_t n);
    void (*fr_from_canon)(fr *r, const fr_canon *a, size_t n);
    void (*fr_to_canon)(fr_canon *r, const fr *a, size_t n);
    void (*fr_batch_inv)(fr *a, size_t n, fr *scratch);
    void (*fp_add)(fp *r, const fp *a, const fp *b, size_t n);
    void (*fp_sub)(fp *r, const fp *a, const fp *b, size_t n);
    void (*fp_mul)(fp *r, const fp *a, const fp *b, size_t n);
    void (*fp_sqr)(fp *r, const fp *a, size_t n);
    void (*fp_inv)(fp *r, const fp *a, size_t n);
};

/* math/poseidon.h. trace and out may be NULL. */
struct poseidon_constants;
struct poseidon_kernels {
    void (*permute)(const struct poseidon_constants *k, fr *trace, fr *out, const fr *preimage);
};

/* math/pairing.h */
struct pairing_kernels {
    void (*miller)(fp12 *out, const g1_affine *p, const g2_affine *q, size_t n);
    void (*final_exp)(fp12 *r, const fp12 *a);
};

/* math/encoding.h */
struct encoding_kernels {
    point_status (*g1_decode_compressed)(g1_affine *out, const uint8_t *b, subgroup_check check);
    point_status (*g1_decode_uncompressed)(g1_affine *out, const uint8_t *b, subgroup_check check);
    point_status (*g2_decode_compressed)(g2_affine *out, const uint8_t *b, subgroup_check check);
    point_status (*g2_decode_uncompressed)(g2_affine *out, const uint8_t *b, subgroup_check check);
};

#define KERNEL_VERSION(v)                                                                                              \
    extern const struct field_kernels field_kernels_##v;                                                               \
    extern const struct poseidon_kernels poseidon_kernels_##v;                                                         \
    extern const struct pairing_kernels pairing_kernels_##v;                                                           \
    extern const struct encoding_kernels encoding_kernels_##v;                                                         \
    extern const struct msm_kernels msm_kernels_##v;                                                                   \
    extern const struct ntt_kernels ntt_kernels_##v;
KERNEL_VERSION(portable)
#ifdef CUZK_X86_64
KERNEL_VERSION(adx)
#endif
#ifdef CUZK_HAVE_FMA
extern const struct msm_kernels msm_kernels_fma; /* the rest is adx */
extern const struct ntt_kernels ntt_kernels_fma;
#endif
#ifdef CUZK_HAVE_IFMA
extern const struct msm_kernels msm_kernels_ifma; /* the rest is adx */
#endif
#undef KERNEL_VERSION

struct math_kernels {
    const char *isa; /* "portable", "adx", … */
    const struct field_kernels *field;
    const struct poseidon_kernels *poseidon;
    const struct pairing_kernels *pairing;
    const struct encoding_kernels *encoding;
    const struct msm_kernels *msm;
    const struct ntt_kernels *ntt;
};

/* The best version. Static storage. */
const struct math_kernels *math_kernels(void);
/* Makes math_kernels() answer k from now on (NULL: the best again), for tests and benchmarks of one version. */
void math_kernels_use(const struct math_kernels *k);
/* Every version that this CPU can run, slowest first; *n of them. Static storage. */
const struct math_kernels *const *math_kernels_all(size_t *n);

#endif
