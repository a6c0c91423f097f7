/* A reader of protobuf messages in place: fields one by one, bytes as views of the message. For the one message that
 * carries tens of megabytes; the others go through protobuf-c. No allocation, nothing is believed before its bound is
 * checked. Source: protobuf.dev, "Encoding". Pure functions on the caller's struct.
 */
#ifndef CUZK_RPC_PB_H
#define CUZK_RPC_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 } pb_wire;

typedef struct pb_reader {
    const uint8_t *start, *at, *end; /* borrowed until the reader is no longer used */
    bool bad;                        /* a field was not well formed; `at` is where it begins */
} pb_reader;

typedef struct pb_field {
    uint32_t number;
    pb_wire wire;
    uint64_t value;      /* of VARINT, FIXED64, FIXED32 */
    const uint8_t *data; /* of BYTES */
    size_t n;
} pb_field;

pb_reader pb_open(const void *data, size_t n);
/* The next field; false at the end, or when what follows is none (then bad is set). Groups are not taken. */
bool pb_next(pb_reader *r, pb_field *out);

/* Writes tag and length of a bytes field, or tag and value of a varint; returns the bytes written (at most 15). */
size_t pb_put_bytes_head(uint8_t *out, uint32_t number, uint64_t n);
size_t pb_put_varint_field(uint8_t *out, uint32_t number, uint64_t value);

#endif
