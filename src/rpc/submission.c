/* SubmitProofRequest as a submission.
 *
 * The message is read in place in two passes: the first takes scalars and counts the vanilla proofs, the second
 * collects views of them. From clients that send fields and not a request in JSON, the request is made here:
 *   PoRep    sector_number and miner_id where they are not 0; all else is in the commit-phase-1 output
 *   snap     registered_proof, the three commitments, miner_id
 *   PoSt     registered_proof, randomness, miner_id, partition_index (window), and the sectors: number and comm_r begin
 *            each vanilla proof (FallbackPoStSectorProof: sector_id u64 little-endian, comm_r 32 bytes). The older
 * daemon looked sectors up by number, so they may come in any order and are sorted here. For winning only the first
 *            vanilla proof counts, as there.
 * Field numbers: proto/cuzk/v1/proving.proto; meanings: docs/grpc.md.
 */
#include "rpc/submission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "rpc/pb.h"

#define MAX_VANILLA 65536 /* 27 partitions of the largest window post */

enum { POREP = 1, SNAP, WINDOW, WINNING };
static const char *const kinds[] = {NULL, "porep", "snap", "window-post", "winning-post"};

typedef struct fields { /* of the message; bytes are views */
    uint64_t kind, sector_size, registered, priority, sector, miner, partition, deadline_ms, cancel, policy,
        size_override;
    cuzk_bytes id, c1, randomness, comm_r_old, comm_r_new, comm_d_new, json;
    size_t n_vanilla;
    cuzk_bytes *vanilla; /* NULL in the first pass */
} fields;

static cuzk_status not_a_message(const pb_reader *r, const char *what, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "the message is not a %s", what);
    return cuzk_fail_where(err, "byte %llu of %llu", (unsigned long long)(r->at - r->start),
                           (unsigned long long)(r->end - r->start));
}

static uint64_t *scalar(fields *f, uint32_t number) {
    switch (number) {
    case 2: return &f->kind;
    case 3: return &f->sector_size;
    case 4: return &f->registered;
    case 5: return &f->priority;
    case 20: return &f->sector;
    case 21: return &f->miner;
    case 23: return &f->partition;
    case 100: return &f->deadline_ms;
    case 101: return &f->cancel;
    case 102: return &f->policy;
    case 103: return &f->size_override;
    default: return NULL;
    }
}

static cuzk_bytes *bytes_of(fields *f, uint32_t number) {
    switch (number) {
    case 1: return &f->id;
    case 10: return &f->c1;
    case 22: return &f->randomness;
    case 30: return &f->comm_r_old;
    case 31: return &f->comm_r_new;
    case 32: return &f->comm_d_new;
    case 104: return &f->json;
    default: return NULL;
    }
}

/* Unknown fields and known ones of another wire type are skipped, as protobuf wants it. */
static cuzk_status read_fields(fields *f, const void *data, size_t n, cuzk_error *err) {
    pb_reader r = pb_open(data, n);
    pb_field in;
    while (pb_next(&r, &in)) {
        if (in.wire == PB_VARINT) {
            uint64_t *to = scalar(f, in.number);
            if (to) *to = in.value;
        } else if (in.wire == PB_BYTES && in.number == 11) {
            if (f->n_vanilla == MAX_VANILLA) {
                cuzk_fail(err, CUZK_MALFORMED, "too many vanilla proofs");
                return cuzk_fail_expected(err, "at most %d", MAX_VANILLA);
            }
            if (f->vanilla) f->vanilla[f->n_vanilla] = (cuzk_bytes){in.data, in.n};
            f->n_vanilla++;
        } else if (in.wire == PB_BYTES) {
            cuzk_bytes *to = bytes_of(f, in.number);
            if (to) *to = (cuzk_bytes){in.data, in.n};
        }
    }
    return r.bad ? not_a_message(&r, "SubmitProofRequest", err) : CUZK_OK;
}

/* A ProveRequest's field 1; one that comes in several pieces is merged. */
static cuzk_status read_all(fields *f, const void *message, size_t n, bool prove, cuzk_error *err) {
    if (!prove) return read_fields(f, message, n, err);
    pb_reader r = pb_open(message, n);
    pb_field in;
    bool there = false;
    while (pb_next(&r, &in)) {
        if (in.number != 1 || in.wire != PB_BYTES) continue;
        there = true;
        if (read_fields(f, in.data, in.n, err)) return err->status;
    }
    if (r.bad) return not_a_message(&r, "ProveRequest", err);
    if (there) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the request to prove has nothing to prove");
    return cuzk_fail_where(err, "ProveRequest.submit");
}

static cuzk_status collect_vanilla(rpc_submission *out, fields *f, const void *message, size_t n, bool prove,
                                   cuzk_error *err) {
    if (!f->n_vanilla) return CUZK_OK;
    out->vanilla = calloc(f->n_vanilla, sizeof *out->vanilla);
    if (!out->vanilla) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    f->vanilla = out->vanilla;
    f->n_vanilla = 0;
    return read_all(f, message, n, prove, err);
}

/* ---- the request in JSON ---- */

static void put_u64(json_out *o, const char *key, uint64_t v) {
    json_put_key(o, key);
    json_put_u64(o, v);
}

static cuzk_status put_32(json_out *o, const char *key, cuzk_bytes b, cuzk_error *err) {
    json_put_key(o, key);
    json_put_hex(o, b.data, b.n == 32 ? 32 : 0);
    if (b.n == 32) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "%s does not have its size", key);
    cuzk_fail_where(err, "SubmitProofRequest.%s", key);
    cuzk_fail_expected(err, "32 bytes");
    return cuzk_fail_found(err, "%zu bytes", b.n);
}

static cuzk_status registered_in(const fields *f, uint64_t first, uint64_t last, cuzk_error *err) {
    if (f->registered >= first && f->registered <= last) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "registered_proof is none of %s", kinds[f->kind]);
    cuzk_fail_where(err, "SubmitProofRequest.registered_proof");
    cuzk_fail_expected(err, "%llu to %llu", (unsigned long long)first, (unsigned long long)last);
    return cuzk_fail_found(err, "%llu", (unsigned long long)f->registered);
}

static cuzk_status lacks(const char *field, const char *expected, cuzk_error *err) {
    cuzk_fail(err, CUZK_MALFORMED, "%s is missing", field);
    cuzk_fail_where(err, "SubmitProofRequest.%s", field);
    return cuzk_fail_expected(err, "%s", expected);
}

static uint64_t sector_number(const cuzk_bytes *vanilla) {
    const uint8_t *p = vanilla->data;
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static int by_sector(const void *a, const void *b) {
    uint64_t x = sector_number(a), y = sector_number(b);
    return x < y ? -1 : x > y;
}

#define SECTOR_HEAD 40 /* bytes of number and comm_r */

static cuzk_status put_sectors(json_out *o, fields *f, cuzk_error *err) {
    if (!f->n_vanilla) return lacks("vanilla_proofs", "one for each sector", err);
    if (f->kind == WINNING) f->n_vanilla = 1;
    for (size_t i = 0; i < f->n_vanilla; i++) {
        if (f->vanilla[i].n >= SECTOR_HEAD) continue;
        cuzk_fail(err, CUZK_MALFORMED, "a vanilla proof ends before its sector");
        cuzk_fail_where(err, "SubmitProofRequest.vanilla_proofs[%zu]", i);
        cuzk_fail_expected(err, "at least %d bytes", SECTOR_HEAD);
        return cuzk_fail_found(err, "%zu bytes", f->vanilla[i].n);
    }
    qsort(f->vanilla, f->n_vanilla, sizeof *f->vanilla, by_sector);
    json_put_key(o, "sectors");
    json_begin_array(o);
    for (size_t i = 0; i < f->n_vanilla; i++) {
        json_begin_object(o);
        put_u64(o, "number", sector_number(&f->vanilla[i]));
        json_put_key(o, "comm_r");
        json_put_hex(o, (const uint8_t *)f->vanilla[i].data + 8, 32);
        json_end_object(o);
    }
    json_end_array(o);
    return CUZK_OK;
}

static cuzk_status put_post(json_out *o, fields *f, cuzk_error *err) {
    cuzk_status s = f->kind == WINNING ? registered_in(f, 0, 4, err) : registered_in(f, 5, 14, err);
    if (s) return s;
    put_u64(o, "registered_proof", f->registered);
    put_u64(o, "miner_id", f->miner);
    if (put_32(o, "randomness", f->randomness, err)) return err->status;
    if (f->kind == WINDOW) put_u64(o, "partition_index", f->partition & UINT32_MAX);
    return put_sectors(o, f, err);
}

static cuzk_status put_snap(json_out *o, const fields *f, cuzk_error *err) {
    if (registered_in(f, 0, 4, err)) return err->status;
    if (!f->n_vanilla) return lacks("vanilla_proofs", "one for each partition", err);
    put_u64(o, "registered_proof", f->registered);
    if (f->miner) put_u64(o, "miner_id", f->miner);
    if (put_32(o, "comm_r_old", f->comm_r_old, err)) return err->status;
    if (put_32(o, "comm_r_new", f->comm_r_new, err)) return err->status;
    return put_32(o, "comm_d_new", f->comm_d_new, err);
}

static cuzk_status make_request(rpc_submission *out, fields *f, cuzk_error *err) {
    json_out *o = json_out_create();
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    cuzk_status s = CUZK_OK;
    json_begin_object(o);
    if (f->kind == POREP) {
        if (f->sector) put_u64(o, "sector_number", f->sector);
        if (f->miner) put_u64(o, "miner_id", f->miner);
    } else {
        s = f->kind == SNAP ? put_snap(o, f, err) : put_post(o, f, err);
    }
    json_end_object(o);
    size_t n;
    const char *text = json_out_text(o, &n);
    if (!s) out->json = text ? malloc(n + 1) : NULL;
    if (!s && !out->json) s = cuzk_fail(err, CUZK_MEMORY, "no memory for a request");
    if (!s) {
        memcpy(out->json, text, n + 1);
        out->job.request = (cuzk_bytes){out->json, n};
    }
    json_out_destroy(o);
    return s;
}

/* ---- the whole ---- */

/* Those below the space, DEL, and those of U+0080 to U+009F, which terminals obey too. */
static bool has_control_characters(const uint8_t *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] < 0x20 || text[i] == 0x7f) return true;
        if (text[i] == 0xc2 && i + 1 < n && text[i + 1] < 0xa0) return true;
    }
    return false;
}

static cuzk_status take_id(rpc_submission *out, cuzk_bytes id, cuzk_error *err) {
    if (id.n >= sizeof out->request_id || !text_is_utf8(id.data ? id.data : "", id.n) ||
        has_control_characters(id.data, id.n)) {
        cuzk_fail(err, CUZK_MALFORMED, "request_id is not an id");
        cuzk_fail_where(err, "SubmitProofRequest.request_id");
        return cuzk_fail_expected(err, "at most %zu bytes of UTF-8 without control characters",
                                  sizeof out->request_id - 1);
    }
    if (id.n) memcpy(out->request_id, id.data, id.n);
    return CUZK_OK;
}

static cuzk_status fill(rpc_submission *out, fields *f, cuzk_error *err) {
    cuzk_submission *job = &out->job;
    *job = (cuzk_submission){.size = sizeof *job,
                             .request_id = out->request_id,
                             .kind = kinds[f->kind],
                             .sector_bytes = f->size_override,
                             .deadline_seconds = (double)f->deadline_ms / 1000.0};
    job->priority = f->priority == 0                        ? CUZK_PRIORITY_DEFAULT
                    : f->priority <= CUZK_PRIORITY_CRITICAL ? (cuzk_priority)f->priority
                                                            : CUZK_PRIORITY_NORMAL;
    job->policy = f->policy <= CUZK_CPU ? (cuzk_device_policy)f->policy : CUZK_DEVICE_DEFAULT;
    out->cancel_on_disconnect = f->cancel != 0;
    if (take_id(out, f->id, err)) return err->status;
    if (f->kind == POREP) {
        if (!f->c1.n) return lacks("vanilla_proof", "the output of commit phase 1", err);
        job->c1 = f->c1;
    }
    if (f->json.n) {
        job->request = f->json;
    } else if (make_request(out, f, err)) {
        return err->status;
    }
    if (f->kind != POREP) {
        job->vanilla = f->vanilla;
        job->n_vanilla = f->n_vanilla;
    }
    return CUZK_OK;
}

cuzk_status rpc_submission_read(rpc_submission *out, const void *message, size_t n, bool prove, cuzk_error *err) {
    fields f;
    memset(out, 0, sizeof *out);
    memset(&f, 0, sizeof f);
    cuzk_status s = read_all(&f, message, n, prove, err);
    if (s) return s;
    if (f.kind < POREP || f.kind > WINNING) {
        cuzk_fail(err, CUZK_USAGE, "there is no such kind of proof");
        cuzk_fail_where(err, "SubmitProofRequest.proof_kind");
        cuzk_fail_expected(err, "1 (PoRep), 2 (snap), 3 (window PoSt) or 4 (winning PoSt)");
        return cuzk_fail_found(err, "%llu", (unsigned long long)f.kind);
    }
    s = collect_vanilla(out, &f, message, n, prove, err);
    return s ? s : fill(out, &f, err);
}

void rpc_submission_free(rpc_submission *s) {
    free(s->json);
    free(s->vanilla);
    memset(s, 0, sizeof *s);
}

/* ---- names ---- */

static const struct {
    const char *old, *ours;
} circuits[] = {{"porep-32g", "porep-32gib"},
                {"porep-64g", "porep-64gib"},
                {"wpost-32g", "window-post-32gib"},
                {"wpost-64g", "window-post-64gib"},
                {"winning-32g", "winning-post-32gib"},
                {"winning-64g", "winning-post-64gib"},
                {"snap-32g", "snap-32gib"},
                {"snap-64g", "snap-64gib"}};

void rpc_circuit_name(char out[64], const char *id) {
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++)
        if (!strcmp(circuits[i].old, id)) id = circuits[i].ours;
    snprintf(out, 64, "%s", id);
}

const char *rpc_circuit_old_name(const char *circuit) {
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++)
        if (!strcmp(circuits[i].ours, circuit)) return circuits[i].old;
    return NULL;
}
