/* One connection: HTTP/2 frames between the socket and the calls. nghttp2 keeps the protocol; windows are opened here
 * only when a call has taken, or has room for, what it was sent. */
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/log.h"
#include "rpc/details.h"
#include "rpc/internal.h"

#define CONNECTION_WINDOW (16 << 20)
#define MAX_STREAMS 256
#define READ_BYTES (64u << 10)

static rpc_call *call_of(nghttp2_session *session, int32_t stream) {
    return stream > 0 ? nghttp2_session_get_stream_user_data(session, stream) : NULL;
}

/* ---- from nghttp2 ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    rpc_conn *c = user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    rpc_call *call = call_begin(c, frame->hd.stream_id);
    if (!call) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                     const uint8_t *value, size_t value_n, uint8_t flags, void *user) {
    (void)flags, (void)user;
    rpc_call *call = call_of(session, frame->hd.stream_id);
    if (call && frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        call_header(call, (const char *)name, name_n, (const char *)value, value_n);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    rpc_call *call = call_of(session, frame->hd.stream_id);
    if (!call) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) call_headers_done(call);
    bool carries_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries_end && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) call_half_closed(call);
    return 0;
}

/* What is held back counts against the stream's window only, so that other calls of the connection go on. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *user) {
    (void)flags, (void)user;
    rpc_call *call = call_of(session, stream);
    nghttp2_session_consume_connection(session, n);
    if (call)
        call_data(call, data, n);
    else
        nghttp2_session_consume_stream(session, stream, n);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user) {
    (void)error, (void)user;
    rpc_call *call = call_of(session, stream);
    if (call) call_closed(call);
    return 0;
}

/* An answer that went out before the whole request came in: the client may stop sending. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    rpc_call *call = call_of(session, frame->hd.stream_id);
    if (!call || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) || call->half_closed) return 0;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

cuzk_status conn_callbacks(rpc_server *s, cuzk_error *err) {
    if (nghttp2_session_callbacks_new(&s->callbacks) || nghttp2_option_new(&s->option))
        return cuzk_fail(err, CUZK_MEMORY, "no memory for a server");
    nghttp2_session_callbacks_set_on_begin_headers_callback(s->callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(s->callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(s->callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(s->callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(s->callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(s->callbacks, on_frame_sent);
    nghttp2_option_set_no_auto_window_update(s->option, 1);
    return CUZK_OK;
}

/* ---- life ---- */

static void ask_events(rpc_conn *c, uint32_t events) {
    if (events == c->events) return;
    struct epoll_event e = {.events = events, .data.ptr = c};
    epoll_ctl(c->server->epoll, c->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->link.fd, &e);
    c->events = events;
}

/* A peer that vanished without a word is noticed after two minutes, so that its calls end. */
static void tune_tcp(int fd) {
    const int on = 1, idle = 60, every = 15, tries = 4;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

void conn_open(rpc_server *s, int fd, bool tcp) {
    cuzk_error err;
    rpc_conn *c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    *c = (rpc_conn){.kind = EVENT_CONN, .server = s, .tcp = tcp, .last_used = cpu_monotonic_seconds()};
    if (tcp) tune_tcp(fd);
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MAX_STREAMS},
                                               {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
                                               {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 16 << 10}};
    if (net_link_open(&c->link, fd, tcp ? s->secrets.tls : NULL, NULL, &err)) {
        free(c);
        return;
    }
    if (nghttp2_session_server_new2(&c->session, s->callbacks, c, s->option)) {
        net_link_close(&c->link);
        free(c);
        return;
    }
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings);
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
    c->next = s->conns;
    if (c->next) c->next->before = c;
    s->conns = c;
    s->n_conns++;
    ask_events(c, EPOLLIN);
    conn_flush(c);
}

void conn_close(rpc_conn *c) {
    rpc_server *s = c->server;
    for (rpc_call *call = s->calls, *next; call; call = next) {
        next = call->next;
        if (call->conn == c) call_closed(call);
    }
    nghttp2_session_del(c->session);
    net_link_close(&c->link); /* closing the descriptor takes it out of epoll */
    if (c->before)
        c->before->next = c->next;
    else
        s->conns = c->next;
    if (c->next) c->next->before = c->before;
    s->n_conns--;
    free(c->out);
    free(c);
}

void conn_goaway(rpc_conn *c) {
    nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(c->session),
                          NGHTTP2_NO_ERROR, NULL, 0);
    conn_flush(c);
}

/* ---- bytes ---- */

static void lost(rpc_conn *c) {
    if (c->link.why[0]) log_debug("a client's connection ended: %s", c->link.why);
    c->dead = true;
}

static void conn_read(rpc_conn *c) {
    uint8_t room[READ_BYTES];
    /* Bounded, so that others have their turn. TLS keeps nothing back: it reads record by record. */
    for (int turn = 0; turn < 16 && !c->dead; turn++) {
        long n = net_link_read(&c->link, room, sizeof room);
        if (n == NET_AGAIN) return;
        if (n <= 0) {
            lost(c);
            return;
        }
        c->last_used = cpu_monotonic_seconds();
        if (nghttp2_session_mem_recv(c->session, room, (size_t)n) < 0) {
            conn_flush(c); /* says why (GOAWAY) */
            c->dead = true;
        }
        /* Window updates go out before more is read. */
        if (nghttp2_session_want_write(c->session)) conn_flush(c);
    }
}

/* True when the socket took everything. */
static bool push(rpc_conn *c, const uint8_t *data, size_t n, size_t *taken) {
    for (*taken = 0; *taken < n;) {
        long k = net_link_write(&c->link, data + *taken, n - *taken);
        if (k == NET_AGAIN) return false;
        if (k <= 0) {
            lost(c);
            return false;
        }
        *taken += (size_t)k;
    }
    return true;
}

static bool push_rest(rpc_conn *c) {
    size_t taken;
    if (c->out_sent == c->out_n) return true;
    bool all = push(c, c->out + c->out_sent, c->out_n - c->out_sent, &taken);
    c->out_sent += taken;
    return all;
}

static bool keep_rest(rpc_conn *c, const uint8_t *data, size_t n) {
    if (n > c->out_room) {
        uint8_t *room = realloc(c->out, n);
        if (!room) return false;
        c->out = room;
        c->out_room = n;
    }
    memcpy(c->out, data, n);
    c->out_n = n;
    c->out_sent = 0;
    return true;
}

void conn_flush(rpc_conn *c) {
    const uint8_t *data;
    size_t taken;
    bool open = !c->dead && push_rest(c);
    while (open && !c->dead) {
        ssize_t n = nghttp2_session_mem_send(c->session, &data);
        if (n < 0) c->dead = true;
        if (n <= 0) break;
        if (push(c, data, (size_t)n, &taken)) continue;
        open = false;
        if (!c->dead && !keep_rest(c, data + taken, (size_t)n - taken)) c->dead = true;
    }
    if (c->dead) return;
    if (open && !nghttp2_session_want_read(c->session) && !nghttp2_session_want_write(c->session)) c->dead = true;
    ask_events(c, c->link.wants_output ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void conn_event(rpc_conn *c, uint32_t events) {
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) || (events & EPOLLOUT && c->link.wants_output)) conn_read(c);
    if (!c->dead) conn_flush(c);
}

/* ---- answers ---- */

static nghttp2_nv pair(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

#define MAX_TRAILERS 3

static size_t trailers(nghttp2_nv nv[MAX_TRAILERS], const rpc_call *call, char code[12], char **message,
                       char **details) {
    size_t n = 0;
    snprintf(code, 12, "%d", call->status);
    nv[n++] = pair("grpc-status", code);
    *message = call->status ? details_message(&call->error) : NULL;
    *details = call->status ? details_encode(call->status, &call->error) : NULL;
    if (*message) nv[n++] = pair("grpc-message", *message);
    if (*details) nv[n++] = pair("grpc-status-details-bin", *details);
    return n;
}

static ssize_t read_reply(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room, uint32_t *flags,
                          nghttp2_data_source *source, void *user) {
    (void)user;
    rpc_call *call = source->ptr;
    size_t n = call->reply_n - call->reply_sent;
    if (n > room) n = room;
    if (n) memcpy(out, call->reply + call->reply_sent, n);
    call->reply_sent += n;
    if (call->reply_sent < call->reply_n) return (ssize_t)n;
    if (call->state == CALL_STREAMING) return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    nghttp2_nv nv[MAX_TRAILERS];
    char code[12], *message, *details;
    size_t k = trailers(nv, call, code, &message, &details);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (nghttp2_submit_trailer(session, stream, nv, k) == 0) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    free(message);
    free(details);
    return (ssize_t)n;
}

void conn_submit_answer(rpc_call *call) {
    nghttp2_session *session = call->conn->session;
    nghttp2_nv nv[3 + MAX_TRAILERS] = {pair(":status", "200"), pair("content-type", "application/grpc"),
                                       pair("grpc-accept-encoding", "identity")};
    if (call->reply_n || call->state == CALL_STREAMING) {
        nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_reply};
        nghttp2_submit_response(session, call->stream, nv, 3, &provider);
        return;
    }
    char code[12], *message, *details;
    size_t k = trailers(nv + 3, call, code, &message, &details);
    nghttp2_submit_response(session, call->stream, nv, 3 + k, NULL);
    free(message);
    free(details);
}

void conn_resume(rpc_call *call) {
    nghttp2_session_resume_data(call->conn->session, call->stream);
}

void conn_reset(rpc_call *call) {
    nghttp2_submit_rst_stream(call->conn->session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_CANCEL);
}

void conn_grant(rpc_call *call, size_t window, size_t consumed) {
    nghttp2_session *session = call->conn->session;
    if (window > WINDOW_BYTES)
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, call->stream, (int32_t)window);
    if (consumed) nghttp2_session_consume_stream(session, call->stream, consumed);
}
