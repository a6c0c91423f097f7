/* The server: listening, the loop's thread, start and stop. */
#include <errno.h>
#include <math.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/log.h"
#include "base/random.h"
#include "rpc/internal.h"

#define ROOM_RETRY 0.02 /* seconds after which those that wait for room ask again: others may have given some back */
#define FLUSH_SECONDS 1.0
#define MAX_EVENTS 64

void server_wake(rpc_server *s) {
    uint64_t one = 1;
    if (write(s->wake, &one, sizeof one) < 0) return; /* full: it is awake anyway */
}

/* ---- the loop ---- */

/* A place for a new connection: that of the one that has been idle longest. */
static bool make_place(rpc_server *s) {
    rpc_conn *idle = NULL;
    if (s->n_conns < s->max_connections) return true;
    for (rpc_conn *c = s->conns; c; c = c->next)
        if (!c->calls && !c->dead && (!idle || c->last_used < idle->last_used)) idle = c;
    if (!idle) return false;
    conn_goaway(idle);
    idle->dead = true;
    return true;
}

static void take_connections(rpc_server *s, const rpc_listener *l) {
    for (int turn = 0; turn < 64; turn++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        if (make_place(s))
            conn_open(s, fd, !l->address.is_unix);
        else
            close(fd);
    }
}

static rpc_call *take_done(rpc_server *s) {
    pthread_mutex_lock(&s->mutex);
    rpc_call *list = s->done;
    s->done = NULL;
    pthread_mutex_unlock(&s->mutex);
    return list;
}

static void secrets_free(rpc_secrets *x) {
    SSL_CTX_free(x->tls); /* connections have references of their own */
    if (x->token) secure_wipe(x->token, strlen(x->token));
    free(x->token);
    *x = (rpc_secrets){0};
}

static void take_secrets(rpc_server *s) {
    rpc_secrets old = {0};
    pthread_mutex_lock(&s->mutex);
    if (s->has_new) {
        old = s->secrets;
        s->secrets = s->renewed;
        s->renewed = (rpc_secrets){0};
        s->has_new = false;
    }
    pthread_mutex_unlock(&s->mutex);
    secrets_free(&old);
}

static double serve_calls(rpc_server *s, double now) {
    double next = now + 3600;
    for (rpc_call *c = take_done(s), *after; c; c = after) {
        after = c->done_next;
        call_come_back(c);
    }
    for (rpc_call *c; (c = await_expired(s, now, &next));) call_timed_out(c);
    for (rpc_call *c = s->calls, *after; c; c = after) {
        after = c->next;
        call_expire(c, now, &next);
    }
    room_serve(s);
    if (s->room_first && now + ROOM_RETRY < next) next = now + ROOM_RETRY;
    return next;
}

static void flush_all(rpc_server *s) {
    for (rpc_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        if (!c->dead) conn_flush(c);
        if (c->dead) conn_close(c);
    }
}

static void stop_listening(rpc_server *s) {
    for (size_t i = 0; i < s->n_listeners; i++) {
        rpc_listener *l = &s->listeners[i];
        if (l->fd < 0) continue;
        if (l->address.is_unix) unlink(l->address.socket.local.sun_path);
        close(l->fd);
        l->fd = -1;
    }
}

static void end_call(rpc_call *c) {
    cuzk_error err;
    if (c->state == CALL_REPLYING || (c->state == CALL_LENT && !await_take(c, false))) return;
    cuzk_fail(&err, CUZK_UNREACHABLE, "the daemon stops");
    cuzk_fail_hint(&err, "jobs that it has taken go on when it is started again; await them by their id");
    call_abort(c, GRPC_UNAVAILABLE, &err);
}

/* The steps of stopping; true when the loop may end. */
static bool stop_step(rpc_server *s, double now, double *next) {
    double until = atomic_load(&s->grace_until);
    if (!s->went_away) {
        s->went_away = true;
        stop_listening(s);
        for (rpc_conn *c = s->conns; c; c = c->next)
            if (!c->dead) conn_goaway(c);
    }
    if (s->n_calls && now < until) {
        *next = fmin(*next, until);
        return false;
    }
    for (rpc_call *c = s->calls, *after; c; c = after) {
        after = c->next;
        if (!c->gone) end_call(c);
    }
    /* Answers go out, and what workers have comes back, which the engine decides. */
    bool lent = false;
    for (rpc_call *c = s->calls; c; c = c->next) lent = lent || c->state == CALL_LENT;
    *next = fmin(*next, now + 0.05);
    return s->n_calls == 0 || (!lent && now > until + FLUSH_SECONDS);
}

static void handle(rpc_server *s, const struct epoll_event *e) {
    int kind = *(const int *)e->data.ptr;
    uint64_t count;
    if (kind == EVENT_LISTENER) {
        take_connections(s, e->data.ptr);
    } else if (kind == EVENT_CONN) {
        rpc_conn *c = e->data.ptr;
        if (!c->dead) conn_event(c, e->events);
    } else if (read(s->wake, &count, sizeof count) < 0) {
        return; /* somebody else's wake-up was read with an earlier one */
    }
}

static void *run_loop(void *server) {
    rpc_server *s = server;
    struct epoll_event events[MAX_EVENTS];
    bool told_drain = false;
    for (;;) {
        take_secrets(s);
        double now = cpu_monotonic_seconds(), next = serve_calls(s, now);
        if (!told_drain && atomic_load(&s->draining)) {
            told_drain = true;
            health_changed(s);
        }
        bool over = atomic_load(&s->stopping) && stop_step(s, now, &next);
        flush_all(s);
        if (over) break;
        double wait = fmax(0, fmin(next - cpu_monotonic_seconds(), 60));
        int n = epoll_wait(s->epoll, events, MAX_EVENTS, (int)ceil(wait * 1000));
        for (int i = 0; i < n; i++) handle(s, &events[i]);
    }
    while (s->conns) conn_close(s->conns);
    return NULL;
}

/* ---- start ---- */

static cuzk_status add_listener(rpc_server *s, const char *text, const rpc_options *o, cuzk_error *err) {
    rpc_listener *l = &s->listeners[s->n_listeners];
    *l = (rpc_listener){.kind = EVENT_LISTENER, .fd = -1};
    if (net_parse(&l->address, text, false, err)) return err->status;
    if (!l->address.loopback && !s->secrets.tls && !o->allow_plain) {
        cuzk_fail(err, CUZK_USAGE, "TCP beyond this machine needs TLS");
        cuzk_fail_where(err, "%s", text);
        return cuzk_fail_hint(err, "give a certificate and key, listen on 127.0.0.1, or allow plain TCP in the "
                                   "configuration if the network is trusted");
    }
    unsigned mode = o->socket_mode ? o->socket_mode : 0660;
    if (net_listen(&l->fd, &l->address, mode, o->socket_owner, err)) return err->status;
    s->n_listeners++;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, l->fd, &e)) return cuzk_fail_errno(err, errno, text, "listening");
    return CUZK_OK;
}

static cuzk_status open_tls(SSL_CTX **out, const rpc_options *o, cuzk_error *err) {
    bool cert = o->tls_cert && o->tls_cert[0], key = o->tls_key && o->tls_key[0];
    const char *ca = o->tls_client_ca && o->tls_client_ca[0] ? o->tls_client_ca : NULL;
    if (cert != key || (ca && !cert)) {
        cuzk_fail(err, CUZK_USAGE, "TLS needs a certificate and its key");
        return cuzk_fail_found(err, "%s", cert ? "a certificate only" : key ? "a key only" : "a client authority only");
    }
    *out = NULL;
    return cert ? net_tls_server(out, o->tls_cert, o->tls_key, ca, err) : CUZK_OK;
}

static cuzk_status open_secrets(rpc_secrets *out, const rpc_options *o, cuzk_error *err) {
    *out = (rpc_secrets){0};
    if (open_tls(&out->tls, o, err)) return err->status;
    if (!o->token || !o->token[0] || (out->token = strdup(o->token))) return CUZK_OK;
    secrets_free(out);
    return cuzk_fail(err, CUZK_MEMORY, "no memory for a token");
}

static cuzk_status set_up(rpc_server *s, const rpc_options *o, cuzk_error *err) {
    static const char *const usual[] = {RPC_DEFAULT_ADDRESS};
    const char *const *listen = o->n_listen ? o->listen : usual;
    size_t n = o->n_listen ? o->n_listen : 1;
    if (n > RPC_MAX_LISTEN) return cuzk_fail(err, CUZK_USAGE, "more than %d addresses to listen on", RPC_MAX_LISTEN);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &s->wake_kind};
    if (s->epoll < 0 || s->wake < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake, &e))
        return cuzk_fail_errno(err, errno, "", "setting up a server");
    if (conn_callbacks(s, err) || open_secrets(&s->secrets, o, err)) return err->status;
    for (size_t i = 0; i < n; i++)
        if (add_listener(s, listen[i], o, err)) return err->status;
    return CUZK_OK;
}

static void fill_limits(rpc_server *s, const rpc_options *o) {
    s->max_message_bytes = o->max_message_bytes ? o->max_message_bytes : 256u << 20;
    s->request_bytes = o->request_bytes ? o->request_bytes : 512u << 20;
    s->request_timeout = o->request_timeout > 0 ? o->request_timeout : 120;
    s->max_calls = o->max_calls ? o->max_calls : 1024;
    s->max_connections = o->max_connections ? o->max_connections : 256;
}

/* Signals belong to whoever started the server. */
static cuzk_status start_threads(rpc_server *s, cuzk_error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    cuzk_status status = work_start(s, err);
    int rc = status ? 0 : pthread_create(&s->loop, NULL, run_loop, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) return cuzk_fail_errno(err, rc, "", "starting a thread of the server");
    s->loop_runs = !status;
    return status;
}

cuzk_status rpc_server_start(rpc_server **out, cuzk_engine *engine, const rpc_options *options, cuzk_error *err) {
    rpc_server *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return cuzk_fail(err, CUZK_MEMORY, "no memory for a server");
    s->engine = engine;
    s->epoll = s->wake = -1;
    s->wake_kind = EVENT_WAKE;
    s->room_last = &s->room_first;
    s->quick.last = &s->quick.first;
    s->slow.last = &s->slow.first;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->quick.more, NULL);
    pthread_cond_init(&s->slow.more, NULL);
    fill_limits(s, options);
    cuzk_status status = set_up(s, options, err);
    if (!status) status = start_threads(s, err);
    if (status)
        rpc_server_stop(s, 0);
    else
        *out = s;
    return status;
}

cuzk_status rpc_server_renew(rpc_server *s, const rpc_options *options, cuzk_error *err) {
    rpc_secrets next;
    if (open_secrets(&next, options, err)) return err->status;
    pthread_mutex_lock(&s->mutex);
    bool same = !next.tls == !s->secrets.tls;
    if (same) {
        rpc_secrets never_taken = s->renewed;
        s->renewed = next;
        s->has_new = true;
        next = never_taken;
    }
    pthread_mutex_unlock(&s->mutex);
    secrets_free(&next);
    if (!same) {
        cuzk_fail(err, CUZK_USAGE, "TLS cannot be turned on or off while the server runs");
        return cuzk_fail_hint(err, "start it anew");
    }
    server_wake(s);
    return CUZK_OK;
}

/* ---- stop ---- */

void rpc_server_drain(rpc_server *s) {
    atomic_store(&s->draining, true);
    server_wake(s);
}

void rpc_server_stop(rpc_server *s, double grace) {
    if (!s) return;
    if (s->loop_runs) {
        atomic_store(&s->draining, true);
        atomic_store(&s->grace_until, cpu_monotonic_seconds() + grace);
        atomic_store(&s->stopping, true);
        server_wake(s);
        pthread_join(s->loop, NULL);
    }
    work_stop(s);
    stop_listening(s);
    if (s->epoll >= 0) close(s->epoll);
    if (s->wake >= 0) close(s->wake);
    secrets_free(&s->secrets);
    secrets_free(&s->renewed);
    nghttp2_session_callbacks_del(s->callbacks);
    nghttp2_option_del(s->option);
    pthread_cond_destroy(&s->quick.more);
    pthread_cond_destroy(&s->slow.more);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

const char *rpc_server_address(const rpc_server *s, size_t i) {
    return i < s->n_listeners ? s->listeners[i].address.text : NULL;
}
