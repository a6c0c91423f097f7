/* The two fields of BLS12-381: fr (scalars, 4 limbs) and fp (coordinates, 6 limbs).
 *
 * Functions come from math/field_template.h; for F in {fr, fp}:
 *   F_set_zero F_set_one F_is_zero F_is_one F_eq F_add F_sub F_neg F_dbl F_half F_mul F_sqr F_inv F_pow F_sqrt
 * F_batch_inv F_from_u64 F_from_canon F_to_canon F_from_le_bytes F_from_be_bytes F_to_le_bytes F_to_be_bytes
 * F_limbs_reduced Elements are fully reduced Montgomery residues; outputs may alias inputs; from_*_bytes return false
 * for numbers not below the modulus; F_inv(0) = 0. Time depends on the data.
 *
 * A translation unit compiled for CPUs with MULX, ADCX and ADOX (one of math/kernels/) defines CUZK_ISA_ADX and gets
 * assembly products. Everything is static inline, so both kinds live in one program.
 */
#ifndef CUZK_MATH_FIELD_H
#define CUZK_MATH_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/random.h"
#include "math/field_constants.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* unsigned __int128 */
#pragma GCC diagnostic ignored "-Wunused-function"

typedef struct {
    uint64_t l[4];
} fr; /* Montgomery */
typedef struct {
    uint64_t l[4];
} fr_canon; /* a number below r */
typedef struct {
    uint64_t l[6];
} fp;
typedef struct {
    uint64_t l[6];
} fp_canon;

/* For functions of many products, powers, roots, inversions: a call costs nothing beside them, copies cost compile time
 * and instruction cache. */
#define MATH_CALL static __attribute__((noinline, unused))

/* Sums in assembly everywhere on x86-64 except in the portable kernels, which stay plain C so that plain C is tested;
 * products in the kernels for newer CPUs. Not without optimisation: the compiler then wastes the registers that the
 * assembly needs. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(CUZK_ISA_PORTABLE)
#define FIELD_ASM
#if defined(CUZK_ISA_ADX) || defined(CUZK_ISA_FMA) || defined(CUZK_ISA_IFMA)
#define FIELD_ADX
#endif
#include "math/field_x86.h"
#endif

/* 62 division steps on the low words of f (odd) and g: t = (u, v, q, r) with 2^62 (f', g') = (u f + v g, q f + r g).
 * eta is minus the delta of the paper. Runs of zero bits of g are taken at once, and up to six low bits of g are
 * cleared by one addition of a multiple of f while eta allows it. */
static inline int64_t field_divsteps_62_var(int64_t eta, uint64_t f, uint64_t g, int64_t t[4]) {
    uint64_t u = 1, v = 0, q = 0, r = 1;
    int left = 62;
    for (;;) {
        int zeros = __builtin_ctzll(g | UINT64_MAX << left);
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        eta -= zeros;
        left -= zeros;
        if (left == 0) break;
        uint64_t w;
        if (eta < 0) {
            uint64_t x = f, y = u, z = v;
            eta = -eta;
            f = g;
            g = 0 - x;
            u = q;
            q = 0 - y;
            v = r;
            r = 0 - z;
            /* -g/f mod 2^6: f (f^2 - 2) is -1/f mod 64 for odd f. */
            int limit = (int)eta + 1 > left ? left : (int)eta + 1;
            uint64_t mask = (UINT64_MAX >> (64 - limit)) & 63;
            w = (f * g * (f * f - 2)) & mask;
        } else {
            /* -g/f mod 2^4: f + (((f + 1) & 4) << 1) is 1/f mod 16. */
            int limit = (int)eta + 1 > left ? left : (int)eta + 1;
            uint64_t mask = (UINT64_MAX >> (64 - limit)) & 15;
            w = f + (((f + 1) & 4) << 1);
            w = (0 - w * g) & mask;
        }
        g += f * w;
        q += u * w;
        r += v * w;
    }
    t[0] = (int64_t)u;
    t[1] = (int64_t)v;
    t[2] = (int64_t)q;
    t[3] = (int64_t)r;
    return eta;
}

/* Products are inlined in kernels only: elsewhere nothing is hot, and pages of inlined products make slow compilers
 * and, under a sanitizer, very slow ones. */
#if defined(CUZK_ISA) && !defined(FIELD_CALLS) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FIELD_PRODUCT static inline
#else
#define FIELD_PRODUCT MATH_CALL
#endif

/* So are sums of fp in plain C, where they are long, and outside the kernels; those of fr are hot in witnesses, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FR_SUM MATH_CALL
#define FP_SUM MATH_CALL
#elif defined(CUZK_ISA) && (defined(FIELD_ASM) || !defined(FIELD_CALLS))
#define FR_SUM static inline
#define FP_SUM static inline
#else
#define FR_SUM static inline
#define FP_SUM MATH_CALL
#endif

#define FIELD(x) fr_##x
#define FIELD_T fr
#define FIELD_C fr_canon
#define FIELD_LIMBS 4
#define FIELD_CONST(x) FR_##x
#define FIELD_SUM FR_SUM
#include "math/field_template.h"

#define FIELD(x) fp_##x
#define FIELD_T fp
#define FIELD_C fp_canon
#define FIELD_LIMBS 6
#define FIELD_CONST(x) FP_##x
#define FIELD_SUM FP_SUM
#include "math/field_template.h"

/* Uniform from the system's generator, by rejection: 255 bits until the number is below r. */
static inline cuzk_status fr_random(fr *r, cuzk_error *err) {
    fr_canon c;
    do {
        cuzk_status s = random_bytes(&c, sizeof c, err);
        if (s != CUZK_OK) return s;
        c.l[3] &= UINT64_MAX >> 1;
    } while (!fr_limbs_reduced(c.l));
    fr_from_canon(r, &c);
    secure_wipe(&c, sizeof c);
    return CUZK_OK;
}

#pragma GCC diagnostic pop
#endif
