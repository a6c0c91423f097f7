/* Chooses the CPU version of the kernels once (math/kernels.h). */
#include "math/kernels.h"

#include <stdatomic.h>
#include "base/cpu.h"

#define KERNEL_VERSION(v)                                                                                              \
    static const struct math_kernels math_kernels_##v = {                                                              \
        .isa = #v,                                                                                                     \
        .field = &field_kernels_##v,                                                                                   \
        .poseidon = &poseidon_kernels_##v,                                                                             \
        .pairing = &pairing_kernels_##v,                                                                               \
        .encoding = &encoding_kernels_##v,                                                                             \
        .msm = &msm_kernels_##v,                                                                                       \
        .ntt = &ntt_kernels_##v,                                                                                       \
    };
KERNEL_VERSION(portable)
#ifdef CUZK_X86_64
KERNEL_VERSION(adx)
#endif
#undef KERNEL_VERSION
/* What has no version in lanes is that of adx. */
#define KERNEL_LANES(v, transforms)                                                                                    \
    static const struct math_kernels math_kernels_##v = {                                                              \
        .isa = #v,                                                                                                     \
        .field = &field_kernels_adx,                                                                                   \
        .poseidon = &poseidon_kernels_adx,                                                                             \
        .pairing = &pairing_kernels_adx,                                                                               \
        .encoding = &encoding_kernels_adx,                                                                             \
        .msm = &msm_kernels_##v,                                                                                       \
        .ntt = &ntt_kernels_##transforms,                                                                              \
    };
#ifdef CUZK_HAVE_FMA
KERNEL_LANES(fma, fma)
#endif
#ifdef CUZK_HAVE_IFMA
KERNEL_LANES(ifma, adx)
#endif
#undef KERNEL_LANES

const struct math_kernels *const *math_kernels_all(size_t *n) {
    static const struct math_kernels *const all[] = {
        &math_kernels_portable,
#ifdef CUZK_X86_64
        &math_kernels_adx,
#endif
#ifdef CUZK_HAVE_FMA
        &math_kernels_fma,
#endif
#ifdef CUZK_HAVE_IFMA
        &math_kernels_ifma,
#endif
    };
    *n = 1;
#ifdef CUZK_X86_64
    if (cpu_get()->bmi2_adx) *n = 2;
#endif
#ifdef CUZK_HAVE_FMA
    if (*n == 2 && cpu_get()->avx2_fma) *n = 3;
#endif
#ifdef CUZK_HAVE_IFMA
    if (*n == 3 && cpu_get()->avx512_ifma) *n = 4;
#endif
    return all;
}

static _Atomic(const struct math_kernels *) chosen;

void math_kernels_use(const struct math_kernels *k) {
    atomic_store_explicit(&chosen, k, memory_order_release);
}

const struct math_kernels *math_kernels(void) {
    const struct math_kernels *k = atomic_load_explicit(&chosen, memory_order_acquire);
    if (k == NULL) {
        size_t n;
        k = math_kernels_all(&n)[n - 1];
        atomic_store_explicit(&chosen, k, memory_order_release); /* every thread finds the same one */
    }
    return k;
}
