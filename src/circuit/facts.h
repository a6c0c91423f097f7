/* Facts of a job as JSON: members of requests and of `vanilla inspect`. */
#ifndef CUZK_CIRCUIT_FACTS_H
#define CUZK_CIRCUIT_FACTS_H

#include "base/json.h"
#include "math/field.h"

/* A member of 32 bytes, in hexadecimal digits. */
void facts_put_bytes(json_out *o, const char *key, const uint8_t b[32]);
/* A node of a tree: its bytes are little-endian. */
void facts_put_node(json_out *o, const char *key, const fr *v);
/* Writes what o holds to a file; the caller destroys o, which may be NULL. MEMORY, IO, DISK. */
cuzk_status facts_write(json_out *o, const char *path, cuzk_error *err);

#endif
