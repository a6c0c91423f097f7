/* The entry "porep" of the table of kinds: circuits of ten sector sizes and three variants, and jobs made from
 * commit-phase-1 output, a request, or both.
 *
 * What names a thing twice must agree: registered proof, sector size, sector number, ticket, seed and commitments of
 * the two files, and replica_id with what prover, sector number, ticket and comm_d make of it. Only --size may part
 * from the registered proof: layers and tree shape then follow it, API version and porep_id the registered proof.
 * Source: docs/cli.md ("Jobs"), docs/circuits/porep.md.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/units.h"
#include "circuit/facts.h"
#include "circuit/job.h"
#include "circuit/porep/graph.h"
#include "circuit/porep/synth.h"
#include "circuit/porep/vanilla.h"
#include "circuit/request.h"

static const char *const variants[] = {"", "ni", "synthetic", NULL};
static const uint64_t sizes[] = {2 * KIB,   4 * KIB, 16 * KIB, 32 * KIB, 8 * MIB, 16 * MIB,
                                 512 * MIB, 1 * GIB, 32 * GIB, 64 * GIB, 0};
#define C1_MAX_BYTES ((size_t)1 << 30)

static cuzk_status porep_open(circuit *c, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    porep_params *p = calloc(1, sizeof *p);
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a circuit's description");
    if (!porep_params_for(p, sector_bytes, variant)) {
        free(p);
        cuzk_fail(err, CUZK_USAGE, "there is no such PoRep circuit");
        return cuzk_fail_found(err, "%llu bytes, variant \"%s\"", (unsigned long long)sector_bytes, variant);
    }
    c->params = c->params_memory = p;
    c->partitions = p->partitions;
    c->version = POREP_CIRCUIT_VERSION;
    porep_cache_identifier(p, c->cache_identifier, sizeof c->cache_identifier);
    return CUZK_OK;
}

/* ---- facts ---- */

static bool all_zero(const uint8_t b[32]) {
    uint8_t any = 0;
    for (int i = 0; i < 32; i++) any |= b[i];
    return any == 0;
}

static cuzk_status differ(const char *what, const uint8_t *expected, const uint8_t *found, cuzk_error *err) {
    char hex[65];
    cuzk_fail(err, CUZK_FOREIGN, "%s", what);
    text_hex(hex, expected, 32);
    cuzk_fail_expected(err, "%s", hex);
    text_hex(hex, found, 32);
    cuzk_fail_found(err, "%s", hex);
    return cuzk_fail_hint(err, "give the request and the proof of one sector");
}

static cuzk_status check_commitment(const char *name, const uint8_t b[32], cuzk_error *err) {
    fr v;
    if (all_zero(b)) return cuzk_fail(err, CUZK_MALFORMED, "%s is all zero", name);
    if (!fr_from_le_bytes(&v, b)) return cuzk_fail(err, CUZK_MALFORMED, "%s is not below the field's modulus", name);
    return CUZK_OK;
}

/* A request alone must hold everything that a verifier knows. */
static cuzk_status facts_from_request(porep_job *f, const porep_request *q, const char *name, cuzk_error *err) {
    const struct {
        bool has;
        const char *key;
    } needed[] = {{q->has_registered, "registered_proof"},
                  {q->has_prover, "prover_id or miner_id"},
                  {q->has_sector, "sector_number"},
                  {q->has_ticket, "ticket"},
                  {q->has_seed || q->registered.non_interactive, "seed"},
                  {q->has_comm_d, "comm_d"},
                  {q->has_comm_r, "comm_r"}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!needed[i].has) return request_lacks(name, "$", needed[i].key, err);
    }
    memcpy(f->comm_d, q->comm_d, 32);
    memcpy(f->comm_r, q->comm_r, 32);
    memcpy(f->seed, q->seed, 32);
    memcpy(f->ticket, q->ticket, 32);
    porep_replica_id(f->replica_id, q->prover_id, q->sector_number, q->ticket, q->comm_d, q->registered.porep_id);
    cuzk_status s = check_commitment("comm_d", q->comm_d, err);
    if (s == CUZK_OK) s = check_commitment("comm_r", q->comm_r, err);
    if (s != CUZK_OK) cuzk_fail_where(err, "%s", name);
    return s;
}

static cuzk_status request_agrees(const porep_c1 *c1, const porep_request *q, cuzk_error *err) {
    if (c1->has_registered && q->has_registered && c1->registered.number != q->registered.number) {
        cuzk_fail(err, CUZK_FOREIGN, "request and proof name different registered proofs");
        cuzk_fail_expected(err, "%s", porep_registered_name(q->registered.number));
        return cuzk_fail_found(err, "%s", porep_registered_name(c1->registered.number));
    }
    if (q->has_ticket && memcmp(q->ticket, c1->ticket, 32) != 0)
        return differ("the request's ticket is not the proof's", q->ticket, c1->ticket, err);
    if (q->has_seed && memcmp(q->seed, c1->seed, 32) != 0)
        return differ("the request's seed is not the proof's", q->seed, c1->seed, err);
    if (q->has_comm_d && memcmp(q->comm_d, c1->comm_d, 32) != 0)
        return differ("the request's comm_d is not the proof's", q->comm_d, c1->comm_d, err);
    if (q->has_comm_r && memcmp(q->comm_r, c1->comm_r, 32) != 0)
        return differ("the request's comm_r is not the proof's", q->comm_r, c1->comm_r, err);
    if (q->has_sector && c1->has_sector_number && q->sector_number != c1->sector_number) {
        cuzk_fail(err, CUZK_FOREIGN, "request and proof name different sectors");
        cuzk_fail_expected(err, "sector %llu", (unsigned long long)q->sector_number);
        return cuzk_fail_found(err, "sector %llu", (unsigned long long)c1->sector_number);
    }
    return CUZK_OK;
}

/* Facts of the proof file; the registered proof is settled. */
static cuzk_status facts_from_c1(porep_job *f, const porep_c1 *c1, uint64_t size, cuzk_error *err) {
    memcpy(f->comm_d, c1->comm_d, 32);
    memcpy(f->comm_r, c1->comm_r, 32);
    memcpy(f->seed, c1->seed, 32);
    memcpy(f->ticket, c1->ticket, 32);
    memcpy(f->replica_id, c1->replica_id, 32);
    if (c1->wrapped && c1->wrapper_bytes != size && c1->wrapper_bytes != f->registered.sector_bytes) {
        cuzk_fail(err, CUZK_FOREIGN, "the wrapper's SectorSize is not the proof's");
        cuzk_fail_expected(err, "%llu", (unsigned long long)size);
        return cuzk_fail_found(err, "%llu", (unsigned long long)c1->wrapper_bytes);
    }
    if (!f->has_prover || !f->has_sector) return CUZK_OK;
    uint8_t made[32];
    porep_replica_id(made, f->prover_id, f->sector_number, f->ticket, f->comm_d, f->registered.porep_id);
    if (memcmp(made, f->replica_id, 32) != 0)
        return differ("replica_id is not that of this prover, sector, ticket and comm_d", made, f->replica_id, err);
    return CUZK_OK;
}

/* ---- opening ---- */

static cuzk_status read_request(porep_request *q, const job_source *from, cuzk_error *err) {
    source_text text;
    cuzk_status s = source_open(&text, from, "request", SOURCE_ALONE, POREP_REQUEST_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
    arena *scratch = arena_create(BUFFER_REQUEST, 0, err);
    s = scratch ? porep_request_read(q, scratch, text.name, text.data, text.bytes, err) : err->status;
    arena_destroy(scratch);
    source_close(&text);
    return s;
}

static cuzk_status read_c1(porep_c1 *c1, arena *memory, const job_files *files, const porep_request *q,
                           cuzk_error *err) {
    uint64_t size = files->size_override;
    bool forced = size != 0;
    if (size == 0 && q->has_registered) size = q->registered.sector_bytes;
    source_text text;
    cuzk_status s = source_open(&text, &files->c1, "c1", SOURCE_ALONE, C1_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
    s = porep_c1_read(c1, memory, text.name, text.data, text.bytes, size, forced, err);
    source_close(&text);
    return s;
}

static cuzk_status check_usage(const job_files *files, bool facts_only, cuzk_error *err) {
    if (files->n_vanilla != 0) {
        cuzk_fail(err, CUZK_USAGE, "PoRep reads no --vanilla files");
        return cuzk_fail_hint(err, "give the commit-phase-1 output with --c1");
    }
    if (source_given(&files->c1) || (facts_only && source_given(&files->request))) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "no proof input is given");
    return cuzk_fail_hint(err, facts_only ? "give --c1 FILE or --request FILE" : "give --c1 FILE");
}

static const char *variant_of(const porep_registered *r) {
    return r->non_interactive ? "ni" : r->synthetic ? "synthetic" : "";
}

/* Facts, circuit and partitions from what was read. */
static cuzk_status join(job *j, porep_job *f, const job_files *files, const porep_c1 *c1, const porep_request *q,
                        cuzk_error *err) {
    if (!q->has_registered && !(c1 && c1->has_registered)) {
        cuzk_fail(err, CUZK_FOREIGN, "neither the proof nor a request names the registered proof");
        return cuzk_fail_hint(err, "give --request with registered_proof");
    }
    f->registered = q->has_registered ? q->registered : c1->registered;
    if (q->has_porep_id) memcpy(f->registered.porep_id, q->porep_id, 32);
    if (q->has_api_version) f->registered.api_version = q->api_version;
    f->has_prover = q->has_prover;
    memcpy(f->prover_id, q->prover_id, 32);
    f->has_sector = q->has_sector || (c1 && c1->has_sector_number);
    f->sector_number = q->has_sector ? q->sector_number : c1 ? c1->sector_number : 0;
    uint64_t size = files->size_override != 0 ? files->size_override : f->registered.sector_bytes;
    cuzk_status s = c1 ? request_agrees(c1, q, err) : CUZK_OK;
    if (s == CUZK_OK)
        s = c1 ? facts_from_c1(f, c1, size, err)
               : facts_from_request(f, q, source_name(&files->request, "request"), err);
    if (s == CUZK_OK && all_zero(f->seed) && !f->registered.non_interactive)
        s = cuzk_fail(err, CUZK_MALFORMED, "seed is all zero");
    if (s == CUZK_OK) s = circuit_open(&j->circuit, "porep", size, variant_of(&f->registered), err);
    if (s != CUZK_OK) return s;
    f->params = j->circuit.params;
    j->partitions = f->n_partitions = f->params->partitions;
    if (!c1) return CUZK_OK;
    f->partitions = c1->partitions;
    if (c1->n_partitions == f->params->partitions && c1->params.nodes == f->params->nodes) return CUZK_OK;
    cuzk_fail(err, CUZK_FOREIGN, "the proof does not have its kind's partitions");
    cuzk_fail_expected(err, "%u partitions of a sector of %llu bytes", f->params->partitions, (unsigned long long)size);
    return cuzk_fail_found(err, "%u partitions of a sector of %llu bytes", c1->n_partitions,
                           (unsigned long long)c1->params.sector_bytes);
}

static cuzk_status porep_job_open(job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    porep_request q = {0};
    porep_c1 c1;
    porep_job *f = arena_alloc(j->memory, sizeof *f);
    if (!f) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    cuzk_status s = check_usage(files, facts_only, err);
    bool has_c1 = source_given(&files->c1);
    if (s == CUZK_OK && source_given(&files->request)) s = read_request(&q, &files->request, err);
    if (s == CUZK_OK && has_c1) s = read_c1(&c1, j->memory, files, &q, err);
    if (s != CUZK_OK) return s;
    s = join(j, f, files, has_c1 ? &c1 : NULL, &q, err);
    if (s != CUZK_OK && !err->where[0])
        cuzk_fail_where(err, "%s", has_c1 ? source_name(&files->c1, "c1") : source_name(&files->request, "request"));
    j->data = f;
    return s;
}

/* ---- use ---- */

static cuzk_status porep_job_check(const job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    const porep_job *f = j->data;
    if (!f->partitions) {
        cuzk_fail(err, CUZK_USAGE, "the job has no vanilla proof");
        return cuzk_fail_hint(err, "give --c1 FILE");
    }
    return porep_vanilla_check(f, p, control, err);
}

enum { INPUTS_OF_CHALLENGE = POREP_PARENTS + 4 };

static size_t porep_public_count(const circuit *c) {
    const porep_params *p = c->params;
    return 3 + (size_t)p->challenges * INPUTS_OF_CHALLENGE;
}

/* replica_id, comm_d, comm_r; then for each challenge c: c, its parents, c three times. */
static void porep_public_inputs(const job *j, unsigned partition, fr *out) {
    const porep_job *f = j->data;
    const porep_params *p = f->params;
    uint64_t challenges[64], parents[POREP_PARENTS];
    porep_graph graph;
    assert(p->challenges <= sizeof challenges / sizeof challenges[0] && partition < j->partitions);
    bool canonical = fr_from_le_bytes(&out[0], f->replica_id) && fr_from_le_bytes(&out[1], f->comm_d) &&
                     fr_from_le_bytes(&out[2], f->comm_r);
    assert(canonical); /* since opening */
    (void)canonical;
    porep_graph_init(&graph, p->nodes, f->registered.api_version, f->registered.porep_id);
    porep_challenges(p, f->replica_id, f->comm_r, f->seed, partition, challenges);
    for (unsigned i = 0; i < p->challenges; i++) {
        fr *at = out + 3 + (size_t)i * INPUTS_OF_CHALLENGE;
        porep_graph_parents(&graph, challenges[i], parents);
        fr_from_u64(&at[0], challenges[i]);
        for (unsigned k = 0; k < POREP_PARENTS; k++) fr_from_u64(&at[1 + k], parents[k]);
        at[1 + POREP_PARENTS] = at[2 + POREP_PARENTS] = at[3 + POREP_PARENTS] = at[0];
    }
}

static const void *porep_instance(const job *j, unsigned partition) {
    const porep_job *f = j->data;
    assert(f->partitions && partition < j->partitions);
    return &f->partitions[partition];
}

static void porep_inspect(const job *j, json_out *o) {
    const porep_job *f = j->data;
    const porep_params *p = f->params;
    uint64_t miner, challenges[64];
    char version[24];
    unsigned api = f->registered.api_version;
    snprintf(version, sizeof version, "%u.%u.%u", api / 100, api / 10 % 10, api % 10);
    json_put_key(o, "registered_proof");
    json_put_string(o, porep_registered_name(f->registered.number));
    json_put_key(o, "api_version");
    json_put_string(o, version);
    facts_put_bytes(o, "porep_id", f->registered.porep_id);
    json_put_key(o, "layers");
    json_put_u64(o, p->layers);
    json_put_key(o, "challenges_per_partition");
    json_put_u64(o, p->challenges);
    if (f->has_sector) {
        json_put_key(o, "sector_number");
        json_put_u64(o, f->sector_number);
    }
    if (f->has_prover) facts_put_bytes(o, "prover_id", f->prover_id);
    if (f->has_prover && porep_miner_id(&miner, f->prover_id)) {
        json_put_key(o, "miner_id");
        json_put_u64(o, miner);
    }
    facts_put_bytes(o, "replica_id", f->replica_id);
    facts_put_bytes(o, "comm_d", f->comm_d);
    facts_put_bytes(o, "comm_r", f->comm_r);
    if (f->partitions) {
        facts_put_node(o, "comm_c", &f->partitions[0].comm_c);
        facts_put_node(o, "comm_r_last", &f->partitions[0].comm_r_last);
    }
    facts_put_bytes(o, "seed", f->seed);
    facts_put_bytes(o, "ticket", f->ticket);
    json_put_key(o, "challenges");
    json_begin_array(o);
    for (unsigned k = 0; k < j->partitions; k++) {
        porep_challenges(p, f->replica_id, f->comm_r, f->seed, k, challenges);
        json_begin_array(o);
        for (unsigned i = 0; i < p->challenges; i++) json_put_u64(o, challenges[i]);
        json_end_array(o);
    }
    json_end_array(o);
}

static cuzk_status porep_synth(const circuit *c, uint64_t seed, const char *folder, pool *p,
                               const cuzk_control *control,
                               void (*wrote)(void *user, const char *what, const char *path), void *user,
                               cuzk_error *err) {
    porep_registered registered;
    char c1[SYNTH_PATH_BYTES], request[SYNTH_PATH_BYTES];
    synth_porep_registered(&registered, c->sector_bytes);
    if (synth_porep(c->params, &registered, seed, folder, p, control, c1, request, err)) return err->status;
    wrote(user, "c1", c1);
    wrote(user, "request", request);
    return CUZK_OK;
}

const circuit_kind porep_kind = {
    .name = "porep",
    .variants = variants,
    .sizes = sizes,
    .synthesize = porep_synthesize,
    .open = porep_open,
    .job_open = porep_job_open,
    .job_check = porep_job_check,
    .public_count = porep_public_count,
    .public_inputs = porep_public_inputs,
    .instance = porep_instance,
    .inspect = porep_inspect,
    .synth = porep_synth,
};
