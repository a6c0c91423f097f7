/* Which backend makes a proof; see api/internal.h. */
#include "api/internal.h"

#include <stdio.h>
#include <string.h>
#include "backend/cuda/backend.h"
#include "base/log.h"
#include "base/text.h"

static cuzk_status no_such_device(const char *device, cuzk_error *err) {
    cuzk_fail(err, CUZK_USAGE, "there is no such device");
    cuzk_fail_expected(err, "auto, cpu, cuda or cuda:N");
    cuzk_fail_found(err, "%s", device);
    return cuzk_fail_hint(err, "leave --device out, or give cpu");
}

cuzk_status api_device_set(cuzk_context *context, const char *device, cuzk_error *err) {
    uint64_t n = 0;
    context->device = DEVICE_AUTO;
    if (!device || !strcmp(device, "auto")) return CUZK_OK;
    context->device = DEVICE_CPU;
    if (!strcmp(device, "cpu")) return CUZK_OK;
    context->device = DEVICE_CUDA;
    if (!strncmp(device, "cuda:", 5)) {
        if (!text_u64(&n, device + 5, strlen(device + 5)) || n > 1000) return no_such_device(device, err);
    } else if (strcmp(device, "cuda") != 0) {
        return no_such_device(device, err);
    }
    const char *why;
    const backend *b = backend_cuda(&why);
    if (!b) {
        cuzk_fail(err, CUZK_DEVICE, "no CUDA device can be used: %s", why);
        cuzk_fail_found(err, "%s", device);
        return cuzk_fail_hint(err,
                              "see that the driver is installed and libcuzk-cuda.so is beside the program, or give "
                              "--device cpu");
    }
    if (n >= b->device_count()) {
        cuzk_fail(err, CUZK_DEVICE, "there is no CUDA device %u", (unsigned)n);
        return cuzk_fail_found(err, "%u devices", b->device_count());
    }
    context->cuda_device = (unsigned)n;
    return CUZK_OK;
}

static cuzk_status plan_on(const cuzk_context *context, const shape *s, bool limited, const backend *b, unsigned device,
                           api_target *out, cuzk_error *err) {
    uint64_t live = buffer_total_stats().live_bytes, left = 0;
    if (limited) left = context->memory_bytes > live ? context->memory_bytes - live : 1;
    memset(out, 0, sizeof *out);
    /* What groth16_prove has beside a witness that it makes whole for the backend. */
    uint64_t whole = 0;
    if (shape_is_lazy(s) && !b->lazy_witness)
        whole = witness_lazy_bytes(s) + witness_each_copy_bytes(s, pool_threads(context->pool));
    if (left) left = left > whole ? left - whole : 1;
    out->backend = b;
    out->device = device;
    if (b == backend_cpu())
        snprintf(out->name, sizeof out->name, "cpu");
    else
        snprintf(out->name, sizeof out->name, "%s:%u", b->name, device);
    if (b->limit_memory && limited && context->device_memory_bytes)
        b->limit_memory(device, context->device_memory_bytes);
    cuzk_status st = b->plan(device, s, pool_threads(context->pool), left, limited ? context->device_memory_bytes : 0,
                             &out->plan, err);
    out->plan.host_bytes += whole;
    out->plan.host_by_class[BUFFER_WITNESS] += whole;
    return st;
}

cuzk_status api_target_of(const cuzk_context *context, const shape *s, bool limited, api_target *out, cuzk_error *err) {
    const backend *cuda = context->device == DEVICE_CPU ? NULL : backend_cuda(NULL);
    if (cuda && context->device == DEVICE_CUDA)
        return plan_on(context, s, limited, cuda, context->cuda_device, out, err);
    for (unsigned d = 0; cuda && d < cuda->device_count(); d++) {
        backend_device_info info;
        cuzk_error why;
        if (cuda->device_info(d, &info, &why) != CUZK_OK ||
            plan_on(context, s, limited, cuda, d, out, &why) != CUZK_OK) {
            log_warn("CUDA device %u is passed over: %s", d, why.what);
            continue;
        }
        if (out->plan.device_bytes <= info.free_bytes) return CUZK_OK;
        char need[24], have[24];
        text_size(need, out->plan.device_bytes);
        text_size(have, info.free_bytes);
        log_warn("CUDA device %u is passed over: the proof needs %s of its memory, %s are free", d, need, have);
    }
    return plan_on(context, s, limited, backend_cpu(), 0, out, err);
}

bool api_key_maker(const cuzk_context *context, const shape *s, unsigned *device) {
    const backend *cuda = context->device == DEVICE_CPU ? NULL : backend_cuda(NULL);
    *device = context->cuda_device;
    if (!cuda || context->device == DEVICE_CUDA) return cuda != NULL;
    for (unsigned d = 0; d < cuda->device_count(); d++) {
        backend_device_info info;
        prove_plan plan;
        cuzk_error ignored;
        *device = d;
        if (cuda->device_info(d, &info, &ignored) == CUZK_OK &&
            cuda->plan(d, s, pool_threads(context->pool), 0, 0, &plan, &ignored) == CUZK_OK && plan.chunks == 1 &&
            plan.device_shared_bytes + plan.device_making_bytes <= info.free_bytes)
            return true;
    }
    return false;
}

void cuzk_device_list(void (*each)(void *user, const char *name), void *user) {
    const backend *cuda = backend_cuda(NULL);
    each(user, "cpu");
    for (unsigned d = 0; cuda && d < cuda->device_count(); d++) {
        char name[32];
        snprintf(name, sizeof name, "%s:%u", cuda->name, d);
        each(user, name);
    }
}
