/* grpc.health.v1: Check and Watch, for the server ("") and its services. In the loop's thread. */
#include <string.h>
#include "grpc/health/v1/health.pb-c.h"
#include "rpc/internal.h"

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

static bool is_service(const char *name) {
    static const char *const services[] = {"", "cuzk.v1.ProvingEngine", "cuzk.v1.Inspection", "grpc.health.v1.Health"};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (!strcmp(services[i], name)) return true;
    return false;
}

static void add(rpc_call *c, Grpc__Health__V1__HealthCheckResponse__ServingStatus status) {
    uint8_t bytes[16];
    Grpc__Health__V1__HealthCheckResponse r = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    r.status = status;
    call_add_message(c, bytes, grpc__health__v1__health_check_response__pack(&r, bytes));
}

static Grpc__Health__V1__HealthCheckResponse__ServingStatus now(const rpc_server *s) {
    return atomic_load(&s->draining) ? NOT_SERVING : SERVING;
}

/* False: the call has failed. */
static bool read_request(rpc_call *c, bool *known) {
    cuzk_error err;
    Grpc__Health__V1__HealthCheckRequest *q =
        grpc__health__v1__health_check_request__unpack(NULL, c->length, c->length ? c->message : (const uint8_t *)"");
    if (!q) {
        cuzk_fail(&err, CUZK_MALFORMED, "the message is not a HealthCheckRequest");
        call_fail_status(c, &err);
        return false;
    }
    *known = is_service(q->service);
    grpc__health__v1__health_check_request__free_unpacked(q, NULL);
    return true;
}

void handle_health_check(rpc_call *c) {
    cuzk_error err;
    bool known;
    if (!read_request(c, &known)) return;
    if (known) {
        add(c, now(c->server));
        return;
    }
    cuzk_fail(&err, CUZK_USAGE, "there is no such service");
    call_fail(c, GRPC_NOT_FOUND, &err);
}

void handle_health_watch(rpc_call *c) {
    bool known = false;
    if (!read_request(c, &known)) return;
    c->state = CALL_STREAMING;
    c->known_service = known;
    add(c, known ? now(c->server) : SERVICE_UNKNOWN);
}

void health_changed(rpc_server *s) {
    for (rpc_call *c = s->calls; c; c = c->next) {
        if (c->state != CALL_STREAMING || !c->known_service) continue;
        add(c, now(s));
        conn_resume(c);
    }
}
