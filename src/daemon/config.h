/* The daemon's settings: a TOML file, checked against one table of every setting there is.
 *
 * The table (config_table.c) has for each setting its name, kind, default, bounds and text; the reader, the sample
 * file, the check and the comparison at a reload all follow it. Settings of the older proving daemon are known: those
 * that still mean something do what they did, the others are ignored with a warning that says what replaces them. A
 * name that is not known is refused with the nearest one. Source: docs/daemon.md.
 */
#ifndef CUZK_DAEMON_CONFIG_H
#define CUZK_DAEMON_CONFIG_H

#include "base/arena.h"
#include "base/log.h"
#include "cuzk/engine.h"
#include "http/server.h"
#include "rpc/server.h"

#define CONFIG_DEFAULT_FILE "/etc/cuzk/cuzk.toml"
#define CONFIG_MAX_BYTES ((size_t)1 << 20)
#define CONFIG_AUTO UINT64_MAX /* of sizes that may be "auto" */

typedef struct config_texts { /* a list */
    const char *const *list;
    size_t n;
} config_texts;

typedef struct config_warning {
    unsigned line; /* 0: of no line */
    const char *text;
} config_warning;

/* In the order of the table. Texts live in memory. */
typedef struct config {
    config_texts listen;
    const char *status_listen;
    uint64_t socket_mode;
    const char *socket_owner, *tls_cert, *tls_key, *tls_client_ca, *token_file;
    bool allow_plain_tcp;
    uint64_t max_message, request_timeout, drain_timeout; /* timeouts in seconds */
    uint64_t total_budget, safety_margin, critical_share, request_limit, eviction_min_idle;
    config_texts devices; /* numbers */
    uint64_t gpu_workers_per_device, device_memory, device_timeout;
    const char *policy;
    uint64_t threads, partition_workers, queue_depth;
    uint64_t attempts, starvation;
    const char *param_cache;
    config_texts preload;
    bool development_keys;
    config_texts circuits;
    const char *store_path;
    uint64_t retention;
    const char *cache_folder, *level, *format;

    arena *memory;
    const char *file; /* "" when there is none */
    config_warning *warnings;
    size_t n_warnings;
    char device_words[512]; /* devices as the engine wants them */
} config;

/* What the command line says instead of the file; borrowed as long as the config is used. */
typedef struct config_overrides {
    config_texts listen;                /* n 0: none */
    const char *log_level, *log_format; /* NULL: none */
} config_overrides;

/* path NULL: CONFIG_DEFAULT_FILE when it is there, else defaults. over may be NULL. IO; MALFORMED, with line and
 * column: no TOML, a setting that is not known, or a value that is out of its bounds or against another one. Free with
 * config_close, also after a failure. */
cuzk_status config_open(config *out, const char *path, const config_overrides *over, cuzk_error *err);
/* The same from memory. name: for errors. */
cuzk_status config_read(config *out, const char *name, const char *text, size_t len, const config_overrides *over,
                        cuzk_error *err);
void config_close(config *c);

/* The commented sample: every setting with its text and default. */
void config_print(void (*put)(void *user, const char *text), void *user);

/* Settings that differ between two: calls each with the setting's name and whether a running daemon takes it over. */
void config_differences(const config *a, const config *b, void (*each)(void *user, const char *name, bool live),
                        void *user);

/* As the engine and the servers want them; texts are borrowed from c. The token is the caller's to read. */
void config_engine_options(config *c, cuzk_engine_options *out);
void config_rpc_options(const config *c, rpc_options *out);
log_level config_log_level(const config *c);
log_form config_log_form(const config *c);

#endif
