/* Errors on the wire. Base64 is without padding, as gRPC wants it for binary headers; reading takes both. */
#include "rpc/details.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "cuzk/v1/proving.pb-c.h"
#include "rpc/pb.h"

#define TYPE_URL "type.googleapis.com/cuzk.v1.Error"
#define MAX_DETAILS 8192

/* Texts of an error quote foreign bytes; protobuf strings are UTF-8. */
static void utf8(char *text) {
    for (char *p = text; *p;) {
        size_t n = text_utf8_char(p, strlen(p));
        if (n == 0) *p = '?', n = 1;
        p += n;
    }
}

void details_clean(cuzk_error *err) {
    utf8(err->what);
    utf8(err->where);
    utf8(err->expected);
    utf8(err->found);
    utf8(err->hint);
}

void details_line(char *out, size_t n, const cuzk_error *err) {
    size_t k = (size_t)snprintf(out, n, "%s", err->what);
    const struct {
        const char *head, *text;
    } parts[] = {{"", err->where}, {"expected ", err->expected}, {"found ", err->found}};
    bool any = false;
    for (size_t i = 0; i < 3 && k < n; i++) {
        if (!parts[i].text[0]) continue;
        k += (size_t)snprintf(out + k, n - k, "%s%s%s", any ? "; " : " (", parts[i].head, parts[i].text);
        any = true;
    }
    if (any && k < n) k += (size_t)snprintf(out + k, n - k, ")");
    if (err->hint[0] && k < n) snprintf(out + k, n - k, ". %s", err->hint);
    utf8(out); /* it may also have been cut within a character */
}

char *details_message(const cuzk_error *err) {
    char line[1024];
    details_line(line, sizeof line, err);
    char *out = malloc(3 * strlen(line) + 1), *p = out;
    if (!out) return NULL;
    for (const char *in = line; *in; in++) {
        unsigned char b = (unsigned char)*in;
        if (b >= 0x20 && b < 0x7f && b != '%')
            *p++ = *in;
        else
            p += sprintf(p, "%%%02X", b);
    }
    *p = 0;
    return out;
}

static char *base64(const uint8_t *data, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = malloc(4 * (n / 3) + 5), *p = out;
    if (!out) return NULL;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16;
        if (i + 1 < n) v |= (uint32_t)data[i + 1] << 8;
        if (i + 2 < n) v |= data[i + 2];
        *p++ = digits[v >> 18];
        *p++ = digits[v >> 12 & 63];
        if (i + 1 < n) *p++ = digits[v >> 6 & 63];
        if (i + 2 < n) *p++ = digits[v & 63];
    }
    *p = 0;
    return out;
}

char *details_encode(int grpc_status, const cuzk_error *err) {
    cuzk_error copy = *err;
    Cuzk__V1__Error e = CUZK__V1__ERROR__INIT;
    details_clean(&copy);
    e.code = (uint32_t)copy.status;
    e.name = (char *)(uintptr_t)cuzk_status_name(copy.status);
    e.what = copy.what;
    e.where = copy.where;
    e.expected = copy.expected;
    e.found = copy.found;
    e.hint = copy.hint;
    e.retryable = cuzk_status_retryable(copy.status);
    char line[1024];
    uint8_t value[2048], any[2304], all[4096];
    size_t n = cuzk__v1__error__get_packed_size(&e);
    if (n > sizeof value) return NULL;
    cuzk__v1__error__pack(&e, value);
    size_t k = pb_put_bytes_head(any, 1, strlen(TYPE_URL));
    memcpy(any + k, TYPE_URL, strlen(TYPE_URL));
    k += strlen(TYPE_URL);
    k += pb_put_bytes_head(any + k, 2, n);
    memcpy(any + k, value, n);
    k += n;
    size_t m = pb_put_varint_field(all, 1, (uint64_t)grpc_status);
    details_line(line, sizeof line, &copy); /* some clients show this and not grpc-message */
    m += pb_put_bytes_head(all + m, 2, strlen(line));
    memcpy(all + m, line, strlen(line));
    m += strlen(line);
    m += pb_put_bytes_head(all + m, 3, k);
    memcpy(all + m, any, k);
    return base64(all, m + k);
}

/* ---- reading ---- */

static bool find_bytes(const uint8_t *data, size_t n, uint32_t number, const uint8_t **out, size_t *out_n) {
    pb_reader r = pb_open(data, n);
    pb_field f;
    while (pb_next(&r, &f)) {
        if (f.number != number || f.wire != PB_BYTES) continue;
        *out = f.data;
        *out_n = f.n;
        return true;
    }
    return false;
}

static bool unbase64(uint8_t *out, size_t *n, const char *text) {
    char padded[MAX_DETAILS + 4];
    size_t len = strlen(text), bad;
    if (len > MAX_DETAILS || len % 4 == 1) return false;
    memcpy(padded, text, len);
    while (len % 4) padded[len++] = '=';
    return text_unbase64(out, n, padded, len, &bad);
}

static bool read_details(cuzk_error *err, const char *text) {
    uint8_t all[MAX_DETAILS + 4];
    const uint8_t *any, *value;
    size_t n, any_n, value_n;
    if (!unbase64(all, &n, text) || !find_bytes(all, n, 3, &any, &any_n)) return false;
    if (!find_bytes(any, any_n, 2, &value, &value_n)) return false;
    Cuzk__V1__Error *e = cuzk__v1__error__unpack(NULL, value_n, value);
    if (!e) return false;
    cuzk_fail(err, e->code <= CUZK_STATUS_LAST && e->code > 0 ? (cuzk_status)e->code : CUZK_INTERNAL, "%s", e->what);
    cuzk_fail_where(err, "%s", e->where);
    cuzk_fail_expected(err, "%s", e->expected);
    cuzk_fail_found(err, "%s", e->found);
    cuzk_fail_hint(err, "%s", e->hint);
    cuzk__v1__error__free_unpacked(e, NULL);
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void percent_decode(char *out, size_t room, const char *in) {
    size_t n = 0;
    while (*in && n + 1 < room) {
        int high = *in == '%' ? hex_digit(in[1]) : -1, low = high >= 0 ? hex_digit(in[2]) : -1;
        out[n++] = (char)(low >= 0 ? high << 4 | low : *in);
        in += low >= 0 ? 3 : 1;
    }
    out[n] = 0;
}

void details_decode(cuzk_error *err, int grpc_status, const char *message, const char *details) {
    char text[sizeof err->what];
    static const cuzk_status by_grpc[17] = {CUZK_OK,      CUZK_CANCELLED, CUZK_REFUSED, CUZK_USAGE,    CUZK_UNREACHABLE,
                                            CUZK_REFUSED, CUZK_REFUSED,   CUZK_REFUSED, CUZK_REFUSED,  CUZK_REFUSED,
                                            CUZK_REFUSED, CUZK_REFUSED,   CUZK_REFUSED, CUZK_INTERNAL, CUZK_UNREACHABLE,
                                            CUZK_REFUSED, CUZK_REFUSED};
    if (details && read_details(err, details)) return;
    percent_decode(text, sizeof text, message ? message : "");
    cuzk_status s = grpc_status > 0 && grpc_status < 17 ? by_grpc[grpc_status] : CUZK_INTERNAL;
    cuzk_fail(err, s, "%s", text[0] ? text : "the daemon refused without a reason");
    cuzk_fail_found(err, "gRPC status %d", grpc_status);
}
