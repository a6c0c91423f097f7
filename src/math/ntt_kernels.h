/* What a CPU version offers to math/ntt.c (members of math_kernels in math/kernels.h). */
#ifndef CUZK_MATH_NTT_KERNELS_H
#define CUZK_MATH_NTT_KERNELS_H

#include "math/field.h"

/* split and join walk `levels` levels of the tree in math/kernels/ntt_kernels.c, down and up: on 2^levels rows of
 * `columns` neighbours each, `stride` apart, that hold the whole of tree node `node`. */
struct ntt_kernels {
    void (*split)(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node, bool inverse);
    void (*join)(fr *a, size_t stride, unsigned levels, size_t columns, const fr *roots, size_t node, bool inverse);
    void (*scale)(fr *a, const fr *table, const fr *factor, size_t n);            /* a_i *= table_i * factor */
    void (*scale_two)(fr *a, fr *b, const fr *table, const fr *factor, size_t n); /* a and b */
    /* a_i = a_i * table_i * factor - c_i * c_factor */
    void (*combine)(fr *a, const fr *c, const fr *table, const fr *factor, const fr *c_factor, size_t n);
    void (*mul_constant)(fr *r, const fr *a, const fr *factor, size_t n);
    void (*multiply)(fr *r, const fr *b, size_t n); /* r_i *= b_i */
};

#endif
