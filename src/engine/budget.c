/* Byte budgets; see engine/budget.h.
 *
 * Four numbers under one mutex. Whether bytes fit is one comparison: critical work sees the whole total, all other work
 * sees the total less what of the critical share critical work does not use. on_release is called after the mutex was
 * left, so that it may take the waiters' own lock; the rule that a waiter keeps is written in tests/model/budget.pml:
 * it reads the release counter before it tries, and sleeps only while that counter stands.
 */
#include "engine/budget.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct budget {
    pthread_mutex_t lock;
    budget_stats now;
    void (*on_release)(void *user);
    void *user;
};

budget *budget_create(uint64_t total, uint64_t critical_share, void (*on_release)(void *user), void *user,
                      cuzk_error *err) {
    budget *b = calloc(1, sizeof *b);
    if (!b) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for a budget");
        return NULL;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->now.total = total;
    b->now.critical_share = critical_share < total ? critical_share : total;
    b->on_release = on_release;
    b->user = user;
    return b;
}

void budget_destroy(budget *b) {
    if (!b) return;
    assert(b->now.reserved == 0 && b->now.critical_reserved == 0);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static uint64_t less(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

/* What one more reservation could have at most. */
static uint64_t room_locked(const budget *b, bool critical) {
    uint64_t kept = critical ? 0 : less(b->now.critical_share, b->now.critical_reserved);
    return less(less(b->now.total, b->now.reserved), kept);
}

static bool take(budget *b, uint64_t bytes, bool critical) {
    pthread_mutex_lock(&b->lock);
    bool fits = !bytes || bytes <= room_locked(b, critical);
    if (fits) {
        b->now.reserved += bytes;
        if (critical) b->now.critical_reserved += bytes;
        if (b->now.reserved > b->now.peak_reserved) b->now.peak_reserved = b->now.reserved;
    } else {
        b->now.refused++;
    }
    pthread_mutex_unlock(&b->lock);
    return fits;
}

bool budget_try(budget *b, reservation *out, uint64_t bytes, bool critical) {
    assert(!out->from && !out->bytes);
    if (!take(b, bytes, critical)) return false;
    *out = (reservation){b, bytes, critical};
    return true;
}

void budget_split(reservation *r, reservation *out, uint64_t bytes) {
    assert(bytes <= r->bytes && !out->from && !out->bytes);
    *out = (reservation){r->from, bytes, r->critical};
    r->bytes -= bytes;
}

void budget_nudge(budget *b) {
    if (b->on_release) b->on_release(b->user);
}

void budget_shrink(reservation *r, uint64_t bytes) {
    if (r->bytes <= bytes) return;
    budget *b = r->from;
    uint64_t back = r->bytes - bytes;
    r->bytes = bytes;
    pthread_mutex_lock(&b->lock);
    assert(b->now.reserved >= back && (!r->critical || b->now.critical_reserved >= back));
    b->now.reserved -= back;
    if (r->critical) b->now.critical_reserved -= back;
    pthread_mutex_unlock(&b->lock);
    budget_nudge(b);
}

void budget_release(reservation *r) {
    budget_shrink(r, 0);
    memset(r, 0, sizeof *r);
}

void budget_resize(budget *b, uint64_t total, uint64_t critical_share) {
    if (critical_share > total) critical_share = total;
    pthread_mutex_lock(&b->lock);
    uint64_t others = b->now.total - b->now.critical_share;
    bool grew = total > b->now.total || total - critical_share > others;
    b->now.total = total;
    b->now.critical_share = critical_share;
    pthread_mutex_unlock(&b->lock);
    if (grew) budget_nudge(b);
}

budget_stats budget_get(const budget *b) {
    budget *own = (budget *)b; /* its lock changes, its content does not */
    pthread_mutex_lock(&own->lock);
    budget_stats s = own->now;
    pthread_mutex_unlock(&own->lock);
    return s;
}
