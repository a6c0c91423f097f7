/* Reading, printing and comparing settings by the table. */
#include "daemon/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "daemon/config_table.h"
#include "daemon/config_toml.h"
#include "rpc/net.h"
#include "rpc/submission.h"

#define MAX_LIST 256
#define MAX_WARNINGS 64

typedef struct reading {
    config *c;
    const char *name;
    bool given[128]; /* rows that the document sets by their own name */
} reading;

/* ---- errors ---- */

static cuzk_status refuse(const reading *r, const toml_item *item, const char *path, const char *name, cuzk_error *err,
                          const char *what) {
    cuzk_fail(err, CUZK_MALFORMED, "%s: %s%s%s", what, path, path[0] ? "." : "", name);
    if (!item) return cuzk_fail_where(err, "%s", r->name);
    return cuzk_fail_where(err, "%s: line %u, column %u", r->name, item->line, item->column);
}

static void found_item(cuzk_error *err, const toml_item *item) {
    switch (item->kind) {
    case TOML_TEXT: cuzk_fail_found(err, "\"%.*s\"", item->len > 100 ? 100 : (int)item->len, item->text); break;
    case TOML_WHOLE: cuzk_fail_found(err, "%lld", (long long)item->whole); break;
    case TOML_REAL: cuzk_fail_found(err, "%g", item->real); break;
    case TOML_TRUTH: cuzk_fail_found(err, "%s", item->truth ? "true" : "false"); break;
    case TOML_LIST: cuzk_fail_found(err, "a list"); break;
    default: cuzk_fail_found(err, "a date or a table"); break;
    }
}

static cuzk_status bad_value(const reading *r, const config_row *row, const toml_item *item, const char *expected,
                             cuzk_error *err) {
    refuse(r, item, row->section, row->name, err, "a setting has a value that it cannot have");
    found_item(err, item);
    return cuzk_fail_expected(err, "%s", expected);
}

static void warn(reading *r, unsigned line, const char *fmt, ...) CUZK_PRINTF(3);
static void warn(reading *r, unsigned line, const char *fmt, ...) {
    char text[400];
    config *c = r->c;
    va_list args;
    if (c->n_warnings == MAX_WARNINGS) return;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *copy = n < 0 ? NULL : arena_strdup(c->memory, text, strlen(text));
    if (copy) c->warnings[c->n_warnings++] = (config_warning){line, copy};
}

/* ---- values ---- */

static bool is_word(const toml_item *item, const char *word) {
    return item->kind == TOML_TEXT && item->len == strlen(word) && memcmp(item->text, word, item->len) == 0;
}

static bool whole_text(const toml_item *item) {
    return item->kind == TOML_TEXT && strlen(item->text) == item->len;
}

static cuzk_status read_text(const reading *r, const config_row *row, const toml_item *item, const char **out,
                             cuzk_error *err) {
    if (!whole_text(item) || item->len > 4096) return bad_value(r, row, item, "a text", err);
    *out = arena_strdup(r->c->memory, item->text, item->len);
    return *out ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the settings");
}

static bool read_seconds(const toml_item *item, uint64_t *out) {
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    if (item->kind == TOML_WHOLE && item->whole >= 0) return *out = (uint64_t)item->whole, true;
    if (!whole_text(item) || item->len == 0) return false;
    if (text_u64(out, item->text, item->len)) return true;
    uint64_t number;
    if (!text_u64(&number, item->text, item->len - 1)) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].unit == item->text[item->len - 1]) return !__builtin_mul_overflow(number, units[i].seconds, out);
    return false;
}

static bool read_size(const toml_item *item, uint64_t *out) {
    if (item->kind == TOML_WHOLE && item->whole >= 0) return *out = (uint64_t)item->whole, true;
    return whole_text(item) && text_bytes(out, item->text);
}

static void size_text(char out[32], uint64_t bytes) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    while (bytes && bytes % 1024 == 0 && unit < 4) bytes /= 1024, unit++;
    snprintf(out, 32, "%llu%s", (unsigned long long)bytes, units[unit]);
}

static cuzk_status read_number(const reading *r, const config_row *row, const toml_item *item, uint64_t *out,
                               cuzk_error *err) {
    char expected[160], from[32], to[32];
    bool good;
    if (row->kind == CONFIG_SIZE_AUTO && is_word(item, "auto")) return *out = CONFIG_AUTO, CUZK_OK;
    if (row->kind == CONFIG_COUNT) {
        snprintf(expected, sizeof expected, "a whole number %llu to %llu", (unsigned long long)row->min,
                 (unsigned long long)row->max);
        good = item->kind == TOML_WHOLE && item->whole >= 0;
        if (good) *out = (uint64_t)item->whole;
    } else if (row->kind == CONFIG_SECONDS) {
        snprintf(expected, sizeof expected, "a time of %llu to %llu seconds, such as 300, \"90s\", \"5m\", \"2h\"",
                 (unsigned long long)row->min, (unsigned long long)row->max);
        good = read_seconds(item, out);
    } else {
        size_text(from, row->min);
        size_text(to, row->max);
        snprintf(expected, sizeof expected, "%sa size from %s to %s, such as \"50GiB\"",
                 row->kind == CONFIG_SIZE_AUTO ? "\"auto\" or " : "", from, to);
        good = read_size(item, out);
    }
    if (good && *out >= row->min && *out <= row->max) return CUZK_OK;
    bad_value(r, row, item, expected, err);
    if (row->kind == CONFIG_SIZE || row->kind == CONFIG_SIZE_AUTO)
        cuzk_fail_hint(err, "units are KiB, MiB, GiB and TiB (K, M, G and T mean the same); a number is in bytes");
    return err->status;
}

static cuzk_status read_choice(const reading *r, const config_row *row, const toml_item *item, const char **out,
                               cuzk_error *err) {
    const char *at = row->choices;
    while (*at) {
        size_t len = strcspn(at, " ");
        if (item->kind == TOML_TEXT && item->len == len && memcmp(item->text, at, len) == 0)
            return read_text(r, row, item, out, err);
        at += len + (at[len] == ' ');
    }
    char expected[128];
    snprintf(expected, sizeof expected, "one of: %s", row->choices);
    return bad_value(r, row, item, expected, err);
}

static cuzk_status read_mode(const reading *r, const config_row *row, const toml_item *item, uint64_t *out,
                             cuzk_error *err) {
    uint64_t mode = 0;
    bool good = whole_text(item) && item->len >= 3 && item->len <= 4;
    for (size_t i = 0; good && i < item->len; i++) {
        good = item->text[i] >= '0' && item->text[i] <= '7';
        mode = mode * 8 + (uint64_t)(item->text[i] - '0');
    }
    if (!good || mode > 0777 || mode == 0) return bad_value(r, row, item, "an octal mode as a text: \"0660\"", err);
    *out = mode;
    return CUZK_OK;
}

/* ---- lists ---- */

typedef struct circuit_search {
    const char *name;
    const char *names[128];
    size_t n;
    bool found;
} circuit_search;

/* names of the list are literals of the table of circuits only until return, so they are copied. */
static void note_circuit(void *user, const char *name, const char *kind, uint64_t sector_bytes, const char *variant) {
    circuit_search *s = user;
    (void)kind, (void)sector_bytes, (void)variant;
    s->found = s->found || strcmp(name, s->name) == 0;
    if (s->n < sizeof s->names / sizeof s->names[0]) s->names[s->n++] = strdup(name);
}

static cuzk_status read_circuit(const reading *r, const config_row *row, const toml_item *item, const char **out,
                                cuzk_error *err) {
    char name[64] = "";
    if (whole_text(item) && item->len < sizeof name) rpc_circuit_name(name, item->text);
    circuit_search s = {.name = name};
    cuzk_circuit_list(note_circuit, &s);
    cuzk_status status = CUZK_OK;
    if (!s.found) {
        bad_value(r, row, item, "the name of a circuit, such as \"porep-32gib\"", err);
        const char *list[128];
        size_t n = 0;
        for (size_t i = 0; i < s.n; i++)
            if (s.names[i]) list[n++] = s.names[i];
        const char *near = text_nearest(name, list, n);
        if (near)
            cuzk_fail_hint(err, "did you mean \"%s\"? `cuzk circuit list` names them all", near);
        else
            cuzk_fail_hint(err, "`cuzk circuit list` names them all");
        status = err->status;
    } else {
        *out = arena_strdup(r->c->memory, name, strlen(name));
        if (!*out) status = cuzk_fail(err, CUZK_MEMORY, "no memory for the settings");
    }
    for (size_t i = 0; i < s.n; i++) free((void *)(uintptr_t)s.names[i]);
    return status;
}

static cuzk_status read_ordinal(const reading *r, const config_row *row, const toml_item *item, const char **out,
                                cuzk_error *err) {
    char text[24];
    if (item->kind != TOML_WHOLE || item->whole < 0 || item->whole > 31)
        return bad_value(r, row, item, "a list of ordinals 0 to 31, such as [0, 1]", err);
    snprintf(text, sizeof text, "%lld", (long long)item->whole);
    *out = arena_strdup(r->c->memory, text, strlen(text));
    return *out ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the settings");
}

static cuzk_status read_list(const reading *r, const config_row *row, const toml_item *item, const toml_item *items,
                             size_t n, config_texts *out, cuzk_error *err) {
    if (row->kind == CONFIG_TEXT_LIST && item->kind == TOML_TEXT) items = item, n = 1;
    if (items != item && item->kind != TOML_LIST)
        return bad_value(r, row, item, row->kind == CONFIG_TEXT_LIST ? "a text or a list of texts" : "a list", err);
    if (n > MAX_LIST) return bad_value(r, row, item, "a list of at most 256", err);
    const char **list = arena_alloc_array(r->c->memory, n + 1, sizeof *list);
    if (!list) return cuzk_fail(err, CUZK_MEMORY, "no memory for the settings");
    for (size_t i = 0; i < n; i++) {
        cuzk_status s = row->kind == CONFIG_CIRCUITS   ? read_circuit(r, row, &items[i], &list[i], err)
                        : row->kind == CONFIG_ORDINALS ? read_ordinal(r, row, &items[i], &list[i], err)
                                                       : read_text(r, row, &items[i], &list[i], err);
        if (s != CUZK_OK) return s;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(list[k], list[i]) != 0) continue;
            bad_value(r, row, &items[i], "each element once", err);
            return err->status;
        }
    }
    *out = (config_texts){list, n};
    return CUZK_OK;
}

static cuzk_status read_value(const reading *r, const config_row *row, const toml_item *item, const toml_item *items,
                              size_t n, cuzk_error *err) {
    void *field = (char *)r->c + row->offset;
    switch (row->kind) {
    case CONFIG_TEXT: return read_text(r, row, item, field, err);
    case CONFIG_TEXT_LIST:
    case CONFIG_CIRCUITS:
    case CONFIG_ORDINALS: return read_list(r, row, item, items, n, field, err);
    case CONFIG_TRUTH:
        if (item->kind != TOML_TRUTH) return bad_value(r, row, item, "true or false", err);
        *(bool *)field = item->truth;
        return CUZK_OK;
    case CONFIG_CHOICE: return read_choice(r, row, item, field, err);
    case CONFIG_MODE: return read_mode(r, row, item, field, err);
    default: return read_number(r, row, item, field, err);
    }
}

/* ---- the document ---- */

static const config_row *find_row(const char *path, const char *name) {
    for (size_t i = 0; i < config_row_count; i++)
        if (!strcmp(config_rows[i].section, path) && !strcmp(config_rows[i].name, name)) return &config_rows[i];
    return NULL;
}

static const config_row *find_full(const char *full) {
    const char *dot = strchr(full, '.');
    char section[32];
    snprintf(section, sizeof section, "%.*s", (int)(dot - full), full);
    return find_row(section, dot + 1);
}

static cuzk_status unknown_setting(const reading *r, const toml_item *item, const char *path, const char *name,
                                   cuzk_error *err) {
    const char *names[256], *near;
    char full[64], text[256][64], hint[96];
    size_t n = 0;
    refuse(r, item, path, name, err, "there is no such setting");
    snprintf(full, sizeof full, "%.30s%s%.30s", path, path[0] ? "." : "", name);
    for (size_t i = 0; i < config_row_count + config_old_count; i++, n++) {
        const char *section =
            i < config_row_count ? config_rows[i].section : config_old_rows[i - config_row_count].section;
        const char *word = i < config_row_count ? config_rows[i].name : config_old_rows[i - config_row_count].name;
        snprintf(text[n], sizeof text[n], "%s.%s", section, word);
        names[n] = text[n];
        /* The right name in the wrong section is a near miss too. */
        if (!strcmp(word, name)) {
            snprintf(hint, sizeof hint, "%s", text[n]);
            return cuzk_fail_hint(err, "did you mean %s? `cuzk config --print` shows every setting", hint);
        }
    }
    near = text_nearest(full, names, n);
    if (near) return cuzk_fail_hint(err, "did you mean %s? `cuzk config --print` shows every setting", near);
    return cuzk_fail_hint(err, "`cuzk config --print` shows every setting");
}

static bool is_section(const char *name) {
    bool is = false;
    for (size_t i = 0; i < config_section_count; i++) is = is || !strcmp(config_sections[i].name, name);
    for (size_t i = 0; i < config_old_count; i++) is = is || !strcmp(config_old_rows[i].section, name);
    return is;
}

static cuzk_status on_setting(void *user, const char *path, const char *name, const toml_item *item,
                              const toml_item *items, size_t n, cuzk_error *err) {
    reading *r = user;
    const config_row *row = find_row(path, name);
    if (item->kind == TOML_TABLE && !path[0] && is_section(name)) return CUZK_OK;
    if (row) {
        r->given[row - config_rows] = true;
        toml_item debug = {.kind = TOML_TEXT, .text = "debug", .len = 5, .line = item->line, .column = item->column};
        if (!strcmp(path, "logging") && !strcmp(name, "level") && is_word(item, "trace")) {
            warn(r, item->line, "logging.level trace is an older word for debug");
            item = &debug;
        }
        return read_value(r, row, item, items, n, err);
    }
    for (size_t i = 0; i < config_old_count; i++) {
        const config_old *old = &config_old_rows[i];
        if (strcmp(old->section, path) != 0 || strcmp(old->name, name) != 0) continue;
        row = old->now ? find_full(old->now) : NULL;
        bool taken = row && !r->given[row - config_rows];
        warn(r, item->line, "%s.%s is %s: %s", path, name, taken ? "an older name" : "ignored", old->text);
        return taken ? read_value(r, row, item, items, n, err) : CUZK_OK;
    }
    return unknown_setting(r, item, path, name, err);
}

/* A row's default goes the way of a document's value, so it is checked too. */
static cuzk_status on_default(void *user, const char *path, const char *name, const toml_item *item,
                              const toml_item *items, size_t n, cuzk_error *err) {
    (void)path, (void)name;
    void *const *both = user;
    return read_value(both[0], both[1], item, items, n, err);
}

static cuzk_status set_defaults(reading *r, cuzk_error *err) {
    char text[160];
    for (size_t i = 0; i < config_row_count; i++) {
        const void *both[2] = {r, &config_rows[i]};
        int n = snprintf(text, sizeof text, "x = %s", config_rows[i].initial);
        cuzk_status s = toml_read("defaults", text, (size_t)n, on_default, both, err);
        if (s != CUZK_OK) return s;
    }
    return CUZK_OK;
}

/* ---- what belongs together ---- */

static cuzk_status against(const reading *r, cuzk_error *err, const char *what, const char *hint) {
    cuzk_fail(err, CUZK_MALFORMED, "%s", what);
    cuzk_fail_where(err, "%s", r->name);
    return cuzk_fail_hint(err, "%s", hint);
}

static cuzk_status bad_address(const reading *r, const char *setting, cuzk_error *err) {
    err->status = CUZK_MALFORMED; /* of the file's, not of the command line */
    return cuzk_fail_within(err, "%s: %s", r->name, setting);
}

static cuzk_status check_addresses(const reading *r, cuzk_error *err) {
    const config *c = r->c;
    net_address a;
    if (c->listen.n == 0 || c->listen.n > RPC_MAX_LISTEN)
        return against(r, err, "daemon.listen must have 1 to 8 addresses", "name at least one: \"127.0.0.1:9820\"");
    for (size_t i = 0; i < c->listen.n; i++) {
        cuzk_status s = net_parse(&a, c->listen.list[i], false, err);
        if (s != CUZK_OK) return bad_address(r, "daemon.listen", err);
        if (a.loopback || c->tls_cert[0] || c->allow_plain_tcp) continue;
        against(
            r, err, "daemon.listen is reachable from other machines, and has no TLS",
            "set daemon.tls_cert and daemon.tls_key, or daemon.allow_plain_tcp = true where the network is trusted");
        return cuzk_fail_found(err, "%s", c->listen.list[i]);
    }
    if (c->status_listen[0] && net_parse(&a, c->status_listen, false, err) != CUZK_OK)
        return bad_address(r, "daemon.status_listen", err);
    if (c->status_listen[0] && a.is_unix)
        return against(r, err, "daemon.status_listen cannot be a unix socket", "name an address: \"127.0.0.1:9821\"");
    return CUZK_OK;
}

static cuzk_status check_whole(reading *r, cuzk_error *err) {
    config *c = r->c;
    if (!c->tls_cert[0] != !c->tls_key[0])
        return against(r, err, "daemon.tls_cert and daemon.tls_key go together", "set both or none");
    if (c->tls_client_ca[0] && !c->tls_cert[0])
        return against(r, err, "daemon.tls_client_ca needs a certificate of the daemon's own",
                       "set daemon.tls_cert and daemon.tls_key");
    if (c->total_budget != CONFIG_AUTO && c->critical_share != CONFIG_AUTO && c->critical_share > c->total_budget)
        return against(r, err, "memory.critical_share is more than memory.total_budget", "make it smaller");
    if (c->max_message > c->request_limit)
        return against(r, err, "daemon.max_message is more than memory.request_limit: such a request could never come",
                       "make memory.request_limit at least as large");
    if (!c->cache_folder[0])
        return against(r, err, "cache.folder is empty", "name a folder that the daemon can write to");
    if (c->total_budget != CONFIG_AUTO && r->given[find_row("memory", "safety_margin") - config_rows])
        warn(r, 0, "memory.safety_margin has no effect: memory.total_budget is a size");
    if (!strcmp(c->policy, "cpu") && c->devices.n) warn(r, 0, "gpus.devices has no effect: gpus.policy is cpu");
    if (c->socket_mode & 0007) warn(r, 0, "daemon.socket_mode lets every user of this machine submit jobs");
    return check_addresses(r, err);
}

/* ---- from outside ---- */

static cuzk_status apply_overrides(reading *r, const config_overrides *over, cuzk_error *err) {
    cuzk_status s = CUZK_OK;
    const struct {
        const char *section, *name, *value;
    } words[] = {{"logging", "level", over->log_level}, {"logging", "format", over->log_format}};
    for (size_t i = 0; s == CUZK_OK && i < sizeof words / sizeof words[0]; i++) {
        if (!words[i].value) continue;
        toml_item item = {.kind = TOML_TEXT, .text = words[i].value, .len = strlen(words[i].value)};
        s = read_value(r, find_row(words[i].section, words[i].name), &item, NULL, 0, err);
    }
    if (over->listen.n) r->c->listen = over->listen;
    return s;
}

cuzk_status config_read(config *out, const char *name, const char *text, size_t len, const config_overrides *over,
                        cuzk_error *err) {
    memset(out, 0, sizeof *out);
    out->file = "";
    out->memory = arena_create(BUFFER_OTHER, 64 << 10, err);
    if (!out->memory) return err->status;
    reading r = {.c = out, .name = name};
    out->warnings = arena_alloc_array(out->memory, MAX_WARNINGS, sizeof *out->warnings);
    if (!out->warnings) return cuzk_fail(err, CUZK_MEMORY, "no memory for the settings");
    cuzk_status s = set_defaults(&r, err);
    if (s == CUZK_OK) s = toml_read(name, text, len, on_setting, &r, err);
    if (s == CUZK_OK && over) s = apply_overrides(&r, over, err);
    return s == CUZK_OK ? check_whole(&r, err) : s;
}

cuzk_status config_open(config *out, const char *path, const config_overrides *over, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    if (!path && !file_exists(CONFIG_DEFAULT_FILE)) return config_read(out, "defaults", "", 0, over, err);
    const char *file = path ? path : CONFIG_DEFAULT_FILE;
    buffer text;
    cuzk_status s = file_read(&text, file, CONFIG_MAX_BYTES, err);
    if (s != CUZK_OK) return s;
    s = config_read(out, file, text.data ? text.data : "", text.bytes, over, err);
    buffer_free(&text);
    if (s != CUZK_OK) return s;
    out->file = arena_strdup(out->memory, file, strlen(file));
    return out->file ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the settings");
}

void config_close(config *c) {
    arena_destroy(c->memory);
    memset(c, 0, sizeof *c);
}

/* Each line of text behind "# ". */
static void put_comment(void (*put)(void *user, const char *text), void *user, const char *text) {
    char line[160];
    while (*text) {
        size_t len = strcspn(text, "\n");
        snprintf(line, sizeof line, "# %.*s\n", (int)len, text);
        put(user, line);
        text += len + (text[len] == '\n');
    }
}

void config_print(void (*put)(void *user, const char *text), void *user) {
    char line[200];
    put_comment(
        put, user,
        "Settings of `cuzk serve`. Every one is shown with its default; remove the # to change it. Sizes are bytes "
        "or\n\"50GiB\", times are seconds or \"5m\". `cuzk config --check FILE` checks a file; SIGHUP reads it "
        "again.\n");
    for (size_t k = 0; k < config_section_count; k++) {
        snprintf(line, sizeof line, "\n[%s]\n", config_sections[k].name);
        put(user, line);
        put_comment(put, user, config_sections[k].text);
        for (size_t i = 0; i < config_row_count; i++) {
            const config_row *row = &config_rows[i];
            if (strcmp(row->section, config_sections[k].name) != 0) continue;
            if (row->text[0]) put(user, "\n");
            put_comment(put, user, row->text);
            snprintf(line, sizeof line, "#%s = %s\n", row->name, row->initial);
            put(user, line);
        }
    }
}

static bool same_texts(const config_texts *a, const config_texts *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) same = strcmp(a->list[i], b->list[i]) == 0;
    return same;
}

void config_differences(const config *a, const config *b, void (*each)(void *user, const char *name, bool live),
                        void *user) {
    char name[64];
    for (size_t i = 0; i < config_row_count; i++) {
        const config_row *row = &config_rows[i];
        const void *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
        bool same;
        switch (row->kind) {
        case CONFIG_TEXT:
        case CONFIG_CHOICE: same = strcmp(*(const char *const *)x, *(const char *const *)y) == 0; break;
        case CONFIG_TEXT_LIST:
        case CONFIG_CIRCUITS:
        case CONFIG_ORDINALS: same = same_texts(x, y); break;
        case CONFIG_TRUTH: same = *(const bool *)x == *(const bool *)y; break;
        default: same = *(const uint64_t *)x == *(const uint64_t *)y; break;
        }
        if (same) continue;
        snprintf(name, sizeof name, "%s.%s", row->section, row->name);
        each(user, name, row->live);
    }
}

/* ---- as others want them ---- */

static uint64_t or_zero(uint64_t v) {
    return v == CONFIG_AUTO ? 0 : v;
}

/* 0 means the default to the engine; here it is a wish. */
static uint64_t at_least_one(uint64_t v) {
    return v ? or_zero(v) : 1;
}

void config_engine_options(config *c, cuzk_engine_options *out) {
    size_t at = 0;
    c->device_words[0] = 0;
    for (size_t i = 0; i < c->devices.n; i++)
        at += (size_t)snprintf(c->device_words + at, sizeof c->device_words - at, "%scuda:%s", i ? "," : "",
                               c->devices.list[i]);
    bool cpu = !strcmp(c->policy, "cpu");
    *out = (cuzk_engine_options){
        .size = sizeof *out,
        .threads = (unsigned)c->threads,
        .memory_bytes = or_zero(c->total_budget),
        .memory_margin_bytes = at_least_one(c->safety_margin),
        .device_memory_bytes = or_zero(c->device_memory),
        .critical_bytes = c->critical_share, /* CONFIG_AUTO is the engine's word for it */
        .request_bytes = c->request_limit,
        .synthesis_workers = (unsigned)c->partition_workers,
        .device_workers = (unsigned)c->gpu_workers_per_device,
        .queue_depth = (unsigned)c->queue_depth,
        .devices = cpu            ? "cpu"
                   : c->devices.n ? c->device_words
                                  : "auto",
        .policy = cpu                                 ? CUZK_CPU
                  : !strcmp(c->policy, "require-gpu") ? CUZK_REQUIRE_GPU
                                                      : CUZK_PREFER_GPU,
        .development_keys = c->development_keys,
        .params_folder = c->param_cache[0] ? c->param_cache : NULL,
        .circuits = c->circuits.list,
        .n_circuits = c->circuits.n,
        .attempts = (unsigned)c->attempts,
        .device_timeout = (double)c->device_timeout,
        .starvation_seconds = (double)c->starvation,
        .idle_eviction_seconds = (double)c->eviction_min_idle,
        .retention_seconds = (double)c->retention,
    };
}

void config_rpc_options(const config *c, rpc_options *out) {
    *out = (rpc_options){
        .listen = c->listen.list,
        .n_listen = c->listen.n,
        .socket_mode = (unsigned)c->socket_mode,
        .socket_owner = c->socket_owner,
        .tls_cert = c->tls_cert[0] ? c->tls_cert : NULL,
        .tls_key = c->tls_key[0] ? c->tls_key : NULL,
        .tls_client_ca = c->tls_client_ca[0] ? c->tls_client_ca : NULL,
        .allow_plain = c->allow_plain_tcp,
        .max_message_bytes = c->max_message,
        .request_bytes = c->request_limit,
        .request_timeout = (double)c->request_timeout,
    };
}

log_level config_log_level(const config *c) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int i = 3;
    while (i > 0 && strcmp(c->level, names[i]) != 0) i--;
    return (log_level)i;
}

log_form config_log_form(const config *c) {
    return strcmp(c->format, "json") == 0 ? LOG_JSON : LOG_TEXT;
}
