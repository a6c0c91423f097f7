/* The program cuzk: finds the command, parses its arguments, runs it, prints its result, turns its status into the exit
 * status (docs/cli.md). Cancelled by a signal: 128 + its number, with nothing left behind. */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/text.h"

/* ---- help ---- */

/* Whether the command is `GROUP SOMETHING`. */
static bool in_group(const command *c, const char *group) {
    size_t n = strlen(group);
    return !strncmp(c->words, group, n) && c->words[n] == ' ';
}

static bool is_group(const char *word) {
    for (size_t i = 0; i < n_commands; i++) {
        if (in_group(&commands[i], word)) return true;
    }
    return false;
}

/* Every command, or those of a group. */
static void help_list(FILE *f, const char *group) {
    fprintf(f, "cuzk %s: Groth16 proofs for Filecoin circuits\n\nUse: cuzk %s ...\n\n", cuzk_version(),
            group ? group : "COMMAND");
    for (size_t i = 0; i < n_commands; i++) {
        if (group && !in_group(&commands[i], group)) continue;
        fprintf(f, "  %-16s %s\n", commands[i].words, commands[i].summary);
    }
    fprintf(f, "\n`cuzk COMMAND --help` shows options and an example. Example: cuzk circuit info porep --size 2KiB\n");
}

static void help_command(FILE *f, const command *c) {
    fprintf(f, "cuzk %s: %s\n\nUse: cuzk %s%s%s\n\n%s%sOptions:\n", c->words, c->summary, c->words,
            *c->operands ? " " : "", c->operands, c->more, *c->more ? "\n" : "");
    for (int o = 0; o < OPTIONS; o++) {
        if (!(c->options & UINT64_C(1) << o)) continue;
        char name[48];
        const char *value = option_value_name((option)o);
        snprintf(name, sizeof name, "--%s%s%s", option_name((option)o), value ? " " : "", value ? value : "");
        fprintf(f, "  %-26s %s\n", name, option_help((option)o));
    }
    fprintf(f, "\nExample: %s\n", c->example);
}

/* ---- finding the command ---- */

/* The command whose words argv begins with; the longest wins. *words is their number. */
static const command *find_command(int argc, char **argv, int *words) {
    const command *best = NULL;
    *words = 0;
    for (size_t i = 0; i < n_commands; i++) {
        const char *rest = commands[i].words;
        int n = 0;
        while (*rest && n < argc) {
            size_t len = strcspn(rest, " ");
            if (strlen(argv[n]) != len || strncmp(argv[n], rest, len)) break;
            rest += len + (rest[len] == ' ');
            n++;
        }
        if (!*rest && n > *words) best = &commands[i], *words = n;
    }
    return best;
}

static cuzk_status no_command(int argc, char **argv, cuzk_error *err) {
    const char *names[64], *first = argv[0];
    char typed[96];
    size_t n = 0;
    bool group = is_group(first);
    for (size_t i = 0; i < n_commands; i++) names[n++] = commands[i].words;
    const char *second = group && argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    snprintf(typed, sizeof typed, "%s%s%s", first, second ? " " : "", second ? second : "");
    if (group && !second) {
        cuzk_fail(err, CUZK_USAGE, "cuzk %s needs a second word", first);
        return cuzk_fail_hint(err, "`cuzk %s --help` lists what can follow", first);
    }
    cuzk_fail(err, CUZK_USAGE, "there is no command `%s`", typed);
    const char *near = text_nearest(typed, names, n);
    if (near) return cuzk_fail_hint(err, "did you mean `cuzk %s`?", near);
    return cuzk_fail_hint(err, "`cuzk --help` lists the commands");
}

/* Common options may stand before the command's words: they are moved behind all others. Returns the number of
 * arguments before the command. */
static int leading_options(int argc, char **argv) {
    int i = 0;
    while (i < argc && argv[i][0] == '-' && argv[i][1]) {
        bool valued = !strcmp(argv[i], "--threads") || !strcmp(argv[i], "--memory") || !strcmp(argv[i], "--device") ||
                      !strcmp(argv[i], "--device-memory");
        i += valued && i + 1 < argc ? 2 : 1;
    }
    return i;
}

/* ---- running ---- */

static cuzk_status make_context(args *a, cuzk_error *err) {
    uint64_t threads, memory, device_memory;
    if (!(a->command->options & BIT(THREADS))) return CUZK_OK;
    if (args_number(a, OPT_THREADS, 1, CUZK_MAX_THREADS, &threads, err)) return err->status;
    if (args_bytes(a, OPT_MEMORY, &memory, err)) return err->status;
    if (args_bytes(a, OPT_DEVICE_MEMORY, &device_memory, err)) return err->status;
    cuzk_settings settings = {.threads = (unsigned)threads,
                              .memory_bytes = memory,
                              .device_memory_bytes = device_memory,
                              .device = a->value[OPT_DEVICE]};
    return cuzk_context_create(&a->context, &settings, err);
}

/* told: the command has told of its failure itself. */
static int finish(const command *c, cuzk_status s, bool told, json_out *o, const cuzk_error *err, bool json) {
    cuzk_error unwritten;
    if ((s == CUZK_OK || s == CUZK_FALSE) && !output_result(o, json)) {
        cuzk_fail(&unwritten, CUZK_IO, "the answer could not be written to standard output");
        output_failure(&unwritten, false);
        return cuzk_status_exit(CUZK_IO);
    }
    if (s == CUZK_OK) return 0;
    /* For `false` the JSON answer is out already. */
    if (!told) output_failure(err, json && s != CUZK_FALSE);
    if (s == CUZK_CANCELLED && signals_caught()) return 128 + signals_caught();
    return s == CUZK_FALSE && c->false_exit ? c->false_exit : cuzk_status_exit(s);
}

static int help_status(void) {
    cuzk_error unwritten;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    cuzk_fail(&unwritten, CUZK_IO, "the help could not be written to standard output");
    output_failure(&unwritten, false);
    return cuzk_status_exit(CUZK_IO);
}

/* Whoever started us may have closed 0, 1 or 2. The next file opened would get that number, and messages would be
 * written into a key or a proof. Read-only, so that an answer nobody can get still is a write error. */
static void hold_standard_streams(void) {
    int fd;
    do fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

static int run(const command *c, int argc, char **argv, bool json) {
    cuzk_error err = {0};
    args a;
    cuzk_control control = {.cancel = signals_cancel(), .progress = progress_report};
    json_out *o = json_out_create();
    cuzk_status s = o ? CUZK_OK : cuzk_fail(&err, CUZK_MEMORY, "no memory for the answer");
    if (!s) s = args_parse(&a, c, argc, argv, &err);
    bool parsed = o != NULL;
    if (!s && a.given[OPT_HELP]) {
        help_command(stdout, c);
        args_free(&a);
        json_out_destroy(o);
        return help_status();
    }
    if (!s) {
        progress_setup(a.given[OPT_QUIET]);
        log_setup(a.given[OPT_QUIET] ? LOG_ERROR : LOG_INFO, LOG_TEXT);
        a.control = &control;
        s = make_context(&a, &err);
    }
    bool told = false;
    if (!s) {
        json_begin_object(o);
        told = c->own_voice;
        s = c->run(&a, o, &err);
        json_end_object(o);
        cuzk_context_destroy(a.context);
    }
    int status = finish(c, s, told, o, &err, json);
    if (parsed) args_free(&a);
    json_out_destroy(o);
    return status;
}

int main(int argc, char **argv) {
    cuzk_error err = {0};
    bool json = false, help = false;
    int words;
    hold_standard_streams();
    argc--, argv++;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--")) break;
        json = json || !strcmp(argv[i], "--json");
        help = help || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
    }
    signals_setup(json);
    int before = leading_options(argc, argv);
    const command *c = find_command(argc - before, argv + before, &words);
    for (int i = 0; i < before && !c && before == argc && !help; i++) { /* `cuzk --version` is `cuzk version` */
        if (strcmp(argv[i], "--version")) continue;
        argv[i] = argv[before - 1];
        argv[--before] = "version";
        c = find_command(1, argv + before, &words);
    }
    if (!c && (help || (before < argc && !strcmp(argv[before], "help")))) {
        help_list(stdout, before < argc && is_group(argv[before]) ? argv[before] : NULL);
        return help_status();
    }
    if (!c) {
        if (before < argc) {
            no_command(argc - before, argv + before, &err);
        } else {
            cuzk_fail(&err, CUZK_USAGE, "no command is given");
            cuzk_fail_hint(&err, "`cuzk --help` lists the commands; `cuzk circuit list` is one to start with");
        }
        output_failure(&err, json);
        return cuzk_status_exit(CUZK_USAGE);
    }
    /* argv without the command's words: what stood before them, then what follows. */
    memmove(argv + words, argv, (size_t)before * sizeof *argv);
    return run(c, argc - words, argv + words, json);
}
