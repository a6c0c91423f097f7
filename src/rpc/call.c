/* One call from its headers to its end, as the loop's thread sees it.
 *
 * Memory: before the size of a message is known, and while there is no room for it, a call keeps what fits its stream's
 * window (64 KiB) and the sender is held back. Then the exact size is reserved with the engine and mapped, and the
 * window is opened. Messages up to 1 MiB may pass larger ones that wait, and an eighth of the room is never given to
 * larger ones (unless one is alone), so an urgent small job does not wait for slow large uploads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/text.h"
#include "rpc/internal.h"

#define SMALL_BYTES (1u << 20)
#define LARGE_WINDOW (8u << 20)

/* ---- life ---- */

rpc_call *call_begin(rpc_conn *conn, int32_t stream) {
    rpc_server *s = conn->server;
    rpc_call *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->server = s;
    c->conn = conn;
    c->stream = stream;
    c->id = ++s->last_id;
    c->overloaded = s->n_calls >= s->max_calls;
    c->next = s->calls;
    if (c->next) c->next->before = c;
    s->calls = c;
    s->n_calls++;
    conn->calls++;
    return c;
}

static void call_free(rpc_call *c) {
    rpc_server *s = c->server;
    call_release_message(c);
    if (c->before)
        c->before->next = c->next;
    else
        s->calls = c->next;
    if (c->next) c->next->before = c->before;
    s->n_calls--;
    free(c->reply);
    free(c);
}

void call_release_message(rpc_call *c) {
    uint64_t bytes = c->reserved;
    buffer_free(&c->large);
    free(c->pending);
    c->pending = NULL;
    c->message = NULL;
    c->reserved = 0;
    if (!bytes) return;
    if (bytes > SMALL_BYTES) atomic_fetch_sub(&c->server->large_held, bytes);
    engine_request_done(c->server->engine, bytes);
    server_wake(c->server); /* others may have room now */
}

static void room_leave(rpc_call *c) {
    rpc_server *s = c->server;
    for (rpc_call **at = &s->room_first; *at; at = &(*at)->room_next) {
        if (*at != c) continue;
        *at = c->room_next;
        if (s->room_last == &c->room_next) s->room_last = at;
        return;
    }
}

void call_closed(rpc_call *c) {
    if (c->conn) {
        nghttp2_session_set_stream_user_data(c->conn->session, c->stream, NULL);
        c->conn->calls--;
        c->conn->last_used = cpu_monotonic_seconds();
    }
    c->conn = NULL;
    c->gone = true;
    if (c->state == CALL_ROOM) room_leave(c);
    if (c->state == CALL_LENT) {
        if (!await_take(c, true)) return; /* call_expire or call_come_back frees it */
    }
    call_free(c);
}

/* ---- answering ---- */

bool call_add_message(rpc_call *c, const uint8_t *message, size_t n) {
    uint8_t *room = n <= UINT32_MAX ? realloc(c->reply, c->reply_n + HEAD_BYTES + n) : NULL;
    if (!room) {
        cuzk_error err;
        cuzk_fail(&err, CUZK_MEMORY, "no memory for an answer of %zu bytes", n);
        call_fail_status(c, &err);
        return false;
    }
    c->reply = room;
    room += c->reply_n;
    room[0] = 0; /* not compressed */
    for (unsigned i = 0; i < 4; i++) room[1 + i] = (uint8_t)(n >> (24 - 8 * i));
    if (n) memcpy(room + HEAD_BYTES, message, n);
    c->reply_n += HEAD_BYTES + n;
    return true;
}

void call_fail(rpc_call *c, int grpc_status, const cuzk_error *err) {
    free(c->reply);
    c->reply = NULL;
    c->reply_n = c->reply_sent = 0;
    c->status = grpc_status;
    c->error = *err;
}

void call_fail_status(rpc_call *c, const cuzk_error *err) {
    call_fail(c, cuzk_status_grpc(err->status), err);
}

/* A client that does not take its answer loses it, since it takes up memory here. */
static void answer(rpc_call *c) {
    c->state = CALL_REPLYING;
    c->receive_deadline = cpu_monotonic_seconds() + c->server->request_timeout;
    conn_submit_answer(c);
}

void call_abort(rpc_call *c, int grpc_status, const cuzk_error *err) {
    if (c->state == CALL_ROOM) room_leave(c);
    call_release_message(c);
    if (c->state == CALL_STREAMING) { /* its headers are out: only the trailers follow */
        c->status = grpc_status;
        c->error = *err;
        c->state = CALL_REPLYING;
        c->receive_deadline = cpu_monotonic_seconds() + c->server->request_timeout;
        conn_resume(c);
        return;
    }
    call_fail(c, grpc_status, err);
    answer(c);
}

/* ---- headers ---- */

static bool is(const char *name, size_t n, const char *what) {
    return n == strlen(what) && !memcmp(name, what, n);
}

/* "100m": at most eight digits and a unit. Seconds; 0 when it is none. */
static double parse_timeout(const char *v, size_t n) {
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'H', 3600}, {'M', 60}, {'S', 1}, {'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}};
    uint64_t number;
    if (n < 2 || n > 9 || !text_u64(&number, v, n - 1)) return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].unit == v[n - 1]) return (double)number * units[i].seconds + 1e-9;
    return 0;
}

void call_header(rpc_call *c, const char *name, size_t name_n, const char *value, size_t value_n) {
    if (is(name, name_n, ":method")) {
        c->is_post = is(value, value_n, "POST");
    } else if (is(name, name_n, ":path")) {
        if (value_n < sizeof c->path) memcpy(c->path, value, value_n);
    } else if (is(name, name_n, "content-type")) {
        c->is_grpc = is(value, value_n, "application/grpc") || is(value, value_n, "application/grpc+proto");
    } else if (is(name, name_n, "grpc-timeout")) {
        double t = parse_timeout(value, value_n);
        if (t > 0) c->client_deadline = cpu_monotonic_seconds() + t;
    } else if (is(name, name_n, "authorization")) {
        c->too_long_token = value_n >= sizeof c->peer_token;
        if (!c->too_long_token) memcpy(c->peer_token, value, value_n);
    }
}

/* Time does not depend on where they differ. */
static bool same_token(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    unsigned differ = n != m;
    for (size_t i = 0; i < m; i++) differ |= (unsigned)(a[i < n ? i : 0] ^ b[i]);
    return differ == 0;
}

static bool token_is_right(const rpc_call *c) {
    const char *wanted = c->server->secrets.token, *given = c->peer_token;
    if (!wanted || !c->conn->tcp || c->method->open) return true;
    if (c->too_long_token) return false;
    bool bearer = !strncmp(given, "Bearer ", 7) || !strncmp(given, "bearer ", 7);
    return bearer && same_token(given + 7, wanted);
}

void call_headers_done(rpc_call *c) {
    cuzk_error err;
    rpc_server *s = c->server;
    c->method = method_find(c->path);
    if (!c->is_post || !c->is_grpc) {
        cuzk_fail(&err, CUZK_USAGE, "this is a gRPC server");
        cuzk_fail_expected(&err, "POST with content-type application/grpc");
        call_abort(c, GRPC_INVALID_ARGUMENT, &err);
    } else if (!c->method) {
        cuzk_fail(&err, CUZK_USAGE, "there is no such method");
        cuzk_fail_found(&err, "%.90s", c->path);
        call_abort(c, GRPC_UNIMPLEMENTED, &err);
    } else if (!token_is_right(c)) {
        cuzk_fail(&err, CUZK_REFUSED,
                  c->peer_token[0] || c->too_long_token ? "the token is not the daemon's" : "the daemon wants a token");
        cuzk_fail_hint(&err, "send it as metadata \"authorization: Bearer TOKEN\" (cuzk: --token-file FILE)");
        call_abort(c, GRPC_UNAUTHENTICATED, &err);
    } else if (atomic_load(&s->stopping)) {
        cuzk_fail(&err, CUZK_UNREACHABLE, "the daemon stops");
        call_abort(c, GRPC_UNAVAILABLE, &err);
    } else if (c->overloaded) {
        cuzk_fail(&err, CUZK_REFUSED, "too many calls are open");
        cuzk_fail_expected(&err, "at most %u", s->max_calls);
        cuzk_fail_hint(&err, "try again later");
        call_abort(c, GRPC_RESOURCE_EXHAUSTED, &err);
    } else {
        c->state = CALL_HEAD;
        c->receive_deadline = cpu_monotonic_seconds() + s->request_timeout;
    }
}

/* ---- the message ---- */

static void complete(rpc_call *c) {
    c->receive_deadline = 0;
    if (!c->method->in_loop) {
        c->state = CALL_LENT;
        work_push(c->server, c);
        return;
    }
    c->method->run(c);
    if (c->state == CALL_STREAMING)
        conn_submit_answer(c);
    else
        answer(c);
}

/* True when the engine gave room for the message. */
static bool take_room(rpc_call *c) {
    rpc_server *s = c->server;
    uint64_t bytes = c->length, held = atomic_load(&s->large_held);
    bool is_large = bytes > SMALL_BYTES;
    if (is_large && held && held + bytes > s->request_bytes - s->request_bytes / 8) return false;
    if (!engine_request_try(s->engine, bytes)) return false;
    if (is_large) atomic_fetch_add(&s->large_held, bytes);
    c->reserved = bytes;
    return true;
}

static void receive(rpc_call *c) {
    cuzk_error err;
    size_t n = c->pending_n - HEAD_BYTES;
    if (n > c->length) n = c->length;
    if (buffer_alloc(&c->large, BUFFER_REQUEST, c->length, &err)) {
        call_abort(c, cuzk_status_grpc(err.status), &err);
        return;
    }
    c->state = CALL_RECEIVING;
    c->receive_deadline = cpu_monotonic_seconds() + c->server->request_timeout;
    memcpy(c->large.data, c->pending + HEAD_BYTES, n);
    c->received = n;
    c->message = c->large.data;
    size_t consumed = c->pending_n, window = (size_t)c->length + HEAD_BYTES;
    free(c->pending);
    c->pending = NULL;
    c->pending_n = 0;
    conn_grant(c, window < LARGE_WINDOW ? window : LARGE_WINDOW, consumed);
    if (c->received == c->length) complete(c);
}

static void wait_for_room(rpc_call *c) {
    rpc_server *s = c->server;
    c->state = CALL_ROOM;
    c->receive_deadline = 0; /* the client is not to blame for the wait */
    c->room_next = NULL;
    *s->room_last = c;
    s->room_last = &c->room_next;
}

void room_serve(rpc_server *s) {
    bool blocked = false;
    for (rpc_call **at = &s->room_first; *at;) {
        rpc_call *c = *at;
        if ((blocked && c->length > SMALL_BYTES) || !take_room(c)) {
            blocked = true;
            at = &c->room_next;
            continue;
        }
        *at = c->room_next;
        if (s->room_last == &c->room_next) s->room_last = at;
        receive(c);
    }
}

static cuzk_status message_fits(const rpc_call *c, cuzk_error *err) {
    const rpc_server *s = c->server;
    uint64_t most = c->method->carries_job ? s->max_message_bytes : CONTROL_BYTES;
    if (most > s->request_bytes) most = s->request_bytes;
    if (c->length <= most) return CUZK_OK;
    cuzk_fail(err, CUZK_REFUSED, "the message is larger than the daemon takes (%u against %llu bytes)", c->length,
              (unsigned long long)most);
    cuzk_fail_where(err, "%s", c->path);
    cuzk_fail_expected(err, "at most %llu bytes", (unsigned long long)most);
    return cuzk_fail_found(err, "%u bytes", c->length);
}

/* The first five bytes are there. */
static void head_done(rpc_call *c) {
    cuzk_error err;
    const uint8_t *head = c->pending;
    c->length = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
    if (head[0]) {
        cuzk_fail(&err, CUZK_USAGE, "compressed messages are not taken");
        cuzk_fail_expected(&err, "grpc-encoding identity");
        call_abort(c, GRPC_UNIMPLEMENTED, &err);
    } else if (message_fits(c, &err)) {
        call_abort(c, GRPC_RESOURCE_EXHAUSTED, &err);
    } else if (c->length + (uint64_t)HEAD_BYTES <= WINDOW_BYTES) {
        c->state = CALL_RECEIVING; /* fits what a stream may send anyway */
    } else {
        wait_for_room(c);
        room_serve(c->server);
    }
}

static void too_much(rpc_call *c) {
    cuzk_error err;
    cuzk_fail(&err, CUZK_MALFORMED, "more than one message came for a call that takes one");
    call_abort(c, GRPC_INVALID_ARGUMENT, &err);
}

/* Keeps bytes of a call without room. The sender cannot pass its window, so they fit. */
static bool keep(rpc_call *c, const uint8_t *data, size_t n) {
    cuzk_error err;
    size_t room = c->pending_n + n;
    if (room < 512) room = 512;
    uint8_t *p = room <= WINDOW_BYTES ? realloc(c->pending, room) : NULL;
    if (!p) {
        cuzk_fail(&err, CUZK_MEMORY, "no memory for a message");
        call_abort(c, GRPC_RESOURCE_EXHAUSTED, &err);
        return false;
    }
    c->pending = p;
    memcpy(p + c->pending_n, data, n);
    c->pending_n += n;
    return true;
}

void call_data(rpc_call *c, const uint8_t *data, size_t n) {
    if (c->state == CALL_RECEIVING && c->large.data) {
        size_t missing = c->length - c->received;
        if (n > missing) {
            too_much(c);
            return;
        }
        memcpy((uint8_t *)c->large.data + c->received, data, n);
        c->received += n;
        conn_grant(c, 0, n);
        if (c->received == c->length) complete(c);
        return;
    }
    if (c->state != CALL_HEAD && c->state != CALL_ROOM && c->state != CALL_RECEIVING) return; /* no window for more */
    if (!keep(c, data, n)) return;
    if (c->state == CALL_HEAD && c->pending_n >= HEAD_BYTES) head_done(c);
    if (c->state != CALL_RECEIVING || c->large.data || c->pending_n < HEAD_BYTES + (size_t)c->length) return;
    if (c->pending_n > HEAD_BYTES + (size_t)c->length) {
        too_much(c);
        return;
    }
    c->message = c->pending + HEAD_BYTES;
    complete(c);
}

void call_half_closed(rpc_call *c) {
    cuzk_error err;
    c->half_closed = true;
    bool waits = c->state == CALL_HEAD || c->state == CALL_RECEIVING;
    bool short_of_room = c->state == CALL_ROOM && c->pending_n < HEAD_BYTES + (size_t)c->length;
    if (!waits && !short_of_room) return;
    cuzk_fail(&err, CUZK_MALFORMED, "the call ended before its message");
    if (c->state != CALL_HEAD) cuzk_fail_expected(&err, "%u bytes", c->length);
    call_abort(c, GRPC_INVALID_ARGUMENT, &err);
}

/* ---- from elsewhere ---- */

void call_come_back(rpc_call *c) {
    if (c->gone) {
        call_free(c);
        return;
    }
    call_release_message(c);
    answer(c);
}

static void cut_off(rpc_call *c) {
    cuzk_error err;
    bool has_head = c->state == CALL_RECEIVING;
    size_t have = c->large.data ? c->received : c->pending_n > HEAD_BYTES ? c->pending_n - HEAD_BYTES : 0;
    cuzk_fail(&err, CUZK_REFUSED, "the message did not arrive in time");
    if (has_head)
        cuzk_fail_expected(&err, "%u bytes within %g s", c->length, c->server->request_timeout);
    else
        cuzk_fail_expected(&err, "a message within %g s", c->server->request_timeout);
    cuzk_fail_found(&err, "%zu bytes", have);
    call_abort(c, GRPC_DEADLINE_EXCEEDED, &err);
}

void call_expire(rpc_call *c, double now, double *next) {
    cuzk_error err;
    if (c->gone) { /* while a worker had it, who may have made it wait by now */
        if (await_take(c, true)) call_free(c);
        return;
    }
    if (c->state == CALL_REPLYING) {
        if (now >= c->receive_deadline) {
            conn_reset(c);
            c->receive_deadline = INFINITY;
        }
        if (c->receive_deadline < *next) *next = c->receive_deadline;
        return;
    }
    if (c->client_deadline > 0 && now >= c->client_deadline) {
        /* With a worker its answer comes too late, which the client knows. */
        if (c->state == CALL_LENT && !await_take(c, true)) return;
        cuzk_fail(&err, CUZK_CANCELLED, "the call's deadline has passed");
        call_abort(c, GRPC_DEADLINE_EXCEEDED, &err);
        return;
    }
    if (c->receive_deadline > 0 && now >= c->receive_deadline) {
        cut_off(c);
        return;
    }
    if (c->client_deadline > 0 && c->client_deadline < *next) *next = c->client_deadline;
    if (c->receive_deadline > 0 && c->receive_deadline < *next) *next = c->receive_deadline;
}

void call_timed_out(rpc_call *c) {
    cuzk_job_result none = {.state = CUZK_JOB_RUNNING};
    answer_result(c, &none, true);
    answer(c);
}
