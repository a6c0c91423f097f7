/* Small JSON documents as a tree in an arena; see base/json.h. Built by the handler of json_parse, so all its checks
 * hold here too. Limit: strings with a NUL character are refused, since a node's text is a C string. */
#include "base/json.h"

#include <string.h>

typedef struct builder {
    arena *a;
    json_node *root;
    const char *key; /* of the next value */
    json_node *open[JSON_MAX_DEPTH], *last[JSON_MAX_DEPTH];
} builder;

static cuzk_status no_memory(cuzk_error *err) {
    return cuzk_fail(err, CUZK_MEMORY, "no memory for a JSON document");
}

/* A new node at the end of the open container, or the root. */
static json_node *add_node(builder *b, const json_parser *p, json_kind kind) {
    json_node *n = arena_alloc(b->a, sizeof *n);
    if (!n) return NULL;
    n->kind = kind;
    unsigned depth = json_depth(p);
    if (!depth) {
        b->root = n;
        return n;
    }
    json_node *parent = b->open[depth - 1];
    if (parent->kind == JSON_OBJECT) n->key = b->key;
    if (parent->len++)
        b->last[depth - 1]->next = n;
    else
        parent->first = n;
    b->last[depth - 1] = n;
    return n;
}

static cuzk_status on_value(void *ctx, json_parser *p, json_kind kind, const char *text, size_t len, cuzk_error *err) {
    builder *b = ctx;
    json_node *n = add_node(b, p, kind);
    if (!n) return no_memory(err);
    if (kind != JSON_NUMBER && kind != JSON_STRING) return CUZK_OK;
    if (memchr(text, 0, len)) return json_fail(p, err, "a string holds a NUL character");
    n->len = len;
    n->text = arena_strdup(b->a, text, len);
    return n->text ? CUZK_OK : no_memory(err);
}

static cuzk_status on_begin(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    builder *b = ctx;
    json_node *n = add_node(b, p, kind);
    if (!n) return no_memory(err);
    b->open[json_depth(p)] = n;
    return CUZK_OK;
}

static cuzk_status on_key(void *ctx, json_parser *p, const char *text, size_t len, cuzk_error *err) {
    (void)p;
    builder *b = ctx;
    b->key = arena_strdup(b->a, text, len);
    return b->key ? CUZK_OK : no_memory(err);
}

cuzk_status json_tree(json_node **out, arena *a, const char *name, const void *data, size_t len, size_t max_bytes,
                      cuzk_error *err) {
    static const json_handler handler = {.value = on_value, .begin = on_begin, .key = on_key};
    *out = NULL;
    if (len > max_bytes) {
        cuzk_fail(err, CUZK_MALFORMED, "the JSON document is too large");
        cuzk_fail_where(err, "%s", name);
        cuzk_fail_expected(err, "at most %zu bytes", max_bytes);
        return cuzk_fail_found(err, "%zu bytes", len);
    }
    builder b = {.a = a};
    cuzk_status s = json_parse(name, data, len, &handler, &b, err);
    if (!s) *out = b.root;
    return s;
}

const json_node *json_member(const json_node *object, const char *key) {
    if (!object || object->kind != JSON_OBJECT) return NULL;
    for (const json_node *n = object->first; n; n = n->next)
        if (strcmp(n->key, key) == 0) return n;
    return NULL;
}

const json_node *json_at(const json_node *array, size_t i) {
    if (!array || array->kind != JSON_ARRAY) return NULL;
    const json_node *n = array->first;
    while (n && i--) n = n->next;
    return n;
}
