/* Common members of requests. */
#include "circuit/request.h"

#include <string.h>
#include "base/text.h"
#include "circuit/porep/graph.h"

static const char *const kind_names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};

cuzk_status request_parse(json_node **top, arena *a, const char *name, const void *data, size_t len, size_t max_bytes,
                          cuzk_error *err) {
    cuzk_status s = json_tree(top, a, name, data, len, max_bytes, err);
    if (s != CUZK_OK || (*top)->kind == JSON_OBJECT) return s;
    cuzk_fail(err, CUZK_MALFORMED, "a request is not a JSON object");
    cuzk_fail_where(err, "%s: $", name);
    cuzk_fail_expected(err, "an object");
    return cuzk_fail_found(err, "%s", kind_names[(*top)->kind]);
}

cuzk_status request_bad(const char *name, const char *place, const json_node *member, const char *expected,
                        cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "%s is not what belongs there", member->key ? member->key : "an element");
    cuzk_fail_where(err, "%s: %s%s%s", name, place, member->key ? "." : "", member->key ? member->key : "");
    cuzk_fail_expected(err, "%s", expected);
    if (member->kind == JSON_NUMBER || member->kind == JSON_STRING)
        return cuzk_fail_found(err, "%s %.100s", kind_names[member->kind], member->text);
    return cuzk_fail_found(err, "%s", kind_names[member->kind]);
}

cuzk_status request_lacks(const char *name, const char *place, const char *key, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "the request lacks a member: %s", key);
    return cuzk_fail_where(err, "%s: %s", name, place);
}

cuzk_status request_bytes32(bool *has, uint8_t out[32], const json_node *object, const char *key, const char *name,
                            const char *place, cuzk_error *err) {
    const json_node *m = json_member(object, key);
    *has = m != NULL;
    if (!m || (m->kind == JSON_STRING && text_unhex(out, 32, m->text, m->len))) return CUZK_OK;
    return request_bad(name, place, m, "64 hex digits (32 bytes in file order)", err);
}

cuzk_status request_u64(bool *has, uint64_t *out, const json_node *object, const char *key, const char *name,
                        const char *place, cuzk_error *err) {
    const json_node *m = json_member(object, key);
    *has = m != NULL;
    if (!m || (m->kind == JSON_NUMBER && text_u64(out, m->text, m->len))) return CUZK_OK;
    return request_bad(name, place, m, "a whole number of 64 bits", err);
}

cuzk_status request_prover(bool *has, uint8_t out[32], const json_node *top, const char *name, cuzk_error *err) {
    bool has_miner = false;
    uint64_t miner = 0;
    uint8_t from_miner[32];
    cuzk_status s = request_bytes32(has, out, top, "prover_id", name, "$", err);
    if (s == CUZK_OK) s = request_u64(&has_miner, &miner, top, "miner_id", name, "$", err);
    if (s != CUZK_OK || !has_miner) return s;
    porep_prover_id(from_miner, miner);
    if (*has && memcmp(from_miner, out, 32) != 0) {
        char hex[65];
        cuzk_fail(err, CUZK_FOREIGN, "prover_id and miner_id name different miners");
        cuzk_fail_where(err, "%s: $.prover_id", name);
        text_hex(hex, from_miner, 32);
        cuzk_fail_expected(err, "%s (miner %llu)", hex, (unsigned long long)miner);
        text_hex(hex, out, 32);
        return cuzk_fail_found(err, "%s", hex);
    }
    memcpy(out, from_miner, 32);
    *has = true;
    return CUZK_OK;
}

cuzk_status request_canonical(const char *what, const uint8_t b[32], bool zero_too, const char *name, const char *where,
                              cuzk_error *err) {
    fr v;
    if (!fr_from_le_bytes(&v, b)) {
        cuzk_fail(err, CUZK_MALFORMED, "%s is not below the field's modulus", what);
    } else if (!zero_too && fr_is_zero(&v)) {
        cuzk_fail(err, CUZK_MALFORMED, "%s is all zero", what);
    } else {
        return CUZK_OK;
    }
    return cuzk_fail_where(err, "%s: %s", name, where);
}
