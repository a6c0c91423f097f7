/* What a proof on the CPU takes: exact bytes of tracked buffers, and an estimate of time.
 *
 * The bytes follow the stages of backend/cpu/cpu.c one by one, from the shape's counts and the sizes that the stages'
 * own modules tell. The time is scaled from a calibration on this machine, made once a process in a few hundredths of a
 * second: field products, a small multi-scalar multiplication in each group, and plain point sums.
 */
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/query.h"
#include "base/cpu.h"
#include "base/text.h"
#include "math/kernels.h"
#include "math/msm.h"

/* ---- bytes ---- */

static uint64_t pages(uint64_t bytes) {
    return (bytes + 4095) & ~(uint64_t)4095;
}

static uint64_t max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

typedef struct stage_bytes {
    uint64_t witness, pass /* over a lazy witness */, eval_one, ntt, msm_h, lists, msm_lists;
} stage_bytes;

static stage_bytes bytes_of(const shape *s, unsigned threads) {
    unsigned log2 = shape_domain_log2(s);
    size_t m = (size_t)1 << log2;
    stage_bytes b = {
        .witness = pages(shape_is_lazy(s) ? witness_lazy_bytes(s) : witness_bytes(s)),
        .pass = witness_each_copy_bytes(s, threads),
        .eval_one = pages((uint64_t)m * sizeof(fr)),
        .ntt = pages(ntt_domain_bytes(log2)),
        .msm_h = pages(msm_g1_scratch_bytes(m - 1, threads)),
        .lists = pages(query_work_bytes(s, threads)),
    };
    for (query_kind k = QUERY_L; k <= QUERY_B; k++) {
        size_t n = (size_t)query_list_count(s, k);
        b.msm_lists = max_u64(b.msm_lists, pages(msm_g1_scratch_bytes(n, threads)));
        if (k == QUERY_B) b.msm_lists = max_u64(b.msm_lists, pages(msm_g2_scratch_bytes(n, threads)));
    }
    return b;
}

static cpu_holds holds_of(const stage_bytes *b) {
    uint64_t pending = pages(sizeof(pending_proof)), kept = b->witness + pending;
    cpu_holds h = {.after_witness = pending};
    h.after_h = kept + b->lists + max_u64(b->msm_lists, b->pass);
    h.after_quotient = max_u64(kept + b->eval_one + b->msm_h, h.after_h);
    h.all = max_u64(kept + 3 * b->eval_one + max_u64(b->ntt, b->pass), h.after_quotient);
    return h;
}

cpu_holds cpu_holds_of(const shape *s, unsigned threads) {
    stage_bytes b = bytes_of(s, threads);
    return holds_of(&b);
}

static void plan_bytes(const stage_bytes *b, prove_plan *out) {
    out->host_bytes = holds_of(b).all;
    out->host_by_class[BUFFER_WITNESS] = b->witness + pages(sizeof(pending_proof)) + b->pass;
    out->host_by_class[BUFFER_EVAL_ABC] = 3 * b->eval_one;
    out->host_by_class[BUFFER_NTT] = b->ntt;
    out->host_by_class[BUFFER_MSM_SCRATCH] = max_u64(b->msm_h, b->lists + b->msm_lists);
}

/* ---- time ---- */

#define SAMPLE_G1 4096u
#define SAMPLE_G2 1024u

static struct calibration {                        /* seconds on one thread */
    double fr_mul, msm_g1, msm_g2, sum_g1, sum_g2; /* a product; a term of a sample-sized MSM; an addition */
} measured;
static pthread_once_t measured_once = PTHREAD_ONCE_INIT;

/* The multiples 1, 2, 3, … of the generator. */
static void multiples(g1_affine *out1, g2_affine *out2) {
    g1_affine p;
    g2_affine q;
    g1 a;
    g2 b;
    g1_generator_affine(&p);
    g2_generator_affine(&q);
    g1_set_infinity(&a);
    g2_set_infinity(&b);
    for (unsigned i = 0; i < SAMPLE_G1; i++) {
        g1_add_affine(&a, &a, &p);
        g1_to_affine(&out1[i], &a);
        if (i >= SAMPLE_G2) continue;
        g2_add_affine(&b, &b, &q);
        g2_to_affine(&out2[i], &b);
    }
}

/* This thread's own time: a clock on the wall would count what other processes take from it, which on a busy machine
 * made estimates a hundred times too long. */
static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double since(double start) {
    return thread_seconds() - start;
}

static void calibrate(void) {
    static const uint8_t key[32], nonce[12];
    struct sample {
        g1_affine g1[SAMPLE_G1];
        g2_affine g2[SAMPLE_G2];
        fr_canon scalars[SAMPLE_G1];
        fr values[SAMPLE_G1];
        uint32_t index[SAMPLE_G1];
    } * s;
    buffer memory = {0}, scratch = {0};
    cuzk_error err;
    measured =
        (struct calibration){20e-9, 4e-6, 11e-6, 0.5e-6, 1.5e-6}; /* kept only when there is no memory to measure */
    size_t n1 = msm_sum_g1_scratch_bytes(SAMPLE_G1), n2 = msm_sum_g2_scratch_bytes(SAMPLE_G2);
    if (buffer_alloc(&memory, BUFFER_OTHER, sizeof *s, &err) != CUZK_OK ||
        buffer_alloc(&scratch, BUFFER_MSM_SCRATCH, n1 > n2 ? n1 : n2, &err) != CUZK_OK) {
        buffer_free(&memory);
        return;
    }
    s = memory.data;
    multiples(s->g1, s->g2);
    chacha random;
    chacha_init(&random, 8, 32, key, nonce);
    for (uint32_t i = 0; i < SAMPLE_G1; i++) {
        chacha_bytes(&random, &s->scalars[i], sizeof s->scalars[i]);
        s->scalars[i].l[3] >>= 2;
        s->index[i] = i;
    }
    math_kernels()->field->fr_from_canon(s->values, s->scalars, SAMPLE_G1);
    g1 p;
    g2 q;
    double t = thread_seconds();
    for (int i = 0; i < 16; i++) math_kernels()->field->fr_mul(s->values, s->values, s->values, SAMPLE_G1);
    measured.fr_mul = since(t) / (16.0 * SAMPLE_G1);
    t = thread_seconds();
    if (msm_g1(&p, s->g1, NULL, s->scalars, SAMPLE_G1, NULL, NULL, NULL, &err) == CUZK_OK) {
        measured.msm_g1 = since(t) / SAMPLE_G1;
    }
    t = thread_seconds();
    if (msm_g2(&q, s->g2, NULL, s->scalars, SAMPLE_G2, NULL, NULL, NULL, &err) == CUZK_OK) {
        measured.msm_g2 = since(t) / SAMPLE_G2;
    }
    t = thread_seconds();
    msm_sum_g1(&p, s->g1, s->index, SAMPLE_G1, scratch.data);
    measured.sum_g1 = since(t) / SAMPLE_G1;
    t = thread_seconds();
    msm_sum_g2(&q, s->g2, s->index, SAMPLE_G2, scratch.data);
    measured.sum_g2 = since(t) / SAMPLE_G2;
    buffer_free(&scratch);
    buffer_free(&memory);
}

/* Window width grows with the logarithm of the number of terms, and the number of windows falls with it. */
static double windows(double n) {
    double bits = 4;
    for (double k = 128; k < n && bits < 20; k *= 2) bits++;
    return 255 / bits;
}

static double msm_seconds(double per_term, double sample, double n) {
    return n < 1 ? 0 : per_term * n * windows(n) / windows(sample);
}

static void plan_seconds(const shape *s, unsigned threads, prove_plan *out) {
    pthread_once(&measured_once, calibrate);
    cs_counts n = shape_counts(s);
    unsigned log2 = shape_domain_log2(s);
    double m = (double)((uint64_t)1 << log2), fields = (double)shape_fields(s), cores = threads;
    double bits = (double)n.aux - fields, nnz = (double)(n.nnz[0] + n.nnz[1] + n.nnz[2]);
    double density_a = n.aux ? (double)n.a_aux_density / (double)n.aux : 0;
    double density_b = n.aux ? (double)n.b_aux_density / (double)n.aux : 0;
    double list[3];
    for (query_kind k = QUERY_L; k <= QUERY_B; k++) list[k] = (double)query_list_count(s, k);
    double rest = msm_seconds(measured.msm_g1, SAMPLE_G1, list[QUERY_L]) +
                  msm_seconds(measured.msm_g1, SAMPLE_G1, list[QUERY_A]) +
                  msm_seconds(measured.msm_g1, SAMPLE_G1, list[QUERY_B]) +
                  msm_seconds(measured.msm_g2, SAMPLE_G2, list[QUERY_B]);
    /* Half of the bits are one. */
    rest += bits / 2 * (measured.sum_g1 * (1 + density_a + density_b) + measured.sum_g2 * density_b);
    /* A lazy witness is made while it is read: for evaluation, and for each of three lists. */
    double making = measured.fr_mul * (double)n.aux * 3;
    out->seconds[0] = shape_is_lazy(s) ? measured.fr_mul * (double)n.inputs * 10 : making;
    out->seconds[1] = measured.fr_mul * (nnz * 1.5 + m) / cores + (shape_is_lazy(s) ? making / cores : 0);
    out->seconds[2] = measured.fr_mul * (6 * m * log2 / 2 * 1.3 + 4 * m) / cores;
    out->seconds[3] = msm_seconds(measured.msm_g1, SAMPLE_G1, m) / cores;
    out->seconds[4] = (rest + (shape_is_lazy(s) ? 3 * making : 0)) / cores;
    out->seconds[5] = measured.fr_mul * 1e5 + msm_seconds(measured.msm_g1, SAMPLE_G1, (double)n.inputs);
}

cuzk_status cpu_plan(unsigned device, const shape *s, unsigned threads, uint64_t host_limit, uint64_t device_limit,
                     prove_plan *out, cuzk_error *err) {
    (void)device;
    (void)device_limit;
    if (threads == 0) threads = cpu_get()->threads;
    memset(out, 0, sizeof *out);
    out->chunks = 1;
    stage_bytes b = bytes_of(s, threads);
    plan_bytes(&b, out);
    if (host_limit && out->host_bytes > host_limit) {
        char need[24], have[24];
        text_size(need, out->host_bytes);
        text_size(have, host_limit);
        cuzk_fail(err, CUZK_MEMORY, "the proof needs more memory than the limit");
        cuzk_fail_expected(err, "%" PRIu64 " bytes (%s)", out->host_bytes, need);
        cuzk_fail_found(err, "a limit of %" PRIu64 " bytes (%s)", host_limit, have);
        return cuzk_fail_hint(err, "raise --memory, or use fewer --threads");
    }
    plan_seconds(s, threads, out);
    return CUZK_OK;
}
