/* A SubmitProofRequest or a ProveRequest (the first byte says which) as it comes over the wire: rpc/submission.h. What
 * comes out lies within the message, or is the request made from it, which is JSON. */
#include <stdint.h>
#include <string.h>
#include "base/json.h"
#include "rpc/submission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void within(cuzk_bytes b, const uint8_t *data, size_t n) {
    const uint8_t *p = b.data;
    if (b.n && !(p >= data && p + b.n <= data + n)) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    rpc_submission s;
    cuzk_error err;
    json_node *top;
    if (n == 0) return 0;
    bool prove = data[0] & 1;
    if (rpc_submission_read(&s, data + 1, n - 1, prove, &err)) {
        if (!err.what[0]) __builtin_trap();
    } else {
        within(s.job.c1, data, n);
        for (size_t i = 0; i < s.job.n_vanilla; i++) within(s.job.vanilla[i], data, n);
        if (!s.json) within(s.job.request, data, n);
        arena *a = arena_create(BUFFER_OTHER, 0, &err);
        if (a && s.json && json_tree(&top, a, "request", s.json, strlen(s.json), (size_t)1 << 30, &err))
            __builtin_trap();
        arena_destroy(a);
        if (s.job.deadline_seconds < 0) __builtin_trap();
    }
    rpc_submission_free(&s);
    return 0;
}
