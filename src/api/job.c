/* Jobs: see cuzk/job.h. */
#include "api/internal.h"

#include <stdlib.h>
#include <string.h>
#include "circuit/snap/snap.h"

/* --variant with a job only says what the caller expects. */
static cuzk_status variant_agrees(const circuit *c, const char *variant, cuzk_error *err) {
    if (!variant || !strcmp(variant, c->variant)) return CUZK_OK;
    cuzk_fail(err, CUZK_FOREIGN, "the job is of another variant than was asked for");
    cuzk_fail_expected(err, "variant '%s'", variant);
    cuzk_fail_found(err, "%s", c->name);
    return cuzk_fail_hint(err, "leave the variant out: the job's registered proof names it");
}

static job_source source_of(const char *path, cuzk_bytes bytes) {
    return (job_source){.path = path, .data = bytes.data, .bytes = bytes.n};
}

cuzk_status cuzk_job_open(cuzk_job **out, const char *kind, const cuzk_job_files *files, bool facts_only,
                          cuzk_error *err) {
    *out = NULL;
    if (!strcmp(kind, "snap") && files->variant && !strcmp(files->variant, "poseidon"))
        return snap_poseidon_refused(err);
    size_t n = files->n_vanilla;
    job_source *vanilla = calloc(n + 1, sizeof *vanilla);
    cuzk_job *h = calloc(1, sizeof *h);
    if (!h || !vanilla) {
        free(h);
        free(vanilla);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    }
    for (size_t i = 0; i < n; i++)
        vanilla[i] = source_of(files->vanilla ? files->vanilla[i] : NULL,
                               files->vanilla_data ? files->vanilla_data[i] : (cuzk_bytes){NULL, 0});
    job_files inner = {.c1 = source_of(files->c1, files->c1_data),
                       .request = source_of(files->request, files->request_data),
                       .vanilla = vanilla,
                       .n_vanilla = n,
                       .size_override = files->sector_bytes};
    cuzk_status s = job_open(&h->j, kind, &inner, facts_only, err);
    free(vanilla);
    if (!s) {
        s = variant_agrees(&h->j.circuit, files->variant, err);
        if (s) job_close(&h->j);
    }
    if (s) {
        free(h);
        return s;
    }
    api_circuit_init(&h->circ, &h->j.circuit);
    pthread_mutex_init(&h->lock, NULL);
    *out = h;
    return CUZK_OK;
}

void cuzk_job_close(cuzk_job *h) {
    if (!h) return;
    api_circuit_clear(&h->circ);
    job_close(&h->j);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

cuzk_circuit *cuzk_job_circuit(cuzk_job *h) {
    return &h->circ;
}

unsigned cuzk_job_partitions(const cuzk_job *h) {
    return h->j.partitions;
}

cuzk_status cuzk_job_check(cuzk_context *context, cuzk_job *h, const cuzk_control *control, cuzk_error *err) {
    if (h->j.facts_only) {
        cuzk_fail(err, CUZK_USAGE, "the job has public facts only, so there is no vanilla proof to check");
        return cuzk_fail_hint(err, "open it with its vanilla proofs");
    }
    pthread_mutex_lock(&h->lock);
    bool checked = h->checked;
    pthread_mutex_unlock(&h->lock);
    if (checked) return CUZK_OK;
    cuzk_status s = h->j.circuit.kind->job_check(&h->j, context->pool, control, err);
    if (s) return s;
    pthread_mutex_lock(&h->lock);
    h->checked = true;
    pthread_mutex_unlock(&h->lock);
    return CUZK_OK;
}

cuzk_status cuzk_job_inspect(cuzk_job *h, char **json, cuzk_error *err) {
    const circuit *c = &h->j.circuit;
    *json = NULL;
    json_out *o = json_out_create();
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory for the answer");
    json_begin_object(o);
    json_put_key(o, "kind");
    json_put_string(o, c->kind->name);
    json_put_key(o, "circuit");
    json_put_string(o, c->name);
    json_put_key(o, "size");
    json_put_u64(o, c->sector_bytes);
    json_put_key(o, "partitions");
    json_put_u64(o, h->j.partitions);
    c->kind->inspect(&h->j, o);
    json_end_object(o);
    size_t len;
    const char *text = json_out_text(o, &len);
    if (text) *json = strdup(text);
    json_out_destroy(o);
    return *json ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the answer");
}

size_t cuzk_job_public_count(const cuzk_job *h) {
    return h->j.circuit.kind->public_count(&h->j.circuit);
}

cuzk_status cuzk_job_public_inputs(const cuzk_job *h, unsigned partition, uint8_t (*out)[32], cuzk_error *err) {
    if (partition >= h->j.partitions) {
        cuzk_fail(err, CUZK_USAGE, "the job has no such partition");
        cuzk_fail_expected(err, "0 to %u", h->j.partitions - 1);
        return cuzk_fail_found(err, "%u", partition);
    }
    size_t n = cuzk_job_public_count(h);
    fr *inputs = calloc(n ? n : 1, sizeof *inputs);
    if (!inputs) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", n);
    h->j.circuit.kind->public_inputs(&h->j, partition, inputs);
    for (size_t i = 0; i < n; i++) fr_to_be_bytes(out[i], &inputs[i]);
    free(inputs);
    return CUZK_OK;
}
