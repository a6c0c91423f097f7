/* The host's side of the CUDA backend over a module that only keeps books (fake_gpu.c): what lies on the device within
 * which limit, plans against the bytes that are taken, keys that are streamed, lazy witnesses, failing and cancelling.
 * Proofs are not right here; tests/cuda has those, for machines with a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include "backend/cuda/backend.h"
#include "fake_gpu.h"
#include "ref/groth16_case.h"

static cuzk_error err;
static pool *workers;
static char folder[256];
static fake_gpu *gpu;
static const backend *cuda;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

static void make(groth16_case *c, const char *name, uint64_t constraints) {
    static chain_circuit params[8];
    static fr start;
    static unsigned made;
    fr_from_u64(&start, 9);
    params[made] = (chain_circuit){constraints, 5, (uint32_t)constraints / 2};
    OK(case_make(c, folder, name, chain_run, &params[made++], &start, NULL, workers, &err));
}

static uint64_t told;
static void hear(void *user, uint64_t bytes) {
    (void)user;
    told = bytes;
}

static cuzk_status begin(const groth16_case *c, pending_proof **out, const cuzk_control *control) {
    witness w;
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w, .holds = hear};
    OK(witness_write(&w, c->shape, c->run, c->params, c->instance, &err));
    OK(groth16_blinding(&q.r, &q.s, &err));
    buffer_reset_peaks();
    return cuda->prove_start(0, out, &q, workers, control, &err);
}

static void end(pending_proof *p) {
    groth16_proof proof;
    OK(cuda->prove_finish(p, &proof, NULL, &err));
}

/* All sections, some, none: as many as fit, and the plan tells exactly what is taken. */
static void limits(void **state) {
    (void)state;
    groth16_case c;
    make(&c, "limits", 30000);
    const uint64_t base = FAKE_SHAPE_BYTES + FAKE_PROOF_BYTES, section = FAKE_SECTION_BYTES;
    const struct {
        uint64_t limit;
        unsigned sections;
    } rows[] = {{base, 0}, {base + section, 1}, {base + 4 * section - 1, 3}, {base + 5 * section, 5}, {0, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        prove_plan plan;
        pending_proof *p;
        backend_cuda_evict();
        assert_int_equal(gpu->live, 0);
        backend_cuda_limit_memory(0, rows[i].limit);
        uint64_t before = buffer_total_stats().live_bytes;
        OK(cuda->plan(0, c.shape, 1, 0, 0, &plan, &err));
        assert_int_equal(plan.device_shared_bytes, FAKE_SHAPE_BYTES + rows[i].sections * section);
        assert_int_equal(plan.device_bytes, plan.device_shared_bytes + FAKE_PROOF_BYTES);
        OK(begin(&c, &p, NULL));
        assert_int_equal(gpu->live, plan.device_bytes);
        assert_int_equal(buffer_total_stats().peak_bytes - before, plan.host_bytes);
        assert_int_equal(gpu->chunks, rows[i].sections == 5 ? 0 : plan.chunks);
        if (rows[i].sections < 5) assert_true(plan.chunks >= 4 && plan.host_by_class[BUFFER_PINNED] > 0);
        assert_int_equal(buffer_total_stats().live_bytes - before, told);
        end(p);
        assert_int_equal(gpu->live, plan.device_shared_bytes);
        assert_int_equal(buffer_total_stats().live_bytes, before);
    }
    prove_plan plan;
    pending_proof *p;
    backend_cuda_evict();
    backend_cuda_limit_memory(0, base - 1);
    assert_int_equal(cuda->plan(0, c.shape, 1, 0, 0, &plan, &err), CUZK_MEMORY);
    assert_non_null(strstr(err.found, "2999"));
    assert_int_equal(begin(&c, &p, NULL), CUZK_MEMORY);
    backend_cuda_limit_memory(0, 0);
    assert_int_equal(cuda->plan(0, c.shape, 1, 1000, 0, &plan, &err), CUZK_MEMORY); /* host */
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    assert_int_equal(gpu->wrong, 0);
    case_free(&c);
}

/* Two proofs share the pinned buffers, which go with the last of them; a fault in the middle of a key, and cancelling,
 * leave nothing. */
static void streaming(void **state) {
    (void)state;
    groth16_case c;
    pending_proof *p[2];
    make(&c, "streaming", 20000);
    backend_cuda_limit_memory(0, FAKE_SHAPE_BYTES + 2 * FAKE_PROOF_BYTES);
    uint64_t before = buffer_total_stats().live_bytes;
    /* The limit lets the whole key lie beside one proof: then the second finds no room. */
    OK(begin(&c, &p[0], NULL));
    assert_int_equal(begin(&c, &p[1], NULL), CUZK_MEMORY);
    end(p[0]);
    backend_cuda_evict();
    backend_cuda_limit_memory(0, FAKE_SHAPE_BYTES + FAKE_PROOF_BYTES);
    OK(begin(&c, &p[0], NULL));
    end(p[0]);
    backend_cuda_limit_memory(0, FAKE_SHAPE_BYTES + 2 * FAKE_PROOF_BYTES); /* the key stays as it was laid out */
    OK(begin(&c, &p[0], NULL));
    uint64_t pinned = buffer_class_stats(BUFFER_PINNED).live_bytes;
    OK(begin(&c, &p[1], NULL));
    assert_true(pinned > 0);
    assert_int_equal(buffer_class_stats(BUFFER_PINNED).live_bytes, pinned);
    cuda->prove_abandon(p[0]);
    assert_int_equal(buffer_class_stats(BUFFER_PINNED).live_bytes, pinned);
    end(p[1]);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    gpu->fail_chunk = 3;
    assert_int_equal(begin(&c, &p[0], NULL), CUZK_DEVICE);
    gpu->fail_chunk = 0;
    assert_int_equal(buffer_total_stats().live_bytes, before);
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    assert_int_equal(begin(&c, &p[0], &control), CUZK_CANCELLED);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    assert_int_equal(gpu->proofs, 0);
    assert_int_equal(gpu->wrong, 0);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    case_free(&c);
}

/* The key that was used last stays when another needs room; a key that goes is forgotten. */
static void residents(void **state) {
    (void)state;
    groth16_case a, b;
    pending_proof *p;
    make(&a, "one", 1000);
    make(&b, "two", 2000);
    uint64_t one = FAKE_SHAPE_BYTES + 5 * FAKE_SECTION_BYTES;
    backend_cuda_limit_memory(0, one + FAKE_PROOF_BYTES + 100);
    unsigned made = gpu->keys_made;
    for (int i = 0; i < 2; i++) {
        OK(begin(&a, &p, NULL));
        end(p);
    }
    assert_int_equal(gpu->keys_made, made + 1);
    OK(begin(&b, &p, NULL));
    assert_true(gpu->live <= one + FAKE_PROOF_BYTES + 100);
    end(p);
    assert_int_equal(gpu->keys_made, made + 2);
    OK(begin(&a, &p, NULL));
    end(p);
    assert_int_equal(gpu->keys_made, made + 3);
    cuda->forget_key(0, &a.key);
    assert_int_equal(gpu->keys, 0);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    case_free(&a);
    case_free(&b);
}

/* A witness of another circuit is refused before anything is on the device. */
static void foreign_witness(void **state) {
    (void)state;
    groth16_case c;
    witness w;
    pending_proof *p;
    make(&c, "foreign", 500);
    OK(witness_write(&w, c.shape, c.run, c.params, c.instance, &err));
    w.n_fields--;
    prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w};
    assert_int_equal(cuda->prove_start(0, &p, &q, workers, NULL, &err), CUZK_FOREIGN);
    assert_int_equal(gpu->live, 0);
    case_free(&c);
}

static int set_up(void **state) {
    (void)state;
    const char *why;
    setenv("CUZK_CUDA_MODULE", FAKE_GPU, 1);
    cuda = backend_cuda(&why);
    if (!cuda) print_message("%s\n", why);
    void *module = dlopen(FAKE_GPU, RTLD_NOW);
    gpu = module ? dlsym(module, "fake_gpu_state") : NULL;
    workers = pool_create(2, &err);
    case_folder_make(folder);
    return cuda && gpu && workers ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    case_folder_remove(folder);
    pool_destroy(workers);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(streaming),
        cmocka_unit_test(residents),
        cmocka_unit_test(foreign_witness),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
