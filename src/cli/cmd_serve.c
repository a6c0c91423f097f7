/* `cuzk serve` and `cuzk config`. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/serve.h"

cuzk_status cmd_serve(const args *a, json_out *o, cuzk_error *err) {
    (void)o; /* it speaks through the log */
    serve_options options = {.config_path = a->value[OPT_CONFIG],
                             .over = {.listen = {a->list[OPT_LISTEN], a->n_list[OPT_LISTEN]},
                                      .log_level = a->value[OPT_LOG_LEVEL],
                                      .log_format = a->value[OPT_LOG_FORMAT]}};
    return serve(&options, err);
}

static void put_stdout(void *user, const char *text) {
    (void)user;
    fputs(text, stdout);
}

typedef struct text {
    char *data;
    size_t n;
} text;

static void put_text_part(void *user, const char *part) {
    text *t = user;
    size_t n = strlen(part);
    char *more = realloc(t->data, t->n + n + 1);
    if (!more) return;
    memcpy(more + t->n, part, n + 1);
    t->data = more;
    t->n += n;
}

static cuzk_status print_sample(const args *a, json_out *o, cuzk_error *err) {
    text t = {0};
    if (!a->given[OPT_JSON]) {
        config_print(put_stdout, NULL);
        return CUZK_OK;
    }
    config_print(put_text_part, &t);
    if (!t.data) return cuzk_fail(err, CUZK_MEMORY, "no memory for the answer");
    put_text(o, "sample", t.data);
    free(t.data);
    return CUZK_OK;
}

static cuzk_status check_file(const char *path, json_out *o, cuzk_error *err) {
    config c;
    cuzk_status s = config_open(&c, path, NULL, err);
    if (s == CUZK_OK) {
        put_bool(o, "valid", true);
        json_put_key(o, "warnings");
        json_begin_array(o);
        for (size_t i = 0; i < c.n_warnings; i++) {
            json_begin_object(o);
            if (c.warnings[i].line) put_number(o, "line", c.warnings[i].line);
            put_text(o, "text", c.warnings[i].text);
            json_end_object(o);
        }
        json_end_array(o);
    }
    config_close(&c);
    return s;
}

cuzk_status cmd_config(const args *a, json_out *o, cuzk_error *err) {
    if (a->given[OPT_PRINT] == a->given[OPT_CHECK]) {
        cuzk_fail(err, CUZK_USAGE, "cuzk config prints or checks");
        return cuzk_fail_hint(err, "give --print, or --check FILE");
    }
    return a->given[OPT_PRINT] ? print_sample(a, o, err) : check_file(a->value[OPT_CHECK], o, err);
}
