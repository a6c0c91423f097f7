/* The self test's list and its runner: see cuzk/selftest.h.
 *
 * Checks of arithmetic run once with each version of the kernels that this CPU can run; the versions are switched for
 * the whole process meanwhile. Known answers are published ones or the reference implementation's; the rest is compared
 * with slow definitions written out here.
 */
#include "api/selftest.h"

#include <stdio.h>
#include "backend/cuda/backend.h"
#include "base/cpu.h"
#include "math/kernels.h"

typedef struct entry {
    const char *name;
    bool per_kernel;
    selftest_fn run;
} entry;

static const entry entries[] = {
    {"SHA-256, BLAKE2s, BLAKE2b: published answers", false, selftest_hashes},
    {"fields: products and inverses against long arithmetic", true, selftest_fields},
    {"points: generators, forms, group law", true, selftest_points},
    {"pairing: known value, bilinear", true, selftest_pairing},
    {"MSM in G1 and G2 against single products", true, selftest_msm},
    {"NTT and quotient against their definitions", true, selftest_ntt},
    {"Poseidon: published answers", true, selftest_poseidon},
    {"circuits: structure of the Poseidon and SHA-256 gadgets", false, selftest_gadget},
    {"circuits: structure of each kind, sectors of 2 KiB", false, selftest_circuits},
    {"Groth16: key, proof, verification, refusals", true, selftest_groth16},
};

static bool run_one(const selftest_env *env, const entry *e, const char *kernels,
                    void (*each)(void *user, const cuzk_selftest_check *check), void *user) {
    api_stage(env->control, e->name);
    double start = cpu_monotonic_seconds();
    const char *fault = e->run(env);
    cuzk_selftest_check check = {.name = e->name,
                                 .kernels = kernels,
                                 .passed = !fault,
                                 .seconds = cpu_monotonic_seconds() - start,
                                 .detail = fault ? fault : ""};
    if (each) each(user, &check);
    return check.passed;
}

/* The devices that this context may prove on, against the CPU. */
static unsigned run_devices(const selftest_env *env, void (*each)(void *user, const cuzk_selftest_check *check),
                            void *user) {
    const cuzk_context *c = env->context;
    const backend *cuda = c->device == DEVICE_CPU ? NULL : backend_cuda(NULL);
    unsigned failed = 0;
    for (unsigned d = 0; cuda && d < cuda->device_count(); d++) {
        if (c->device == DEVICE_CUDA && d != c->cuda_device) continue;
        char name[64];
        cuzk_error fault;
        snprintf(name, sizeof name, "device cuda:%u: sums of points, quotient", d);
        api_stage(env->control, "device");
        double start = cpu_monotonic_seconds();
        cuzk_status s = backend_cuda_self_test(d, c->pool, &fault);
        cuzk_selftest_check check = {.name = name,
                                     .kernels = "",
                                     .passed = s == CUZK_OK,
                                     .seconds = cpu_monotonic_seconds() - start,
                                     .detail = s == CUZK_OK ? "" : fault.what};
        if (each) each(user, &check);
        failed += !check.passed;
    }
    return failed;
}

cuzk_status cuzk_selftest(cuzk_context *context, void (*each)(void *user, const cuzk_selftest_check *check), void *user,
                          const cuzk_control *control, cuzk_error *err) {
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    const selftest_env env = {context, control};
    unsigned failed = 0;
    cuzk_status s = CUZK_OK;
    for (size_t i = 0; i < sizeof entries / sizeof *entries && !s; i++) {
        size_t n = entries[i].per_kernel ? versions : 1;
        for (size_t v = 0; v < n && !s; v++) {
            if (entries[i].per_kernel) math_kernels_use(all[v]);
            failed += !run_one(&env, &entries[i], entries[i].per_kernel ? all[v]->isa : "", each, user);
            s = api_cancelled(control, err);
        }
        math_kernels_use(NULL);
    }
    if (!s) failed += run_devices(&env, each, user);
    if (s || !failed) return s;
    cuzk_fail(err, CUZK_FALSE, "%u of the checks failed: this machine or this build computes wrongly", failed);
    return cuzk_fail_hint(err, "do not use its proofs; try another machine, and please report this");
}
