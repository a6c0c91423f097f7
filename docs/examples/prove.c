/* Proves a PoRep job with the library: prove C1_FILE PROOF_FILE
 *
 * Uses a development key (made on the first run, a minute or two), so the proof is good for trials only. Build against
 * an installed or built tree:
 *   cc -Iinclude docs/examples/prove.c build/release/lib/libcuzk.a -lyajl_s -lcrypto -lpthread -lm
 */
#include <stdio.h>
#include <stdlib.h>
#include "cuzk/cuzk.h"

static void show_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
    (void)user;
    if (total && done == total) fprintf(stderr, "%s\n", stage);
}

static int fail(const cuzk_error *err) {
    fprintf(stderr, "%s (%s)\n  where: %s\n  expected: %s\n  found: %s\n  do: %s\n", err->what,
            cuzk_status_name(err->status), err->where, err->expected, err->found, err->hint);
    return cuzk_status_exit(err->status);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "use: prove C1_FILE PROOF_FILE\n");
        return 2;
    }
    cuzk_error err = {0};
    cuzk_control control = {.progress = show_progress};
    cuzk_context *context = NULL;
    cuzk_job *job = NULL;
    cuzk_key *key = NULL;
    uint8_t *proofs = NULL;
    char key_path[4096];
    bool made;
    int status = 0;

    /* All defaults: every CPU, all memory. */
    if (cuzk_context_create(&context, NULL, &err)) goto failed;
    /* Read once; everything else works on the handle. */
    cuzk_job_files files = {.c1 = argv[1]};
    if (cuzk_job_open(&job, "porep", &files, false, &err)) goto failed;
    /* Refuse before the work what cannot succeed. */
    if (cuzk_job_check(context, job, &control, &err)) goto failed;
    if (cuzk_plan_admit(context, cuzk_job_circuit(job), &control, &err)) goto failed;

    if (cuzk_key_development(context, cuzk_job_circuit(job), key_path, sizeof key_path, &made, &control, &err)) {
        goto failed;
    }
    if (cuzk_key_open(&key, context, key_path, CUZK_KEY_TRUSTED, &control, &err)) goto failed;

    size_t bytes = (size_t)cuzk_job_partitions(job) * CUZK_PROOF_BYTES;
    cuzk_prove_report report;
    proofs = malloc(bytes);
    if (!proofs) {
        cuzk_fail(&err, CUZK_MEMORY, "no memory for the proofs");
        goto failed;
    }
    if (cuzk_prove(context, job, key, NULL, proofs, bytes, &report, &control, &err)) goto failed;

    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(proofs, 1, bytes, out) != bytes || fclose(out)) {
        cuzk_fail(&err, CUZK_IO, "the proof cannot be written");
        cuzk_fail_where(&err, "%s", argv[2]);
        goto failed;
    }
    printf("%u proof(s) in %.1f s, peak of buffers %.0f MiB\n", report.partitions, report.seconds.total,
           (double)report.memory.peak_bytes / (1 << 20));
    goto end;

failed:
    status = fail(&err);
end:
    free(proofs);
    cuzk_key_close(key);
    cuzk_job_close(job);
    cuzk_context_destroy(context);
    return status;
}
