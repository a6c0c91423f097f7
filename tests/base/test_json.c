/* JSON: what handlers see, what is refused and where, trees, writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* A handler that writes down what it is told. */
typedef struct trace {
    char text[4000];
    const char *refuse; /* the value text to fail at */
} trace;

static void add(trace *t, const char *what, const json_parser *p, const char *text, size_t len) {
    size_t n = strlen(t->text);
    snprintf(t->text + n, sizeof t->text - n, "%s%u%.*s ", what, json_depth(p), (int)len, text ? text : "");
}

static cuzk_status on_value(void *ctx, json_parser *p, json_kind kind, const char *text, size_t len, cuzk_error *err) {
    static const char *const names[] = {"null", "false", "true", "n", "s"};
    trace *t = ctx;
    if (t->refuse && text && strlen(t->refuse) == len && memcmp(text, t->refuse, len) == 0)
        return json_fail(p, err, "refused %d", 42);
    add(t, names[kind], p, text, len);
    return CUZK_OK;
}

static cuzk_status on_begin(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    (void)err;
    add(ctx, kind == JSON_OBJECT ? "{" : "[", p, "", 0);
    return CUZK_OK;
}

static cuzk_status on_key(void *ctx, json_parser *p, const char *text, size_t len, cuzk_error *err) {
    (void)err;
    add(ctx, "k", p, text, len);
    return CUZK_OK;
}

static cuzk_status on_end(void *ctx, json_parser *p, json_kind kind, cuzk_error *err) {
    (void)err;
    add(ctx, kind == JSON_OBJECT ? "}" : "]", p, "", 0);
    return CUZK_OK;
}

static const json_handler tracer = {on_value, on_begin, on_key, on_end};
static const json_handler deaf;

static cuzk_status parse(const char *text, cuzk_error *e) {
    return json_parse("doc", text, strlen(text), &deaf, NULL, e);
}

static void handlers_see_everything_in_order(void **state) {
    (void)state;
    cuzk_error e;
    trace t = {0};
    const char *doc = " {\"a\": [1, -2.5e+7, \"x\\u0041\\n\", true], \"b\":{}, \"c\": null, \"d\":[false,[]]} ";
    assert_int_equal(json_parse("doc", doc, strlen(doc), &tracer, &t, &e), CUZK_OK);
    assert_string_equal(t.text,
                        "{0 k1a [1 n21 n2-2.5e+7 s2xA\n true2 ]1 k1b {1 }1 k1c null1 k1d [1 false2 [2 ]2 ]1 }0 ");
    memset(&t, 0, sizeof t);
    assert_int_equal(json_parse("doc", "12", 2, &tracer, &t, &e), CUZK_OK); /* a number that ends with the text */
    assert_string_equal(t.text, "n012 ");
}

static void handler_failures_come_back_with_their_place(void **state) {
    (void)state;
    cuzk_error e;
    trace t = {.refuse = "7"};
    const char *doc = "{\"vanilla\": {\"X y\": [[1,2],[3,4,7]]}}";
    assert_int_equal(json_parse("c1.json", doc, strlen(doc), &tracer, &t, &e), CUZK_MALFORMED);
    assert_string_equal(e.what, "refused 42");
    assert_string_equal(e.where, "c1.json, byte 33, $.vanilla[\"X y\"][1][2]");
}

static cuzk_status fail_plainly(void *ctx, json_parser *p, json_kind kind, const char *text, size_t len,
                                cuzk_error *err) {
    (void)ctx, (void)p, (void)kind, (void)text, (void)len;
    return cuzk_fail(err, CUZK_FOREIGN, "not mine");
}

static void a_place_is_added_when_there_is_none(void **state) {
    (void)state;
    cuzk_error e;
    memset(&e, 'x', sizeof e);
    const json_handler h = {.value = fail_plainly};
    assert_int_equal(json_parse("f", "[[true]]", 8, &h, NULL, &e), CUZK_FOREIGN);
    assert_string_equal(e.where, "f, byte 6, $[0][0]");
}

static void malformed_texts_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1 2]",
        "{} {}",
        "{}x",
        "[1]]",
        "nul",
        "truee",
        "01",
        "1.",
        "+1",
        "-",
        "1e",
        ".5",
        "'a'",
        "\"a",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\x01\"",
        "[\"a\":1]",
        "{1:2}",
        "\xef\xbb\xbf{}",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\\udc00\"",
        "{\"\xed\xa0\x80\":1}",
        "NaN",
        "Infinity",
        "\"\t\"",
        "[",
        "[[[",
        "{\"a\":[",
        "/* c */ {}",
        "// c\n{}",
        "\"a\" 1",
        ",",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cuzk_error e;
        if (parse(wrong[i], &e) != CUZK_MALFORMED) fail_msg("accepted: %s", wrong[i]);
        assert_memory_equal(e.where, "doc, byte ", 10);
    }
    cuzk_error e;
    assert_int_equal(json_parse("doc", "[1,\0 2]", 7, &deaf, NULL, &e), CUZK_MALFORMED);
    assert_int_equal(json_parse("doc", "[1]\0", 4, &deaf, NULL, &e), CUZK_MALFORMED);
    assert_int_equal(json_parse("doc", "\0", 1, &deaf, NULL, &e), CUZK_MALFORMED);
    assert_int_equal(json_parse("doc", NULL, 0, &deaf, NULL, &e), CUZK_MALFORMED);
    assert_int_equal(parse("{\"a\\u0000b\":1}", &e), CUZK_MALFORMED);
    assert_int_equal(parse("[\"\xc3\xa9\", \"\xf0\x9f\x98\x80\"]", &e), CUZK_OK);
}

static void nesting_ends_at_the_limit(void **state) {
    (void)state;
    cuzk_error e;
    char text[2 * 200000 + 1];
    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    assert_int_equal(json_parse("doc", text, 2 * JSON_MAX_DEPTH, &deaf, NULL, &e), CUZK_OK);
    memset(text, '[', 200000);
    memset(text + 200000, ']', 200000);
    assert_int_equal(json_parse("doc", text, 400000, &deaf, NULL, &e), CUZK_MALFORMED);
    assert_string_equal(e.what, "the JSON text is nested too deeply");
    char *p = text;
    for (int i = 0; i < 20000; i++) p += sprintf(p, "{\"a\":");
    assert_int_equal(json_parse("doc", text, (size_t)(p - text), &deaf, NULL, &e), CUZK_MALFORMED);
}

static void keys_are_unique_in_their_object(void **state) {
    (void)state;
    cuzk_error e;
    assert_int_equal(parse("{\"a\":1,\"b\":{\"a\":2,\"b\":3},\"c\":[{\"a\":1},{\"a\":1}]}", &e), CUZK_OK);
    assert_int_equal(parse("{\"a\":1,\"b\":{},\"a\":2}", &e), CUZK_MALFORMED);
    assert_string_equal(e.what, "a key appears twice in one object");
    assert_string_equal(e.where, "doc, byte 17, $.a");
    assert_int_equal(parse("{\"a\":1,\"\\u0061\":2}", &e), CUZK_MALFORMED); /* the same key, written otherwise */
    assert_int_equal(parse("{\"\":1,\"\":2}", &e), CUZK_MALFORMED);
    assert_int_equal(parse("{\"a\":{\"x\":{\"y\":1}},\"b\":{\"x\":{\"y\":1,\"z\":1,\"y\":1}}}", &e), CUZK_MALFORMED);
}

static void many_keys_are_fast_and_all_checked(void **state) {
    (void)state;
    cuzk_error e;
    const int keys = 200000;
    char *text = malloc((size_t)keys * 20 + 100), *p = text;
    p += sprintf(p, "{");
    for (int i = 0; i < keys; i++) p += sprintf(p, "\"key%d\":%d,", i, i);
    char *end = p;
    sprintf(end, "\"last\":0}");
    assert_int_equal(json_parse("doc", text, strlen(text), &deaf, NULL, &e), CUZK_OK);
    sprintf(end, "\"key%d\":0}", keys / 3);
    assert_int_equal(json_parse("doc", text, strlen(text), &deaf, NULL, &e), CUZK_MALFORMED);
    /* Many small objects after a large one must not each pay for its table. */
    p = text + sprintf(text, "[{");
    for (int i = 0; i < keys / 4; i++) p += sprintf(p, "\"key%d\":0,", i);
    p += sprintf(p, "\"z\":0}");
    for (int i = 0; i < keys; i++) p += sprintf(p, ",{\"a\":1}");
    sprintf(p, "]");
    assert_int_equal(json_parse("doc", text, strlen(text), &deaf, NULL, &e), CUZK_OK);
    free(text);
}

static void foreign_keys_in_paths_are_harmless(void **state) {
    (void)state;
    cuzk_error e;
    assert_int_equal(parse("{\"a\\u001b[2J\":[x]}", &e), CUZK_MALFORMED);
    assert_null(strchr(e.where, 0x1b));
    char text[3000] = "{\"";
    memset(text + 2, 'k', 2500);
    strcpy(text + 2502, "\":x}");
    assert_int_equal(parse(text, &e), CUZK_MALFORMED);
    assert_true(strlen(e.where) < sizeof e.where);
}

static void trees(void **state) {
    (void)state;
    cuzk_error e;
    arena *a = arena_create(BUFFER_REQUEST, 4096, &e);
    const char *doc = "{\"x\":[1,\"two\",[true,false,null],{}],\"y\":{\"z\":-3}}";
    json_node *root;
    assert_int_equal(json_tree(&root, a, "doc", doc, strlen(doc), 1000, &e), CUZK_OK);
    assert_int_equal(root->kind, JSON_OBJECT);
    assert_int_equal(root->len, 2);
    const json_node *x = json_member(root, "x");
    assert_int_equal(x->kind, JSON_ARRAY);
    assert_int_equal(x->len, 4);
    assert_string_equal(json_at(x, 0)->text, "1");
    assert_string_equal(json_at(x, 1)->text, "two");
    assert_int_equal(json_at(x, 1)->len, 3);
    assert_null(json_at(x, 1)->key);
    assert_int_equal(json_at(json_at(x, 2), 0)->kind, JSON_TRUE);
    assert_int_equal(json_at(json_at(x, 2), 2)->kind, JSON_NULL);
    assert_int_equal(json_at(x, 3)->kind, JSON_OBJECT);
    assert_null(json_at(x, 4));
    const json_node *z = json_member(json_member(root, "y"), "z");
    assert_int_equal(z->kind, JSON_NUMBER);
    assert_string_equal(z->text, "-3");
    assert_string_equal(z->key, "z");
    assert_null(json_member(root, "absent"));
    assert_null(json_member(x, "x"));
    assert_null(json_member(NULL, "x"));
    assert_null(json_at(root, 0));
    assert_int_equal(json_tree(&root, a, "doc", doc, strlen(doc), strlen(doc) - 1, &e), CUZK_MALFORMED);
    assert_int_equal(json_tree(&root, a, "doc", "[\"\\u0000\"]", 10, 100, &e), CUZK_MALFORMED);
    assert_int_equal(json_tree(&root, a, "doc", "[\"\\", 3, 100, &e), CUZK_MALFORMED);
    assert_null(root);
    arena_destroy(a);
}

static void writing(void **state) {
    (void)state;
    json_out *o = json_out_create();
    size_t len;
    json_begin_object(o);
    json_put_key(o, "s");
    json_put_string(o, "a\"b\\c\n\x01");
    json_put_key(o, "n");
    json_begin_array(o);
    json_put_u64(o, UINT64_MAX);
    json_put_i64(o, INT64_MIN);
    json_put_double(o, 0.1);
    json_put_double(o, 1.0 / 3);
    json_put_double(o, 5e-324);
    json_put_bool(o, true);
    json_put_null(o);
    assert_null(json_out_text(o, &len)); /* not complete */
    json_end_array(o);
    json_put_key(o, "h");
    json_put_hex(o, (const uint8_t *)"\xde\xad", 2);
    json_end_object(o);
    const char *text = json_out_text(o, &len);
    assert_string_equal(text, "{\"s\":\"a\\\"b\\\\c\\n\\u0001\",\"n\":[18446744073709551615,-9223372036854775808,0.1,"
                              "0.3333333333333333,4.94065645841247e-324,true,null],\"h\":\"dead\"}");
    assert_int_equal(len, strlen(text));
    json_out_destroy(o);
    json_out_destroy(NULL);
}

static void foreign_bytes_in_strings_are_replaced(void **state) {
    (void)state;
    static const char *const in[] = {"\xff",     "a\xc3",           "\xc3\xa9", "\xed\xa0\x80", "\xf0\x9f\x98\x80",
                                     "\xc0\xaf", "\xf4\x90\x80\x80"};
    static const char *const out[] = {"\"?\"",  "\"a?\"",  "\"\xc3\xa9\"", "\"???\"", "\"\xf0\x9f\x98\x80\"",
                                      "\"??\"", "\"????\""};
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
        json_out *o = json_out_create();
        size_t len;
        json_put_string(o, in[i]);
        assert_string_equal(json_out_text(o, &len), out[i]);
        json_out_destroy(o);
    }
}

static void mistakes_in_writing_are_sticky(void **state) {
    (void)state;
    for (int mistake = 0; mistake < 6; mistake++) {
        json_out *o = json_out_create();
        size_t len;
        json_begin_object(o);
        json_put_key(o, "a");
        if (mistake == 0) json_put_double(o, NAN);
        if (mistake == 1) json_end_array(o);
        if (mistake == 2) json_put_u64(o, 1), json_put_u64(o, 2);
        json_put_u64(o, 1);
        if (mistake == 3) json_end_object(o), json_end_object(o);
        if (mistake == 4) json_end_object(o), json_put_null(o);
        if (mistake == 5)
            for (int i = 0; i <= JSON_MAX_DEPTH; i++) json_put_key(o, "k"), json_begin_object(o);
        json_end_object(o);
        assert_null(json_out_text(o, &len));
        json_out_destroy(o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_see_everything_in_order),
        cmocka_unit_test(handler_failures_come_back_with_their_place),
        cmocka_unit_test(a_place_is_added_when_there_is_none),
        cmocka_unit_test(malformed_texts_are_refused),
        cmocka_unit_test(nesting_ends_at_the_limit),
        cmocka_unit_test(keys_are_unique_in_their_object),
        cmocka_unit_test(many_keys_are_fast_and_all_checked),
        cmocka_unit_test(foreign_keys_in_paths_are_harmless),
        cmocka_unit_test(trees),
        cmocka_unit_test(writing),
        cmocka_unit_test(foreign_bytes_in_strings_are_replaced),
        cmocka_unit_test(mistakes_in_writing_are_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
