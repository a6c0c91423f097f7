/* The status list and the error object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cuzk/error.h"

static void every_status_has_all_its_columns(void **state) {
    (void)state;
    assert_string_equal(cuzk_status_name(CUZK_OK), "CUZK_OK");
    assert_string_equal(cuzk_status_name(CUZK_KEY_DAMAGED), "CUZK_KEY_DAMAGED");
    assert_string_equal(cuzk_status_text(CUZK_CANCELLED), "cancelled");
    assert_int_equal(cuzk_status_exit(CUZK_FALSE), 1);
    assert_int_equal(cuzk_status_exit(CUZK_USAGE), 2);
    assert_int_equal(cuzk_status_exit(CUZK_MALFORMED), 3);
    assert_int_equal(cuzk_status_exit(CUZK_DISK), 4);
    assert_int_equal(cuzk_status_exit(CUZK_DEVICE), 5);
    assert_int_equal(cuzk_status_exit(CUZK_REFUSED), 6);
    assert_int_equal(cuzk_status_exit(CUZK_INTERNAL), 70);
    assert_int_equal(cuzk_status_grpc(CUZK_MEMORY), 8);
    assert_int_equal(cuzk_status_http(CUZK_IO), 404);
    assert_true(cuzk_status_retryable(CUZK_DEVICE));
    assert_false(cuzk_status_retryable(CUZK_FOREIGN));
    assert_true(cuzk_status_retryable(CUZK_MEMORY));
    assert_false(cuzk_status_retryable(CUZK_TOO_LARGE));
    assert_int_equal(cuzk_status_exit(CUZK_TOO_LARGE), 4);
    /* Codes are a promise: they are dense from 0 and never change. */
    assert_int_equal(CUZK_INTERNAL, 15);
    assert_int_equal(CUZK_TOO_LARGE, 16);
    for (int s = 0; s <= CUZK_STATUS_LAST; s++)
        assert_string_not_equal(cuzk_status_name((cuzk_status)s), "CUZK_UNKNOWN");
}

static void foreign_codes_are_unknown(void **state) {
    (void)state;
    for (int s = CUZK_STATUS_LAST + 1; s < 1000; s += 7) {
        assert_string_equal(cuzk_status_name((cuzk_status)s), "CUZK_UNKNOWN");
        assert_int_equal(cuzk_status_exit((cuzk_status)s), 70);
    }
    assert_string_equal(cuzk_status_name((cuzk_status)-1), "CUZK_UNKNOWN");
}

static void fields_are_set_and_cut(void **state) {
    (void)state;
    cuzk_error e;
    memset(&e, 0xff, sizeof e);
    assert_int_equal(cuzk_fail(&e, CUZK_IO, "no %s", "file"), CUZK_IO);
    assert_string_equal(e.what, "no file");
    assert_string_equal(e.where, "");
    assert_string_equal(e.expected, "");
    assert_string_equal(e.found, "");
    assert_string_equal(e.hint, "");
    assert_int_equal(cuzk_fail_expected(&e, "%d", 1), CUZK_IO);
    assert_int_equal(cuzk_fail_found(&e, "%d", 2), CUZK_IO);
    assert_int_equal(cuzk_fail_hint(&e, "%d", 3), CUZK_IO);
    assert_string_equal(e.expected, "1");
    assert_string_equal(e.found, "2");
    assert_string_equal(e.hint, "3");
    char lengthy[1000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    cuzk_fail_where(&e, "%s", lengthy);
    assert_int_equal(strlen(e.where), sizeof e.where - 1);
}

static void within_puts_the_wider_place_first(void **state) {
    (void)state;
    cuzk_error e;
    cuzk_fail(&e, CUZK_MALFORMED, "x");
    assert_int_equal(cuzk_fail_within(&e, "challenge %d", 3), CUZK_MALFORMED);
    assert_string_equal(e.where, "challenge 3");
    cuzk_fail_within(&e, "partition %d", 1);
    assert_string_equal(e.where, "partition 1: challenge 3");
    char lengthy[1000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    cuzk_fail_within(&e, "%s", lengthy); /* must not write past the field */
    assert_int_equal(strlen(e.where), sizeof e.where - 1);
    assert_string_equal(e.expected, "");
}

static void errno_becomes_a_status(void **state) {
    (void)state;
    cuzk_error e;
    assert_int_equal(cuzk_fail_errno(&e, ENOSPC, "/x", "cannot write"), CUZK_DISK);
    assert_int_equal(cuzk_fail_errno(&e, EDQUOT, "/x", "cannot write"), CUZK_DISK);
    assert_int_equal(cuzk_fail_errno(&e, ENOMEM, "/x", "cannot map"), CUZK_MEMORY);
    assert_int_equal(cuzk_fail_errno(&e, ENOENT, "/x/y", "cannot open"), CUZK_IO);
    assert_string_equal(e.what, "cannot open: No such file or directory");
    assert_string_equal(e.where, "/x/y");
    cuzk_fail_errno(&e, ENOENT, NULL, "cannot open");
    assert_string_equal(e.where, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_all_its_columns), cmocka_unit_test(foreign_codes_are_unknown),
        cmocka_unit_test(fields_are_set_and_cut),           cmocka_unit_test(within_puts_the_wider_place_first),
        cmocka_unit_test(errno_becomes_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
