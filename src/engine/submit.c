/* Submitting: what is refused at once, a job's identity, and who takes whose place.
 *
 * A job is put into the store with the lock given up; until it is there it is `arriving`: others that submit the same
 * wait for it, the scheduler passes it over.
 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"

#define ID_MAX 255u
#define EARLY_PARSE_MAX ((uint64_t)1 << 20) /* so small an input is read at once, so that faults are told at once */

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
    if (devices_for_policy(e, s->policy, err)) return err->status;
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

/* A job in memory keeps its input there: within half of the room for inputs, which the budget holds for good, so that
 * new ones can still be received. */
static cuzk_status memory_payload_fits_locked(cuzk_engine *e, const engine_job *j, cuzk_error *err) {
    if (!e->store_is_memory) return CUZK_OK;
    uint64_t most = e->o.request_bytes / 2;
    if (j->payload_bytes <= most && e->memory_payloads <= most - j->payload_bytes) return CUZK_OK;
    bool never = j->payload_bytes > most;
    if (never)
        cuzk_fail(err, CUZK_TOO_LARGE, "the input is larger than the room in memory for inputs that wait");
    else
        cuzk_fail(err, CUZK_MEMORY, "too many inputs wait in memory");
    cuzk_fail_expected(err, "at most %llu bytes in all", (unsigned long long)most);
    cuzk_fail_found(err, "%llu bytes, and %llu more", (unsigned long long)e->memory_payloads,
                    (unsigned long long)j->payload_bytes);
    return cuzk_fail_hint(err, "%sraise request_bytes, or give the engine a store on disk",
                          never ? "" : "submit it again when jobs have ended, ");
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
        /* Who found it meanwhile sees a job that failed, and lets it go. */
        j->ending = true;
        j->state = CUZK_JOB_FAILED;
        if ((j->error = malloc(sizeof *j->error))) *j->error = *err;
        jobs_payload_gone_locked(e, j);
        jobs_remove_locked(e, j);
        pthread_cond_broadcast(&e->ended);
        if (status == CUZK_DISK || status == CUZK_IO) jobs_trouble_locked(e, err);
    } else {
        jobs_counters_locked(e, j->kind)->pending++;
        trace_record(e->events, TRACE_JOB_SUBMITTED, j->seq, TRACE_NO_PARTITION, "");
    }
    engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    return status;
}

/* A job that is in no table any more. */
static void free_when_unused(cuzk_engine *e, engine_job *j) {
    pthread_mutex_lock(&e->lock);
    while (j->uses) engine_wait_locked(e, cpu_monotonic_seconds() + 0.05);
    pthread_mutex_unlock(&e->lock);
    jobs_free(j);
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
        jobs_free(mine);
        return status;
    }
    if (e->store_is_memory) e->memory_payloads += mine->payload_bytes;
    mine->seq = ++e->last_seq;
    mine->uses = 1;
    if (seq) mine->waiters = 1;
    jobs_add_locked(e, mine);
    pthread_mutex_unlock(&e->lock);
    status = arrive(e, mine, &s, err);
    if (old && status) jobs_unuse(e, old);
    if (old && !status) supersede(e, old);
    pthread_mutex_lock(&e->lock);
    mine->uses--;
    if (!status) ticket_fill_locked(e, mine, false, ticket);
    if (!status && seq) *seq = mine->seq;
    pthread_mutex_unlock(&e->lock);
    if (status) free_when_unused(e, mine);
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
