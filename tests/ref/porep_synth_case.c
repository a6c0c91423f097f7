#include "ref/porep_synth_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/file.h"
#include "circuit/job.h"
#include "circuit/porep/synth.h"

static void must(cuzk_status s, const cuzk_error *err, const char *what) {
    if (s == CUZK_OK) return;
    fprintf(stderr, "%s: %s: %s (expected %s, found %s)\n", what, err->where, err->what, err->expected, err->found);
    abort();
}

static void must_be(bool true_, const char *what) {
    if (true_) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

void porep_synth_case(uint64_t sector_bytes, uint64_t seed, pool *workers) {
    char folder[] = "/tmp/cuzk-synth-XXXXXX", c1[SYNTH_PATH_BYTES], request[SYNTH_PATH_BYTES];
    cuzk_error err;
    porep_params p;
    porep_registered r;
    must_be(mkdtemp(folder) != NULL, "mkdtemp");
    must_be(porep_params_for(&p, sector_bytes, ""), "size");
    synth_porep_registered(&r, sector_bytes);
    double t0 = cpu_monotonic_seconds();
    must(synth_porep(&p, &r, seed, folder, workers, NULL, c1, request, &err), &err, "synth");
    double t1 = cpu_monotonic_seconds();

    job j, facts;
    job_files files = {.c1.path = c1, .size_override = r.sector_bytes == sector_bytes ? 0 : sector_bytes};
    uint64_t rss = cpu_rss_bytes();
    buffer_reset_peaks();
    must(job_open(&j, "porep", &files, false, &err), &err, "open");
    double t2 = cpu_monotonic_seconds();
    uint64_t tracked = buffer_total_stats().peak_bytes, grown = cpu_rss_bytes() - rss;
    must(j.circuit.kind->job_check(&j, workers, NULL, &err), &err, "check");
    double t3 = cpu_monotonic_seconds();
    file_map map;
    must(file_map_open(&map, c1, &err), &err, "map");
    if (map.bytes > 1 << 20)
        printf("%s: %.1f MB, made and written %.2f s; read %.2f s, tracked peak %.1f MB, RSS grew %.1f MB; checked "
               "%.2f s\n",
               j.circuit.name, (double)map.bytes / 1e6, t1 - t0, t2 - t1, (double)tracked / 1e6, (double)grown / 1e6,
               t3 - t2);
    file_map_close(&map);

    /* Both files agree, and the request alone derives the same public inputs. */
    files.request.path = request;
    must(job_open(&facts, "porep", &files, false, &err), &err, "proof and request");
    job_close(&facts);
    files.c1.path = NULL;
    must(job_open(&facts, "porep", &files, true, &err), &err, "request");
    size_t n = j.circuit.kind->public_count(&j.circuit);
    fr *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    for (unsigned k = 0; k < j.partitions; k++) {
        j.circuit.kind->public_inputs(&j, k, a);
        facts.circuit.kind->public_inputs(&facts, k, b);
        must_be(memcmp(a, b, n * sizeof *a) == 0, "public inputs differ");
        const porep_partition *q = j.circuit.kind->instance(&j, k);
        fr node;
        for (unsigned i = 0; i < p.challenges; i++) {
            fr_from_u64(&node, q->challenges[i].labels[0].node);
            must_be(fr_eq(&node, &a[3 + 18 * (size_t)i]), "a challenge is not the public one");
        }
    }
    free(a);
    free(b);
    job_close(&facts);
    job_close(&j);
    unlink(c1);
    unlink(request);
    rmdir(folder);
}
