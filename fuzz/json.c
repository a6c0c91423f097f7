/* Any bytes as a JSON document: parsed as events and as a tree; what is accepted must also be bounded and balanced. */
#include <stdlib.h>

#include "base/json.h"

typedef struct balance {
    unsigned open, most;
} balance;

static cuzk_status on_begin(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    (void)kind, (void)err;
    balance *b = ctx;
    if (json_depth(p) != b->open++) abort();
    if (b->open > b->most) b->most = b->open;
    return CUZK_OK;
}

static cuzk_status on_end(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    (void)kind, (void)err;
    balance *b = ctx;
    if (json_depth(p) != --b->open) abort();
    char path[40];
    json_path(p, path, sizeof path);
    return CUZK_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const json_handler handler = {.begin = on_begin, .end = on_end};
    cuzk_error err;
    balance b = {0};
    cuzk_status events = json_parse("fuzz", data, size, &handler, &b, &err);
    if (b.most > JSON_MAX_DEPTH || (!events && b.open)) abort();

    arena *a = arena_create(BUFFER_OTHER, 4096, &err);
    if (!a) return 0;
    json_node *root;
    cuzk_status tree = json_tree(&root, a, "fuzz", data, size, 1 << 20, &err);
    /* The tree refuses more (long documents, NUL in strings), never less. */
    if (!tree && (events || !root)) abort();
    arena_destroy(a);
    return 0;
}
