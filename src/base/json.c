/* JSON reading over yajl's parser; see base/json.h.
 *
 * The whole document goes to yajl in one call (in pieces it copies long strings again and again). yajl checks the
 * grammar and keeps its own state on the heap, so that nesting costs no C stack; this file adds the depth limit, the
 * check for keys that appear twice in one object, the path of the current value, errors that name byte and path, and
 * strict UTF-8 (yajl's own check lets overlong forms and surrogates pass, so it is off).
 *
 * Keys of an open object are kept in one hash table for each depth. A slot belongs to an object by a number that is
 * never used again, so a new object starts with an empty table at no cost. The hash is seeded for each parse: a
 * document cannot be written so that all its keys fall together.
 *
 * Limits: depth 64; no NUL character in keys (a key must mean the same to code that sees it as a C string); numbers are
 * handed on as text of any length.
 */
#include "base/json.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/random.h"
#include "base/text.h"

typedef struct key_slot {
    uint64_t object; /* 0: free for all */
    uint64_t hash;
    size_t at, len; /* in the frame's text */
} key_slot;

typedef struct frame {
    bool array;
    uint64_t index; /* arrays: of the current value, UINT64_MAX before the first */
    uint64_t object;
    size_t key_at, key_len; /* objects: the current key in text */
    char *text;
    size_t text_len, text_room;
    key_slot *slots;
    size_t slot_count, keys; /* a power of two, at least twice the keys */
} frame;

struct json_parser {
    const char *name;
    const json_handler *handler;
    void *ctx;
    cuzk_error *err;
    cuzk_status status;
    yajl_handle yajl;
    uint64_t objects, seed[2];
    unsigned depth; /* open containers */
    frame frames[JSON_MAX_DEPTH];
};

/* --- place of the current value --------------------------------------------------------------------------------- */

unsigned json_depth(const json_parser *p) {
    return p->depth;
}

static bool plain_name(const char *key, size_t len) {
    if (!len || (key[0] >= '0' && key[0] <= '9')) return false;
    for (size_t i = 0; i < len; i++) {
        char c = key[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return true;
}

void json_path(const json_parser *p, char *out, size_t n) {
    if (!n) return;
    size_t used = (size_t)snprintf(out, n, "$");
    for (unsigned d = 0; d < p->depth && used < n; d++) {
        const frame *f = &p->frames[d];
        int wrote = 0;
        if (f->array) {
            if (f->index != UINT64_MAX) wrote = snprintf(out + used, n - used, "[%llu]", (unsigned long long)f->index);
        } else if (f->key_len) {
            const char *key = f->text + f->key_at;
            int len = f->key_len < 100 ? (int)f->key_len : 100; /* a path is for people */
            wrote = snprintf(out + used, n - used, plain_name(key, f->key_len) ? ".%.*s" : "[\"%.*s\"]", len, key);
        }
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    /* Keys are foreign bytes and paths end on terminals. */
    for (; *out; out++)
        if ((unsigned char)*out < 0x20 || *out == 0x7f) *out = '?';
}

static void put_where(const json_parser *p, cuzk_error *err, size_t byte) {
    char path[160];
    json_path(p, path, sizeof path);
    cuzk_fail_where(err, "%s, byte %zu, %s", p->name, byte, path);
}

cuzk_status json_fail(json_parser *p, cuzk_error *err, const char *what_fmt, ...) {
    char what[sizeof err->what];
    va_list args;
    va_start(args, what_fmt);
    if (vsnprintf(what, sizeof what, what_fmt, args) < 0) what[0] = 0;
    va_end(args);
    cuzk_fail(err, CUZK_MALFORMED, "%s", what);
    put_where(p, err, yajl_get_bytes_consumed(p->yajl));
    return CUZK_MALFORMED;
}

static int out_of_memory(json_parser *p) {
    p->status = cuzk_fail(p->err, CUZK_MEMORY, "no memory for reading JSON");
    return 0;
}

/* --- keys that appear twice -------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_key(const json_parser *p, const char *key, size_t len) {
    uint64_t h = p->seed[0] ^ len;
    for (; len >= 8; key += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        h = mix(h ^ word, p->seed[1]);
    }
    uint64_t word = 0;
    memcpy(&word, key, len);
    return mix(mix(h ^ word, p->seed[1]), p->seed[0] | 1);
}

/* The slot that holds the key, or the free slot where it belongs. */
static key_slot *find_slot(const frame *f, uint64_t hash, const char *key, size_t len) {
    size_t mask = f->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        key_slot *s = &f->slots[i];
        if (s->object != f->object) return s;
        if (s->hash == hash && s->len == len && (!len || memcmp(f->text + s->at, key, len) == 0)) return s;
    }
}

static bool grow_slots(frame *f) {
    size_t count = f->slot_count ? 2 * f->slot_count : 16;
    key_slot *old = f->slots, *slots = calloc(count, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < f->slot_count; i++) {
        if (old[i].object != f->object) continue;
        size_t j = (size_t)old[i].hash & (count - 1);
        while (slots[j].object) j = (j + 1) & (count - 1);
        slots[j] = old[i];
    }
    free(old);
    f->slots = slots;
    f->slot_count = count;
    return true;
}

static bool append_text(frame *f, const char *key, size_t len) {
    if (len > f->text_room - f->text_len) {
        size_t room = 2 * f->text_room + len + 64;
        char *text = realloc(f->text, room);
        if (!text) return false;
        f->text = text;
        f->text_room = room;
    }
    if (len) memcpy(f->text + f->text_len, key, len);
    f->key_at = f->text_len;
    f->key_len = len;
    f->text_len += len;
    return true;
}

/* --- yajl's callbacks: 1 goes on, 0 stops ------------------------------------------------------------------------ */

static void step_index(json_parser *p) {
    if (p->depth && p->frames[p->depth - 1].array) p->frames[p->depth - 1].index++;
}

/* Keeps a handler's failure and adds the place when the handler named none. */
static int answer(json_parser *p, cuzk_status s) {
    if (s == CUZK_OK) return 1;
    p->status = s;
    if (!p->err->where[0]) put_where(p, p->err, yajl_get_bytes_consumed(p->yajl));
    return 0;
}

static int on_value(json_parser *p, json_kind kind, const char *text, size_t len) {
    step_index(p);
    if (!p->handler->value) return 1;
    return answer(p, p->handler->value(p->ctx, p, kind, text, len, p->err));
}

static int on_null(void *p) {
    return on_value(p, JSON_NULL, NULL, 0);
}
static int on_bool(void *p, int v) {
    return on_value(p, v ? JSON_TRUE : JSON_FALSE, NULL, 0);
}
static int on_number(void *p, const char *text, size_t len) {
    return on_value(p, JSON_NUMBER, text, len);
}

static int not_utf8(json_parser *p) {
    p->status = json_fail(p, p->err, "a string is not UTF-8");
    return 0;
}

static int on_string(void *p, const unsigned char *bytes, size_t len) {
    const char *text = (const char *)bytes;
    return text_is_utf8(text, len) ? on_value(p, JSON_STRING, text, len) : not_utf8(p);
}

static int on_begin(json_parser *p, json_kind kind) {
    step_index(p);
    if (p->depth == JSON_MAX_DEPTH) {
        p->status = json_fail(p, p->err, "the JSON text is nested too deeply");
        cuzk_fail_expected(p->err, "at most %d levels", JSON_MAX_DEPTH);
        return 0;
    }
    if (p->handler->begin && !answer(p, p->handler->begin(p->ctx, p, kind, p->err))) return 0;
    frame *f = &p->frames[p->depth++];
    f->array = kind == JSON_ARRAY;
    f->index = UINT64_MAX;
    f->object = ++p->objects;
    f->key_len = f->text_len = f->keys = 0;
    return 1;
}

static int on_begin_object(void *p) {
    return on_begin(p, JSON_OBJECT);
}
static int on_begin_array(void *p) {
    return on_begin(p, JSON_ARRAY);
}

static int on_end(json_parser *p, json_kind kind) {
    assert(p->depth);
    p->depth--;
    if (!p->handler->end) return 1;
    return answer(p, p->handler->end(p->ctx, p, kind, p->err));
}

static int on_end_object(void *p) {
    return on_end(p, JSON_OBJECT);
}
static int on_end_array(void *p) {
    return on_end(p, JSON_ARRAY);
}

static int on_key(void *ctx, const unsigned char *bytes, size_t len) {
    json_parser *p = ctx;
    frame *f = &p->frames[p->depth - 1];
    const char *key = (const char *)bytes;
    if (!text_is_utf8(key, len)) return not_utf8(p);
    if (2 * (f->keys + 1) > f->slot_count && !grow_slots(f)) return out_of_memory(p);
    uint64_t hash = hash_key(p, key, len);
    key_slot *slot = find_slot(f, hash, key, len);
    bool twice = slot->object == f->object;
    if (!append_text(f, key, len)) return out_of_memory(p);
    if (twice) {
        p->status = json_fail(p, p->err, "a key appears twice in one object");
        return 0;
    }
    if (memchr(key, 0, len)) {
        p->status = json_fail(p, p->err, "a key holds a NUL character");
        return 0;
    }
    *slot = (key_slot){f->object, hash, f->key_at, len};
    f->keys++;
    if (!p->handler->key) return 1;
    return answer(p, p->handler->key(p->ctx, p, key, len, p->err));
}

static const yajl_callbacks callbacks = {.yajl_null = on_null,
                                         .yajl_boolean = on_bool,
                                         .yajl_number = on_number,
                                         .yajl_string = on_string,
                                         .yajl_start_map = on_begin_object,
                                         .yajl_map_key = on_key,
                                         .yajl_end_map = on_end_object,
                                         .yajl_start_array = on_begin_array,
                                         .yajl_end_array = on_end_array};

/* --- the parse --------------------------------------------------------------------------------------------------- */

/* Turns yajl's verdict on the text into an error. */
static cuzk_status grammar_error(json_parser *p, size_t byte) {
    unsigned char *text = yajl_get_error(p->yajl, 0, NULL, 0);
    const char *detail = text ? (const char *)text : "";
    cuzk_fail(p->err, CUZK_MALFORMED, "the JSON text is not well formed");
    cuzk_fail_found(p->err, "%.*s", (int)strcspn(detail, "\n"), detail);
    if (text) yajl_free_error(p->yajl, text);
    put_where(p, p->err, byte);
    return CUZK_MALFORMED;
}

static cuzk_status drive(json_parser *p, const void *data, size_t len) {
    static const unsigned char nothing[1];
    yajl_status s = yajl_parse(p->yajl, data ? data : nothing, len);
    size_t byte = yajl_get_bytes_consumed(p->yajl);
    if (p->status) return p->status;
    if (s == yajl_status_ok) {
        s = yajl_complete_parse(p->yajl); /* fails when the text ends too early; may report a last number */
        byte = len;
    }
    if (p->status) return p->status;
    return s == yajl_status_ok ? CUZK_OK : grammar_error(p, byte);
}

cuzk_status json_parse(const char *name, const void *data, size_t len, const json_handler *h, void *ctx,
                       cuzk_error *err) {
    json_parser *p = calloc(1, sizeof *p);
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for reading JSON");
    p->name = name;
    p->handler = h;
    p->ctx = ctx;
    p->err = err;
    cuzk_status s = random_bytes(p->seed, sizeof p->seed, err);
    if (!s) {
        p->yajl = yajl_alloc(&callbacks, NULL, p);
        if (p->yajl) yajl_config(p->yajl, yajl_dont_validate_strings, 1);
        s = p->yajl ? drive(p, data, len) : cuzk_fail(err, CUZK_MEMORY, "no memory for reading JSON");
    }
    if (p->yajl) yajl_free(p->yajl);
    for (size_t i = 0; i < JSON_MAX_DEPTH; i++) {
        free(p->frames[i].text);
        free(p->frames[i].slots);
    }
    free(p);
    return s;
}
