/* Insertion by a tree of picks, hand-made for each arity: 2, 8 and 22 constraints. */
#include "gadget/insert.h"

#include <assert.h>

static void insert_2(cs *c, num *out, const num *x, const boolean *b, const num *e) {
    out[0] = num_pick(c, b[0], &e[0], x);
    out[1] = num_pick(c, b[0], x, &e[0]);
}

static void insert_4(cs *c, num *out, const num *x, const boolean *b, const num *e) {
    num t = num_pick(c, b[0], &e[0], x);
    out[0] = num_pick(c, b[1], &e[0], &t);
    t = num_pick(c, b[0], x, &e[0]);
    out[1] = num_pick(c, b[1], &e[1], &t);
    t = num_pick(c, b[0], &e[2], x);
    out[2] = num_pick(c, b[1], &t, &e[1]);
    t = num_pick(c, b[0], x, &e[2]);
    out[3] = num_pick(c, b[1], &t, &e[2]);
}

static void insert_8(cs *c, num *out, const num *x, const boolean *b, const num *e) {
    boolean neither = boolean_nor(c, b[0], b[1]), both = boolean_and(c, b[0], b[1]);
    num t = num_pick(c, neither, x, &e[0]);
    out[0] = num_pick(c, b[2], &e[0], &t);
    t = num_pick(c, b[0], x, &e[0]);
    t = num_pick(c, b[1], &e[1], &t);
    out[1] = num_pick(c, b[2], &e[1], &t);
    t = num_pick(c, b[0], &e[2], x);
    t = num_pick(c, b[1], &t, &e[1]);
    out[2] = num_pick(c, b[2], &e[2], &t);
    t = num_pick(c, both, x, &e[2]);
    out[3] = num_pick(c, b[2], &e[3], &t);
    t = num_pick(c, neither, x, &e[4]);
    out[4] = num_pick(c, b[2], &t, &e[3]);
    t = num_pick(c, b[0], x, &e[4]);
    t = num_pick(c, b[1], &e[5], &t);
    out[5] = num_pick(c, b[2], &t, &e[4]);
    t = num_pick(c, b[0], &e[6], x);
    t = num_pick(c, b[1], &t, &e[5]);
    out[6] = num_pick(c, b[2], &t, &e[5]);
    t = num_pick(c, both, x, &e[6]);
    out[7] = num_pick(c, b[2], &t, &e[6]);
}

void insert_num(cs *c, num *out, unsigned arity, const num *x, const boolean *bits, const num *siblings) {
    switch (arity) {
    case 2: insert_2(c, out, x, bits, siblings); break;
    case 4: insert_4(c, out, x, bits, siblings); break;
    case 8: insert_8(c, out, x, bits, siblings); break;
    default: assert(false && "arity"); break;
    }
}
