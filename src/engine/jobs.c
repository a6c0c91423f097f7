/* The table of jobs, their ends, and what the store knows of them.
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

engine_job *jobs_find_seq_locked(cuzk_engine *e, uint64_t seq) {
    engine_job *j = e->by_seq[seq % JOB_BUCKETS];
    while (j && j->seq != seq) j = j->next_by_seq;
    return j;
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

void jobs_add_locked(cuzk_engine *e, engine_job *j) {
    unsigned b = bucket_of(j->id);
    j->next_in_bucket = e->buckets[b];
    e->buckets[b] = j;
    j->next_by_seq = e->by_seq[j->seq % JOB_BUCKETS];
    e->by_seq[j->seq % JOB_BUCKETS] = j;
    j->older = e->newest;
    *(e->newest ? &e->newest->newer : &e->oldest) = j;
    e->newest = j;
    if (!jobs_ended(j)) live_add_locked(e, j);
}

void jobs_remove_locked(cuzk_engine *e, engine_job *j) {
    engine_job **at = &e->buckets[bucket_of(j->id)];
    while (*at != j) at = &(*at)->next_in_bucket;
    *at = j->next_in_bucket;
    for (at = &e->by_seq[j->seq % JOB_BUCKETS]; *at != j;) at = &(*at)->next_by_seq;
    *at = j->next_by_seq;
    *(j->older ? &j->older->newer : &e->oldest) = j->newer;
    *(j->newer ? &j->newer->older : &e->newest) = j->older;
    live_remove_locked(e, j);
}

void jobs_free(engine_job *j) {
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
        jobs_remove_locked(e, j);
        prepared_drop(j->prep);
        jobs_free(j);
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
    out->crashes = j->crashes;
    out->finished = j->finished;
    if (j->error) out->error = *j->error;
    out->times = j->times;
}

void jobs_payload_gone_locked(cuzk_engine *e, const engine_job *j) {
    if (e->store_is_memory) e->memory_payloads -= j->payload_bytes;
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
    jobs_payload_gone_locked(e, j);
    live_remove_locked(e, j);
    trace_record(e->events, TRACE_JOB_ENDED, j->seq, TRACE_NO_PARTITION, "");
    pthread_cond_broadcast(&e->ended);
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
    attempts_free(chain);
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
    bool asks = all && e->trouble[0];
    pthread_mutex_unlock(&e->lock);
    /* Nothing waits to be put: a job may have been refused for it, and the next would be, too. */
    cuzk_error ignored;
    if (!asks || e->st->ops->probe(e->st, &ignored)) return;
    pthread_mutex_lock(&e->lock);
    e->trouble[0] = 0;
    engine_changed_locked(e);
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
    j->crashes = row->crashes;
    j->interrupted = row->state == CUZK_JOB_RUNNING;
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
    jobs_add_locked(e, j);
    if (!jobs_ended(j)) {
        jobs_counters_locked(e, j->kind)->pending++;
        if (e->store_is_memory) e->memory_payloads += j->payload_bytes;
        j->n_partitions = 0; /* known again when the input is parsed */
    }
    pthread_mutex_unlock(&e->lock);
}

/* How the process ended that worked on this job. It is noted once: later ends are other jobs' until this one is begun
 * again. False: the store could not take it, and the next start is told of it once more. */
static bool note_death(cuzk_engine *e, engine_job *j) {
    store_job row;
    cuzk_error err;
    if (!j->interrupted) return true;
    if (e->crashed) j->crashes++;
    jobs_store_fields_locked(j, &row);
    if (!e->st->ops->update(e->st, &row, &err)) return true;
    pthread_mutex_lock(&e->lock);
    e->death_unnoted = true;
    jobs_trouble_locked(e, &err);
    pthread_mutex_unlock(&e->lock);
    return false;
}

bool engine_deaths_noted(cuzk_engine *e) {
    pthread_mutex_lock(&e->lock);
    bool noted = !e->death_unnoted;
    pthread_mutex_unlock(&e->lock);
    return noted;
}

/* Whether processes died too often while they worked on this job. */
static bool is_deadly(const engine_job *j, cuzk_error *why) {
    if (j->crashes >= CRASHES_MAX) {
        cuzk_fail(why, CUZK_INTERNAL, "the program crashed %u times while it worked on this job", j->crashes);
        cuzk_fail_hint(why,
                       "submit it again to try anew; the system's log may have the cause, which is worth a report");
        return true;
    }
    if (j->runs < DEATHS_MAX) return false;
    cuzk_fail(why, CUZK_INTERNAL, "the program was ended %u times while it worked on this job", j->runs);
    cuzk_fail_hint(why, "submit it again to try anew; the system's log may say who ended it, or that memory ran out");
    return true;
}

cuzk_status jobs_restore(cuzk_engine *e, cuzk_error *err) {
    restore r = {.e = e};
    cuzk_status s = e->st->ops->each(e->st, restore_one, &r, err);
    if (s) return s;
    if (r.status) return cuzk_fail(err, r.status, "no memory for the store's jobs");
    for (engine_job *j = e->live_first, *next; j; j = next) {
        cuzk_error why;
        cuzk_job_state end = CUZK_JOB_FAILED;
        next = j->live_after;
        bool noted = note_death(e, j);
        if (jobs_find_locked(e, j->id) != j) { /* the process died before it was told, or somebody awaited it then */
            cuzk_fail(&why, CUZK_CANCELLED, "a newer submission of the same id took its place");
            end = CUZK_JOB_CANCELLED;
        } else if (!j->kind_code) {
            cuzk_fail(&why, CUZK_USAGE, "this program has no such proof kind any more");
            cuzk_fail_found(&why, "%s", j->kind);
        } else if (!is_deadly(j, &why)) {
            if (!noted && e->crashed) j->crashes--; /* or it would count twice */
            continue;
        }
        jobs_end(e, j, end, &why);
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
        jobs_remove_locked(e, j);
        j->next_in_bucket = gone;
        gone = j;
    }
    pthread_mutex_unlock(&e->lock);
    while (gone) {
        engine_job *j = gone;
        gone = j->next_in_bucket;
        jobs_free(j);
    }
}
