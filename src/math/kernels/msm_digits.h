/* Signed digits of scalars, and the sorting of points by digit.
 *
 * With windows of `bits` bits and h = 2^(bits-1), scalar + offset, offset = the sum of h * 2^(bits w) over all windows
 * but the top one, has the plain digits d_w + h; so digit w is in [-h, h) and needs no carry from lower windows. The
 * top window is what is left, unsigned: it takes the carry. (The trick is folklore; e.g. in constant-time combs.)
 * Scalars are below r; nothing is assumed of the points' order, so neither s -> r - s nor an endomorphism may be used.
 */
#ifndef CUZK_MATH_KERNELS_MSM_DIGITS_H
#define CUZK_MATH_KERNELS_MSM_DIGITS_H

#include "math/field.h"

#define MSM_BITS_MAX 17u
#define MSM_SCALAR_BITS 255u
#define MSM_NEGATIVE 0x80000000u
/* Scalars that share an inversion in fixed-base multiplication. */
#define FIXED_BATCH 512u

static inline unsigned msm_digit_windows(unsigned bits) {
    return (MSM_SCALAR_BITS + bits - 1) / bits;
}

/* bits [at, at + count) of v, count < 64. */
static inline uint64_t msm_bits(const uint64_t v[4], unsigned at, unsigned count) {
    unsigned word = at / 64, shift = at % 64;
    uint64_t x = v[word] >> shift;
    if (shift + count > 64 && word < 3) x |= v[word + 1] << (64 - shift);
    return x & ((UINT64_C(1) << count) - 1);
}

/* Largest digit's magnitude in a window. */
static inline uint32_t msm_digit_buckets(unsigned bits, unsigned window) {
    unsigned top = msm_digit_windows(bits) - 1;
    if (window < top) return UINT32_C(1) << (bits - 1);
    return (uint32_t)msm_bits(fr_modulus, top * bits, MSM_SCALAR_BITS - top * bits) + 1;
}

static inline uint32_t msm_digit_buckets_max(unsigned bits) {
    uint32_t top = msm_digit_buckets(bits, msm_digit_windows(bits) - 1), other = UINT32_C(1) << (bits - 1);
    return top > other ? top : other;
}

static inline fr_canon msm_digit_offset(unsigned bits) {
    fr_canon o = {{0}};
    for (unsigned w = 0; w + 1 < msm_digit_windows(bits); w++) {
        unsigned bit = w * bits + bits - 1;
        o.l[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
    return o;
}

static inline int32_t msm_digit(const fr_canon *scalar, const fr_canon *offset, unsigned bits, unsigned window,
                                unsigned windows) {
    uint64_t t[4], carry = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t s = scalar->l[i] + carry;
        carry = s < carry;
        t[i] = s + offset->l[i];
        carry += t[i] < s;
    }
    bool top = window == windows - 1;
    unsigned count = top ? 256 - window * bits : bits;
    int32_t digit = (int32_t)msm_bits(t, window * bits, count);
    return top ? digit : digit - (int32_t)(UINT32_C(1) << (bits - 1));
}

/* Counting sort of the points by |digit|; entries are point numbers (below 2^31), with MSM_NEGATIVE for negative
 * digits. Digit 0 is left out. end: buckets + 1 words; end[b] is one past the entries of digit b + 1. Returns the
 * number of entries. */
static inline uint32_t msm_digit_sort(uint32_t *entries, uint32_t *end, const uint32_t *index, const fr_canon *scalars,
                                      size_t n, unsigned bits, unsigned window) {
    fr_canon offset = msm_digit_offset(bits);
    unsigned windows = msm_digit_windows(bits);
    uint32_t buckets = msm_digit_buckets(bits, window), total = 0;
    memset(end, 0, (buckets + 1) * sizeof *end);
    for (size_t i = 0; i < n; i++) {
        int32_t d = msm_digit(&scalars[i], &offset, bits, window, windows);
        end[d < 0 ? -d : d]++;
    }
    /* end[b] := where digit b + 1 begins; counts of digit 0 (end[0]) are dropped. */
    for (uint32_t b = 0; b < buckets; b++) {
        uint32_t count = end[b + 1];
        end[b] = total;
        total += count;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t d = msm_digit(&scalars[i], &offset, bits, window, windows);
        if (d == 0) continue;
        uint32_t point = index != NULL ? index[i] : (uint32_t)i;
        entries[end[(d < 0 ? -d : d) - 1]++] = d < 0 ? point | MSM_NEGATIVE : point;
    }
    return total;
}

/* Where a window's row begins in a fixed-base table, in points; the row past the last is the table's length. */
static inline size_t fixed_row_start(unsigned bits, unsigned window) {
    if (window == msm_digit_windows(bits)) {
        return ((size_t)(window - 1) << (bits - 1)) + msm_digit_buckets(bits, window - 1);
    }
    return (size_t)window << (bits - 1);
}

#endif
