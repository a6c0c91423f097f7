/* The entry "snap" of the table of kinds: circuits of nine sector sizes and two variants, and jobs made from a request
 * and one vanilla proof a partition.
 *
 * Only --size may part from the registered proof. The Poseidon variant has circuits, keys and proofs, but no jobs:
 * nothing makes vanilla proofs for it, so their form is not known, and no registered proof names it. Source:
 * docs/cli.md ("Jobs"), docs/circuits/snap.md.
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
#include "circuit/snap/snap.h"

static const char *const variants[] = {"", "poseidon", NULL};
static const uint64_t sizes[] = {2 * KIB,  4 * KIB,   16 * KIB, 32 * KIB, 8 * MIB,
                                 16 * MIB, 512 * MIB, 32 * GIB, 64 * GIB, 0};
#define VANILLA_MAX_BYTES ((size_t)4 << 20) /* seven times the largest proof */

static cuzk_status snap_open(circuit *c, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    snap_params *p = calloc(1, sizeof *p);
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a circuit's description");
    if (!snap_params_for(p, sector_bytes, variant)) {
        free(p);
        cuzk_fail(err, CUZK_USAGE, "there is no such update circuit");
        return cuzk_fail_found(err, "%llu bytes, variant \"%s\"", (unsigned long long)sector_bytes, variant);
    }
    c->params = c->params_memory = p;
    c->partitions = p->partitions;
    c->version = SNAP_CIRCUIT_VERSION;
    snprintf(c->shape_name, sizeof c->shape_name, "%s", c->name); /* the variants are different circuits */
    snap_cache_identifier(p, c->cache_identifier, sizeof c->cache_identifier);
    return CUZK_OK;
}

/* ---- opening a job ---- */

static cuzk_status check_usage(const job_files *files, bool facts_only, cuzk_error *err) {
    if (source_given(&files->c1)) {
        cuzk_fail(err, CUZK_USAGE, "a sector update reads no --c1 file");
        return cuzk_fail_hint(err, "give --request FILE and a --vanilla FILE for each partition");
    }
    bool has_request = source_given(&files->request);
    if (has_request && (facts_only || files->n_vanilla > 0)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, has_request ? "no vanilla proof is given" : "no request is given");
    return cuzk_fail_hint(err, facts_only ? "give --request FILE"
                                          : "give --request FILE and a --vanilla FILE for each partition");
}

static cuzk_status read_request(snap_request *q, const job_source *from, cuzk_error *err) {
    source_text text;
    cuzk_status s = source_open(&text, from, "request", SOURCE_ALONE, SNAP_REQUEST_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
    arena *scratch = arena_create(BUFFER_REQUEST, 0, err);
    s = scratch ? snap_request_read(q, scratch, text.name, text.data, text.bytes, err) : err->status;
    arena_destroy(scratch);
    source_close(&text);
    return s;
}

static cuzk_status read_partitions(snap_job *f, arena *memory, const job_files *files, cuzk_error *err) {
    const snap_params *p = f->params;
    if (files->n_vanilla != p->partitions) {
        cuzk_fail(err, CUZK_FOREIGN, "there is not one vanilla proof for each partition");
        cuzk_fail_expected(err, "%u, for a sector of this size", p->partitions);
        return cuzk_fail_found(err, "%zu", files->n_vanilla);
    }
    snap_partition *partitions = arena_alloc_array(memory, p->partitions, sizeof *partitions);
    if (!partitions) return cuzk_fail(err, CUZK_MEMORY, "no memory for vanilla proofs");
    for (unsigned k = 0; k < p->partitions; k++) {
        source_text text;
        partitions[k] = (snap_partition){.k = k,
                                         .comm_r_old = f->request.comm_r_old,
                                         .comm_d_new = f->request.comm_d_new,
                                         .comm_r_new = f->request.comm_r_new};
        cuzk_status s = source_open(&text, &files->vanilla[k], "vanilla", k, VANILLA_MAX_BYTES, err);
        if (s != CUZK_OK) return s;
        s = snap_proof_read(&partitions[k], memory, p, text.name, text.data, text.bytes, err);
        source_close(&text);
        if (s != CUZK_OK) return s;
    }
    f->partitions = partitions;
    return CUZK_OK;
}

static cuzk_status snap_job_open(job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    snap_job *f = arena_alloc(j->memory, sizeof *f);
    if (!f) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    cuzk_status s = check_usage(files, facts_only, err);
    if (s == CUZK_OK) s = read_request(&f->request, &files->request, err);
    if (s != CUZK_OK) return s;
    uint64_t size = files->size_override != 0 ? files->size_override : f->request.registered.sector_bytes;
    s = circuit_open(&j->circuit, "snap", size, "", err);
    if (s != CUZK_OK) return s;
    f->params = j->circuit.params;
    j->partitions = f->params->partitions;
    if (!facts_only) s = read_partitions(f, j->memory, files, err);
    j->data = f;
    return s;
}

/* ---- use ---- */

static cuzk_status snap_job_check(const job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    const snap_job *f = j->data;
    if (f->partitions) return snap_vanilla_check(f, p, control, err);
    cuzk_fail(err, CUZK_USAGE, "the job has no vanilla proof");
    return cuzk_fail_hint(err, "give a --vanilla FILE for each partition");
}

static size_t snap_public_count(const circuit *c) {
    (void)c;
    return SNAP_PUBLIC_INPUTS;
}

static void snap_job_public_inputs(const job *j, unsigned partition, fr *out) {
    const snap_job *f = j->data;
    const snap_request *q = &f->request;
    snap_public_inputs(f->params, partition, &q->comm_r_old, &q->comm_d_new, &q->comm_r_new, out);
}

static const void *snap_instance(const job *j, unsigned partition) {
    const snap_job *f = j->data;
    assert(f->partitions && partition < j->partitions);
    return &f->partitions[partition];
}

static void put_number(json_out *o, const char *key, uint64_t v) {
    json_put_key(o, key);
    json_put_u64(o, v);
}

static void inspect_partition(const snap_job *f, json_out *o, unsigned k) {
    uint64_t challenges[SNAP_MAX_CHALLENGES];
    json_begin_object(o);
    if (f->partitions) {
        facts_put_node(o, "comm_c", &f->partitions[k].comm_c);
        facts_put_node(o, "root_r_old", &f->partitions[k].challenges[0].r_old.root);
        facts_put_node(o, "root_r_new", &f->partitions[k].challenges[0].r_new.root);
    }
    snap_challenges(f->params, &f->request.comm_r_new, k, challenges);
    json_put_key(o, "challenges");
    json_begin_array(o);
    for (unsigned i = 0; i < f->params->challenges; i++) json_put_u64(o, challenges[i]);
    json_end_array(o);
    json_end_object(o);
}

static void snap_inspect(const job *j, json_out *o) {
    const snap_job *f = j->data;
    const snap_request *q = &f->request;
    uint64_t miner;
    json_put_key(o, "registered_proof");
    json_put_string(o, snap_registered_name(q->registered.number));
    json_put_key(o, "api_version");
    json_put_string(o, "1.1.0");
    if (q->has_prover && porep_miner_id(&miner, q->prover_id)) put_number(o, "miner_id", miner);
    facts_put_node(o, "comm_r_old", &q->comm_r_old);
    facts_put_node(o, "comm_r_new", &q->comm_r_new);
    facts_put_node(o, "comm_d_new", &q->comm_d_new);
    put_number(o, "h", f->params->h);
    put_number(o, "apex_leaves", f->params->apex_leaves);
    put_number(o, "challenges_per_partition", f->params->challenges);
    json_put_key(o, "vanilla_partitions");
    json_begin_array(o);
    for (unsigned k = 0; k < j->partitions; k++) inspect_partition(f, o, k);
    json_end_array(o);
}

static cuzk_status snap_kind_synth(const circuit *c, uint64_t seed, const char *folder, pool *p,
                                   const cuzk_control *control,
                                   void (*wrote)(void *user, const char *what, const char *path), void *user,
                                   cuzk_error *err) {
    const snap_params *params = c->params;
    if (params->poseidon) return snap_poseidon_refused(err);
    return snap_synth(params, seed, folder, p, control, wrote, user, err);
}

const circuit_kind snap_kind = {
    .name = "snap",
    .variants = variants,
    .sizes = sizes,
    .synthesize = snap_synthesize,
    .open = snap_open,
    .job_open = snap_job_open,
    .job_check = snap_job_check,
    .public_count = snap_public_count,
    .public_inputs = snap_job_public_inputs,
    .instance = snap_instance,
    .inspect = snap_inspect,
    .synth = snap_kind_synth,
};
