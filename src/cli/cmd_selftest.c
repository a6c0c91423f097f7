/* selftest: the checks as a table, then the verdict. */
#include "cli/cli.h"

static void one(void *user, const cuzk_selftest_check *check) {
    json_out *o = user;
    json_begin_object(o);
    put_text(o, "name", check->name);
    put_text(o, "kernels", check->kernels);
    put_bool(o, "passed", check->passed);
    put_seconds(o, "seconds", check->seconds);
    if (!check->passed) put_text(o, "detail", check->detail);
    json_end_object(o);
}

cuzk_status cmd_selftest(const args *a, json_out *o, cuzk_error *err) {
    json_put_key(o, "checks");
    json_begin_array(o);
    cuzk_status s = cuzk_selftest(a->context, one, o, a->control, err);
    json_end_array(o);
    put_bool(o, "passed", s == CUZK_OK);
    return s;
}
