/* Reader of a PoRep request: what a verifier knows about a sector, as JSON.
 *
 * Only the members named below are read, all others are ignored; a member that is there must be right. Which of them a
 * job needs is the job's affair. Byte strings are 64 hex digits in file order, integers are JSON numbers of 64 bits.
 * Source: docs/cli.md ("Jobs"), docs/circuits/porep.md.
 */
#include "circuit/porep/vanilla.h"

#include <string.h>
#include "base/text.h"
#include "circuit/request.h"

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
        request_bad(name, "$", m, expected, err);
        if (m->kind != JSON_STRING) return err->status;
        err->status = CUZK_FOREIGN; /* well formed, but not a seal proof that we know */
        return err->status;
    }
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
    return request_bad(name, "$", m, "\"1.0.0\", \"1.1.0\" or \"1.2.0\"", err);
}

cuzk_status porep_request_read(porep_request *out, arena *scratch, const char *name, const void *data, size_t len,
                               cuzk_error *err) {
    memset(out, 0, sizeof *out);
    json_node *top;
    cuzk_status s = request_parse(&top, scratch, name, data, len, POREP_REQUEST_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
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
        s = request_bytes32(all[i].has, all[i].bytes, top, all[i].key, name, "$", err);
        if (s != CUZK_OK) return s;
    }
    s = read_registered(out, top, name, err);
    if (s == CUZK_OK) s = request_prover(&out->has_prover, out->prover_id, top, name, err);
    if (s == CUZK_OK) s = request_u64(&out->has_sector, &out->sector_number, top, "sector_number", name, "$", err);
    if (s == CUZK_OK) s = read_api_version(out, top, name, err);
    if (s != CUZK_OK || !out->has_registered) return s;
    if (out->has_porep_id) memcpy(out->registered.porep_id, out->porep_id, 32);
    if (out->has_api_version) out->registered.api_version = out->api_version;
    return CUZK_OK;
}
