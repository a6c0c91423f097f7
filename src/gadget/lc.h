/* Short linear combinations on the stack, and powers of two.
 *
 * Nearly all constraints of a bit circuit have at most four terms; building them on the stack costs neither memory nor
 * faults. A short_lc must not outlive the cs_enforce call. */
#ifndef CUZK_GADGET_LC_H
#define CUZK_GADGET_LC_H

#include "r1cs/cs.h"

#define SHORT_LC_TERMS 8

typedef struct short_lc {
    cs_lc lc; /* terms and cap are set when it is used: short_lc_get */
    uint32_t len;
    cs_term terms[SHORT_LC_TERMS];
} short_lc;

static inline void short_lc_init(short_lc *s) {
    s->len = 0;
}
static inline void short_lc_add(short_lc *s, const fr *coeff, cs_var var) {
    cs_term *t = &s->terms[s->len++];
    t->coeff = *coeff;
    t->var = var;
}
static inline const cs_lc *short_lc_get(short_lc *s) {
    s->lc = (cs_lc){.terms = s->terms, .len = s->len, .cap = SHORT_LC_TERMS};
    return &s->lc;
}

/* 2^i and -2^i for i < 256. Thread-safe. */
typedef struct lc_powers {
    fr plus[256], minus[256];
} lc_powers;
const lc_powers *lc_powers_get(void);

/* One constraint of combinations that each are a single variable times 1. */
void lc_enforce_product(cs *c, cs_var a, cs_var b, cs_var product);

#endif
