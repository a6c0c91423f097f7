/* The page's bytes and policy; see http/page.h. */
#include "http/page.h"

#include <stdio.h>
#include <string.h>
#include <openssl/evp.h>

#include "base/hash.h"

/* From web/index.html, by cmake/embed.cmake. */
extern const unsigned char web_index_html[];
extern const size_t web_index_html_bytes;

const char *page_text(size_t *len) {
    *len = web_index_html_bytes;
    return (const char *)web_index_html;
}

/* "'sha256-…'" of what stands between the tags. */
static cuzk_status digest_source(char out[64], const char *open, const char *close, cuzk_error *err) {
    size_t len;
    const char *page = page_text(&len);
    const char *begin = memmem(page, len, open, strlen(open));
    if (begin) begin += strlen(open);
    const char *end = begin ? memmem(begin, len - (size_t)(begin - page), close, strlen(close)) : NULL;
    if (!end) return cuzk_fail(err, CUZK_INTERNAL, "the page has no %s", open);
    uint8_t digest[32];
    unsigned char text[48];
    hash_sha256(digest, begin, (size_t)(end - begin));
    EVP_EncodeBlock(text, digest, sizeof digest);
    snprintf(out, 64, "'sha256-%s'", (const char *)text);
    return CUZK_OK;
}

cuzk_status page_policy(char *out, size_t n, cuzk_error *err) {
    char script[64], style[64];
    if (digest_source(script, "<script>", "</script>", err)) return err->status;
    if (digest_source(style, "<style>", "</style>", err)) return err->status;
    snprintf(out, n,
             "default-src 'none'; script-src %s; style-src %s; connect-src 'self'; img-src data:; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             script, style);
    return CUZK_OK;
}
