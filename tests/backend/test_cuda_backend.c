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
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "backend/cuda/backend.h"
#include "base/hash.h"
#include "engine/engine_case.h"
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
    static chain_circuit params[16];
    static fr start;
    static unsigned made;
    fr_from_u64(&start, 9);
    params[made] = (chain_circuit){constraints, 5, (uint32_t)constraints / 2};
    OK(case_make(c, folder, name, chain_run, &params[made++], &start, NULL, workers, &err));
}

static uint64_t host_room; /* tracked bytes that prove_start may take; 0: any */
static uint64_t told;
static void hear(void *user, uint64_t bytes) {
    (void)user;
    told = bytes;
}

static cuzk_status begin_with(const groth16_case *c, const proving_key *key, pending_proof **out,
                              const cuzk_control *control) {
    witness w;
    prove_request q = {.key = key, .shape = c->shape, .witness = &w, .holds = hear};
    OK(witness_write(&w, c->shape, c->run, c->params, c->instance, &err));
    OK(groth16_blinding(&q.r, &q.s, &err));
    buffer_reset_peaks();
    if (host_room) buffer_set_limit(buffer_total_stats().live_bytes + host_room);
    cuzk_status s = cuda->prove_start(0, out, &q, workers, control, &err);
    buffer_set_limit(0);
    return s;
}

static cuzk_status begin(const groth16_case *c, pending_proof **out, const cuzk_control *control) {
    return begin_with(c, &c->key, out, control);
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
        uint64_t work = rows[i].sections < 5 ? FAKE_WORK_BYTES : 0;
        assert_int_equal(plan.device_shared_bytes, FAKE_SHAPE_BYTES + work + rows[i].sections * section);
        assert_int_equal(plan.device_bytes, base + rows[i].sections * section);
        OK(begin(&c, &p, NULL));
        assert_int_equal(gpu->live, plan.device_bytes);
        assert_int_equal(buffer_total_stats().peak_bytes - before, plan.host_bytes);
        if (rows[i].sections < 5) assert_int_equal(gpu->chunks, plan.chunks);
        assert_int_equal(gpu->chunks_loaded > 0, rows[i].sections > 0);
        assert_true(plan.host_by_class[BUFFER_PINNED] > 0);
        if (rows[i].sections < 5) assert_true(plan.chunks >= 4);
        assert_int_equal(buffer_total_stats().live_bytes - before, told);
        end(p);
        assert_int_equal(gpu->live, plan.device_shared_bytes);
        assert_int_equal(buffer_total_stats().live_bytes, before);
    }
    prove_plan plan;
    pending_proof *p;
    backend_cuda_evict();
    backend_cuda_limit_memory(0, base - 1);
    assert_int_equal(cuda->plan(0, c.shape, 1, 0, 0, &plan, &err), CUZK_TOO_LARGE);
    assert_int_equal(err.status, CUZK_TOO_LARGE);
    assert_non_null(strstr(err.found, "2999"));
    assert_int_equal(cuda->plan(0, c.shape, 1, 0, 1000, &plan, &err), CUZK_MEMORY); /* a limit of the caller's */
    assert_int_equal(begin(&c, &p, NULL), CUZK_MEMORY);
    backend_cuda_limit_memory(0, 0);
    assert_int_equal(cuda->plan(0, c.shape, 1, 1000, 0, &plan, &err), CUZK_MEMORY); /* host */
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    assert_int_equal(gpu->wrong, 0);
    case_free(&c);
}

/* When the host has no memory for what goes to the device, what lies there stays. */
static void the_host_is_short(void **state) {
    (void)state;
    groth16_case c, other;
    pending_proof *p;
    make(&c, "there", 9000);
    make(&other, "short", 7000);
    backend_cuda_limit_memory(0, 0);
    uint64_t before = buffer_total_stats().live_bytes;
    OK(begin(&c, &p, NULL));
    end(p);
    uint64_t there = gpu->live;
    assert_true(there > 0);
    for (host_room = 4096; host_room <= 8192; host_room += 4096) { /* for the proof itself, and a little */
        assert_int_equal(begin(&other, &p, NULL), CUZK_MEMORY);
        assert_int_equal(gpu->live, there);
    }
    host_room = 0;
    assert_int_equal(buffer_total_stats().live_bytes, before);
    OK(begin(&other, &p, NULL));
    end(p);
    assert_true(gpu->live > there);
    backend_cuda_evict();
    case_free(&c);
    case_free(&other);
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

typedef struct other_device {
    groth16_case *c;
    cuzk_status status;
} other_device;

static cuzk_status prove_on(unsigned device, const groth16_case *c) {
    witness w;
    pending_proof *p;
    groth16_proof proof;
    cuzk_error e;
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w};
    if (witness_write(&w, c->shape, c->run, c->params, c->instance, &e) || groth16_blinding(&q.r, &q.s, &e) ||
        cuda->prove_start(device, &p, &q, workers, NULL, &e))
        return e.status;
    return cuda->prove_finish(p, &proof, NULL, &e);
}

static void *prove_on_first(void *user) {
    other_device *o = user;
    o->status = prove_on(0, o->c);
    return NULL;
}

/* A key that does not get to one device keeps none from another. */
static void devices_do_not_wait_for_each_other(void **state) {
    (void)state;
    groth16_case c;
    other_device first = {.c = &c};
    pthread_t thread;
    make(&c, "apart", 3000);
    gpu->devices = 2;
    gpu->hold = true;
    assert_int_equal(pthread_create(&thread, NULL, prove_on_first, &first), 0);
    while (!gpu->held) usleep(1000);
    assert_int_equal(prove_on(1, &c), CUZK_OK);
    assert_true(gpu->held);
    gpu->hold = false;
    pthread_join(thread, NULL);
    assert_int_equal(first.status, CUZK_OK);
    assert_int_equal(gpu->wrong, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    gpu->devices = 0;
    case_free(&c);
}

/* ---- keys whose points stay in their file, and keys that the device makes ---- */

static void params_path(char path[300], const char *name) {
    snprintf(path, 300, "%s/%s.params", folder, name);
}

/* The bytes of the file reach the device, to stay or with each proof; nothing of them is kept on the host. */
static void keys_in_files(void **state) {
    (void)state;
    groth16_case c;
    proving_key key;
    char path[300];
    file_map m;
    params_view v;
    make(&c, "file", 30000);
    params_path(path, "file");
    OK(file_map_open(&m, path, &err));
    OK(params_view_open(&v, path, m.data, m.bytes, &err));
    uint64_t before = buffer_total_stats().live_bytes;
    OK(proving_key_open_file(&key, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    assert_false(proving_key_on_host(&key));
    for (int s = 0; s < 5; s++) gpu->expect[s] = m.data + v.offset[PARAMS_H + s];
    const uint64_t limits[] = {0, FAKE_SHAPE_BYTES + FAKE_PROOF_BYTES, FAKE_SHAPE_BYTES + FAKE_PROOF_BYTES + 250};
    for (int i = 0; i < 3; i++) {
        pending_proof *p;
        prove_plan plan;
        backend_cuda_evict();
        backend_cuda_limit_memory(0, limits[i]);
        OK(cuda->plan(0, c.shape, 1, 0, 0, &plan, &err));
        OK(begin_with(&c, &key, &p, NULL));
        assert_int_equal(buffer_total_stats().peak_bytes - before, plan.host_bytes);
        end(p);
        assert_int_equal(buffer_total_stats().live_bytes, before);
    }
    memset(gpu->expect, 0, sizeof gpu->expect);
    assert_int_equal(gpu->wrong, 0);
    /* The CPU can have them when it wants them. */
    pending_proof *p;
    witness w;
    prove_request q = {.key = &key, .shape = c.shape, .witness = &w};
    OK(witness_write(&w, c.shape, c.run, c.params, c.instance, &err));
    assert_int_equal(backend_cpu()->prove_start(0, &p, &q, workers, NULL, &err), CUZK_USAGE);
    OK(proving_key_bring(&key, workers, NULL, &err));
    assert_true(proving_key_on_host(&key));
    assert_memory_equal(key.b_g2, c.key.b_g2, key.count[PARAMS_B_G2] * sizeof(g2_affine));
    cuda->forget_key(0, &key);
    proving_key_close(&key);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->keys, 0);
    file_map_close(&m);
    case_free(&c);
}

/* A bad point is named as where the CPU converts the key; a file that ends too soon is an error. */
static void bad_points(void **state) {
    (void)state;
    groth16_case c;
    proving_key key, by_cpu;
    char path[300], bad[320];
    file_map m;
    params_view v;
    pending_proof *p;
    make(&c, "bad", 5000);
    params_path(path, "bad");
    snprintf(bad, sizeof bad, "%s.bad", path);
    OK(file_map_open(&m, path, &err));
    OK(params_view_open(&v, path, m.data, m.bytes, &err));
    uint8_t *copy = malloc(m.bytes);
    assert_non_null(copy);
    memcpy(copy, m.data, m.bytes);
    copy[v.offset[PARAMS_B_G1] + 96 * 77] = 0xff;
    copy[v.offset[PARAMS_B_G2] + 192 * 3] = 0xff;
    OK(file_write_all(bad, copy, m.bytes, false, &err));
    assert_int_equal(proving_key_open(&by_cpu, bad, KEY_CHECK_TRUSTED, workers, NULL, &err), CUZK_KEY_DAMAGED);
    cuzk_error want = err;
    OK(proving_key_open_file(&key, bad, KEY_CHECK_TRUSTED, workers, NULL, &err));
    assert_int_equal(begin_with(&c, &key, &p, NULL), CUZK_KEY_DAMAGED);
    assert_string_equal(err.where, want.where);
    assert_string_equal(err.what, want.what);
    /* Streamed, it shows when the proof ends. */
    backend_cuda_limit_memory(0, FAKE_SHAPE_BYTES + FAKE_PROOF_BYTES);
    groth16_proof proof;
    OK(begin_with(&c, &key, &p, NULL));
    assert_int_equal(cuda->prove_finish(p, &proof, NULL, &err), CUZK_KEY_DAMAGED);
    assert_string_equal(err.where, want.where);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(truncate(bad, (off_t)m.bytes / 2), 0);
    assert_int_equal(begin_with(&c, &key, &p, NULL), CUZK_IO);
    assert_int_equal(gpu->keys, 0);
    proving_key_close(&key);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    assert_int_equal(gpu->wrong, 0);
    free(copy);
    file_map_close(&m);
    case_free(&c);
}

/* A key that the device makes is put out like others, and made again from the same trapdoor. */
static void made_keys(void **state) {
    (void)state;
    groth16_case c;
    proving_key key;
    prove_plan plan;
    pending_proof *p;
    make(&c, "made", 3000);
    uint64_t before = buffer_total_stats().live_bytes;
    trapdoor t = c.trapdoor;
    fr_set_zero(&t.beta);
    assert_int_equal(backend_cuda_setup(0, &key, c.shape, &t, &err), CUZK_MALFORMED);
    fr_set_one(&t.beta);
    fr_set_one(&t.tau);
    assert_int_equal(backend_cuda_setup(0, &key, c.shape, &t, &err), CUZK_MALFORMED);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    OK(cuda->plan(0, c.shape, 1, 0, 0, &plan, &err));
    OK(backend_cuda_setup(0, &key, c.shape, &c.trapdoor, &err));
    assert_int_equal(gpu->live, plan.device_shared_bytes);
    assert_int_equal(plan.device_making_bytes, FAKE_SETUP_BYTES);
    assert_memory_equal(&key.vk.beta_g2, &c.key.vk.beta_g2, sizeof key.vk.beta_g2);
    unsigned made = gpu->keys_made;
    for (int i = 0; i < 3; i++) {
        if (i == 1) backend_cuda_evict();
        OK(begin_with(&c, &key, &p, NULL));
        end(p);
    }
    assert_int_equal(gpu->keys_made, made + 1);
    assert_int_equal(proving_key_bring(&key, workers, NULL, &err), CUZK_USAGE);
    backend_cuda_release_key(&key);
    assert_int_equal(gpu->keys, 0);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    backend_cuda_evict();
    case_free(&c);
}

/* A made key as a file: its layout and its digest; what cannot be used is not left behind. */
static void written_keys(void **state) {
    (void)state;
    groth16_case c;
    proving_key key;
    setup_result r;
    char params[300], vk[300], marker[320];
    uint8_t digest[32], *bytes;
    size_t n, m;
    params_view v;
    make(&c, "written", 3000);
    snprintf(params, sizeof params, "%s/new.params", folder);
    snprintf(vk, sizeof vk, "%s/new.vk", folder);
    snprintf(marker, sizeof marker, "%s.development", params);
    uint64_t before = buffer_total_stats().live_bytes;
    OK(backend_cuda_setup(0, &key, c.shape, &c.trapdoor, &err));
    gpu->written = 0x47; /* the flag of infinity */
    assert_int_equal(backend_cuda_key_write(&key, params, vk, &r, workers, NULL, &err), CUZK_MALFORMED);
    assert_non_null(strstr(err.what, "section h"));
    assert_false(file_exists(params) || file_exists(vk) || file_exists(marker));
    gpu->written = 0x07;
    OK(backend_cuda_key_write(&key, params, vk, &r, workers, NULL, &err));
    assert_true(file_exists(marker));
    bytes = case_read(params, &n);
    assert_int_equal(n, c.made.params_bytes);
    assert_int_equal(n, r.params_bytes);
    hash_sha256(digest, bytes, n);
    assert_memory_equal(digest, r.params_sha256, 32);
    OK(params_view_open(&v, params, bytes, n, &err));
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        assert_int_equal(v.count[s], c.key.count[s]);
        uint64_t last = v.offset[s] + (uint64_t)v.count[s] * params_point_bytes(s) - 1;
        assert_true(bytes[v.offset[s]] == 7 && bytes[last] == 7);
    }
    uint8_t *small = case_read(vk, &m);
    assert_int_equal(m, v.vk_bytes);
    assert_memory_equal(small, bytes, m);
    free(small);
    free(bytes);
    assert_int_equal(backend_cuda_key_write(&key, params, vk, &r, workers, NULL, &err), CUZK_USAGE); /* it is there */
    unlink(params);
    unlink(vk);
    backend_cuda_evict(); /* nothing to write */
    assert_int_equal(backend_cuda_key_write(&key, params, vk, &r, workers, NULL, &err), CUZK_USAGE);
    backend_cuda_release_key(&key);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    backend_cuda_evict();
    case_free(&c);
}

/* Several proofs ask for one key at once: one makes it, the others wait for it. */
typedef struct racer {
    const groth16_case *c;
    cuzk_status status;
} racer;
static void *race(void *user) {
    racer *r = user;
    cuzk_error e;
    witness w;
    pending_proof *p;
    prove_request q = {.key = &r->c->key, .shape = r->c->shape, .witness = &w};
    r->status = witness_write(&w, r->c->shape, r->c->run, r->c->params, r->c->instance, &e);
    if (!r->status) r->status = groth16_blinding(&q.r, &q.s, &e);
    if (!r->status) r->status = cuda->prove_start(0, &p, &q, workers, NULL, &e);
    if (!r->status) cuda->prove_abandon(p);
    return NULL;
}
static void one_key_many_proofs(void **state) {
    (void)state;
    groth16_case c;
    pthread_t threads[6];
    racer r[6];
    make(&c, "race", 20000);
    unsigned made = gpu->keys_made;
    for (int i = 0; i < 6; i++) {
        r[i] = (racer){.c = &c};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &r[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(r[i].status, CUZK_OK);
    }
    assert_int_equal(gpu->keys_made, made + 1);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    case_free(&c);
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

/* ---- in an engine ---- */

/* The fake's proofs are wrong, which an engine finds out: jobs that only a device may prove fail. */
static cuzk_engine *engine_on_fake(uint64_t device_bytes, cuzk_device_policy policy) {
    static backend b;
    b = *cuda;
    b.self_test = NULL;
    const engine_device devices[] = {{&b, 0, false}, {backend_cpu(), 0, true}};
    cuzk_engine_options o = engine_case_options();
    o.device_memory_bytes = device_bytes;
    o.policy = policy;
    o.attempts = policy == CUZK_REQUIRE_GPU ? 1 : 3;
    o.device_workers = 2;
    return engine_case_start(&o, devices, 2, NULL);
}

static void toy_job(cuzk_engine *e, const char *id, uint64_t bytes, cuzk_job_state state) {
    char *request = toy_request(bytes, 1, 7, -1, 0);
    cuzk_submission s = engine_case_toy(id, request);
    engine_case_submit(e, &s, false);
    engine_case_expect(e, id, state, bytes, 1, 7);
    free(request);
}

/* Keys that an engine's device makes: within its budget, put out for others, on no disk, gone at the end. */
static void engine_makes_keys(void **state) {
    (void)state;
    const uint64_t most = FAKE_SHAPE_BYTES + 5 * FAKE_SECTION_BYTES + FAKE_SETUP_BYTES;
    unsigned made = gpu->keys_made;
    uint64_t before = buffer_total_stats().live_bytes;
    cuzk_engine *e = engine_on_fake(most - 1, CUZK_REQUIRE_GPU);
    toy_job(e, "too large", 1024, CUZK_JOB_FAILED);
    assert_int_equal(gpu->keys_made, made);
    cuzk_engine_stop(e, 0);
    gpu->peak = 0;
    e = engine_on_fake(most, CUZK_REQUIRE_GPU);
    toy_job(e, "one", 1024, CUZK_JOB_FAILED);
    toy_job(e, "two", 2048, CUZK_JOB_FAILED);
    assert_int_equal(gpu->keys_made, made + 2);
    assert_int_equal(gpu->peak, most);
    engine_view v;
    OK(engine_view_get(e, &v, &err));
    assert_int_equal(v.devices[0].wrong_proofs, 2);
    assert_int_equal(v.devices[0].budget.reserved, FAKE_SHAPE_BYTES + 5 * FAKE_SECTION_BYTES);
    engine_view_free(&v);
    cuzk_engine_stop(e, 0);
    assert_int_equal(gpu->keys, 0);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    assert_int_equal(gpu->wrong, 0);
    assert_int_equal(buffer_total_stats().live_bytes, before);
    char keys[300];
    snprintf(keys, sizeof keys, "%s/cache/dev-keys", folder);
    assert_false(file_exists(keys));
}

/* Others have the device's memory: it is waited for, and that is no fault. */
static void engine_waits_for_memory(void **state) {
    (void)state;
    cuzk_engine *e = engine_on_fake(0, CUZK_REQUIRE_GPU);
    gpu->refuse = 5;
    toy_job(e, "waits", 1024, CUZK_JOB_FAILED);
    engine_view v;
    OK(engine_view_get(e, &v, &err));
    assert_int_equal(gpu->refuse, 0);
    assert_int_equal(v.devices[0].faults, 0);
    assert_int_equal(v.devices[0].wrong_proofs, 1); /* it was made in the end */
    engine_view_free(&v);
    cuzk_engine_stop(e, 0);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
}

/* A key's file is read by the device alone, until the CPU has to prove. */
static void engine_brings_points(void **state) {
    (void)state;
    cuzk_engine *e = engine_on_fake(0, CUZK_PREFER_GPU);
    toy_job(e, "by the CPU in the end", 1024, CUZK_JOB_COMPLETED);
    engine_view v;
    OK(engine_view_get(e, &v, &err));
    assert_int_equal(v.devices[0].wrong_proofs, 1);
    assert_int_equal(v.devices[1].proofs, 1);
    engine_view_free(&v);
    cuzk_engine_stop(e, 0);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    assert_int_equal(gpu->wrong, 0);
}

/* While the device is given a key for two proofs, whose witnesses it has, three more are made. */
static void engine_goes_on_while_keys_stream(void **state) {
    (void)state;
    cuzk_engine *e = engine_on_fake(FAKE_SHAPE_BYTES + 2 * FAKE_PROOF_BYTES - FAKE_WORK_BYTES, CUZK_PREFER_GPU);
    char *request = toy_request(1024, 8, 7, -1, 0);
    cuzk_submission s = engine_case_toy("streams", request);
    engine_view v;
    gpu->passes = 0;
    gpu->stop_pass = 1;
    engine_case_submit(e, &s, false);
    for (int i = 0, ready = 0; i < 500 && ready < 5; i++, engine_view_free(&v)) {
        OK(engine_view_get(e, &v, &err));
        ready = (int)v.synthesized_in_flight;
        usleep(10000);
    }
    OK(engine_view_get(e, &v, &err));
    assert_true(gpu->held);
    assert_int_equal(v.synthesized_in_flight, 5);
    engine_view_free(&v);
    gpu->stop_pass = 0;
    engine_case_expect(e, "streams", CUZK_JOB_COMPLETED, 1024, 8, 7); /* by the CPU, when the fake's are found wrong */
    cuzk_engine_stop(e, 0);
    free(request);
    backend_cuda_limit_memory(0, 0);
    backend_cuda_proofs_at_once(0, 1);
    backend_cuda_evict();
    assert_int_equal(gpu->live, 0);
    assert_int_equal(gpu->wrong, 0);
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
        cmocka_unit_test(the_host_is_short),
        cmocka_unit_test(streaming),
        cmocka_unit_test(devices_do_not_wait_for_each_other),
        cmocka_unit_test(residents),
        cmocka_unit_test(keys_in_files),
        cmocka_unit_test(bad_points),
        cmocka_unit_test(made_keys),
        cmocka_unit_test(written_keys),
        cmocka_unit_test(one_key_many_proofs),
        cmocka_unit_test(foreign_witness),
        cmocka_unit_test(engine_makes_keys),
        cmocka_unit_test(engine_waits_for_memory),
        cmocka_unit_test(engine_brings_points),
        cmocka_unit_test(engine_goes_on_while_keys_stream),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
