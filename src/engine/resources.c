/* The store of keys and shapes; see engine/resources.h.
 *
 * One mutex over a short list of entries, one a circuit. A thread that loads or unloads an entry marks it busy and
 * works without the mutex; others that want it wait on one condition. What a load of this entry ran into is shared with
 * those who waited for it, unless it was the loader's own (cancelled, or a reservation of its own size and class).
 * Taking a reference and the partition's bytes happens under the mutex, so that nobody sees one without the other; the
 * budget's own lock is inside it, and the budget's on_release is never called under it.
 */
#include "engine/resources.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/resource_load.h"

struct resources {
    pthread_mutex_t lock;
    pthread_cond_t changed;  /* an entry is no longer busy */
    pthread_mutex_t looking; /* held while a shape is in memory uncharged */
    resources_options options;
    char folder[4096];
    resource *list;
    void (*on_unload)(void *user, const cuzk_key *key);
    void *on_unload_user;
};

const char *resource_tier_name(resource_tier t) {
    static const char *const names[] = {"resident", "mapped", "disk"};
    return names[t];
}

resources *resources_create(const resources_options *options, cuzk_error *err) {
    resources *r = calloc(1, sizeof *r);
    if (!r) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for the key store");
        return NULL;
    }
    r->options = *options;
    if (options->params_folder) {
        if (strlen(options->params_folder) >= sizeof r->folder) {
            cuzk_fail(err, CUZK_USAGE, "the parameter folder's path is too long");
            free(r);
            return NULL;
        }
        strcpy(r->folder, options->params_folder);
        r->options.params_folder = r->folder;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&r->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->looking, NULL);
    return r;
}

void resources_on_unload(resources *r, void (*fn)(void *user, const cuzk_key *key), void *user) {
    r->on_unload = fn;
    r->on_unload_user = user;
}

/* ---- entries ---- */

static resource *find_locked(resources *r, const char *name) {
    resource *e = r->list;
    while (e && strcmp(e->circuit.name, name) != 0) e = e->next;
    return e;
}

static resource *entry_locked(resources *r, const circuit *c, cuzk_error *err) {
    resource *e = find_locked(r, c->name);
    if (e) return e;
    e = resource_create(r, c, err);
    if (!e) return NULL;
    e->next = r->list;
    r->list = e;
    return e;
}

static bool cancelled(const cuzk_control *control) {
    return control && control->cancel && atomic_load(control->cancel);
}

/* Waits while the entry is busy; CANCELLED as soon as the control says so. */
static cuzk_status wait_idle_locked(resources *r, const resource *e, const cuzk_control *control, cuzk_error *err) {
    while (e->busy) {
        if (cancelled(control)) return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
        if (!control || !control->cancel) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 20 * 1000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&r->changed, &r->lock, &until);
    }
    return CUZK_OK;
}

static void no_longer_busy_locked(resources *r, resource *e) {
    e->busy = false;
    pthread_cond_broadcast(&r->changed);
}

/* Frees what a busy entry holds, gives its charges back and ends its being busy. Called and left without the lock. */
static uint64_t unload_busy(resources *r, resource *e) {
    if (e->key && r->on_unload) r->on_unload(r->on_unload_user, e->key);
    resource_unload(e);
    reservation of_shape = e->shape_charge, of_key = e->key_charge;
    uint64_t bytes = of_shape.bytes + of_key.bytes;
    e->shape_charge = e->key_charge = (reservation){0};
    pthread_mutex_lock(&r->lock);
    e->resident = e->points_here = false;
    no_longer_busy_locked(r, e);
    pthread_mutex_unlock(&r->lock);
    budget_release(&of_shape);
    budget_release(&of_key);
    return bytes;
}

void resources_destroy(resources *r) {
    if (!r) return;
    for (resource *e = r->list, *next; e; e = next) {
        next = e->next;
        assert(!e->busy && !e->references);
        e->busy = true;
        unload_busy(r, e);
        resource_destroy(e);
    }
    pthread_mutex_destroy(&r->looking);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    free(r);
}

/* ---- pressure ---- */

static bool holds_something(const resource *e) {
    return e->shape || e->key;
}

static resource *victim_locked(resources *r, const resource *spared, bool hard) {
    double before = cpu_monotonic_seconds() - (hard ? 0 : r->options.idle_seconds);
    resource *oldest = NULL;
    for (resource *e = r->list; e; e = e->next) {
        if (e == spared || e->busy || e->references || e->pinned || !holds_something(e) || e->used_at > before)
            continue;
        if (!oldest || e->used_at < oldest->used_at) oldest = e;
    }
    return oldest;
}

static uint64_t press(resources *r, const resource *spared, uint64_t bytes, bool hard) {
    uint64_t freed = 0;
    while (freed < bytes) {
        pthread_mutex_lock(&r->lock);
        resource *e = victim_locked(r, spared, hard);
        if (e) e->busy = true;
        pthread_mutex_unlock(&r->lock);
        if (!e) break;
        log_info("evicted under pressure: %s", e->circuit.name);
        freed += unload_busy(r, e);
    }
    return freed;
}

uint64_t resources_press(resources *r, uint64_t bytes, bool hard) {
    return press(r, NULL, bytes, hard);
}

cuzk_status resources_evict(resources *r, const char *circuit_name, bool *was_loaded, uint64_t *freed,
                            cuzk_error *err) {
    *was_loaded = false;
    *freed = 0;
    pthread_mutex_lock(&r->lock);
    resource *e = find_locked(r, circuit_name);
    if (!e || (!e->busy && !holds_something(e))) {
        pthread_mutex_unlock(&r->lock);
        return CUZK_OK;
    }
    if (e->busy || e->references) {
        cuzk_fail(err, CUZK_REFUSED, "%s is in use", circuit_name);
        cuzk_fail_found(err, e->busy ? "it is being loaded" : "%u users", e->references);
        pthread_mutex_unlock(&r->lock);
        return cuzk_fail_hint(err, "try again when its jobs have ended");
    }
    *was_loaded = e->key != NULL;
    e->busy = true;
    e->pinned = false;
    pthread_mutex_unlock(&r->lock);
    *freed = unload_busy(r, e);
    return CUZK_OK;
}

/* ---- room ---- */

static uint64_t plus(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The most that this class of work could ever have beside what is pinned (the entry itself left out). */
static uint64_t most_ever_locked(resources *r, const resource *own, bool critical) {
    uint64_t pinned = 0, pinned_critical = 0;
    for (const resource *e = r->list; e; e = e->next) {
        if (e == own || !e->pinned || e->busy) continue;
        const reservation *charge[] = {&e->shape_charge, &e->key_charge};
        for (int i = 0; i < 2; i++) *(charge[i]->critical ? &pinned_critical : &pinned) += charge[i]->bytes;
    }
    budget_stats s = budget_get(r->options.host);
    uint64_t kept = critical || s.critical_share < pinned_critical ? pinned_critical : s.critical_share;
    return s.total > kept + pinned ? s.total - kept - pinned : 0;
}

static uint64_t missing(resources *r, uint64_t bytes, bool critical) {
    budget_stats s = budget_get(r->options.host);
    uint64_t kept = critical || s.critical_share < s.critical_reserved ? 0 : s.critical_share - s.critical_reserved;
    uint64_t used = s.reserved + kept, room = s.total > used ? s.total - used : 0;
    return bytes > room ? bytes - room : 0;
}

static cuzk_status no_room(const resource *e, uint64_t bytes, uint64_t most, uint64_t reserved, cuzk_error *err) {
    char need[24], have[24];
    text_size(need, bytes);
    text_size(have, most);
    if (bytes > most)
        cuzk_fail(err, CUZK_TOO_LARGE, "%s can never fit the memory budget", e->circuit.name);
    else
        cuzk_fail(err, CUZK_MEMORY, "there is no room for %s now", e->circuit.name);
    cuzk_fail_expected(err, "at most %" PRIu64 " bytes (%s)", most, have);
    cuzk_fail_found(err, "a need of %" PRIu64 " bytes (%s), and %" PRIu64 " reserved", bytes, need, reserved);
    return cuzk_fail_hint(err, "raise the memory budget, or take a machine with more memory");
}

/* What a use of the entry takes from the budget: in all, and what of it is not there yet. */
typedef struct room {
    uint64_t shape, key, making, whole, now;
} room;

static room room_locked(const resource *e, resource_use use) {
    bool host = use.on_host || e->key_in_memory;
    room n = {.shape = e->shape_charge.from ? 0 : e->need.shape_bytes,
              .key = host && !e->key_charge.from ? e->need.key_bytes : 0,
              .making = e->key ? 0 : e->need.making_bytes};
    n.whole = plus(plus(e->need.shape_bytes, host ? e->need.key_bytes : 0), plus(n.making, use.bytes));
    n.now = plus(plus(n.shape, n.key), plus(n.making, use.bytes));
    return n;
}

/* Others are pressed out, then the pages of the own key when only devices use it now. False when there is nothing more
 * to try. Called and left with the lock. */
static bool make_room_locked(resources *r, resource *e, resource_use use, int pass) {
    reservation key = {0};
    uint64_t bytes = missing(r, room_locked(e, use).now, use.critical);
    if (pass == 2 && !use.on_host && !e->references && e->key_charge.from && !e->key_in_memory) {
        key = e->key_charge;
        e->key_charge = (reservation){0};
        resource_drop_pages(e);
    }
    bool more = pass < 2 || key.from;
    pthread_mutex_unlock(&r->lock);
    if (pass < 2) press(r, e, bytes, pass == 1);
    budget_release(&key);
    pthread_mutex_lock(&r->lock);
    return more;
}

/* ---- loading ---- */

static void learn(resources *r, resource *e, const resource_need *need) {
    pthread_mutex_lock(&r->lock);
    e->need = *need;
    e->known = true;
    pthread_mutex_unlock(&r->lock);
}

/* Of a busy entry: its shape is loaded, charged when there is room, shown, and unloaded again when there is none. */
static cuzk_status look_busy(resources *r, resource *e, void (*look)(void *user, const shape *s), void *user,
                             const cuzk_control *control, cuzk_error *err) {
    resource_need need;
    bool uncharged = !e->shape_charge.from;
    if (uncharged) pthread_mutex_lock(&r->looking);
    cuzk_status st = resource_load_shape(e, &r->options, &need, control, err);
    if (st == CUZK_OK) learn(r, e, &need);
    if (st == CUZK_OK && uncharged && budget_try(r->options.host, &e->shape_charge, need.shape_bytes, false)) {
        uncharged = false;
        pthread_mutex_unlock(&r->looking);
    }
    if (st == CUZK_OK && look) look(user, e->shape);
    if (uncharged) {
        resource_unload(e);
        pthread_mutex_unlock(&r->looking);
    }
    return st;
}

/* What is missing of a busy entry, whose charges have been taken. making: given back in every case. */
static cuzk_status load_busy(resources *r, resource *e, resource_use use, reservation *making,
                             const cuzk_control *control, cuzk_error *err) {
    resource_need need = e->need;
    cuzk_status st = CUZK_OK;
    if (!e->shape) st = resource_load_shape(e, &r->options, &need, control, err);
    if (st == CUZK_OK && !e->key) st = resource_load_key(e, &r->options, control, err);
    if (st == CUZK_OK && use.on_host) st = resource_bring_points(e, &r->options, control, err);
    budget_release(making);
    if (st != CUZK_OK) return st;
    need.making_bytes = 0;
    learn(r, e, &need);
    bool in_memory = e->key->key.memory.data != NULL, here = proving_key_on_host(&e->key->key);
    pthread_mutex_lock(&r->lock);
    e->key_in_memory = in_memory;
    e->points_here = here;
    pthread_mutex_unlock(&r->lock);
    if (!in_memory || e->key_charge.from) return CUZK_OK;
    if (budget_try(r->options.host, &e->key_charge, need.key_bytes, use.critical)) return CUZK_OK;
    return cuzk_fail(err, CUZK_MEMORY, "there is no room now for a key that could not be kept on disk");
}

static bool others_meet_it(cuzk_status st) {
    return st != CUZK_CANCELLED && st != CUZK_MEMORY;
}

/* Loads an entry that is not busy with bytes from *all, which holds those of n and of the use; what stays in it are the
 * use's. On failure nothing is held. Called and left with the lock. */
static cuzk_status load_locked(resources *r, resource *e, resource_use use, room n, reservation *all,
                               const cuzk_control *control, cuzk_error *err) {
    reservation making = {0};
    bool had_key = e->key != NULL;
    e->busy = true;
    if (!e->shape_charge.from) budget_split(all, &e->shape_charge, n.shape);
    if (n.key) budget_split(all, &e->key_charge, n.key);
    budget_split(all, &making, n.making);
    pthread_mutex_unlock(&r->lock);
    cuzk_status st = load_busy(r, e, use, &making, control, err);
    if (st != CUZK_OK) budget_release(all);
    if (st != CUZK_OK && !had_key) { /* nobody has a reference */
        unload_busy(r, e);
        pthread_mutex_lock(&r->lock);
    } else {
        pthread_mutex_lock(&r->lock);
        no_longer_busy_locked(r, e);
    }
    if (st != CUZK_OK && others_meet_it(st)) {
        e->failures++;
        e->failure = *err;
    }
    return st;
}

/* Makes the needs known by a look at the shape; called and left with the lock. */
static cuzk_status first_look_locked(resources *r, resource *e, const cuzk_control *control, cuzk_error *err) {
    e->busy = true;
    pthread_mutex_unlock(&r->lock);
    cuzk_status st = look_busy(r, e, NULL, NULL, control, err);
    pthread_mutex_lock(&r->lock);
    no_longer_busy_locked(r, e);
    return st;
}

typedef struct acquiring {
    resource_use use;
    const cuzk_control *control;
    bool nudge; /* the entry was busy for this call's sake: others could not press it out meanwhile */
    bool loaded, again;
} acquiring;

/* Until the reference is taken, or something stands against it. Called and left with the lock. */
static cuzk_status acquire_locked(resources *r, resource *e, acquiring *a, reservation *held, cuzk_error *err) {
    for (int pass = 0;;) {
        unsigned seen = e->failures;
        if (a->use.loaded_only && (e->busy || !e->key)) {
            a->again = true;
            return cuzk_fail(err, CUZK_MEMORY, "%s is not loaded yet", e->circuit.name);
        }
        cuzk_status st = wait_idle_locked(r, e, a->control, err);
        if (st != CUZK_OK) return st;
        if (e->failures != seen) {
            *err = e->failure;
            return err->status;
        }
        if (!e->known) {
            a->nudge = true;
            st = first_look_locked(r, e, a->control, err);
            if (st != CUZK_OK) return st;
            continue;
        }
        room n = room_locked(e, a->use);
        uint64_t most = most_ever_locked(r, e, a->use.critical);
        if (n.whole > most) return no_room(e, n.whole, most, budget_get(r->options.host).reserved, err);
        if (budget_try(r->options.host, held, n.now, a->use.critical)) {
            bool ready = e->key && n.now == a->use.bytes && (e->points_here || !a->use.on_host);
            a->nudge |= !ready;
            a->loaded = !e->key;
            st = ready ? CUZK_OK : load_locked(r, e, a->use, n, held, a->control, err);
            /* A key that had to stay in memory was not charged: next time it is, from the start. */
            a->again = st == CUZK_MEMORY && e->key_in_memory && !n.key;
            if (st != CUZK_OK) return st;
            e->references++;
            e->used_at = cpu_monotonic_seconds();
            return CUZK_OK;
        }
        if (pass > 2 || !make_room_locked(r, e, a->use, pass++)) {
            a->again = true;
            return no_room(e, n.whole, most, budget_get(r->options.host).reserved, err);
        }
    }
}

cuzk_status resources_acquire(resources *r, const circuit *c, resource_use use, resource **out, reservation *held,
                              bool *loaded, bool *again, const cuzk_control *control, cuzk_error *err) {
    acquiring a = {.use = use, .control = control};
    reservation none = {0};
    assert(held || !use.bytes);
    pthread_mutex_lock(&r->lock);
    resource *e = entry_locked(r, c, err);
    cuzk_status st = e ? acquire_locked(r, e, &a, held ? held : &none, err) : err->status;
    pthread_mutex_unlock(&r->lock);
    *out = st == CUZK_OK ? e : NULL;
    *loaded = st == CUZK_OK && a.loaded;
    *again = a.again;
    if (a.nudge) budget_nudge(r->options.host);
    return st;
}

void resources_release(resource *res) {
    if (!res) return;
    resources *r = res->owner;
    pthread_mutex_lock(&r->lock);
    assert(res->references);
    bool last = --res->references == 0;
    res->used_at = cpu_monotonic_seconds();
    pthread_mutex_unlock(&r->lock);
    if (last) budget_nudge(r->options.host);
}

const shape *resource_shape(const resource *res) {
    return res->shape;
}

const cuzk_key *resource_key(const resource *res) {
    return res->key;
}

/* ---- needs ---- */

/* What is remembered; the key's file is looked for anew unless the key is there. False when nothing is. */
static bool known_need(resources *r, const resource *e, resource_need *out, cuzk_status *st, cuzk_error *err) {
    char path[4096 + 320];
    bool make;
    pthread_mutex_lock(&r->lock);
    bool known = e->known, here = e->busy || e->key;
    if (known) *out = e->need;
    pthread_mutex_unlock(&r->lock);
    *st = known && !here ? resource_key_path(e, &r->options, path, sizeof path, &make, err) : CUZK_OK;
    return known;
}

cuzk_status resources_need(resources *r, const circuit *c, resource_need *out, void (*look)(void *user, const shape *s),
                           void *user, const cuzk_control *control, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&r->lock);
    resource *e = entry_locked(r, c, err);
    pthread_mutex_unlock(&r->lock);
    if (!e) return err->status;
    cuzk_status st;
    if (!look && known_need(r, e, out, &st, err)) return st;
    pthread_mutex_lock(&r->lock);
    st = wait_idle_locked(r, e, control, err);
    bool here = st == CUZK_OK && e->key;
    if (st != CUZK_OK || here) {
        if (here) e->references++; /* keeps it while look runs */
        *out = e->need;
        pthread_mutex_unlock(&r->lock);
        if (here && look) look(user, e->shape);
        if (here) resources_release(e);
        return st;
    }
    e->busy = true;
    pthread_mutex_unlock(&r->lock);
    st = look_busy(r, e, look, user, control, err);
    pthread_mutex_lock(&r->lock);
    *out = e->need;
    e->used_at = cpu_monotonic_seconds();
    no_longer_busy_locked(r, e);
    pthread_mutex_unlock(&r->lock);
    budget_nudge(r->options.host);
    return st;
}

/* ---- facts ---- */

void resource_pin(resource *res) {
    pthread_mutex_lock(&res->owner->lock);
    res->pinned = true;
    pthread_mutex_unlock(&res->owner->lock);
}

void resource_set_resident(resource *res, bool resident) {
    pthread_mutex_lock(&res->owner->lock);
    res->resident = resident;
    if (resident && !res->busy && !res->key_charge.from) resource_drop_pages(res);
    pthread_mutex_unlock(&res->owner->lock);
}

static resource_view view_locked(const resource *e) {
    resource_view v = {.references = e->references, .pinned = e->pinned, .loading = e->busy};
    snprintf(v.circuit, sizeof v.circuit, "%s", e->circuit.name);
    v.tier = RESOURCE_DISK;
    v.key_bytes = e->need.key_bytes;
    v.shape_bytes = e->need.shape_bytes;
    if (e->busy) return v; /* the rest belongs to the thread that is at it */
    if (e->key) v.tier = e->resident ? RESOURCE_RESIDENT : RESOURCE_MAPPED;
    v.charged_bytes = e->shape_charge.bytes + e->key_charge.bytes;
    v.idle_seconds = e->references || e->used_at <= 0 ? 0 : cpu_monotonic_seconds() - e->used_at;
    return v;
}

bool resources_busy(resources *r) {
    bool any = false;
    pthread_mutex_lock(&r->lock);
    for (const resource *e = r->list; e && !any; e = e->next) any = e->busy;
    pthread_mutex_unlock(&r->lock);
    return any;
}

size_t resources_view(resources *r, resource_view *out, size_t n) {
    size_t count = 0;
    pthread_mutex_lock(&r->lock);
    for (const resource *e = r->list; e; e = e->next, count++)
        if (count < n) out[count] = view_locked(e);
    pthread_mutex_unlock(&r->lock);
    return count;
}
