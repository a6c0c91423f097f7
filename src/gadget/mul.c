/* The product of two field elements in a circuit. */
#include "gadget/mul.h"

num num_mul(cs *c, const num *a, const num *b) {
    fr v;
    if (c->values) fr_mul(&v, &a->value, &b->value);
    num r = num_alloc(c, &v);
    if (c->structure) lc_enforce_product(c, a->var, b->var, r.var);
    return r;
}
