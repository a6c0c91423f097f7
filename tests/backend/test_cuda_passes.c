/* Passes over keys that a device does not hold whole, over the fake device (fake_gpu.h): how a key is laid out for
 * proofs that come at once, who shares a pass with whom, and what befalls the others when one is cancelled or the
 * device fails. That the sums are right is for tests/cuda, on machines with a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "backend/cuda/backend.h"
#include "fake_gpu.h"
#include "ref/groth16_case.h"

#define OWN (FAKE_PROOF_BYTES - FAKE_WORK_BYTES)
#define ALONE (FAKE_SHAPE_BYTES + FAKE_PROOF_BYTES)

static cuzk_error err;
static pool *workers;
static char folder[256];
static fake_gpu *gpu;
static const backend *cuda;
static groth16_case c;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

/* ---- layouts ---- */

static uint64_t shared_bytes(unsigned at_once, uint64_t limit) {
    prove_plan plan;
    backend_cuda_limit_memory(0, limit);
    backend_cuda_proofs_at_once(0, at_once);
    OK(cuda->plan(0, c.shape, 1, 0, 0, &plan, &err));
    assert_int_equal(plan.device_bytes - plan.device_shared_bytes,
                     limit >= ALONE + 5 * FAKE_SECTION_BYTES ? FAKE_PROOF_BYTES : OWN);
    return plan.device_shared_bytes;
}

/* Here a proof more takes two thirds of what a section of the key takes. Of its points (in thousands of 96 bytes) h has
 * 33, l, a and b_g2 20 each, b_g1 10: 103 in all, 70 without h, then 50, 30 and 10. */
static void layouts(void **state) {
    (void)state;
    const uint64_t nothing = FAKE_SHAPE_BYTES + FAKE_WORK_BYTES, section = FAKE_SECTION_BYTES;
    assert_int_equal(3 * OWN, 2 * FAKE_SECTION_BYTES);
    assert_int_equal(shared_bytes(1, ALONE + section), nothing + section);
    assert_int_equal(shared_bytes(2, ALONE + section), nothing); /* 103 / 2 < 70 */
    assert_int_equal(shared_bytes(1, ALONE + 2 * section), nothing + 2 * section);
    assert_int_equal(shared_bytes(2, ALONE + 2 * section), nothing + section); /* 70 / 2 < 50 */
    assert_int_equal(shared_bytes(3, ALONE + 2 * section), nothing + section); /* 103 / 3 is hardly less */
    assert_int_equal(shared_bytes(4, ALONE + 3 * section), nothing + section); /* 70 / 4 < 50 / 2 */
    assert_int_equal(shared_bytes(4, ALONE + 4 * section), nothing + 4 * section);
    assert_int_equal(shared_bytes(4, ALONE + 5 * section), FAKE_SHAPE_BYTES + 5 * section);
    backend_cuda_proofs_at_once(0, 1);
    backend_cuda_limit_memory(0, 0);
}

/* ---- riders ---- */

typedef struct prover {
    pthread_t thread;
    atomic_int cancel;
    atomic_bool started; /* or failed */
    cuzk_status status;
    cuzk_error err;
    pending_proof *pending;
    atomic_int signs; /* of life */
} prover;

static void sign(void *user, const char *stage, uint64_t done, uint64_t total) {
    prover *p = user;
    (void)stage, (void)done, (void)total;
    atomic_fetch_add(&p->signs, 1);
}

static void *start(void *user) {
    prover *p = user;
    witness w;
    prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w};
    cuzk_control control = {.cancel = &p->cancel, .progress = sign, .user = p};
    p->status = witness_write(&w, c.shape, c.run, c.params, c.instance, &p->err);
    if (!p->status) p->status = groth16_blinding(&q.r, &q.s, &p->err);
    if (!p->status) p->status = cuda->prove_start(0, &p->pending, &q, workers, &control, &p->err);
    atomic_store(&p->started, true);
    return NULL;
}

#define PATIENCE 20000 /* times a millisecond; then the test fails instead of standing still */
#define AWAIT(condition)                                                                                               \
    do {                                                                                                               \
        for (int ms = 0; ms < PATIENCE && !(condition); ms++) usleep(1000);                                            \
        assert_true(condition);                                                                                        \
    } while (0)

/* The first begins a pass, which stands still; the others have come when there are so many proofs on the device, and
 * wait a moment later. */
static void board(prover *p, unsigned n) {
    memset(p, 0, n * sizeof *p);
    memset(gpu->together, 0, sizeof gpu->together);
    gpu->passes = 0;
    gpu->stop_pass = 1;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(pthread_create(&p[i].thread, NULL, start, &p[i]), 0);
        if (i == 0) AWAIT(gpu->held);
    }
    AWAIT(gpu->proofs >= n);
    usleep(50000);
}

/* From the pass with this number on they stand still; 0: none. */
static void go_on_to(unsigned pass) {
    gpu->stop_pass = pass;
}

static void leave(prover *p, unsigned n) {
    go_on_to(0);
    for (unsigned i = 0; i < n; i++) pthread_join(p[i].thread, NULL);
}

static void finish(prover *p) {
    groth16_proof proof;
    assert_int_equal(p->status, CUZK_OK);
    OK(cuda->prove_finish(p->pending, &proof, NULL, &err));
}

static void stream_everything(void) {
    backend_cuda_evict();
    backend_cuda_proofs_at_once(0, 1);
    backend_cuda_limit_memory(0, ALONE);
    pending_proof *warm = NULL;
    prover p = {.pending = NULL};
    start(&p); /* the key is laid out for this */
    warm = p.pending;
    assert_int_equal(p.status, CUZK_OK);
    cuda->prove_abandon(warm);
    backend_cuda_limit_memory(0, ALONE + 5 * OWN);
}

static void nothing_is_left(uint64_t host_before) {
    assert_int_equal(gpu->proofs, 0);
    assert_int_equal(gpu->wrong, 0);
    assert_int_equal(buffer_total_stats().live_bytes, host_before);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
}

/* Those that come while a pass is under way share the next, up to four; the pinned buffers go with the last proof. */
static void who_comes_meanwhile_shares_the_next(void **state) {
    (void)state;
    prover p[6];
    uint64_t before = buffer_total_stats().live_bytes;
    stream_everything();
    bool seen = false;
    for (int tries = 0; tries < 20 && !seen; tries++) { /* a thread may come late when the machine is busy */
        board(p, 6);
        leave(p, 6);
        assert_true(gpu->passes >= 3);
        seen = gpu->together[0] == 1 && gpu->together[1] == 4 && gpu->together[2] == 1;
        for (int i = 0; i < 6; i++) {
            assert_true(p[i].signs > 0);
            assert_true(buffer_class_stats(BUFFER_PINNED).live_bytes > 0);
            finish(&p[i]);
        }
        assert_int_equal(buffer_class_stats(BUFFER_PINNED).live_bytes, 0);
    }
    assert_true(seen);
    nothing_is_left(before);
}

/* Who is cancelled while waiting goes at once, without the others; a pass ends when nobody in it wants it. */
static void cancelling(void **state) {
    (void)state;
    prover p[4];
    uint64_t before = buffer_total_stats().live_bytes;
    stream_everything();
    board(p, 4);
    atomic_store(&p[1].cancel, 1);
    AWAIT(atomic_load(&p[1].started));
    assert_int_equal(p[1].status, CUZK_CANCELLED);
    assert_true(gpu->held);
    assert_false(atomic_load(&p[0].started) || atomic_load(&p[2].started) || atomic_load(&p[3].started));
    atomic_store(&p[0].cancel, 1); /* alone in its pass */
    leave(p, 4);
    assert_int_equal(p[0].status, CUZK_CANCELLED);
    finish(&p[2]);
    finish(&p[3]);
    nothing_is_left(before);
}

/* In a pass of three, one after the other is cancelled: while anybody wants it, it goes on for all. */
static void cancelling_in_a_pass(void **state) {
    (void)state;
    prover p[4];
    uint64_t before = buffer_total_stats().live_bytes;
    stream_everything();
    for (unsigned cancelled = 1; cancelled <= 3; cancelled++) {
        for (int tries = 0; tries == 0 || (gpu->together[1] != 3 && tries < 20); tries++) {
            board(p, 4);
            go_on_to(2);
            AWAIT(gpu->held && gpu->passes == 2);
            for (unsigned i = 1; i <= cancelled; i++) atomic_store(&p[i].cancel, 1);
            leave(p, 4);
            finish(&p[0]);
            for (int i = 1; i < 4; i++)
                if (p[i].status == CUZK_OK) finish(&p[i]);
        }
        assert_int_equal(gpu->together[1], 3);
        for (int i = 1; i < 4; i++) assert_int_equal(p[i].status, cancelled < 3 ? CUZK_OK : CUZK_CANCELLED);
    }
    nothing_is_left(before);
}

/* A fault in a pass is told to all that rode in it, and to nobody else. */
static void faults(void **state) {
    (void)state;
    prover p[3];
    uint64_t before = buffer_total_stats().live_bytes;
    stream_everything();
    gpu->fail_pass = 2;
    gpu->fail_chunk = 2;
    for (int tries = 0; tries == 0 || (gpu->together[1] != 2 && tries < 20); tries++) {
        board(p, 3);
        leave(p, 3);
        for (int i = 0; i < 3; i++)
            if (p[i].status == CUZK_OK) finish(&p[i]);
    }
    assert_int_equal(gpu->together[1], 2);
    assert_int_equal(p[0].status, CUZK_OK);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(p[i].status, CUZK_DEVICE);
        assert_string_equal(p[i].err.what, "the fake device fails");
    }
    gpu->fail_chunk = gpu->fail_pass = 0;
    prover again = {.pending = NULL};
    start(&again);
    finish(&again);
    nothing_is_left(before);
}

static int set_up(void **state) {
    (void)state;
    static const chain_circuit params = {20000, 5, 10000};
    static fr x;
    const char *why;
    setenv("CUZK_CUDA_MODULE", FAKE_GPU, 1);
    cuda = backend_cuda(&why);
    if (!cuda) print_message("%s\n", why);
    void *module = dlopen(FAKE_GPU, RTLD_NOW);
    gpu = module ? dlsym(module, "fake_gpu_state") : NULL;
    workers = pool_create(2, &err);
    case_folder_make(folder);
    fr_from_u64(&x, 9);
    return cuda && gpu && workers && !case_make(&c, folder, "pass", chain_run, &params, &x, NULL, workers, &err) ? 0
                                                                                                                 : -1;
}
static int tear_down(void **state) {
    (void)state;
    case_free(&c);
    case_folder_remove(folder);
    pool_destroy(workers);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),    cmocka_unit_test(who_comes_meanwhile_shares_the_next),
        cmocka_unit_test(cancelling), cmocka_unit_test(cancelling_in_a_pass),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
