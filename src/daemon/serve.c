/* The daemon's life. Signals are blocked in every thread and taken one by one in the main loop, so that nothing of it
 * runs in a signal handler. */
#include "daemon/serve.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/file.h"
#include "base/random.h"
#include "cuzk/context.h"
#include "daemon/crash.h"
#include "daemon/keys.h"
#include "daemon/report.h"
#include "engine/engine.h"
#include "store/sqlite.h"

#define TOKEN_FILE_MAX 4096
#define TOKEN_MAX 255     /* what both servers take */
#define LEAVE_SECONDS 2.0 /* for answers that are on their way when the servers stop */

typedef struct serving {
    const serve_options *options;
    config at_start, now; /* settings that need a restart are those of at_start */
    char *token;
    cuzk_engine *engine;
    rpc_server *rpc;
    http_server *http;
    sigset_t signals;
    uint64_t watchdog_usec; /* 0: nobody watches */
    pthread_t preloader;
    bool has_preloader;
    atomic_bool leaving;
} serving;

/* ---- folders and secrets ---- */

static void user_name(uid_t id, char *out, size_t n) {
    const struct passwd *user = getpwuid(id);
    if (user)
        snprintf(out, n, "%s", user->pw_name);
    else
        snprintf(out, n, "user %u", (unsigned)id);
}

static void owner_of(const char *path, char *out, size_t n) {
    struct stat st;
    out[0] = 0;
    if (stat(path, &st)) return;
    char mine[64], theirs[64];
    user_name(st.st_uid, theirs, sizeof theirs);
    user_name(geteuid(), mine, sizeof mine);
    snprintf(out, n, "owner %s, mode %04o; this process runs as %s", theirs, (unsigned)st.st_mode & 07777, mine);
}

/* A folder that this process must write to. The nearest part of its path that is there is whose owner matters. */
static cuzk_status check_folder(const char *path, const char *setting, cuzk_error *err) {
    char found[200], part[4096];
    cuzk_status s = file_make_folders(path, err);
    if (s == CUZK_OK && access(path, W_OK | X_OK) == 0) return CUZK_OK;
    if (s == CUZK_OK) cuzk_fail_errno(err, errno, path, "cannot write to the folder");
    snprintf(part, sizeof part, "%s", path);
    while (!file_exists(part) && strrchr(part, '/') && strrchr(part, '/') != part) *strrchr(part, '/') = 0;
    owner_of(part, found, sizeof found);
    if (found[0]) cuzk_fail_found(err, "%s: %s", part, found);
    return cuzk_fail_hint(err, "give the folder to that user, or name another one in %s", setting);
}

/* The folder of shapes and converted keys is found through the environment by all that use it. */
static cuzk_status set_up_cache(const serving *d, cuzk_error *err) {
    const char *wanted = d->now.cache_folder, *given = getenv("CUZK_CACHE");
    config defaults;
    cuzk_status s = config_read(&defaults, "defaults", "", 0, NULL, err);
    if (s != CUZK_OK) return s;
    bool is_default = strcmp(wanted, defaults.cache_folder) == 0;
    config_close(&defaults);
    if (is_default && given && *given) wanted = given;
    s = check_folder(wanted, "cache.folder", err);
    if (s == CUZK_OK && setenv("CUZK_CACHE", wanted, 1)) return cuzk_fail(err, CUZK_MEMORY, "no memory for a path");
    if (s == CUZK_OK) log_info("cache: %s", wanted);
    return s;
}

static void token_free(char *token) {
    if (token) secure_wipe(token, strlen(token));
    free(token);
}

/* A cookie cannot carry them, and one server must not take a token that the other refuses. */
static const char not_in_tokens[] = "\",;\\";

/* *out: NULL when the settings name no file; else free with token_free. */
static cuzk_status read_token(char **out, const config *c, cuzk_error *err) {
    const char *path = c->token_file;
    buffer text;
    struct stat st;
    *out = NULL;
    if (!path[0]) return CUZK_OK;
    cuzk_status s = file_read(&text, path, TOKEN_FILE_MAX, err);
    if (s != CUZK_OK) return s;
    size_t n = 0;
    const char *bytes = text.data;
    while (n < text.bytes && bytes[n] > 0x20 && bytes[n] < 0x7f && !strchr(not_in_tokens, bytes[n])) n++;
    bool clean = n >= 16 && n <= TOKEN_MAX && (n == text.bytes || bytes[n] == '\n' || bytes[n] == '\r');
    *out = clean ? strndup(bytes, n) : NULL;
    if (text.data) secure_wipe(text.data, text.bytes);
    buffer_free(&text);
    if (!clean) {
        cuzk_fail(err, CUZK_MALFORMED, "the token is not one");
        cuzk_fail_where(err, "%s: line 1", path);
        return cuzk_fail_expected(err, "16 to %d visible ASCII characters, none of %s", TOKEN_MAX, not_in_tokens);
    }
    if (!*out) return cuzk_fail(err, CUZK_MEMORY, "no memory for the token");
    if (stat(path, &st) == 0 && (st.st_mode & 0007)) log_warn("%s can be read by every user of this machine", path);
    return CUZK_OK;
}

/* ---- start ---- */

static void *preload_all(void *user) {
    serving *d = user;
    const config_texts *names = &d->at_start.preload;
    for (size_t i = 0; i < names->n && !atomic_load(&d->leaving); i++) {
        bool already;
        double seconds;
        cuzk_error err = {0};
        char doing[96];
        if (cuzk_engine_preload(d->engine, names->list[i], &already, &seconds, &err) == CUZK_OK) {
            log_info("key of %s: loaded in %.1f s", names->list[i], seconds);
        } else if (!atomic_load(&d->leaving)) {
            snprintf(doing, sizeof doing, "the key of %.60s is not preloaded", names->list[i]);
            report_failure(doing, &err);
        }
    }
    return NULL;
}

static cuzk_status start_engine(serving *d, cuzk_error *err) {
    cuzk_engine_options options;
    engine_setup setup = {.store = NULL};
    const char *path = d->now.store_path;
    if (path[0]) {
        int crashed = 0;
        cuzk_status s = store_sqlite_open(&setup.store, path, err);
        if (s != CUZK_OK) return s;
        log_info("store: %s", path);
        if (crash_open(path, &crashed, err) != CUZK_OK) log_warn("a crash will count as a kill: %s", err->what);
        setup.crashed = crashed != 0;
        if (crashed) log_warn("the process before this one died of its own fault: %s", strsignal(crashed));
    } else {
        log_warn("store: none (store.path is empty); jobs are lost when this process ends");
    }
    config_engine_options(&d->now, &options);
    cuzk_status s = engine_start(&d->engine, &options, &setup, err);
    if (s == CUZK_OK && engine_deaths_noted(d->engine)) crash_noted();
    return s;
}

static cuzk_status start_servers(serving *d, cuzk_error *err) {
    rpc_options rpc;
    config_rpc_options(&d->now, &rpc);
    rpc.token = d->token;
    cuzk_status s = rpc_server_start(&d->rpc, d->engine, &rpc, err);
    if (s != CUZK_OK || !d->now.status_listen[0]) return s;
    http_options http = {.listen = d->now.status_listen, .token = d->token};
    return http_server_start(&d->http, d->engine, &http, err);
}

static cuzk_status start(serving *d, cuzk_error *err) {
    const serve_options *o = d->options;
    if (o->over.log_format && !strcmp(o->over.log_format, "json")) log_setup(LOG_INFO, LOG_JSON);
    cuzk_status s = config_open(&d->at_start, o->config_path, &o->over, err);
    if (s == CUZK_OK) s = config_open(&d->now, o->config_path, &o->over, err);
    if (s != CUZK_OK) return s;
    log_setup(config_log_level(&d->now), config_log_form(&d->now));
    log_info("cuzk %s, process %ld, settings: %s", cuzk_version(), (long)getpid(),
             d->now.file[0] ? d->now.file : "defaults");
    report_warnings(&d->now);
    s = set_up_cache(d, err);
    if (s == CUZK_OK) s = read_token(&d->token, &d->at_start, err);
    if (s == CUZK_OK) {
        keys_report(&d->now);
        s = keys_check(&d->now, err);
    }
    if (s == CUZK_OK) s = start_engine(d, err);
    if (s != CUZK_OK) return s;
    report_engine(d->engine, &d->now);
    s = start_servers(d, err);
    if (s != CUZK_OK) return s;
    report_addresses(d->rpc, d->http);
    if (d->now.preload.n == 0) return CUZK_OK;
    int rc = pthread_create(&d->preloader, NULL, preload_all, d);
    d->has_preloader = rc == 0;
    return rc ? cuzk_fail_errno(err, rc, NULL, "cannot start a thread") : CUZK_OK;
}

/* ---- reload ---- */

static void tell_live(void *user, const char *name, bool live) {
    (void)user;
    if (live) log_info("reload: %s is taken over", name);
}

static void tell_fixed(void *user, const char *name, bool live) {
    (void)user;
    if (!live) log_warn("reload: %s takes a restart; it stays as it was", name);
}

/* What the files hold that the settings named at the start: certificates are renewed in place. Both servers take the
 * new ones or neither: what the second could refuse is looked at before the first has changed. */
static void renew_secrets(serving *d) {
    const config *c = &d->at_start;
    cuzk_error err = {0};
    rpc_options rpc;
    char *token;
    if (!c->token_file[0] && !c->tls_cert[0]) return;
    cuzk_status s = read_token(&token, c, &err);
    if (s == CUZK_OK && d->http) s = http_token_check(token, &err);
    if (s == CUZK_OK) {
        config_rpc_options(c, &rpc);
        rpc.token = token;
        s = rpc_server_renew(d->rpc, &rpc, &err);
    }
    if (s == CUZK_OK && d->http) s = http_server_renew(d->http, token, &err);
    if (s == CUZK_OK)
        log_info("reload: certificates and token are read again");
    else
        report_failure("certificates and token stay as they were", &err);
    token_free(token);
}

static void reload(serving *d) {
    const serve_options *o = d->options;
    config next;
    cuzk_error err = {0};
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    if (config_open(&next, o->config_path, &o->over, &err) != CUZK_OK) {
        report_failure("the settings are not reloaded", &err);
        config_close(&next);
    } else {
        report_warnings(&next);
        config_differences(&d->now, &next, tell_live, NULL);
        config_differences(&d->at_start, &next, tell_fixed, NULL);
        cuzk_engine_options options;
        config_engine_options(&next, &options);
        engine_reload(d->engine, &options);
        log_setup(config_log_level(&next), config_log_form(&next));
        config_close(&d->now);
        d->now = next;
        renew_secrets(d);
        log_info("reload: done");
    }
    sd_notify(0, "READY=1");
}

/* ---- run and stop ---- */

/* The next signal, or 0 after so many seconds. */
static int next_signal(const serving *d, double seconds) {
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int number = sigtimedwait(&d->signals, NULL, &t);
    return number > 0 ? number : 0;
}

/* The engine answers, or whoever watches ends us. */
static unsigned show_state(const serving *d, const char *before) {
    report_state state;
    cuzk_error err;
    if (report_now(d->engine, &state, &err) != CUZK_OK) return 1;
    sd_notifyf(0, "STATUS=%s%s%s", before, state.line, d->watchdog_usec ? "\nWATCHDOG=1" : "");
    return state.running;
}

static void run(serving *d) {
    double each = 2;
    if (d->watchdog_usec && (double)d->watchdog_usec / 3e6 < each) each = (double)d->watchdog_usec / 3e6;
    for (;;) {
        int number = next_signal(d, each);
        if (number == SIGHUP) reload(d);
        if (number == SIGTERM || number == SIGINT) {
            log_info("%s: no new job is begun; running ones may take %llu s", number == SIGINT ? "SIGINT" : "SIGTERM",
                     (unsigned long long)d->now.drain_timeout);
            return;
        }
        show_state(d, "");
    }
}

/* Running jobs end; a second signal ends the wait. */
static void drain(serving *d) {
    sd_notify(0, "STOPPING=1");
    engine_drain(d->engine);
    rpc_server_drain(d->rpc);
    double until = cpu_monotonic_seconds() + (double)d->now.drain_timeout;
    unsigned running = show_state(d, "stopping: ");
    while (running && cpu_monotonic_seconds() < until) {
        int number = next_signal(d, 0.1);
        if (number == SIGTERM || number == SIGINT) {
            log_warn("stopped at once: %u jobs that were running go on at the next start", running);
            return;
        }
        sd_notify(0, "EXTEND_TIMEOUT_USEC=30000000");
        running = show_state(d, "stopping: ");
    }
    if (running) log_warn("%u jobs did not end in time; they go on at the next start", running);
}

static void stop(serving *d) {
    atomic_store(&d->leaving, true);
    if (d->engine) engine_stop_loads(d->engine); /* a key takes minutes, and who loads one is waited for */
    rpc_server_stop(d->rpc, LEAVE_SECONDS);
    http_server_stop(d->http);
    if (d->has_preloader) pthread_join(d->preloader, NULL);
    cuzk_engine_stop(d->engine, 0);
    crash_close();
    config_close(&d->now);
    config_close(&d->at_start);
    token_free(d->token);
}

cuzk_status serve(const serve_options *options, cuzk_error *err) {
    serving d = {.options = options};
    sigset_t before;
    sigemptyset(&d.signals);
    sigaddset(&d.signals, SIGTERM);
    sigaddset(&d.signals, SIGINT);
    sigaddset(&d.signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &d.signals, &before);
    cuzk_status s = start(&d, err);
    if (s == CUZK_OK) {
        if (sd_watchdog_enabled(0, &d.watchdog_usec) <= 0) d.watchdog_usec = 0;
        sd_notify(0, "READY=1");
        log_info("ready");
        run(&d);
        drain(&d);
    }
    stop(&d);
    if (s == CUZK_OK) {
        log_info("stopped");
    } else {
        report_failure("cannot start", err);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}
