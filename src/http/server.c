/* The HTTP server; see http/server.h.
 *
 * Two threads of libmicrohttpd's poll the connections, so that /healthz answers while a long trace is written; the
 * event hub's thread makes frames and looks after time. Every connection carries one request, so a connection's age
 * says how long its request takes: one whose headers are not here after HEADER_SECONDS, or whose answer is not out
 * after ANSWER_SECONDS, is shut down (libmicrohttpd's own timeout starts again with every byte). So slow clients hold
 * their places for a bounded time; event streams are counted apart.
 */
#include "http/server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/crypto.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/random.h"
#include "engine/engine.h"
#include "http/events.h"
#include "http/listen.h"
#include "http/page.h"

enum { CONNECTIONS = 96, CONNECTION_BYTES = 16 << 10, MAX_TOKEN = 256 };
#define IDLE_SECONDS 15u
#define HEADER_SECONDS 10
#define ANSWER_SECONDS 60

typedef struct place { /* of one connection */
    bool used, asked, stream;
    int fd;
    double since;
} place;

struct http_server {
    cuzk_engine *engine;
    struct MHD_Daemon *daemon;
    event_hub *events;
    char address[128], token[MAX_TOKEN], policy[512];
    pthread_mutex_t lock; /* of the token and the places */
    place places[CONNECTIONS];
};

/* ---- answers ---- */

typedef struct answer {
    http_server *s;
    struct MHD_Connection *connection;
    char token[MAX_TOKEN]; /* the server's at this moment */
    bool by_query;
} answer;

static void header(struct MHD_Response *r, const char *name, const char *value) {
    MHD_add_response_header(r, name, value);
}

/* Queues and lets go. r NULL: no memory, the connection is closed. */
static enum MHD_Result send_response(const answer *a, unsigned status, struct MHD_Response *r) {
    if (!r) return MHD_NO;
    header(r, "Cache-Control", "no-store");
    header(r, "X-Content-Type-Options", "nosniff");
    header(r, "Referrer-Policy", "no-referrer");
    header(r, "Connection", "close");
    enum MHD_Result sent = MHD_queue_response(a->connection, status, r);
    MHD_destroy_response(r);
    return sent;
}

static struct MHD_Response *text_response(const char *text, size_t len, const char *type) {
    struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (r) header(r, "Content-Type", type);
    return r;
}

static enum MHD_Result send_line(const answer *a, unsigned status, const char *fmt, ...) {
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line - 1, fmt, args);
    va_end(args);
    strcat(line, "\n");
    struct MHD_Response *r = text_response(line, strlen(line), "text/plain; charset=utf-8");
    if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED) header(r, "Allow", "GET, HEAD");
    if (r && status == MHD_HTTP_UNAUTHORIZED) header(r, "WWW-Authenticate", "Bearer realm=\"cuzk\"");
    if (r && status == MHD_HTTP_SERVICE_UNAVAILABLE) header(r, "Retry-After", "5");
    return send_response(a, status, r);
}

/* A document from malloc, which MHD frees. name: of one more header; NULL: none. */
static enum MHD_Result send_document(const answer *a, char *text, const char *type, const char *name,
                                     const char *value) {
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!r) free(text);
    if (r) header(r, "Content-Type", type);
    if (r && name) header(r, name, value);
    return send_response(a, MHD_HTTP_OK, r);
}

static enum MHD_Result send_failure(const answer *a, const cuzk_error *err) {
    unsigned status = err->status == CUZK_REFUSED ? MHD_HTTP_NOT_FOUND : (unsigned)cuzk_status_http(err->status);
    return send_line(a, status, "%s%s%s", err->what, err->found[0] ? ": " : "", err->found);
}

/* ---- one function per path ---- */

static enum MHD_Result get_page(const answer *a) {
    size_t len;
    const char *page = page_text(&len);
    if (a->by_query) { /* the token goes into a cookie, since event streams cannot send headers, and out of sight */
        char cookie[MAX_TOKEN + 64];
        struct MHD_Response *r = text_response("", 0, "text/plain");
        snprintf(cookie, sizeof cookie, "cuzk_token=%s; Path=/; HttpOnly; SameSite=Strict", a->token);
        if (r) {
            header(r, "Set-Cookie", cookie);
            header(r, "Location", "/");
        }
        return send_response(a, MHD_HTTP_SEE_OTHER, r);
    }
    struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)page, MHD_RESPMEM_PERSISTENT);
    if (r) {
        header(r, "Content-Type", "text/html; charset=utf-8");
        header(r, "Content-Security-Policy", a->s->policy);
        header(r, "X-Frame-Options", "DENY");
    }
    return send_response(a, MHD_HTTP_OK, r);
}

static enum MHD_Result get_status(const answer *a) {
    cuzk_error err;
    char *text;
    if (cuzk_engine_status_json(a->s->engine, &text, &err)) return send_failure(a, &err);
    /* As the older daemon: dashboards on other origins read it. Not where a token guards it. */
    return send_document(a, text, "application/json", a->token[0] ? NULL : "Access-Control-Allow-Origin", "*");
}

static enum MHD_Result get_metrics(const answer *a) {
    cuzk_error err;
    char *text;
    if (cuzk_engine_metrics_text(a->s->engine, &text, &err)) return send_failure(a, &err);
    return send_document(a, text, "text/plain; version=0.0.4; charset=utf-8", NULL, NULL);
}

static enum MHD_Result get_health(const answer *a) {
    cuzk_error err;
    engine_view v;
    if (engine_view_get(a->s->engine, &v, &err)) return send_line(a, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", err.what);
    bool draining = v.draining;
    char trouble[sizeof v.trouble];
    memcpy(trouble, v.trouble, sizeof trouble);
    engine_view_free(&v);
    if (trouble[0]) return send_line(a, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", trouble);
    if (draining) return send_line(a, MHD_HTTP_SERVICE_UNAVAILABLE, "draining: no new job is begun");
    return send_line(a, MHD_HTTP_OK, "ok");
}

static enum MHD_Result get_trace(const answer *a) {
    cuzk_error err;
    char *text;
    const char *id = MHD_lookup_connection_value(a->connection, MHD_GET_ARGUMENT_KIND, "job");
    if (cuzk_engine_trace_json(a->s->engine, id && *id ? id : NULL, &text, &err)) return send_failure(a, &err);
    return send_document(a, text, "application/json", "Content-Disposition",
                         "attachment; filename=\"cuzk-trace.json\"");
}

static place *place_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static enum MHD_Result get_events(const answer *a) {
    struct MHD_Response *r = event_hub_stream(a->s->events, a->connection);
    if (!r) return send_line(a, MHD_HTTP_SERVICE_UNAVAILABLE, "too many event streams: at most %d", EVENT_STREAMS);
    place *p = place_of(a->connection);
    if (p) {
        pthread_mutex_lock(&a->s->lock);
        p->stream = true;
        pthread_mutex_unlock(&a->s->lock);
    }
    header(r, "Content-Type", "text/event-stream");
    header(r, "X-Accel-Buffering", "no");
    return send_response(a, MHD_HTTP_OK, r);
}

static const struct route {
    const char *path;
    enum MHD_Result (*get)(const answer *a);
    bool open; /* without the token */
} routes[] = {
    {"/", get_page, false},         {"/status", get_status, false}, {"/metrics", get_metrics, false},
    {"/healthz", get_health, true}, {"/events", get_events, false}, {"/trace", get_trace, false},
};

/* ---- access ---- */

static bool same_token(const answer *a, const char *given) {
    size_t n = strlen(a->token);
    return given && strlen(given) == n && !CRYPTO_memcmp(given, a->token, n);
}

static bool allowed(answer *a) {
    if (!a->token[0]) return true;
    const char *value = MHD_lookup_connection_value(a->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (value && !strncasecmp(value, "Bearer ", 7) && same_token(a, value + 7)) return true;
    if (same_token(a, MHD_lookup_connection_value(a->connection, MHD_COOKIE_KIND, "cuzk_token"))) return true;
    value = MHD_lookup_connection_value(a->connection, MHD_GET_ARGUMENT_KIND, "token");
    a->by_query = same_token(a, value);
    return a->by_query;
}

static enum MHD_Result route(answer *a, const char *url, const char *method) {
    bool head = !strcmp(method, MHD_HTTP_METHOD_HEAD);
    if (!head && strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
        return send_line(a, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD: this server shows, it takes nothing");
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(url, routes[i].path) != 0) continue;
        if (!routes[i].open && !allowed(a)) {
            return send_line(a, MHD_HTTP_UNAUTHORIZED,
                             "a token is needed: \"Authorization: Bearer TOKEN\", or open /?token=TOKEN in a browser");
        }
        if (head && routes[i].get == get_events) return send_line(a, MHD_HTTP_OK, "%s", "");
        return routes[i].get(a);
    }
    return send_line(a, MHD_HTTP_NOT_FOUND, "there is / /status /metrics /healthz /events /trace");
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **request) {
    answer a = {.s = user, .connection = connection};
    (void)version, (void)upload, (void)upload_bytes, (void)request;
    place *p = place_of(connection);
    pthread_mutex_lock(&a.s->lock);
    memcpy(a.token, a.s->token, sizeof a.token);
    if (p) p->asked = true;
    pthread_mutex_unlock(&a.s->lock);
    enum MHD_Result result = route(&a, url, method);
    secure_wipe(a.token, sizeof a.token);
    return result;
}

/* ---- places ---- */

static void connection_changed(void *user, struct MHD_Connection *connection, void **context,
                               enum MHD_ConnectionNotificationCode what) {
    http_server *s = user;
    pthread_mutex_lock(&s->lock);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) { /* before its socket is closed */
        if (*context) ((place *)*context)->used = false;
        *context = NULL;
    } else {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        for (int i = 0; info && i < CONNECTIONS; i++) {
            if (s->places[i].used) continue;
            s->places[i] = (place){.used = true, .fd = info->connect_fd, .since = cpu_monotonic_seconds()};
            *context = &s->places[i];
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* By the event hub's thread. A socket that is shut down is closed by libmicrohttpd at its next turn. */
static void end_slow_ones(void *user) {
    http_server *s = user;
    double now = cpu_monotonic_seconds();
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < CONNECTIONS; i++) {
        const place *p = &s->places[i];
        if (!p->used || p->stream) continue;
        if (now - p->since > (p->asked ? ANSWER_SECONDS : HEADER_SECONDS)) shutdown(p->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->lock);
}

static void log_mhd(void *user, const char *fmt, va_list args) {
    char line[512];
    (void)user;
    vsnprintf(line, sizeof line, fmt, args);
    line[strcspn(line, "\r\n")] = 0;
    log_debug("http: %s", line);
}

/* ---- life ---- */

static bool token_is_plain(const char *t) {
    for (; *t; t++) {
        if (*t <= ' ' || *t > '~' || strchr("\",;\\", *t)) return false;
    }
    return true;
}

cuzk_status http_token_check(const char *token, cuzk_error *err) {
    if (!token || (strlen(token) < MAX_TOKEN && token_is_plain(token))) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the HTTP token cannot be used");
    cuzk_fail_expected(err, "at most %d visible ASCII characters without quotes, commas, semicolons, backslashes",
                       MAX_TOKEN - 1);
    return cuzk_fail_hint(err, "`openssl rand -hex 32` makes a good one");
}

cuzk_status http_server_renew(http_server *s, const char *token, cuzk_error *err) {
    if (!token) token = "";
    if (http_token_check(token, err)) return err->status;
    pthread_mutex_lock(&s->lock);
    secure_wipe(s->token, sizeof s->token);
    memcpy(s->token, token, strlen(token));
    pthread_mutex_unlock(&s->lock);
    return CUZK_OK;
}

static cuzk_status start_daemon(http_server *s, int fd, cuzk_error *err) {
    s->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        handle, s, MHD_OPTION_EXTERNAL_LOGGER, log_mhd, NULL, MHD_OPTION_THREAD_POOL_SIZE, 2u, MHD_OPTION_LISTEN_SOCKET,
        fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_NOTIFY_CONNECTION,
        connection_changed, s, MHD_OPTION_END);
    return s->daemon ? CUZK_OK : cuzk_fail(err, CUZK_INTERNAL, "the HTTP server did not start");
}

static void release(http_server *s) {
    event_hub_destroy(s->events);
    pthread_mutex_destroy(&s->lock);
    secure_wipe(s->token, sizeof s->token);
    free(s);
}

cuzk_status http_server_start(http_server **out, cuzk_engine *engine, const http_options *options, cuzk_error *err) {
    int fd = -1;
    bool loopback = false;
    *out = NULL;
    http_server *s = calloc(1, sizeof *s);
    if (!s) return cuzk_fail(err, CUZK_MEMORY, "no memory for the HTTP server");
    s->engine = engine;
    pthread_mutex_init(&s->lock, NULL);
    cuzk_status status = http_server_renew(s, options->token, err);
    if (!status) status = page_policy(s->policy, sizeof s->policy, err);
    if (!status) status = listen_open(&fd, s->address, sizeof s->address, &loopback, options->listen, err);
    if (!status) {
        s->events = event_hub_create(engine, end_slow_ones, s, err);
        status = s->events ? start_daemon(s, fd, err) : err->status;
    }
    if (status) {
        if (fd >= 0) close(fd);
        if (s->events) event_hub_stop(s->events);
        release(s);
        return status;
    }
    if (!loopback && !s->token[0]) {
        log_warn("http: %s can be reached from other machines and has no token: job ids and states can be read there",
                 s->address);
    }
    *out = s;
    return CUZK_OK;
}

void http_server_stop(http_server *s) {
    if (!s) return;
    event_hub_stop(s->events);
    MHD_stop_daemon(s->daemon);
    release(s);
}

const char *http_server_address(const http_server *s) {
    return s->address;
}
