/* The entries "winning-post" and "window-post" of the table of kinds: circuits of ten sector sizes, and jobs made from
 * a request and one vanilla proof a sector.
 *
 * A window job has as many partitions as its sectors fill, or one when the request names its place among the others. A
 * partition's last slots are the last sector again, inputs and all. A winning job has the drawn sector alone, in all
 * slots. Only --size may part from the registered proof; sector number and comm_r of each vanilla proof must be those
 * of the request. Source: docs/cli.md ("Jobs"), docs/circuits/post.md.
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
#include "circuit/post/post.h"

static const char *const variants[] = {"", NULL};
static const uint64_t sizes[] = {2 * KIB,   4 * KIB, 16 * KIB, 32 * KIB, 8 * MIB, 16 * MIB,
                                 512 * MIB, 1 * GIB, 32 * GIB, 64 * GIB, 0};
#define VANILLA_MAX_BYTES ((size_t)1 << 20) /* six times the largest proof */

static cuzk_status open_circuit(circuit *c, post_kind kind, uint64_t sector_bytes, cuzk_error *err) {
    post_params *p = calloc(1, sizeof *p);
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a circuit's description");
    if (!post_params_for(p, kind, sector_bytes)) {
        free(p);
        cuzk_fail(err, CUZK_USAGE, "there is no such PoSt circuit");
        return cuzk_fail_found(err, "%llu bytes", (unsigned long long)sector_bytes);
    }
    c->params = c->params_memory = p;
    c->partitions = 1; /* more only with more sectors */
    c->version = POST_CIRCUIT_VERSION;
    post_cache_identifier(p, c->cache_identifier, sizeof c->cache_identifier);
    return CUZK_OK;
}

static cuzk_status winning_open(circuit *c, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    (void)variant;
    return open_circuit(c, POST_WINNING, sector_bytes, err);
}

static cuzk_status window_open(circuit *c, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    (void)variant;
    return open_circuit(c, POST_WINDOW, sector_bytes, err);
}

/* ---- opening a job ---- */

static cuzk_status check_usage(const job_files *files, bool facts_only, cuzk_error *err) {
    if (source_given(&files->c1)) {
        cuzk_fail(err, CUZK_USAGE, "PoSt reads no --c1 file");
        return cuzk_fail_hint(err, "give --request FILE and a --vanilla FILE for each sector");
    }
    bool has_request = source_given(&files->request);
    if (has_request && (facts_only || files->n_vanilla > 0)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, has_request ? "no vanilla proof is given" : "no request is given");
    return cuzk_fail_hint(err, facts_only ? "give --request FILE"
                                          : "give --request FILE and a --vanilla FILE for each sector");
}

static cuzk_status read_request(post_request *q, arena *memory, const job_source *from, cuzk_error *err) {
    source_text text;
    cuzk_status s = source_open(&text, from, "request", SOURCE_ALONE, POST_REQUEST_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
    arena *scratch = arena_create(BUFFER_REQUEST, 0, err);
    s = scratch ? post_request_read(q, memory, scratch, text.name, text.data, text.bytes, err) : err->status;
    arena_destroy(scratch);
    source_close(&text);
    return s;
}

/* Sectors and partitions that the request names are ones that this kind has. */
static cuzk_status check_sectors(const post_request *q, const post_params *p, cuzk_error *err) {
    if (p->kind == POST_WINNING && q->n != 1) {
        cuzk_fail(err, CUZK_FOREIGN, "a winning proof is of one sector, the drawn one");
        cuzk_fail_expected(err, "1 sector");
        return cuzk_fail_found(err, "%zu", q->n);
    }
    if (p->kind == POST_WINDOW && q->has_partition_index && q->n > p->slots) {
        cuzk_fail(err, CUZK_FOREIGN, "the request names one partition, but has more sectors than fit");
        cuzk_fail_expected(err, "at most %u sectors", p->slots);
        cuzk_fail_found(err, "%zu", q->n);
        return cuzk_fail_hint(err, "give this partition's sectors, or leave out partition_index");
    }
    return CUZK_OK;
}

/* The vanilla proof is of the request's sector. */
static cuzk_status proof_agrees(const post_request *q, const post_proof *proof, size_t i, const char *name,
                                cuzk_error *err) {
    const post_sector *sector = &q->sectors[i];
    if (proof->number != sector->number) {
        cuzk_fail(err, CUZK_FOREIGN, "the vanilla proof is of another sector than the request has in its place");
        cuzk_fail_where(err, "%s: byte 0, sector number (sectors[%zu] of the request)", name, i);
        cuzk_fail_expected(err, "sector %llu", (unsigned long long)sector->number);
        cuzk_fail_found(err, "sector %llu", (unsigned long long)proof->number);
        return cuzk_fail_hint(err, "give the vanilla proofs in the order of the request's sectors");
    }
    if (memcmp(proof->comm_r, sector->comm_r, 32) != 0) {
        char hex[65];
        cuzk_fail(err, CUZK_FOREIGN, "the vanilla proof's comm_r is not the request's");
        cuzk_fail_where(err, "%s: byte 8, comm_r (sectors[%zu] of the request)", name, i);
        text_hex(hex, sector->comm_r, 32);
        cuzk_fail_expected(err, "%s", hex);
        text_hex(hex, proof->comm_r, 32);
        return cuzk_fail_found(err, "%s", hex);
    }
    return CUZK_OK;
}

static cuzk_status read_proofs(post_job *f, arena *memory, const job_files *files, cuzk_error *err) {
    const post_request *q = &f->request;
    if (files->n_vanilla != q->n) {
        cuzk_fail(err, CUZK_FOREIGN, "there is not one vanilla proof for each sector of the request");
        cuzk_fail_expected(err, "%zu", q->n);
        return cuzk_fail_found(err, "%zu", files->n_vanilla);
    }
    post_proof *proofs = arena_alloc_array(memory, q->n, sizeof *proofs);
    if (!proofs) return cuzk_fail(err, CUZK_MEMORY, "no memory for vanilla proofs");
    for (size_t i = 0; i < q->n; i++) {
        source_text text;
        cuzk_status s = source_open(&text, &files->vanilla[i], "vanilla", i, VANILLA_MAX_BYTES, err);
        if (s != CUZK_OK) return s;
        s = post_proof_read(&proofs[i], memory, f->params, text.name, text.data, text.bytes, err);
        if (s == CUZK_OK) s = proof_agrees(q, &proofs[i], i, text.name, err);
        source_close(&text);
        if (s != CUZK_OK) return s;
    }
    f->proofs = proofs;
    return CUZK_OK;
}

static void fill_slot(post_slot *slot, const post_job *f, size_t sector, size_t path) {
    const post_proof *proof = &f->proofs[sector];
    bool canonical = fr_from_le_bytes(&slot->comm_r, f->request.sectors[sector].comm_r);
    assert(canonical); /* since reading */
    (void)canonical;
    slot->comm_c = proof->comm_c;
    slot->comm_r_last = proof->comm_r_last;
    slot->paths = proof->paths + path;
}

/* A winning sector answers in every slot with another path; a window sector has a slot. */
static cuzk_status make_partitions(post_job *f, arena *memory, cuzk_error *err) {
    const post_params *p = f->params;
    bool winning = p->kind == POST_WINNING;
    size_t n = winning ? p->slots : f->request.n;
    post_slot *slots = arena_alloc_array(memory, n, sizeof *slots);
    post_partition *partitions = arena_alloc_array(memory, f->n_partitions, sizeof *partitions);
    if (!slots || !partitions) return cuzk_fail(err, CUZK_MEMORY, "no memory for partitions");
    for (size_t i = 0; i < n; i++) fill_slot(&slots[i], f, winning ? 0 : i, winning ? i : 0);
    for (unsigned k = 0; k < f->n_partitions; k++) {
        size_t first = (size_t)k * p->slots;
        partitions[k].slots = slots + first;
        partitions[k].n = n - first < p->slots ? (unsigned)(n - first) : p->slots;
    }
    f->partitions = partitions;
    return CUZK_OK;
}

static cuzk_status open_as(post_kind kind, job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    post_job *f = arena_alloc(j->memory, sizeof *f);
    if (!f) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    cuzk_status s = check_usage(files, facts_only, err);
    if (s == CUZK_OK) s = read_request(&f->request, j->memory, &files->request, err);
    if (s != CUZK_OK) return s;
    const post_registered *r = &f->request.registered;
    if (r->kind != kind) {
        cuzk_fail(err, CUZK_FOREIGN, "the request's registered proof is of another kind");
        cuzk_fail_where(err, "%s: $.registered_proof", source_name(&files->request, "request"));
        cuzk_fail_expected(err, "%s", post_kind_name(kind));
        return cuzk_fail_found(err, "%s", post_registered_name(r->number));
    }
    uint64_t size = files->size_override != 0 ? files->size_override : r->sector_bytes;
    s = circuit_open(&j->circuit, post_kind_name(kind), size, "", err);
    if (s != CUZK_OK) return s;
    f->params = j->circuit.params;
    s = check_sectors(&f->request, f->params, err);
    if (s != CUZK_OK) return cuzk_fail_where(err, "%s: $.sectors", source_name(&files->request, "request"));
    unsigned each = post_sectors(f->params);
    j->partitions = f->n_partitions = (unsigned)((f->request.n + each - 1) / each);
    if (!facts_only) s = read_proofs(f, j->memory, files, err);
    if (s == CUZK_OK && !facts_only) s = make_partitions(f, j->memory, err);
    j->data = f;
    return s;
}

static cuzk_status winning_job_open(job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    return open_as(POST_WINNING, j, files, facts_only, err);
}

static cuzk_status window_job_open(job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    return open_as(POST_WINDOW, j, files, facts_only, err);
}

/* ---- use ---- */

unsigned post_partition_sectors(const post_job *j, unsigned partition, size_t *first) {
    unsigned each = post_sectors(j->params);
    *first = (size_t)partition * each;
    return j->request.n - *first < each ? (unsigned)(j->request.n - *first) : each;
}

uint64_t post_sector_position(const post_job *j, unsigned partition, unsigned slot) {
    if (j->params->kind == POST_WINNING) return 0;
    return (j->request.partition_index + partition) * j->params->slots + slot;
}

static cuzk_status post_job_check(const job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    const post_job *f = j->data;
    if (f->proofs) return post_vanilla_check(f, p, control, err);
    cuzk_fail(err, CUZK_USAGE, "the job has no vanilla proof");
    return cuzk_fail_hint(err, "give a --vanilla FILE for each sector");
}

static size_t post_public_count(const circuit *c) {
    const post_params *p = c->params;
    return (size_t)p->slots * (1 + p->challenges);
}

/* For each slot comm_r and the challenged leaves. */
static void post_public_inputs(const job *j, unsigned partition, fr *out) {
    const post_job *f = j->data;
    const post_params *p = f->params;
    const post_request *q = &f->request;
    uint64_t challenges[POST_MAX_CHALLENGES];
    size_t first, width = 1 + p->challenges;
    unsigned n = post_partition_sectors(f, partition, &first);
    bool winning = p->kind == POST_WINNING;
    for (unsigned i = 0; i < p->slots; i++) {
        fr *at = out + i * width;
        if (!winning && i >= n) {
            memcpy(at, at - width, width * sizeof *at);
            continue;
        }
        const post_sector *sector = &q->sectors[winning ? 0 : first + i];
        if (!winning || i == 0)
            post_challenges(p, q->registered.api_version, q->randomness, sector->number,
                            post_sector_position(f, partition, i), challenges);
        bool canonical = fr_from_le_bytes(&at[0], sector->comm_r);
        assert(canonical); /* since reading */
        (void)canonical;
        for (unsigned c = 0; c < p->challenges; c++) fr_from_u64(&at[1 + c], challenges[winning ? i : c]);
    }
}

static const void *post_instance(const job *j, unsigned partition) {
    const post_job *f = j->data;
    assert(f->partitions && partition < j->partitions);
    return &f->partitions[partition];
}

static void inspect_sector(const post_job *f, json_out *o, size_t sector) {
    const post_request *q = &f->request;
    unsigned each = post_sectors(f->params);
    uint64_t challenges[POST_MAX_CHALLENGES];
    json_begin_object(o);
    json_put_key(o, "number");
    json_put_u64(o, q->sectors[sector].number);
    facts_put_bytes(o, "comm_r", q->sectors[sector].comm_r);
    if (f->proofs) {
        facts_put_node(o, "comm_c", &f->proofs[sector].comm_c);
        facts_put_node(o, "comm_r_last", &f->proofs[sector].comm_r_last);
    }
    post_challenges(f->params, q->registered.api_version, q->randomness, q->sectors[sector].number,
                    post_sector_position(f, (unsigned)(sector / each), (unsigned)(sector % each)), challenges);
    json_put_key(o, "challenges");
    json_begin_array(o);
    for (unsigned i = 0; i < post_challenges_of_sector(f->params); i++) json_put_u64(o, challenges[i]);
    json_end_array(o);
    json_end_object(o);
}

static void post_inspect(const job *j, json_out *o) {
    const post_job *f = j->data;
    const post_request *q = &f->request;
    uint64_t miner;
    unsigned api = q->registered.api_version;
    char version[24];
    snprintf(version, sizeof version, "%u.%u.%u", api / 100, api / 10 % 10, api % 10);
    json_put_key(o, "registered_proof");
    json_put_string(o, post_registered_name(q->registered.number));
    json_put_key(o, "api_version");
    json_put_string(o, version);
    if (q->has_prover) facts_put_bytes(o, "prover_id", q->prover_id);
    if (q->has_prover && porep_miner_id(&miner, q->prover_id)) {
        json_put_key(o, "miner_id");
        json_put_u64(o, miner);
    }
    facts_put_bytes(o, "randomness", q->randomness);
    if (q->has_partition_index && f->params->kind == POST_WINDOW) {
        json_put_key(o, "partition_index");
        json_put_u64(o, q->partition_index);
    }
    json_put_key(o, "slots");
    json_put_u64(o, f->params->slots);
    json_put_key(o, "challenges_per_slot");
    json_put_u64(o, f->params->challenges);
    json_put_key(o, "sectors");
    json_begin_array(o);
    for (size_t i = 0; i < q->n; i++) inspect_sector(f, o, i);
    json_end_array(o);
}

static cuzk_status post_kind_synth(const circuit *c, uint64_t seed, const char *folder, pool *p,
                                   const cuzk_control *control,
                                   void (*wrote)(void *user, const char *what, const char *path), void *user,
                                   cuzk_error *err) {
    return post_synth(c->params, seed, folder, p, control, wrote, user, err);
}

#define POST_KIND(name_, open_, job_open_, lazy_)                                                                      \
    {                                                                                                                  \
        .name = name_, .variants = variants, .sizes = sizes, .synthesize = post_synthesize, .lazy_blocks = lazy_,      \
        .open = open_, .job_open = job_open_, .job_check = post_job_check, .public_count = post_public_count,          \
        .public_inputs = post_public_inputs, .instance = post_instance, .inspect = post_inspect,                       \
        .synth = post_kind_synth,                                                                                      \
    }

/* A winning witness is a few megabytes; a window partition's can be 4 GB. */
const circuit_kind winning_post_kind = POST_KIND("winning-post", winning_open, winning_job_open, false);
const circuit_kind window_post_kind = POST_KIND("window-post", window_open, window_job_open, true);
