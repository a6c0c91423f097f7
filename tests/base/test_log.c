/* Log lines: forms, levels, one write a line, foreign bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"

static FILE *caught;
static int real_stderr;

static void catch_stderr(void) {
    caught = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
}

/* What was written since catch_stderr; free with free. */
static char *release_stderr(void) {
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    long n = lseek(fileno(caught), 0, SEEK_END);
    char *text = calloc(1, (size_t)n + 1);
    lseek(fileno(caught), 0, SEEK_SET);
    if (read(fileno(caught), text, (size_t)n) != n) abort();
    fclose(caught);
    return text;
}

static void text_lines_and_levels(void **state) {
    (void)state;
    log_setup(LOG_INFO, LOG_TEXT);
    catch_stderr();
    log_error("e %d", 1);
    log_warn("w");
    log_info("i\n");
    log_debug("hidden");
    char *text = release_stderr();
    assert_string_equal(text, "cuzk: error: e 1\ncuzk: warning: w\ncuzk: i\n");
    free(text);
    log_setup(LOG_ERROR, LOG_TEXT);
    catch_stderr();
    log_warn("hidden");
    text = release_stderr();
    assert_string_equal(text, "");
    free(text);
}

static void json_lines_are_json(void **state) {
    (void)state;
    log_setup(LOG_DEBUG, LOG_JSON);
    catch_stderr();
    log_debug("quote \" and \x1b[2J and \xff");
    char *text = release_stderr();
    size_t len = strlen(text);
    assert_int_equal(text[len - 1], '\n');
    cuzk_error e;
    arena *a = arena_create(BUFFER_OTHER, 0, &e);
    json_node *root;
    assert_int_equal(json_tree(&root, a, "line", text, len, 1000, &e), CUZK_OK);
    assert_string_equal(json_member(root, "level")->text, "debug");
    assert_string_equal(json_member(root, "message")->text, "quote \" and ?[2J and ?");
    assert_int_equal(json_member(root, "time")->len, 24);
    arena_destroy(a);
    free(text);
}

static void long_messages_are_cut(void **state) {
    (void)state;
    char lengthy[5000];
    memset(lengthy, '"', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    for (int form = 0; form < 2; form++) {
        log_setup(LOG_INFO, form ? LOG_JSON : LOG_TEXT);
        catch_stderr();
        log_info("%s", lengthy);
        char *text = release_stderr();
        assert_in_range(strlen(text), 2000, 4200);
        assert_int_equal(text[strlen(text) - 1], '\n');
        free(text);
    }
}

static void *log_often(void *arg) {
    for (int i = 0; i < 200; i++) log_info("%s", (const char *)arg);
    return NULL;
}

static void lines_do_not_mix(void **state) {
    (void)state;
    log_setup(LOG_INFO, LOG_TEXT);
    catch_stderr();
    pthread_t t[4];
    static char lines[4][100];
    for (size_t i = 0; i < 4; i++) {
        memset(lines[i], (int)('a' + i), 99);
        assert_int_equal(pthread_create(&t[i], NULL, log_often, lines[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    char *text = release_stderr(), *save = NULL;
    size_t count = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), count++) {
        assert_int_equal(strlen(line), 6 + 99);
        assert_int_equal(strspn(line + 6, (char[]){line[6], 0}), 99);
    }
    assert_int_equal(count, 800);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_and_levels),
        cmocka_unit_test(json_lines_are_json),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(lines_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
