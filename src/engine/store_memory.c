/* A store in memory: see engine/store.h. Payloads and results are tracked buffers of class request; nothing outlives
 * the process. Jobs of equal content share one payload, also when they come at once: the first copies it, and the
 * others wait for that. */
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

/* Under the store's lock, but for the parts, which change no more once it is filled. */
typedef struct shared_payload {
    struct shared_payload *next; /* of the store's, to be found by its digest */
    uint8_t digest[32];
    unsigned users; /* rows, who fills it, and who waits for that */
    bool filling, failed;
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
    pthread_cond_t filled; /* a payload was, or failed */
    row *first, *last;
    shared_payload *payloads;
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

static void payload_give_locked(store_memory *m, shared_payload *p) {
    if (!p || --p->users) return;
    shared_payload **at = &m->payloads;
    while (*at && *at != p) at = &(*at)->next;
    if (*at) *at = p->next;
    for (size_t i = 0; i < p->n_parts; i++) blob_free(&p->parts[i]);
    free(p);
}

static void row_free_locked(store_memory *m, row *r) {
    payload_give_locked(m, r->payload);
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

/* A payload of this digest that is there already, or is when it returns; otherwise `fresh`, to be filled, for which
 * others wait from now on. A use of it is taken. */
static shared_payload *join(store_memory *m, shared_payload *fresh) {
    pthread_mutex_lock(&m->lock);
    shared_payload *p = m->payloads;
    while (p && (p->failed || memcmp(p->digest, fresh->digest, sizeof p->digest) != 0)) p = p->next;
    if (p) {
        p->users++;
        while (p->filling) pthread_cond_wait(&m->filled, &m->lock);
    } else {
        p = fresh;
        p->next = m->payloads;
        m->payloads = p;
    }
    pthread_mutex_unlock(&m->lock);
    return p;
}

static void payload_give(store_memory *m, shared_payload *p) {
    pthread_mutex_lock(&m->lock);
    payload_give_locked(m, p);
    pthread_mutex_unlock(&m->lock);
}

static cuzk_status payload_fill(store_memory *m, shared_payload *p, const cuzk_submission *from, cuzk_error *err) {
    size_t n = 2 + from->n_vanilla;
    cuzk_status s = CUZK_OK;
    while (p->n_parts < n && !s) {
        cuzk_bytes b = part_of(from, p->n_parts);
        s = blob_fill(&p->parts[p->n_parts++], b.data, b.n, err);
    }
    pthread_mutex_lock(&m->lock);
    p->filling = false;
    p->failed = s != CUZK_OK;
    if (s) payload_give_locked(m, p);
    pthread_cond_broadcast(&m->filled);
    pthread_mutex_unlock(&m->lock);
    return s;
}

/* The payload of another job with the same content, if one has it, or a copy. */
static cuzk_status payload_take(store_memory *m, shared_payload **out, const uint8_t digest[32],
                                const cuzk_submission *from, cuzk_error *err) {
    size_t n = 2 + from->n_vanilla;
    shared_payload *fresh = calloc(1, sizeof *fresh + n * sizeof fresh->parts[0]), *p;
    if (!fresh) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    memcpy(fresh->digest, digest, sizeof fresh->digest);
    fresh->users = 1;
    fresh->filling = true;
    while ((p = join(m, fresh)) != fresh && p->failed) payload_give(m, p);
    *out = p;
    if (p != fresh && is_equal(p, from)) {
        free(fresh);
        return CUZK_OK;
    }
    if (p != fresh) payload_give(m, p);
    *out = fresh;
    cuzk_status s = payload_fill(m, fresh, from, err);
    if (s) *out = NULL;
    return s;
}

static cuzk_status put(store *s, const store_job *job, const cuzk_submission *payload, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    row *r = calloc(1, sizeof *r);
    if (!r) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    r->job = *job;
    cuzk_status status = texts_copy(&r->job) ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    if (!status) status = payload_take(m, &r->payload, job->digest, payload, err);
    pthread_mutex_lock(&m->lock);
    if (status) {
        row_free_locked(m, r);
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
static cuzk_status renew_locked(store_memory *m, row *r, const store_job *job, cuzk_error *err) {
    store_job old = r->job;
    char *circuit = strdup(job->circuit ? job->circuit : "");
    if (!circuit) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    r->job = *job;
    r->job.request_id = old.request_id;
    r->job.kind = old.kind;
    r->job.circuit = circuit;
    free((char *)old.circuit);
    if (is_over(job)) {
        payload_give_locked(m, r->payload);
        r->payload = NULL;
    }
    return CUZK_OK;
}

static cuzk_status update(store *s, const store_job *job, cuzk_error *err) {
    store_memory *m = (store_memory *)s;
    pthread_mutex_lock(&m->lock);
    row *r = find_locked(m, job->seq);
    cuzk_status status = r ? renew_locked(m, r, job, err) : unknown(job->seq, err);
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
    cuzk_status status = r ? renew_locked(m, r, job, err) : unknown(job->seq, err);
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
            row_free_locked(m, r);
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
        row_free_locked(m, r);
    }
    pthread_cond_destroy(&m->filled);
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
    pthread_cond_init(&m->filled, NULL);
    return &m->base;
}
