/* Results and failures, for programs (JSON on standard output) and for people (lines). */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static bool scalar(const json_node *n) {
    return n->kind != JSON_ARRAY && n->kind != JSON_OBJECT;
}

static const char *cell(const json_node *n) {
    switch (n->kind) {
    case JSON_TRUE: return "yes";
    case JSON_FALSE: return "no";
    case JSON_NULL: return "-";
    default: return n->text;
    }
}

static void put_scalar(const json_node *n) {
    uint64_t bytes;
    char text[24];
    fputs(cell(n), stdout);
    if (n->kind != JSON_NUMBER || !n->key || !ends_with(n->key, "bytes")) return;
    if (!text_u64(&bytes, n->text, n->len) || bytes < 1024) return;
    text_size(text, bytes);
    printf(" (%s)", text);
}

/* "params_file" is read as "params file". */
static void put_name(const char *key, int depth) {
    char name[64];
    snprintf(name, sizeof name, "%s", key);
    for (char *p = name; *p; p++) {
        if (*p == '_') *p = ' ';
    }
    printf("%*s%-*s ", depth * 2, "", 24 - depth * 2, name);
}

/* How much of a cell a table shows: of a fraction, six digits. JSON has them all. */
static int cell_length(const json_node *n) {
    int len = (int)strlen(cell(n));
    const char *dot = n->kind == JSON_NUMBER ? strchr(n->text, '.') : NULL;
    if (!dot || strpbrk(dot, "eE")) return len;
    int shown = (int)(dot - n->text) + 7;
    return len < shown ? len : shown;
}

/* ---- tables: lists of objects that hold plain values only ---- */

enum { MAX_COLUMNS = 16 };

static bool is_table(const json_node *list) {
    if (list->kind != JSON_ARRAY || !list->first) return false;
    for (const json_node *row = list->first; row; row = row->next) {
        if (row->kind != JSON_OBJECT || row->len > MAX_COLUMNS) return false;
        for (const json_node *m = row->first; m; m = m->next) {
            if (!scalar(m)) return false;
        }
    }
    return true;
}

/* Columns are those of the first row; what other rows have besides follows at the end of their line. */
static void put_table(const json_node *list, int depth) {
    int width[MAX_COLUMNS] = {0};
    for (const json_node *row = list->first; row; row = row->next) {
        int i = 0;
        for (const json_node *m = row->first; m; m = m->next, i++) {
            int len = cell_length(m), head = (int)strlen(m->key);
            if (len > width[i]) width[i] = len;
            if (head > width[i]) width[i] = head;
        }
    }
    int i = 0;
    printf("%*s", depth * 2, "");
    for (const json_node *m = list->first->first; m; m = m->next) printf("%-*s  ", width[i++], m->key);
    putchar('\n');
    for (const json_node *row = list->first; row; row = row->next) {
        i = 0;
        printf("%*s", depth * 2, "");
        for (const json_node *m = row->first; m; m = m->next) printf("%-*.*s  ", width[i++], cell_length(m), cell(m));
        putchar('\n');
    }
}

static void put_tree(const json_node *n, int depth) {
    size_t i = 0;
    for (const json_node *m = n->first; m; m = m->next, i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        /* Lists of plain texts, such as names, stand for themselves. */
        if (n->kind == JSON_OBJECT || !scalar(m) || m->kind != JSON_STRING) {
            put_name(m->key ? m->key : number, depth);
        } else {
            printf("%*s", depth * 2, "");
        }
        if (scalar(m)) {
            put_scalar(m);
        } else if (m->kind == JSON_ARRAY && m->first && scalar(m->first) && m->first->kind != JSON_STRING) {
            for (const json_node *e = m->first; e; e = e->next) {
                if (e != m->first) fputs(", ", stdout);
                if (scalar(e)) put_scalar(e);
            }
        } else {
            putchar('\n');
            if (is_table(m)) {
                put_table(m, depth + 1);
            } else {
                put_tree(m, depth + 1);
            }
            continue;
        }
        putchar('\n');
    }
}

static bool put_for_people(const char *text, size_t len) {
    cuzk_error err;
    json_node *root;
    arena *memory = arena_create(BUFFER_OTHER, 0, &err);
    bool ok = memory && !json_tree(&root, memory, "result", text, len, len + 1, &err);
    if (ok) put_tree(root, 0);
    arena_destroy(memory);
    return ok;
}

bool output_result(json_out *o, bool json) {
    size_t len;
    const char *text = json_out_text(o, &len);
    if (!text) return false;
    progress_clear();
    if (json) {
        fwrite(text, 1, len, stdout);
        putchar('\n');
    } else if (!put_for_people(text, len)) {
        return false;
    }
    return fflush(stdout) == 0 && !ferror(stdout);
}

void output_error_members(json_out *o, const cuzk_error *err) {
    put_number(o, "code", (uint64_t)err->status);
    put_text(o, "name", cuzk_status_name(err->status));
    put_text(o, "what", err->what);
    put_text(o, "where", err->where);
    put_text(o, "expected", err->expected);
    put_text(o, "found", err->found);
    put_text(o, "hint", err->hint);
}

/* Texts quote file names and foreign bytes, which must not drive the terminal. */
static void put_printable(const char *text) {
    for (; *text; text++) fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stderr);
    fputc('\n', stderr);
}

static void failure_line(const char *name, const char *text) {
    if (!*text) return;
    fprintf(stderr, "  %-9s ", name);
    put_printable(text);
}

void output_failure(const cuzk_error *err, bool json) {
    progress_clear();
    fputs("cuzk: ", stderr);
    put_printable(err->what);
    failure_line("where", err->where);
    failure_line("expected", err->expected);
    failure_line("found", err->found);
    failure_line("do", err->hint);
    if (!json) return;
    json_out *o = json_out_create();
    if (!o) return;
    json_begin_object(o);
    json_put_key(o, "error");
    json_begin_object(o);
    output_error_members(o, err);
    json_end_object(o);
    json_end_object(o);
    output_result(o, true);
    json_out_destroy(o);
}
