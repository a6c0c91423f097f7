/* Hex, base64 (RFC 4648 §4), UTF-8 (RFC 3629), sizes; see base/text.h. */
#include "base/text.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

void text_hex(char *out, const uint8_t *data, size_t len) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * len] = 0;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool text_unhex(uint8_t *out, size_t len, const char *hex, size_t hex_len) {
    if (hex_len % 2 || hex_len / 2 != len) return false;
    for (size_t i = 0; i < len; i++) {
        int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);
        if (hi < 0 || lo < 0) return false;
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

/* Value of a base64 character, 64 for '=', 255 for all others. */
/* clang-format off */
static const uint8_t base64_value[256] = {
#define NO 255
#define NO16 NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO
    NO16, NO16,
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, 62, NO, NO, NO, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, NO, NO, NO, 64, NO, NO,
    NO, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, NO, NO, NO, NO, NO,
    NO, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, NO, NO, NO, NO, NO,
    NO16, NO16, NO16, NO16, NO16, NO16, NO16, NO16,
#undef NO16
#undef NO
};
/* clang-format on */

size_t text_base64_bound(size_t encoded_len) {
    return encoded_len / 4 * 3 + 3;
}

/* The last group of four, which alone may hold padding. Returns the number of bytes, or -1 and *bad (0..3). */
static int base64_last(uint8_t out[3], const char *in, size_t *bad) {
    uint8_t v[4];
    for (size_t i = 0; i < 4; i++) {
        v[i] = base64_value[(uint8_t)in[i]];
        bool pad_here = v[i] == 64 && (i == 3 || (i == 2 && base64_value[(uint8_t)in[3]] == 64));
        if (v[i] > 63 && !pad_here) {
            *bad = i;
            return -1;
        }
    }
    int pads = (v[2] == 64) + (v[3] == 64);
    /* Bits that the padding cuts off must be zero, or two texts would mean one value. */
    if (pads == 2 && (v[1] & 15)) {
        *bad = 1;
        return -1;
    }
    if (pads == 1 && (v[2] & 3)) {
        *bad = 2;
        return -1;
    }
    out[0] = (uint8_t)(v[0] << 2 | v[1] >> 4);
    if (pads < 2) out[1] = (uint8_t)(v[1] << 4 | (v[2] & 63) >> 2);
    if (pads < 1) out[2] = (uint8_t)(v[2] << 6 | v[3]);
    return 3 - pads;
}

bool text_unbase64(uint8_t *out, size_t *out_len, const char *in, size_t in_len, size_t *bad_at) {
    uint8_t *p = out;
    size_t i = 0;
    *out_len = 0;
    for (; in_len - i > 4; i += 4, p += 3) {
        uint8_t a = base64_value[(uint8_t)in[i]], b = base64_value[(uint8_t)in[i + 1]];
        uint8_t c = base64_value[(uint8_t)in[i + 2]], d = base64_value[(uint8_t)in[i + 3]];
        if ((a | b | c | d) > 63) {
            *bad_at = i + (a > 63 ? 0u : b > 63 ? 1u : c > 63 ? 2u : 3u);
            return false;
        }
        p[0] = (uint8_t)(a << 2 | b >> 4);
        p[1] = (uint8_t)(b << 4 | c >> 2);
        p[2] = (uint8_t)(c << 6 | d);
    }
    if (i == in_len) return true; /* the empty text */
    if (in_len - i < 4) {
        /* Too short: the first wrong character, else the end. */
        while (i < in_len && base64_value[(uint8_t)in[i]] < 64) i++;
        *bad_at = i;
        return false;
    }
    size_t bad = 0;
    int n = base64_last(p, in + i, &bad);
    if (n < 0) {
        *bad_at = i + bad;
        return false;
    }
    *out_len = (size_t)(p - out) + (size_t)n;
    return true;
}

bool text_u64(uint64_t *out, const char *s, size_t len) {
    uint64_t v = 0;
    if (!len) return false;
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v)) return false;
    }
    *out = v;
    return true;
}

bool text_bytes(uint64_t *out, const char *s) {
    size_t digits = strspn(s, "0123456789");
    uint64_t v;
    if (!text_u64(&v, s, digits)) return false;
    const char *suffix = s + digits;
    unsigned shift = 0;
    if (*suffix) {
        const char *at = strchr("KMGT", *suffix);
        if (!at || (suffix[1] && strcmp(suffix + 1, "iB") != 0)) return false;
        shift = 10 * (unsigned)(*at == 'K' ? 1 : *at == 'M' ? 2 : *at == 'G' ? 3 : 4);
    }
    if (v > UINT64_MAX >> shift) return false;
    *out = v << shift;
    return true;
}

size_t text_utf8_char(const char *text, size_t len) {
    const unsigned char *s = (const unsigned char *)text;
    if (!len) return 0;
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (n > len) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0; /* overlong; surrogates */
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0; /* overlong; above U+10FFFF */
    return n;
}

bool text_is_utf8(const char *s, size_t len) {
    while (len) {
        /* Long texts are nearly always ASCII: eight bytes at once. */
        uint64_t word;
        if (len >= 8 && (memcpy(&word, s, 8), !(word & 0x8080808080808080u))) {
            s += 8;
            len -= 8;
            continue;
        }
        size_t n = text_utf8_char(s, len);
        if (!n) return false;
        s += n;
        len -= n;
    }
    return true;
}

void text_double(char out[32], int digits, double v) {
    /* The C locale's object is a constant of the C library; setting it concerns this thread alone. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = plain ? uselocale(plain) : (locale_t)0;
    snprintf(out, 32, "%.*g", digits, v);
    if (!plain) return;
    uselocale(before);
    freelocale(plain);
}

void text_size(char out[24], uint64_t bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out, 24, "%u B", (unsigned)bytes);
        return;
    }
    double v = (double)bytes / 1024;
    size_t u = 0;
    /* 1023.95 would print as "1024.0". */
    while (v >= 1023.95 && u < 5) {
        v /= 1024;
        u++;
    }
    unsigned tenths = (unsigned)(v * 10 + 0.5); /* the decimal point is not the locale's */
    snprintf(out, 24, "%u.%u %s", tenths / 10, tenths % 10, units[u]);
}

/* Edit distance, small words only. */
static size_t distance(const char *a, const char *b) {
    size_t row[64], n = strlen(b);
    if (n > 62 || strlen(a) > 62) return 99;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *text_nearest(const char *word, const char *const *list, size_t n) {
    const char *best = NULL;
    size_t best_distance = 3; /* further away is a guess that helps nobody */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, list[i]);
        if (d < best_distance) best = list[i], best_distance = d;
    }
    return best;
}
