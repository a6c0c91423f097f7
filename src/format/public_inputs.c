#include "format/public_inputs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static cuzk_status bad_line(const char *name, size_t line, const char *found, size_t len, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "a public input is not a number");
    cuzk_fail_where(err, "%s, line %zu", name, line);
    cuzk_fail_expected(err, "64 hexadecimal digits");
    return cuzk_fail_found(err, "%.*s", (int)(len < 80 ? len : 80), found);
}

cuzk_status public_inputs_read(public_inputs *out, const char *name, const char *text, size_t len, cuzk_error *err) {
    /* A line takes 65 bytes, the last 64. */
    *out = (public_inputs){.element = calloc(len / 64 + 1, sizeof *out->element)};
    if (!out->element) return cuzk_fail(err, CUZK_MEMORY, "no memory for public inputs");
    for (size_t at = 0, line = 1; at < len; line++) {
        const char *p = text + at, *stop = memchr(p, '\n', len - at);
        size_t n = stop ? (size_t)(stop - p) : len - at;
        at += n + (stop != NULL);
        while (n && is_space(p[n - 1])) n--;
        if (!n && at == len) break;
        if (n != 64 || !text_unhex(out->element[out->n], 32, p, n)) return bad_line(name, line, p, n, err);
        out->n++;
    }
    return CUZK_OK;
}

void public_inputs_free(public_inputs *in) {
    free(in->element);
    *in = (public_inputs){0};
}
