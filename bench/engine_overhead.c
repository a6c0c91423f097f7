/* What the engine adds to a proof: the same job by the library alone and through an engine, in turns.
 *
 *   bench_engine_overhead [C1.json [ROUNDS]]     (tests/data/porep-2kib-a/c1.json, 5)
 *
 * Both check the vanilla proof, make witness and proof, and verify; key and shape are loaded beforehand. Printed are
 * wall time and processor time of the process (which other programs on the machine disturb less), medians, and the part
 * that the engine adds. Keys are development keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cpu.h"
#include "base/file.h"
#include "cuzk/cuzk.h"

#define MOST 64

static _Noreturn void give_up(const char *what, const cuzk_error *err) {
    fprintf(stderr, "%s: %s (%s)\n", what, err->what, err->where);
    exit(1);
}

typedef struct times {
    double wall, cpu;
} times;

static times now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (times){cpu_monotonic_seconds(), (double)t.tv_sec + (double)t.tv_nsec * 1e-9};
}

static times since(times start) {
    times t = now();
    return (times){t.wall - start.wall, t.cpu - start.cpu};
}

static times alone(cuzk_context *context, const cuzk_key *key, const buffer *c1) {
    cuzk_error err;
    cuzk_job *job;
    times start = now();
    cuzk_job_files files = {.c1_data = {c1->data, c1->bytes}};
    if (cuzk_job_open(&job, "porep", &files, false, &err)) give_up("job", &err);
    size_t n = cuzk_job_partitions(job) * (size_t)CUZK_PROOF_BYTES;
    uint8_t *proof = malloc(n);
    if (!proof || cuzk_prove(context, job, key, NULL, proof, n, NULL, NULL, &err)) give_up("prove", &err);
    free(proof);
    cuzk_job_close(job);
    return since(start);
}

static times through(cuzk_engine *e, const buffer *c1) {
    cuzk_error err;
    cuzk_job_ticket ticket;
    cuzk_job_result r;
    times start = now();
    cuzk_submission s = {.size = sizeof s, .kind = "porep", .c1 = {c1->data, c1->bytes}};
    if (cuzk_engine_submit(e, &s, &ticket, &err)) give_up("submit", &err);
    if (cuzk_engine_await(e, ticket.job_id, -1, &r, &err)) give_up("await", &err);
    if (r.state != CUZK_JOB_COMPLETED) give_up("job", &r.error);
    cuzk_job_result_free(&r);
    return since(start);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void summary(const char *what, double *a, double *t, int n) {
    qsort(a, (size_t)n, sizeof *a, compare);
    qsort(t, (size_t)n, sizeof *t, compare);
    printf("%s: medians %.4f s and %.4f s: %+.2f %%; least %.4f s and %.4f s: %+.2f %%\n", what, a[n / 2], t[n / 2],
           100 * (t[n / 2] / a[n / 2] - 1), a[0], t[0], 100 * (t[0] / a[0] - 1));
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "tests/data/porep-2kib-a/c1.json";
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (rounds < 1 || rounds > MOST) rounds = 5;
    cuzk_error err;
    buffer c1;
    cuzk_context *context;
    cuzk_job *job;
    cuzk_key *key;
    char key_path[4096];
    bool made;
    if (file_read(&c1, path, (size_t)256 << 20, &err)) give_up(path, &err);
    cuzk_settings settings = {.device = "cpu"};
    if (cuzk_context_create(&context, &settings, &err)) give_up("context", &err);
    cuzk_job_files files = {.c1_data = {c1.data, c1.bytes}};
    if (cuzk_job_open(&job, "porep", &files, false, &err)) give_up("job", &err);
    if (cuzk_key_development(context, cuzk_job_circuit(job), key_path, sizeof key_path, &made, NULL, &err))
        give_up("key", &err);
    if (cuzk_key_open(&key, context, key_path, CUZK_KEY_TRUSTED, NULL, &err)) give_up("key", &err);
    cuzk_job_close(job);
    cuzk_engine *e;
    cuzk_engine_options o = {.size = sizeof o, .devices = "cpu", .development_keys = true};
    if (cuzk_engine_start(&e, &o, &err)) give_up("engine", &err);
    double wall_a[MOST], wall_t[MOST], cpu_a[MOST], cpu_t[MOST];
    alone(context, key, &c1);
    through(e, &c1);
    for (int i = 0; i < rounds; i++) {
        times a = alone(context, key, &c1), t = through(e, &c1);
        wall_a[i] = a.wall, wall_t[i] = t.wall;
        cpu_a[i] = a.cpu, cpu_t[i] = t.cpu;
        printf("alone %.4f s (cpu %.4f), through the engine %.4f s (cpu %.4f)\n", a.wall, a.cpu, t.wall, t.cpu);
        fflush(stdout);
    }
    summary("wall", wall_a, wall_t, rounds);
    summary("cpu", cpu_a, cpu_t, rounds);
    cuzk_engine_stop(e, 0);
    cuzk_key_close(key);
    cuzk_context_destroy(context);
    buffer_free(&c1);
    return 0;
}
