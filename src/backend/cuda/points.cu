/* See points.cuh. The checks and their order are those of the CPU's decoder (math/kernels/encoding_kernels.c), so that
 * both name the same point and the same fault. */
#include "points.cuh"

#include <initializer_list>

#include "math/field_constants.h"

namespace {

struct limbs_fp {
    uint64_t l[6];
};
struct limbs_fp2 {
    limbs_fp c0, c1;
};
__constant__ limbs_fp g1_beta = {G1_BETA};
__constant__ limbs_fp2 psi_x = PSI_X, psi_y = PSI_Y;

__device__ fp constant(const limbs_fp &c) {
    fp r;
#pragma unroll
    for (int i = 0; i < 6; i++) r.l[2 * i] = (uint32_t)c.l[i], r.l[2 * i + 1] = (uint32_t)(c.l[i] >> 32);
    return r;
}
__device__ fp2 constant(const limbs_fp2 &c) {
    return {constant(c.c0), constant(c.c1)};
}

/* The coordinates in the order of the bytes, and b of y^2 = x^3 + b. */
template <class F> struct form;
template <> struct form<fp> {
    static constexpr int N = 2;
    template <class A> __device__ __forceinline__ static auto &at(A &p, int k) { return k == 0 ? p.x : p.y; }
    __device__ __forceinline__ static fp b() { return fp::one().dbl().dbl(); }
};
template <> struct form<fp2> {
    static constexpr int N = 4;
    template <class A> __device__ __forceinline__ static auto &at(A &p, int k) {
        return k == 0 ? p.x.c1 : k == 1 ? p.x.c0 : k == 2 ? p.y.c1 : p.y.c0;
    }
    __device__ __forceinline__ static fp2 b() {
        fp four = form<fp>::b();
        return {four, four};
    }
};

constexpr uint32_t COMPRESSED_OR_SIGN = 0xa0, INFINITY_FLAG = 0x40; /* of the first byte, the lowest of word 0 */

__device__ __forceinline__ uint32_t swapped(uint32_t w) {
    return __byte_perm(w, 0, 0x0123);
}

/* A coordinate's number; false when it is not below p. */
__device__ __forceinline__ bool number(fp *out, const uint32_t *w) {
#pragma unroll
    for (int i = 0; i < fp::N; i++) out->l[i] = swapped(w[fp::N - 1 - i]);
    ptx::sub_cc(out->l[0], fp_params::mod(0));
#pragma unroll
    for (int i = 1; i < fp::N; i++) ptx::subc_cc(out->l[i], fp_params::mod(i));
    return ptx::subc(0, 0) != 0;
}

template <class F> __device__ gpu_point_fault decode(affine<F> *p, const uint32_t *w) {
    constexpr int WORDS = form<F>::N * fp::N;
    if (w[0] & COMPRESSED_OR_SIGN) return GPU_POINT_BAD_FLAGS;
    if (w[0] & INFINITY_FLAG) {
        uint32_t rest = w[0] & ~INFINITY_FLAG;
#pragma unroll
        for (int i = 1; i < WORDS; i++) rest |= w[i];
        return rest ? GPU_POINT_BAD_FLAGS : GPU_POINT_IDENTITY;
    }
    bool below = true;
#pragma unroll
    for (int k = 0; k < form<F>::N; k++) below &= number(&form<F>::at(*p, k), w + k * fp::N);
    if (!below) return GPU_POINT_RANGE;
    fp r_squared;
#pragma unroll
    for (int i = 0; i < fp::N; i++) r_squared.l[i] = fp_params::r_squared(i);
#pragma unroll
    for (int k = 0; k < form<F>::N; k++) form<F>::at(*p, k) = form<F>::at(*p, k) * r_squared;
    /* (0, 0) without the infinity flag is our infinity, not a point; it is not on the curve. */
    return p->y.sqr() == p->x.sqr() * p->x + form<F>::b() ? GPU_POINT_OK : GPU_POINT_NOT_ON_CURVE;
}

__device__ __forceinline__ void note(unsigned long long *bad, uint64_t number, gpu_point_fault fault) {
    atomicMin(bad, (unsigned long long)(number << 8 | (unsigned)fault));
}

template <class F>
__global__ void __launch_bounds__(128)
    decode_kernel(affine<F> *points, uint64_t n, uint64_t first, unsigned long long *bad) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    affine<F> from = fetch(points + i), p;
    gpu_point_fault fault = decode(&p, reinterpret_cast<const uint32_t *>(&from));
    if (fault != GPU_POINT_OK) {
        note(bad, first + i, fault);
        p = affine<F>::infinity();
    }
    points[i] = p;
}

/* |x| p for the curve parameter x. */
template <class F> __device__ xyzz<F> times_x(const xyzz<F> &p) {
    xyzz<F> t = p;
    for (int bit = 62; bit >= 0; bit--) {
        t.dbl();
        if (BLS_X_ABS >> bit & 1) t.add(p);
    }
    return t;
}

/* As g1_affine_in_subgroup and g2_affine_in_subgroup (math/curve.h). */
__device__ bool in_subgroup(const affine<fp> &p) {
    xyzz<fp> t = times_x(times_x(xyzz<fp>::from_affine(p)));
    t.add(affine<fp>{p.x * constant(g1_beta), p.y});
    return t.is_infinity();
}
__device__ bool in_subgroup(const affine<fp2> &p) {
    xyzz<fp2> t = times_x(xyzz<fp2>::from_affine(p));
    fp2 x = {p.x.c0, p.x.c1.neg()}, y = {p.y.c0, p.y.c1.neg()};
    t.add(affine<fp2>{x * constant(psi_x), y * constant(psi_y)});
    return t.is_infinity();
}

/* Points that were bad before are infinity now, which is in the subgroup. */
template <class F>
__global__ void __launch_bounds__(128)
    subgroup_kernel(const affine<F> *points, uint64_t n, uint64_t first, unsigned long long *bad) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    affine<F> p = fetch(points + i);
    if (!p.is_infinity() && !in_subgroup(p)) note(bad, first + i, GPU_POINT_NOT_IN_SUBGROUP);
}

template <class F>
__global__ void __launch_bounds__(128) encode_kernel(uint32_t *out, const affine<F> *points, uint64_t n) {
    constexpr int WORDS = form<F>::N * fp::N;
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    affine<F> p = fetch(points + i);
    uint32_t w[WORDS];
#pragma unroll
    for (int k = 0; k < form<F>::N; k++) {
        fp x = form<F>::at(p, k).canon();
#pragma unroll
        for (int j = 0; j < fp::N; j++) w[k * fp::N + j] = swapped(x.l[fp::N - 1 - j]);
    }
    if (p.is_infinity()) w[0] = INFINITY_FLAG;
#pragma unroll
    for (int j = 0; j < WORDS; j += 4)
        reinterpret_cast<uint4 *>(out + i * WORDS)[j / 4] = make_uint4(w[j], w[j + 1], w[j + 2], w[j + 3]);
}

} // namespace

template <class F>
cuzk_status points_decode_enqueue(affine<F> *points, uint64_t n, uint64_t first, bool subgroup, gpu_section section,
                                  point_marks *marks, cudaStream_t stream, cuzk_error *err) {
    if (n == 0) return CUZK_OK;
    decode_kernel<F><<<blocks_for(n, 128), 128, 0, stream>>>(points, n, first, &marks->bad[section]);
    CUDA_TRY(cudaGetLastError());
    if (!subgroup) return CUZK_OK;
    subgroup_kernel<F><<<blocks_for(n, 128), 128, 0, stream>>>(points, n, first, &marks->outside[section]);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

template <class F>
cuzk_status points_encode_enqueue(void *out, const affine<F> *points, uint64_t n, cudaStream_t stream,
                                  cuzk_error *err) {
    if (n == 0) return CUZK_OK;
    encode_kernel<F><<<blocks_for(n, 128), 128, 0, stream>>>(static_cast<uint32_t *>(out), points, n);
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

void point_marks_read(gpu_bad_point *bad, const point_marks *marks) {
    *bad = {GPU_H, 0, GPU_POINT_OK};
    for (const unsigned long long *m : {marks->bad, marks->outside}) {
        for (unsigned s = 0; s < GPU_SECTIONS && bad->fault == GPU_POINT_OK; s++)
            if (m[s] != ~0ull) *bad = {(gpu_section)s, m[s] >> 8, (gpu_point_fault)(m[s] & 0xff)};
    }
}

#define INSTANTIATE(F)                                                                                                 \
    template cuzk_status points_decode_enqueue<F>(affine<F> *, uint64_t, uint64_t, bool, gpu_section, point_marks *,   \
                                                  cudaStream_t, cuzk_error *);                                         \
    template cuzk_status points_encode_enqueue<F>(void *, const affine<F> *, uint64_t, cudaStream_t, cuzk_error *);
INSTANTIATE(fp)
INSTANTIATE(fp2)
