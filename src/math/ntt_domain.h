/* The inside of an ntt_domain, for math/ntt.c and math/ntt_domain.c. */
#ifndef CUZK_MATH_NTT_DOMAIN_H
#define CUZK_MATH_NTT_DOMAIN_H

#include "base/buffer.h"
#include "math/kernels.h"
#include "math/ntt.h"

/* Position i's power is factor[i >> run_log2] * run[i mod 2^run_log2]. */
typedef struct ntt_powers {
    const fr *run, *factor;
    unsigned run_log2;
} ntt_powers;

struct ntt_domain {
    unsigned log2;
    fr omega, n_inv, vanishing_inv; /* vanishing_inv: 1/(g^n - 1) */
    fr *roots;
    ntt_powers shift, shift_reversed; /* g^i: i in natural order; where i's bits are reversed */
    ntt_powers unshift_reversed;      /* g^-i */
    buffer memory;
};

static inline unsigned ntt_low_log2(unsigned log2) {
    return (log2 + 1) / 2;
}
static inline unsigned ntt_high_log2(unsigned log2) {
    return log2 / 2;
}

/* The lowest `bits` bits of i mirrored, bits <= 32. */
static inline size_t ntt_reverse(size_t i, unsigned bits) {
    uint64_t v = (uint64_t)i;
    if (bits == 0) return 0;
    v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
    v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
    return (size_t)(__builtin_bswap64(v) >> (64 - bits));
}

#endif
