/* Jobs of several kinds in turn on one CUDA device, with development keys that the device makes: an engine within a
 * budget of its memory that does not hold all keys at once, so that they put each other out.
 *
 * cuda_mixed ROUNDS BYTES KIND:FOLDER... where FOLDER is what `cuzk synth-sector KIND --out FOLDER` filled and BYTES
 * the device's budget (0: all). Every job is proved once a round, one after the other; then all of a round at once.
 *
 * Prints seconds of each kind, the highest device and host memory, and what is left when the engine has stopped.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/backend.h"
#include "base/cpu.h"
#include "base/file.h"
#include "cuzk/engine.h"

#define KINDS_MAX 8
#define VANILLA_MAX 4096
#define INPUT_MAX ((size_t)256 << 20)

typedef struct input {
    char kind[32];
    const char *folder;
    buffer c1, request, vanilla[VANILLA_MAX];
    cuzk_bytes parts[VANILLA_MAX];
    size_t n;
    double total, first, most;
    unsigned done;
} input;

static cuzk_error err;
static void must(cuzk_status s) {
    if (s == CUZK_OK) return;
    printf("status %d: %s (%s) expected %s found %s\n", s, err.what, err.where, err.expected, err.found);
    exit(5);
}

static void read_input(input *in, const char *word) {
    const char *colon = strchr(word, ':');
    char path[4096];
    assert(colon && (size_t)(colon - word) < sizeof in->kind);
    memcpy(in->kind, word, (size_t)(colon - word));
    in->folder = colon + 1;
    snprintf(path, sizeof path, "%s/c1.json", in->folder);
    if (file_exists(path)) must(file_read(&in->c1, path, INPUT_MAX, &err));
    snprintf(path, sizeof path, "%s/request.json", in->folder);
    if (!in->c1.data) must(file_read(&in->request, path, INPUT_MAX, &err));
    for (; in->n < VANILLA_MAX && !in->c1.data; in->n++) {
        snprintf(path, sizeof path, "%s/vanilla-%zu.bin", in->folder, in->n);
        if (!file_exists(path)) break;
        must(file_read(&in->vanilla[in->n], path, INPUT_MAX, &err));
        in->parts[in->n] = (cuzk_bytes){in->vanilla[in->n].data, in->vanilla[in->n].bytes};
    }
}

static void submit(cuzk_engine *e, const input *in, const char *id) {
    cuzk_job_ticket ticket;
    cuzk_submission s = {.size = sizeof s,
                         .request_id = id,
                         .kind = in->kind,
                         .c1 = {in->c1.data, in->c1.bytes},
                         .request = {in->request.data, in->request.bytes},
                         .vanilla = in->parts,
                         .n_vanilla = in->n};
    must(cuzk_engine_submit(e, &s, &ticket, &err));
}

static void await(cuzk_engine *e, input *in, const char *id, double since) {
    cuzk_job_result r;
    must(cuzk_engine_await(e, id, -1, &r, &err));
    if (r.state != CUZK_JOB_COMPLETED) {
        printf("%s: %s: %s (%s) %s\n", id, cuzk_job_state_name(r.state), r.error.what, r.error.where, r.error.found);
        exit(1);
    }
    cuzk_job_result_free(&r);
    double took = cpu_monotonic_seconds() - since;
    if (!in->done++) in->first = took;
    if (took > in->most) in->most = took;
    in->total += took;
}

int main(int argc, char **argv) {
    static input in[KINDS_MAX];
    const char *why;
    if (argc < 4 || argc > 3 + KINDS_MAX) {
        printf("see the head of tests/cuda/mixed.c\n");
        return 2;
    }
    if (!backend_cuda(&why)) {
        printf("no CUDA backend: %s\n", why);
        return 77;
    }
    unsigned rounds = (unsigned)atoi(argv[1]), n = (unsigned)argc - 3;
    uint64_t budget = strtoull(argv[2], NULL, 10), live, peak;
    for (unsigned i = 0; i < n; i++) read_input(&in[i], argv[i + 3]);
    cuzk_engine *e;
    cuzk_engine_options o = {.size = sizeof o,
                             .devices = "cuda:0",
                             .device_memory_bytes = budget,
                             .policy = CUZK_REQUIRE_GPU,
                             .development_keys = true};
    must(cuzk_engine_start(&e, &o, &err));
    double start = cpu_monotonic_seconds();
    char id[64];
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < n; i++) {
            double since = cpu_monotonic_seconds();
            snprintf(id, sizeof id, "turn-%u-%u", r, i);
            submit(e, &in[i], id);
            await(e, &in[i], id, since);
        }
    }
    for (unsigned i = 0; i < n; i++)
        printf("%s: %u jobs in turn, the first %.2f s, mean %.2f s, most %.2f s\n", in[i].kind, in[i].done, in[i].first,
               in[i].total / in[i].done, in[i].most);
    printf("in turn: %.2f s a round\n", (cpu_monotonic_seconds() - start) / rounds);
    fflush(stdout);
    start = cpu_monotonic_seconds();
    for (int wait = 0; wait < 2; wait++) {
        for (unsigned r = 0; r < rounds; r++) {
            for (unsigned i = 0; i < n; i++) {
                snprintf(id, sizeof id, "all-%u-%u", r, i);
                if (wait)
                    await(e, &in[i], id, start);
                else
                    submit(e, &in[i], id);
            }
        }
    }
    backend_cuda_memory(0, &live, &peak);
    printf("all at once: %.2f s a round\n", (cpu_monotonic_seconds() - start) / rounds);
    printf("device bytes: budget %llu, peak %llu, live %llu; host: tracked peak %llu, peak RSS %llu\n",
           (unsigned long long)budget, (unsigned long long)peak, (unsigned long long)live,
           (unsigned long long)buffer_total_stats().peak_bytes, (unsigned long long)cpu_peak_rss_bytes());
    bool within = !budget || peak <= budget;
    cuzk_engine_stop(e, 10);
    backend_cuda_evict();
    backend_cuda_memory(0, &live, &peak);
    for (unsigned i = 0; i < n; i++) {
        buffer_free(&in[i].c1);
        buffer_free(&in[i].request);
        for (size_t k = 0; k < in[i].n; k++) buffer_free(&in[i].vanilla[k]);
    }
    printf("after the engine: device bytes %llu, tracked host bytes %llu\n", (unsigned long long)live,
           (unsigned long long)buffer_total_stats().live_bytes);
    return within && live == 0 && buffer_total_stats().live_bytes == 0 ? 0 : 1;
}
