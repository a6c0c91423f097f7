/* Settings: the sample is the defaults, bad ones are refused where they stand, old ones are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "daemon/config.h"

static cuzk_error err;

static cuzk_status read_text(config *c, const char *text) {
    memset(&err, 0, sizeof err);
    return config_read(c, "cuzk.toml", text, strlen(text), NULL, &err);
}

static void must_read(config *c, const char *text) {
    if (read_text(c, text) != CUZK_OK) fail_msg("%s: %s (%s)", err.where, err.what, err.found);
}

static void refused(const char *text, cuzk_status status, const char *what, const char *where) {
    config c;
    cuzk_status s = read_text(&c, text);
    config_close(&c);
    if (s != status) fail_msg("%s: %s, not %s", text, cuzk_status_name(s), cuzk_status_name(status));
    if (!strstr(err.what, what)) fail_msg("%s: what is \"%s\"", text, err.what);
    if (!strstr(err.where, where)) fail_msg("%s: where is \"%s\"", text, err.where);
}

typedef struct text {
    char data[1 << 15];
    size_t n;
} text;

static void append(void *user, const char *part) {
    text *t = user;
    size_t n = strlen(part);
    assert_true(t->n + n < sizeof t->data);
    memcpy(t->data + t->n, part, n + 1);
    t->n += n;
}

static void no_difference(void *user, const char *name, bool live) {
    (void)user, (void)live;
    fail_msg("%s differs", name);
}

static void sample(void **state) {
    (void)state;
    config defaults, commented, plain;
    text t = {.n = 0};
    must_read(&defaults, "");
    assert_int_equal(defaults.n_warnings, 0);
    config_print(append, &t);
    must_read(&commented, t.data);
    config_differences(&defaults, &commented, no_difference, NULL);
    /* With every # before a setting removed it says the same. */
    for (char *at = t.data; (at = strstr(at, "\n#")) != NULL; at += 2)
        if (at[2] != ' ' && at[2] != '\n') at[1] = ' ';
    unsigned settings = 0;
    for (char *at = t.data; (at = strstr(at, "\n ")) != NULL; at++) settings++;
    assert_true(settings > 30);
    must_read(&plain, t.data);
    config_differences(&defaults, &plain, no_difference, NULL);
    for (char *line = strtok(t.data, "\n"); line; line = strtok(NULL, "\n")) assert_true(strlen(line) <= 120);
    config_close(&plain);
    config_close(&commented);
    config_close(&defaults);
}

static void values(void **state) {
    (void)state;
    config c;
    must_read(&c, "[daemon]\nlisten = [\"unix:///run/a.sock\", \"127.0.0.1:9820\"]\nsocket_mode = \"0600\"\n"
                  "request_timeout = 30\ndrain_timeout = \"1d\"\n"
                  "[memory]\ntotal_budget = \"50GiB\"\ncritical_share = 0\neviction_min_idle = \"90s\"\n"
                  "[gpus]\ndevices = [0, 3]\n[srs]\npreload = [\"porep-32g\", \"winning-post-2kib\"]\n"
                  "[logging]\nlevel = \"debug\"\nformat = \"json\"\n");
    assert_int_equal(c.listen.n, 2);
    assert_string_equal(c.listen.list[1], "127.0.0.1:9820");
    assert_int_equal(c.socket_mode, 0600);
    assert_int_equal(c.request_timeout, 30);
    assert_int_equal(c.drain_timeout, 86400);
    assert_int_equal(c.eviction_min_idle, 90);
    assert_string_equal(c.preload.list[0], "porep-32gib"); /* the older daemon's name */
    assert_int_equal(config_log_level(&c), LOG_DEBUG);
    assert_int_equal(config_log_form(&c), LOG_JSON);
    cuzk_engine_options o;
    config_engine_options(&c, &o);
    assert_true(o.memory_bytes == (uint64_t)50 << 30);
    assert_int_equal(o.critical_bytes, 0);
    assert_string_equal(o.devices, "cuda:0,cuda:3");
    assert_int_equal(o.policy, CUZK_PREFER_GPU);
    assert_int_equal(o.attempts, 3);
    config_close(&c);

    must_read(&c, "memory.safety_margin = 0\ngpus.policy = \"cpu\"\n");
    config_engine_options(&c, &o);
    assert_int_equal(o.memory_bytes, 0);
    assert_int_equal(o.memory_margin_bytes, 1); /* none, which is not the default */
    assert_true(o.critical_bytes == UINT64_MAX);
    assert_string_equal(o.devices, "cpu");
    config_close(&c);
}

static void bad_values(void **state) {
    (void)state;
    static const char *const threads[] = {"-1", "\"abc\"", "1000000000", "\"\"", "1.5", "true", "[1]"};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        char doc[80];
        snprintf(doc, sizeof doc, "# first\n[synthesis]\nthreads = %s\n", threads[i]);
        refused(doc, CUZK_MALFORMED, "synthesis.threads", "cuzk.toml: line 3, column 1");
        assert_non_null(strstr(err.expected, "0 to 1024"));
        assert_true(err.found[0]);
    }
    static const char *const sizes[] = {"\"50GB\"", "\"50 GiB\"", "\"-1GiB\"", "\"GiB\"",
                                        "\"\"",     "-5",         "1e9",       "\"99999999999999999999GiB\"",
                                        "\"1KiB\"", "\"auto \""};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char doc[80];
        snprintf(doc, sizeof doc, "memory.total_budget = %s", sizes[i]);
        refused(doc, CUZK_MALFORMED, "memory.total_budget", "line 1");
        assert_non_null(strstr(err.hint, "GiB"));
    }
    static const char *const times[] = {"\"5\\u0000m\"",      "\"m\"", "\"5 m\"", "\"5min\"",
                                        "\"1.5h\"",           "-1",    "\"0s\"",  "\"999999999999999999999d\"",
                                        "\"99999999999999d\""};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char doc[80];
        snprintf(doc, sizeof doc, "memory.eviction_min_idle = %s", times[i]);
        refused(doc, CUZK_MALFORMED, "memory.eviction_min_idle", "line 1");
    }
    refused("gpus.policy = \"gpu\"", CUZK_MALFORMED, "gpus.policy", "line 1");
    refused("gpus.devices = [\"a\"]", CUZK_MALFORMED, "gpus.devices", "line 1");
    refused("gpus.devices = [0, 0]", CUZK_MALFORMED, "gpus.devices", "line 1");
    refused("gpus.devices = 0", CUZK_MALFORMED, "gpus.devices", "line 1");
    refused("daemon.socket_mode = 660", CUZK_MALFORMED, "daemon.socket_mode", "line 1");
    refused("daemon.socket_mode = \"0888\"", CUZK_MALFORMED, "daemon.socket_mode", "line 1");
    refused("keys.development = 1", CUZK_MALFORMED, "keys.development", "line 1");
    refused("store.path = 1979-05-27", CUZK_MALFORMED, "store.path", "line 1");
    refused("circuits.enabled = [\"porep-33gib\"]", CUZK_MALFORMED, "circuits.enabled", "line 1");
    assert_non_null(strstr(err.hint, "porep-32gib"));
    refused("daemon.listen = [[\"x\"]]", CUZK_MALFORMED, "daemon.listen", "line 1");
}

static void not_toml(void **state) {
    (void)state;
    refused("a = 1\nb = \n", CUZK_MALFORMED, "not TOML", "line 2");
    refused("[daemon]\nlisten = \"a\"\nlisten = \"b\"\n", CUZK_MALFORMED, "not TOML", "line 3");
    refused("x = \"\xff\"", CUZK_MALFORMED, "not TOML", "line 1");
    char deep[4096] = "x = ";
    memset(deep + 4, '[', 2000);
    refused(deep, CUZK_MALFORMED, "not TOML", "line 1");
    /* As deep by the parts of one name: walking it would take all of the stack. */
    static char names[400002];
    for (size_t i = 0; i < 400000; i += 2) memcpy(names + i, "a.", 2);
    names[0] = '[';
    refused(names, CUZK_MALFORMED, "not TOML", "line 1, column 18");
    assert_non_null(strstr(err.found, "too many parts"));
    memcpy(names + 399999, "=1", 2);
    names[0] = 'a';
    refused(names, CUZK_MALFORMED, "not TOML", "line 1");
}

static void unknown(void **state) {
    (void)state;
    refused("[daemon]\nl\xd2\x92 = 1", CUZK_MALFORMED, "the settings are not TOML", "line 2, column 2");
    refused("# \xd2\x92\n[daemon]\nlisten = [\"\"\"\n\xd2\x92\"\"\"\"\"]\nl\xd2\x92 = 1", CUZK_MALFORMED,
            "the settings are not TOML", "line 5, column 2");
    refused("[daemon]\nlistn = \"a\"", CUZK_MALFORMED, "no such setting: daemon.listn", "line 2, column 1");
    assert_non_null(strstr(err.hint, "daemon.listen"));
    refused("partition_workers = 2", CUZK_MALFORMED, "no such setting", "line 1");
    assert_non_null(strstr(err.hint, "synthesis.partition_workers"));
    refused("[zebra]\nx = 1", CUZK_MALFORMED, "zebra.x", "line 2");
    refused("[daemon.listen]\nx = 1", CUZK_MALFORMED, "daemon.listen.x", "line 2");
    /* Tables that hold nothing are no values, and only sections may be there. */
    refused("[daemon.listen]\n", CUZK_MALFORMED, "daemon.listen", "line 1");
    refused("memory.total_budget = {}", CUZK_MALFORMED, "memory.total_budget", "line 1");
    refused("[demon]\n", CUZK_MALFORMED, "no such setting: demon", "line 1");
    /* The first in the document, whatever its name. */
    refused("[zebra]\nx = 1\n[aardvark]\nx = 1", CUZK_MALFORMED, "zebra.x", "line 2");
}

static void together(void **state) {
    (void)state;
    refused("daemon.tls_cert = \"a\"", CUZK_MALFORMED, "tls_key", "cuzk.toml");
    refused("daemon.tls_client_ca = \"a\"", CUZK_MALFORMED, "certificate", "cuzk.toml");
    refused("daemon.listen = []", CUZK_MALFORMED, "daemon.listen", "cuzk.toml");
    refused("daemon.listen = \"0.0.0.0:9820\"", CUZK_MALFORMED, "no TLS", "cuzk.toml");
    assert_non_null(strstr(err.hint, "allow_plain_tcp"));
    refused("daemon.listen = \"localhost\"", CUZK_MALFORMED, "", "daemon.listen");
    refused("daemon.status_listen = \"unix:///x\"", CUZK_MALFORMED, "status_listen", "cuzk.toml");
    refused("daemon.max_message = \"1GiB\"", CUZK_MALFORMED, "request_limit", "cuzk.toml");
    refused("memory.total_budget = \"1GiB\"\nmemory.critical_share = \"2GiB\"", CUZK_MALFORMED, "critical_share",
            "cuzk.toml");
    config c;
    must_read(&c, "daemon.listen = \"0.0.0.0:9820\"\ndaemon.allow_plain_tcp = true");
    config_close(&c);
}

static void older_daemon(void **state) {
    (void)state;
    config c;
    must_read(&c, "[daemon]\nlisten = \"unix:///run/curio/cuzk.sock\"\n[memory]\ntotal_budget = \"auto\"\n"
                  "safety_margin = \"5GiB\"\neviction_min_idle = \"5m\"\n[gpus]\ndevices = []\ngpu_threads = 32\n"
                  "gpu_workers_per_device = 2\n[scheduler]\nmax_batch_size = 1\nmax_batch_wait_ms = 10000\n"
                  "sort_by_type = true\n[synthesis]\nthreads = 0\n[pipeline]\nenabled = true\n"
                  "synthesis_lookahead = 1\nsynthesis_concurrency = 1\nmax_parallel_synthesis = 18\nslot_size = 0\n"
                  "max_gpu_queue_depth = 8\n[srs]\nparam_cache = \"/data/zk/params\"\npreload = [\"porep-32g\"]\n"
                  "[logging]\nlevel = \"info\"\n");
    assert_int_equal(c.n_warnings, 10);
    assert_string_equal(c.warnings[0].text, "gpus.gpu_threads is ignored: one pool serves all that computes on "
                                            "processors: synthesis.threads is its size");
    assert_int_equal(c.warnings[0].line, 9);
    assert_int_equal(c.partition_workers, 18);
    assert_int_equal(c.queue_depth, 8);
    assert_string_equal(c.param_cache, "/data/zk/params");
    config_close(&c);
    must_read(&c, "logging.level = \"trace\"");
    assert_int_equal(config_log_level(&c), LOG_DEBUG);
    assert_int_equal(c.n_warnings, 1);
    config_close(&c);
    /* The new name goes before the old one. */
    must_read(&c, "synthesis.partition_workers = 4\npipeline.max_parallel_synthesis = 18\n");
    assert_int_equal(c.partition_workers, 4);
    assert_int_equal(c.n_warnings, 1);
    config_close(&c);
    must_read(&c, "pipeline.max_parallel_synthesis = 18\nsynthesis.partition_workers = 4\n");
    assert_int_equal(c.partition_workers, 4);
    config_close(&c);
    refused("pipeline.max_parallel_synthesis = \"x\"", CUZK_MALFORMED, "partition_workers", "line 1");
}

typedef struct changes {
    unsigned live, fixed;
    char last[64];
} changes;

static void note(void *user, const char *name, bool live) {
    changes *c = user;
    if (live)
        c->live++;
    else
        c->fixed++;
    snprintf(c->last, sizeof c->last, "%s", name);
}

static void command_line(void **state) {
    (void)state;
    config c;
    const char *const addresses[] = {"127.0.0.1:1"};
    config_overrides over = {.listen = {addresses, 1}, .log_level = "warn"};
    static const char doc[] = "daemon.listen = \"unix:///a\"\nlogging.level = \"debug\"";
    assert_int_equal(config_read(&c, "x", doc, strlen(doc), &over, &err), CUZK_OK);
    assert_int_equal(c.listen.n, 1);
    assert_string_equal(c.listen.list[0], "127.0.0.1:1");
    assert_int_equal(config_log_level(&c), LOG_WARN);
    config_close(&c);
    over.log_level = "loud";
    assert_int_equal(config_read(&c, "x", doc, strlen(doc), &over, &err), CUZK_MALFORMED);
    config_close(&c);
    over = (config_overrides){.listen = {(const char *const[]){"0.0.0.0:1"}, 1}};
    assert_int_equal(config_read(&c, "x", doc, strlen(doc), &over, &err), CUZK_MALFORMED); /* plain, for everyone */
    config_close(&c);
}

static void differences(void **state) {
    (void)state;
    config a, b;
    changes seen = {0};
    must_read(&a, "");
    must_read(&b, "memory.total_budget = \"1GiB\"\nlogging.level = \"warn\"\nstore.path = \"\"\ngpus.devices = [1]");
    config_differences(&a, &b, note, &seen);
    assert_int_equal(seen.live, 2);
    assert_int_equal(seen.fixed, 2);
    config_close(&a);
    config_close(&b);
}

static void files(void **state) {
    (void)state;
    config c;
    assert_int_equal(config_open(&c, "/nonexistent/cuzk.toml", NULL, &err), CUZK_IO);
    config_close(&c);
    char name[] = "/tmp/cuzk-test-config-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fputs("[logging]\nlevel = \"warn\"\n", f);
    fclose(f);
    assert_int_equal(config_open(&c, name, NULL, &err), CUZK_OK);
    assert_string_equal(c.file, name);
    assert_int_equal(config_log_level(&c), LOG_WARN);
    config_close(&c);
    f = fopen(name, "w");
    for (unsigned i = 0; i < CONFIG_MAX_BYTES / 8 + 1; i++) fputs("#######\n", f);
    fclose(f);
    assert_int_equal(config_open(&c, name, NULL, &err), CUZK_MALFORMED);
    config_close(&c);
    remove(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sample),       cmocka_unit_test(values),
                                       cmocka_unit_test(bad_values),   cmocka_unit_test(not_toml),
                                       cmocka_unit_test(unknown),      cmocka_unit_test(together),
                                       cmocka_unit_test(older_daemon), cmocka_unit_test(command_line),
                                       cmocka_unit_test(differences),  cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
