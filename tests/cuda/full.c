/* Whole jobs on a CUDA device, from the prover input to verified proofs, with a development key made there: the way to
 * measure a full-size proof without a 47 GB key file.
 *
 * cuda_full porep C1.json [JOBS]; `cuzk synth-sector porep --size 32GiB --seed 1 --out DIR` makes the input.
 *
 * cuda_full KIND REQUEST.json VANILLA... [JOBS] for the other kinds.
 *
 * CUZK_KEY_FOLDER=DIR: the key is also written there as a .params file (not over one), loaded from it, and a
 * partition's proof with the same r and s compared. CUZK_DEVICE_LIMITS=BYTES,… then lets the card stand for ones of
 * these sizes, which stream from the file what does not fit.
 *
 * Prints the times of the parts, of one partition alone, then of whole jobs with synthesis beside proving, host and
 * device memory.
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
#include "circuit/job.h"
#include "groth16/prove.h"
#include "groth16/setup.h"
#include "ref/sources.h"

#define AHEAD 3     /* witnesses that may wait */
#define IN_FLIGHT 2 /* proofs on the device at once, at most */

static cuzk_error err;
static void must(cuzk_status s) {
    if (s == CUZK_OK) return;
    printf("status %d: %s (%s) expected %s found %s\n", s, err.what, err.where, err.expected, err.found);
    exit(5);
}
static double since(double *mark) {
    double now = cpu_monotonic_seconds(), took = now - *mark;
    *mark = now;
    return took;
}

/* ---- a bounded queue of written witnesses, in partition order ---- */

typedef struct line {
    const job *j;
    const shape *sh;
    witness w[AHEAD];
    unsigned made, taken, total;
    bool ready[AHEAD];
    pthread_mutex_t lock;
    pthread_cond_t changed;
} line;

static void *synthesize(void *user) {
    line *l = user;
    for (;;) {
        pthread_mutex_lock(&l->lock);
        while (l->made < l->total && l->made - l->taken >= AHEAD) pthread_cond_wait(&l->changed, &l->lock);
        unsigned k = l->made;
        if (k < l->total) l->made++;
        pthread_mutex_unlock(&l->lock);
        if (k >= l->total) return NULL;
        cuzk_error e;
        cuzk_status s = job_witness(&l->w[k % AHEAD], l->j, l->sh, k % l->j->partitions, &e);
        assert(s == CUZK_OK);
        pthread_mutex_lock(&l->lock);
        l->ready[k % AHEAD] = true;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
    }
}

static witness take(line *l, unsigned k) {
    pthread_mutex_lock(&l->lock);
    while (!l->ready[k % AHEAD]) pthread_cond_wait(&l->changed, &l->lock);
    witness w = l->w[k % AHEAD];
    l->ready[k % AHEAD] = false;
    l->taken++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return w;
}

static void print_times(const char *what, const prove_times *t) {
    printf("%s: eval %.3f ntt %.3f h %.3f l %.3f a %.3f b_g1 %.3f b_g2 %.3f finish %.3f, wall %.3f s\n", what, t->eval,
           t->ntt, t->msm_h, t->msm_l, t->msm_a, t->msm_b_g1, t->msm_b_g2, t->finish, t->total);
}

/* jobs times the job's partitions, synthesis on `writers` threads beside; returns seconds. Every job's proofs are
 * checked together. */
static double run_jobs(const backend *gpu, const job *j, const shape *sh, const proving_key *key, unsigned jobs,
                       unsigned writers, unsigned in_flight, pool *p) {
    line l = {.j = j, .sh = sh, .total = jobs * j->partitions};
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.changed, NULL);
    pthread_t t[16];
    double start = cpu_monotonic_seconds();
    for (unsigned i = 0; i < writers; i++) pthread_create(&t[i], NULL, synthesize, &l);
    size_t n = j->circuit.kind->public_count(&j->circuit);
    groth16_proof *proofs = calloc(j->partitions, sizeof *proofs);
    fr **inputs = calloc(j->partitions, sizeof *inputs);
    for (unsigned i = 0; i < j->partitions; i++) {
        inputs[i] = malloc((n + 1) * sizeof(fr));
        j->circuit.kind->public_inputs(j, i, inputs[i]);
    }
    pending_proof *flying[IN_FLIGHT] = {0};
    unsigned started = 0, finished = 0;
    prove_times times;
    while (finished < l.total) {
        while (started < l.total && started - finished < in_flight) {
            witness w = take(&l, started);
            prove_request q = {.key = key, .shape = sh, .witness = &w};
            must(groth16_blinding(&q.r, &q.s, &err));
            must(gpu->prove_start(0, &flying[started++ % IN_FLIGHT], &q, p, NULL, &err));
        }
        unsigned k = finished % j->partitions;
        must(gpu->prove_finish(flying[finished++ % IN_FLIGHT], &proofs[k], &times, &err));
        if (k + 1 == j->partitions)
            must(groth16_verify_batch(&key->vk, proofs, (const fr *const *)inputs, n, j->partitions, p, &err));
    }
    for (unsigned i = 0; i < writers; i++) pthread_join(t[i], NULL);
    for (unsigned i = 0; i < j->partitions; i++) free(inputs[i]);
    free(inputs);
    free(proofs);
    return cpu_monotonic_seconds() - start;
}

/* ---- parts of a run ---- */

typedef struct run {
    const backend *gpu;
    const job *j;
    const shape *sh;
    pool *p;
    fr r, s; /* of every proof that is made alone */
    unsigned jobs;
} run;

/* One partition alone. */
static groth16_proof alone(const run *u, const proving_key *key) {
    witness w;
    groth16_proof proof;
    prove_times times;
    double start = cpu_monotonic_seconds(), mark = start;
    must(job_witness(&w, u->j, u->sh, 0, &err));
    double synthesis = since(&mark);
    prove_request q = {.key = key, .shape = u->sh, .witness = &w, .r = u->r, .s = u->s};
    must(groth16_prove(u->gpu, 0, &proof, &times, &q, u->p, NULL, &err));
    print_times("one partition, device seconds", &times);
    printf("  synthesis %.3f s, in all %.3f s, verified\n", synthesis, cpu_monotonic_seconds() - start);
    fflush(stdout);
    return proof;
}

static void whole_jobs(const run *u, const proving_key *key, unsigned jobs, unsigned in_flight) {
    if (!jobs) return;
    double s = run_jobs(u->gpu, u->j, u->sh, key, jobs, 4, in_flight, u->p);
    printf("%u jobs of %u partitions: %.2f s, %.2f s a proof, all verified\n", jobs, u->j->partitions, s, s / jobs);
    fflush(stdout);
}

static void print_memory(const run *u) {
    uint64_t live, peak;
    prove_plan plan;
    must(u->gpu->plan(0, u->sh, pool_threads(u->p), 0, 0, &plan, &err));
    backend_cuda_memory(0, &live, &peak);
    printf("device bytes: plan of one proof %llu, %u chunks of the key; peak %llu, live %llu\n"
           "host bytes: planned %llu; tracked peak %llu; peak RSS %llu\n",
           (unsigned long long)plan.device_bytes, plan.chunks, (unsigned long long)peak, (unsigned long long)live,
           (unsigned long long)plan.host_bytes, (unsigned long long)buffer_total_stats().peak_bytes,
           (unsigned long long)cpu_peak_rss_bytes());
    fflush(stdout);
}

/* The key to a file, from there to the device again, and to devices that are too small for it. */
static void by_file(const run *u, proving_key *made, const char *dir, const groth16_proof *want) {
    char params[4400], vk[4400], name[288];
    setup_result result;
    proving_key key;
    double mark = cpu_monotonic_seconds();
    circuit_file_name(&u->j->circuit, "params", name, sizeof name);
    snprintf(params, sizeof params, "%s/%s", dir, name);
    circuit_file_name(&u->j->circuit, "vk", name, sizeof name);
    snprintf(vk, sizeof vk, "%s/%s", dir, name);
    must(backend_cuda_key_write(made, params, vk, &result, u->p, NULL, &err));
    printf("key written in %.2f s: %llu bytes\n", since(&mark), (unsigned long long)result.params_bytes);
    backend_cuda_release_key(made);
    backend_cuda_evict();
    cuda_module()->memory_reset_peak(0);
    mark = cpu_monotonic_seconds();
    must(proving_key_open_file(&key, params, KEY_CHECK_TRUSTED, u->p, NULL, &err));
    printf("key's file opened in %.2f s; now loaded with the first proof\n", since(&mark));
    groth16_proof got = alone(u, &key);
    printf("the proof %s that of the key in memory\n", memcmp(want, &got, sizeof got) ? "IS NOT" : "equals");
    print_memory(u);
    char *limits = getenv("CUZK_DEVICE_LIMITS"), *end;
    for (; limits && *limits; limits = *end ? end + 1 : end) {
        uint64_t limit = strtoull(limits, &end, 10);
        if (!limit) break;
        resident_forget_key(0, &key);
        backend_cuda_evict();
        backend_cuda_limit_memory(0, limit);
        cuda_module()->memory_reset_peak(0);
        buffer_reset_peaks();
        printf("within %.0f GiB of the device:\n", (double)limit / (1 << 30));
        got = alone(u, &key);
        printf("the proof %s that of the whole key\n", memcmp(want, &got, sizeof got) ? "IS NOT" : "equals");
        whole_jobs(u, &key, u->jobs, 1);
        print_memory(u);
    }
    backend_cuda_limit_memory(0, 0);
    resident_forget_key(0, &key);
    proving_key_close(&key);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        printf("see the head of tests/cuda/full.c\n");
        return 2;
    }
    const char *why;
    const backend *gpu = backend_cuda(&why);
    if (!gpu) {
        printf("no CUDA backend: %s\n", why);
        return 77;
    }
    pool *p = pool_create(0, &err);
    assert(p);
    unsigned jobs = 0;
    if (strspn(argv[argc - 1], "0123456789") == strlen(argv[argc - 1])) jobs = (unsigned)atoi(argv[--argc]);
    bool porep = strcmp(argv[1], "porep") == 0;
    size_t n = (size_t)argc - 3;
    job_source *sources = calloc(n + 1, sizeof *sources);
    assert(sources);
    job_files files = {.c1.path = porep ? argv[2] : NULL,
                       .request.path = porep ? NULL : argv[2],
                       .vanilla = sources_of(sources, (const char *const *)argv + 3, n),
                       .n_vanilla = n};
    double mark = cpu_monotonic_seconds();
    job j;
    must(job_open(&j, argv[1], &files, false, &err));
    free(sources);
    printf("%s, %u partitions: read %.2f s", j.circuit.name, j.partitions, since(&mark));
    must(j.circuit.kind->job_check(&j, p, NULL, &err));
    printf(", checked %.2f s", since(&mark));
    shape *sh;
    must(shape_record(&sh, j.circuit.kind->synthesize, j.circuit.params, NULL, &err));
    if (j.circuit.kind->lazy_blocks) shape_make_lazy(sh);
    printf(", shape %.2f s (%.0f MB)\n", since(&mark), (double)shape_bytes(sh) / 1e6);
    trapdoor t;
    must(trapdoor_random(&t, &err));
    proving_key key;
    must(backend_cuda_setup(0, &key, sh, &t, &err));
    printf("key made on the device in %.2f s\n", since(&mark));
    fflush(stdout);
    run u = {.gpu = gpu, .j = &j, .sh = sh, .p = p, .jobs = jobs};
    must(groth16_blinding(&u.r, &u.s, &err));
    const char *dir = getenv("CUZK_KEY_FOLDER");
    groth16_proof proof = alone(&u, &key);
    for (int round = 1; round < 3 && !dir; round++) proof = alone(&u, &key);
    if (dir) {
        by_file(&u, &key, dir, &proof);
    } else {
        print_memory(&u);
        whole_jobs(&u, &key, jobs, IN_FLIGHT);
        print_memory(&u);
        backend_cuda_release_key(&key);
    }
    backend_cuda_evict();
    shape_destroy(sh);
    job_close(&j);
    pool_destroy(p);
    return 0;
}
