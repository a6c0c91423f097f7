/* Selection halves the list bit by bit, the highest bit first. */
#include "gadget/select.h"

num select_num(cs *c, num *from, const boolean *bits, unsigned n) {
    while (n-- > 0) {
        unsigned half = 1u << n;
        for (unsigned i = 0; i < half; i++) from[i] = num_pick(c, bits[n], &from[half + i], &from[i]);
    }
    return from[0];
}
