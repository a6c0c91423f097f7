/* The status list as tables; see cuzk/status.h. */
#include "cuzk/status.h"

#include <stddef.h>

typedef struct status_row {
    const char *name, *text;
    int grpc, http, exit;
    bool retryable;
} status_row;

static const status_row rows[] = {
#define ROW(code, name, text, grpc, http, exit, retryable) [code] = {"CUZK_" #name, text, grpc, http, exit, retryable},
    CUZK_STATUS_LIST(ROW)
#undef ROW
};

/* A code that is not in the list can only come from a fault of ours, so it answers like INTERNAL. */
static const status_row unknown = {"CUZK_UNKNOWN", "unknown status", 13, 500, 70, false};

static const status_row *row_of(cuzk_status s) {
    size_t i = (size_t)s;
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : &unknown;
}

const char *cuzk_status_name(cuzk_status s) {
    return row_of(s)->name;
}
const char *cuzk_status_text(cuzk_status s) {
    return row_of(s)->text;
}
int cuzk_status_grpc(cuzk_status s) {
    return row_of(s)->grpc;
}
int cuzk_status_http(cuzk_status s) {
    return row_of(s)->http;
}
int cuzk_status_exit(cuzk_status s) {
    return row_of(s)->exit;
}
bool cuzk_status_retryable(cuzk_status s) {
    return row_of(s)->retryable;
}
