/* vanilla inspect, vanilla verify, synth-sector. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* Copies a parsed document's members into an open object. */
static void put_node(json_out *o, const json_node *n) {
    switch (n->kind) {
    case JSON_NULL: json_put_null(o); break;
    case JSON_FALSE: json_put_bool(o, false); break;
    case JSON_TRUE: json_put_bool(o, true); break;
    case JSON_STRING: json_put_string(o, n->text); break;
    case JSON_NUMBER: {
        char *end;
        json_put_u64(o, strtoull(n->text, &end, 10));
        break;
    }
    case JSON_ARRAY:
        json_begin_array(o);
        for (const json_node *m = n->first; m; m = m->next) put_node(o, m);
        json_end_array(o);
        break;
    case JSON_OBJECT:
        json_begin_object(o);
        for (const json_node *m = n->first; m; m = m->next) {
            json_put_key(o, m->key);
            put_node(o, m);
        }
        json_end_object(o);
        break;
    }
}

cuzk_status cmd_vanilla_inspect(const args *a, json_out *o, cuzk_error *err) {
    cuzk_job *job;
    char *text = NULL;
    arena *memory = NULL;
    if (open_job(a, false, &job, err)) return err->status;
    cuzk_status s = cuzk_job_inspect(job, &text, err);
    if (!s) {
        json_node *root;
        memory = arena_create(BUFFER_OTHER, 0, err);
        s = memory ? json_tree(&root, memory, "answer", text, strlen(text), strlen(text) + 1, err) : err->status;
        for (const json_node *m = s ? NULL : root->first; m; m = m->next) {
            json_put_key(o, m->key);
            put_node(o, m);
        }
    }
    arena_destroy(memory);
    cuzk_text_free(text);
    cuzk_job_close(job);
    return s;
}

cuzk_status cmd_vanilla_verify(const args *a, json_out *o, cuzk_error *err) {
    cuzk_job *job;
    if (open_job(a, false, &job, err)) return err->status;
    cuzk_status s = cuzk_job_check(a->context, job, a->control, err);
    if (s == CUZK_OK || s == CUZK_UNSATISFIED) {
        put_text(o, "circuit", cuzk_circuit_name(cuzk_job_circuit(job)));
        put_number(o, "partitions", cuzk_job_partitions(job));
        put_bool(o, "valid", s == CUZK_OK);
    }
    if (s == CUZK_UNSATISFIED) {
        s = err->status = CUZK_FALSE;
        json_put_key(o, "fault");
        json_begin_object(o);
        output_error_members(o, err);
        json_end_object(o);
    }
    cuzk_job_close(job);
    return s;
}

static void put_path(void *user, const char *what, const char *path) {
    put_text(user, what, path);
}

cuzk_status cmd_synth_sector(const args *a, json_out *o, cuzk_error *err) {
    uint64_t seed;
    cuzk_circuit *c;
    if (args_number(a, OPT_SEED, 0, UINT64_MAX, &seed, err)) return err->status;
    if (open_circuit(a, &c, err)) return err->status;
    put_text(o, "circuit", cuzk_circuit_name(c));
    json_put_key(o, "paths");
    json_begin_object(o);
    cuzk_status s = cuzk_synth_sector(a->context, c, seed, a->value[OPT_OUT], put_path, o, a->control, err);
    json_end_object(o);
    cuzk_circuit_close(c);
    return s;
}
