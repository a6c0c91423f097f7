/* Members that requests of several proof kinds have in common. A member that is there must be right; which of them a
 * job needs is the kind's affair. Byte strings are 64 hex digits in file order, integers JSON numbers of 64 bits.
 * Source: docs/cli.md ("Jobs"). */
#ifndef CUZK_CIRCUIT_REQUEST_H
#define CUZK_CIRCUIT_REQUEST_H

#include "base/json.h"

/* A request: a JSON object. The tree lives in a. name is the file's, for errors. */
cuzk_status request_parse(json_node **top, arena *a, const char *name, const void *data, size_t len, size_t max_bytes,
                          cuzk_error *err);
/* MALFORMED: the member is not what belongs there. `place` is the JSON path of the object it is in ("$",
 * "$.sectors[3]"). */
cuzk_status request_bad(const char *name, const char *place, const json_node *member, const char *expected,
                        cuzk_error *err);
/* MALFORMED: a member is not there. */
cuzk_status request_lacks(const char *name, const char *place, const char *key, cuzk_error *err);

/* *has tells whether the member is there. */
cuzk_status request_bytes32(bool *has, uint8_t out[32], const json_node *object, const char *key, const char *name,
                            const char *place, cuzk_error *err);
cuzk_status request_u64(bool *has, uint64_t *out, const json_node *object, const char *key, const char *name,
                        const char *place, cuzk_error *err);
/* prover_id, or what miner_id makes of it; both must agree. */
cuzk_status request_prover(bool *has, uint8_t out[32], const json_node *top, const char *name, cuzk_error *err);
/* A commitment or randomness: below the field's modulus, and not all zero unless zero_too. what names it. */
cuzk_status request_canonical(const char *what, const uint8_t b[32], bool zero_too, const char *name, const char *where,
                              cuzk_error *err);

#endif
