/* Readers of PoSt requests and of vanilla proofs. The first byte chooses: 0 request, else the proof of a winning or
 * window circuit of one of the tree shapes. A proof that is read must be what it was read from when written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "circuit/post/post.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void proof(arena *a, unsigned which, const uint8_t *data, size_t size) {
    static const uint64_t sizes[] = {2048, 4096, 16384, 32768};
    post_params p;
    post_proof out;
    cuzk_error err;
    if (!post_params_for(&p, which & 4 ? POST_WINNING : POST_WINDOW, sizes[which & 3])) abort();
    cuzk_status s = post_proof_read(&out, a, &p, "fuzz", data, size, &err);
    if (s != CUZK_OK) {
        if (s != err.status || !err.what[0] || !err.where[0]) abort();
        return;
    }
    uint8_t *again = malloc(post_proof_bytes(&p));
    if (!again || size != post_proof_bytes(&p)) abort();
    post_proof_write(again, &p, &out);
    if (memcmp(again, data, size) != 0) abort();
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    post_request q;
    if (size == 0) return 0;
    arena *a = arena_create(BUFFER_REQUEST, 0, &err);
    if (!a) abort();
    if (data[0] == 0) {
        cuzk_status s = post_request_read(&q, a, a, "fuzz", data + 1, size - 1, &err);
        if (s != CUZK_OK && (s != err.status || !err.what[0])) abort();
    } else {
        proof(a, data[0] - 1u, data + 1, size - 1);
    }
    arena_destroy(a);
    return 0;
}
