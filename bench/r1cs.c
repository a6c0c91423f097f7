/* Speed of shapes: recording, saving, opening, evaluation, digest. Usage: bench_r1cs [size: 2kib, 32gib, …] [digest];
 * default 2kib. The witness is made of random bits and random field elements: evaluation does not ask whether it
 * satisfies anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/random.h"
#include "circuit/porep/synth.h"
#include "r1cs/witness.h"

/* Of this thread on a processor, so that a busy machine does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(const cuzk_error *err) {
    fprintf(stderr, "%s: %s\n", err->where, err->what);
    return 1;
}

static uint64_t parse_size(const char *text) {
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    return n << (*end == 'k' ? 10 : *end == 'm' ? 20 : 30);
}

/* Bits with probability 1/2, fields any. */
static cuzk_status random_witness(witness *w, const shape *s, cuzk_error *err) {
    cs_counts n = shape_counts(s);
    *w = (witness){.n_inputs = (uint32_t)n.inputs, .n_aux = n.aux, .n_fields = shape_fields(s)};
    cuzk_status status = buffer_alloc(&w->memory, BUFFER_WITNESS, witness_bytes(s), err);
    if (status != CUZK_OK) return status;
    w->inputs = w->memory.data;
    w->fields = w->inputs + w->n_inputs;
    w->bits = (uint64_t *)(w->fields + w->n_fields);
    chacha g;
    uint8_t key[32] = {1}, nonce[12] = {0};
    chacha_init(&g, 8, 32, key, nonce);
    chacha_bytes(&g, w->memory.data, w->memory.bytes);
    for (uint64_t i = 0; i < w->n_inputs + w->n_fields; i++) w->inputs[i].l[3] &= UINT64_MAX >> 2;
    fr_set_one(&w->inputs[0]);
    for (uint64_t at = 0; at < (n.aux + 63) / 64; at++) {
        uint64_t field;
        shape_bitmap(s, SHAPE_IS_FIELD, at * 64, 64, &field);
        w->bits[at] &= ~field;
    }
    if (n.aux % 64 != 0) w->bits[n.aux / 64] &= (1ull << (n.aux % 64)) - 1;
    return CUZK_OK;
}

static void bench_eval(const shape *s, const witness *w) {
    enum { TILE = 2048 };
    static fr out[TILE];
    cs_counts n = shape_counts(s);
    uint64_t rows = n.constraints < 8000000 ? n.constraints : 8000000;
    for (int m = 0; m < 3; m++) {
        double best = 1e9, share = (double)rows / (double)n.constraints;
        for (int turn = 0; turn < 3; turn++) {
            double t = now();
            for (uint64_t at = 0; at < rows; at += TILE) shape_eval(s, (shape_matrix)m, w, at, TILE, out);
            t = now() - t;
            if (t < best) best = t;
        }
        printf("evaluate %c: %.2f ns a term, %.2f ns a row\n", "ABC"[m], best * 1e9 / ((double)n.nnz[m] * share),
               best * 1e9 / (double)rows);
    }
}

static cuzk_status bench_file(const shape *s, cuzk_error *err) {
    char path[] = "/tmp/cuzk-bench-shape-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) return cuzk_fail(err, CUZK_IO, "no temporary file");
    close(fd);
    double t = now();
    cuzk_status status = shape_save(s, path, err);
    double t1 = now();
    shape *again = NULL;
    if (status == CUZK_OK) status = shape_open(&again, path, err);
    double t2 = now();
    if (status == CUZK_OK)
        printf("save %.2f s, open %.3f s (%.2f s a GB)\n", t1 - t, t2 - t1, (t2 - t1) / ((double)shape_bytes(s) / 1e9));
    shape_destroy(again);
    unlink(path);
    return status;
}

int main(int argc, char **argv) {
    porep_params p;
    cuzk_error err = {0};
    shape *s;
    witness w;
    if (!porep_params_for(&p, parse_size(argc > 1 ? argv[1] : "2kib"), NULL)) return 1;
    double t = now();
    if (shape_record(&s, porep_synthesize, &p, NULL, &err) != CUZK_OK) return failed(&err);
    t = now() - t;
    cs_counts n = shape_counts(s);
    shape_view v;
    shape_get_view(s, &v);
    printf("%llu constraints, %llu terms, %u coefficients\n", (unsigned long long)n.constraints,
           (unsigned long long)(n.nnz[0] + n.nnz[1] + n.nnz[2]), v.coeff_count);
    printf("record %.2f s; shape %.1f MB, peak of tracked memory %.1f MB\n", t, (double)shape_bytes(s) / 1e6,
           (double)buffer_total_stats().peak_bytes / 1e6);
    if (bench_file(s, &err) != CUZK_OK) return failed(&err);
    if (random_witness(&w, s, &err) != CUZK_OK) return failed(&err);
    printf("witness %.1f MB, %llu field elements\n", (double)w.memory.bytes / 1e6, (unsigned long long)w.n_fields);
    bench_eval(s, &w);
    if (argc > 2 && strcmp(argv[2], "digest") == 0) {
        uint8_t digest[32];
        t = now();
        if (shape_hash(s, digest, NULL, NULL, NULL, &err) != CUZK_OK) return failed(&err);
        t = now() - t;
        double bytes = 24.0 * (double)n.constraints + 41.0 * (double)(n.nnz[0] + n.nnz[1] + n.nnz[2]);
        printf("digest %.2f s, %.0f MB/s: ", t, bytes / t / 1e6);
        for (int i = 0; i < 32; i++) printf("%02x", digest[i]);
        printf("\n");
    }
    witness_free(&w);
    shape_destroy(s);
    return 0;
}
