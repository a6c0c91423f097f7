/* What the checks of vanilla proofs find: how a false value is told, and which of several is.
 *
 * Tiles are checked by several threads; of their faults the one of the lowest tile is the answer, so that it does not
 * depend on the number of threads. fault_first is shared by the tiles of one run; the rest are pure functions.
 */
#ifndef CUZK_CIRCUIT_FAULT_H
#define CUZK_CIRCUIT_FAULT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "cuzk/error.h"
#include "math/field.h"

/* UNSATISFIED into err, where = part; returns false. */
bool fault_false(cuzk_error *err, const char *part, const char *what);
/* True when the two are equal, otherwise as fault_false with both values. */
bool fault_same(cuzk_error *err, const char *part, const char *what, const fr *expected, const fr *found);
/* The same of numbers, which are told as "<noun> 5"; noun may be "". */
bool fault_same_number(cuzk_error *err, const char *part, const char *what, const char *noun, uint64_t expected,
                       uint64_t found);

typedef struct fault_first {
    pthread_mutex_t lock; /* guards err */
    atomic_size_t tile;   /* the lowest with a fault, SIZE_MAX: none */
    cuzk_error err;
} fault_first;

void fault_first_init(fault_first *f);
/* False when a lower tile has a fault already, so that this one need not be looked at. */
bool fault_first_open(fault_first *f, size_t tile);
void fault_first_note(fault_first *f, size_t tile, const cuzk_error *err);
/* After the run, whose status is `ran`: that, or the first fault. Ends f. */
cuzk_status fault_first_end(fault_first *f, cuzk_status ran, cuzk_error *err);

#endif
