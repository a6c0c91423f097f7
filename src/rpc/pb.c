/* Protobuf fields in place. */
#include "rpc/pb.h"

pb_reader pb_open(const void *data, size_t n) {
    const uint8_t *p = data;
    static const uint8_t nothing;
    if (!p) p = &nothing, n = 0;
    return (pb_reader){.start = p, .at = p, .end = p + n};
}

/* At most ten bytes, the tenth at most 1. */
static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    uint64_t v = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t b = *p++;
        if (shift == 63 && b > 1) return false;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b & 0x80) continue;
        *at = p;
        *out = v;
        return true;
    }
    return false;
}

static bool fixed(const uint8_t **at, const uint8_t *end, unsigned bytes, uint64_t *out) {
    if ((size_t)(end - *at) < bytes) return false;
    *out = 0;
    for (unsigned i = 0; i < bytes; i++) *out |= (uint64_t)(*at)[i] << (8 * i);
    *at += bytes;
    return true;
}

bool pb_next(pb_reader *r, pb_field *out) {
    const uint8_t *p = r->at;
    uint64_t tag;
    if (p == r->end || r->bad) return false;
    *out = (pb_field){0};
    bool ok = varint(&p, r->end, &tag) && tag <= UINT32_MAX && tag >> 3 != 0;
    if (ok) {
        out->number = (uint32_t)tag >> 3;
        out->wire = (pb_wire)(tag & 7);
        switch (out->wire) {
        case PB_VARINT: ok = varint(&p, r->end, &out->value); break;
        case PB_FIXED64: ok = fixed(&p, r->end, 8, &out->value); break;
        case PB_FIXED32: ok = fixed(&p, r->end, 4, &out->value); break;
        case PB_BYTES:
            ok = varint(&p, r->end, &out->value) && out->value <= (uint64_t)(r->end - p);
            if (!ok) break;
            out->data = p;
            out->n = (size_t)out->value;
            p += out->n;
            break;
        default: ok = false;
        }
    }
    r->bad = !ok;
    if (ok) r->at = p;
    return ok;
}

static size_t put_varint(uint8_t *out, uint64_t v) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

size_t pb_put_bytes_head(uint8_t *out, uint32_t number, uint64_t n) {
    size_t k = put_varint(out, (uint64_t)number << 3 | PB_BYTES);
    return k + put_varint(out + k, n);
}

size_t pb_put_varint_field(uint8_t *out, uint32_t number, uint64_t value) {
    size_t k = put_varint(out, (uint64_t)number << 3 | PB_VARINT);
    return k + put_varint(out + k, value);
}
