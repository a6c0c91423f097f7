/* Room for inputs being received: first come, first served, within request_bytes. */
#include "engine/engine_internal.h"

#include <assert.h>
#include "base/cpu.h"

static bool take_locked(cuzk_engine *e, uint64_t bytes) {
    if (bytes > e->o.request_bytes - e->request_bytes) return false;
    e->request_bytes += bytes;
    return true;
}

bool engine_request_try(cuzk_engine *e, uint64_t bytes) {
    pthread_mutex_lock(&e->lock);
    bool got = !e->request_first && !e->stopping && take_locked(e, bytes);
    pthread_mutex_unlock(&e->lock);
    return got;
}

static void leave_locked(cuzk_engine *e, request_waiter *me) {
    request_waiter **at = &e->request_first;
    while (*at != me) at = &(*at)->next;
    *at = me->next;
    e->request_last = NULL;
    for (request_waiter *w = e->request_first; w; w = w->next) e->request_last = w;
}

bool engine_request_wait(cuzk_engine *e, uint64_t bytes, double timeout) {
    double until = timeout < 0 ? -1 : cpu_monotonic_seconds() + timeout;
    request_waiter me = {0};
    bool got = false;
    pthread_mutex_lock(&e->lock);
    e->calls++;
    *(e->request_last ? &e->request_last->next : &e->request_first) = &me;
    e->request_last = &me;
    while (bytes <= e->o.request_bytes && !e->stopping) {
        if (e->request_first == &me && (got = take_locked(e, bytes))) break;
        if (until >= 0 && cpu_monotonic_seconds() >= until) break;
        engine_wait_locked(e, until);
    }
    leave_locked(e, &me);
    engine_changed_locked(e); /* the next is first now */
    engine_call_over_locked(e);
    pthread_mutex_unlock(&e->lock);
    return got;
}

void engine_request_done(cuzk_engine *e, uint64_t bytes) {
    pthread_mutex_lock(&e->lock);
    assert(bytes <= e->request_bytes);
    e->request_bytes -= bytes;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
}
