/* A gRPC client for tests that sends what a decent one would not: half a message, another length than it says, nothing
 * for a while. It also reads streams. One call on one connection; faults of its own end the test. */
#ifndef CUZK_TESTS_RPC_RAW_CLIENT_H
#define CUZK_TESTS_RPC_RAW_CLIENT_H

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "rpc/net.h"

typedef struct raw_client {
    net_link link;
    nghttp2_session *session;
    int32_t stream;
    const uint8_t *data; /* to send, framing included; borrowed */
    size_t n, sent;
    bool finish;          /* half-closes after the data */
    int status;           /* of the trailers; -1: none yet */
    char message[1024];   /* percent-encoded */
    uint8_t reply[65536]; /* framed */
    size_t reply_n;
    bool closed; /* the stream is over */
} raw_client;

static int raw_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                      const uint8_t *value, size_t value_n, uint8_t flags, void *user) {
    (void)session, (void)frame, (void)flags;
    raw_client *c = user;
    if (name_n == 11 && !memcmp(name, "grpc-status", 11)) c->status = atoi((const char *)value);
    if (name_n == 12 && !memcmp(name, "grpc-message", 12))
        snprintf(c->message, sizeof c->message, "%.*s", (int)value_n, (const char *)value);
    return 0;
}

static int raw_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n,
                    void *user) {
    (void)session, (void)flags, (void)stream;
    raw_client *c = user;
    if (c->reply_n + n > sizeof c->reply) abort();
    memcpy(c->reply + c->reply_n, data, n);
    c->reply_n += n;
    return 0;
}

static int raw_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user) {
    (void)session, (void)stream, (void)error;
    ((raw_client *)user)->closed = true;
    return 0;
}

static ssize_t raw_read(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room, uint32_t *flags,
                        nghttp2_data_source *source, void *user) {
    (void)session, (void)stream, (void)source;
    raw_client *c = user;
    size_t n = c->n - c->sent < room ? c->n - c->sent : room;
    if (n) memcpy(out, c->data + c->sent, n);
    c->sent += n;
    if (c->sent == c->n && c->finish)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (!n)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)n;
}

static nghttp2_nv raw_pair(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static void raw_open(raw_client *c, const char *address, const char *path, const void *data, size_t n, bool finish) {
    cuzk_error err;
    net_address a;
    int fd;
    nghttp2_session_callbacks *callbacks;
    memset(c, 0, sizeof *c);
    c->status = -1;
    c->data = data;
    c->n = n;
    c->finish = finish;
    if (net_parse(&a, address, false, &err) || net_connect(&fd, &a, 5, &err) ||
        net_link_open(&c->link, fd, NULL, NULL, &err))
        abort();
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, raw_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, raw_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, raw_close);
    nghttp2_session_client_new(&c->session, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, NULL, 0);
    const nghttp2_nv nv[] = {raw_pair(":method", "POST"), raw_pair(":scheme", "http"),
                             raw_pair(":path", path),     raw_pair(":authority", "localhost"),
                             raw_pair("te", "trailers"),  raw_pair("content-type", "application/grpc")};
    nghttp2_data_provider provider = {.read_callback = raw_read};
    c->stream = nghttp2_submit_request(c->session, NULL, nv, 6, &provider, NULL);
}

/* Sends what there is to send, and reads nothing. False: the connection is over. */
static bool raw_send(raw_client *c) {
    const uint8_t *out;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(c->session, &out)) > 0) {
        for (size_t k = 0; k < (size_t)n;) {
            long m = net_link_write(&c->link, out + k, (size_t)n - k);
            if (m == NET_FAILED) return false;
            if (m > 0)
                k += (size_t)m;
            else
                poll(&(struct pollfd){.fd = c->link.fd, .events = POLLOUT}, 1, 100);
        }
    }
    return true;
}

/* Moves bytes for so many seconds, or until the stream is closed, or until `replies` bytes have come. */
static void raw_run(raw_client *c, double seconds, size_t replies) {
    double until = cpu_monotonic_seconds() + seconds;
    uint8_t room[16384];
    while (!c->closed && c->reply_n < replies && cpu_monotonic_seconds() < until) {
        if (!raw_send(c)) return;
        poll(&(struct pollfd){.fd = c->link.fd, .events = POLLIN}, 1, 20);
        long k = net_link_read(&c->link, room, sizeof room);
        if (k == 0 || k == NET_FAILED) return;
        if (k > 0 && nghttp2_session_mem_recv(c->session, room, (size_t)k) < 0) return;
    }
}

/* More bytes to send; what was given before has been sent. */
static inline void raw_more(raw_client *c, const void *data, size_t n, bool finish) {
    c->data = data;
    c->n = n;
    c->sent = 0;
    c->finish = finish;
    nghttp2_session_resume_data(c->session, c->stream);
}

static void raw_close_client(raw_client *c) {
    nghttp2_session_del(c->session);
    net_link_close(&c->link);
}

#endif
