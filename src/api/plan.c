/* Plans: see cuzk/plan.h. The numbers are the backend's; this adds the key, the shape and the limits. */
#include "api/internal.h"

#include <string.h>
#include "base/cpu.h"

cuzk_status api_backend_plan(const cuzk_context *context, const shape *s, prove_plan *out, cuzk_error *err) {
    uint64_t live = buffer_total_stats().live_bytes;
    uint64_t left = context->memory_bytes > live ? context->memory_bytes - live : 1;
    memset(out, 0, sizeof *out);
    return backend_cpu()->plan(0, s, pool_threads(context->pool), left, 0, out, err);
}

cuzk_status cuzk_plan_make(cuzk_context *context, cuzk_circuit *h, cuzk_plan *out, const cuzk_control *control,
                           cuzk_error *err) {
    memset(out, 0, sizeof *out);
    const shape *s;
    prove_plan plan;
    if (api_shape(h, &s, control, err)) return err->status;
    memset(&plan, 0, sizeof plan);
    /* Without a limit here: a plan that does not fit is an answer, not an error. */
    if (backend_cpu()->plan(0, s, pool_threads(context->pool), 0, 0, &plan, err)) return err->status;
    out->host_bytes = plan.host_bytes;
    out->device_bytes = plan.device_bytes;
    out->key_bytes = api_key_counts_of(s).native_bytes;
    out->shape_bytes = shape_bytes(s);
    out->limit_bytes = context->memory_bytes;
    out->fits = plan.host_bytes <= context->memory_bytes;
    out->resident = out->host_bytes + out->key_bytes + out->shape_bytes <= cpu_get()->memory_bytes;
    out->chunks = plan.chunks;
    out->seconds = (cuzk_plan_seconds){.synthesis = plan.seconds[0],
                                       .eval = plan.seconds[1],
                                       .ntt = plan.seconds[2],
                                       .msm_h = plan.seconds[3],
                                       .msm_rest = plan.seconds[4],
                                       .verify = plan.seconds[5]};
    for (unsigned i = 0; i < 6; i++) out->seconds.total += plan.seconds[i];
    out->n_classes = BUFFER_CLASSES;
    for (unsigned i = 0; i < BUFFER_CLASSES; i++) {
        out->classes[i].name = buffer_class_name((buffer_class)i);
        out->classes[i].peak_bytes = plan.host_by_class[i];
    }
    return CUZK_OK;
}

cuzk_status cuzk_plan_admit(cuzk_context *context, cuzk_circuit *h, const cuzk_control *control, cuzk_error *err) {
    const shape *s;
    prove_plan plan;
    if (api_shape(h, &s, control, err)) return err->status;
    if (api_backend_plan(context, s, &plan, err)) return err->status;
    return api_admit(context, plan.host_bytes, "the proof", err);
}
