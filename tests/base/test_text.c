/* Hex, base64, sizes: what is right is read, everything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"

static void hex_there_and_back(void **state) {
    (void)state;
    uint8_t data[256], back[256];
    char text[513];
    for (size_t i = 0; i < 256; i++) data[i] = (uint8_t)i;
    text_hex(text, data, 256);
    assert_int_equal(strlen(text), 512);
    assert_true(text_unhex(back, 256, text, 512));
    assert_memory_equal(data, back, 256);
    assert_true(text_unhex(back, 2, "AbcD", 4));
    assert_true(back[0] == 0xab && back[1] == 0xcd);
    assert_true(text_unhex(back, 0, "", 0));
    assert_false(text_unhex(back, 2, "abc", 3));
    assert_false(text_unhex(back, 2, "abcd00", 6));
    assert_false(text_unhex(back, 1, "0x", 2));
    assert_false(text_unhex(back, 1, "g0", 2));
    assert_false(text_unhex(back, 1, " 0", 2));
}

/* An encoder of the test's own. */
static size_t encode(char *out, const uint8_t *in, size_t len) {
    static const char abc[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t v =
            (uint32_t)in[i] << 16 | (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0) | (i + 2 < len ? in[i + 2] : 0);
        out[n++] = abc[v >> 18];
        out[n++] = abc[v >> 12 & 63];
        out[n++] = i + 1 < len ? abc[v >> 6 & 63] : '=';
        out[n++] = i + 2 < len ? abc[v & 63] : '=';
    }
    return n;
}

static void base64_there_and_back(void **state) {
    (void)state;
    uint8_t data[300], back[320];
    char text[500];
    cuzk_error e;
    random_bytes(data, sizeof data, &e);
    for (size_t len = 0; len <= sizeof data; len++) {
        size_t n = encode(text, data, len), got, bad = 99;
        assert_true(text_base64_bound(n) >= len);
        assert_true(text_unbase64(back, &got, text, n, &bad));
        assert_int_equal(got, len);
        assert_memory_equal(back, data, len);
    }
}

static void base64_faults_are_found_where_they_are(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t bad;
    } wrong[] = {
        {"A", 1},         {"AB", 2},   {"ABC", 3},    {"ABCDE", 5},     {"AB*D", 2},
        {"=BCD", 0},      {"A=CD", 1}, {"AB=D", 2},   {"AB==AAAA", 2},  {"AAAAAB=D", 6},
        {"AAAA====", 4},  {"AB==", 1}, {"ABB=", 2},   {"AAA\nAAAA", 3}, {"AA-_", 2},
        {"AAAA AAAA", 4}, {"A*", 1},   {"AAAA\n", 4}, {"AAAAA===", 5},  {"AAAAAAA=AAAA", 7},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t out[32];
        size_t got, bad = 1000;
        if (text_unbase64(out, &got, wrong[i].text, strlen(wrong[i].text), &bad) || bad != wrong[i].bad)
            fail_msg("%s: %zu instead of %zu", wrong[i].text, bad, wrong[i].bad);
    }
}

static void numbers(void **state) {
    (void)state;
    uint64_t v;
    assert_true(text_u64(&v, "18446744073709551615", 20));
    assert_true(v == UINT64_MAX);
    assert_false(text_u64(&v, "18446744073709551616", 20));
    assert_false(text_u64(&v, "99999999999999999999", 20));
    assert_true(text_u64(&v, "0012", 4) && v == 12);
    assert_true(text_u64(&v, "12x", 2) && v == 12);
    const char *wrong[] = {"", "-1", "+1", " 1", "1 ", "0x10", "1.0"};
    for (size_t i = 0; i < 7; i++) assert_false(text_u64(&v, wrong[i], strlen(wrong[i])));
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = {{"0", 0},          {"123", 123},           {"2KiB", 2048},     {"2K", 2048},
                 {"8MiB", 8 << 20}, {"64GiB", 64ULL << 30}, {"3T", 3ULL << 40}, {"16777215TiB", 16777215ULL << 40}};
    uint64_t v;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_true(text_bytes(&v, right[i].text));
        assert_true(v == right[i].bytes);
    }
    const char *wrong[] = {"",      "K",   "KiB", "2KB",         "2Ki",  "2kib", "2 KiB",
                           "2KiBx", "-2K", "2P",  "16777216TiB", "1.5G", "2B"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_false(text_bytes(&v, wrong[i]));
}

static void sizes_for_people(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } shown[] = {{0, "0 B"},           {1023, "1023 B"},     {1024, "1.0 KiB"},       {2831155, "2.7 MiB"},
                 {1048575, "1.0 MiB"}, {1 << 20, "1.0 MiB"}, {UINT64_MAX, "16.0 EiB"}};
    char out[24];
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        text_size(out, shown[i].bytes);
        assert_string_equal(out, shown[i].text);
    }
}

/* A library's host may have set a locale with another decimal point. */
static void numbers_of_any_locale(void **state) {
    (void)state;
    static const char *const names[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8"};
    unsigned commas = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char out[32];
        if (!setlocale(LC_ALL, names[i])) continue;
        commas += strcmp(localeconv()->decimal_point, ",") == 0;
        text_double(out, 9, 0.0625);
        assert_string_equal(out, "0.0625");
        text_double(out, 17, -1.0 / 3);
        assert_string_equal(out, "-0.33333333333333331");
        text_double(out, 6, 1e300);
        assert_string_equal(out, "1e+300");
        text_size(out, 2831155);
        assert_string_equal(out, "2.7 MiB");
        json_out *o = json_out_create();
        json_put_double(o, 0.1);
        size_t n;
        const char *text = json_out_text(o, &n);
        assert_int_equal(strncmp(text, "0.1", 3), 0);
        json_out_destroy(o);
    }
    setlocale(LC_ALL, "C");
    if (!commas) print_message("no locale with a decimal comma is installed\n");
}

static void utf8(void **state) {
    (void)state;
    static const char *const right[] = {"",
                                        "a",
                                        "\x7f",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf",
                                        "1234567\xc3\xa9 89abcdef\xc3\xa9"};
    static const char *const wrong[] = {"\x80",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc2",
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        "\xe2\x82",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff",
                                        "abcdefghijkl\xff"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) assert_true(text_is_utf8(right[i], strlen(right[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_false(text_is_utf8(wrong[i], strlen(wrong[i])));
    assert_int_equal(text_utf8_char("\xe2\x82\xac", 3), 3);
    assert_int_equal(text_utf8_char("\xe2\x82\xac", 2), 0);
    assert_int_equal(text_utf8_char("", 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hex_there_and_back),
        cmocka_unit_test(base64_there_and_back),
        cmocka_unit_test(base64_faults_are_found_where_they_are),
        cmocka_unit_test(numbers),
        cmocka_unit_test(sizes),
        cmocka_unit_test(sizes_for_people),
        cmocka_unit_test(numbers_of_any_locale),
        cmocka_unit_test(utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
