/* One pool of threads for the process; work is split into tiles.
 *
 * pool_run blocks until all tiles are done; the calling thread works too, so a pool of one thread has no extra thread
 * and nested or concurrent pool_run calls (from tiles or from several threads) cannot deadlock. Cancellation is looked
 * at and progress told between tiles. Thread-safe.
 */
#ifndef CUZK_BASE_POOL_H
#define CUZK_BASE_POOL_H

#include <stddef.h>
#include "cuzk/control.h"
#include "cuzk/error.h"

typedef struct pool pool;

/* threads 0: as many as the process may use (affinity and cgroup quota). Destroy waits for running work; accepts NULL.
 */
pool *pool_create(unsigned threads, cuzk_error *err);
void pool_destroy(pool *p);
unsigned pool_threads(const pool *p);

/* One tile. slot < pool_threads(p) is held by one thread at a time within this run: use it to index scratch. */
typedef void (*pool_tile)(void *ctx, size_t tile, unsigned slot);

/* Runs tiles 0..tiles-1 in no fixed order. control may be NULL; stage names the work for progress (NULL: no progress).
 * Returns OK, or CANCELLED (err filled) when cancelled before all tiles ran. p may be NULL: the caller does all alone.
 */
cuzk_status pool_run(pool *p, const cuzk_control *control, const char *stage, size_t tiles, pool_tile fn, void *ctx,
                     cuzk_error *err);

#endif
