/* A store in memory: see engine/store.h. Payloads and results are tracked buffers of class request; nothing outlives
 * the process. Jobs of equal content share one payload. */
#include "engine/store.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Small ones from the heap: there may be more of them than a process may have mappings. */
#define BLOB_MAPPED ((size_t)1 << 20)
typedef struct blob {
    void *data;
    size_t bytes;
    buffer mapped;
} blob;

typedef struct shared_payload {
    unsigned users; /* rows, under the store's lock */
    size_t n_parts;
    blob parts[];
} shared_payload;

typedef struct row {
    struct row *next;
    store_job job; /* its texts are owned */
    shared_payload *payload;
    blob result;
    uint8_t *proofs; /* 192 bytes each, of proved partitions */
    bool *has;
    unsigned n_proofs;
} row;

typedef struct store_memory {
    store base;
    pthread_mutex_t lock;
    row *first, *last;
} store_memory;

static void blob_free(blob *b) {
    if (!b->mapped.data) free(b->data);
    buffer_free(&b->mapped);
    memset(b, 0, sizeof *b);
}

static cuzk_status blob_fill(blob *out, const void *data, size_t n, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    if (n >= BLOB_MAPPED) {
        if (buffer_alloc(&out->mapped, BUFFER_REQUEST, n, err)) return err->status;
        out->data = out->mapped.data;
    } else if (!(out->data = malloc(n ? n : 1))) {
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    }
    if (n) memcpy(out->data, data, n);
    out->bytes = n;
    return CUZK_OK;
}

static void payload_give_locked(row *r) {
    shared_payload *p = r->payload;
    r->payload = NULL;
    if (!p || --p->users) return;
    for (size_t i = 0; i < p->n_parts; i++) blob_free(&p->parts[i]);
    free(p);
}

static void row_free_locked(row *r) {
    payload_give_locked(r);
    blob_free(&r->result);
    free(r->proofs);
    free(r->has);
    free((char *)r->job.request_id);
    free((char *)r->job.kind);
    free((char *)r->job.circuit);
    free(r);
}

static row *find_locked(store_memory *m, uint64_t seq) {
    row *r = m->first;
    while (r && r->job.seq != seq) r = r->next;
    return r;
}

static cuzk_status unknown(uint64_t seq, cuzk_error *err) {
    cuzk_fail(err, CUZK_INTERNAL, "the store has no such job");
    return cuzk_fail_found(err, "job %llu", (unsigned long long)seq);
}

static cuzk_status fill(buffer *out, const void *data, size_t n, cuzk_error *err) {
    if (buffer_alloc(out, BUFFER_REQUEST, n, err)) return err->status;
    if (n) memcpy(out->data, data, n);
    return CUZK_OK;
}

static bool texts_copy(store_job *j) {
    j->request_id = strdup(j->request_id);
    j->kind = strdup(j->kind);
    j->circuit = strdup(j->circuit ? j->circuit : "");
    return j->request_id && j->kind && j->circuit;
}

static cuzk_bytes part_of(const cuzk_submission *from, size_t i) {
    return i == 0 ? from->c1 : i == 1 ? from->request : from->vanilla[i - 2];
}

static bool is_equal(const shared_payload *p, const cuzk_submission *to) {
    if (p->n_parts != 2 + to->n_vanilla) return false;
    for (size_t i = 0; i < p->n_parts; i++) {
        cuzk_bytes b = part_of(to, i);
        if (p->parts[i].bytes != b.n || (b.n && memcmp(p->parts[i].data, b.data, b.n) != 0)) return false;
    }
    return true;
}

/* The payload of another job with the same content, if one has it still. */
static void share(store_memory *m, row *r, const cuzk_submission *payload) {
    pthread_mutex_lock(&m->lock);
    for (const row *o = m->first; o && !r->payload; o = o->next) {
        if (!o->payload || memcmp(o->job.digest, r->job.digest, sizeof o->job.digest) != 0) continue;
        r->payload = o->payload;
        r->payload->users++;
    }
    pthread_mutex_unlock(&m->lock);
    if (!r->payload || is_equal(r->payload, payload)) return;
    pthread_mutex_lock(&m->lock);
    payload_give_locked(r);
    pthread_mutex_unlock(&m->lock);
}

static cuzk_status copy(row *r, const cuzk_submission *payload, cuzk_error *err) {
    size_t n = 2 + payload->n_vanilla;
    shared_payload *p = calloc(1, sizeof *p + n * sizeof p->parts[0]);
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    r->payload = p;
    p->users = 1;
    for (; p->n_parts < n; p->n_parts++) {
        cuzk_bytes b = part_of(payload, p->n_parts);
        if (blob_fill(&p->parts[p->n_parts], b.data, b.n, err)) return err->status;
    }
    return CUZK_OK;
}

static cuzk_status put(store *s, const store_job *job, const cuzk_submission *payload, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    row *r = calloc(1, sizeof *r);
    if (!r) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    r->job = *job;
    cuzk_status status = texts_copy(&r->job) ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    if (!status) share(m, r, payload);
    if (!status && !r->payload) status = copy(r, payload, err);
    pthread_mutex_lock(&m->lock);
    if (status) {
        row_free_locked(r);
    } else {
        *(m->last ? &m->last->next : &m->first) = r;
        m->last = r;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static cuzk_status payload_parts(store *s, uint64_t seq, size_t *parts, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    pthread_mutex_lock(&m->lock);
    const row *r = find_locked(m, seq);
    *parts = r && r->payload ? r->payload->n_parts : 0;
    pthread_mutex_unlock(&m->lock);
    return r ? CUZK_OK : unknown(seq, err);
}

static cuzk_status payload(store *s, uint64_t seq, size_t part, buffer *out, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    cuzk_status status = CUZK_OK;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&m->lock);
    const row *r = find_locked(m, seq);
    if (r && r->payload && part < r->payload->n_parts)
        status = fill(out, r->payload->parts[part].data, r->payload->parts[part].bytes, err);
    else
        status = unknown(seq, err);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static bool is_over(const store_job *j) {
    return j->state != CUZK_JOB_QUEUED && j->state != CUZK_JOB_RUNNING;
}

/* All but the texts that name it. */
static cuzk_status renew_locked(row *r, const store_job *job, cuzk_error *err) {
    store_job old = r->job;
    char *circuit = strdup(job->circuit ? job->circuit : "");
    if (!circuit) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    r->job = *job;
    r->job.request_id = old.request_id;
    r->job.kind = old.kind;
    r->job.circuit = circuit;
    free((char *)old.circuit);
    if (is_over(job)) payload_give_locked(r);
    return CUZK_OK;
}

static cuzk_status update(store *s, const store_job *job, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    pthread_mutex_lock(&m->lock);
    row *r = find_locked(m, job->seq);
    cuzk_status status = r ? renew_locked(r, job, err) : unknown(job->seq, err);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static cuzk_status put_proof(store *s, uint64_t seq, unsigned k, const uint8_t proof[192], cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    cuzk_status status = CUZK_OK;
    pthread_mutex_lock(&m->lock);
    row *r = find_locked(m, seq);
    if (r && k >= r->n_proofs) {
        uint8_t *proofs = realloc(r->proofs, (size_t)(k + 1) * 192);
        if (proofs) r->proofs = proofs;
        bool *has = proofs ? realloc(r->has, k + 1) : NULL;
        if (has) {
            memset(has + r->n_proofs, 0, k + 1 - r->n_proofs);
            r->has = has;
            r->n_proofs = k + 1;
        }
    }
    if (!r) {
        status = unknown(seq, err);
    } else if (k >= r->n_proofs) {
        status = cuzk_fail(err, CUZK_MEMORY, "no memory for a proof");
    } else {
        memcpy(r->proofs + (size_t)k * 192, proof, 192);
        r->has[k] = true;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static cuzk_status complete(store *s, const store_job *job, const uint8_t *proofs, size_t bytes, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    blob result;
    if (blob_fill(&result, proofs, bytes, err)) return err->status;
    pthread_mutex_lock(&m->lock);
    row *r = find_locked(m, job->seq);
    cuzk_status status = r ? renew_locked(r, job, err) : unknown(job->seq, err);
    if (!status) {
        blob_free(&r->result);
        r->result = result;
        free(r->proofs);
        free(r->has);
        r->proofs = NULL;
        r->has = NULL;
        r->n_proofs = 0;
    }
    pthread_mutex_unlock(&m->lock);
    if (status) blob_free(&result);
    return status;
}

static cuzk_status proofs(store *s, uint64_t seq, void (*each)(void *user, unsigned partition, const uint8_t *proof),
                          void *user, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    pthread_mutex_lock(&m->lock);
    const row *r = find_locked(m, seq);
    for (unsigned k = 0; r && k < r->n_proofs; k++)
        if (r->has[k]) each(user, k, r->proofs + (size_t)k * 192);
    pthread_mutex_unlock(&m->lock);
    return r ? CUZK_OK : unknown(seq, err);
}

static cuzk_status result(store *s, uint64_t seq, buffer *out, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&m->lock);
    const row *r = find_locked(m, seq);
    cuzk_status status = r ? fill(out, r->result.data, r->result.bytes, err) : unknown(seq, err);
    pthread_mutex_unlock(&m->lock);
    return status;
}

/* Attempts are for those who look later; here nobody can. */
static cuzk_status attempt(store *s, uint64_t seq, unsigned partition, const char *device, double seconds,
                           const cuzk_error *outcome, cuzk_error *err) {
    (void)s, (void)seq, (void)partition, (void)device, (void)seconds, (void)outcome, (void)err;
    return CUZK_OK;
}

static cuzk_status each_job(store *s, void (*each)(void *user, const store_job *job), void *user, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    (void)err;
    pthread_mutex_lock(&m->lock);
    for (const row *r = m->first; r; r = r->next) each(user, &r->job);
    pthread_mutex_unlock(&m->lock);
    return CUZK_OK;
}

static cuzk_status purge(store *s, double before, uint64_t *gone, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    (void)err;
    *gone = 0;
    pthread_mutex_lock(&m->lock);
    m->last = NULL;
    for (row **at = &m->first; *at;) {
        row *r = *at;
        if (is_over(&r->job) && r->job.finished <= before) {
            *at = r->next;
            row_free_locked(r);
            ++*gone;
            continue;
        }
        m->last = r;
        at = &r->next;
    }
    pthread_mutex_unlock(&m->lock);
    return CUZK_OK;
}

static cuzk_status probe(store *s, cuzk_error *err) {
    (void)s, (void)err;
    return CUZK_OK;
}

static void close_store(store *s) {
    store_memory *m = (store_memory *)s;
    while (m->first) {
        row *r = m->first;
        m->first = r->next;
        row_free_locked(r);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}

store *store_memory_create(cuzk_error *err) {
    static const store_ops ops = {
        .put = put,
        .payload_parts = payload_parts,
        .payload = payload,
        .update = update,
        .put_proof = put_proof,
        .complete = complete,
        .proofs = proofs,
        .result = result,
        .attempt = attempt,
        .each = each_job,
        .purge = purge,
        .probe = probe,
        .close = close_store,
    };
    store_memory *m = calloc(1, sizeof *m);
    if (!m) {
        cuzk_fail(err, CUZK_MEMORY, "no memory for a store");
        return NULL;
    }
    m->base.ops = &ops;
    pthread_mutex_init(&m->lock, NULL);
    return &m->base;
}
