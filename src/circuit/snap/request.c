/* Reader of a sector update's request: what a verifier knows, as JSON.
 *
 * Read are registered_proof, comm_r_old, comm_r_new, comm_d_new, and prover_id or miner_id; all other members are
 * ignored. Proofs do not depend on the prover, so it may be left out; when it is there it must be right. Source:
 * docs/cli.md ("Jobs"), docs/circuits/snap.md.
 */
#include <stdio.h>
#include <string.h>
#include "circuit/request.h"
#include "circuit/snap/snap.h"

static cuzk_status read_registered(snap_request *o, const json_node *top, const char *name, cuzk_error *err) {
    const json_node *m = json_member(top, "registered_proof");
    if (!m) return request_lacks(name, "$", "registered_proof", err);
    if ((m->kind == JSON_STRING || m->kind == JSON_NUMBER) && snap_registered_by_name(&o->registered, m->text, m->len))
        return CUZK_OK;
    request_bad(name, "$", m, "a registered update proof such as StackedDrg32GiBV1", err);
    if (m->kind == JSON_STRING) err->status = CUZK_FOREIGN; /* well formed, but not an update that we know */
    return err->status;
}

static cuzk_status read_prover(snap_request *o, const json_node *top, const char *name, cuzk_error *err) {
    cuzk_status s = request_prover(&o->has_prover, o->prover_id, top, name, err);
    if (s != CUZK_OK || !o->has_prover) return s;
    return request_canonical("prover_id", o->prover_id, true, name, "$.prover_id", err);
}

static cuzk_status read_commitment(fr *out, const json_node *top, const char *key, const char *name, cuzk_error *err) {
    bool has;
    uint8_t bytes[32];
    char where[32];
    cuzk_status s = request_bytes32(&has, bytes, top, key, name, "$", err);
    if (s == CUZK_OK && !has) s = request_lacks(name, "$", key, err);
    snprintf(where, sizeof where, "$.%s", key);
    if (s == CUZK_OK) s = request_canonical(key, bytes, false, name, where, err);
    if (s == CUZK_OK) (void)fr_from_le_bytes(out, bytes); /* canonical */
    return s;
}

cuzk_status snap_request_read(snap_request *out, arena *scratch, const char *name, const void *data, size_t len,
                              cuzk_error *err) {
    json_node *top;
    memset(out, 0, sizeof *out);
    cuzk_status s = request_parse(&top, scratch, name, data, len, SNAP_REQUEST_MAX_BYTES, err);
    if (s == CUZK_OK) s = read_registered(out, top, name, err);
    if (s == CUZK_OK) s = read_prover(out, top, name, err);
    if (s == CUZK_OK) s = read_commitment(&out->comm_r_old, top, "comm_r_old", name, err);
    if (s == CUZK_OK) s = read_commitment(&out->comm_r_new, top, "comm_r_new", name, err);
    return s == CUZK_OK ? read_commitment(&out->comm_d_new, top, "comm_d_new", name, err) : s;
}
