/* Reader of a PoRep request: what a verifier knows about a sector, as JSON.
 *
 * Only the members named below are read, all others are ignored; a member that is there must be right. Which of them a
 * job needs is the job's affair. Byte strings are 64 hex digits in file order, integers are JSON numbers of 64 bits.
 * Source: interface.md "Job inputs", reference/filecoin-porep-circuit.md §4.3.
 */
#include "circuit/porep/vanilla.h"

#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "circuit/porep/graph.h"

static const char *const kind_names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};

static cuzk_status bad_member(const char *name, const json_node *m, const char *expected, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "%s is not what belongs there", m->key);
    cuzk_fail_where(err, "%s: $.%s", name, m->key);
    cuzk_fail_expected(err, "%s", expected);
    if (m->kind == JSON_NUMBER || m->kind == JSON_STRING)
        return cuzk_fail_found(err, "%s %.100s", kind_names[m->kind], m->text);
    return cuzk_fail_found(err, "%s", kind_names[m->kind]);
}

static cuzk_status read_bytes(bool *has, uint8_t out[32], const json_node *top, const char *key, const char *name,
                              cuzk_error *err) {
    const json_node *m = json_member(top, key);
    *has = m != NULL;
    if (!m) return CUZK_OK;
    if (m->kind != JSON_STRING || !text_unhex(out, 32, m->text, m->len))
        return bad_member(name, m, "64 hex digits (32 bytes in file order)", err);
    return CUZK_OK;
}

static cuzk_status read_number(bool *has, uint64_t *out, const json_node *top, const char *key, const char *name,
                               cuzk_error *err) {
    const json_node *m = json_member(top, key);
    *has = m != NULL;
    if (!m) return CUZK_OK;
    if (m->kind != JSON_NUMBER || !text_u64(out, m->text, m->len))
        return bad_member(name, m, "a whole number of 64 bits", err);
    return CUZK_OK;
}

static cuzk_status read_registered(porep_request *o, const json_node *top, const char *name, cuzk_error *err) {
    static const char expected[] = "a registered seal proof such as StackedDrg32GiBV1_1";
    const json_node *m = json_member(top, "registered_proof");
    if (!m) return CUZK_OK;
    o->has_registered = true;
    uint64_t number = 0;
    const char *text = m->kind == JSON_STRING ? m->text : NULL;
    if (m->kind == JSON_NUMBER && text_u64(&number, m->text, m->len) && number < 1000)
        text = porep_registered_name((unsigned)number);
    if (!text || !porep_registered_by_name(&o->registered, text, strlen(text))) {
        bad_member(name, m, expected, err);
        if (m->kind != JSON_STRING) return err->status;
        err->status = CUZK_FOREIGN; /* well formed, but not a seal proof that we know */
        return err->status;
    }
    return CUZK_OK;
}

static cuzk_status read_prover(porep_request *o, const json_node *top, const char *name, cuzk_error *err) {
    bool has_miner;
    uint64_t miner = 0;
    uint8_t from_miner[32];
    cuzk_status s = read_bytes(&o->has_prover, o->prover_id, top, "prover_id", name, err);
    if (s == CUZK_OK) s = read_number(&has_miner, &miner, top, "miner_id", name, err);
    if (s != CUZK_OK || !has_miner) return s;
    porep_prover_id(from_miner, miner);
    if (o->has_prover && memcmp(from_miner, o->prover_id, 32) != 0) {
        char hex[65];
        cuzk_fail(err, CUZK_FOREIGN, "prover_id and miner_id name different miners");
        cuzk_fail_where(err, "%s: $.prover_id", name);
        text_hex(hex, from_miner, 32);
        cuzk_fail_expected(err, "%s (miner %llu)", hex, (unsigned long long)miner);
        text_hex(hex, o->prover_id, 32);
        return cuzk_fail_found(err, "%s", hex);
    }
    memcpy(o->prover_id, from_miner, 32);
    o->has_prover = true;
    return CUZK_OK;
}

static cuzk_status read_api_version(porep_request *o, const json_node *top, const char *name, cuzk_error *err) {
    static const struct {
        const char *text;
        unsigned version;
    } known[] = {{"1.0.0", 100}, {"1.1.0", 110}, {"1.2.0", 120}};
    const json_node *m = json_member(top, "api_version");
    if (!m) return CUZK_OK;
    for (size_t i = 0; m->kind == JSON_STRING && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(m->text, known[i].text) != 0) continue;
        o->has_api_version = true;
        o->api_version = known[i].version;
        return CUZK_OK;
    }
    return bad_member(name, m, "\"1.0.0\", \"1.1.0\" or \"1.2.0\"", err);
}

cuzk_status porep_request_read(porep_request *out, arena *scratch, const char *name, const void *data, size_t len,
                               cuzk_error *err) {
    memset(out, 0, sizeof *out);
    json_node *top;
    cuzk_status s = json_tree(&top, scratch, name, data, len, POREP_REQUEST_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
    if (top->kind != JSON_OBJECT) {
        cuzk_fail(err, CUZK_MALFORMED, "a request is not a JSON object");
        cuzk_fail_where(err, "%s: $", name);
        cuzk_fail_expected(err, "an object");
        return cuzk_fail_found(err, "%s", kind_names[top->kind]);
    }
    struct {
        const char *key;
        bool *has;
        uint8_t *bytes;
    } all[] = {{"ticket", &out->has_ticket, out->ticket},
               {"seed", &out->has_seed, out->seed},
               {"comm_d", &out->has_comm_d, out->comm_d},
               {"comm_r", &out->has_comm_r, out->comm_r},
               {"porep_id", &out->has_porep_id, out->porep_id}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        s = read_bytes(all[i].has, all[i].bytes, top, all[i].key, name, err);
        if (s != CUZK_OK) return s;
    }
    s = read_registered(out, top, name, err);
    if (s == CUZK_OK) s = read_prover(out, top, name, err);
    if (s == CUZK_OK) s = read_number(&out->has_sector, &out->sector_number, top, "sector_number", name, err);
    if (s == CUZK_OK) s = read_api_version(out, top, name, err);
    if (s != CUZK_OK || !out->has_registered) return s;
    if (out->has_porep_id) memcpy(out->registered.porep_id, out->porep_id, 32);
    if (out->has_api_version) out->registered.api_version = out->api_version;
    return CUZK_OK;
}
