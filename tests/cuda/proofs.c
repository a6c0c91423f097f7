/* Whole proofs on a CUDA device against the CPU's bytes, for a machine with a device.
 *
 * cuda_proofs: the self test; chains of 3 to 200,000 constraints around the powers of two, proofs that overlap, one
 * abandoned, a lazy witness, and keys made on the device against the CPU's keys; witnesses that satisfy nothing,
 * cancelling, keys that are streamed, for one proof or several, a failure of each of the first calls to the device;
 * last, that all memory was given back.
 *
 * cuda_proofs bench LOG2: times of one size. cuda_proofs small: few and small ones, for memory checkers.
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/resident.h"
#include "base/cpu.h"
#include "ref/groth16_case.h"

static int passed, failed;
static pool *threads;
static char folder[256];
static cuzk_error err;

static void must(cuzk_status s) {
    if (s == CUZK_OK) return;
    printf("status %d: %s (%s) expected %s found %s\n", s, err.what, err.where, err.expected, err.found);
    exit(5);
}

static bool check(bool ok, const char *what, unsigned long long n) {
    (ok ? passed++ : failed++);
    printf("%s  %s %llu\n", ok ? "ok  " : "FAIL", what, n);
    return ok;
}

static void prove(const backend *b, const groth16_case *c, const fr *r, const fr *s, uint8_t out[PROOF_BYTES],
                  prove_times *t) {
    witness w;
    must(witness_write(&w, c->shape, c->run, c->params, c->instance, &err));
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w, .r = *r, .s = *s};
    groth16_proof proof;
    must(groth16_prove(b, 0, &proof, t, &q, threads, NULL, &err));
    proof_write(&proof, out);
}

static void compare(const backend *gpu, const groth16_case *c, const char *what, unsigned long long n) {
    fr r, s;
    uint8_t on_cpu[PROOF_BYTES], on_gpu[PROOF_BYTES];
    prove_times t;
    must(groth16_blinding(&r, &s, &err));
    prove(backend_cpu(), c, &r, &s, on_cpu, &t);
    prove(gpu, c, &r, &s, on_gpu, &t);
    check(memcmp(on_cpu, on_gpu, PROOF_BYTES) == 0, what, n);
}

static void chain(const backend *gpu, uint64_t constraints, uint32_t publics, uint32_t bits) {
    chain_circuit params = {constraints, publics, bits};
    fr start;
    groth16_case c;
    char name[64];
    fr_from_u64(&start, 7);
    snprintf(name, sizeof name, "chain-%llu-%u", (unsigned long long)constraints, publics);
    must(case_make(&c, folder, name, chain_run, &params, &start, NULL, threads, &err));
    compare(gpu, &c, "chain", constraints);
    case_free(&c);
}

/* Two proofs started before the first is finished; and one abandoned. */
static void overlapping(const backend *gpu) {
    chain_circuit params = {5000, 3, 1000};
    fr start, r, s;
    groth16_case c;
    fr_from_u64(&start, 3);
    must(case_make(&c, folder, "overlap", chain_run, &params, &start, NULL, threads, &err));
    must(groth16_blinding(&r, &s, &err));
    uint8_t want[PROOF_BYTES], got[PROOF_BYTES];
    prove_times t;
    prove(backend_cpu(), &c, &r, &s, want, &t);
    pending_proof *p[3];
    for (int i = 0; i < 3; i++) {
        witness w;
        must(witness_write(&w, c.shape, c.run, c.params, c.instance, &err));
        prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w, .r = r, .s = s};
        must(gpu->prove_start(0, &p[i], &q, threads, NULL, &err));
    }
    gpu->prove_abandon(p[1]);
    for (int i = 0; i < 3; i += 2) {
        groth16_proof proof;
        must(gpu->prove_finish(p[i], &proof, &t, &err));
        proof_write(&proof, got);
        check(memcmp(want, got, PROOF_BYTES) == 0, "overlapping proof", (unsigned long long)i);
    }
    case_free(&c);
}

static cuzk_status try_proof(const backend *gpu, const groth16_case *c, const fr *r, const fr *s, bool break_it,
                             const cuzk_control *control, uint8_t out[PROOF_BYTES]) {
    witness w;
    prove_times t;
    groth16_proof proof;
    must(witness_write(&w, c->shape, c->run, c->params, c->instance, &err));
    if (break_it) fr_dbl(&w.fields[w.n_fields / 2], &w.fields[w.n_fields / 2]);
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w, .r = *r, .s = *s};
    cuzk_status st = groth16_prove(gpu, 0, &proof, &t, &q, threads, control, &err);
    if (st == CUZK_OK) proof_write(&proof, out);
    return st;
}

static uint64_t key_points_bytes(const proving_key *k) {
    uint64_t n = 0;
    for (int i = PARAMS_H; i <= PARAMS_B_G1; i++) n += k->count[i] * sizeof(g1_affine);
    return n + k->count[PARAMS_B_G2] * sizeof(g2_affine);
}

/* Keys in files: what the device writes is what the CPU wrote; loaded by the device, whole or for each proof, it proves
 * the same. */
static void written(const backend *gpu, groth16_case *c, const proving_key *made, const fr *r, const fr *s,
                    const uint8_t want[PROOF_BYTES]) {
    char params[300], vk[300];
    setup_result result;
    uint8_t got[PROOF_BYTES];
    prove_times times;
    unsigned long long n = c->made.params_bytes;
    snprintf(params, sizeof params, "%s/written-%llu.params", folder, n);
    snprintf(vk, sizeof vk, "%s/written-%llu.vk", folder, n);
    must(backend_cuda_key_write(made, params, vk, &result, threads, NULL, &err));
    check(result.params_bytes == n && !memcmp(result.params_sha256, c->made.params_sha256, 32),
          "written key: the CPU's digest", n);
    const char *files[2][2] = {{params, c->params_path}, {vk, c->vk_path}};
    for (int i = 0; i < 2; i++) {
        size_t len[2];
        uint8_t *bytes[2] = {case_read(files[i][0], &len[0]), case_read(files[i][1], &len[1])};
        check(len[0] == len[1] && !memcmp(bytes[0], bytes[1], len[0]), "written key: bytes", len[0]);
        free(bytes[0]);
        free(bytes[1]);
    }
    check(backend_cuda_key_write(made, params, vk, &result, threads, NULL, &err) == CUZK_USAGE, "never over a file", n);
    prove_plan whole;
    proving_key own = c->key;
    must(gpu->plan(0, c->shape, 1, 0, 0, &whole, &err));
    const uint64_t nothing = whole.device_bytes - key_points_bytes(made);
    for (int i = 0; i < 4; i++) { /* whole, subgroup checked, streamed, streamed and checked */
        proving_key k;
        backend_cuda_limit_memory(0, i < 2 ? 0 : nothing + 8192);
        must(proving_key_open_file(&k, params, i % 2 ? KEY_CHECK_FULL : KEY_CHECK_TRUSTED, threads, NULL, &err));
        c->key = k;
        prove(gpu, c, r, s, got, &times);
        c->key = own;
        check(memcmp(want, got, PROOF_BYTES) == 0, i < 2 ? "key from its file: proof" : "streamed from its file", n);
        resident_forget_key(0, &k);
        proving_key_close(&k);
        backend_cuda_evict();
    }
    backend_cuda_limit_memory(0, 0);
}

/* A point of a curve that is not in the subgroup, as a file has it: found by trying x = 1, 2, … */
static void outside_subgroup(uint8_t out[192], bool twist) {
    uint8_t b[96] = {0x80};
    for (unsigned x = 1;; x++) {
        g1_affine p;
        g2_affine q;
        b[twist ? 95 : 47] = (uint8_t)x;
        if (twist ? g2_decode_compressed(&q, b, SUBGROUP_SKIP) != POINT_OK || g2_affine_in_subgroup(&q)
                  : g1_decode_compressed(&p, b, SUBGROUP_SKIP) != POINT_OK || g1_affine_in_subgroup(&p))
            continue;
        if (twist)
            g2_encode_uncompressed(out, &q);
        else
            g1_encode_uncompressed(out, &p);
        return;
    }
}

/* Every fault of a point, at the first, the last and a point between of each section: found as the CPU finds it,
 * whether the key goes to the device to stay or is streamed. */
static void bad_points(const backend *gpu) {
    chain_circuit params = {3000, 3, 1000};
    fr start, r, s;
    groth16_case c;
    params_view v;
    size_t len;
    char path[300];
    prove_plan whole;
    bool right = true, by_cpu = true;
    unsigned tried = 0;
    fr_from_u64(&start, 3);
    must(case_make(&c, folder, "bad", chain_run, &params, &start, NULL, threads, &err));
    must(groth16_blinding(&r, &s, &err));
    must(gpu->plan(0, c.shape, 1, 0, 0, &whole, &err));
    const uint64_t nothing = whole.device_bytes - key_points_bytes(&c.key);
    uint8_t *good = case_read(c.params_path, &len), *bytes = malloc(len), got[PROOF_BYTES];
    assert(bytes);
    must(params_view_open(&v, c.params_path, good, len, &err));
    snprintf(path, sizeof path, "%s/bad-point.params", folder);
    for (unsigned k = 0; k < 6 * 5 * 3; k++) {
        params_section section = (params_section)(PARAMS_H + k / 18);
        unsigned fault = k / 3 % 6, where = k % 3;
        uint64_t width = params_point_bytes(section), count = v.count[section];
        uint64_t index = where == 0 ? 0 : where == 1 ? count / 2 : count - 1;
        uint8_t *p = bytes + v.offset[section] + index * width;
        memcpy(bytes, good, len);
        if (fault == 0) p[0] |= 0x20;
        if (fault == 1) memset(p, 0, width), p[0] = 0x40;
        if (fault == 2) memset(p, 0, width), p[0] = 0x40, p[width - 1] = 1;
        if (fault == 3) memset(p + 48, 0xff, 48);
        if (fault == 4) p[width - 1] ^= 1;
        if (fault == 5) outside_subgroup(p, section == PARAMS_B_G2);
        /* A second one after it tells nothing; but subgroups are looked at when all the rest was right. */
        if (section < PARAMS_B_G2 && (fault < 5 || where == 1)) bytes[v.offset[PARAMS_B_G2]] = 0xff;
        must(file_write_all(path, bytes, len, false, &err));
        proving_key key;
        cuzk_status st = proving_key_open(&key, path, KEY_CHECK_FULL, threads, NULL, &err);
        cuzk_error want = err;
        by_cpu &= st == CUZK_KEY_DAMAGED;
        must(proving_key_open_file(&key, path, KEY_CHECK_FULL, threads, NULL, &err));
        proving_key own = c.key;
        c.key = key;
        for (int streamed = 0; streamed < 2; streamed++) {
            backend_cuda_limit_memory(0, streamed ? nothing + 8192 : 0);
            st = try_proof(gpu, &c, &r, &s, false, NULL, got);
            bool same = st == CUZK_KEY_DAMAGED && !strcmp(err.where, want.where) && !strcmp(err.what, want.what);
            if (!same)
                printf("      section %u fault %u: %s (%s), the CPU: %s (%s)\n", section, fault, err.what, err.where,
                       want.what, want.where);
            right &= same;
            tried++;
        }
        c.key = own;
        resident_forget_key(0, &key);
        proving_key_close(&key);
    }
    check(by_cpu && right, "bad points are named as by the CPU", tried);
    backend_cuda_limit_memory(0, 0);
    free(good);
    free(bytes);
    case_free(&c);
}

/* A key made on the device equals the CPU's for one trapdoor, point by point, and proves the same bytes. */
static void made_key(const backend *gpu, uint64_t constraints) {
    chain_circuit params = {constraints, 3, (uint32_t)(constraints / 2)};
    fr start, r, s;
    groth16_case c;
    proving_key made;
    char name[64];
    fr_from_u64(&start, 3);
    snprintf(name, sizeof name, "made-%llu", (unsigned long long)constraints);
    must(case_make(&c, folder, name, chain_run, &params, &start, NULL, threads, &err));
    must(backend_cuda_setup(0, &made, c.shape, &c.trapdoor, &err));
    size_t vk_bytes = verifying_key_bytes(&c.key.vk);
    uint8_t *vk[2] = {malloc(vk_bytes), malloc(vk_bytes)};
    assert(made.vk.n_ic == c.key.vk.n_ic);
    verifying_key_write(&c.key.vk, vk[0]);
    verifying_key_write(&made.vk, vk[1]);
    check(memcmp(vk[0], vk[1], vk_bytes) == 0, "made key: verifying part", constraints);
    const void *want[5] = {c.key.h, c.key.l, c.key.a, c.key.b_g1, c.key.b_g2};
    for (int k = 0; k < 5; k++) {
        params_section section = (params_section)(PARAMS_H + k);
        size_t size = section == PARAMS_B_G2 ? sizeof(g2_affine) : sizeof(g1_affine), n = c.key.count[section];
        uint8_t *got = malloc(n * size);
        assert(got && made.count[section] == n);
        must(backend_cuda_key_read(&made, section, 0, n, got, &err));
        check(memcmp(got, want[k], n * size) == 0, params_section_name(section), constraints);
        free(got);
    }
    uint8_t on_cpu[PROOF_BYTES], on_gpu[PROOF_BYTES];
    prove_times times;
    must(groth16_blinding(&r, &s, &err));
    prove(backend_cpu(), &c, &r, &s, on_cpu, &times);
    proving_key own = c.key;
    c.key = made;
    prove(gpu, &c, &r, &s, on_gpu, &times);
    c.key = own;
    check(memcmp(on_cpu, on_gpu, PROOF_BYTES) == 0, "made key: proof", constraints);
    written(gpu, &c, &made, &r, &s, on_cpu);
    backend_cuda_evict(); /* it is made again */
    c.key = made;
    prove(gpu, &c, &r, &s, on_gpu, &times);
    c.key = own;
    check(memcmp(on_cpu, on_gpu, PROOF_BYTES) == 0, "key made again: proof", constraints);
    backend_cuda_release_key(&made);
    free(vk[0]);
    free(vk[1]);
    case_free(&c);
}

/* ---- a circuit of blocks alone, whose witness may be lazy ---- */

typedef struct blocks {
    uint32_t copies;
    unsigned bits, fields; /* of a block */
} blocks;

static void enforce_product(cs *c, cs_var a, cs_var b, cs_var result) {
    if (!c->structure) return;
    arena_mark mark = cs_save(c);
    cs_lc x[3];
    const cs_var v[3] = {a, b, result};
    for (int i = 0; i < 3; i++) {
        cs_lc_init(&x[i]);
        cs_lc_add_one(c, &x[i], v[i]);
    }
    cs_enforce(c, &x[0], &x[1], &x[2]);
    cs_release(c, mark);
}

/* y = its number, public; squares of it one after the other; bits. */
static void blocks_run(cs *c, const void *params, const void *instance) {
    const blocks *p = params;
    for (uint32_t i = 0; i < p->copies; i++) {
        if (cs_block_begin(c, i, p->copies)) {
            fr x;
            if (instance) fr_from_u64(&x, *(const uint32_t *)instance + i);
            cs_var last = cs_input(c, &x), bits = cs_alloc_bits(c, p->bits, 0x9e3779b97f4a7c15u * (i + 1));
            for (unsigned k = 0; k < p->bits; k++) enforce_product(c, bits + k, bits + k, bits + k);
            for (unsigned k = 0; k < p->fields; k++) {
                if (instance) fr_sqr(&x, &x);
                cs_var next = cs_alloc(c, &x);
                enforce_product(c, last, last, next);
                last = next;
            }
        }
        cs_block_end(c);
    }
}

static uint64_t told;
static void told_bytes(void *user, uint64_t bytes) {
    (void)user;
    told = bytes;
}

static void lazy_witness(const backend *gpu) {
    blocks p = {37, 50, 3000};
    uint32_t start = 1000;
    groth16_case c;
    fr r, s, inputs[37];
    uint8_t want[PROOF_BYTES], got[PROOF_BYTES];
    prove_times t;
    must(case_make(&c, folder, "lazy", blocks_run, &p, &start, NULL, threads, &err));
    must(groth16_blinding(&r, &s, &err));
    prove(backend_cpu(), &c, &r, &s, want, &t);
    for (uint32_t i = 0; i < p.copies; i++) fr_from_u64(&inputs[i], start + i);
    shape_make_lazy(c.shape);
    assert(shape_is_lazy(c.shape) && gpu->lazy_witness);
    for (int threaded = 0; threaded < 2; threaded++) {
        prove_plan plan;
        pool *workers = threaded ? threads : NULL;
        must(gpu->plan(0, c.shape, workers ? pool_threads(workers) : 1, 0, 0, &plan, &err));
        backend_cuda_evict(); /* the plan counts the key's way to the device */
        uint64_t before = buffer_total_stats().live_bytes;
        buffer_reset_peaks();
        witness w;
        must(witness_write_lazy(&w, c.shape, c.run, c.params, c.instance, inputs, p.copies, &err));
        prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w, .r = r, .s = s, .holds = told_bytes};
        groth16_proof proof;
        must(groth16_prove(gpu, 0, &proof, &t, &q, workers, NULL, &err));
        proof_write(&proof, got);
        check(memcmp(want, got, PROOF_BYTES) == 0, "lazy witness, on all threads", (unsigned long long)threaded);
        check(buffer_total_stats().peak_bytes - before == plan.host_bytes, "its host bytes are the plan's",
              plan.host_bytes);
        check(told == 4096, "host bytes told after the upload", told);
    }
    case_free(&c);
}

/* ---- keys that are not whole on the device ---- */

/* Proofs within limits that leave no, some or all sections of the key on the device: the CPU's bytes, within the plan,
 * which is what the device then holds. */
static void streamed(const backend *gpu) {
    chain_circuit params = {200000, 5, 150000};
    fr start, r, s;
    groth16_case c;
    uint8_t want[PROOF_BYTES], got[PROOF_BYTES];
    prove_times t;
    prove_plan whole, plan;
    uint64_t live, peak;
    fr_from_u64(&start, 9);
    must(case_make(&c, folder, "streamed", chain_run, &params, &start, NULL, threads, &err));
    must(groth16_blinding(&r, &s, &err));
    prove(backend_cpu(), &c, &r, &s, want, &t);
    must(gpu->plan(0, c.shape, 1, 0, 0, &whole, &err));
    check(whole.chunks == 1 && whole.host_by_class[BUFFER_PINNED] > 0, "a whole key is planned", whole.device_bytes);
    uint64_t key = key_points_bytes(&c.key), nothing = whole.device_bytes - key;
    const uint64_t limits[] = {nothing + 8192, nothing + key / 3, nothing + key / 2, whole.device_bytes - 1,
                               whole.device_bytes};
    for (int i = 0; i < 5; i++) {
        backend_cuda_evict();
        backend_cuda_limit_memory(0, limits[i]);
        uint64_t before = buffer_total_stats().live_bytes;
        must(gpu->plan(0, c.shape, 1, 0, 0, &plan, &err));
        cuda_module()->memory_reset_peak(0);
        for (int round = 0; round < 2; round++) {
            witness w;
            groth16_proof proof;
            if (round == 0) buffer_reset_peaks();
            must(witness_write(&w, c.shape, c.run, c.params, c.instance, &err));
            prove_request q = {.key = &c.key, .shape = c.shape, .witness = &w, .r = r, .s = s, .holds = told_bytes};
            must(groth16_prove(gpu, 0, &proof, &t, &q, threads, NULL, &err));
            proof_write(&proof, got);
            check(memcmp(want, got, PROOF_BYTES) == 0, i < 4 ? "key streamed, chunks" : "whole key, chunks",
                  plan.chunks);
        }
        check(told == 4096 + (i < 4 ? plan.host_by_class[BUFFER_PINNED] : 0), "host bytes told after the upload", told);
        backend_cuda_memory(0, &live, &peak);
        check(peak <= plan.device_bytes && plan.device_bytes <= limits[i] && peak * 100 >= plan.device_bytes * 97,
              "device bytes are the plan's", peak);
        check(live <= plan.device_shared_bytes && live * 100 >= plan.device_shared_bytes * 97, "left after it", live);
        check((plan.chunks > 1) == (i < 4), "chunks", plan.chunks);
        check(buffer_total_stats().peak_bytes - before == plan.host_bytes, "host bytes are the plan's",
              plan.host_bytes);
        check(buffer_total_stats().live_bytes == before, "host memory given back", before);
        if (i == 1) {
            bool right = true;
            for (unsigned n = 1; n <= 60; n++) {
                backend_cuda_fail_at(n, n % 2);
                cuzk_status st = try_proof(gpu, &c, &r, &s, false, NULL, got);
                backend_cuda_fail_at(0, false);
                right &= st == CUZK_OK || st == CUZK_MEMORY || st == CUZK_DEVICE;
                right &= try_proof(gpu, &c, &r, &s, false, NULL, got) == CUZK_OK && !memcmp(want, got, PROOF_BYTES);
            }
            backend_cuda_memory(0, &peak, &peak);
            check(right, "streaming proofs after failing calls", 60);
        }
    }
    backend_cuda_limit_memory(0, nothing / 2);
    check(gpu->plan(0, c.shape, 1, 0, 0, &plan, &err) == CUZK_TOO_LARGE, "a limit too small even for that",
          nothing / 2);
    printf("      %s: %s, %s\n", err.what, err.expected, err.found);
    check(try_proof(gpu, &c, &r, &s, false, NULL, got) == CUZK_MEMORY, "and the proof is refused", 0);
    backend_cuda_limit_memory(0, 0);
    case_free(&c);
}

#define RIDERS 8
typedef struct rider {
    const backend *gpu;
    const groth16_case *c;
    fr r, s;
    bool wrong; /* its witness */
    const uint8_t *want;
    unsigned rounds, right;
    unsigned refused; /* for lack of memory or a fault of the device */
} rider;
#define ROUNDS 5u

static void *ride(void *user) {
    rider *d = user;
    for (unsigned i = 0; i < d->rounds; i++) {
        witness w;
        groth16_proof proof;
        cuzk_error e;
        uint8_t got[PROOF_BYTES];
        prove_request q = {.key = &d->c->key, .shape = d->c->shape, .witness = &w, .r = d->r, .s = d->s};
        if (witness_write(&w, d->c->shape, d->c->run, d->c->params, d->c->instance, &e)) return NULL;
        if (d->wrong) fr_dbl(&w.fields[w.n_fields / 2], &w.fields[w.n_fields / 2]);
        cuzk_status st = groth16_prove(d->gpu, 0, &proof, NULL, &q, threads, NULL, &e);
        if (st == CUZK_OK) proof_write(&proof, got);
        d->refused += st == CUZK_MEMORY || st == CUZK_DEVICE;
        d->right += d->wrong ? st == CUZK_UNSATISFIED : st == CUZK_OK && !memcmp(d->want, got, PROOF_BYTES);
    }
    return NULL;
}

/* So many proofs each by RIDERS threads, of which one's witness is wrong; those that are right, and those refused. */
static unsigned ride_all(const backend *gpu, const groth16_case *c, const fr *r, const fr *s, unsigned rounds,
                         const uint8_t want[PROOF_BYTES], unsigned *refused) {
    rider riders[RIDERS];
    pthread_t thread[RIDERS];
    unsigned right = 0;
    *refused = 0;
    for (unsigned k = 0; k < RIDERS; k++) {
        riders[k] = (rider){gpu, c, *r, *s, k == 2, want, rounds, 0, 0};
        assert(!pthread_create(&thread[k], NULL, ride, &riders[k]));
    }
    for (unsigned k = 0; k < RIDERS; k++) {
        pthread_join(thread[k], NULL);
        right += riders[k].right;
        *refused += riders[k].refused;
    }
    return right;
}

/* Proofs from several threads share passes over a key: each is the CPU's, but for one whose witness is wrong, and only
 * that one is refused. With no section of the key on the device, and with some; from the host's points and the file's.
 */
static void shared_passes(const backend *gpu) {
    chain_circuit params = {200000, 5, 150000};
    fr start, r, s;
    groth16_case c;
    uint8_t want[PROOF_BYTES], got[PROOF_BYTES];
    prove_times t;
    prove_plan whole, alone, plan;
    fr_from_u64(&start, 11);
    must(case_make(&c, folder, "shared", chain_run, &params, &start, NULL, threads, &err));
    must(groth16_blinding(&r, &s, &err));
    prove(backend_cpu(), &c, &r, &s, want, &t);
    must(gpu->plan(0, c.shape, 1, 0, 0, &whole, &err));
    uint64_t key = key_points_bytes(&c.key), nothing = whole.device_bytes - key;
    backend_cuda_limit_memory(0, nothing + 8192);
    must(gpu->plan(0, c.shape, 1, 0, 0, &alone, &err));
    uint64_t own = alone.device_bytes - alone.device_shared_bytes;
    const uint64_t rooms[] = {8192 + 3 * own, key / 8 + 3 * own};
    proving_key from_host = c.key;
    for (int i = 0; i < 4; i++) {
        backend_cuda_evict();
        backend_cuda_limit_memory(0, nothing + rooms[i / 2]);
        backend_cuda_proofs_at_once(0, 4);
        if (i % 2) must(proving_key_open_file(&c.key, c.params_path, KEY_CHECK_TRUSTED, threads, NULL, &err));
        must(gpu->plan(0, c.shape, 1, 0, 0, &plan, &err));
        bool shared = plan.device_shared_bytes + 4 * own <= nothing + rooms[i / 2];
        check(shared && plan.chunks > 1, "laid out for proofs that share a pass, chunks", plan.chunks);
        check(try_proof(gpu, &c, &r, &s, false, NULL, got) == CUZK_OK && !memcmp(want, got, PROOF_BYTES), "one alone",
              0);
        /* The key stays as it is laid out; more proofs than share a pass have room beside it. */
        backend_cuda_limit_memory(0, nothing + rooms[i / 2] + (RIDERS - 4) * own);
        uint64_t passes, proofs, passes_before, proofs_before;
        backend_cuda_pass_counts(0, &passes_before, &proofs_before);
        unsigned refused, right = ride_all(gpu, &c, &r, &s, ROUNDS, want, &refused);
        backend_cuda_pass_counts(0, &passes, &proofs);
        check(right == RIDERS * ROUNDS, "proofs of shared passes", right);
        check(proofs - proofs_before == RIDERS * ROUNDS && (passes - passes_before) * 2 <= proofs - proofs_before,
              "passes", passes - passes_before);
        bool all = true;
        for (unsigned n = 20; i == 3 && n <= 400; n += 20) { /* a call fails in the midst of others' passes */
            backend_cuda_fail_at(n, n % 40);
            right = ride_all(gpu, &c, &r, &s, 1, want, &refused);
            backend_cuda_fail_at(0, false);
            all &= right + refused == RIDERS;
            all &= ride_all(gpu, &c, &r, &s, 1, want, &refused) == RIDERS;
        }
        if (i == 3) check(all, "shared passes with and after failing calls", 20);
        if (i % 2) {
            gpu->forget_key(0, &c.key);
            proving_key_close(&c.key);
            c.key = from_host;
        }
    }
    backend_cuda_proofs_at_once(0, 1);
    backend_cuda_limit_memory(0, 0);
    case_free(&c);
}

/* ---- what must fail ---- */

static void failing(const backend *gpu) {
    chain_circuit params = {150000, 3, 100000};
    fr start, r, s;
    groth16_case c;
    uint8_t want[PROOF_BYTES], got[PROOF_BYTES];
    fr_from_u64(&start, 3);
    must(case_make(&c, folder, "failing", chain_run, &params, &start, NULL, threads, &err));
    must(groth16_blinding(&r, &s, &err));
    backend_cuda_evict();
    uint64_t live, peak, before = buffer_total_stats().live_bytes;
    must(try_proof(gpu, &c, &r, &s, false, NULL, want));
    check(try_proof(gpu, &c, &r, &s, true, NULL, got) == CUZK_UNSATISFIED, "a witness that does not satisfy", 0);
    printf("      %s; %s\n", err.what, err.where);
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    check(try_proof(gpu, &c, &r, &s, false, &control, got) == CUZK_CANCELLED, "cancelled", 0);
    backend_cuda_memory(0, &live, &peak);
    unsigned long long failures[2] = {0}, proofs = 0;
    for (int memory = 0; memory < 2; memory++) {
        bool right = true, all_back = true;
        for (unsigned n = 1; n <= 60; n++) {
            uint64_t now;
            if (n % 2) backend_cuda_evict(); /* shape and key are made again, or are there */
            backend_cuda_fail_at(n, memory);
            cuzk_status st = try_proof(gpu, &c, &r, &s, false, NULL, got);
            backend_cuda_fail_at(0, false);
            if (st == CUZK_OK) {
                proofs++;
                right &= memcmp(want, got, PROOF_BYTES) == 0;
            } else {
                failures[memory]++;
                right &= st == (memory ? CUZK_MEMORY : CUZK_DEVICE);
            }
            right &= try_proof(gpu, &c, &r, &s, false, NULL, got) == CUZK_OK && memcmp(want, got, PROOF_BYTES) == 0;
            backend_cuda_memory(0, &now, &peak);
            all_back &= now == live && buffer_total_stats().live_bytes == before;
        }
        check(right && failures[memory] > 10, memory ? "calls failing for lack of memory" : "calls failing as a fault",
              failures[memory]);
        check(all_back, "memory as before after each", (unsigned long long)live);
    }
    printf("      %llu proofs in spite of a failure\n", proofs);
    case_free(&c);
}

static void bench(const backend *gpu, unsigned log2) {
    chain_circuit params = {((uint64_t)1 << log2) - 100, 10, (unsigned)(((uint64_t)1 << log2) * 9 / 10)};
    fr start, r, s;
    groth16_case c;
    fr_from_u64(&start, 7);
    double t0 = cpu_monotonic_seconds();
    must(case_make(&c, folder, "bench", chain_run, &params, &start, NULL, threads, &err));
    printf("2^%u, nine tenths bits: key in %.1f s\n", log2, cpu_monotonic_seconds() - t0);
    must(groth16_blinding(&r, &s, &err));
    prove_times t;
    uint8_t out[PROOF_BYTES], want[PROOF_BYTES];
    prove(backend_cpu(), &c, &r, &s, want, &t);
    printf("  cpu   eval %.3f ntt %.3f h %.3f l %.3f a %.3f b1 %.3f b2 %.3f total %.3f s\n", t.eval, t.ntt, t.msm_h,
           t.msm_l, t.msm_a, t.msm_b_g1, t.msm_b_g2, t.total);
    for (int i = 0; i < 4; i++) {
        prove(gpu, &c, &r, &s, out, &t);
        printf("  cuda  eval %.4f ntt %.4f h %.4f l %.4f a %.4f b1 %.4f b2 %.4f finish %.4f total %.4f s%s\n", t.eval,
               t.ntt, t.msm_h, t.msm_l, t.msm_a, t.msm_b_g1, t.msm_b_g2, t.finish, t.total, i ? "" : " (with upload)");
    }
    prove_plan plan;
    must(gpu->plan(0, c.shape, 1, 0, 0, &plan, &err));
    uint64_t live, peak;
    backend_cuda_memory(0, &live, &peak);
    printf("  device memory: plan %llu, peak %llu, live %llu\n", (unsigned long long)plan.device_bytes,
           (unsigned long long)peak, (unsigned long long)live);
    check(memcmp(out, want, PROOF_BYTES) == 0, "bench proof", log2);
    case_free(&c);
}

int main(int argc, char **argv) {
    const char *why;
    const backend *gpu = backend_cuda(&why);
    if (!gpu) {
        printf("no CUDA backend: %s\n", why);
        return 77;
    }
    backend_device_info info;
    must(gpu->device_info(0, &info, &err));
    printf("%s, %.1f GiB\n", info.name, (double)info.memory_bytes / (1 << 30));
    threads = pool_create(0, &err);
    assert(threads);
    case_folder_make(folder);
    if (argc > 2 && strcmp(argv[1], "bench") == 0) {
        bench(gpu, (unsigned)atoi(argv[2]));
    } else if (argc > 1 && strcmp(argv[1], "small") == 0) {
        must(backend_cuda_self_test(0, threads, &err));
        chain(gpu, 5, 2, 1);
        chain(gpu, 1021, 2, 5);
        overlapping(gpu);
        made_key(gpu, 1000);
        bad_points(gpu);
    } else {
        must(backend_cuda_self_test(0, threads, &err));
        check(true, "self test", 0);
        for (uint64_t n = 3; n <= 9; n++) chain(gpu, n, (uint32_t)n % 3, 1);
        for (unsigned k = 4; k <= 12; k += 2)
            for (int d = -1; d <= 1; d++) chain(gpu, ((uint64_t)1 << k) - 3 + (uint64_t)(d + 1) - 1, 2, 5);
        chain(gpu, 1000, 0, 10);
        chain(gpu, 3000, 1000, 10);
        chain(gpu, 200000, 5, 150000);
        overlapping(gpu);
        lazy_witness(gpu);
        failing(gpu);
        streamed(gpu);
        shared_passes(gpu);
        made_key(gpu, 5);
        made_key(gpu, 1000);
        made_key(gpu, 70000);
        bad_points(gpu);
    }
    backend_cuda_evict();
    uint64_t live, peak;
    backend_cuda_memory(0, &live, &peak);
    check(live == 0, "device memory given back; live bytes", live);
    case_folder_remove(folder);
    pool_destroy(threads);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
