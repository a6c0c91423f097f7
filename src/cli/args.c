/* Parsing the command line. Options may stand before, between and after operands; --name=value and --name value are the
 * same; -- ends the options. Every fault is a USAGE error that names the argument. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

typedef struct option_row {
    const char *name, *value, *help;
    bool repeats;
} option_row;

static const option_row rows[OPTIONS] = {
#define X(id, name, value, repeat, help) {name, value, help, repeat},
    OPTION_LIST(X)
#undef X
};

const char *option_name(option o) {
    return rows[o].name;
}
const char *option_value_name(option o) {
    return rows[o].value;
}
const char *option_help(option o) {
    return rows[o].help;
}
bool option_repeats(option o) {
    return rows[o].repeats;
}

static cuzk_status usage_hint(const command *c, cuzk_error *err) {
    return cuzk_fail_hint(err, "`cuzk %s --help` shows the options and an example", c->words);
}

static cuzk_status unknown_option(const command *c, const char *word, cuzk_error *err) {
    const char *names[OPTIONS];
    size_t n = 0;
    for (int i = 0; i < OPTIONS; i++) {
        if (c->options & UINT64_C(1) << i) names[n++] = rows[i].name;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = strncmp(name, "--", 2) ? NULL : text_nearest(name + 2, names, n);
    cuzk_fail(err, CUZK_USAGE, "cuzk %s has no option %s", c->words, name);
    if (near) return cuzk_fail_hint(err, "did you mean --%s? `cuzk %s --help` shows the options", near, c->words);
    return usage_hint(c, err);
}

static int option_find(const command *c, const char *name, size_t len) {
    for (int i = 0; i < OPTIONS; i++) {
        if (c->options & UINT64_C(1) << i && strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len)) return i;
    }
    return -1;
}

/* "-c" and "-j" of batches, as their users know them; "-h" everywhere. */
static int short_option(const command *c, const char *word) {
    static const struct {
        const char *word;
        option o;
    } shorts[] = {{"-h", OPT_HELP}, {"-c", OPT_COUNT}, {"-j", OPT_CONCURRENCY}};
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        if (!strcmp(word, shorts[i].word) && c->options & UINT64_C(1) << shorts[i].o) return (int)shorts[i].o;
    }
    return -1;
}

/* Takes the option at argv[*i], and its value. */
static cuzk_status take_option(args *a, int argc, char **argv, int *i, cuzk_error *err) {
    const char *word = argv[*i];
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    int o = len > 2 && word[1] == '-' ? option_find(a->command, word + 2, len - 2) : -1;
    if (o < 0) o = short_option(a->command, word);
    if (o < 0) return unknown_option(a->command, word, err);
    if (a->given[o] && !rows[o].repeats) {
        cuzk_fail(err, CUZK_USAGE, "--%s is given twice", rows[o].name);
        return usage_hint(a->command, err);
    }
    a->given[o] = true;
    if (!rows[o].value) {
        if (!equals) return CUZK_OK;
        cuzk_fail(err, CUZK_USAGE, "--%s takes no value", rows[o].name);
        return usage_hint(a->command, err);
    }
    const char *value = equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!value || !*value || (!equals && !strncmp(value, "--", 2))) {
        cuzk_fail(err, CUZK_USAGE, "--%s needs a value", rows[o].name);
        cuzk_fail_expected(err, "--%s %s", rows[o].name, rows[o].value);
        return usage_hint(a->command, err);
    }
    a->value[o] = value;
    if (!rows[o].repeats) return CUZK_OK;
    if (!a->list[o]) a->list[o] = calloc(MAX_REPEATS, sizeof *a->list[o]);
    if (!a->list[o]) return cuzk_fail(err, CUZK_MEMORY, "no memory for arguments");
    if (a->n_list[o] == MAX_REPEATS) return cuzk_fail(err, CUZK_USAGE, "--%s is given too often", rows[o].name);
    a->list[o][a->n_list[o]++] = value;
    return CUZK_OK;
}

static cuzk_status take_operand(args *a, const char *word, cuzk_error *err) {
    const command *c = a->command;
    if (a->n_operands == c->max_operands) {
        cuzk_fail(err, CUZK_USAGE, "one argument too many: %s", word);
        cuzk_fail_expected(err, "cuzk %s %s", c->words, c->operands);
        return usage_hint(c, err);
    }
    a->operand[a->n_operands++] = word;
    return CUZK_OK;
}

static cuzk_status complete(const args *a, cuzk_error *err) {
    const command *c = a->command;
    if (a->n_operands < c->min_operands) {
        cuzk_fail(err, CUZK_USAGE, "an argument is missing");
        cuzk_fail_expected(err, "cuzk %s %s", c->words, c->operands);
        return usage_hint(c, err);
    }
    for (int i = 0; i < OPTIONS; i++) {
        if (!(c->required & UINT64_C(1) << i) || a->given[i]) continue;
        cuzk_fail(err, CUZK_USAGE, "--%s is missing", rows[i].name);
        cuzk_fail_expected(err, "cuzk %s %s", c->words, c->operands);
        return usage_hint(c, err);
    }
    return CUZK_OK;
}

cuzk_status args_parse(args *a, const command *c, int argc, char **argv, cuzk_error *err) {
    memset(a, 0, sizeof *a);
    a->command = c;
    bool options = true;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (options && !strcmp(word, "--")) {
            options = false;
        } else if (options && word[0] == '-' && word[1]) {
            if (take_option(a, argc, argv, &i, err)) return err->status;
        } else if (take_operand(a, word, err)) {
            return err->status;
        }
    }
    return a->given[OPT_HELP] ? CUZK_OK : complete(a, err);
}

void args_free(args *a) {
    for (int i = 0; i < OPTIONS; i++) free(a->list[i]);
}

cuzk_status args_bytes(const args *a, option o, uint64_t *out, cuzk_error *err) {
    *out = 0;
    if (!a->given[o]) return CUZK_OK;
    if (text_bytes(out, a->value[o]) && *out) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "--%s is not a size", rows[o].name);
    cuzk_fail_expected(err, "a positive number, with K, M, G, KiB, MiB or GiB, such as 2KiB");
    cuzk_fail_found(err, "%s", a->value[o]);
    return usage_hint(a->command, err);
}

cuzk_status args_number(const args *a, option o, uint64_t min, uint64_t max, uint64_t *out, cuzk_error *err) {
    *out = 0;
    if (!a->given[o]) return CUZK_OK;
    if (text_u64(out, a->value[o], strlen(a->value[o])) && *out >= min && *out <= max) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "--%s is not such a number", rows[o].name);
    cuzk_fail_expected(err, "%llu to %llu", (unsigned long long)min, (unsigned long long)max);
    cuzk_fail_found(err, "%s", a->value[o]);
    return usage_hint(a->command, err);
}

static cuzk_status bad_list(const args *a, option o, const char *example, cuzk_error *err) {
    cuzk_fail(err, CUZK_USAGE, "--%s is not such a list of numbers", rows[o].name);
    cuzk_fail_expected(err, "%s", example);
    cuzk_fail_found(err, "%s", a->value[o]);
    return usage_hint(a->command, err);
}

static cuzk_status read_list(const args *a, option o, uint64_t min, uint64_t max, const char *example, unsigned **out,
                             size_t *n, cuzk_error *err) {
    *out = NULL;
    *n = 0;
    if (!a->given[o]) return CUZK_OK;
    const char *text = a->value[o];
    size_t room = 1;
    for (const char *p = text; *p; p++) room += *p == ',';
    unsigned *list = calloc(room, sizeof *list);
    if (!list) return cuzk_fail(err, CUZK_MEMORY, "no memory for arguments");
    for (const char *p = text;;) {
        size_t len = strcspn(p, ",");
        uint64_t k;
        if (!text_u64(&k, p, len) || k < min || k > max) {
            free(list);
            return bad_list(a, o, example, err);
        }
        list[(*n)++] = (unsigned)k;
        if (!p[len]) break;
        p += len + 1;
    }
    *out = list;
    return CUZK_OK;
}

cuzk_status args_list(const args *a, option o, uint64_t min, uint64_t max, unsigned **out, size_t *n, cuzk_error *err) {
    char example[64];
    snprintf(example, sizeof example, "such as %llu or 1,2,4; at most %llu", (unsigned long long)(min ? min : 1),
             (unsigned long long)max);
    return read_list(a, o, min, max, example, out, n, err);
}

cuzk_status args_partitions(const args *a, unsigned **out, size_t *n, cuzk_error *err) {
    return read_list(a, OPT_PARTITION, 0, 1u << 20, "such as 0 or 0,2,5", out, n, err);
}
