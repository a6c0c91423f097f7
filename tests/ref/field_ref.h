/* A prime field the slow and obvious way: canonical numbers, sums with one comparison, products by doubling and adding
 * bit by bit, powers by squaring. The moduli are spelled in hex here, independent of the constants under test. */
#ifndef CUZK_TESTS_REF_FIELD_REF_H
#define CUZK_TESTS_REF_FIELD_REF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t l[6];
} ref_num; /* unused upper limbs are 0 */

/* limbs is 4 (fr) or 6 (fp). */
ref_num ref_modulus(int limbs);
ref_num ref_from_hex(const char *hex);
int ref_compare(const ref_num *a, const ref_num *b);
bool ref_is_zero(const ref_num *a);
ref_num ref_add(const ref_num *a, const ref_num *b, int limbs);
ref_num ref_sub(const ref_num *a, const ref_num *b, int limbs);
ref_num ref_mul(const ref_num *a, const ref_num *b, int limbs);
ref_num ref_pow(const ref_num *a, const ref_num *e, int limbs);

#endif
