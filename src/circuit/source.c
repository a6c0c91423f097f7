/* Inputs of jobs, from files or from memory. */
#include "circuit/source.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"

const char *source_name(const job_source *s, const char *what) {
    if (!s->path) return what;
    return strcmp(s->path, "-") == 0 && !s->data ? "stdin" : s->path;
}

cuzk_status source_open(source_text *out, const job_source *s, const char *what, size_t index, size_t limit,
                        cuzk_error *err) {
    *out = (source_text){.owned = {NULL, 0, BUFFER_REQUEST}};
    if (index == SOURCE_ALONE)
        snprintf(out->made_name, sizeof out->made_name, "%s", what);
    else
        snprintf(out->made_name, sizeof out->made_name, "%s %zu", what, index);
    out->name = source_name(s, out->made_name);
    if (!source_given(s)) return CUZK_OK; /* an element of a list; like an empty file */
    if (!s->data) {
        cuzk_status status = file_read(&out->owned, s->path, limit, err);
        out->data = out->owned.data;
        out->bytes = out->owned.bytes;
        return status;
    }
    if (s->bytes > limit) {
        cuzk_fail(err, CUZK_MALFORMED, "the input is too large");
        cuzk_fail_where(err, "%s", out->name);
        cuzk_fail_expected(err, "at most %zu bytes", limit);
        return cuzk_fail_found(err, "%zu bytes", s->bytes);
    }
    out->data = s->data;
    out->bytes = s->bytes;
    return CUZK_OK;
}

void source_close(source_text *t) {
    buffer_free(&t->owned);
    t->data = NULL;
    t->bytes = 0;
}
