/* The store in memory: jobs of equal content share one copy of it, which goes with the last of them. */
#include <setjmp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "engine/store.h"

#define BYTES ((size_t)3 << 20)

static cuzk_error err;

static uint64_t tracked(void) {
    return buffer_class_stats(BUFFER_REQUEST).live_bytes;
}

static store_job job_of(uint64_t seq) {
    return (store_job){
        .seq = seq, .request_id = "id", .kind = "toy", .payload_bytes = 2 * BYTES, .state = CUZK_JOB_QUEUED};
}

static void put(store *s, uint64_t seq, const char *data) {
    store_job j = job_of(seq);
    cuzk_bytes vanilla = {data, BYTES};
    cuzk_submission payload = {
        .size = sizeof payload, .kind = j.kind, .c1 = {data, BYTES}, .vanilla = &vanilla, .n_vanilla = 1};
    assert_int_equal(s->ops->put(s, &j, &payload, &err), CUZK_OK);
}

static void end(store *s, uint64_t seq, cuzk_job_state state) {
    store_job j = job_of(seq);
    j.state = state;
    j.finished = 1;
    if (state == CUZK_JOB_COMPLETED)
        assert_int_equal(s->ops->complete(s, &j, (const uint8_t *)"proof", 5, &err), CUZK_OK);
    else
        assert_int_equal(s->ops->update(s, &j, &err), CUZK_OK);
}

static void content_is(store *s, uint64_t seq, const char *data) {
    buffer b;
    assert_int_equal(s->ops->payload(s, seq, 2, &b, &err), CUZK_OK);
    assert_int_equal(b.bytes, BYTES);
    assert_memory_equal(b.data, data, BYTES);
    buffer_free(&b);
}

typedef struct putter {
    store *s;
    pthread_barrier_t *together;
    uint64_t seq;
    const char *data;
} putter;

static void *put_together(void *arg) {
    const putter *p = arg;
    pthread_barrier_wait(p->together);
    put(p->s, p->seq, p->data);
    return NULL;
}

#define AT_ONCE 8

/* Of jobs that come at once one is copied, and the others wait for it. The first test here: it looks at the peak. */
static void one_copy_at_once(void **state) {
    (void)state;
    store *s = store_memory_create(&err);
    char *data = calloc(1, BYTES);
    pthread_barrier_t together;
    pthread_t thread[AT_ONCE];
    putter p[AT_ONCE];
    assert_true(s && data);
    pthread_barrier_init(&together, NULL, AT_ONCE);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        p[i] = (putter){s, &together, i + 1, data};
        assert_int_equal(pthread_create(&thread[i], NULL, put_together, &p[i]), 0);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&together);
    assert_true(tracked() >= 2 * BYTES);
    assert_true(tracked() < 3 * BYTES);
    assert_int_equal(buffer_class_stats(BUFFER_REQUEST).peak_bytes, tracked());
    for (unsigned i = 0; i < AT_ONCE; i++) content_is(s, i + 1, data);
    for (unsigned i = 0; i < AT_ONCE; i++) end(s, i + 1, CUZK_JOB_CANCELLED);
    assert_int_equal(tracked(), 0);
    s->ops->close(s);
    free(data);
}

static void one_copy(void **state) {
    (void)state;
    store *s = store_memory_create(&err);
    assert_non_null(s);
    char *data = malloc(BYTES), *same = malloc(BYTES);
    assert_true(data && same);
    memset(data, 'x', BYTES);
    memset(same, 'x', BYTES);
    put(s, 1, data);
    uint64_t one = tracked();
    assert_true(one >= 2 * BYTES);
    put(s, 2, same);
    put(s, 3, data);
    assert_int_equal(tracked(), one);
    /* Of the same digest, but not the same. */
    same[BYTES - 1] = 'y';
    put(s, 4, same);
    assert_int_equal(tracked(), 2 * one);
    content_is(s, 2, data);
    content_is(s, 4, same);
    end(s, 4, CUZK_JOB_CANCELLED);
    end(s, 1, CUZK_JOB_COMPLETED);
    end(s, 3, CUZK_JOB_FAILED);
    assert_int_equal(tracked(), one);
    content_is(s, 2, data);
    end(s, 2, CUZK_JOB_CANCELLED);
    assert_int_equal(tracked(), 0);
    s->ops->close(s);
    free(data);
    free(same);
}

/* What was not ended goes with the store. */
static void closed(void **state) {
    (void)state;
    store *s = store_memory_create(&err);
    char *data = calloc(1, BYTES);
    assert_true(s && data);
    put(s, 1, data);
    put(s, 2, data);
    s->ops->close(s);
    assert_int_equal(tracked(), 0);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_copy_at_once), cmocka_unit_test(one_copy),
                                       cmocka_unit_test(closed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
