/* A job comes to the head of the queue: its input is taken from the store, parsed and checked, and what its proofs need
 * is looked up.
 *
 * While an input is parsed the document and what is made of it live: three times the document at most, and a little for
 * arenas. The document goes when it is parsed; what is left is charged as it is. Only the job at the head may keep its
 * parsed input while it waits for bytes: from all others that are not being worked on it is taken again
 * (prepare_give_way), so that nobody waits for bytes that somebody else holds idly.
 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/file.h"
#include "base/log.h"

#define PARSE_FIXED ((uint64_t)3 << 20) /* arenas' first chunks */

void prepared_drop(prepared *p) {
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1) return;
    job_close(&p->j);
    budget_release(&p->bytes);
    free(p);
}

void prepare_give_way(cuzk_engine *e, const engine_job *head) {
    double now = cpu_monotonic_seconds();
    for (;;) {
        prepared *gone = NULL;
        pthread_mutex_lock(&e->lock);
        for (engine_job *j = e->live_first; j && !gone; j = j->live_after) {
            if (j == head || !j->prep || j->preparing || j->loading || j->n_active || j->verifying) continue;
            if (!schedule_before(e, head, j, now)) continue;
            gone = j->prep;
            j->prep = NULL;
        }
        pthread_mutex_unlock(&e->lock);
        if (!gone) return;
        prepared_drop(gone);
    }
}

/* ---- plans ---- */

typedef struct plan_making {
    cuzk_engine *e;
    circuit_plan *plan;
} plan_making;

/* As for one proof after the other (api/device.c), without limits: whether it fits is asked for each job. */
static void make_plans(void *user, const shape *s) {
    plan_making *m = user;
    unsigned threads = m->e->o.threads;
    for (size_t i = 0; i < m->e->n_devices; i++) {
        const engine_dev *d = &m->e->devices[i];
        device_plan *out = &m->plan->on[i];
        prove_plan plan;
        uint64_t whole = 0;
        if (shape_is_lazy(s) && !d->b->lazy_witness)
            whole = witness_lazy_bytes(s) + witness_each_copy_bytes(s, threads);
        memset(&plan, 0, sizeof plan);
        out->made = d->b->plan(d->number, s, threads, 0, 0, &plan, &out->why) == CUZK_OK;
        out->host_bytes = plan.host_bytes + whole;
        out->device_bytes = plan.device_bytes;
        out->shared_bytes = plan.device_shared_bytes;
        out->making_bytes = plan.device_making_bytes;
        out->whole = plan.chunks == 1;
        if (!out->made) log_warn("%s makes no proofs of %s: %s", d->id, m->plan->circuit, out->why.what);
    }
}

/* Host memory that was short passes: such plans are not kept. */
static cuzk_status plans_lacked_memory(const cuzk_engine *e, const circuit_plan *plan, cuzk_error *err) {
    for (size_t i = 0; i < e->n_devices; i++) {
        const device_plan *d = &plan->on[i];
        if (d->made || d->why.status != CUZK_MEMORY) continue;
        *err = d->why;
        return cuzk_fail_within(err, "%s", e->devices[i].id);
    }
    return CUZK_OK;
}

static const circuit_plan *plan_find_locked(const cuzk_engine *e, const char *name) {
    const circuit_plan *p = e->plans;
    while (p && strcmp(p->circuit, name) != 0) p = p->next;
    return p;
}

static const circuit_plan *plan_find(cuzk_engine *e, const char *name) {
    pthread_mutex_lock(&e->lock);
    const circuit_plan *p = plan_find_locked(e, name);
    pthread_mutex_unlock(&e->lock);
    return p;
}

cuzk_status prepare_plan(cuzk_engine *e, const circuit *c, const circuit_plan **out, const cuzk_control *control,
                         cuzk_error *err) {
    if ((*out = plan_find(e, c->name))) return CUZK_OK;
    plan_making m = {.e = e, .plan = calloc(1, sizeof *m.plan)};
    if (!m.plan) return cuzk_fail(err, CUZK_MEMORY, "no memory for a plan");
    snprintf(m.plan->circuit, sizeof m.plan->circuit, "%s", c->name);
    cuzk_status s = resources_need(e->keys, c, &m.plan->need, make_plans, &m, control, err);
    if (!s) s = plans_lacked_memory(e, m.plan, err);
    if (s) {
        free(m.plan);
        return s;
    }
    pthread_mutex_lock(&e->lock);
    *out = plan_find_locked(e, c->name); /* another may have made the same meanwhile; devices know keys by their plan */
    if (*out) {
        free(m.plan);
    } else {
        m.plan->next = e->plans;
        e->plans = m.plan;
        *out = m.plan;
    }
    pthread_mutex_unlock(&e->lock);
    return CUZK_OK;
}

/* ---- does it fit at all ---- */

bool prepare_key_is_here(const cuzk_engine *e, const circuit *c) {
    char name[288], folder[4096], path[4400];
    cuzk_error ignored;
    circuit_file_name(c, "params", name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", e->o.params_folder, name);
    if (file_exists(path)) return true;
    if (!e->o.development_keys || file_cache_name(folder, sizeof folder, "dev-keys", &ignored)) return false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_exists(path);
}

static cuzk_status never_fits(uint64_t need, uint64_t have, const char *where, cuzk_error *err) {
    cuzk_fail(err, CUZK_TOO_LARGE, "a proof of this job can never fit the memory budget");
    cuzk_fail_where(err, "%s", where);
    cuzk_fail_expected(err, "at most %llu bytes", (unsigned long long)have);
    cuzk_fail_found(err, "a need of %llu bytes", (unsigned long long)need);
    return cuzk_fail_hint(err,
                          "raise the memory budget, lower the share kept for critical jobs, or take fewer threads");
}

/* A key that devices make lies whole on one. */
static cuzk_status no_key_for(const engine_dev *d, cuzk_error *err) {
    cuzk_fail(err, CUZK_TOO_LARGE, "the development key does not fit the device");
    cuzk_fail_where(err, "%s", d->id);
    return cuzk_fail_hint(err, "make it as a file with `cuzk setup`, or take a device with more memory");
}

/* Which devices' plans could ever be met, with shape, key and the input beside them. */
static cuzk_status find_fits(cuzk_engine *e, const engine_job *j, prepared *p, cuzk_error *err) {
    uint64_t usable = engine_usable_bytes(e, schedule_is_critical(j)), least = UINT64_MAX;
    pthread_mutex_lock(&e->lock);
    cuzk_device_policy policy = devices_policy_locked(e, j->policy);
    pthread_mutex_unlock(&e->lock);
    cuzk_status s = CUZK_OK;
    uint64_t fixed = p->plan->need.shape_bytes + p->bytes.bytes;
    bool here = prepare_key_is_here(e, &p->j.circuit), made = !here && e->keys_on_devices;
    if (!here) fixed += p->plan->need.making_bytes;
    p->fits = 0;
    for (size_t i = 0; i < e->n_devices; i++) {
        const engine_dev *d = &e->devices[i];
        const device_plan *plan = &p->plan->on[i];
        if (d->is_cpu ? policy == CUZK_REQUIRE_GPU : policy == CUZK_CPU) continue;
        if (!plan->made) {
            if (s) continue;
            *err = plan->why;
            s = cuzk_fail_within(err, "%s", d->id);
            continue;
        }
        uint64_t need = plan->host_bytes + fixed, on_device = device_memory_most(plan, made);
        if (d->is_cpu || d->b->own_machine) need += p->plan->need.key_bytes;
        if (need > usable && need < least) {
            least = need;
            s = never_fits(need, usable, d->id, err);
        } else if (d->memory && on_device > budget_get(d->memory).total) {
            if (!s) s = never_fits(on_device, budget_get(d->memory).total, d->id, err);
        } else if (made && (d->is_cpu || !plan->whole)) {
            if (!s) s = no_key_for(d, err);
        } else if (need <= usable) {
            p->fits |= 1u << i;
        }
    }
    if (p->fits) return CUZK_OK;
    return s ? s : cuzk_fail(err, CUZK_DEVICE, "there is no device for this job's policy");
}

/* ---- the input ---- */

static void free_parts(buffer *parts, size_t n) {
    for (size_t i = 0; i < n; i++) buffer_free(&parts[i]);
    free(parts);
}

static job_source source_of(const buffer *b) {
    return (job_source){.data = b->bytes ? b->data : NULL, .bytes = b->bytes};
}

static cuzk_status parse_parts(engine_job *j, const buffer *parts, size_t n, job *out, cuzk_error *err) {
    size_t n_vanilla = n > 2 ? n - 2 : 0;
    job_source *vanilla = calloc(n_vanilla ? n_vanilla : 1, sizeof *vanilla);
    if (!vanilla) return cuzk_fail(err, CUZK_MEMORY, "no memory for the input");
    for (size_t i = 0; i < n_vanilla; i++) vanilla[i] = source_of(&parts[i + 2]);
    job_files files = {.vanilla = vanilla, .n_vanilla = n_vanilla, .size_override = j->sector_bytes};
    if (n > 0) files.c1 = source_of(&parts[0]);
    if (n > 1) files.request = source_of(&parts[1]);
    cuzk_status s = job_open_kind(out, j->kind_code, &files, false, err);
    free(vanilla);
    return s;
}

/* The input as a parsed job, its bytes charged to p. *again: there is no room for it now. */
static cuzk_status parse(cuzk_engine *e, engine_job *j, prepared *p, bool *again, cuzk_error *err) {
    size_t n = 0;
    bool critical = schedule_is_critical(j);
    uint64_t room = 3 * j->payload_bytes + PARSE_FIXED, usable = engine_usable_bytes(e, critical);
    if (room > usable) return never_fits(room, usable, "the input while it is parsed", err);
    *again = !budget_try(e->host, &p->bytes, room, critical);
    if (*again) {
        resources_press(e->keys, room, false);
        prepare_give_way(e, j);
        if (!budget_try(e->host, &p->bytes, room, critical) &&
            (!resources_press(e->keys, room, true) || !budget_try(e->host, &p->bytes, room, critical)))
            return cuzk_fail(err, CUZK_MEMORY, "there is no room to parse the input now");
        *again = false;
    }
    cuzk_status s = e->st->ops->payload_parts(e->st, j->seq, &n, err);
    if (s) return s;
    buffer *parts = calloc(n ? n : 1, sizeof *parts);
    if (!parts) return cuzk_fail(err, CUZK_MEMORY, "no memory for the input");
    for (size_t i = 0; i < n && !s; i++) s = e->st->ops->payload(e->st, j->seq, i, &parts[i], err);
    if (!s) s = parse_parts(j, parts, n, &p->j, err);
    free_parts(parts, n);
    if (s) memset(&p->j, 0, sizeof p->j);
    if (!s) budget_shrink(&p->bytes, arena_bytes(p->j.memory));
    return s;
}

static cuzk_status check(cuzk_engine *e, engine_job *j, prepared *p, const cuzk_control *control, cuzk_error *err) {
    const circuit *c = &p->j.circuit;
    double start = cpu_monotonic_seconds();
    if (!engine_circuit_enabled(e, c->name)) {
        cuzk_fail(err, CUZK_USAGE, "this engine does not prove this circuit");
        return cuzk_fail_found(err, "%s", c->name);
    }
    pthread_mutex_lock(&e->lock);
    bool checked = j->checked; /* before its input was taken from it */
    pthread_mutex_unlock(&e->lock);
    if (checked) return CUZK_OK;
    cuzk_status s = c->kind->job_check(&p->j, e->context->pool, control, err);
    pthread_mutex_lock(&e->lock);
    j->times.vanilla_check += cpu_monotonic_seconds() - start;
    j->checked = !s;
    pthread_mutex_unlock(&e->lock);
    return s;
}

/* ---- a job ---- */

/* The store knows that a process begins this job. A store that cannot write now does not keep it from being proved. */
static void count_run(cuzk_engine *e, engine_job *j) {
    store_job row;
    cuzk_error err;
    if (j->counted_run) return;
    pthread_mutex_lock(&e->lock);
    j->runs++;
    j->counted_run = true;
    jobs_store_fields_locked(j, &row);
    row.state = CUZK_JOB_RUNNING;
    pthread_mutex_unlock(&e->lock);
    if (!e->st->ops->update(e->st, &row, &err)) return;
    pthread_mutex_lock(&e->lock);
    jobs_trouble_locked(e, &err);
    pthread_mutex_unlock(&e->lock);
}

typedef struct left_proofs { /* of an earlier process */
    partition *partitions;
    unsigned n, done;
} left_proofs;

static void proof_from_store(void *user, unsigned k, const uint8_t *bytes) {
    left_proofs *l = user;
    cuzk_error ignored;
    if (k >= l->n || l->partitions[k].has_proof) return;
    partition *p = &l->partitions[k];
    if (proof_read(&p->proof, bytes, &ignored)) return; /* it is proved again */
    p->has_proof = p->from_store = true;
    p->state = PARTITION_DONE;
    l->done++;
}

/* When all are there the last is made again: what is left to do then is to verify them together, as after every last
 * proof. */
static void take_left_proofs(cuzk_engine *e, const engine_job *j, left_proofs *l) {
    cuzk_error ignored; /* without them all are proved again */
    if (!j->restored || l->n < 2) return;
    e->st->ops->proofs(e->st, j->seq, proof_from_store, l, &ignored);
    if (l->done < l->n) return;
    partition *last = &l->partitions[l->n - 1];
    last->has_proof = last->from_store = false;
    last->state = PARTITION_PENDING;
    l->done--;
}

static cuzk_status make_partitions(cuzk_engine *e, engine_job *j, unsigned n, cuzk_error *err) {
    if (j->partitions) return CUZK_OK; /* set by this thread or an earlier preparation */
    left_proofs l = {.partitions = calloc(n, sizeof *l.partitions), .n = n};
    if (!l.partitions) return cuzk_fail(err, CUZK_MEMORY, "no memory for %u partitions", n);
    take_left_proofs(e, j, &l);
    pthread_mutex_lock(&e->lock);
    j->partitions = l.partitions;
    j->n_partitions = n;
    j->n_done = l.done;
    pthread_mutex_unlock(&e->lock);
    return CUZK_OK;
}

void prepare_job(cuzk_engine *e, engine_job *j, lane *l) {
    bool again = false;
    cuzk_error err;
    cuzk_control control = {.cancel = &j->cancel};
    pthread_mutex_lock(&e->lock);
    uint64_t seen = e->rooms; /* before anything is asked for: a release after this wakes the job */
    pthread_mutex_unlock(&e->lock);
    prepared *p = calloc(1, sizeof *p);
    cuzk_status s = p ? CUZK_OK : cuzk_fail(&err, CUZK_MEMORY, "no memory for a job");
    if (p) atomic_init(&p->refs, 1);
    count_run(e, j);
    if (!s) s = parse(e, j, p, &again, &err);
    if (!s) s = check(e, j, p, &control, &err);
    if (!s) s = prepare_plan(e, &p->j.circuit, &p->plan, &control, &err);
    if (!s) s = find_fits(e, j, p, &err);
    if (!s) s = make_partitions(e, j, p->j.partitions, &err);
    if (!s) trace_record(e->events, TRACE_JOB_PARSED, j->seq, TRACE_NO_PARTITION, l->trace_name);
    pthread_mutex_lock(&e->lock);
    j->preparing = false;
    bool dropped = j->ending || e->stopping;
    if (!s) snprintf(j->circuit, sizeof j->circuit, "%s", p->j.circuit.name);
    if (!s && !dropped) {
        j->prep = p;
        p = NULL;
    }
    if (again && !dropped) again = !schedule_refused_locked(e, j, seen);
    if (!again || dropped) engine_changed_locked(e);
    pthread_mutex_unlock(&e->lock);
    prepared_drop(p);
    if (s && !again && !dropped) jobs_end(e, j, CUZK_JOB_FAILED, &err);
}
