/* JSON writing over yajl's generator; see base/json.h.
 *
 * Wrong nesting, a missing key or a second value at the top is refused, and refusals are sticky. Strings come from file
 * names and foreign inputs too, so bytes that are not UTF-8 are replaced by "?" instead of spoiling the document.
 * Doubles are written with the fewest digits that read back as the same value; infinities and NaN have no JSON form and
 * are an error.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "base/text.h"

struct json_out {
    yajl_gen gen;
    bool failed;
    unsigned depth;
    json_kind open[JSON_MAX_DEPTH];
};

json_out *json_out_create(void) {
    json_out *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->gen = yajl_gen_alloc(NULL);
    if (o->gen) return o;
    free(o);
    return NULL;
}

void json_out_destroy(json_out *o) {
    if (!o) return;
    yajl_gen_free(o->gen);
    free(o);
}

static void note(json_out *o, yajl_gen_status s) {
    if (s != yajl_gen_status_ok) o->failed = true;
}

static void begin(json_out *o, json_kind kind) {
    if (o->depth == JSON_MAX_DEPTH) {
        o->failed = true;
        return;
    }
    o->open[o->depth++] = kind;
    note(o, kind == JSON_OBJECT ? yajl_gen_map_open(o->gen) : yajl_gen_array_open(o->gen));
}

static void end(json_out *o, json_kind kind) {
    if (!o->depth || o->open[o->depth - 1] != kind) {
        o->failed = true;
        return;
    }
    o->depth--;
    note(o, kind == JSON_OBJECT ? yajl_gen_map_close(o->gen) : yajl_gen_array_close(o->gen));
}

void json_begin_object(json_out *o) {
    begin(o, JSON_OBJECT);
}
void json_end_object(json_out *o) {
    end(o, JSON_OBJECT);
}
void json_begin_array(json_out *o) {
    begin(o, JSON_ARRAY);
}
void json_end_array(json_out *o) {
    end(o, JSON_ARRAY);
}
void json_put_key(json_out *o, const char *key) {
    json_put_string(o, key);
}

void json_put_string(json_out *o, const char *s) {
    size_t len = strlen(s);
    char *clean = malloc(len + 1);
    if (!clean) {
        o->failed = true;
        return;
    }
    memcpy(clean, s, len + 1);
    for (size_t i = 0; i < len;) {
        size_t n = text_utf8_char(clean + i, len - i);
        if (!n) clean[i] = '?';
        i += n ? n : 1;
    }
    note(o, yajl_gen_string(o->gen, (const unsigned char *)clean, len));
    free(clean);
}

static void put_number(json_out *o, const char *text) {
    note(o, yajl_gen_number(o->gen, text, strlen(text)));
}

void json_put_u64(json_out *o, uint64_t v) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, v);
    put_number(o, text);
}

void json_put_i64(json_out *o, int64_t v) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, v);
    put_number(o, text);
}

void json_put_double(json_out *o, double v) {
    if (!isfinite(v)) {
        o->failed = true;
        return;
    }
    char text[32], local[32];
    int digits = 15;
    do snprintf(local, sizeof local, "%.*g", digits, v); /* read back as it is written: by the locale */
    while (strtod(local, NULL) != v && digits++ < 17);
    text_double(text, digits < 17 ? digits : 17, v);
    put_number(o, text);
}

void json_put_bool(json_out *o, bool v) {
    note(o, yajl_gen_bool(o->gen, v));
}
void json_put_null(json_out *o) {
    note(o, yajl_gen_null(o->gen));
}

void json_put_hex(json_out *o, const uint8_t *data, size_t len) {
    char *text = len < SIZE_MAX / 2 ? malloc(2 * len + 1) : NULL;
    if (!text) {
        o->failed = true;
        return;
    }
    text_hex(text, data, len);
    json_put_string(o, text);
    free(text);
}

const char *json_out_text(json_out *o, size_t *len) {
    const unsigned char *text = NULL;
    size_t n = 0;
    if (o->failed || o->depth || yajl_gen_get_buf(o->gen, &text, &n) != yajl_gen_status_ok || !n) return NULL;
    *len = n;
    return (const char *)text;
}
