/* Bytes in devices' memories: each proof's own, and what proofs of one circuit share (shape and key).
 *
 * What is shared is reserved by the first proof of a circuit and stays reserved while the device keeps it. When others
 * need the room, the longest unused of what no proof uses is given up: the backend puts it out in the same way when its
 * memory is short, so that both agree.
 */
#include <stdlib.h>
#include <string.h>
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
    if (a->on_device) a->device->in_hand--;
    a->on_device = false;
}

void device_memory_forget_locked(engine_dev *d, uint64_t key_id) {
    for (dev_resident *r = d->residents, *next; r; r = next) {
        next = r->next;
        if (!r->users && (!key_id || r->key_id == key_id)) drop(d, r);
    }
}

void device_memory_show(attempt *a) {
    cuzk_engine *e = a->engine;
    pthread_mutex_lock(&e->lock);
    bool first = a->resident && !a->resident->shown;
    if (first) a->resident->shown = true;
    pthread_mutex_unlock(&e->lock);
    if (first) resource_set_resident(a->key, true);
}
