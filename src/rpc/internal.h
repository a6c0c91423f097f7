/* What the files of the server share.
 *
 * The loop thread owns connections and calls. A call whose message is complete is lent to a worker, which answers it or
 * makes it wait for a job; waiting calls are in a list under the server's mutex, from which the watcher or the loop
 * takes each exactly once. Whoever is done with a lent call puts it into the `done` list and wakes the loop. A call
 * whose client went away while it was lent is `gone`: the loop frees it when it comes back.
 *
 * Locks: the server's mutex is a leaf, nothing is called with it held.
 */
#ifndef CUZK_RPC_INTERNAL_H
#define CUZK_RPC_INTERNAL_H

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdatomic.h>
#include "base/buffer.h"
#include "engine/engine.h"
#include "rpc/net.h"
#include "rpc/server.h"

#define CONTROL_BYTES (64u << 10) /* largest message of a call that sends no job */
#define WINDOW_BYTES 65535u       /* of a stream before there is room for its message */
#define HEAD_BYTES 5              /* before a gRPC message: compressed or not, length */

typedef struct rpc_conn rpc_conn;
typedef struct rpc_call rpc_call;

/* The status codes of gRPC that are not in the status list's column. */
enum {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_UNAUTHENTICATED = 16
};

typedef struct rpc_method {
    const char *path;
    void (*run)(rpc_call *c);
    bool carries_job; /* its message may have the server's size */
    bool in_loop;     /* run is quick, and called by the loop */
    bool slow;        /* may take minutes: has workers of its own */
    bool open;        /* wants no token */
} rpc_method;

typedef enum call_state {
    CALL_HEADERS,   /* its request headers are being read */
    CALL_HEAD,      /* the message's first five bytes are awaited */
    CALL_ROOM,      /* waits for room for its message */
    CALL_RECEIVING, /* the message comes in */
    CALL_LENT,      /* a worker has it, or it waits for a job */
    CALL_STREAMING, /* more messages may follow (Watch) */
    CALL_REPLYING   /* the answer goes out */
} call_state;

struct rpc_call {
    rpc_server *server;
    rpc_conn *conn; /* NULL when gone */
    int32_t stream;
    uint64_t id;
    call_state state;
    bool gone, half_closed, overloaded;
    const rpc_method *method;
    char path[96], peer_token[300];
    bool is_post, is_grpc, too_long_token;

    /* The message. */
    uint8_t *pending; /* bytes that came before there was room, at most WINDOW_BYTES */
    size_t pending_n;
    uint32_t length; /* valid from CALL_ROOM on */
    buffer large;    /* the message, when it is larger than what pending can hold */
    const uint8_t *message;
    size_t received;
    uint64_t reserved; /* of the engine's room */
    rpc_call *room_next;

    double client_deadline;  /* monotonic seconds; 0: none; the loop's */
    double receive_deadline; /* of the message; in CALL_REPLYING of taking the answer */

    /* Waiting for a job. Set by the worker before await_add; await_deadline, the list and `awaited` under the mutex. */
    double await_deadline; /* monotonic; 0: none */
    uint64_t seq;
    char job_id[256], kind[24]; /* kind: "" when not known */
    bool known_service;         /* of Watch */
    bool prove, cancel_on_disconnect, awaited;
    rpc_call *await_next, *await_before;

    /* The answer: framed messages, then the status. */
    int status;
    cuzk_error error;
    uint8_t *reply;
    size_t reply_n, reply_sent;

    rpc_call *work_next, *done_next;
    rpc_call *next, *before; /* of all calls */
};

struct rpc_conn {
    int kind; /* first member: see event_kind */
    rpc_server *server;
    net_link link;
    bool tcp, dead;
    nghttp2_session *session;
    uint8_t *out; /* what the socket did not take yet */
    size_t out_n, out_sent, out_room;
    unsigned calls;
    double last_used;
    uint32_t events; /* asked of epoll */
    rpc_conn *next, *before;
};

typedef enum event_kind { EVENT_LISTENER, EVENT_CONN, EVENT_WAKE } event_kind;

typedef struct rpc_listener {
    int kind;
    int fd;
    net_address address;
} rpc_listener;

typedef struct work_queue {
    rpc_call *first, **last;
    pthread_cond_t more;
    pthread_t threads[8];
    unsigned n_threads;
} work_queue;

typedef struct rpc_secrets {
    SSL_CTX *tls; /* NULL: none */
    char *token;  /* NULL: none */
} rpc_secrets;

typedef struct wait_end wait_end; /* of a call that waits no longer: for a worker to tell the engine */

struct rpc_server {
    cuzk_engine *engine;
    uint64_t max_message_bytes, request_bytes;
    double request_timeout;
    unsigned max_calls, max_connections;
    rpc_listener listeners[RPC_MAX_LISTEN];
    size_t n_listeners;

    /* The loop's own. */
    rpc_secrets secrets;
    int epoll, wake;
    int wake_kind; /* EVENT_WAKE, where epoll's pointer for `wake` points to */
    pthread_t loop;
    bool loop_runs;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    rpc_conn *conns;
    unsigned n_conns, n_calls;
    rpc_call *calls;
    rpc_call *room_first, **room_last;
    uint64_t last_id;

    _Atomic uint64_t large_held; /* reserved by messages over SMALL_BYTES */
    atomic_bool draining, stopping;
    bool went_away; /* the loop's: stopping has begun */
    _Atomic double grace_until;

    pthread_mutex_t mutex;
    bool has_new;        /* secrets that the loop is to take */
    rpc_secrets renewed; /* those */
    bool closed;         /* workers and watcher end */
    work_queue quick, slow;
    wait_end *ends;
    rpc_call *done;
    rpc_call *awaiting;
    pthread_t watcher;
    bool watcher_runs;
};

/* ---- server.c ---- */
void server_wake(rpc_server *s);

/* ---- connection.c: the loop's thread ---- */
cuzk_status conn_callbacks(rpc_server *s, cuzk_error *err);
void conn_open(rpc_server *s, int fd, bool tcp);
void conn_event(rpc_conn *c, uint32_t events);
/* Writes what can be written; sets dead when the connection is over. */
void conn_flush(rpc_conn *c);
void conn_goaway(rpc_conn *c);
void conn_close(rpc_conn *c); /* its calls are gone; frees c */
void conn_submit_answer(rpc_call *call);
void conn_resume(rpc_call *call);
void conn_reset(rpc_call *call); /* ends the stream without a further word */
/* Lets the sender of the call's message go on. */
void conn_grant(rpc_call *call, size_t window, size_t consumed);

/* ---- call.c: the loop's thread, unless said otherwise ---- */
rpc_call *call_begin(rpc_conn *conn, int32_t stream);
void call_header(rpc_call *c, const char *name, size_t name_n, const char *value, size_t value_n);
void call_headers_done(rpc_call *c);
void call_data(rpc_call *c, const uint8_t *data, size_t n);
void call_half_closed(rpc_call *c);
void call_closed(rpc_call *c); /* the stream is over: frees c, or leaves it to whoever has it */
/* Ends a call whose time is over; else lowers *next to when that will be. */
void call_expire(rpc_call *c, double now, double *next);
void call_timed_out(rpc_call *c); /* one of await_expired: the job goes on */
void call_come_back(rpc_call *c); /* from the done list */
void room_serve(rpc_server *s);
/* Ends the call with an error, now. */
void call_abort(rpc_call *c, int grpc_status, const cuzk_error *err);
/* Any thread that has the call. The answer: a copy of n bytes as one message. False: no memory, and the status says so.
 */
bool call_add_message(rpc_call *c, const uint8_t *message, size_t n);
void call_fail(rpc_call *c, int grpc_status, const cuzk_error *err);
void call_fail_status(rpc_call *c, const cuzk_error *err); /* by the status list */
/* Frees the message and gives its room back; any thread that has the call. */
void call_release_message(rpc_call *c);

/* ---- work.c ---- */
cuzk_status work_start(rpc_server *s, cuzk_error *err);
void work_stop(rpc_server *s);
void work_push(rpc_server *s, rpc_call *c);
void work_done(rpc_call *c); /* gives a lent call back to the loop */
/* From a worker: the call waits for its seq (the engine counts it as a waiter); not touched by the caller afterwards.
 */
void await_add(rpc_call *c);
/* From the loop: true when the call was waiting and is the loop's again. The engine is told by a worker; its job ends
 * when the client left, asked for that, and nobody else waits for it. */
bool await_take(rpc_call *c, bool client_left);
/* From the loop: a waiting call whose await_deadline is over, taken as by await_take; NULL: none, and *next is lowered
 * to the next one's. */
rpc_call *await_expired(rpc_server *s, double now, double *next);

/* ---- handlers.c, health.c ---- */
/* Any thread that has the call. */
void answer_result(rpc_call *c, const cuzk_job_result *result, bool timed_out);
const rpc_method *method_find(const char *path);
void handle_health_check(rpc_call *c);
void handle_health_watch(rpc_call *c);
void health_changed(rpc_server *s);

#endif
