/* The thread pool: every tile once, slots, nesting, concurrent callers, cancelling, progress. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

static const unsigned sizes[] = {1, 2, 3, 8};
#define EACH_SIZE(p)                                                                                                   \
    for (size_t size_index = 0; size_index < 4; size_index++)                                                          \
        for (pool *p = pool_create(sizes[size_index], &e); p; pool_destroy(p), p = NULL)

typedef struct job {
    pool *p;
    atomic_uint ran[1000];
    atomic_int held[16]; /* threads in a slot now */
    atomic_int faults;
    atomic_int cancel;
    size_t cancel_at;
    unsigned long plain[1000]; /* written without atomics: the run must publish it */
} job;

static void mark(void *ctx, size_t tile, unsigned slot) {
    job *j = ctx;
    if (slot >= pool_threads(j->p) || atomic_fetch_add(&j->held[slot], 1)) atomic_fetch_add(&j->faults, 1);
    atomic_fetch_add(&j->ran[tile], 1);
    j->plain[tile] = tile + 1;
    atomic_fetch_sub(&j->held[slot], 1);
}

static void every_tile_runs_once(void **state) {
    (void)state;
    cuzk_error e;
    EACH_SIZE(p) {
        assert_int_equal(pool_threads(p), sizes[size_index]);
        for (size_t tiles = 0; tiles <= 1000; tiles = tiles * 3 + 1) {
            job *j = calloc(1, sizeof *j);
            j->p = p;
            assert_int_equal(pool_run(p, NULL, NULL, tiles, mark, j, &e), CUZK_OK);
            for (size_t i = 0; i < 1000; i++) {
                assert_int_equal(j->ran[i], i < tiles);
                assert_int_equal(j->plain[i], i < tiles ? i + 1 : 0);
            }
            assert_int_equal(j->faults, 0);
            free(j);
        }
    }
}

static void without_a_pool_the_caller_works_alone(void **state) {
    (void)state;
    cuzk_error e;
    job *j = calloc(1, sizeof *j);
    assert_int_equal(pool_run(NULL, NULL, "alone", 100, mark, j, &e), CUZK_OK);
    for (size_t i = 0; i < 100; i++) assert_int_equal(j->ran[i], 1);
    assert_int_equal(j->faults, 0); /* slot 0 only */
    free(j);
}

typedef struct nest {
    pool *p;
    int depth;
    atomic_uint leaves;
} nest;

typedef struct nest_level {
    nest *n;
    int depth;
} nest_level;

static void descend(void *ctx, size_t tile, unsigned slot) {
    (void)tile;
    (void)slot;
    nest_level *l = ctx;
    if (!l->depth) {
        atomic_fetch_add(&l->n->leaves, 1);
        return;
    }
    cuzk_error e;
    nest_level below = {l->n, l->depth - 1};
    if (pool_run(l->n->p, NULL, NULL, 5, descend, &below, &e)) abort();
}

static void nested_runs_finish(void **state) {
    (void)state;
    cuzk_error e;
    EACH_SIZE(p) {
        nest n = {.p = p};
        nest_level top = {&n, 4};
        assert_int_equal(pool_run(p, NULL, NULL, 5, descend, &top, &e), CUZK_OK);
        assert_int_equal(n.leaves, 5 * 5 * 5 * 5 * 5);
    }
}

static void *caller(void *arg) {
    pool *p = arg;
    cuzk_error e;
    for (int i = 0; i < 50; i++) {
        job *j = calloc(1, sizeof *j);
        j->p = p;
        int bad = pool_run(p, NULL, NULL, 200, mark, j, &e) != CUZK_OK || j->faults;
        for (size_t k = 0; k < 200; k++) bad |= j->ran[k] != 1 || j->plain[k] != k + 1;
        free(j);
        if (bad) return "fault";
    }
    return NULL;
}

static void callers_at_once(void **state) {
    (void)state;
    cuzk_error e;
    EACH_SIZE(p) {
        pthread_t t[6];
        for (int i = 0; i < 6; i++) assert_int_equal(pthread_create(&t[i], NULL, caller, p), 0);
        for (int i = 0; i < 6; i++) {
            void *fault;
            pthread_join(t[i], &fault);
            assert_null(fault);
        }
    }
}

static void cancel_in_tile(void *ctx, size_t tile, unsigned slot) {
    job *j = ctx;
    mark(ctx, tile, slot);
    if (tile == j->cancel_at) atomic_store(&j->cancel, 1);
    while (tile > j->cancel_at + 500 && !atomic_load(&j->cancel)) sched_yield(); /* it may have been put aside */
}

static void cancelling_stops_early(void **state) {
    (void)state;
    cuzk_error e;
    EACH_SIZE(p) {
        job *j = calloc(1, sizeof *j);
        j->p = p;
        j->cancel_at = 10;
        cuzk_control control = {.cancel = &j->cancel};
        assert_int_equal(pool_run(p, &control, "stage", 1000, cancel_in_tile, j, &e), CUZK_CANCELLED);
        assert_non_null(strstr(e.where, "stage"));
        size_t ran = 0;
        for (size_t i = 0; i < 1000; i++) ran += j->ran[i];
        assert_true(ran >= 11 && ran < 1000);
        /* Cancelled before the start: nothing runs. Cancelled in the last tile: all ran, so it is done. */
        assert_int_equal(pool_run(p, &control, NULL, 1000, mark, j, &e), CUZK_CANCELLED);
        size_t after = 0;
        for (size_t i = 0; i < 1000; i++) after += j->ran[i];
        assert_int_equal(after, ran);
        atomic_store(&j->cancel, 0);
        j->cancel_at = 0;
        assert_int_equal(pool_run(p, &control, NULL, 1, cancel_in_tile, j, &e), CUZK_OK);
        free(j);
    }
}

typedef struct watcher {
    atomic_int inside, faults;
    uint64_t last;
} watcher;

static void watch(void *user, const char *stage, uint64_t done, uint64_t total) {
    watcher *w = user;
    if (atomic_fetch_add(&w->inside, 1)) atomic_fetch_add(&w->faults, 1);
    if (strcmp(stage, "stage") != 0 || total != 300 || done != w->last + 1) atomic_fetch_add(&w->faults, 1);
    w->last = done;
    atomic_fetch_sub(&w->inside, 1);
}

static void progress_counts_up_alone(void **state) {
    (void)state;
    cuzk_error e;
    EACH_SIZE(p) {
        job *j = calloc(1, sizeof *j);
        j->p = p;
        watcher w = {0};
        cuzk_control control = {.progress = watch, .user = &w};
        assert_int_equal(pool_run(p, &control, "stage", 300, mark, j, &e), CUZK_OK);
        assert_int_equal(w.last, 300);
        assert_int_equal(w.faults, 0);
        free(j);
    }
}

static void default_size_is_what_the_process_may_use(void **state) {
    (void)state;
    cuzk_error e;
    pool *p = pool_create(0, &e);
    assert_true(pool_threads(p) >= 1);
    pool_destroy(p);
    pool_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_runs_once),
        cmocka_unit_test(without_a_pool_the_caller_works_alone),
        cmocka_unit_test(nested_runs_finish),
        cmocka_unit_test(callers_at_once),
        cmocka_unit_test(cancelling_stops_early),
        cmocka_unit_test(progress_counts_up_alone),
        cmocka_unit_test(default_size_is_what_the_process_may_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
