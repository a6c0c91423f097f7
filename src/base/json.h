/* JSON over yajl, whole documents in one call.
 *
 * Reading: json_parse drives a handler (SAX) with depth limit, UTF-8 check, and refuses trailing garbage and duplicate
 * keys in one object. json_tree reads a small document into a tree in an arena. Numbers stay text. Errors name the byte
 * and the JSON path. Writing: json_out builds one document in memory. A parser or json_out belongs to one thread.
 */
#ifndef CUZK_BASE_JSON_H
#define CUZK_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "cuzk/error.h"

typedef enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json_parser json_parser;

/* Return OK to go on. Values: text/len only for NUMBER and STRING (string already unescaped; borrowed until return).
 * begin/end come in pairs; `key` announces the member whose value follows. On failure fill err with json_fail or
 * cuzk_fail; json_parse adds file, byte and path when `where` is empty. */
typedef struct json_handler {
    cuzk_status (*value)(void *ctx, json_parser *p, json_kind kind, const char *text, size_t len, cuzk_error *err);
    cuzk_status (*begin)(void *ctx, json_parser *p, json_kind kind, cuzk_error *err);
    cuzk_status (*key)(void *ctx, json_parser *p, const char *text, size_t len, cuzk_error *err);
    cuzk_status (*end)(void *ctx, json_parser *p, json_kind kind, cuzk_error *err);
} json_handler;

#define JSON_MAX_DEPTH 64

/* name is used in errors ("c1.json"). data is borrowed until return. */
cuzk_status json_parse(const char *name, const void *data, size_t len, const json_handler *h, void *ctx,
                       cuzk_error *err);
unsigned json_depth(const json_parser *p);                 /* of the value being handled; 0 at top level */
void json_path(const json_parser *p, char *out, size_t n); /* "$.vanilla_proofs.X[3].comm_r[0]" */
/* MALFORMED with where = name, byte and path. */
cuzk_status json_fail(json_parser *p, cuzk_error *err, const char *what_fmt, ...) CUZK_PRINTF(3);

typedef struct json_node json_node;
struct json_node {
    json_kind kind;
    const char *key;  /* NULL outside objects */
    const char *text; /* NUMBER, STRING: terminated */
    size_t len;       /* of text; or number of children */
    json_node *first, *next;
};
/* The tree lives in a. max_bytes bounds the document. */
cuzk_status json_tree(json_node **out, arena *a, const char *name, const void *data, size_t len, size_t max_bytes,
                      cuzk_error *err);
const json_node *json_member(const json_node *object, const char *key); /* NULL when absent or not an object */
const json_node *json_at(const json_node *array, size_t i);

typedef struct json_out json_out; /* errors are sticky; json_out_text returns NULL after one */
json_out *json_out_create(void);  /* NULL: no memory */
void json_out_destroy(json_out *o);
void json_begin_object(json_out *o);
void json_end_object(json_out *o);
void json_begin_array(json_out *o);
void json_end_array(json_out *o);
void json_put_key(json_out *o, const char *key);
void json_put_string(json_out *o, const char *s);
void json_put_u64(json_out *o, uint64_t v);
void json_put_i64(json_out *o, int64_t v);
void json_put_double(json_out *o, double v);
void json_put_bool(json_out *o, bool v);
void json_put_null(json_out *o);
void json_put_hex(json_out *o, const uint8_t *data, size_t len);
const char *json_out_text(json_out *o, size_t *len); /* owned by o */

#endif
