/* What is done next: see engine/engine_internal.h.
 *
 * Order: critical jobs, then by priority, deadline, age. A job that has waited too long goes before all below HIGH; and
 * before HIGH once in TURNS partitions of those, so that a backlog does not hold up what has a time to keep, and urgent
 * work without end does not starve the rest. Within a job, partitions in their order. Bytes are given out strictly in
 * this order: while the first who wants some cannot have them, nobody after it gets any, so that nobody is starved by
 * smaller ones. Whoever waits for something else than bytes (its input is being parsed, its key is being loaded, the
 * queue of its devices is full) is overtaken.
 *
 * Only jobs that run, and one more, have their input parsed.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"

#define MOST_UNSTARTED 4u /* parsed and not begun, when more urgent jobs keep coming */

#define TURNS 8u

static unsigned rank(const cuzk_engine *e, const engine_job *j, double now) {
    if (j->priority >= CUZK_PRIORITY_HIGH || now - j->submitted_mono <= e->o.starvation_seconds)
        return 2u * j->priority;
    return e->high_in_row >= TURNS ? 2u * CUZK_PRIORITY_HIGH + 1 : 2u * CUZK_PRIORITY_HIGH - 1;
}

void schedule_began_locked(cuzk_engine *e, const engine_job *j) {
    if (j->priority < CUZK_PRIORITY_HIGH)
        e->high_in_row = 0;
    else if (j->priority == CUZK_PRIORITY_HIGH)
        e->high_in_row++;
}

bool schedule_before(const cuzk_engine *e, const engine_job *a, const engine_job *b, double now) {
    unsigned ra = rank(e, a, now), rb = rank(e, b, now);
    if (ra != rb) return ra > rb;
    if (a->deadline != b->deadline) {
        if (a->deadline == 0 || b->deadline == 0) return b->deadline == 0;
        return a->deadline < b->deadline;
    }
    return a->seq < b->seq;
}

static bool add_candidate(cuzk_engine *e, size_t *n, engine_job *j) {
    if (*n == e->candidates_room) {
        size_t room = *n ? 2 * *n : 64;
        engine_job **more = realloc(e->candidates, room * sizeof(engine_job *));
        if (!more) return false;
        e->candidates = more;
        e->candidates_room = room;
    }
    /* Into its place: there are few, and mostly in order. */
    double now = cpu_monotonic_seconds();
    size_t at = *n;
    while (at > 0 && schedule_before(e, j, e->candidates[at - 1], now)) {
        e->candidates[at] = e->candidates[at - 1];
        at--;
    }
    e->candidates[at] = j;
    ++*n;
    return true;
}

static bool in_hand(const engine_job *j) {
    return j->prep || j->preparing || j->loading;
}

/* The jobs that are in hand, and the first of those that are not, in order. */
static size_t find_candidates(cuzk_engine *e) {
    double now = cpu_monotonic_seconds();
    engine_job *first = NULL;
    size_t n = 0;
    for (engine_job *j = e->live_first; j; j = j->live_after) {
        if (j->arriving || j->ending || (e->draining && !j->started)) continue;
        if (in_hand(j)) {
            if (!add_candidate(e, &n, j)) return n;
        } else if (!first || schedule_before(e, j, first, now)) {
            first = j;
        }
    }
    if (first) add_candidate(e, &n, first);
    return n;
}

/* Whether the job may be parsed now, n candidates being there. *crowded: others are to give way. */
static bool may_prepare(const cuzk_engine *e, const engine_job *j, size_t n, bool *crowded) {
    unsigned waiting = 0;
    bool first = true;
    *crowded = false;
    if (j->started) return true;
    for (size_t i = 0; i < n; i++) {
        const engine_job *o = e->candidates[i];
        if (o == j) first = waiting == 0;
        if (o != j && in_hand(o) && !o->started) waiting++;
    }
    *crowded = waiting >= MOST_UNSTARTED;
    return waiting == 0 || first;
}

static partition *next_partition(engine_job *j, unsigned *k) {
    for (*k = 0; *k < j->n_partitions; ++*k) {
        partition *p = &j->partitions[*k];
        if (p->state == PARTITION_PENDING && !p->current) return p;
    }
    return NULL;
}

static void fail(pick *out, engine_job *j) {
    out->what = PICK_FAIL;
    out->job = j;
    j->uses++;
}

static bool works_for(const engine_dev *d, device_class cls) {
    return d->is_cpu == (cls == CLASS_CPU) && !d->quarantined;
}

/* Witnesses that there may be, from synthesis until a device of the class has taken them: three for each device (one
 * that it takes, one that is ready, one in the making), and more only when the devices turned out to be faster than the
 * synthesis of so many. So memory does not depend on how many workers of either sort are allowed. The CPU has a witness
 * for each of its workers as long as they prove, and two ahead of them. */
static unsigned ahead_locked(const cuzk_engine *e, device_class cls) {
    unsigned devices = 0, ahead = e->ahead[cls];
    for (size_t i = 0; i < e->n_devices; i++) devices += works_for(&e->devices[i], cls);
    if (!devices) devices = 1; /* its last one has just failed */
    unsigned least = cls == CLASS_CPU ? e->o.device_workers + 2 : 3 * devices;
    unsigned most = least - devices + e->o.synthesis_workers;
    if (most < least) most = least;
    return ahead < least ? least : ahead < most ? ahead : most;
}

static bool queue_full(const cuzk_engine *e, device_class cls) {
    if (e->fault_release_early) return false;
    return e->queued[cls] >= e->o.queue_depth || e->permits[cls] >= ahead_locked(e, cls) + e->loading[cls];
}

void schedule_made_locked(cuzk_engine *e, device_class cls) {
    unsigned ahead = ahead_locked(e, cls);
    bool starving = false;
    for (size_t i = 0; i < e->n_devices; i++) starving |= works_for(&e->devices[i], cls) && e->devices[i].starving;
    if (starving && e->permits[cls] >= ahead + e->loading[cls]) e->ahead[cls] = 2 * ahead;
}

/* The job's next partition as an attempt. False: somebody else is to be looked at; out says NONE when all must wait. */
static bool pick_partition(cuzk_engine *e, engine_job *j, pick *out) {
    unsigned k;
    device_class cls;
    bool critical = schedule_is_critical(j);
    partition *p = next_partition(j, &k);
    if (!p) return false;
    if (!devices_class_locked(e, j, p, &cls, &out->bytes, &out->why)) {
        fail(out, j);
        return true;
    }
    if (!critical && queue_full(e, cls)) return false;
    if (e->taking[critical]) return true; /* one asks after the other, so that bytes go in order */
    attempt *a = attempt_create(e, j, k, cls);
    if (!a) {
        cuzk_fail(&out->why, CUZK_MEMORY, "no memory for an attempt");
        fail(out, j);
        return true;
    }
    a->seen = e->rooms;
    a->permit = true;
    e->permits[cls]++;
    e->taking[critical] = true;
    out->what = PICK_SYNTHESIZE;
    out->job = j;
    out->attempt = a;
    return true;
}

void schedule_pick_locked(cuzk_engine *e, bool critical_only, pick *out) {
    memset(out, 0, sizeof *out);
    size_t n = find_candidates(e);
    for (size_t i = 0; i < n; i++) {
        engine_job *j = e->candidates[i];
        if (critical_only && !schedule_is_critical(j)) return;
        if (j->preparing || j->loading) continue;
        if (j->blocked_at == e->rooms) return;
        if (j->prep) {
            if (pick_partition(e, j, out)) return;
        } else if (may_prepare(e, j, n, &out->crowded)) {
            j->preparing = true;
            j->uses++;
            out->what = PICK_PREPARE;
            out->job = j;
            return;
        }
    }
}

/* ---- refusals ---- */

#define REFUSED_ALONE 3u /* a key may be loaded for somebody else, an attempt be ending: not the first time */

/* Whether anything is under way that may give bytes back. */
static bool others_busy_locked(const cuzk_engine *e, const engine_job *own) {
    for (const engine_job *j = e->live_first; j; j = j->live_after)
        if (j != own && (j->n_active || in_hand(j))) return true;
    return own->n_active || e->in_flight || e->n_pending || e->warming || resources_busy(e->keys);
}

bool schedule_refused_locked(cuzk_engine *e, engine_job *j, uint64_t seen) {
    j->blocked_at = seen;
    j->alone = others_busy_locked(e, j) ? 0 : j->alone + 1;
    return j->alone >= REFUSED_ALONE;
}
