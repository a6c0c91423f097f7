/* Budgets: what fits, the critical share, parts given back, new sizes, many threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine/budget.h"

static atomic_uint releases;

static void count_release(void *user) {
    (void)user;
    atomic_fetch_add(&releases, 1);
}

static budget *make(uint64_t total, uint64_t share) {
    cuzk_error e;
    atomic_store(&releases, 0);
    budget *b = budget_create(total, share, count_release, NULL, &e);
    assert_non_null(b);
    return b;
}

static void whole_or_not_at_all(void **state) {
    (void)state;
    budget *b = make(100, 0);
    reservation r = {0}, s = {0}, t = {0};
    assert_true(budget_try(b, &r, 60, false));
    assert_false(budget_try(b, &s, 41, false));
    assert_null(s.from);
    assert_true(budget_try(b, &s, 40, false));
    assert_false(budget_try(b, &t, 1, true));
    assert_true(budget_try(b, &t, 0, false));
    assert_int_equal(r.bytes, 60);
    assert_int_equal(budget_get(b).reserved, 100);
    assert_int_equal(budget_get(b).refused, 2);
    assert_int_equal(atomic_load(&releases), 0);
    budget_shrink(&s, 50);
    assert_int_equal(s.bytes, 40);
    assert_int_equal(atomic_load(&releases), 0);
    budget_shrink(&s, 10);
    assert_int_equal(atomic_load(&releases), 1);
    reservation part = {0};
    budget_split(&r, &part, 25);
    assert_int_equal(r.bytes, 35);
    assert_int_equal(part.bytes, 25);
    assert_int_equal(budget_get(b).reserved, 70);
    budget_nudge(b);
    assert_int_equal(atomic_load(&releases), 2);
    budget_release(&r);
    budget_release(&r);
    budget_release(&s);
    budget_release(&t);
    budget_release(&part);
    assert_null(r.from);
    assert_int_equal(budget_get(b).reserved, 0);
    assert_int_equal(budget_get(b).peak_reserved, 100);
    budget_destroy(b);
    budget_destroy(NULL);
}

static void nothing_wraps_around(void **state) {
    (void)state;
    budget *b = make(UINT64_MAX, 0);
    reservation r = {0}, s = {0};
    assert_true(budget_try(b, &r, UINT64_MAX - 1, false));
    assert_false(budget_try(b, &s, 2, false));
    assert_false(budget_try(b, &s, UINT64_MAX, false));
    assert_true(budget_try(b, &s, 1, false));
    budget_release(&r);
    budget_release(&s);
    budget_destroy(b);
}

static void a_share_is_kept_for_critical_work(void **state) {
    (void)state;
    budget *b = make(100, 30);
    reservation low = {0}, more = {0}, urgent = {0}, second = {0};
    assert_true(budget_try(b, &low, 70, false));
    assert_false(budget_try(b, &more, 1, false));
    assert_true(budget_try(b, &urgent, 20, true));
    assert_false(budget_try(b, &more, 1, false)); /* 10 of the share are unused, and stay so */
    assert_true(budget_try(b, &second, 10, true));
    budget_release(&second);
    budget_shrink(&low, 50);
    assert_true(budget_try(b, &second, 30, true)); /* more than the share: critical work sees all */
    assert_int_equal(budget_get(b).critical_reserved, 50);
    assert_false(budget_try(b, &more, 1, false));
    budget_release(&urgent);
    assert_true(budget_try(b, &more, 20, false)); /* the share is in use: others get the rest */
    assert_int_equal(budget_get(b).reserved, 100);
    budget_release(&low);
    budget_release(&more);
    budget_release(&second);
    assert_int_equal(budget_get(b).critical_reserved, 0);
    budget_destroy(b);
    b = make(10, 50); /* a share above the total is the total */
    assert_false(budget_try(b, &low, 1, false));
    assert_true(budget_try(b, &urgent, 10, true));
    budget_release(&urgent);
    budget_destroy(b);
}

static void sizes_may_change(void **state) {
    (void)state;
    budget *b = make(100, 0);
    reservation r = {0}, s = {0};
    assert_true(budget_try(b, &r, 80, false));
    budget_resize(b, 50, 0);
    assert_int_equal(atomic_load(&releases), 0);
    assert_false(budget_try(b, &s, 1, true));
    budget_shrink(&r, 40);
    assert_true(budget_try(b, &s, 10, false));
    assert_int_equal(atomic_load(&releases), 1);
    budget_resize(b, 60, 10);
    assert_int_equal(atomic_load(&releases), 2); /* the total grew, though others see no more than before */
    budget_resize(b, 60, 0);
    assert_int_equal(atomic_load(&releases), 3);
    budget_resize(b, 60, 60);
    assert_int_equal(atomic_load(&releases), 3);
    budget_release(&r);
    budget_release(&s);
    budget_destroy(b);
}

/* Many threads: the sum of what they hold, counted apart, never passes the total, nor others' part. */
typedef struct hammer {
    budget *b;
    uint64_t total, share;
    atomic_uint_fast64_t held, held_low;
    atomic_uint over;
} hammer;

static void *hammer_thread(void *user) {
    hammer *h = user;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    for (int i = 0; i < 20000; i++) {
        reservation r = {0};
        bool critical = rand_r(&seed) % 4 == 0;
        uint64_t bytes = (uint64_t)rand_r(&seed) % 400;
        if (!budget_try(h->b, &r, bytes, critical)) continue;
        if (atomic_fetch_add(&h->held, bytes) + bytes > h->total) atomic_fetch_add(&h->over, 1);
        if (!critical && atomic_fetch_add(&h->held_low, bytes) + bytes > h->total - h->share)
            atomic_fetch_add(&h->over, 1);
        uint64_t keep = bytes / 2;
        atomic_fetch_sub(&h->held, bytes - keep);
        if (!critical) atomic_fetch_sub(&h->held_low, bytes - keep);
        budget_shrink(&r, keep);
        atomic_fetch_sub(&h->held, keep);
        if (!critical) atomic_fetch_sub(&h->held_low, keep);
        budget_release(&r);
    }
    return NULL;
}

static void threads_never_pass_the_total(void **state) {
    (void)state;
    hammer h = {.b = make(1000, 200), .total = 1000, .share = 200};
    pthread_t t[8];
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&t[i], NULL, hammer_thread, &h), 0);
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&h.over), 0);
    assert_int_equal(budget_get(h.b).reserved, 0);
    assert_int_equal(budget_get(h.b).critical_reserved, 0);
    assert_true(budget_get(h.b).peak_reserved <= 1000);
    budget_destroy(h.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_or_not_at_all),
        cmocka_unit_test(nothing_wraps_around),
        cmocka_unit_test(a_share_is_kept_for_critical_work),
        cmocka_unit_test(sizes_may_change),
        cmocka_unit_test(threads_never_pass_the_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
