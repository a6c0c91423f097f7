/* Context: see cuzk/context.h, cuzk/memory.h. */
#include "api/internal.h"

#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "math/kernels.h"

cuzk_status cuzk_context_create(cuzk_context **out, const cuzk_settings *settings, cuzk_error *err) {
    static const cuzk_settings defaults;
    if (!settings) settings = &defaults;
    *out = NULL;
    if (settings->threads > CUZK_MAX_THREADS) {
        cuzk_fail(err, CUZK_USAGE, "too many threads");
        cuzk_fail_expected(err, "1 to %u", CUZK_MAX_THREADS);
        return cuzk_fail_found(err, "%u", settings->threads);
    }
    cuzk_context *context = calloc(1, sizeof *context);
    if (!context) return cuzk_fail(err, CUZK_MEMORY, "no memory for a context");
    if (api_device_set(context, settings->device, err)) {
        free(context);
        return err->status;
    }
    context->pool = pool_create(settings->threads, err);
    if (!context->pool) {
        free(context);
        return err->status;
    }
    context->memory_bytes = settings->memory_bytes;
    context->device_memory_bytes = settings->device_memory_bytes;
    if (settings->memory_bytes) {
        buffer_set_limit(settings->memory_bytes);
    } else {
        context->memory_bytes = cpu_get()->memory_bytes;
    }
    *out = context;
    return CUZK_OK;
}

void cuzk_context_destroy(cuzk_context *context) {
    if (!context) return;
    pool_destroy(context->pool);
    free(context);
}

unsigned cuzk_context_threads(const cuzk_context *context) {
    return pool_threads(context->pool);
}

uint64_t cuzk_context_memory_bytes(const cuzk_context *context) {
    return context->memory_bytes;
}

const char *cuzk_version(void) {
    return CUZK_VERSION;
}

const char *cuzk_cpu_kernels(void) {
    return math_kernels()->isa;
}

const char *cuzk_cpu_model(void) {
    return cpu_get()->model;
}

void cuzk_memory_get(cuzk_memory *out) {
    _Static_assert(BUFFER_CLASSES <= CUZK_MAX_MEMORY_CLASSES, "public array too small");
    memset(out, 0, sizeof *out);
    out->n_classes = BUFFER_CLASSES;
    for (unsigned i = 0; i < BUFFER_CLASSES; i++) {
        buffer_stats s = buffer_class_stats((buffer_class)i);
        out->classes[i] = (cuzk_memory_class){
            .name = buffer_class_name((buffer_class)i), .live_bytes = s.live_bytes, .peak_bytes = s.peak_bytes};
    }
    buffer_stats total = buffer_total_stats();
    out->live_bytes = total.live_bytes;
    out->peak_bytes = total.peak_bytes;
    out->rss_bytes = cpu_rss_bytes();
    out->peak_rss_bytes = cpu_peak_rss_bytes();
}

void cuzk_memory_reset_peaks(void) {
    buffer_reset_peaks();
}

void cuzk_text_free(char *text) {
    free(text);
}

cuzk_status api_admit(const cuzk_context *context, uint64_t need, const char *what, cuzk_error *err) {
    uint64_t live = buffer_total_stats().live_bytes, total;
    if (!__builtin_add_overflow(need, live, &total) && total <= context->memory_bytes) return CUZK_OK;
    cuzk_fail(err, CUZK_MEMORY, "%s does not fit the memory limit", what);
    cuzk_fail_expected(err, "at most %llu bytes in all", (unsigned long long)context->memory_bytes);
    cuzk_fail_found(err, "a need of %llu bytes, and %llu in use", (unsigned long long)need, (unsigned long long)live);
    return cuzk_fail_hint(err, "raise --memory, use fewer --threads, or take a machine with more memory");
}

void api_stage(const cuzk_control *control, const char *stage) {
    if (control && control->progress) control->progress(control->user, stage, 0, 0);
}

cuzk_status api_cancelled(const cuzk_control *control, cuzk_error *err) {
    if (!control || !control->cancel || !atomic_load(control->cancel)) return CUZK_OK;
    return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
}
