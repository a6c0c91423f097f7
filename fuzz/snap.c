/* Readers of sector update requests and of vanilla proofs. The first byte chooses: 0 request, else the proof of a
 * circuit of one of the tree shapes. What is read is checked, and must be what it was read from when written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "circuit/snap/snap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const snap_params *p, snap_partition *proof) {
    cuzk_error err = {0};
    snap_partition all[SNAP_MAX_PARTITIONS];
    for (unsigned k = 0; k < p->partitions; k++) {
        all[k] = *proof;
        all[k].k = k;
    }
    snap_job j = {.params = p, .partitions = all};
    j.request.comm_r_new = proof->challenges[0].r_new.root;
    cuzk_status s = snap_vanilla_check(&j, NULL, NULL, &err);
    if (s != err.status || (s != CUZK_OK && !err.where[0])) abort();
}

static void proof(arena *a, unsigned which, const uint8_t *data, size_t size) {
    static const uint64_t sizes[] = {1024, 2048, 4096, 32768};
    snap_params p;
    snap_partition out = {0};
    cuzk_error err;
    if (!snap_params_for(&p, sizes[which & 3], NULL)) abort();
    cuzk_status s = snap_proof_read(&out, a, &p, "fuzz", data, size, &err);
    if (s != CUZK_OK) {
        if (s != err.status || !err.what[0] || !err.where[0]) abort();
        return;
    }
    uint8_t *again = malloc(snap_proof_bytes(&p));
    if (!again || size != snap_proof_bytes(&p)) abort();
    snap_proof_write(again, &p, &out);
    if (memcmp(again, data, size) != 0) abort();
    free(again);
    check(&p, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    snap_request q;
    if (size == 0) return 0;
    arena *a = arena_create(BUFFER_REQUEST, 0, &err);
    if (!a) abort();
    if (data[0] == 0) {
        cuzk_status s = snap_request_read(&q, a, "fuzz", data + 1, size - 1, &err);
        if (s != CUZK_OK && (s != err.status || !err.what[0])) abort();
    } else {
        proof(a, data[0] - 1u, data + 1, size - 1);
    }
    arena_destroy(a);
    return 0;
}
