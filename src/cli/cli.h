/* The command line program: what its files share.
 *
 * A command is a row of the table in commands.c: its words, the options it takes, and a function. The function gets
 * parsed arguments and a json_out with an object begun; what it puts there is printed as JSON (--json) or, by output.c,
 * as lines for people. So every command has one result and two forms of it. Errors go up as a cuzk_error and are
 * printed in one place.
 */
#ifndef CUZK_CLI_H
#define CUZK_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "cuzk/cuzk.h"

/* ---- options: X(ID, "name", "VALUE" or NULL for a flag, may be repeated, "help") ---- */
#define OPTION_LIST(X)                                                                                                 \
    X(HELP, "help", NULL, false, "show this text")                                                                     \
    X(JSON, "json", NULL, false, "one JSON object on standard output, also for a failure")                             \
    X(QUIET, "quiet", NULL, false, "only errors and warnings about insecure keys on standard error")                   \
    X(THREADS, "threads", "N", false, "threads to use (default: all that this process may use)")                       \
    X(MEMORY, "memory", "BYTES", false, "most memory to use; suffixes K, M, G, T, KiB, MiB, GiB, TiB")                 \
    X(DEVICE, "device", "D", false, "auto (default), cpu, cuda or cuda:N")                                             \
    X(DEVICE_MEMORY, "device-memory", "BYTES", false, "most device memory to use (of no effect on the CPU)")           \
    X(SIZE, "size", "SIZE", false, "sector size: 2KiB, 8MiB, 512MiB, 32GiB, 64GiB, ...")                               \
    X(VARIANT, "variant", "V", false, "variant of the circuit, see `cuzk circuit list`")                               \
    X(C1, "c1", "FILE", false, "commit-phase-1 output (JSON); - is standard input")                                    \
    X(REQUEST, "request", "FILE", false, "what a verifier knows (JSON)")                                               \
    X(VANILLA, "vanilla", "FILE", true, "a vanilla proof; repeat in the request's order")                              \
    X(PARAMS, "params", "FILE", false, "proving key (default: the official file, see `cuzk prove --help`)")            \
    X(DEV_KEY, "dev-key", NULL, false, "use a development key, made once and kept in the cache folder")                \
    X(KEY_CHECK, "key-check", "HOW", false, "trusted (default), digest or full: how the key is checked first")         \
    X(VK, "vk", "FILE", false, "verifying key (.vk, or a .params file)")                                               \
    X(INPUTS, "inputs", "FILE", true, "public inputs of one proof, one hex element a line; repeat for each proof")     \
    X(PARTITION, "partition", "K,K...", false, "only these partitions, in this order")                                 \
    X(OUT, "out", "PATH", false, "where the result is written")                                                        \
    X(CHECKPOINTS, "checkpoints", "FILE", false, "also write a digest for each 65,536 constraints or values")          \
    X(INSECURE_RS, "insecure-rs", "FILE", false, "take r and s from this file: tests only, proofs lose their secrecy") \
    X(INSECURE_TRAPDOOR, "insecure-trapdoor", "FILE", false, "take the trapdoor from this file: tests only")           \
    X(FULL, "full", NULL, false, "check every point: on the curve and in the subgroup")                                \
    X(SEED, "seed", "N", false, "number that determines the result")                                                   \
    X(CONFIG, "config", "FILE", false, "settings of the daemon (default: /etc/cuzk/cuzk.toml when it is there)")       \
    X(LISTEN, "listen", "ADDRESS", true, "unix:///PATH or IP:PORT, instead of the settings' daemon.listen; repeat")    \
    X(LOG_LEVEL, "log-level", "LEVEL", false, "error, warn, info or debug, instead of the settings' logging.level")    \
    X(LOG_FORMAT, "log-format", "FORM", false, "text or json, instead of the settings' logging.format")                \
    X(PRINT, "print", NULL, false, "print every setting with its text and default")                                    \
    X(CHECK, "check", "FILE", false, "check this file of settings")                                                    \
    X(ADDR, "addr", "ADDRESS", false,                                                                                  \
      "the daemon: unix:///PATH or HOST:PORT (default: $CUZK_ADDR, or its usual socket)")                              \
    X(TOKEN_FILE, "token-file", "FILE", false, "file with the token that the daemon wants over TCP")                   \
    X(TLS_CA, "tls-ca", "FILE", false, "TLS, with this certificate authority (PEM), or `system` for the system's")     \
    X(TLS_CERT, "tls-cert", "FILE", false, "own certificate (PEM), where the daemon wants one")                        \
    X(TLS_KEY, "tls-key", "FILE", false, "key of --tls-cert")                                                          \
    X(ID, "id", "ID", false, "the job's id (default: a new one); the same id and input join the job that is there")    \
    X(PRIORITY, "priority", "P", false, "low, normal, high or critical (default: by the kind)")                        \
    X(DEADLINE, "deadline", "SECONDS", false, "from now; a job past it is cancelled")                                  \
    X(POLICY, "policy", "P", false, "prefer-gpu, require-gpu or cpu (default: the daemon's)")                          \
    X(TIMEOUT, "timeout", "SECONDS", false, "how long to wait (default: for ever)")                                    \
    X(LIMIT, "limit", "N", false, "the newest so many (default: 100)")                                                 \
    X(INTERVAL, "interval", "SECONDS", false, "between two pictures (default: 1)")                                     \
    X(SYNTHETIC, "synthetic", NULL, false, "a made-up sector, as `synth-sector` makes; needs --size")                  \
    X(COUNT, "count", "N", false, "jobs in all; also -c N")                                                            \
    X(CONCURRENCY, "concurrency", "J", false, "jobs at one time (default: 1); also -j J")                              \
    X(PW, "pw", "N,N...", false, "synthesis workers (default: half the threads); a list makes a sweep")                \
    X(GW, "gw", "N,N...", false, "workers for each device (default: 2); a list makes a sweep")

typedef enum option {
#define X(id, name, value, repeat, help) OPT_##id,
    OPTION_LIST(X)
#undef X
        OPTIONS
} option;
_Static_assert(OPTIONS <= 64, "a command's options are bits of a uint64_t");
#define BIT(id) (UINT64_C(1) << OPT_##id)
#define COMMON (BIT(HELP) | BIT(JSON) | BIT(QUIET))
#define WORKING (COMMON | BIT(THREADS) | BIT(MEMORY))
#define CLIENT (COMMON | BIT(ADDR) | BIT(TOKEN_FILE) | BIT(TLS_CA) | BIT(TLS_CERT) | BIT(TLS_KEY))
#define JOB_INPUT (BIT(SIZE) | BIT(VARIANT) | BIT(C1) | BIT(REQUEST) | BIT(VANILLA))

typedef struct args args;
typedef cuzk_status (*command_run)(const args *a, json_out *o, cuzk_error *err);

typedef struct command {
    const char *words;    /* "circuit info" */
    const char *operands; /* "KIND --size SIZE [--variant V]", for the usage line */
    const char *summary;  /* one line */
    const char *more;     /* further help text, or "" */
    const char *example;
    uint64_t options, required;
    unsigned min_operands, max_operands;
    int false_exit; /* exit status of FALSE; 0: the usual 1 */
    bool own_voice; /* it has told of its failure itself */
    command_run run;
} command;

#define MAX_REPEATS 4096

struct args {
    const command *command;
    bool given[OPTIONS];
    const char *value[OPTIONS];
    const char **list[OPTIONS]; /* of repeatable options */
    size_t n_list[OPTIONS];
    const char *operand[4];
    unsigned n_operands;
    cuzk_context *context; /* for commands that take --threads; otherwise NULL */
    const cuzk_control *control;
};

/* ---- args.c ---- */
const char *option_name(option o);
const char *option_value_name(option o);
const char *option_help(option o);
bool option_repeats(option o);
/* argv after the command's words. USAGE with a suggestion for an unknown option. Free with args_free. */
cuzk_status args_parse(args *a, const command *c, int argc, char **argv, cuzk_error *err);
void args_free(args *a);
/* 0 when not given. USAGE when not a size / a number in min..max. */
cuzk_status args_bytes(const args *a, option o, uint64_t *out, cuzk_error *err);
cuzk_status args_number(const args *a, option o, uint64_t min, uint64_t max, uint64_t *out, cuzk_error *err);
/* "1,2,4": each min..max. *out is malloc'd; NULL when the option was not given. */
cuzk_status args_list(const args *a, option o, uint64_t min, uint64_t max, unsigned **out, size_t *n, cuzk_error *err);
/* "0,2,5". *out is malloc'd; NULL when the option was not given. */
cuzk_status args_partitions(const args *a, unsigned **out, size_t *n, cuzk_error *err);

/* ---- output.c ---- */
/* The document as JSON on standard output, or as lines for people. False when it could not be written. */
bool output_result(json_out *o, bool json);
void output_failure(const cuzk_error *err, bool json);
/* "what", "where", ... of an error as members of an open object. */
void output_error_members(json_out *o, const cuzk_error *err);

/* ---- progress.c ---- */
void progress_setup(bool quiet);
void progress_report(void *user, const char *stage, uint64_t done, uint64_t total);
/* Ends the bar's line, so that other text can follow. */
void progress_clear(void);
/* A line for people on standard error, unless --quiet. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, also with --quiet: what must not be overlooked. */
void warn_loudly(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- signals.c ---- */
/* SIGINT and SIGTERM set the control's cancel; a second one ends the process as usual. json: how SIGBUS is answered. */
void signals_setup(bool json);
const atomic_int *signals_cancel(void);
int signals_caught(void); /* signal number, or 0 */

/* ---- common.c ---- */
cuzk_status open_circuit(const args *a, cuzk_circuit **out, cuzk_error *err);
/* KIND is operand 0. facts_only: for verify. */
cuzk_status open_job(const args *a, bool facts_only, cuzk_job **out, cuzk_error *err);
/* USAGE or IO unless path can become a new or replaced regular file and is none of the command's inputs. */
cuzk_status check_output(const args *a, const char *path, cuzk_error *err);
void put_hex(json_out *o, const char *key, const uint8_t *data, size_t n);
void put_text(json_out *o, const char *key, const char *text);
void put_number(json_out *o, const char *key, uint64_t v);
void put_bool(json_out *o, const char *key, bool v);
void put_seconds(json_out *o, const char *key, double v);
/* A checkpoint file in the making: "chunk TAB digest" lines. Commit frees it, also on failure; abort accepts NULL. */
typedef struct checkpoint_file checkpoint_file;
cuzk_status checkpoint_open(checkpoint_file **out, const char *path, const char *column, cuzk_error *err);
void checkpoint_add(void *file, uint64_t chunk, const uint8_t digest[32]);
cuzk_status checkpoint_commit(checkpoint_file *f, cuzk_error *err);
void checkpoint_abort(checkpoint_file *f);

/* ---- the commands ---- */
extern const command commands[];
extern const size_t n_commands;
#define COMMAND(name) cuzk_status name(const args *a, json_out *o, cuzk_error *err)
COMMAND(cmd_circuit_list);
COMMAND(cmd_circuit_info);
COMMAND(cmd_circuit_hash);
COMMAND(cmd_setup);
COMMAND(cmd_witness);
COMMAND(cmd_prove);
COMMAND(cmd_verify);
COMMAND(cmd_verify_groth16);
COMMAND(cmd_plan);
COMMAND(cmd_key_inspect);
COMMAND(cmd_key_verify);
COMMAND(cmd_vanilla_inspect);
COMMAND(cmd_vanilla_verify);
COMMAND(cmd_synth_sector);
COMMAND(cmd_bench_batch);
COMMAND(cmd_selftest);
COMMAND(cmd_version);
#ifdef CUZK_HAVE_DAEMON
COMMAND(cmd_serve);
COMMAND(cmd_config);
#endif
/* Of the daemon and its clients. */
COMMAND(cmd_prove_remote); /* prove --addr */
COMMAND(cmd_submit);
COMMAND(cmd_await);
COMMAND(cmd_cancel);
COMMAND(cmd_status);
COMMAND(cmd_jobs);
COMMAND(cmd_top);
COMMAND(cmd_trace);
COMMAND(cmd_preload);
COMMAND(cmd_evict);
COMMAND(cmd_metrics);

#endif
