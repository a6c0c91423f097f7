/* Connecting to a daemon and asking it. */
#include "cli/client.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "cuzk/v1/proving.pb-c.h"
#include "rpc/pb.h"

#define TOKEN_MAX 255 /* what a daemon takes */

/* The file's first line, without white space around it. */
static cuzk_status read_token(const char *path, char token[TOKEN_MAX + 2], cuzk_error *err) {
    buffer b;
    if (file_read(&b, path, 4096, err)) return err->status;
    const char *p = b.data ? b.data : "";
    size_t n = 0, i = 0;
    while (i < b.bytes && (p[i] == ' ' || p[i] == '\n')) i++;
    while (i < b.bytes && n <= TOKEN_MAX && (unsigned char)p[i] > ' ') token[n++] = p[i++];
    token[n] = 0;
    buffer_free(&b);
    if (n > 0 && n <= TOKEN_MAX) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "there is no token in the file");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_expected(err, "one line of at most %d visible characters", TOKEN_MAX);
}

cuzk_status client_open(const args *a, rpc_client **out, cuzk_error *err) {
    char token[TOKEN_MAX + 2];
    rpc_client_options o = {.address = a->value[OPT_ADDR],
                            .tls_ca = a->value[OPT_TLS_CA],
                            .tls_cert = a->value[OPT_TLS_CERT],
                            .tls_key = a->value[OPT_TLS_KEY],
                            .cancel = a->control->cancel};
    *out = NULL;
    if (a->given[OPT_TOKEN_FILE]) {
        if (read_token(a->value[OPT_TOKEN_FILE], token, err)) return err->status;
        o.token = token;
    }
    return rpc_client_open(out, &o, err);
}

cuzk_status client_ask(const args *a, const char *method, uint32_t field, const char *text, uint8_t **reply, size_t *n,
                       cuzk_error *err) {
    rpc_client *c;
    uint8_t head[16];
    *reply = NULL;
    if (client_open(a, &c, err)) return err->status;
    size_t head_n = field ? pb_put_bytes_head(head, field, strlen(text)) : 0;
    const cuzk_bytes parts[] = {{head, head_n}, {text, field ? strlen(text) : 0}};
    cuzk_status s = rpc_client_call(c, method, parts, 2, 0, reply, n, err);
    rpc_client_close(c);
    return s;
}

cuzk_status client_bad_answer(cuzk_error *err) {
    cuzk_fail(err, CUZK_UNREACHABLE, "the daemon's answer cannot be read");
    return cuzk_fail_hint(err, "is another program listening there?");
}

cuzk_status client_document(rpc_client *c, const char *method, const char *text, uint64_t limit, char **json,
                            cuzk_error *err) {
    uint8_t head[16], *reply;
    size_t n;
    bool has_text = text && *text;
    size_t head_n = has_text ? pb_put_bytes_head(head, 1, strlen(text))
                    : limit  ? pb_put_varint_field(head, 1, limit)
                             : 0;
    const cuzk_bytes parts[] = {{head, head_n}, {text, has_text ? strlen(text) : 0}};
    *json = NULL;
    if (rpc_client_call(c, method, parts, 2, 30, &reply, &n, err)) return err->status;
    Cuzk__V1__Document *d = cuzk__v1__document__unpack(NULL, n, reply);
    if (d) *json = strdup(d->json);
    if (d) cuzk__v1__document__free_unpacked(d, NULL);
    free(reply);
    return *json ? CUZK_OK : client_bad_answer(err);
}
