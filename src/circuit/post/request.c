/* Reader of a PoSt request: what a verifier knows, as JSON.
 *
 * Read are registered_proof, randomness, sectors (number, comm_r), partition_index, and prover_id or miner_id; all
 * other members are ignored. Proofs do not depend on the prover, so it may be left out; when it is there it must be
 * right. Source: docs/cli.md ("Jobs"), docs/circuits/post.md.
 */
#include "circuit/post/post.h"

#include <stdio.h>
#include <string.h>
#include "circuit/request.h"

static cuzk_status read_registered(post_request *o, const json_node *top, const char *name, cuzk_error *err) {
    const json_node *m = json_member(top, "registered_proof");
    if (!m) return request_lacks(name, "$", "registered_proof", err);
    if ((m->kind == JSON_STRING || m->kind == JSON_NUMBER) && post_registered_by_name(&o->registered, m->text, m->len))
        return CUZK_OK;
    request_bad(name, "$", m, "a registered PoSt proof such as StackedDrgWindow32GiBV1_2", err);
    if (m->kind == JSON_STRING) err->status = CUZK_FOREIGN; /* well formed, but not a PoSt that we know */
    return err->status;
}

static cuzk_status read_randomness(post_request *o, const json_node *top, const char *name, cuzk_error *err) {
    bool has;
    cuzk_status s = request_bytes32(&has, o->randomness, top, "randomness", name, "$", err);
    if (s == CUZK_OK && !has) s = request_lacks(name, "$", "randomness", err);
    if (s != CUZK_OK || request_canonical("randomness", o->randomness, true, name, "$.randomness", err) == CUZK_OK)
        return s;
    return cuzk_fail_hint(err, "clear the top two bits of its last byte before challenges are made");
}

static cuzk_status read_prover(post_request *o, const json_node *top, const char *name, cuzk_error *err) {
    cuzk_status s = request_prover(&o->has_prover, o->prover_id, top, name, err);
    if (s != CUZK_OK || !o->has_prover) return s;
    return request_canonical("prover_id", o->prover_id, true, name, "$.prover_id", err);
}

static cuzk_status read_sector(post_sector *o, const json_node *m, const char *name, const char *place,
                               cuzk_error *err) {
    bool has;
    char where[96];
    if (m->kind != JSON_OBJECT) return request_bad(name, place, m, "an object with number and comm_r", err);
    cuzk_status s = request_u64(&has, &o->number, m, "number", name, place, err);
    if (s == CUZK_OK && !has) s = request_lacks(name, place, "number", err);
    if (s == CUZK_OK) s = request_bytes32(&has, o->comm_r, m, "comm_r", name, place, err);
    if (s == CUZK_OK && !has) s = request_lacks(name, place, "comm_r", err);
    if (s != CUZK_OK) return s;
    snprintf(where, sizeof where, "%s.comm_r", place);
    return request_canonical("comm_r", o->comm_r, false, name, where, err);
}

static cuzk_status read_sectors(post_request *o, arena *memory, const json_node *top, const char *name,
                                cuzk_error *err) {
    const json_node *list = json_member(top, "sectors");
    char place[64];
    if (!list) return request_lacks(name, "$", "sectors", err);
    if (list->kind != JSON_ARRAY || list->len == 0)
        return request_bad(name, "$", list, "an array of at least one sector", err);
    post_sector *sectors = arena_alloc_array(memory, list->len, sizeof *sectors);
    if (!sectors) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    for (const json_node *m = list->first; m; m = m->next, o->n++) {
        snprintf(place, sizeof place, "$.sectors[%zu]", o->n);
        cuzk_status s = read_sector(&sectors[o->n], m, name, place, err);
        if (s != CUZK_OK) return s;
        if (o->n == 0 || sectors[o->n].number > sectors[o->n - 1].number) continue;
        cuzk_fail(err, CUZK_MALFORMED, "the sectors are not in ascending order, each once");
        cuzk_fail_where(err, "%s: %s.number", name, place);
        cuzk_fail_expected(err, "more than %llu", (unsigned long long)sectors[o->n - 1].number);
        cuzk_fail_found(err, "%llu", (unsigned long long)sectors[o->n].number);
        return cuzk_fail_hint(err, "sort the sectors by number, and the vanilla proofs with them");
    }
    o->sectors = sectors;
    return CUZK_OK;
}

cuzk_status post_request_read(post_request *out, arena *memory, arena *scratch, const char *name, const void *data,
                              size_t len, cuzk_error *err) {
    json_node *top;
    memset(out, 0, sizeof *out);
    cuzk_status s = request_parse(&top, scratch, name, data, len, POST_REQUEST_MAX_BYTES, err);
    if (s == CUZK_OK) s = read_registered(out, top, name, err);
    if (s == CUZK_OK) s = read_prover(out, top, name, err);
    if (s == CUZK_OK) s = read_randomness(out, top, name, err);
    if (s == CUZK_OK)
        s = request_u64(&out->has_partition_index, &out->partition_index, top, "partition_index", name, "$", err);
    if (s == CUZK_OK && out->partition_index > UINT32_MAX)
        s = request_bad(name, "$", json_member(top, "partition_index"), "a number of 32 bits", err);
    return s == CUZK_OK ? read_sectors(out, memory, top, name, err) : s;
}
