/* The client: HTTP/2 by nghttp2 over one socket, driven by poll(2) while a call is under way. */
#include "rpc/client.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/text.h"
#include "rpc/details.h"
#include "rpc/net.h"
#include "rpc/server.h"

#define WINDOW (8 << 20)
#define MAX_REPLY (256u << 20)
#define HEAD_BYTES 5

typedef struct call {
    int32_t stream;
    const cuzk_bytes *parts;
    size_t n_parts, part, part_sent;
    uint8_t head[HEAD_BYTES];
    size_t head_sent;
    uint8_t *reply;
    size_t reply_n, reply_room;
    int http_status, grpc_status; /* grpc_status -1: none came */
    char *message, *details;
    bool ended, too_large;
    uint32_t reset; /* error code of the stream's end */
} call;

struct rpc_client {
    net_address address;
    char *token;
    SSL_CTX *tls;
    net_link link;
    nghttp2_session *session;
    const atomic_int *cancel;
    bool broken; /* the connection is over */
    uint8_t *out;
    size_t out_n, out_sent, out_room;
    call *now;
};

/* ---- from nghttp2 ---- */

static char *copy_text(const uint8_t *value, size_t n) {
    char *out = malloc(n + 1);
    if (!out) return NULL;
    memcpy(out, value, n);
    out[n] = 0;
    return out;
}

static bool is(const uint8_t *name, size_t n, const char *what) {
    return n == strlen(what) && !memcmp(name, what, n);
}

static int number(const uint8_t *value, size_t n, int otherwise) {
    uint64_t v;
    return text_u64(&v, (const char *)value, n) && v < 1000 ? (int)v : otherwise;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                     const uint8_t *value, size_t value_n, uint8_t flags, void *user) {
    (void)session, (void)flags;
    call *k = ((rpc_client *)user)->now;
    if (!k || frame->hd.stream_id != k->stream) return 0;
    if (is(name, name_n, ":status")) {
        k->http_status = number(value, value_n, 0);
    } else if (is(name, name_n, "grpc-status")) {
        k->grpc_status = number(value, value_n, 2);
    } else if (is(name, name_n, "grpc-message")) {
        free(k->message);
        k->message = copy_text(value, value_n);
    } else if (is(name, name_n, "grpc-status-details-bin")) {
        free(k->details);
        k->details = copy_text(value, value_n);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *user) {
    (void)session, (void)flags;
    call *k = ((rpc_client *)user)->now;
    if (!k || stream != k->stream || k->too_large) return 0;
    if (k->reply_n + n > k->reply_room) {
        size_t room = 2 * (k->reply_n + n);
        uint8_t *p = k->reply_n + n <= MAX_REPLY ? realloc(k->reply, room) : NULL;
        if (!p) {
            k->too_large = true;
            return 0;
        }
        k->reply = p;
        k->reply_room = room;
    }
    memcpy(k->reply + k->reply_n, data, n);
    k->reply_n += n;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user) {
    (void)session;
    call *k = ((rpc_client *)user)->now;
    if (!k || stream != k->stream) return 0;
    k->ended = true;
    k->reset = error;
    return 0;
}

static size_t take(uint8_t *out, size_t room, const void *from, size_t n, size_t *sent) {
    size_t k = n - *sent;
    if (k > room) k = room;
    if (k) memcpy(out, (const uint8_t *)from + *sent, k);
    *sent += k;
    return k;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room, uint32_t *flags,
                            nghttp2_data_source *source, void *user) {
    (void)session, (void)stream, (void)user;
    call *k = source->ptr;
    size_t n = take(out, room, k->head, HEAD_BYTES, &k->head_sent);
    while (k->part < k->n_parts) {
        const cuzk_bytes *part = &k->parts[k->part];
        n += take(out + n, room - n, part->data, part->n, &k->part_sent);
        if (k->part_sent < part->n) return (ssize_t)n;
        k->part++;
        k->part_sent = 0;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* ---- opening ---- */

static cuzk_status start_session(rpc_client *c, cuzk_error *err) {
    nghttp2_session_callbacks *callbacks;
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                               {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
    if (nghttp2_session_callbacks_new(&callbacks)) return cuzk_fail(err, CUZK_MEMORY, "no memory for a connection");
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    int rc = nghttp2_session_client_new(&c->session, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    if (rc) return cuzk_fail(err, CUZK_MEMORY, "no memory for a connection");
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings);
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
    return CUZK_OK;
}

static cuzk_status set_up_tls(rpc_client *c, const rpc_client_options *o, cuzk_error *err) {
    if (!o->tls_ca && (o->tls_cert || o->tls_key)) { /* never plain to somebody who asked for more */
        cuzk_fail(err, CUZK_USAGE, "a client's certificate is for TLS, and no authority is named");
        return cuzk_fail_hint(err, "give --tls-ca FILE, or --tls-ca system");
    }
    if (!o->tls_ca) return CUZK_OK;
    if (net_tls_client(&c->tls, strcmp(o->tls_ca, "system") ? o->tls_ca : NULL, err)) return err->status;
    if (!o->tls_cert && !o->tls_key) return CUZK_OK;
    if (!o->tls_cert || !o->tls_key) return cuzk_fail(err, CUZK_USAGE, "a certificate and its key belong together");
    return net_tls_own(c->tls, o->tls_cert, o->tls_key, err);
}

cuzk_status rpc_client_open(rpc_client **out, const rpc_client_options *o, cuzk_error *err) {
    const char *address = o->address ? o->address : getenv("CUZK_ADDR");
    rpc_client *c = calloc(1, sizeof *c);
    int fd = -1;
    *out = NULL;
    if (!c) return cuzk_fail(err, CUZK_MEMORY, "no memory for a connection");
    c->link.fd = -1;
    c->cancel = o->cancel;
    cuzk_status s = net_parse(&c->address, address && *address ? address : RPC_DEFAULT_ADDRESS, true, err);
    if (!s && o->token && !(c->token = strdup(o->token))) s = cuzk_fail(err, CUZK_MEMORY, "no memory for a token");
    if (!s && !c->address.is_unix) s = set_up_tls(c, o, err);
    if (!s) s = net_connect(&fd, &c->address, o->connect_timeout > 0 ? o->connect_timeout : 10, err);
    if (!s) s = net_link_open(&c->link, fd, c->tls, c->tls ? c->address.host : NULL, err);
    if (!s) s = start_session(c, err);
    if (s)
        rpc_client_close(c);
    else
        *out = c;
    return s;
}

void rpc_client_close(rpc_client *c) {
    if (!c) return;
    nghttp2_session_del(c->session);
    net_link_close(&c->link);
    SSL_CTX_free(c->tls);
    free(c->token);
    free(c->out);
    free(c);
}

const char *rpc_client_address(const rpc_client *c) {
    return c->address.text;
}

/* ---- bytes ---- */

static void write_out(rpc_client *c) {
    for (;;) {
        while (c->out_sent < c->out_n) {
            long n = net_link_write(&c->link, c->out + c->out_sent, c->out_n - c->out_sent);
            if (n == NET_AGAIN) return;
            if (n <= 0) {
                c->broken = true;
                return;
            }
            c->out_sent += (size_t)n;
        }
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(c->session, &data);
        if (n < 0) c->broken = true;
        if (n <= 0) return;
        if ((size_t)n > c->out_room) {
            uint8_t *room = realloc(c->out, (size_t)n);
            if (!room) {
                c->broken = true;
                return;
            }
            c->out = room;
            c->out_room = (size_t)n;
        }
        memcpy(c->out, data, (size_t)n);
        c->out_n = (size_t)n;
        c->out_sent = 0;
    }
}

static void read_in(rpc_client *c) {
    uint8_t room[64 << 10];
    while (!c->broken && !c->now->ended) {
        long n = net_link_read(&c->link, room, sizeof room);
        if (n == NET_AGAIN) return;
        if (n <= 0 || nghttp2_session_mem_recv(c->session, room, (size_t)n) < 0) c->broken = true;
    }
}

/* Until the call has ended, the connection is over, or the time has passed. */
static cuzk_status drive(rpc_client *c, double until, cuzk_error *err) {
    while (!c->now->ended && !c->broken) {
        write_out(c);
        read_in(c);
        if (c->now->ended || c->broken) break;
        double left = until > 0 ? until - cpu_monotonic_seconds() : 3600;
        if (c->cancel && atomic_load(c->cancel)) return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
        if (left <= 0) {
            cuzk_fail(err, CUZK_UNREACHABLE, "the daemon did not answer in time");
            return cuzk_fail_where(err, "%s", c->address.text);
        }
        bool more = c->out_sent < c->out_n || c->link.wants_output;
        struct pollfd p = {.fd = c->link.fd, .events = (short)(POLLIN | (more ? POLLOUT : 0))};
        /* In short turns: a signal that comes just before poll(2) sets `cancel` unseen. */
        if (poll(&p, 1, left < 0.2 ? (int)(left * 1000) + 1 : 200) < 0 && errno != EINTR) c->broken = true;
    }
    if (!c->broken) write_out(c); /* acknowledgements */
    if (c->now->ended) return CUZK_OK;
    cuzk_fail(err, CUZK_UNREACHABLE, "the connection to the daemon ended before its answer");
    cuzk_fail_where(err, "%s", c->address.text);
    cuzk_fail_found(err, "%s", c->link.why);
    return cuzk_fail_hint(err, "a job that it has taken goes on, also after a restart: `cuzk await ID`");
}

/* ---- a call ---- */

static nghttp2_nv pair(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static cuzk_status send_call(rpc_client *c, const char *method, double timeout, cuzk_error *err) {
    char path[128], grpc_timeout[24], token[320];
    snprintf(path, sizeof path, "/%s", method);
    nghttp2_nv nv[10] = {pair(":method", "POST"),
                         pair(":scheme", c->tls ? "https" : "http"),
                         pair(":path", path),
                         pair(":authority", c->address.is_unix ? "localhost" : c->address.text),
                         pair("te", "trailers"),
                         pair("content-type", "application/grpc"),
                         pair("user-agent", "cuzk/" CUZK_VERSION)};
    size_t n = 7;
    if (timeout > 0 && timeout < 99999) {
        snprintf(grpc_timeout, sizeof grpc_timeout, "%.0fm", timeout * 1000);
        nv[n++] = pair("grpc-timeout", grpc_timeout);
    }
    if (c->token) {
        if ((size_t)snprintf(token, sizeof token, "Bearer %s", c->token) >= sizeof token)
            return cuzk_fail(err, CUZK_USAGE, "the token is longer than 300 bytes");
        nv[n++] = pair("authorization", token);
    }
    nghttp2_data_provider provider = {.source.ptr = c->now, .read_callback = read_request};
    c->now->stream = nghttp2_submit_request(c->session, NULL, nv, n, &provider, NULL);
    return c->now->stream > 0 ? CUZK_OK : cuzk_fail(err, CUZK_UNREACHABLE, "the connection takes no more calls");
}

/* The one message of the answer, moved to the front of the buffer. */
static bool unframe(call *k) {
    if (k->reply_n < HEAD_BYTES || k->reply[0] != 0) return false;
    uint32_t n = (uint32_t)k->reply[1] << 24 | (uint32_t)k->reply[2] << 16 | (uint32_t)k->reply[3] << 8 | k->reply[4];
    if (n != k->reply_n - HEAD_BYTES) return false;
    memmove(k->reply, k->reply + HEAD_BYTES, n);
    k->reply_n = n;
    return true;
}

static cuzk_status outcome(rpc_client *c, call *k, cuzk_error *err) {
    if (k->grpc_status > 0) {
        details_decode(err, k->grpc_status, k->message, k->details);
        if (!err->where[0]) cuzk_fail_where(err, "%s", c->address.text);
        return err->status;
    }
    if (k->grpc_status == 0 && !k->too_large && unframe(k)) return CUZK_OK;
    cuzk_fail(err, CUZK_UNREACHABLE,
              k->too_large ? "the daemon's answer is too large" : "this does not answer like a daemon");
    cuzk_fail_where(err, "%s", c->address.text);
    if (k->http_status != 200) cuzk_fail_found(err, "HTTP status %d, stream error %u", k->http_status, k->reset);
    return err->status;
}

cuzk_status rpc_client_call(rpc_client *c, const char *method, const cuzk_bytes *parts, size_t n_parts, double timeout,
                            uint8_t **reply, size_t *reply_n, cuzk_error *err) {
    uint64_t bytes = 0;
    call k = {.parts = parts, .n_parts = n_parts, .grpc_status = -1};
    *reply = NULL;
    *reply_n = 0;
    for (size_t i = 0; i < n_parts; i++) bytes += parts[i].n;
    if (bytes > UINT32_MAX) return cuzk_fail(err, CUZK_USAGE, "the message is larger than gRPC carries");
    for (unsigned i = 0; i < 4; i++) k.head[1 + i] = (uint8_t)(bytes >> (24 - 8 * i));
    c->now = &k;
    cuzk_status s = send_call(c, method, timeout, err);
    /* Longer than the daemon is told, so that its own word comes first. */
    if (!s) s = drive(c, timeout > 0 ? cpu_monotonic_seconds() + timeout + 2 : 0, err);
    if (!s) s = outcome(c, &k, err);
    if (s && !k.ended && !c->broken) { /* the daemon shall know */
        nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, k.stream, NGHTTP2_CANCEL);
        write_out(c);
    }
    c->now = NULL;
    free(k.message);
    free(k.details);
    if (s)
        free(k.reply);
    else
        *reply = k.reply, *reply_n = k.reply_n;
    return s;
}
