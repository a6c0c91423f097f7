/* G1 and G2 on the device, written once over the coordinate field: affine points ((0, 0) is infinity) and XYZZ
 * accumulators (x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2; infinity: ZZ = 0). All additions are complete. The same bytes as the
 * host's affine points. Source: explicit-formulas database, "XYZZ coordinates with a = 0" (Sutherland 2008):
 * madd-2008-s, add-2008-s, dbl-2008-s-1, mdbl-2008-s-1.
 */
#ifndef CUZK_CUDA_CURVE_CUH
#define CUZK_CUDA_CURVE_CUH

#include "field.cuh"

template <class F> struct affine {
    F x, y;
    __device__ __forceinline__ bool is_infinity() const { return x.is_zero() && y.is_zero(); }
    __device__ __forceinline__ static affine infinity() { return {F::zero(), F::zero()}; }
};

template <class F> struct xyzz {
    F x, y, zz, zzz;

    __device__ __forceinline__ static xyzz infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
    __device__ __forceinline__ bool is_infinity() const { return zz.is_zero(); }
    __device__ __forceinline__ static xyzz from_affine(const affine<F> &p) {
        if (p.is_infinity()) return infinity();
        return {p.x, p.y, F::one(), F::one()};
    }
    /* 2p for a finite affine p (y is never zero in a group of odd order; elsewhere the result is infinity). */
    __device__ __noinline__ static xyzz dbl_affine(const affine<F> &p) {
        F u = p.y.dbl();
        if (u.is_zero()) return infinity();
        F v = u.sqr(), w = u * v, s = p.x * v, xx = p.x.sqr(), m = xx.dbl() + xx;
        xyzz r;
        r.x = m.sqr() - s.dbl();
        r.y = m * (s - r.x) - w * p.y;
        r.zz = v;
        r.zzz = w;
        return r;
    }
    __device__ __noinline__ void dbl() {
        if (is_infinity()) return;
        F u = y.dbl();
        if (u.is_zero()) {
            *this = infinity();
            return;
        }
        F v = u.sqr(), w = u * v, s = x * v, xx = x.sqr(), m = xx.dbl() + xx;
        F x3 = m.sqr() - s.dbl();
        y = m * (s - x3) - w * y;
        x = x3;
        zz = v * zz;
        zzz = w * zzz;
    }
    /* this += p, or -p when `negate`. */
    __device__ inline void add(const affine<F> &p, bool negate = false) {
        if (p.is_infinity()) return;
        affine<F> q = p;
        if (negate) q.y = q.y.neg();
        if (is_infinity()) {
            *this = {q.x, q.y, F::one(), F::one()};
            return;
        }
        F h = q.x * zz - x, r = q.y * zzz - y;
        if (h.is_zero()) {
            if (r.is_zero())
                *this = dbl_affine(q);
            else
                *this = infinity();
            return;
        }
        F hh = h.sqr(), hhh = h * hh, v = x * hh;
        F x3 = r.sqr() - hhh - v.dbl();
        y = F::mul_add(r, v - x3, y.neg(), hhh);
        x = x3;
        zz = zz * hh;
        zzz = zzz * hhh;
    }
    /* Out of line: not in the inner loops. */
    __device__ __noinline__ void add(const xyzz &b) {
        if (b.is_infinity()) return;
        if (is_infinity()) {
            *this = b;
            return;
        }
        F u1 = x * b.zz, s1 = y * b.zzz;
        F h = b.x * zz - u1, r = b.y * zzz - s1;
        if (h.is_zero()) {
            if (r.is_zero())
                dbl();
            else
                *this = infinity();
            return;
        }
        F hh = h.sqr(), hhh = h * hh, v = u1 * hh;
        F x3 = r.sqr() - hhh - v.dbl();
        y = r * (v - x3) - s1 * hhh;
        x = x3;
        zz = zz * b.zz * hh;
        zzz = zzz * b.zzz * hhh;
    }
};

using g1_affine_d = affine<fp>;
using g2_affine_d = affine<fp2>;
using g1_xyzz_d = xyzz<fp>;
using g2_xyzz_d = xyzz<fp2>;

#endif
