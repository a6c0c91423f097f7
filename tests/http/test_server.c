/* The HTTP server over a real engine with the toy kind: answers, refusals, event streams, slow and hostile clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpu.h"
#include "engine/engine_case.h"
#include "http/events.h"
#include "http/server.h"
#include "ref/groth16_case.h"

typedef struct site {
    cuzk_engine *engine;
    http_server *server;
    uint16_t port;
} site;

static site site_open(const char *token) {
    site s;
    cuzk_error e;
    cuzk_engine_options o = engine_case_options();
    s.engine = engine_case_start(&o, NULL, 0, NULL);
    http_options h = {.listen = "127.0.0.1:0", .token = token};
    assert_int_equal(http_server_start(&s.server, s.engine, &h, &e), CUZK_OK);
    const char *address = http_server_address(s.server);
    assert_memory_equal(address, "127.0.0.1:", 10);
    s.port = (uint16_t)strtoul(address + 10, NULL, 10);
    assert_true(s.port > 0);
    return s;
}

static void site_close(site *s) {
    http_server_stop(s->server);
    cuzk_engine_stop(s->engine, 0);
}

/* ---- a client ---- */

static int dial(const site *s) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(s->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void say(int fd, const char *text) {
    size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* What comes until the other side closes, at most max bytes; terminated, free with free(). */
static char *hear(int fd, size_t max) {
    char *text = malloc(max + 1);
    size_t n = 0;
    ssize_t got = 1;
    assert_non_null(text);
    while (n < max && got > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 20000) != 1) fail_msg("no answer in 20 s");
        got = recv(fd, text + n, max - n, 0);
        if (got > 0) n += (size_t)got;
    }
    text[n] = 0;
    return text;
}

static char *ask(const site *s, const char *request) {
    int fd = dial(s);
    say(fd, request);
    char *answer = hear(fd, 8 << 20);
    close(fd);
    return answer;
}

static char *get(const site *s, const char *path, const char *headers) {
    char request[1024];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, headers);
    return ask(s, request);
}

static int status_of(const char *answer) {
    return strncmp(answer, "HTTP/1.1 ", 9) != 0 ? 0 : (int)strtol(answer + 9, NULL, 10);
}

static void expect(const site *s, const char *path, const char *headers, int status, const char *text) {
    char *answer = get(s, path, headers);
    if (status_of(answer) != status || !strstr(answer, text)) {
        fail_msg("%s: wanted %d and \"%s\", got: %.600s", path, status, text, answer);
    }
    free(answer);
}

static void prove_one(const site *s, const char *id, uint64_t start) {
    char *request = toy_request(1024, 2, start, -1, 0);
    cuzk_submission sub = engine_case_toy(id, request);
    engine_case_submit(s->engine, &sub, false);
    engine_case_expect(s->engine, id, CUZK_JOB_COMPLETED, 1024, 2, start);
    free(request);
}

/* ---- answers ---- */

static void addresses_of_both_families(void **state) {
    (void)state;
    static const char *const good[] = {"127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0", ":0"};
    cuzk_error e;
    http_server *server;
    site s = site_open(NULL);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        http_options o = {.listen = good[i]};
        cuzk_status status = http_server_start(&server, s.engine, &o, &e);
        if (status && good[i][0] == '[') continue; /* a machine without IPv6 */
        assert_int_equal(status, CUZK_OK);
        assert_true(strtoul(strrchr(http_server_address(server), ':') + 1, NULL, 10) > 0);
        http_server_stop(server);
    }
    site_close(&s);
}

static void every_path_answers(void **state) {
    (void)state;
    site s = site_open(NULL);
    prove_one(&s, "one/&? <job>", 1);
    expect(&s, "/", "", 200, "Content-Security-Policy: default-src 'none'; script-src 'sha256-");
    expect(&s, "/", "", 200, "<title>cuzk</title>");
    expect(&s, "/status", "", 200, "\"total_completed\":1");
    expect(&s, "/status?x=1", "", 200, "Access-Control-Allow-Origin: *");
    expect(&s, "/metrics", "", 200, "\ncuzk_proofs_completed_total 1\n");
    expect(&s, "/metrics", "", 200, "Content-Type: text/plain; version=0.0.4");
    expect(&s, "/healthz", "", 200, "\r\n\r\nok\n");
    expect(&s, "/trace", "", 200, "\"traceEvents\":[");
    expect(&s, "/trace?job=one/%26%3F%20%3Cjob%3E", "", 200, "\"name\":\"synthesis\"");
    expect(&s, "/trace?job=nobody", "", 404, "nobody");
    expect(&s, "/nothing", "", 404, "/status");
    expect(&s, "/status/", "", 404, "/status");
    expect(&s, "/../etc/passwd", "", 404, "/status");
    site_close(&s);
}

static void only_reading_is_allowed(void **state) {
    (void)state;
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"};
    char request[128];
    site s = site_open(NULL);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(request, sizeof request, "%s /status HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", methods[i]);
        char *answer = ask(&s, request);
        assert_int_equal(status_of(answer), 405);
        assert_non_null(strstr(answer, "Allow: GET, HEAD"));
        free(answer);
    }
    static const char *const paths[] = {"/", "/status", "/metrics", "/events", "/trace"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(request, sizeof request, "HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        char *answer = ask(&s, request);
        assert_int_equal(status_of(answer), 200);
        assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
        free(answer);
    }
    site_close(&s);
}

static void health_says_when_it_drains(void **state) {
    (void)state;
    site s = site_open(NULL);
    engine_drain(s.engine);
    expect(&s, "/healthz", "", 503, "draining");
    expect(&s, "/status", "", 200, "\"draining\":true");
    expect(&s, "/metrics", "", 200, "\ncuzk_draining 1\n");
    site_close(&s);
}

static void a_token_guards_all_but_health(void **state) {
    (void)state;
    site s = site_open("s3cret-token");
    static const char *const paths[] = {"/", "/status", "/metrics", "/events", "/trace"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        expect(&s, paths[i], "", 401, "WWW-Authenticate: Bearer");
        expect(&s, paths[i], "Authorization: Bearer s3cret-toke\r\n", 401, "token");
        expect(&s, paths[i], "Cookie: cuzk_token=s3cret-tokenX\r\n", 401, "token");
    }
    expect(&s, "/?token=wrong", "", 401, "token");
    expect(&s, "/healthz", "", 200, "ok");
    expect(&s, "/status", "Authorization: Bearer s3cret-token\r\n", 200, "uptime_secs");
    expect(&s, "/metrics", "Cookie: a=b; cuzk_token=s3cret-token\r\n", 200, "cuzk_uptime_seconds");
    expect(&s, "/?token=s3cret-token", "", 303,
           "Set-Cookie: cuzk_token=s3cret-token; Path=/; HttpOnly; SameSite=Strict");
    char *answer = get(&s, "/status", "Authorization: Bearer s3cret-token\r\n");
    assert_null(strstr(answer, "Access-Control-Allow-Origin"));
    free(answer);
    cuzk_error e;
    assert_int_equal(http_token_check("a b", &e), CUZK_USAGE);
    assert_int_equal(http_server_renew(s.server, "a b", &e), CUZK_USAGE);
    assert_int_equal(http_token_check("another", &e), CUZK_OK);
    assert_int_equal(http_token_check(NULL, &e), CUZK_OK);
    expect(&s, "/status", "Authorization: Bearer s3cret-token\r\n", 200, "uptime_secs");
    assert_int_equal(http_server_renew(s.server, "another", &e), CUZK_OK);
    expect(&s, "/status", "Authorization: Bearer s3cret-token\r\n", 401, "token");
    expect(&s, "/status", "Authorization: Bearer another\r\n", 200, "uptime_secs");
    site_close(&s);
}

static void bad_options_are_named(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", "[::1:80", "no.such.host.invalid:1"};
    cuzk_error e;
    http_server *server;
    site s = site_open(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        http_options o = {.listen = bad[i]};
        assert_int_equal(http_server_start(&server, s.engine, &o, &e), CUZK_USAGE);
        assert_null(server);
        assert_true(e.expected[0] && (e.found[0] || !bad[i][0]));
    }
    http_options taken = {.listen = http_server_address(s.server)};
    assert_int_equal(http_server_start(&server, s.engine, &taken, &e), CUZK_IO);
    assert_non_null(strstr(e.what, "in use"));
    http_options token = {.listen = "127.0.0.1:0", .token = "a b"};
    assert_int_equal(http_server_start(&server, s.engine, &token, &e), CUZK_USAGE);
    site_close(&s);
}

/* ---- event streams ---- */

/* Reads on until text came; what came is in *seen, which grows. */
static bool hear_until(int fd, char *seen, size_t room, const char *text) {
    size_t n = strlen(seen);
    double end = cpu_monotonic_seconds() + 20;
    while (!strstr(seen, text)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (cpu_monotonic_seconds() > end || n + 1 >= room || poll(&p, 1, 1000) < 0) return false;
        ssize_t got = p.revents ? recv(fd, seen + n, room - 1 - n, 0) : 0;
        if (p.revents && got <= 0) return false;
        n += (size_t)got;
        seen[n] = 0;
    }
    return true;
}

static int listen_to_events(const site *s) {
    int fd = dial(s);
    say(fd, "GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
    return fd;
}

static void events_tell_the_past_and_what_comes(void **state) {
    (void)state;
    enum { ROOM = 4 << 20 };
    char *seen = calloc(1, ROOM);
    assert_non_null(seen);
    site s = site_open(NULL);
    prove_one(&s, "before", 1);
    int fd = listen_to_events(&s);
    assert_true(hear_until(fd, seen, ROOM, "event: tick\ndata: "));
    assert_non_null(strstr(seen, "Content-Type: text/event-stream"));
    assert_non_null(strstr(seen, "event: hello\ndata: {\"now\":"));
    assert_non_null(strstr(seen, "\"job_ended\",1,"));
    prove_one(&s, "after", 2);
    assert_true(hear_until(fd, seen, ROOM, "\"job_ended\",2,"));
    assert_non_null(strstr(seen, "\"synth_start\",2,1,\"synthesis "));
    assert_non_null(strstr(seen, "\"job_id\":\"after\""));
    close(fd);
    site_close(&s);
    free(seen);
}

static void streams_are_bounded_and_their_places_come_back(void **state) {
    (void)state;
    int fds[EVENT_STREAMS];
    char seen[64 << 10];
    site s = site_open(NULL);
    for (int i = 0; i < EVENT_STREAMS; i++) {
        fds[i] = listen_to_events(&s);
        seen[0] = 0;
        assert_true(hear_until(fds[i], seen, sizeof seen, "event: hello"));
    }
    expect(&s, "/events", "", 503, "too many event streams");
    expect(&s, "/status", "", 200, "uptime_secs");
    close(fds[0]);
    double end = cpu_monotonic_seconds() + 20;
    bool again = false;
    while (!again && cpu_monotonic_seconds() < end) { /* noticed when something is sent there */
        int fd = listen_to_events(&s);
        seen[0] = 0;
        again = hear_until(fd, seen, sizeof seen, "\r\n\r\n") && status_of(seen) == 200;
        close(fd);
    }
    assert_true(again);
    for (int i = 1; i < EVENT_STREAMS; i++) close(fds[i]);
    site_close(&s);
}

static void stopping_ends_streams(void **state) {
    (void)state;
    char seen[64 << 10] = "";
    site s = site_open(NULL);
    int fd = listen_to_events(&s), quiet = dial(&s);
    assert_true(hear_until(fd, seen, sizeof seen, "event: tick"));
    double start = cpu_monotonic_seconds();
    http_server_stop(s.server);
    assert_true(cpu_monotonic_seconds() - start < 3);
    free(hear(fd, 8 << 20)); /* it ends */
    close(fd);
    close(quiet);
    cuzk_engine_stop(s.engine, 0);
}

/* ---- slow and hostile clients ---- */

static void half_a_request_does_not_hold_the_server(void **state) {
    (void)state;
    enum { SLOW = 40 };
    int fds[SLOW];
    site s = site_open(NULL);
    for (int i = 0; i < SLOW; i++) {
        fds[i] = dial(&s);
        say(fds[i], "GET /status HTTP/1.1\r\nX-Slow: ");
    }
    /* A byte now and then keeps libmicrohttpd's timeout from passing, but not ours. */
    for (int second = 0; second < 12; second++) {
        for (int i = 0; i < SLOW; i++) (void)send(fds[i], "x", 1, MSG_NOSIGNAL);
        if (second == 1) expect(&s, "/healthz", "", 200, "ok");
        sleep(1);
    }
    for (int i = 0; i < SLOW; i++) {
        char rest[16];
        ssize_t got = recv(fds[i], rest, sizeof rest, MSG_DONTWAIT);
        assert_true(got == 0 || (got < 0 && errno == ECONNRESET)); /* it was ended, not kept */
        close(fds[i]);
    }
    expect(&s, "/healthz", "", 200, "ok");
    site_close(&s);
}

static void more_connections_than_places_are_closed(void **state) {
    (void)state;
    enum { MANY = 150 };
    int fds[MANY];
    site s = site_open(NULL);
    for (int i = 0; i < MANY; i++) fds[i] = dial(&s);
    for (int i = 0; i < MANY; i++) close(fds[i]);
    char *answer = NULL;
    for (int i = 0; i < 100 && (!answer || status_of(answer) != 200); i++) {
        free(answer);
        usleep(50000);
        int fd = dial(&s);
        (void)send(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 34, MSG_NOSIGNAL);
        answer = hear(fd, 4096);
        close(fd);
    }
    assert_int_equal(status_of(answer), 200);
    free(answer);
    site_close(&s);
}

static void garbage_is_refused(void **state) {
    (void)state;
    enum { BIG = 200 << 10 };
    static const struct {
        const char *request;
        int status; /* 0: no answer is due, and none is waited for */
    } bad[] = {{"\r\n\r\n", 0},
               {"\x16\x03\x01\x02\x01\xfc\x03\x03", 0},
               {"GET", 0},
               {"GET /status\r\n\r\n", 400},
               {"GET /%zz%00%ff HTTP/1.1\r\nHost: x\r\n\r\n", 404},
               {"GET /trace?job=%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n", 404},
               {"GET /status HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
               {"GET /status HTTP/9.9\r\nHost: x\r\n\r\n", 505}};
    site s = site_open(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = dial(&s);
        say(fd, bad[i].request);
        char *answer = bad[i].status ? hear(fd, 1 << 20) : NULL;
        if (answer && status_of(answer) != bad[i].status) fail_msg("request %zu: %.300s", i, answer);
        free(answer);
        close(fd);
    }
    char *big = malloc(BIG);
    assert_non_null(big);
    memset(big, 'a', BIG);
    memcpy(big, "GET /status HTTP/1.1\r\nX: ", 25);
    int fd = dial(&s);
    (void)!send(fd, big, BIG, MSG_NOSIGNAL);
    char *answer = hear(fd, 1 << 20);
    assert_true(!answer[0] || status_of(answer) == 431); /* a reset may overtake the answer */
    free(answer);
    free(big);
    close(fd);
    expect(&s, "/healthz", "", 200, "ok");
    site_close(&s);
}

static char folder[256];

static int open_folder(void **state) {
    (void)state;
    case_folder_make(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    case_folder_remove(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_both_families),
        cmocka_unit_test(every_path_answers),
        cmocka_unit_test(only_reading_is_allowed),
        cmocka_unit_test(health_says_when_it_drains),
        cmocka_unit_test(a_token_guards_all_but_health),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(events_tell_the_past_and_what_comes),
        cmocka_unit_test(streams_are_bounded_and_their_places_come_back),
        cmocka_unit_test(stopping_ends_streams),
        cmocka_unit_test(half_a_request_does_not_hold_the_server),
        cmocka_unit_test(more_connections_than_places_are_closed),
        cmocka_unit_test(garbage_is_refused),
    };
    return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
