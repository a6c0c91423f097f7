/* Byte budgets: what may be held on the host, or on one device.
 *
 * A reservation is taken whole or not at all and never waited for here: who gets none keeps nothing, and tries again
 * when bytes were given back (on_release). So nobody holds bytes while waiting for others. A share is kept for critical
 * work: others see the total less the share that is not in use by critical work. Thread-safe.
 */
#ifndef CUZK_ENGINE_BUDGET_H
#define CUZK_ENGINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "cuzk/error.h"

typedef struct budget budget;

typedef struct reservation { /* owned by whoever holds the bytes; all zero: empty */
    budget *from;
    uint64_t bytes;
    bool critical;
} reservation;

typedef struct budget_stats {
    uint64_t total, critical_share, reserved, critical_reserved, peak_reserved;
    uint64_t refused; /* tries that did not fit, since the start */
} budget_stats;

/* on_release (may be NULL) is called without any lock of the budget's after bytes came free or the total grew; it must
 * not reserve. Returned; free with budget_destroy, when nothing is reserved. */
budget *budget_create(uint64_t total, uint64_t critical_share, void (*on_release)(void *user), void *user,
                      cuzk_error *err);
void budget_destroy(budget *b); /* accepts NULL */

/* Fills *out (empty before) when the bytes fit. bytes 0 always succeeds. */
bool budget_try(budget *b, reservation *out, uint64_t bytes, bool critical);
/* Moves `bytes` (at most what r holds) into *out, which was empty. */
void budget_split(reservation *r, reservation *out, uint64_t bytes);
/* Keeps `bytes` and gives the rest back; no effect when it holds less. */
void budget_shrink(reservation *r, uint64_t bytes);
/* Gives all back; *r is empty afterwards. Accepts an empty one. */
void budget_release(reservation *r);
/* Calls on_release: for those who made room in another way than by giving bytes back. */
void budget_nudge(budget *b);

/* New sizes: virtual machines grow and cgroup limits change. What is reserved beyond a smaller total is given back as
 * its holders end. */
void budget_resize(budget *b, uint64_t total, uint64_t critical_share);
budget_stats budget_get(const budget *b);

/* The automatic host total: the smaller of the machine's memory and the limits of this process's cgroup and its parents
 * (version 1 and 2), less the margin (0: 1/16, at most 5 GiB). */
uint64_t budget_machine_bytes(uint64_t margin);

#endif
