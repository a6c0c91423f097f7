/* The store of keys and shapes: one load however many ask, charges, pressure, pins, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "engine/resources.h"
#include "engine/toy_kind.h"
#include "ref/groth16_case.h"

static char folder[256];
static cuzk_context *context;
static circuit toys[3]; /* 1, 2, 4 KiB */
static atomic_uint releases;

static void on_release(void *user) {
    (void)user;
    atomic_fetch_add(&releases, 1);
}

static circuit toy(uint64_t bytes) {
    circuit c = {.kind = &toy_kind, .sector_bytes = bytes};
    cuzk_error e;
    snprintf(c.name, sizeof c.name, "toy-%ukib", (unsigned)(bytes >> 10));
    snprintf(c.shape_name, sizeof c.shape_name, "%s", c.name);
    assert_int_equal(c.kind->open(&c, bytes, "", &e), CUZK_OK);
    return c;
}

static int start(void **state) {
    (void)state;
    cuzk_error e;
    cuzk_settings s = {.threads = 2, .device = "cpu"};
    log_setup(LOG_WARN, LOG_TEXT);
    case_folder_make(folder);
    for (int i = 0; i < 3; i++) toys[i] = toy(1024u << i);
    return cuzk_context_create(&context, &s, &e) == CUZK_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) circuit_close(&toys[i]);
    cuzk_context_destroy(context);
    case_folder_remove(folder);
    return 0;
}

typedef struct bench {
    budget *host;
    resources *r;
    uint64_t tracked;
} bench;

static bench make_with(uint64_t total, uint64_t share, double idle, bool development, const char *params) {
    cuzk_error e;
    atomic_store(&releases, 0);
    bench b = {.host = budget_create(total, share, on_release, NULL, &e), .tracked = buffer_total_stats().live_bytes};
    resources_options o = {.context = context,
                           .host = b.host,
                           .development_keys = development,
                           .params_folder = params ? params : "/nonexistent",
                           .idle_seconds = idle};
    b.r = resources_create(&o, &e);
    assert_non_null(b.r);
    return b;
}

static bench make(uint64_t total, double idle) {
    return make_with(total, 0, idle, true, NULL);
}

/* All is given back, counted bytes and tracked bytes alike. */
static void done(bench *b) {
    resources_destroy(b->r);
    assert_int_equal(budget_get(b->host).reserved, 0);
    assert_int_equal(buffer_total_stats().live_bytes, b->tracked);
    budget_destroy(b->host);
}

static const resource_use on_host = {.on_host = true}, on_device = {0};
static const uint64_t plenty = (uint64_t)1 << 30;

static resource *take(bench *b, int i, resource_use use, bool expect_load) {
    cuzk_error e;
    resource *res;
    bool loaded, again;
    cuzk_status st = resources_acquire(b->r, &toys[i], use, &res, NULL, &loaded, &again, NULL, &e);
    if (st) print_message("%s; expected %s; found %s\n", e.what, e.expected, e.found);
    assert_int_equal(st, CUZK_OK);
    assert_int_equal(loaded, expect_load);
    assert_non_null(resource_shape(res));
    assert_non_null(resource_key(res));
    return res;
}

static cuzk_status refused(bench *b, int i, resource_use use, bool expect_again, cuzk_error *e) {
    resource *res = (resource *)b;
    reservation held = {0};
    bool loaded, again;
    cuzk_status st = resources_acquire(b->r, &toys[i], use, &res, &held, &loaded, &again, NULL, e);
    assert_int_not_equal(st, CUZK_OK);
    assert_null(res);
    assert_null(held.from);
    assert_false(loaded);
    assert_int_equal(again, expect_again);
    return st;
}

static resource_need need_of(bench *b, int i) {
    cuzk_error e;
    resource_need n;
    assert_int_equal(resources_need(b->r, &toys[i], &n, NULL, NULL, NULL, &e), CUZK_OK);
    return n;
}

/* Makes the development keys, so that needs are the same in all tests after it. */
static void loaded_once_and_kept(void **state) {
    (void)state;
    bench b = make(plenty, 300);
    bool was;
    uint64_t freed;
    cuzk_error e;
    resource_need n = need_of(&b, 0);
    assert_true(n.shape_bytes > 0 && n.key_bytes > 256 * 96 && n.making_bytes > 0);
    resource *a = take(&b, 0, on_host, true), *a2 = take(&b, 0, on_device, false);
    assert_ptr_equal(a, a2);
    n = need_of(&b, 0);
    assert_int_equal(n.making_bytes, 0);
    assert_int_equal(budget_get(b.host).reserved, n.shape_bytes + n.key_bytes);
    assert_int_equal(resources_evict(b.r, "toy-1kib", &was, &freed, &e), CUZK_REFUSED);
    resources_release(a);
    unsigned before = atomic_load(&releases);
    resources_release(a2);
    assert_int_equal(atomic_load(&releases), before + 1); /* it can be pressed out from now on */
    resource_view v[4];
    assert_int_equal(resources_view(b.r, v, 4), 1);
    assert_string_equal(v[0].circuit, "toy-1kib");
    assert_int_equal(v[0].tier, RESOURCE_MAPPED);
    assert_int_equal(v[0].charged_bytes, n.shape_bytes + n.key_bytes);
    assert_int_equal(resources_evict(b.r, "toy-1kib", &was, &freed, &e), CUZK_OK);
    assert_true(was);
    assert_int_equal(freed, n.shape_bytes + n.key_bytes);
    assert_int_equal(budget_get(b.host).reserved, 0);
    resources_view(b.r, v, 4);
    assert_int_equal(v[0].tier, RESOURCE_DISK);
    assert_int_equal(resources_evict(b.r, "toy-1kib", &was, &freed, &e), CUZK_OK);
    assert_false(was);
    assert_int_equal(resources_evict(b.r, "no-such", &was, &freed, &e), CUZK_OK);
    for (int i = 1; i < 3; i++) resources_release(take(&b, i, on_host, true));
    done(&b);
}

static void a_device_does_not_charge_the_host(void **state) {
    (void)state;
    bench b = make(plenty, 300);
    resource_need n = need_of(&b, 1);
    resource *res = take(&b, 1, on_device, true);
    resource_set_resident(res, true);
    assert_int_equal(budget_get(b.host).reserved, n.shape_bytes);
    resource_view v;
    resources_view(b.r, &v, 1);
    assert_int_equal(v.tier, RESOURCE_RESIDENT);
    resource *host = take(&b, 1, on_host, false); /* the CPU takes over: charged from now on */
    assert_int_equal(budget_get(b.host).reserved, n.shape_bytes + n.key_bytes);
    resources_release(host);
    resources_release(res);
    done(&b);
}

static void bytes_and_reference_in_one_step(void **state) {
    (void)state;
    bench b = make(plenty, 300);
    resource_need n = need_of(&b, 0);
    uint64_t own = n.shape_bytes + n.key_bytes;
    cuzk_error e;
    bool loaded, again;
    budget_resize(b.host, own + 100, 0);
    resource *res;
    reservation held = {0};
    resource_use use = {.bytes = 60, .on_host = true};
    assert_int_equal(resources_acquire(b.r, &toys[0], use, &res, &held, &loaded, &again, NULL, &e), CUZK_OK);
    assert_int_equal(held.bytes, 60);
    assert_int_equal(budget_get(b.host).reserved, own + 60);
    use.bytes = 41;
    unsigned before = atomic_load(&releases);
    assert_int_equal(refused(&b, 0, use, true, &e), CUZK_MEMORY);
    assert_int_equal(refused(&b, 0, use, true, &e), CUZK_MEMORY);
    assert_int_equal(atomic_load(&releases), before); /* who is refused wakes nobody */
    assert_int_equal(budget_get(b.host).reserved, own + 60);
    use.bytes = 101;
    assert_int_equal(refused(&b, 0, use, false, &e), CUZK_TOO_LARGE);
    budget_release(&held);
    resources_release(res);
    done(&b);
}

static void loaded_only_does_not_load(void **state) {
    (void)state;
    cuzk_error e;
    bench b = make(plenty, 300);
    resource_use use = {.loaded_only = true};
    unsigned before = atomic_load(&releases);
    assert_int_equal(refused(&b, 0, use, true, &e), CUZK_MEMORY);
    assert_int_equal(atomic_load(&releases), before);
    resources_release(take(&b, 0, on_device, true));
    assert_true(atomic_load(&releases) > before);
    resources_release(take(&b, 0, use, false));
    done(&b);
}

static void the_longest_unused_goes_first(void **state) {
    (void)state;
    cuzk_error e;
    bench b = make(plenty, 0);
    uint64_t own[3];
    for (int i = 0; i < 3; i++) {
        resource_need n = need_of(&b, i);
        own[i] = n.shape_bytes + n.key_bytes;
    }
    resources_press(b.r, plenty, true); /* shapes that were loaded for the needs */
    assert_int_equal(budget_get(b.host).reserved, 0);
    budget_resize(b.host, own[0] + own[1] + own[2] - 1, 0);
    resources_release(take(&b, 0, on_host, true));
    resources_release(take(&b, 1, on_host, true));
    resources_release(take(&b, 0, on_host, false));
    resource *last = take(&b, 2, on_host, true); /* 1 was used before 0 */
    assert_int_equal(budget_get(b.host).reserved, own[0] + own[2]);
    resource *first = take(&b, 0, on_host, false);
    assert_int_equal(refused(&b, 1, on_host, true, &e), CUZK_MEMORY); /* both are in use */
    resource_pin(first);
    resources_release(first);
    resources_release(last);
    assert_int_equal(resources_press(b.r, plenty, true), own[2]); /* not the pinned one */
    bool was;
    uint64_t freed;
    assert_int_equal(resources_evict(b.r, toys[0].name, &was, &freed, &e), CUZK_OK);
    assert_true(was);
    done(&b);
}

static void fresh_ones_stay_unless_pressed_hard(void **state) {
    (void)state;
    bench b = make(plenty, 300);
    resources_release(take(&b, 0, on_host, true));
    assert_int_equal(resources_press(b.r, plenty, false), 0);
    assert_true(resources_press(b.r, 1, true) > 0);
    done(&b);
}

static void what_can_never_fit_is_said(void **state) {
    (void)state;
    cuzk_error e;
    bench b = make(plenty, 0);
    resource_need n0 = need_of(&b, 0), n1 = need_of(&b, 1);
    uint64_t own0 = n0.shape_bytes + n0.key_bytes, own1 = n1.shape_bytes + n1.key_bytes;
    resources_press(b.r, plenty, true);
    budget_resize(b.host, own1 - 1, 0);
    assert_int_equal(refused(&b, 1, on_host, false, &e), CUZK_TOO_LARGE);
    assert_non_null(strstr(e.what, "never"));
    assert_non_null(strstr(e.found, "a need of "));
    budget_resize(b.host, own1 + own0 - 1, 0);
    resource *pinned = take(&b, 0, on_host, true);
    resource_pin(pinned);
    resources_release(pinned);
    assert_int_equal(refused(&b, 1, on_host, false, &e), CUZK_TOO_LARGE); /* beside the pinned one it can never be */
    budget_resize(b.host, own1, own1);
    assert_int_equal(refused(&b, 1, on_host, false, &e), CUZK_TOO_LARGE); /* the critical share is not for it */
    done(&b);
    b = make_with(own1, own1, 0, true, NULL);
    resource_use urgent = {.critical = true, .on_host = true};
    resources_release(take(&b, 1, urgent, true));
    assert_int_equal(budget_get(b.host).critical_reserved, own1);
    done(&b);
}

static void missing_and_foreign_keys(void **state) {
    (void)state;
    cuzk_error e;
    char official[300], keys[4096], from[4400], name[300], to[700];
    resource_need n;
    snprintf(official, sizeof official, "%s/official", folder);
    assert_int_equal(file_make_folders(official, &e), CUZK_OK);
    bench b = make_with(plenty, 0, 300, false, official);
    assert_int_equal(refused(&b, 0, on_host, false, &e), CUZK_KEY_MISSING);
    assert_non_null(strstr(e.where, official));
    assert_int_equal(resources_need(b.r, &toys[0], &n, NULL, NULL, NULL, &e), CUZK_KEY_MISSING);
    assert_int_equal(file_cache_name(keys, sizeof keys, "dev-keys", &e), CUZK_OK);
    for (int i = 0; i < 2; i++) { /* 1: the key of another circuit under this one's name */
        circuit_file_name(&toys[i], "params", name, sizeof name);
        snprintf(from, sizeof from, "%s/%s", keys, name);
        circuit_file_name(&toys[0], "params", name, sizeof name);
        snprintf(to, sizeof to, "%s/%s", official, name);
        remove(to);
        assert_int_equal(symlink(from, to), 0);
        if (i == 0) assert_int_equal(refused(&b, 0, on_host, false, &e), CUZK_FOREIGN);
        if (i == 0) assert_non_null(strstr(e.what, "not an official"));
    }
    done(&b);
    b = make_with(plenty, 0, 300, true, official); /* taken from the folder though development keys are allowed */
    assert_int_equal(refused(&b, 0, on_host, false, &e), CUZK_FOREIGN);
    assert_int_equal(budget_get(b.host).reserved, 0);
    remove(to);
    resources_release(take(&b, 0, on_host, true));
    done(&b);
}

/* ---- many threads ---- */

typedef struct crowd {
    bench *b;
    atomic_uint loads, failures, wrong_key;
    resource_use use;
    int circuits;
    unsigned rounds;
} crowd;

static void *ask(void *user) {
    crowd *c = user;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    for (unsigned i = 0; i < c->rounds; i++) {
        cuzk_error e;
        resource *res;
        reservation held = {0};
        bool loaded, again;
        const circuit *which = &toys[(unsigned)rand_r(&seed) % (unsigned)c->circuits];
        cuzk_status st = resources_acquire(c->b->r, which, c->use, &res, &held, &loaded, &again, NULL, &e);
        if (st == CUZK_MEMORY && again) continue;
        if (st != CUZK_OK) {
            atomic_fetch_add(&c->failures, 1);
            continue;
        }
        if (loaded) atomic_fetch_add(&c->loads, 1);
        if (proving_key_fits(&resource_key(res)->key, resource_shape(res), &e)) atomic_fetch_add(&c->wrong_key, 1);
        if (shape_counts(resource_shape(res)).constraints < which->sector_bytes / 4) atomic_fetch_add(&c->wrong_key, 1);
        budget_release(&held);
        resources_release(res);
    }
    return NULL;
}

static void crowd_run(crowd *c) {
    pthread_t t[16];
    for (int i = 0; i < 16; i++) assert_int_equal(pthread_create(&t[i], NULL, ask, c), 0);
    for (int i = 0; i < 16; i++) pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&c->wrong_key), 0);
}

static void one_load_for_sixteen_threads(void **state) {
    (void)state;
    bench b = make(plenty, 300);
    crowd c = {.b = &b, .use = on_host, .circuits = 1, .rounds = 1};
    assert_false(resources_busy(b.r));
    crowd_run(&c);
    assert_false(resources_busy(b.r));
    assert_int_equal(atomic_load(&c.loads), 1);
    assert_int_equal(atomic_load(&c.failures), 0);
    done(&b);
}

static void *load_large(void *user) {
    bench *b = user;
    circuit c = toy(32 << 10); /* its key has yet to be made */
    cuzk_error e;
    resource *res;
    bool loaded, again;
    assert_int_equal(resources_acquire(b->r, &c, on_host, &res, NULL, &loaded, &again, NULL, &e), CUZK_OK);
    resources_release(res);
    circuit_close(&c);
    return NULL;
}

static void a_load_is_seen(void **state) {
    (void)state;
    bench b = make(plenty, 300);
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, load_large, &b), 0);
    for (int i = 0; i < 20000 && !resources_busy(b.r); i++) usleep(500);
    assert_true(resources_busy(b.r)); /* making the key takes far longer than this look */
    pthread_join(t, NULL);
    assert_false(resources_busy(b.r));
    done(&b);
}

static void a_failure_is_everybody_s(void **state) {
    (void)state;
    bench b = make_with(plenty, 0, 300, false, NULL);
    crowd c = {.b = &b, .use = on_host, .circuits = 1, .rounds = 1};
    crowd_run(&c);
    assert_int_equal(atomic_load(&c.failures), 16);
    done(&b);
}

static atomic_uint unloaded;

static void count_unload(void *user, const cuzk_key *key) {
    assert_non_null(key->key.h);
    assert_string_equal(user, "me");
    atomic_fetch_add(&unloaded, 1);
}

static void threads_under_pressure(void **state) {
    (void)state;
    bench b = make(plenty, 0);
    uint64_t largest = 0, sum = 0;
    for (int i = 0; i < 3; i++) {
        resource_need n = need_of(&b, i);
        uint64_t own = n.shape_bytes + n.key_bytes;
        if (own > largest) largest = own;
        sum += own;
    }
    resources_press(b.r, plenty, true);
    assert_true(largest + 1000 < sum);
    budget_resize(b.host, largest + 1000, 0);
    atomic_store(&unloaded, 0);
    resources_on_unload(b.r, count_unload, (void *)(uintptr_t) "me");
    crowd c = {.b = &b, .use = {.on_host = true, .bytes = 50}, .circuits = 3, .rounds = 300};
    crowd_run(&c);
    assert_int_equal(atomic_load(&c.failures), 0);
    assert_true(atomic_load(&c.loads) > 3);
    assert_true(budget_get(b.host).peak_reserved <= plenty);
    resources_press(b.r, plenty, true);
    assert_int_equal(budget_get(b.host).reserved, 0);
    assert_int_equal(atomic_load(&unloaded), atomic_load(&c.loads));
    done(&b);
}

/* A waiter that takes what is free and sleeps on the budget's call-back else never sleeps for ever. */
typedef struct sleepers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t generation;
    resources *r;
    atomic_uint turns, timeouts;
} sleepers;

static void wake(void *user) {
    sleepers *s = user;
    pthread_mutex_lock(&s->lock);
    s->generation++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void *take_turns(void *user) {
    sleepers *s = user;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    for (unsigned turn = 0; turn < 60;) {
        cuzk_error e;
        resource *res;
        reservation held = {0};
        bool loaded, again;
        pthread_mutex_lock(&s->lock);
        uint64_t seen = s->generation;
        pthread_mutex_unlock(&s->lock);
        resource_use use = {.on_host = true, .bytes = 50};
        cuzk_status st = resources_acquire(s->r, &toys[rand_r(&seed) % 3], use, &res, &held, &loaded, &again, NULL, &e);
        if (st == CUZK_OK) {
            budget_release(&held);
            resources_release(res);
            atomic_fetch_add(&s->turns, 1);
            turn++;
            continue;
        }
        if (!again) return NULL;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 20;
        int rc = 0;
        pthread_mutex_lock(&s->lock);
        while (s->generation == seen && !rc) rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
        pthread_mutex_unlock(&s->lock);
        if (rc) {
            atomic_fetch_add(&s->timeouts, 1);
            return NULL;
        }
    }
    return NULL;
}

static void no_wake_up_is_lost(void **state) {
    (void)state;
    bench b = make(plenty, 0);
    uint64_t largest = 0;
    for (int i = 0; i < 3; i++) {
        resource_need n = need_of(&b, i);
        if (n.shape_bytes + n.key_bytes > largest) largest = n.shape_bytes + n.key_bytes;
    }
    done(&b);
    sleepers s = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    cuzk_error e;
    budget *host = budget_create(largest + 120, 0, wake, &s, &e);
    resources_options o = {.context = context, .host = host, .development_keys = true, .params_folder = "/nonexistent"};
    s.r = resources_create(&o, &e);
    pthread_t t[8];
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&t[i], NULL, take_turns, &s), 0);
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&s.timeouts), 0);
    assert_int_equal(atomic_load(&s.turns), 8 * 60);
    resources_destroy(s.r);
    assert_true(budget_get(host).peak_reserved <= largest + 120);
    budget_destroy(host);
}

/* ---- shapes for plans, cancelling, keys that cannot be kept ---- */

static void look(void *user, const shape *s) {
    *(uint64_t *)user = shape_counts(s).constraints;
}

static void a_look_at_the_shape(void **state) {
    (void)state;
    cuzk_error e;
    resource_need n;
    uint64_t constraints = 0;
    bench b = make(10, 300); /* no room for anything: the shape is loaded, shown and gone */
    assert_int_equal(resources_need(b.r, &toys[0], &n, look, &constraints, NULL, &e), CUZK_OK);
    assert_true(constraints >= 256);
    assert_int_equal(budget_get(b.host).reserved, 0);
    budget_resize(b.host, plenty, 0);
    constraints = 0;
    assert_int_equal(resources_need(b.r, &toys[0], &n, look, &constraints, NULL, &e), CUZK_OK);
    assert_true(constraints >= 256);
    assert_int_equal(budget_get(b.host).reserved, n.shape_bytes);
    resource *res = take(&b, 0, on_device, true);
    constraints = 0;
    assert_int_equal(resources_need(b.r, &toys[0], &n, look, &constraints, NULL, &e), CUZK_OK);
    assert_true(constraints >= 256);
    resources_release(res);
    done(&b);
}

static void cancelled_loads_leave_nothing(void **state) {
    (void)state;
    cuzk_error e;
    bench b = make(plenty, 300);
    circuit large = toy(64 << 10); /* its key has yet to be made */
    atomic_int stop = 1;
    cuzk_control control = {.cancel = &stop};
    resource *res;
    bool loaded, again;
    assert_int_equal(resources_acquire(b.r, &large, on_host, &res, NULL, &loaded, &again, &control, &e),
                     CUZK_CANCELLED);
    assert_null(res);
    stop = 0;
    assert_int_equal(resources_acquire(b.r, &large, on_host, &res, NULL, &loaded, &again, &control, &e), CUZK_OK);
    resources_release(res);
    circuit_close(&large);
    done(&b);
}

static void a_key_that_stays_in_memory_is_charged(void **state) {
    (void)state;
    char official[300], keys[4096], from[4400], name[300], to[700], *cache = strdup(getenv("CUZK_CACHE"));
    cuzk_error e;
    snprintf(official, sizeof official, "%s/given", folder);
    assert_int_equal(file_make_folders(official, &e), CUZK_OK);
    assert_int_equal(file_cache_name(keys, sizeof keys, "dev-keys", &e), CUZK_OK);
    circuit_file_name(&toys[2], "params", name, sizeof name);
    snprintf(from, sizeof from, "%s/%s", keys, name);
    snprintf(to, sizeof to, "%s/%s", official, name);
    assert_int_equal(symlink(from, to), 0);
    setenv("CUZK_CACHE", "/proc/no/folder/can/be/made/here", 1);
    log_setup(LOG_ERROR, LOG_TEXT); /* its warnings are expected */
    bench b = make_with(plenty, 0, 300, true, official);
    resource *res = take(&b, 2, on_device, true);
    resource_need n = need_of(&b, 2);
    assert_non_null(resource_key(res)->key.memory.data);
    assert_int_equal(budget_get(b.host).reserved, n.shape_bytes + n.key_bytes);
    resources_release(res);
    done(&b);
    setenv("CUZK_CACHE", cache, 1);
    free(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaded_once_and_kept),
        cmocka_unit_test(a_device_does_not_charge_the_host),
        cmocka_unit_test(bytes_and_reference_in_one_step),
        cmocka_unit_test(loaded_only_does_not_load),
        cmocka_unit_test(the_longest_unused_goes_first),
        cmocka_unit_test(fresh_ones_stay_unless_pressed_hard),
        cmocka_unit_test(what_can_never_fit_is_said),
        cmocka_unit_test(missing_and_foreign_keys),
        cmocka_unit_test(one_load_for_sixteen_threads),
        cmocka_unit_test(a_load_is_seen),
        cmocka_unit_test(a_failure_is_everybody_s),
        cmocka_unit_test(threads_under_pressure),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(a_look_at_the_shape),
        cmocka_unit_test(cancelled_loads_leave_nothing),
        cmocka_unit_test(a_key_that_stays_in_memory_is_charged),
    };
    return cmocka_run_group_tests(tests, start, end);
}
