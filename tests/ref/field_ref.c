/* The schoolbook field of ref/field_ref.h. */
#include "ref/field_ref.h"

#include <string.h>

ref_num ref_from_hex(const char *hex) {
    ref_num r = {{0}};
    for (; *hex != 0; hex++) {
        uint64_t digit = (uint64_t)(*hex <= '9' ? *hex - '0' : (*hex | 32) - 'a' + 10);
        for (int i = 5; i > 0; i--) r.l[i] = r.l[i] << 4 | r.l[i - 1] >> 60;
        r.l[0] = r.l[0] << 4 | digit;
    }
    return r;
}

ref_num ref_modulus(int limbs) {
    return ref_from_hex(limbs == 4 ? "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"
                                   : "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
                                     "1eabfffeb153ffffb9feffffffffaaab");
}

int ref_compare(const ref_num *a, const ref_num *b) {
    for (int i = 5; i >= 0; i--) {
        if (a->l[i] != b->l[i]) return a->l[i] < b->l[i] ? -1 : 1;
    }
    return 0;
}

bool ref_is_zero(const ref_num *a) {
    ref_num zero = {{0}};
    return ref_compare(a, &zero) == 0;
}

/* Plain numbers. Both moduli leave room for one bit in 384. */
static void plain_add(ref_num *r, const ref_num *a, const ref_num *b) {
    uint64_t carry = 0;
    for (int i = 0; i < 6; i++) {
        uint64_t s = a->l[i] + carry;
        carry = s < carry;
        s += b->l[i];
        carry += s < b->l[i];
        r->l[i] = s;
    }
}

static void plain_sub(ref_num *r, const ref_num *a, const ref_num *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < 6; i++) {
        uint64_t x = a->l[i], y = b->l[i];
        r->l[i] = x - y - borrow;
        borrow = x < y || (x == y && borrow);
    }
}

ref_num ref_add(const ref_num *a, const ref_num *b, int limbs) {
    ref_num r, m = ref_modulus(limbs);
    plain_add(&r, a, b);
    if (ref_compare(&r, &m) >= 0) plain_sub(&r, &r, &m);
    return r;
}

ref_num ref_sub(const ref_num *a, const ref_num *b, int limbs) {
    ref_num r, m = ref_modulus(limbs);
    if (ref_compare(a, b) >= 0) {
        plain_sub(&r, a, b);
    } else {
        plain_add(&r, a, &m);
        plain_sub(&r, &r, b);
    }
    return r;
}

ref_num ref_mul(const ref_num *a, const ref_num *b, int limbs) {
    ref_num r = {{0}}, m = ref_modulus(limbs);
    for (int i = 64 * limbs - 1; i >= 0; i--) {
        plain_add(&r, &r, &r);
        if (ref_compare(&r, &m) >= 0) plain_sub(&r, &r, &m);
        if (b->l[i / 64] >> (i % 64) & 1) {
            plain_add(&r, &r, a);
            if (ref_compare(&r, &m) >= 0) plain_sub(&r, &r, &m);
        }
    }
    return r;
}

ref_num ref_pow(const ref_num *a, const ref_num *e, int limbs) {
    ref_num r = {{1}};
    for (int i = 64 * limbs - 1; i >= 0; i--) {
        r = ref_mul(&r, &r, limbs);
        if (e->l[i / 64] >> (i % 64) & 1) r = ref_mul(&r, a, limbs);
    }
    return r;
}
