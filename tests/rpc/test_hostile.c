/* The server with clients that announce, delay, stop half-way or send nonsense: what they may hold, and that others go
 * on meanwhile. */
#include "rpc/rpc_case.h"

#include <pthread.h>
#include <signal.h>
#include "base/random.h"
#include "ref/sanitized.h"
#include "rpc/raw_client.h"

#define MIB ((size_t)1 << 20)

static uint64_t live(void) {
    return buffer_class_stats(BUFFER_REQUEST).live_bytes;
}

/* The head of a message that says it has n bytes. */
static void head(uint8_t out[5], uint64_t n) {
    out[0] = 0;
    for (int i = 1; i < 5; i++) out[i] = (uint8_t)(n >> (32 - 8 * i));
}

static void test_four_gib_announced(void **state) {
    (void)state;
    rpc_case c;
    rpc_case_start(&c, 512 * MIB, NULL);
    uint64_t before = cpu_rss_bytes();
    uint8_t *data = calloc(1, 8 * MIB);
    for (int i = 0; i < 4; i++) {
        raw_client raw;
        head(data, 0xffffffff);
        raw_open(&raw, c.socket, i % 2 ? "/" PROVING "Prove" : "/" PROVING "SubmitProof", data, 8 * MIB, false);
        raw_run(&raw, 10, SIZE_MAX);
        assert_int_equal(raw.status, 8); /* RESOURCE_EXHAUSTED with both sizes */
        assert_non_null(strstr(raw.message, "4294967295"));
        assert_non_null(strstr(raw.message, "268435456"));
        raw_close_client(&raw);
    }
    free(data);
    assert_int_equal(live(), 0);
    assert_true(cpu_rss_bytes() < before + 32 * MIB);
    rpc_case_stop(&c);
}

/* One client holds nearly all room and sends half; small jobs pass, a large one waits unread until the first is cut
 * off, and the sum of what is held never passes the room. */
static void test_half_sent(void **state) {
    (void)state;
    enum { LARGE = 3 << 20 };
    rpc_case c;
    cuzk_error err;
    raw_client slow, waits;
    size_t n;
    const double patience = TEST_SANITIZED ? 10 : 3;
    const rpc_options o = {.request_timeout = patience};
    rpc_case_start(&c, 8 * MIB, &o);
    uint8_t *half = calloc(1, LARGE);
    head(half, 2 * LARGE + 800000);
    raw_open(&slow, c.socket, "/" PROVING "SubmitProof", half, LARGE / 2, false);
    raw_run(&slow, 0.2, SIZE_MAX);
    assert_true(live() >= 2 * LARGE);
    char *request = malloc(LARGE);
    int at = sprintf(request, "{\"start\": 7, \"pad\": \"");
    memset(request + at, 'x', (size_t)LARGE - 100 - (size_t)at);
    strcpy(request + LARGE - 100, "\"}");
    uint8_t *message = rpc_case_prove_message(SNAP, "large", request, false, &n), *framed = malloc(n + 5);
    head(framed, n);
    memcpy(framed + 5, message, n);
    double start = cpu_monotonic_seconds();
    raw_open(&waits, c.socket, "/" PROVING "Prove", framed, n + 5, true);
    raw_run(&waits, 0.2, 1);
    assert_true(live() < 8 * MIB && waits.sent < 200000); /* held back by its window */
    /* Small ones meanwhile. */
    rpc_client *client = rpc_case_client(&c);
    char *small = toy_request(1024, 1, 3, -1, 0);
    for (int i = 0; i < 3; i++) {
        Cuzk__V1__ProveResponse *p = rpc_case_prove(client, WINNING, "", small);
        assert_true(rpc_case_right(p->result, 1, 3));
        cuzk__v1__prove_response__free_unpacked(p, NULL);
    }
    assert_true(cpu_monotonic_seconds() - start < patience - 0.5); /* before it was cut off */
    raw_run(&slow, patience + 5, SIZE_MAX);
    assert_int_equal(slow.status, 4); /* DEADLINE_EXCEEDED */
    assert_non_null(strstr(slow.message, "in time"));
    raw_run(&waits, 20, SIZE_MAX);
    assert_int_equal(waits.status, 0);
    Cuzk__V1__ProveResponse *p = cuzk__v1__prove_response__unpack(NULL, waits.reply_n - 5, waits.reply + 5);
    assert_non_null(p);
    assert_true(rpc_case_right(p->result, 1, 7));
    cuzk__v1__prove_response__free_unpacked(p, NULL);
    if (rpc_case_submit(client, SNAP, "after", small, NULL, &err)) rpc_case_fault("submit", &err);
    rpc_client_close(client);
    raw_close_client(&slow);
    raw_close_client(&waits);
    free(half);
    free(message);
    free(framed);
    free(request);
    free(small);
    rpc_case_stop(&c);
    assert_int_equal(live(), 0);
}

/* Never says how long its message is; says less than it sends; ends too early; is compressed. */
static void test_wrong_frames(void **state) {
    (void)state;
    rpc_case c;
    const rpc_options o = {.request_timeout = 0.5};
    static const struct {
        uint8_t data[8];
        size_t n;
        bool finish;
        int status;
    } cases[] = {
        {{0, 0, 0}, 3, false, 4},            /* cut off */
        {{0, 0, 0}, 3, true, 3},             /* ended within the head */
        {{0}, 0, true, 3},                   /* nothing */
        {{0, 0, 0, 0, 9, 1}, 6, true, 3},    /* short */
        {{0, 0, 0, 0, 1, 1, 2}, 7, true, 3}, /* two messages */
        {{1, 0, 0, 0, 1, 1}, 6, true, 12},   /* compressed */
        {{0, 0, 0, 0, 1, 0xff}, 6, true, 3}, /* no protobuf */
    };
    rpc_case_start(&c, 0, &o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_client raw;
        raw_open(&raw, c.socket, "/" PROVING "CancelProof", cases[i].data, cases[i].n, cases[i].finish);
        raw_run(&raw, 5, SIZE_MAX);
        if (raw.status != cases[i].status) fail_msg("case %zu: status %d, %s", i, raw.status, raw.message);
        assert_true(raw.message[0]);
        raw_close_client(&raw);
    }
    rpc_case_stop(&c);
}

/* Bytes that are no HTTP/2, and connections that stay silent: the server's places go to those who use them. */
static void test_noise_and_silence(void **state) {
    (void)state;
    enum { SILENT = 20 };
    rpc_case c;
    cuzk_error err;
    net_address a;
    int fd[SILENT];
    const rpc_options o = {.max_connections = 8};
    rpc_case_start(&c, 0, &o);
    if (net_parse(&a, c.socket, false, &err)) rpc_case_fault("address", &err);
    uint8_t noise[4096];
    for (int i = 0; i < 20; i++) {
        if (net_connect(&fd[0], &a, 5, &err)) rpc_case_fault("connect", &err);
        assert_int_equal(random_bytes(noise, sizeof noise, &err), CUZK_OK);
        if (send(fd[0], noise, sizeof noise, MSG_NOSIGNAL) < 0) print_message("closed at once\n");
        close(fd[0]);
    }
    for (int i = 0; i < SILENT; i++)
        if (net_connect(&fd[i], &a, 5, &err)) rpc_case_fault("connect", &err);
    usleep(100000);
    rpc_client *client = rpc_case_client(&c);
    char *small = toy_request(1024, 1, 3, -1, 0);
    Cuzk__V1__ProveResponse *p = rpc_case_prove(client, SNAP, "a", small);
    assert_true(rpc_case_right(p->result, 1, 3));
    cuzk__v1__prove_response__free_unpacked(p, NULL);
    for (int i = 0; i < SILENT; i++) close(fd[i]);
    free(small);
    rpc_client_close(client);
    rpc_case_stop(&c);
}

static void test_too_many_calls(void **state) {
    (void)state;
    enum { CALLS = 6 };
    rpc_case c;
    raw_client raw[CALLS];
    const rpc_options o = {.max_calls = 4};
    rpc_case_start(&c, 0, &o);
    for (int i = 0; i < CALLS; i++) {
        raw_open(&raw[i], c.socket, "/" PROVING "SubmitProof", "\0", 1, false);
        raw_run(&raw[i], 0.2, SIZE_MAX);
        assert_int_equal(raw[i].status, i < 4 ? -1 : 8);
    }
    for (int i = 0; i < CALLS; i++) raw_close_client(&raw[i]);
    rpc_case_stop(&c);
}

/* Asks for documents and takes nothing of them: the stream is ended. */
static void test_answer_not_taken(void **state) {
    (void)state;
    rpc_case c;
    raw_client raw;
    const rpc_options o = {.request_timeout = 0.5};
    rpc_case_start(&c, 0, &o);
    raw_open(&raw, c.socket, "/" INSPECTION "GetStatusDocument", "\0\0\0\0\0", 5, true);
    const nghttp2_settings_entry shut = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
    nghttp2_submit_settings(raw.session, NGHTTP2_FLAG_NONE, &shut, 1);
    raw_run(&raw, 5, SIZE_MAX);
    if (!raw.closed || raw.reply_n || raw.status != -1)
        fail_msg("closed %d, %zu bytes, status %d", raw.closed, raw.reply_n, raw.status);
    raw_close_client(&raw);
    rpc_case_stop(&c);
}

static uint64_t peak_of(rpc_client *client, const void *message, size_t n, bool is_job) {
    cuzk_error err;
    uint8_t *reply = NULL;
    size_t reply_n;
    /* The last kind of proof counts: 9 makes the job none. */
    const cuzk_bytes parts[] = {{message, n}, {"\x10\x09", is_job ? 0 : 2}};
    buffer_reset_peaks();
    cuzk_status s = rpc_client_call(client, PROVING "SubmitProof", parts, 2, 60, &reply, &reply_n, &err);
    assert_int_equal(s, is_job ? CUZK_OK : CUZK_USAGE);
    free(reply);
    return buffer_class_stats(BUFFER_REQUEST).peak_bytes;
}

/* 51 MB come in as one copy. With a store in memory the engine keeps a second, and may read a third for its parser
 * before the first is gone. */
static void test_memory_of_one_large_request(void **state) {
    (void)state;
    rpc_case c;
    size_t n, size = 51000000;
    rpc_case_start(&c, 512 * MIB, NULL);
    rpc_client *client = rpc_case_client(&c);
    char *request = malloc(size);
    int at = sprintf(request, "{\"start\": 7, \"pad\": \"");
    memset(request + at, 'x', size - 3 - (size_t)at);
    strcpy(request + size - 3, "\"}");
    uint8_t *message = rpc_case_job(POREP, "large", request, &n);
    free(request);
    uint64_t alone = peak_of(client, message, n, false), kept = peak_of(client, message, n, true);
    assert_true(alone >= n && alone < n + MIB);
    print_message("peak of class request: %.2f copies received, %.2f with the engine's\n", (double)alone / (double)n,
                  (double)kept / (double)n);
    assert_true(kept < 3 * n + 4 * MIB);
    free(message);
    rpc_client_close(client);
    rpc_case_stop(&c);
    assert_int_equal(live(), 0);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_gib_announced),
        cmocka_unit_test(test_half_sent),
        cmocka_unit_test(test_wrong_frames),
        cmocka_unit_test(test_noise_and_silence),
        cmocka_unit_test(test_too_many_calls),
        cmocka_unit_test(test_answer_not_taken),
        cmocka_unit_test(test_memory_of_one_large_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
