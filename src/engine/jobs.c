/* The table of jobs: identity, submitting, awaiting, cancelling, ending, and what the store knows.
 *
 * Ended jobs stay in the table, small, until they are purged: an await finds them by id. A job is put into the store
 * with the lock given up; until it is there it is `arriving`: others that submit the same wait for it, the scheduler
 * passes it over.
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"

#define ID_MAX 255u
#define EARLY_PARSE_MAX ((uint64_t)1 << 20) /* so small an input is read at once, so that faults are told at once */

bool jobs_ended(const engine_job *j) {
    return j->state == CUZK_JOB_COMPLETED || j->state == CUZK_JOB_FAILED || j->state == CUZK_JOB_CANCELLED;
}

const char *cuzk_job_state_name(cuzk_job_state state) {
    static const char *const names[] = {"unknown", "queued", "running", "completed", "failed", "cancelled"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : names[0];
}

/* ---- the table ---- */

static unsigned bucket_of(const char *id) {
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (; *id; id++) h = (h ^ (uint8_t)*id) * 1099511628211u;
    return (unsigned)(h >> 32) % JOB_BUCKETS;
}

engine_job *jobs_find_locked(cuzk_engine *e, const char *id) {
    for (engine_job *j = e->buckets[bucket_of(id)]; j; j = j->next_in_bucket)
        if (!strcmp(j->id, id)) return j;
    return NULL;
}

static engine_job *find_seq_locked(cuzk_engine *e, uint64_t seq) {
    engine_job *j = e->newest;
    while (j && j->seq > seq) j = j->older;
    return j && j->seq == seq ? j : NULL;
}

static void live_add_locked(cuzk_engine *e, engine_job *j) {
    j->live_before = e->live_last;
    j->live_after = NULL;
    *(e->live_last ? &e->live_last->live_after : &e->live_first) = j;
    e->live_last = j;
    e->n_live++;
    j->listed = true;
}

static void live_remove_locked(cuzk_engine *e, engine_job *j) {
    if (!j->listed) return;
    *(j->live_before ? &j->live_before->live_after : &e->live_first) = j->live_after;
    *(j->live_after ? &j->live_after->live_before : &e->live_last) = j->live_before;
    j->live_before = j->live_after = NULL;
    e->n_live--;
    j->listed = false;
}

static void table_add_locked(cuzk_engine *e, engine_job *j) {
    unsigned b = bucket_of(j->id);
    j->next_in_bucket = e->buckets[b];
    e->buckets[b] = j;
    j->older = e->newest;
    *(e->newest ? &e->newest->newer : &e->oldest) = j;
    e->newest = j;
    if (!jobs_ended(j)) live_add_locked(e, j);
}

static void table_remove_locked(cuzk_engine *e, engine_job *j) {
    engine_job **at = &e->buckets[bucket_of(j->id)];
    while (*at != j) at = &(*at)->next_in_bucket;
    *at = j->next_in_bucket;
    *(j->older ? &j->older->newer : &e->oldest) = j->newer;
    *(j->newer ? &j->newer->older : &e->newest) = j->older;
    live_remove_locked(e, j);
}

static void job_free(engine_job *j) {
    free(j->id);
    free(j->partitions);
    free(j->proofs);
    free(j->error);
    free(j);
}

void jobs_unuse(cuzk_engine *e, engine_job *j) {
    pthread_mutex_lock(&e->lock);
    assert(j->uses > 0);
    j->uses--;
    pthread_mutex_unlock(&e->lock);
}

void jobs_free_all(cuzk_engine *e) {
    while (e->oldest) {
        engine_job *j = e->oldest;
        table_remove_locked(e, j);
        prepared_drop(j->prep);
        job_free(j);
    }
}

kind_counters *jobs_counters_locked(cuzk_engine *e, const char *kind) {
    for (size_t i = 0; i < e->n_counters; i++)
        if (!strcmp(e->counters[i].kind, kind)) return &e->counters[i];
    if (e->n_counters == ENGINE_KINDS_MAX) return &e->counters[ENGINE_KINDS_MAX - 1];
    kind_counters *k = &e->counters[e->n_counters++];
    snprintf(k->kind, sizeof k->kind, "%s", kind);
    return k;
}

void jobs_store_fields_locked(const engine_job *j, store_job *out) {
    memset(out, 0, sizeof *out);
    out->seq = j->seq;
    out->request_id = j->id;
    out->kind = j->kind;
    out->circuit = j->circuit;
    memcpy(out->digest, j->digest, sizeof out->digest);
    out->sector_bytes = j->sector_bytes;
    out->priority = j->priority;
    out->policy = j->policy;
    out->submitted = j->submitted;
    out->deadline = j->deadline;
    out->payload_bytes = j->payload_bytes;
    out->state = j->state;
    out->partitions = j->n_partitions;
    out->runs = j->runs;
    out->finished = j->finished;
    if (j->error) out->error = *j->error;
    out->times = j->times;
}

/* ---- submitting ---- */

static void hash_part(hash_ctx *h, const void *data, uint64_t n) {
    uint8_t le[8];
    for (int i = 0; i < 8; i++) le[i] = (uint8_t)(n >> 8 * i);
    hash_update(h, le, sizeof le);
    if (n) hash_update(h, data, n);
}

/* Of everything that decides what is proved. */
static void digest_of(uint8_t out[32], const cuzk_submission *s) {
    hash_ctx *h = hash_create(HASH_SHA256);
    hash_part(h, s->kind, strlen(s->kind));
    hash_part(h, &s->sector_bytes, sizeof s->sector_bytes);
    hash_part(h, s->c1.data, s->c1.n);
    hash_part(h, s->request.data, s->request.n);
    for (size_t i = 0; i < s->n_vanilla; i++) hash_part(h, s->vanilla[i].data, s->vanilla[i].n);
    hash_final(h, out);
    hash_destroy(h);
}

static uint64_t payload_of(const cuzk_submission *s) {
    uint64_t n = s->c1.n + s->request.n;
    for (size_t i = 0; i < s->n_vanilla; i++) n += s->vanilla[i].n;
    return n;
}

static job_source source_of(cuzk_bytes b) {
    return (job_source){.data = b.n ? b.data : NULL, .bytes = b.n};
}

/* A small input is read here, so that its faults are told to the caller and not to its first await. */
static cuzk_status read_early(cuzk_engine *e, const circuit_kind *kind, const cuzk_submission *s, cuzk_error *err) {
    if (payload_of(s) > EARLY_PARSE_MAX) return CUZK_OK;
    job_source *vanilla = calloc(s->n_vanilla ? s->n_vanilla : 1, sizeof *vanilla);
    if (!vanilla) return cuzk_fail(err, CUZK_MEMORY, "no memory for the input");
    for (size_t i = 0; i < s->n_vanilla; i++) vanilla[i] = source_of(s->vanilla[i]);
    job_files files = {.c1 = source_of(s->c1),
                       .request = source_of(s->request),
                       .vanilla = vanilla,
                       .n_vanilla = s->n_vanilla,
                       .size_override = s->sector_bytes};
    job j;
    cuzk_status status = job_open_kind(&j, kind, &files, false, err);
    free(vanilla);
    if (status) return status;
    if (!engine_circuit_enabled(e, j.circuit.name)) {
        cuzk_fail(err, CUZK_USAGE, "this engine does not prove this circuit");
        status = cuzk_fail_found(err, "%s", j.circuit.name);
    }
    job_close(&j);
    return status;
}

static cuzk_status check_submission(cuzk_engine *e, const cuzk_submission *s, const circuit_kind **kind,
                                    cuzk_error *err) {
    if (!s->kind || !(*kind = engine_kind(e, s->kind))) {
        cuzk_fail(err, CUZK_USAGE, "there is no such proof kind");
        return cuzk_fail_found(err, "%.100s", s->kind ? s->kind : "none");
    }
    if (s->request_id && strlen(s->request_id) > ID_MAX) {
        cuzk_fail(err, CUZK_USAGE, "the request id is too long");
        cuzk_fail_expected(err, "at most %u bytes", ID_MAX);
        return cuzk_fail_found(err, "%zu", strlen(s->request_id));
    }
    if ((unsigned)s->priority > CUZK_PRIORITY_CRITICAL || (unsigned)s->policy > CUZK_CPU)
        return cuzk_fail(err, CUZK_USAGE, "there is no such priority or device policy");
    if (devices_for_policy(e, devices_policy(e, s->policy), err)) return err->status;
    return read_early(e, *kind, s, err);
}

static cuzk_priority priority_of(const cuzk_submission *s) {
    if (s->priority != CUZK_PRIORITY_DEFAULT) return s->priority;
    if (!strcmp(s->kind, "winning-post")) return CUZK_PRIORITY_CRITICAL;
    return strcmp(s->kind, "window-post") ? CUZK_PRIORITY_NORMAL : CUZK_PRIORITY_HIGH;
}

static cuzk_status job_make(engine_job **out, const cuzk_submission *s, const circuit_kind *kind, cuzk_error *err) {
    engine_job *j = calloc(1, sizeof *j);
    char id[64];
    *out = NULL;
    if (!j) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    const char *given = s->request_id && *s->request_id ? s->request_id : NULL;
    if (!given) { /* RFC 9562, version 4 */
        uint8_t r[16];
        char hex[33];
        if (random_bytes(r, sizeof r, err)) {
            free(j);
            return err->status;
        }
        r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
        r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
        text_hex(hex, r, sizeof r);
        snprintf(id, sizeof id, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
    }
    j->id = strdup(given ? given : id);
    if (!j->id) {
        free(j);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    }
    snprintf(j->kind, sizeof j->kind, "%s", s->kind);
    j->kind_code = kind;
    digest_of(j->digest, s);
    j->sector_bytes = s->sector_bytes;
    j->payload_bytes = payload_of(s);
    j->priority = priority_of(s);
    j->policy = s->policy;
    j->submitted = engine_epoch();
    j->submitted_mono = cpu_monotonic_seconds();
    j->deadline = s->deadline_seconds > 0 ? j->submitted + s->deadline_seconds : 0;
    j->state = CUZK_JOB_QUEUED;
    j->arriving = true;
    *out = j;
    return CUZK_OK;
}

static void ticket_fill_locked(const cuzk_engine *e, const engine_job *j, bool joined, cuzk_job_ticket *ticket) {
    double now = cpu_monotonic_seconds();
    memset(ticket, 0, sizeof *ticket);
    snprintf(ticket->job_id, sizeof ticket->job_id, "%s", j->id);
    ticket->joined = joined;
    for (const engine_job *o = e->live_first; o && !jobs_ended(j); o = o->live_after)
        if (o != j && schedule_before(e, o, j, now)) ticket->queue_position++;
}

/* A job in memory keeps its input there: at most a quarter of the budget in all, so that proofs have room. */
static cuzk_status memory_payload_fits_locked(cuzk_engine *e, const engine_job *j, cuzk_error *err) {
    if (!e->store_is_memory) return CUZK_OK;
    uint64_t most = budget_get(e->host).total / 4;
    if (j->payload_bytes <= most && e->memory_payloads <= most - j->payload_bytes) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "too many inputs wait in memory");
    cuzk_fail_expected(err, "at most %llu bytes in all", (unsigned long long)most);
    cuzk_fail_found(err, "%llu bytes, and %llu more", (unsigned long long)e->memory_payloads,
                    (unsigned long long)j->payload_bytes);
    return cuzk_fail_hint(err, "submit it again when jobs have ended, or give the engine a store on disk");
}

static void payload_gone_locked(cuzk_engine *e, const engine_job *j) {
    if (e->store_is_memory) e->memory_payloads -= j->payload_bytes;
}

/* Under the lock: the job of this id that an equal submission joins; waits while it arrives. *superseded: used. */
static engine_job *join_locked(cuzk_engine *e, const engine_job *mine, engine_job **superseded) {
    *superseded = NULL;
    engine_job *j;
    while ((j = jobs_find_locked(e, mine->id)) && j->arriving) engine_wait_locked(e, -1);
    if (!j || j->state == CUZK_JOB_FAILED || j->state == CUZK_JOB_CANCELLED) return NULL;
    bool same = !strcmp(j->kind, mine->kind) && !memcmp(j->digest, mine->digest, sizeof j->digest);
    if (same && (!j->ending || j->completing)) return j;
    if (same || jobs_ended(j) || j->ending) return NULL;
    j->uses++;
    *superseded = j;
    return NULL;
}

static void supersede(cuzk_engine *e, engine_job *old) {
    pthread_mutex_lock(&e->lock);
    bool awaited = old->waiters > 0;
    old->superseded = true;
    if (!awaited) e->superseded++;
    pthread_mutex_unlock(&e->lock);
    if (!awaited) {
        cuzk_error why;
        cuzk_fail(&why, CUZK_CANCELLED, "a newer submission of the same id with other content took its place");
        jobs_end(e, old, CUZK_JOB_CANCELLED, &why);
    }
    jobs_unuse(e, old);
}

/* Puts the new job into the store; it is in the table already, used. */
static cuzk_status arrive(cuzk_engine *e, engine_job *j, const cuzk_submission *s, cuzk_error *err) {
    store_job row;
    pthread_mutex_lock(&e->lock);
    jobs_store_fields_locked(j, &row);
    pthread_mutex_unlock(&e->lock);
    cuzk_status status = e->st->ops->put(e->st, &row, s, err);
    pthread_mutex_lock(&e->lock);
    j->arriving = false;
    if (status) {
        payload_gone_locked(e, j);
        table_remove_locked(e, j);
        if (status == CUZK_DISK || status == CUZK_IO) jobs_trouble_locked(e, err);
    } else {
        jobs_counters_locked(e, j->kind)->pending++;
        trace_record(e->events, TRACE_JOB_SUBMITTED, j->seq, TRACE_NO_PARTITION, "");
    }
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    return status;
}

static cuzk_status submit(cuzk_engine *e, const cuzk_submission *given, cuzk_job_ticket *ticket, uint64_t *seq,
                          cuzk_error *err) {
    cuzk_submission s = {0};
    const circuit_kind *kind;
    engine_job *mine, *old;
    memcpy(&s, given, given->size && given->size < sizeof s ? given->size : sizeof s);
    if (seq) *seq = 0;
    if (check_submission(e, &s, &kind, err)) return err->status;
    if (job_make(&mine, &s, kind, err)) return err->status;
    pthread_mutex_lock(&e->lock);
    engine_job *j = join_locked(e, mine, &old);
    cuzk_status status = CUZK_OK;
    if (j) {
        e->joined++;
        if (seq) j->waiters++;
        ticket_fill_locked(e, j, true, ticket);
    } else if (e->draining) {
        status = cuzk_fail(err, CUZK_REFUSED, "the engine is stopping and takes no new jobs");
    } else {
        status = memory_payload_fits_locked(e, mine, err);
    }
    if (j || status) {
        if (seq && j) *seq = j->seq;
        if (old) old->uses--;
        pthread_mutex_unlock(&e->lock);
        job_free(mine);
        return status;
    }
    if (e->store_is_memory) e->memory_payloads += mine->payload_bytes;
    mine->seq = ++e->last_seq;
    mine->uses = 1;
    if (seq) mine->waiters = 1;
    table_add_locked(e, mine);
    pthread_mutex_unlock(&e->lock);
    status = arrive(e, mine, &s, err);
    if (old && status) jobs_unuse(e, old);
    if (old && !status) supersede(e, old);
    pthread_mutex_lock(&e->lock);
    mine->uses--;
    if (!status) ticket_fill_locked(e, mine, false, ticket);
    if (!status && seq) *seq = mine->seq;
    pthread_mutex_unlock(&e->lock);
    if (status) job_free(mine);
    return status;
}

cuzk_status cuzk_engine_submit(cuzk_engine *e, const cuzk_submission *submission, cuzk_job_ticket *ticket,
                               cuzk_error *err) {
    return submit(e, submission, ticket, NULL, err);
}

cuzk_status engine_submit_wait(cuzk_engine *e, const cuzk_submission *submission, cuzk_job_ticket *ticket,
                               uint64_t *seq, cuzk_error *err) {
    return submit(e, submission, ticket, seq, err);
}

/* ---- awaiting ---- */

uint64_t engine_find(cuzk_engine *e, const char *job_id) {
    pthread_mutex_lock(&e->lock);
    const engine_job *j = jobs_find_locked(e, job_id);
    uint64_t seq = j ? j->seq : 0;
    pthread_mutex_unlock(&e->lock);
    return seq;
}

uint64_t engine_wait_begin(cuzk_engine *e, const char *job_id) {
    pthread_mutex_lock(&e->lock);
    engine_job *j = jobs_find_locked(e, job_id);
    if (j) j->waiters++;
    uint64_t seq = j ? j->seq : 0;
    pthread_mutex_unlock(&e->lock);
    return seq;
}

/* When the last waiter of a superseded job goes, the job goes. */
static void wait_over(cuzk_engine *e, engine_job *j) {
    cuzk_error why;
    pthread_mutex_lock(&e->lock);
    j->waiters--;
    bool drop = j->superseded && !j->waiters && !jobs_ended(j) && !j->ending && !e->stopping;
    if (drop) e->superseded++;
    pthread_mutex_unlock(&e->lock);
    if (!drop) return;
    cuzk_fail(&why, CUZK_CANCELLED, "a newer submission of the same id took its place, and nobody waits for it");
    jobs_end(e, j, CUZK_JOB_CANCELLED, &why);
}

void engine_wait_end(cuzk_engine *e, uint64_t seq) {
    pthread_mutex_lock(&e->lock);
    engine_job *j = seq ? find_seq_locked(e, seq) : NULL;
    if (j) j->uses++;
    pthread_mutex_unlock(&e->lock);
    if (!j) return;
    wait_over(e, j);
    jobs_unuse(e, j);
}

/* The proofs, from the store or (while it could not take them) from here. The job is used. */
static cuzk_status proofs_of(cuzk_engine *e, engine_job *j, cuzk_job_result *out, cuzk_error *err) {
    pthread_mutex_lock(&e->lock);
    bool here = j->proofs != NULL;
    if (here) {
        out->proof = malloc(j->proof_bytes);
        if (out->proof) memcpy(out->proof, j->proofs, out->proof_bytes = j->proof_bytes);
    }
    pthread_mutex_unlock(&e->lock);
    if (here) return out->proof ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the proof");
    buffer b = {0};
    cuzk_status s = e->st->ops->result(e->st, j->seq, &b, err);
    if (s) return s;
    out->proof = malloc(b.bytes ? b.bytes : 1);
    if (out->proof) memcpy(out->proof, b.data, out->proof_bytes = b.bytes);
    buffer_free(&b);
    return out->proof ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the proof");
}

/* Waits for a job that is counted as waited for by the caller. */
static cuzk_status await_job(cuzk_engine *e, engine_job *j, double timeout, cuzk_job_result *out, cuzk_error *err) {
    double until = timeout < 0 ? -1 : cpu_monotonic_seconds() + timeout;
    pthread_mutex_lock(&e->lock);
    e->calls++;
    while (!jobs_ended(j) && !e->stopping && (until < 0 || cpu_monotonic_seconds() < until))
        engine_wait_locked(e, until);
    out->state = j->state;
    if (j->error) out->error = *j->error;
    out->attempts = j->attempts;
    out->times = j->times;
    pthread_mutex_unlock(&e->lock);
    cuzk_status s = out->state == CUZK_JOB_COMPLETED ? proofs_of(e, j, out, err) : CUZK_OK;
    pthread_mutex_lock(&e->lock);
    e->calls--;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    return s;
}

static cuzk_status await_found(cuzk_engine *e, const char *id, uint64_t seq, double timeout, cuzk_job_result *out,
                               cuzk_error *err) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&e->lock);
    engine_job *j = id ? jobs_find_locked(e, id) : find_seq_locked(e, seq);
    if (j) j->uses++, j->waiters++;
    pthread_mutex_unlock(&e->lock);
    if (!j) return CUZK_OK;
    cuzk_status s = await_job(e, j, timeout, out, err);
    wait_over(e, j);
    jobs_unuse(e, j);
    return s;
}

cuzk_status cuzk_engine_await(cuzk_engine *e, const char *job_id, double timeout_seconds, cuzk_job_result *out,
                              cuzk_error *err) {
    return await_found(e, job_id, 0, timeout_seconds, out, err);
}

cuzk_status engine_await_seq(cuzk_engine *e, uint64_t seq, double timeout_seconds, cuzk_job_result *out,
                             cuzk_error *err) {
    return await_found(e, NULL, seq, timeout_seconds, out, err);
}

void cuzk_job_result_free(cuzk_job_result *result) {
    free(result->proof);
    result->proof = NULL;
    result->proof_bytes = 0;
}

/* ---- ending ---- */

static void observe(cuzk_engine *e, const char *kind, const cuzk_job_times *t) {
    trace_observe(e->events, kind, "queue", t->queue_wait);
    if (t->key_load > 0) trace_observe(e->events, kind, "key_load", t->key_load);
    trace_observe(e->events, kind, "vanilla_check", t->vanilla_check);
    trace_observe(e->events, kind, "synthesis", t->synthesis);
    trace_observe(e->events, kind, "device_wait", t->device_wait);
    trace_observe(e->events, kind, "device", t->device);
    trace_observe(e->events, kind, "finish", t->finish);
    trace_observe(e->events, kind, "verify", t->verify);
    trace_observe(e->events, kind, "total", t->total);
}

/* Under the lock: takes from the job what it holds for working. Attempts to be freed are chained. */
static attempt *strip_locked(cuzk_engine *e, engine_job *j, prepared **prep) {
    attempt *chain = NULL;
    atomic_store(&j->cancel, 1);
    for (unsigned k = 0; j->partitions && k < j->n_partitions; k++) {
        attempt *a = attempt_abandon_locked(e, &j->partitions[k]);
        if (!a) continue;
        a->next = chain;
        chain = a;
    }
    *prep = j->prep;
    j->prep = NULL;
    return chain;
}

static void counters_end_locked(cuzk_engine *e, engine_job *j, cuzk_job_state state) {
    kind_counters *k = jobs_counters_locked(e, j->kind);
    (*(j->state == CUZK_JOB_RUNNING ? &k->running : &k->pending))--;
    if (state == CUZK_JOB_COMPLETED) k->completed++;
    if (state == CUZK_JOB_FAILED) k->failed++;
    if (state == CUZK_JOB_CANCELLED) k->cancelled++;
}

void jobs_trouble_locked(cuzk_engine *e, const cuzk_error *err) {
    snprintf(e->trouble, sizeof e->trouble, "%s",
             err->status == CUZK_DISK ? "the disk of the store is full" : "the store cannot be written");
    log_error("the store cannot be written: %s (%s)", err->what, err->where);
}

/* Under the lock, after the store was told. */
static void ended_locked(cuzk_engine *e, engine_job *j, cuzk_job_state state, cuzk_status stored,
                         const cuzk_error *err) {
    counters_end_locked(e, j, state);
    j->unsaved = stored != CUZK_OK;
    if (stored) jobs_trouble_locked(e, err);
    j->state = state;
    j->finished_mono = cpu_monotonic_seconds();
    payload_gone_locked(e, j);
    live_remove_locked(e, j);
    trace_record(e->events, TRACE_JOB_ENDED, j->seq, TRACE_NO_PARTITION, "");
    engine_changed_locked(e);
}

void jobs_end(cuzk_engine *e, engine_job *j, cuzk_job_state state, const cuzk_error *why) {
    store_job row;
    prepared *prep;
    cuzk_error err, *copy = malloc(sizeof *copy);
    pthread_mutex_lock(&e->lock);
    while (j->arriving) engine_wait_locked(e, -1);
    if (jobs_ended(j) || j->ending) {
        pthread_mutex_unlock(&e->lock);
        free(copy);
        return;
    }
    j->ending = true;
    j->uses++;
    if (copy) *copy = *why;
    j->error = copy;
    j->finished = engine_epoch();
    j->times.total = cpu_monotonic_seconds() - j->submitted_mono;
    attempt *chain = strip_locked(e, j, &prep);
    jobs_store_fields_locked(j, &row);
    row.state = state;
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    while (chain) {
        attempt *a = chain;
        chain = a->next;
        attempt_free(a);
    }
    prepared_drop(prep);
    cuzk_status stored = e->st->ops->update(e->st, &row, &err);
    pthread_mutex_lock(&e->lock);
    ended_locked(e, j, state, stored, &err);
    j->uses--;
    pthread_mutex_unlock(&e->lock);
    if (state == CUZK_JOB_FAILED) log_warn("job %.100s failed: %s (%s)", j->id, why->what, why->where);
}

void jobs_complete(cuzk_engine *e, engine_job *j, uint8_t *proofs, size_t bytes) {
    store_job row;
    prepared *prep;
    cuzk_error err;
    pthread_mutex_lock(&e->lock);
    if (jobs_ended(j) || j->ending) {
        pthread_mutex_unlock(&e->lock);
        free(proofs);
        return;
    }
    j->ending = j->completing = true;
    j->finished = engine_epoch();
    j->times.total = cpu_monotonic_seconds() - j->submitted_mono;
    attempt *chain = strip_locked(e, j, &prep);
    assert(!chain);
    (void)chain;
    jobs_store_fields_locked(j, &row);
    row.state = CUZK_JOB_COMPLETED;
    pthread_mutex_unlock(&e->lock);
    prepared_drop(prep);
    cuzk_status stored = e->st->ops->complete(e->st, &row, proofs, bytes, &err);
    observe(e, j->kind, &j->times);
    pthread_mutex_lock(&e->lock);
    /* A proof that is right is given out even when the store cannot take it now; it is kept here until it can. */
    if (stored) {
        j->proofs = proofs;
        j->proof_bytes = bytes;
    }
    ended_locked(e, j, CUZK_JOB_COMPLETED, stored, &err);
    pthread_mutex_unlock(&e->lock);
    if (!stored) free(proofs);
}

void jobs_save_unsaved(cuzk_engine *e) {
    bool all = true;
    pthread_mutex_lock(&e->lock);
    for (engine_job *j = e->newest; j && all; j = j->older) {
        if (!j->unsaved) continue;
        store_job row;
        cuzk_error err;
        j->uses++;
        jobs_store_fields_locked(j, &row);
        pthread_mutex_unlock(&e->lock);
        cuzk_status s = row.state == CUZK_JOB_COMPLETED
                            ? e->st->ops->complete(e->st, &row, j->proofs, j->proof_bytes, &err)
                            : e->st->ops->update(e->st, &row, &err);
        pthread_mutex_lock(&e->lock);
        j->uses--;
        all = s == CUZK_OK;
        if (s) continue;
        j->unsaved = false;
        free(j->proofs);
        j->proofs = NULL;
    }
    if (all && e->trouble[0]) {
        e->trouble[0] = 0;
        engine_changed_locked(e);
    }
    pthread_mutex_unlock(&e->lock);
}

cuzk_status cuzk_engine_cancel(cuzk_engine *e, const char *job_id, bool *was_there, cuzk_error *err) {
    (void)err;
    cuzk_error why;
    pthread_mutex_lock(&e->lock);
    engine_job *j = jobs_find_locked(e, job_id);
    *was_there = j && !jobs_ended(j) && !j->ending;
    if (*was_there) j->uses++;
    pthread_mutex_unlock(&e->lock);
    if (!*was_there) return CUZK_OK;
    cuzk_fail(&why, CUZK_CANCELLED, "cancelled by a client");
    jobs_end(e, j, CUZK_JOB_CANCELLED, &why);
    jobs_unuse(e, j);
    return CUZK_OK;
}

/* ---- the store's view, restart, retention ---- */

cuzk_status engine_jobs(cuzk_engine *e, void (*each)(void *user, const store_job *job), void *user, cuzk_error *err) {
    return e->st->ops->each(e->st, each, user, err);
}

typedef struct restore {
    cuzk_engine *e;
    cuzk_status status;
} restore;

static void restore_one(void *user, const store_job *row) {
    restore *r = user;
    cuzk_engine *e = r->e;
    engine_job *j = calloc(1, sizeof *j);
    char *id = strdup(row->request_id);
    if (!j || !id) {
        r->status = CUZK_MEMORY;
        free(j);
        free(id);
        return;
    }
    j->id = id;
    j->restored = true;
    j->seq = row->seq;
    snprintf(j->kind, sizeof j->kind, "%s", row->kind);
    snprintf(j->circuit, sizeof j->circuit, "%s", row->circuit ? row->circuit : "");
    j->kind_code = engine_kind(e, row->kind);
    memcpy(j->digest, row->digest, sizeof j->digest);
    j->sector_bytes = row->sector_bytes;
    j->payload_bytes = row->payload_bytes;
    j->priority = row->priority;
    j->policy = row->policy;
    j->submitted = row->submitted;
    j->deadline = row->deadline;
    j->finished = row->finished;
    j->runs = row->runs;
    j->times = row->times;
    j->n_partitions = row->partitions;
    double now = engine_epoch(), mono = cpu_monotonic_seconds();
    j->submitted_mono = mono - (now - j->submitted);
    j->state = row->state;
    if (j->finished > 0) j->finished_mono = mono - (now - j->finished);
    if (!jobs_ended(j)) j->state = CUZK_JOB_QUEUED;
    if (row->error.status && (j->error = malloc(sizeof *j->error))) *j->error = row->error;
    pthread_mutex_lock(&e->lock);
    if (j->seq > e->last_seq) e->last_seq = j->seq;
    table_add_locked(e, j);
    if (!jobs_ended(j)) {
        jobs_counters_locked(e, j->kind)->pending++;
        if (e->store_is_memory) e->memory_payloads += j->payload_bytes;
        j->n_partitions = 0; /* known again when the input is parsed */
    }
    pthread_mutex_unlock(&e->lock);
}

cuzk_status jobs_restore(cuzk_engine *e, cuzk_error *err) {
    restore r = {.e = e};
    cuzk_status s = e->st->ops->each(e->st, restore_one, &r, err);
    if (s) return s;
    if (r.status) return cuzk_fail(err, r.status, "no memory for the store's jobs");
    for (engine_job *j = e->live_first, *next; j; j = next) {
        cuzk_error why;
        next = j->live_after;
        if (!j->kind_code) {
            cuzk_fail(&why, CUZK_USAGE, "this program has no such proof kind any more");
            cuzk_fail_found(&why, "%s", j->kind);
        } else if (j->runs >= BURSTS_MAX_RUNS) {
            cuzk_fail(&why, CUZK_INTERNAL, "the program died %u times while it worked on this job", j->runs);
            cuzk_fail_hint(&why, "submit it again to try anew; the system's log may say why the program died");
        } else {
            continue;
        }
        jobs_end(e, j, CUZK_JOB_FAILED, &why);
    }
    return CUZK_OK;
}

void jobs_give_back(cuzk_engine *e) {
    for (engine_job *j = e->live_first; j; j = j->live_after) {
        store_job row;
        cuzk_error ignored; /* then it counts as one that the process died of */
        if (!j->counted_run || j->ending) continue;
        j->runs--;
        jobs_store_fields_locked(j, &row);
        row.state = CUZK_JOB_QUEUED;
        e->st->ops->update(e->st, &row, &ignored);
    }
}

/* Old ended jobs leave the table; the partitions of all but the newest ended ones go. */
void jobs_forget_old(cuzk_engine *e, double before) {
    unsigned kept = 0;
    engine_job *gone = NULL;
    pthread_mutex_lock(&e->lock);
    for (engine_job *j = e->newest, *older; j; j = older) {
        older = j->older;
        if (!jobs_ended(j) || j->uses || j->waiters || j->unsaved) continue;
        if (++kept > KEPT_ENDED_JOBS) {
            free(j->partitions);
            j->partitions = NULL;
        }
        if (j->finished > before) continue;
        table_remove_locked(e, j);
        j->next_in_bucket = gone;
        gone = j;
    }
    pthread_mutex_unlock(&e->lock);
    while (gone) {
        engine_job *j = gone;
        gone = j->next_in_bucket;
        job_free(j);
    }
}
