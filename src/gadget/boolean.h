/* One bit in a circuit: a constant, a variable, or the negation of a variable.
 *
 * Which constraint an operation makes, and whether it makes one at all, depends on the kinds of its operands (never on
 * values): docs/circuits/gadgets.md. gadget/word.h does the same for 32 bits at once. */
#ifndef CUZK_GADGET_BOOLEAN_H
#define CUZK_GADGET_BOOLEAN_H

#include "gadget/lc.h"

typedef enum { BOOLEAN_CONST, BOOLEAN_IS, BOOLEAN_NOT } boolean_kind;

typedef struct boolean {
    boolean_kind kind;
    bool value; /* of the whole, after negation; only known for constants when !cs->values */
    cs_var var;
} boolean;

static inline boolean boolean_const(bool value) {
    return (boolean){BOOLEAN_CONST, value, CS_ONE};
}
static inline boolean boolean_is(cs_var var, bool value) {
    return (boolean){BOOLEAN_IS, value, var};
}
static inline boolean boolean_not(boolean a) {
    if (a.kind != BOOLEAN_CONST) a.kind = a.kind == BOOLEAN_IS ? BOOLEAN_NOT : BOOLEAN_IS;
    a.value = !a.value;
    return a;
}
static inline bool boolean_is_const(boolean a, bool value) {
    return a.kind == BOOLEAN_CONST && a.value == value;
}

/* A new variable with (1 - a) a = 0. */
boolean boolean_alloc(cs *c, bool value);
/* (1 - a) a = 0 for a variable that is already there. Only with structure. */
void boolean_enforce_bit(cs *c, cs_var a);

boolean boolean_xor(cs *c, boolean a, boolean b);
boolean boolean_and(cs *c, boolean a, boolean b);
/* not a and not b, by De Morgan: the same single constraint. */
static inline boolean boolean_nor(cs *c, boolean a, boolean b) {
    return boolean_and(c, boolean_not(a), boolean_not(b));
}
/* a ? b : x. */
boolean boolean_ch(cs *c, boolean a, boolean b, boolean x);
/* Majority of three; the variable b and x comes after the result. */
boolean boolean_maj(cs *c, boolean a, boolean b, boolean x);

/* lc += or -= 1 * a. */
void boolean_lc(short_lc *lc, boolean a, bool minus);
/* lc += coeff * a, for combinations of any length. */
void boolean_lc_scaled(cs *c, cs_lc *lc, const fr *coeff, boolean a);

/* (2 a) b = a + b - result. Only with structure. */
void boolean_enforce_xor(cs *c, cs_var a, cs_var b, cs_var result);

#endif
