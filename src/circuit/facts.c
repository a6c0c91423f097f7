#include "circuit/facts.h"

#include "base/file.h"

void facts_put_bytes(json_out *o, const char *key, const uint8_t b[32]) {
    json_put_key(o, key);
    json_put_hex(o, b, 32);
}

void facts_put_node(json_out *o, const char *key, const fr *v) {
    uint8_t b[32];
    fr_to_le_bytes(b, v);
    facts_put_bytes(o, key, b);
}

cuzk_status facts_write(json_out *o, const char *path, cuzk_error *err) {
    size_t len;
    const char *text = o ? json_out_text(o, &len) : NULL;
    if (!text) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    return file_write_all(path, text, len, false, err);
}
