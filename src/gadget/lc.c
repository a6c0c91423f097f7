/* Tables and shared constraints of linear combinations. */
#include "gadget/lc.h"

#include <pthread.h>

static lc_powers powers;

static void make_powers(void) {
    fr v;
    fr_set_one(&v);
    for (int i = 0; i < 256; i++) {
        powers.plus[i] = v;
        fr_neg(&powers.minus[i], &v);
        fr_dbl(&v, &v);
    }
}

const lc_powers *lc_powers_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_powers);
    return &powers;
}

void lc_enforce_product(cs *c, cs_var a, cs_var b, cs_var product) {
    fr one;
    short_lc x, y, z;
    fr_set_one(&one);
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&x, &one, a);
    short_lc_add(&y, &one, b);
    short_lc_add(&z, &one, product);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
}
