/* Plans: see cuzk/plan.h. The numbers are the backend's; this adds the key, the shape and the limits. */
#include "api/internal.h"

#include <stdio.h>
#include <string.h>
#include "base/cpu.h"

cuzk_status cuzk_plan_make(cuzk_context *context, cuzk_circuit *h, cuzk_plan *out, const cuzk_control *control,
                           cuzk_error *err) {
    memset(out, 0, sizeof *out);
    const shape *s;
    api_target target;
    if (api_shape(h, &s, control, err)) return err->status;
    /* Without a limit here: a plan that does not fit is an answer, not an error. */
    if (api_target_of(context, s, false, &target, err)) return err->status;
    prove_plan plan = target.plan;
    snprintf(out->device, sizeof out->device, "%s", target.name);
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
    api_target target;
    if (api_shape(h, &s, control, err)) return err->status;
    if (api_target_of(context, s, true, &target, err)) return err->status;
    return api_admit(context, target.plan.host_bytes, "the proof", err);
}
