/* A store for tests that outlives engines: closing it does nothing, so that a second engine finds what the first left;
 * and that fails when told to. Over a store in memory. */
#ifndef CUZK_TESTS_ENGINE_STORE_CASE_H
#define CUZK_TESTS_ENGINE_STORE_CASE_H

#include <stdatomic.h>
#include "engine/store.h"

typedef struct store_case {
    store base;
    store *inner;
    atomic_int failing;       /* a status that every writing function returns; 0: none */
    atomic_uint proofs, runs; /* put_proof calls; updates to RUNNING */
    atomic_uint attempts, completes;
} store_case;

void store_case_open(store_case *s);
void store_case_close(store_case *s); /* for good */

#endif
