/* Speed of the PoRep circuit in its three readings: counting and hashing the structure (one challenge), recording the
 * shape, and writing the witness of a partition. CPU time, one thread.
 * Usage: bench_synthesis [size: 2kib, 32gib, …]; default 32gib. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "circuit/porep/synth.h"
#include "math/poseidon.h"
#include "r1cs/shape.h"
#include "r1cs/witness.h"

/* CPU time of this thread: other work on the machine does not count. */
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int failed(const cuzk_error *err) {
    fprintf(stderr, "%s\n", err->what);
    return 1;
}

static void bench_poseidon(void) {
    static const unsigned arities[] = {2, 4, 8, 11};
    for (size_t i = 0; i < sizeof arities / sizeof *arities; i++) {
        const poseidon_constants *k = poseidon_get(arities[i]);
        fr in[11];
        for (unsigned j = 0; j < 11; j++) fr_from_u64(&in[j], j);
        double best = 1;
        for (int turn = 0; turn < 20; turn++) {
            double t = cpu_seconds();
            for (int n = 0; n < 100; n++) poseidon_hash(k, &in[0], in);
            t = (cpu_seconds() - t) / 100;
            if (t < best) best = t;
        }
        printf("poseidon-%u: %.1f us\n", arities[i], best * 1e6);
    }
}

static uint64_t parse_size(const char *text) {
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    return n << (*end == 'k' ? 10 : *end == 'm' ? 20 : 30);
}

int main(int argc, char **argv) {
    porep_params p, one;
    porep_registered reg;
    porep_c1 c1;
    porep_request facts;
    cuzk_error err;
    cs_counts n;
    uint8_t digest[32];
    shape *s;
    witness w;
    bench_poseidon();
    if (!porep_params_for(&p, parse_size(argc > 1 ? argv[1] : "32gib"), NULL)) return 1;
    if (!porep_params_custom(&one, p.nodes, p.u, p.v, p.w, p.layers, 1)) return 1;
    double t0 = cpu_seconds();
    if (cs_count(&n, porep_synthesize, &one, &err) != CUZK_OK) return failed(&err);
    double t1 = cpu_seconds();
    if (cs_hash(digest, porep_synthesize, &one, NULL, NULL, &err) != CUZK_OK) return failed(&err);
    double t2 = cpu_seconds();
    if (shape_record(&s, porep_synthesize, &p, NULL, &err) != CUZK_OK) return failed(&err);
    double t3 = cpu_seconds();
    double m = (double)n.constraints / 1e6;
    printf("one challenge, %.2f M constraints: count %.2f s, hash %.2f s; record the partition %.2f s\n", m, t1 - t0,
           t2 - t1, t3 - t2);
    arena *a = arena_create(BUFFER_REQUEST, 0, &err);
    if (a == NULL) return failed(&err);
    synth_porep_registered(&reg, p.sector_bytes);
    if (synth_porep_build(&c1, &facts, a, &p, &reg, 1, NULL, NULL, &err) != CUZK_OK) return failed(&err);
    double t4 = cpu_seconds();
    printf("made-up vanilla proof: %.2f s\n", t4 - t3);
    for (int turn = 0; turn < 3; turn++) {
        double from = cpu_seconds();
        if (witness_write(&w, s, porep_synthesize, &p, &c1.partitions[0], &err) != CUZK_OK) return failed(&err);
        double took = cpu_seconds() - from;
        printf("witness, %.1f M variables (%.2f M field elements): %.3f s\n", (double)w.n_aux / 1e6,
               (double)w.n_fields / 1e6, took);
        if (turn < 2) witness_free(&w);
    }
    uint64_t bad;
    if (witness_check(&w, s, &bad, NULL, NULL, &err) != CUZK_OK) return failed(&err);
    printf("%s\n", bad == UINT64_MAX ? "satisfied" : "NOT SATISFIED");
    witness_free(&w);
    shape_destroy(s);
    arena_destroy(a);
    return bad == UINT64_MAX ? 0 : 1;
}
