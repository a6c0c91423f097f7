/* Fr and Fp on the device: Montgomery residues in 32-bit limbs, the same bytes as the host's 64-bit limbs (R = 2^256,
 * 2^384).
 *
 * Products interleave multiplication and reduction word by word with two accumulators, one for the products of even
 * words and one (a word higher) for those of odd words, so that each is one long carry chain of 32x32 products
 * (multiply-and-add pairs fuse into one wide multiply-add instruction). After a word is reduced to zero the
 * accumulators shift by a word, that is, they change roles. Values are always fully reduced. Source: Koç, Acar, Kaliski
 * 1996 (CIOS); the even/odd split is the usual way to get carry chains from a multiplier with 64-bit results.
 */
#ifndef CUZK_CUDA_FIELD_CUH
#define CUZK_CUDA_FIELD_CUH

#include <cstdint>

/* Single instructions with the carry flag; the chain is kept together by `volatile`. */
namespace ptx {
__device__ __forceinline__ uint32_t add_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t addc_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t addc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t sub_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t subc_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t subc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t mad_lo_cc(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r;
    asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
__device__ __forceinline__ uint32_t madc_lo_cc(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r;
    asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
__device__ __forceinline__ uint32_t madc_hi_cc(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r;
    asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
__device__ __forceinline__ uint32_t madc_hi(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r;
    asm volatile("madc.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
} // namespace ptx

/* Parameter sets: the limbs of src/math/field_constants.h in halves. */
struct fr_params {
    static constexpr int N = 8;
    static constexpr uint32_t NEG_INV = 0xffffffffu; /* -1/r mod 2^32 */
    __device__ __forceinline__ static constexpr uint32_t mod(int i) {
        constexpr uint32_t m[N] = {0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402,
                                   0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753};
        return m[i];
    }
    __device__ __forceinline__ static constexpr uint32_t one(int i) {
        constexpr uint32_t m[N] = {0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa,
                                   0xecbc4ff5, 0x998c4fef, 0xacc5056f, 0x1824b159};
        return m[i];
    }
};
struct fp_params {
    static constexpr int N = 12;
    static constexpr uint32_t NEG_INV = 0xfffcfffdu; /* -1/p mod 2^32 */
    __device__ __forceinline__ static constexpr uint32_t mod(int i) {
        constexpr uint32_t m[N] = {0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0,
                                   0xf38512bf, 0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea};
        return m[i];
    }
    __device__ __forceinline__ static constexpr uint32_t one(int i) {
        constexpr uint32_t m[N] = {0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b, 0x53c758ba, 0x5f489857,
                                   0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3};
        return m[i];
    }
};

template <class P> struct alignas(16) field {
    static constexpr int N = P::N;
    uint32_t l[N];

    __device__ __forceinline__ static field zero() {
        field r;
#pragma unroll
        for (int i = 0; i < N; i++) r.l[i] = 0;
        return r;
    }
    __device__ __forceinline__ static field one() {
        field r;
#pragma unroll
        for (int i = 0; i < N; i++) r.l[i] = P::one(i);
        return r;
    }
    __device__ __forceinline__ bool is_zero() const {
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < N; i++) any |= l[i];
        return any == 0;
    }
    __device__ __forceinline__ bool operator==(const field &b) const {
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < N; i++) any |= l[i] ^ b.l[i];
        return any == 0;
    }

    /* t < 2m becomes t mod m. */
    __device__ __forceinline__ static field reduce_once(const uint32_t *t) {
        field d;
        d.l[0] = ptx::sub_cc(t[0], P::mod(0));
#pragma unroll
        for (int i = 1; i < N; i++) d.l[i] = ptx::subc_cc(t[i], P::mod(i));
        uint32_t borrow = ptx::subc(0, 0);
        field r;
#pragma unroll
        for (int i = 0; i < N; i++) r.l[i] = borrow ? t[i] : d.l[i];
        return r;
    }
    __device__ __forceinline__ field operator+(const field &b) const {
        uint32_t t[N];
        t[0] = ptx::add_cc(l[0], b.l[0]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) t[i] = ptx::addc_cc(l[i], b.l[i]);
        t[N - 1] = ptx::addc(l[N - 1], b.l[N - 1]);
        return reduce_once(t);
    }
    __device__ __forceinline__ field operator-(const field &b) const {
        field t;
        t.l[0] = ptx::sub_cc(l[0], b.l[0]);
#pragma unroll
        for (int i = 1; i < N; i++) t.l[i] = ptx::subc_cc(l[i], b.l[i]);
        uint32_t mask = ptx::subc(0, 0);
        t.l[0] = ptx::add_cc(t.l[0], P::mod(0) & mask);
#pragma unroll
        for (int i = 1; i < N - 1; i++) t.l[i] = ptx::addc_cc(t.l[i], P::mod(i) & mask);
        t.l[N - 1] = ptx::addc(t.l[N - 1], P::mod(N - 1) & mask);
        return t;
    }
    __device__ __forceinline__ field neg() const {
        return is_zero() ? *this : zero() - *this;
    }
    __device__ __forceinline__ field dbl() const {
        return *this + *this;
    }

    /* acc (+)= w * (x[0], x[2], …): one carry chain over N words. x is a[0..] or a[1..]. */
    template <class X> __device__ __forceinline__ static void mul_row(uint32_t *acc, X x, uint32_t w) {
#pragma unroll
        for (int j = 0; j < N; j += 2) {
            uint64_t p = (uint64_t)x(j) * w;
            acc[j] = (uint32_t)p;
            acc[j + 1] = (uint32_t)(p >> 32);
        }
    }
    template <class X> __device__ __forceinline__ static void mad_row(uint32_t *acc, X x, uint32_t w) {
        acc[0] = ptx::mad_lo_cc(x(0), w, acc[0]);
        acc[1] = ptx::madc_hi_cc(x(0), w, acc[1]);
#pragma unroll
        for (int j = 2; j < N; j += 2) {
            acc[j] = ptx::madc_lo_cc(x(j), w, acc[j]);
            acc[j + 1] = ptx::madc_hi_cc(x(j), w, acc[j + 1]);
        }
    }
    /* Adds the multiple of the modulus that makes word 0 zero. r = 1 + (2^32 - 1) 2^32 + …: there the multiple is minus
     * word 0, and its products with the two lowest words of r need no multiplication. */
    __device__ __forceinline__ static void reduce_word(uint32_t *even, uint32_t *odd) {
        auto mod_lower = [&](int j) { return P::mod(j); };
        auto mod_upper = [&](int j) { return P::mod(j + 1); };
        if (N == 8) {
            uint32_t e = even[0], q = 0u - e;
            odd[0] = ptx::add_cc(odd[0], e);
            odd[1] = ptx::addc_cc(odd[1], q - (e != 0));
#pragma unroll
            for (int j = 2; j < N; j += 2) {
                odd[j] = ptx::madc_lo_cc(mod_upper(j), q, odd[j]);
                odd[j + 1] = ptx::madc_hi_cc(mod_upper(j), q, odd[j + 1]);
            }
            even[0] = ptx::add_cc(e, q); /* zero; the carry tells whether it was */
            even[1] = ptx::addc_cc(even[1], 0);
#pragma unroll
            for (int j = 2; j < N; j += 2) {
                even[j] = ptx::madc_lo_cc(mod_lower(j), q, even[j]);
                even[j + 1] = ptx::madc_hi_cc(mod_lower(j), q, even[j + 1]);
            }
        } else {
            uint32_t q = even[0] * P::NEG_INV;
            mad_row(odd, mod_upper, q);
            mad_row(even, mod_lower, q);
        }
        odd[N - 1] = ptx::addc(odd[N - 1], 0);
    }
    /* One word of b: even and odd += a * w, then reduced by a word; afterwards odd holds the lower words. even[0] is
     * zero then. */
    __device__ __forceinline__ static void row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t w,
                                               bool first) {
        auto lower = [&](int j) { return a[j]; };
        auto upper = [&](int j) { return a[j + 1]; };
        if (first) {
            mul_row(odd, upper, w);
            mul_row(even, lower, w);
        } else {
            /* odd is the old even, whose word 0 was reduced away: word 1 belongs to even[0], the rest moves down by two
             * words. */
            even[0] = ptx::add_cc(even[0], odd[1]);
#pragma unroll
            for (int j = 0; j < N - 2; j += 2) {
                odd[j] = ptx::madc_lo_cc(a[j + 1], w, odd[j + 2]);
                odd[j + 1] = ptx::madc_hi_cc(a[j + 1], w, odd[j + 3]);
            }
            odd[N - 2] = ptx::madc_lo_cc(a[N - 1], w, 0);
            odd[N - 1] = ptx::madc_hi(a[N - 1], w, 0);
            mad_row(even, lower, w);
            odd[N - 1] = ptx::addc(odd[N - 1], 0);
        }
        reduce_word(even, odd);
    }
    __device__ __forceinline__ field operator*(const field &b) const {
        uint32_t even[N], odd[N];
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            row(even, odd, l, b.l[i], i == 0);
            row(odd, even, l, b.l[i + 1], false);
        }
        /* even is the low accumulator; odd's words 1.. add to it one word lower (its word 0 was reduced away). */
        even[0] = ptx::add_cc(even[0], odd[1]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) even[i] = ptx::addc_cc(even[i], odd[i + 1]);
        even[N - 1] = ptx::addc(even[N - 1], 0);
        return reduce_once(even);
    }
    __device__ __forceinline__ field sqr() const {
        return *this * *this;
    }

    /* Out of Montgomery form: the product with the number 1. */
    __device__ __forceinline__ field canon() const {
        field o = zero();
        o.l[0] = 1;
        return *this * o;
    }
};

using fr = field<fr_params>;
using fp = field<fp_params>;

/* a^(p-2), most significant bit first, for batched inversions (one a thread, after Montgomery's trick). 0 gives 0. */
template <class P> __device__ inline field<P> field_inv(const field<P> &a) {
    field<P> r = field<P>::one();
    for (int i = 32 * P::N - 1; i >= 0; i--) {
        r = r.sqr();
        uint32_t w = 0;
#pragma unroll
        for (int k = 0; k < P::N; k++) {
            if (k == i / 32)
                w = P::mod(k) - (k == 0 ? 2 : 0); /* no borrow: word 0 of both moduli is above 1 but r's is 1 */
        }
        if (P::N == 8 && i / 32 <= 1) w = i / 32 == 0 ? 0xffffffffu : P::mod(1) - 1; /* r - 2 borrows from word 1 */
        if (w >> (i % 32) & 1) r = r * a;
    }
    return r;
}

/* Fp2 = Fp[u]/(u^2 + 1). */
struct alignas(16) fp2 {
    fp c0, c1;
    __device__ __forceinline__ static fp2 zero() { return {fp::zero(), fp::zero()}; }
    __device__ __forceinline__ static fp2 one() { return {fp::one(), fp::zero()}; }
    __device__ __forceinline__ bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    __device__ __forceinline__ bool operator==(const fp2 &b) const { return c0 == b.c0 && c1 == b.c1; }
    __device__ __forceinline__ fp2 operator+(const fp2 &b) const { return {c0 + b.c0, c1 + b.c1}; }
    __device__ __forceinline__ fp2 operator-(const fp2 &b) const { return {c0 - b.c0, c1 - b.c1}; }
    __device__ __forceinline__ fp2 neg() const { return {c0.neg(), c1.neg()}; }
    __device__ __forceinline__ fp2 dbl() const { return {c0.dbl(), c1.dbl()}; }
    /* Out of line: three products each; inlined, a G2 addition would be 40 kB of code. */
    __device__ __noinline__ fp2 operator*(const fp2 &b) const {
        fp t0 = c0 * b.c0, t1 = c1 * b.c1, t2 = (c0 + c1) * (b.c0 + b.c1);
        return {t0 - t1, t2 - t0 - t1};
    }
    __device__ __noinline__ fp2 sqr() const {
        fp t = c0 * c1;
        return {(c0 + c1) * (c0 - c1), t.dbl()};
    }
};
__device__ inline fp2 field_inv(const fp2 &a) {
    fp n = field_inv(a.c0.sqr() + a.c1.sqr());
    return {a.c0 * n, (a.c1 * n).neg()};
}

#endif
