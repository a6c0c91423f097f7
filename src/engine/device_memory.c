/* Bytes in devices' memories: each proof's own, and what proofs of one circuit share (shape and key).
 *
 * What is shared is reserved by the first proof of a circuit and stays reserved while the device keeps it. When others
 * need the room, the longest unused of what no proof uses is given up: the backend puts it out in the same way when its
 * memory is short, so that both agree. Who evicts a key waits for devices to give their copies up, but not for one that
 * hangs.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cpu.h"
#include "engine/engine_internal.h"

static dev_resident *find(engine_dev *d, const circuit_plan *plan) {
    dev_resident *r = d->residents;
    while (r && r->plan != plan) r = r->next;
    return r;
}

static void drop(engine_dev *d, dev_resident *gone) {
    dev_resident **at = &d->residents;
    while (*at != gone) at = &(*at)->next;
    *at = gone->next;
    budget_release(&gone->bytes);
    free(gone);
}

static dev_resident *oldest_unused(engine_dev *d, const dev_resident *spared) {
    dev_resident *oldest = NULL;
    for (dev_resident *r = d->residents; r; r = r->next)
        if (r != spared && !r->users && (!oldest || r->used < oldest->used)) oldest = r;
    return oldest;
}

/* Plans are made for the whole device, which need not hold the share for critical work beside them: what needs more
 * than is left beside the share takes of it, since it would wait for ever otherwise. */
static bool may_take_share(const engine_dev *d, const attempt *a, uint64_t whole) {
    budget_stats s = budget_get(d->memory);
    return a->critical || whole > s.total - s.critical_share;
}

/* A proof's own bytes. */
static uint64_t own_bytes(const device_plan *plan) {
    return plan->device_bytes - plan->shared_bytes;
}

uint64_t device_memory_most(const device_plan *plan, bool makes_key) {
    uint64_t own = own_bytes(plan);
    return plan->shared_bytes + (makes_key && plan->making_bytes > own ? plan->making_bytes : own);
}

bool device_memory_try_locked(engine_dev *d, attempt *a) {
    const device_plan *plan = &a->prep->plan->on[d->index];
    if (!d->memory) return true;
    /* The first to come makes the key, if the device makes it: before its own bytes are needed. */
    uint64_t most = device_memory_most(plan, resource_key(a->key)->key.recipe != NULL);
    bool critical = may_take_share(d, a, most);
    dev_resident *r = find(d, a->prep->plan), *made = NULL;
    uint64_t bytes = r ? own_bytes(plan) : most;
    if (!r && plan->shared_bytes && !(made = calloc(1, sizeof *made))) return false;
    while (!budget_try(d->memory, &a->dev, bytes, critical)) {
        dev_resident *old = oldest_unused(d, r);
        if (!old) {
            free(made);
            return false;
        }
        drop(d, old);
    }
    if (made) {
        budget_split(&a->dev, &made->bytes, plan->shared_bytes);
        made->plan = a->prep->plan;
        made->next = d->residents;
        d->residents = r = made;
    }
    if (r) {
        r->key_id = resource_key(a->key)->key.id;
        r->users++;
    }
    a->resident = r;
    return true;
}

void device_memory_started_locked(attempt *a) {
    uint64_t own = own_bytes(&a->prep->plan->on[a->device->index]);
    if (a->device->memory && a->dev.bytes > own) budget_shrink(&a->dev, own);
}

void device_memory_give_locked(attempt *a) {
    if (a->resident) {
        a->resident->users--;
        a->resident->used = cpu_monotonic_seconds();
        a->resident = NULL;
    }
    budget_release(&a->dev);
    if (a->on_device) {
        const cuzk_engine *e = a->engine;
        bool lacks = --a->device->in_hand < e->o.device_workers && !e->queued[a->cls];
        bool in_making = e->permits[a->cls] > e->loading[a->cls] + e->starting[a->cls];
        if (lacks && in_making && !a->abandoned) a->device->starving = true;
    }
    a->on_device = false;
}

void device_memory_forget_locked(engine_dev *d, uint64_t key_id) {
    for (dev_resident *r = d->residents, *next; r; r = next) {
        next = r->next;
        if (!r->users && (!key_id || r->key_id == key_id)) drop(d, r);
    }
}

/* ---- keys that go ---- */

/* What a thread of its own asks a device, since the device may hang. Freed by the last of the two that hold it. */
typedef struct forgetting {
    const backend *b;
    unsigned number;
    proving_key key; /* its id alone */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    bool done, left;        /* left: nobody waits any more */
} forgetting;

static void forgetting_free(forgetting *f) {
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static void *forget(void *user) {
    forgetting *f = user;
    f->b->forget_key(f->number, &f->key);
    pthread_mutex_lock(&f->lock);
    f->done = true;
    bool left = f->left;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    if (left) forgetting_free(f);
    return NULL;
}

static forgetting *forgetting_start(const engine_dev *d, uint64_t key_id) {
    pthread_t thread;
    pthread_condattr_t clock;
    forgetting *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    *f = (forgetting){.b = d->b, .number = d->number, .key = {.id = key_id}};
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&thread, NULL, forget, f)) {
        forgetting_free(f);
        return NULL;
    }
    pthread_detach(thread);
    return f;
}

/* Whether the device need not be waited for: the watchdog has found that it hangs, or there is no watchdog any more. */
static bool given_up(cuzk_engine *e, engine_dev *d, double start) {
    pthread_mutex_lock(&e->lock);
    bool yes = d->hung || (e->stopping && cpu_monotonic_seconds() - start > STUCK_GRACE);
    pthread_mutex_unlock(&e->lock);
    return yes;
}

static void await_forgotten(cuzk_engine *e, engine_dev *d, forgetting *f) {
    double start = cpu_monotonic_seconds();
    pthread_mutex_lock(&f->lock);
    while (!f->done) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50 * 1000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&f->changed, &f->lock, &until);
        if (!f->done && given_up(e, d, start)) break;
    }
    bool done = f->done;
    f->left = !done;
    pthread_mutex_unlock(&f->lock);
    if (done) forgetting_free(f);
}

void device_memory_forget_key(cuzk_engine *e, engine_dev *d, uint64_t key_id) {
    pthread_mutex_lock(&e->lock);
    bool asks = d->b->forget_key && !d->hung; /* it gets no work any more, and would not answer */
    if (asks && !d->forgets++) d->forgets_since = cpu_monotonic_seconds();
    pthread_mutex_unlock(&e->lock);
    forgetting *f = asks ? forgetting_start(d, key_id) : NULL;
    proving_key key = {.id = key_id};
    if (f)
        await_forgotten(e, d, f);
    else if (asks)
        d->b->forget_key(d->number, &key);
    pthread_mutex_lock(&e->lock);
    if (asks) d->forgets--;
    device_memory_forget_locked(d, key_id);
    pthread_mutex_unlock(&e->lock);
}

void device_memory_show(attempt *a) {
    cuzk_engine *e = a->engine;
    pthread_mutex_lock(&e->lock);
    bool first = a->resident && !a->resident->shown;
    if (first) a->resident->shown = true;
    pthread_mutex_unlock(&e->lock);
    if (first) resource_set_resident(a->key, true);
}
