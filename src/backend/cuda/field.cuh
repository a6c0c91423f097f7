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

/* A value from memory in loads of 16 bytes. */
template <class T> __device__ __forceinline__ T fetch(const T *from) {
    constexpr int WORDS = sizeof(T) / 16;
    union whole {
        T value;
        uint4 word[WORDS];
        __device__ __forceinline__ whole() {}
    } v;
#pragma unroll
    for (int i = 0; i < WORDS; i++) v.word[i] = reinterpret_cast<const uint4 *>(from)[i];
    return v.value;
}

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
    __device__ __forceinline__ static constexpr uint32_t r_squared(int i) {
        constexpr uint32_t m[N] = {0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
                                   0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5};
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

    /* Operands are read whole before the first instruction of a chain: loads word by word inside it keep its products
     * from becoming wide ones. */
    __device__ __forceinline__ static void copy(uint32_t *to, const uint32_t *from) {
#pragma unroll
        for (int i = 0; i < N; i++) to[i] = from[i];
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
            uint32_t e = even[0], q;
            asm volatile("sub.u32 %0, 0, %1;" : "=r"(q) : "r"(e)); /* as -e in C, products by q are not wide ones */
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
        uint32_t even[N], odd[N], x[N], y[N];
        copy(x, l), copy(y, b.l);
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            row(even, odd, x, y[i], i == 0);
            row(odd, even, x, y[i + 1], false);
        }
        /* even is the low accumulator; odd's words 1.. add to it one word lower (its word 0 was reduced away). */
        even[0] = ptx::add_cc(even[0], odd[1]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) even[i] = ptx::addc_cc(even[i], odd[i + 1]);
        even[N - 1] = ptx::addc(even[N - 1], 0);
        return reduce_once(even);
    }
    /* A chain over `pairs` products x(0), x(2), … times w, added at acc; the carry goes into the word after them. */
    template <class X> __device__ __forceinline__ static void mad_chain(uint32_t *acc, X x, uint32_t w, int pairs) {
        if (pairs == 0) return;
        acc[0] = ptx::mad_lo_cc(x(0), w, acc[0]);
        acc[1] = ptx::madc_hi_cc(x(0), w, acc[1]);
#pragma unroll
        for (int j = 1; j < pairs; j++) {
            acc[2 * j] = ptx::madc_lo_cc(x(2 * j), w, acc[2 * j]);
            acc[2 * j + 1] = ptx::madc_hi_cc(x(2 * j), w, acc[2 * j + 1]);
        }
    }
    /* even += odd shifted up by a word, 2 N words. */
    __device__ __forceinline__ static void merge(uint32_t *even, const uint32_t *odd) {
        even[1] = ptx::add_cc(even[1], odd[0]);
#pragma unroll
        for (int k = 2; k < 2 * N - 1; k++) even[k] = ptx::addc_cc(even[k], odd[k - 1]);
        even[2 * N - 1] = ptx::addc(even[2 * N - 1], odd[2 * N - 2]);
    }
    /* t[0..2N) = a b, not reduced: products at even words in t, at odd words in o, so that each row is two long carry
     * chains. The word after a chain has only met carries until the next rows reach it. */
    __device__ __forceinline__ static void mul_wide(uint32_t *t, const uint32_t *left, const uint32_t *right) {
        uint32_t o[2 * N], a[N], b[N];
        copy(a, left), copy(b, right);
#pragma unroll
        for (int i = 0; i < 2 * N; i++) t[i] = o[i] = 0;
        auto lower = [&](int j) { return a[j]; };
        auto upper = [&](int j) { return a[j + 1]; };
        mul_row(t, lower, b[0]);
        mul_row(o, upper, b[0]);
#pragma unroll
        for (int i = 1; i < N; i++) {
            uint32_t *low = i % 2 ? o + i - 1 : t + i, *up = i % 2 ? t + i + 1 : o + i;
            mad_chain(low, lower, b[i], N / 2);
            low[N] = ptx::addc(low[N], 0);
            mad_chain(up, upper, b[i], N / 2);
            if (i < N - 1) up[N] = ptx::addc(up[N], 0);
        }
        merge(t, o);
    }
    /* t[0..2N) = a^2: products of different words once, doubled, and the squares of words. */
    __device__ __forceinline__ static void sqr_wide(uint32_t *t, const uint32_t *from) {
        uint32_t o[2 * N], a[N];
        copy(a, from);
#pragma unroll
        for (int i = 0; i < 2 * N; i++) t[i] = o[i] = 0;
#pragma unroll
        for (int i = 0; i < N - 1; i++) {
            const int n_odd = (N - i) / 2, n_even = (N - 1 - i) / 2;
            mad_chain(
                o + 2 * i, [&](int j) { return a[i + 1 + j]; }, a[i], n_odd);
            if (i > 0) o[2 * i + 2 * n_odd] = ptx::addc(o[2 * i + 2 * n_odd], 0);
            if (n_even == 0) continue;
            mad_chain(
                t + 2 * i + 2, [&](int j) { return a[i + 2 + j]; }, a[i], n_even);
            t[2 * i + 2 + 2 * n_even] = ptx::addc(t[2 * i + 2 + 2 * n_even], 0);
        }
        merge(t, o);
        t[0] = ptx::add_cc(t[0], t[0]);
#pragma unroll
        for (int k = 1; k < 2 * N - 1; k++) t[k] = ptx::addc_cc(t[k], t[k]);
        t[2 * N - 1] = ptx::addc(t[2 * N - 1], t[2 * N - 1]);
        t[0] = ptx::mad_lo_cc(a[0], a[0], t[0]);
        t[1] = ptx::madc_hi_cc(a[0], a[0], t[1]);
#pragma unroll
        for (int i = 1; i < N; i++) {
            t[2 * i] = ptx::madc_lo_cc(a[i], a[i], t[2 * i]);
            t[2 * i + 1] =
                i < N - 1 ? ptx::madc_hi_cc(a[i], a[i], t[2 * i + 1]) : ptx::madc_hi(a[i], a[i], t[2 * i + 1]);
        }
    }
    /* t / R mod m for t < m R: multiples of m clear the lower half word by word. A word's value is the even
     * accumulator's, the odd one's a place lower, and the carry of the word before. */
    __device__ __forceinline__ static field redc(const uint32_t *t) {
        uint32_t e[2 * N], o[2 * N], carry = 0;
#pragma unroll
        for (int i = 0; i < 2 * N; i++) e[i] = i < N ? t[i] : 0, o[i] = 0;
        auto lower = [&](int j) { return P::mod(j); };
        auto upper = [&](int j) { return P::mod(j + 1); };
#pragma unroll
        for (int i = 0; i < N; i++) {
            uint32_t *low = i % 2 ? o + i - 1 : e + i, *up = i % 2 ? e + i + 1 : o + i;
            if (i > 0) {
                ptx::add_cc(carry, 0xffffffffu);
                low[0] = ptx::addc_cc(e[i], o[i - 1]);
                carry = ptx::addc(0, 0);
            }
            uint32_t q = low[0] * P::NEG_INV;
            mad_chain(low, lower, q, N / 2);
            low[N] = ptx::addc(low[N], 0);
            mad_chain(up, upper, q, N / 2);
            if (i < N - 1) up[N] = ptx::addc(up[N], 0);
        }
        ptx::add_cc(carry, 0xffffffffu);
#pragma unroll
        for (int i = 0; i < N - 1; i++) e[N + i] = ptx::addc_cc(e[N + i], o[N + i - 1]);
        e[2 * N - 1] = ptx::addc(e[2 * N - 1], o[2 * N - 2]);
        e[N] = ptx::add_cc(e[N], t[N]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) e[N + i] = ptx::addc_cc(e[N + i], t[N + i]);
        e[2 * N - 1] = ptx::addc(e[2 * N - 1], t[2 * N - 1]);
        return reduce_once(e + N);
    }
    __device__ __forceinline__ field sqr() const {
        if (N == 8) return *this * *this;
        uint32_t t[2 * N];
        sqr_wide(t, l);
        return redc(t);
    }
    /* a b + c d with one reduction; 2 m^2 < m R. */
    __device__ __forceinline__ static field mul_add(const field &a, const field &b, const field &c, const field &d) {
        if (N == 8) return a * b + c * d; /* r is too near to R */
        uint32_t t[2 * N], u[2 * N];
        mul_wide(t, a.l, b.l);
        mul_wide(u, c.l, d.l);
        t[0] = ptx::add_cc(t[0], u[0]);
#pragma unroll
        for (int k = 1; k < 2 * N - 1; k++) t[k] = ptx::addc_cc(t[k], u[k]);
        t[2 * N - 1] = ptx::addc(t[2 * N - 1], u[2 * N - 1]);
        return redc(t);
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

/* 1/a by division steps, thirty at a time on the lowest words, applied to all words as a 2x2 matrix; limbs of 30 bits
 * with the sign in the last. A tenth of the latency of a power, which a whole block waits for. 0 gives 0. Source:
 * Bernstein, Yang 2019 with the starting value 1/2 of Wuille (libsecp256k1, modinv32). */
struct fp_steps {
    static constexpr int N = 13;
    static constexpr uint32_t MASK = (1u << 30) - 1;
    template <class W> __device__ __forceinline__ static uint32_t limb(W word, int i) {
        int w = 30 * i / 32, s = 30 * i % 32;
        uint32_t lo = word(w) >> s, hi = s == 0 || w + 1 >= 12 ? 0 : word(w + 1) << (32 - s);
        return (lo | hi) & MASK;
    }
    __device__ __forceinline__ static int32_t mod(int i) {
        return (int32_t)limb([](int w) { return fp_params::mod(w); }, i);
    }
    /* (x, y) = ((u x + v y) / 2^30, (q x + r y) / 2^30), exactly. */
    __device__ __forceinline__ static void update_exact(int32_t *x, int32_t *y, const int32_t *m) {
        int64_t cx = (int64_t)m[0] * x[0] + (int64_t)m[1] * y[0], cy = (int64_t)m[2] * x[0] + (int64_t)m[3] * y[0];
        cx >>= 30, cy >>= 30;
#pragma unroll
        for (int i = 1; i < N; i++) {
            cx += (int64_t)m[0] * x[i] + (int64_t)m[1] * y[i], cy += (int64_t)m[2] * x[i] + (int64_t)m[3] * y[i];
            x[i - 1] = (int32_t)((uint32_t)cx & MASK), y[i - 1] = (int32_t)((uint32_t)cy & MASK);
            cx >>= 30, cy >>= 30;
        }
        x[N - 1] = (int32_t)cx, y[N - 1] = (int32_t)cy;
    }
    /* The same modulo p; x and y stay within (-2p, p). */
    __device__ __forceinline__ static void update_mod(int32_t *x, int32_t *y, const int32_t *m) {
        constexpr uint32_t inverse = (0u - fp_params::NEG_INV) & MASK; /* 1/p mod 2^30 */
        int32_t sx = x[N - 1] >> 31, sy = y[N - 1] >> 31;
        int32_t mx = (m[0] & sx) + (m[1] & sy), my = (m[2] & sx) + (m[3] & sy);
        int64_t cx = (int64_t)m[0] * x[0] + (int64_t)m[1] * y[0], cy = (int64_t)m[2] * x[0] + (int64_t)m[3] * y[0];
        mx -= (int32_t)((inverse * (uint32_t)cx + (uint32_t)mx) & MASK);
        my -= (int32_t)((inverse * (uint32_t)cy + (uint32_t)my) & MASK);
        cx += (int64_t)mod(0) * mx, cy += (int64_t)mod(0) * my;
        cx >>= 30, cy >>= 30;
#pragma unroll
        for (int i = 1; i < N; i++) {
            cx += (int64_t)m[0] * x[i] + (int64_t)m[1] * y[i] + (int64_t)mod(i) * mx;
            cy += (int64_t)m[2] * x[i] + (int64_t)m[3] * y[i] + (int64_t)mod(i) * my;
            x[i - 1] = (int32_t)((uint32_t)cx & MASK), y[i - 1] = (int32_t)((uint32_t)cy & MASK);
            cx >>= 30, cy >>= 30;
        }
        x[N - 1] = (int32_t)cx, y[N - 1] = (int32_t)cy;
    }
    /* Thirty steps from the lowest words; m: the matrix times 2^30. */
    __device__ __forceinline__ static int32_t steps(int32_t *m, int32_t zeta, uint32_t f, uint32_t g) {
        uint32_t u = 1, v = 0, q = 0, r = 1;
#pragma unroll 6
        for (int i = 0; i < 30; i++) {
            uint32_t swap = (uint32_t)(zeta >> 31), odd = 0u - (g & 1);
            uint32_t x = (f ^ swap) - swap, y = (u ^ swap) - swap, z = (v ^ swap) - swap;
            g += x & odd, q += y & odd, r += z & odd;
            swap &= odd;
            zeta = (int32_t)((uint32_t)zeta ^ swap) - 1;
            f += g & swap, u += q & swap, v += r & swap;
            g >>= 1, u <<= 1, v <<= 1;
        }
        m[0] = (int32_t)u, m[1] = (int32_t)v, m[2] = (int32_t)q, m[3] = (int32_t)r;
        return zeta;
    }
    __device__ __forceinline__ static void carry_up(int32_t *x) {
#pragma unroll
        for (int i = 0; i < N - 1; i++) x[i + 1] += x[i] >> 30, x[i] &= (int32_t)MASK;
    }
    __device__ __forceinline__ static void add_if_negative(int32_t *x) {
        int32_t add = x[N - 1] >> 31;
#pragma unroll
        for (int i = 0; i < N; i++) x[i] += mod(i) & add;
    }
};
__device__ __noinline__ inline fp field_inv(const fp &a) {
    using s = fp_steps;
    int32_t d[s::N], e[s::N], f[s::N], g[s::N], m[4], zeta = -1;
#pragma unroll
    for (int i = 0; i < s::N; i++) {
        d[i] = 0;
        e[i] = (int32_t)s::limb([](int w) { return fp_params::r_squared(w); }, i); /* back to Montgomery form */
        f[i] = s::mod(i);
        g[i] = (int32_t)s::limb([&](int w) { return a.l[w]; }, i);
    }
    for (int round = 0; round < 30; round++) { /* 879 steps are enough for 381 bits */
        int32_t any = 0;
#pragma unroll
        for (int i = 0; i < s::N; i++) any |= g[i];
        if (any == 0) break;
        zeta = s::steps(m, zeta, (uint32_t)f[0] | (uint32_t)f[1] << 30, (uint32_t)g[0] | (uint32_t)g[1] << 30);
        s::update_mod(d, e, m);
        s::update_exact(f, g, m);
    }
    /* d is the inverse times f, which is 1 or -1. */
    int32_t negative = f[s::N - 1] >> 31;
    s::add_if_negative(d);
#pragma unroll
    for (int i = 0; i < s::N; i++) d[i] = (d[i] ^ negative) - negative;
    s::carry_up(d);
    s::add_if_negative(d);
    s::carry_up(d);
    fp out;
#pragma unroll
    for (int w = 0; w < 12; w++) {
        int i = 32 * w / 30, at = 32 * w % 30;
        uint64_t v = (uint64_t)(uint32_t)d[i] >> at;
        if (i + 1 < s::N) v |= (uint64_t)(uint32_t)d[i + 1] << (30 - at);
        if (i + 2 < s::N && at > 28) v |= (uint64_t)(uint32_t)d[i + 2] << (60 - at);
        out.l[w] = (uint32_t)v;
    }
    return out;
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
    /* Out of line: inlined, a G2 addition would be 40 kB of code. Three products, two reductions: sums of two residues
     * still fit, and what may be negative gets m R more. */
    __device__ __noinline__ fp2 operator*(const fp2 &b) const {
        constexpr int N = fp::N;
        uint32_t t0[2 * N], t1[2 * N], t2[2 * N], x[N], y[N];
        x[0] = ptx::add_cc(c0.l[0], c1.l[0]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) x[i] = ptx::addc_cc(c0.l[i], c1.l[i]);
        x[N - 1] = ptx::addc(c0.l[N - 1], c1.l[N - 1]);
        y[0] = ptx::add_cc(b.c0.l[0], b.c1.l[0]);
#pragma unroll
        for (int i = 1; i < N - 1; i++) y[i] = ptx::addc_cc(b.c0.l[i], b.c1.l[i]);
        y[N - 1] = ptx::addc(b.c0.l[N - 1], b.c1.l[N - 1]);
        fp::mul_wide(t2, x, y);
        fp::mul_wide(t0, c0.l, b.c0.l);
        subtract(t2, t0);
        fp::mul_wide(t1, c1.l, b.c1.l);
        subtract(t2, t1);
        uint32_t borrow = subtract(t0, t1);
        t0[N] = ptx::add_cc(t0[N], fp_params::mod(0) & borrow);
#pragma unroll
        for (int i = 1; i < N - 1; i++) t0[N + i] = ptx::addc_cc(t0[N + i], fp_params::mod(i) & borrow);
        t0[2 * N - 1] = ptx::addc(t0[2 * N - 1], fp_params::mod(N - 1) & borrow);
        return {fp::redc(t0), fp::redc(t2)};
    }
    /* a -= b over 2 N words; all ones when it is negative. */
    __device__ __forceinline__ static uint32_t subtract(uint32_t *a, const uint32_t *b) {
        a[0] = ptx::sub_cc(a[0], b[0]);
#pragma unroll
        for (int i = 1; i < 2 * fp::N; i++) a[i] = ptx::subc_cc(a[i], b[i]);
        return ptx::subc(0, 0);
    }
    __device__ __forceinline__ static fp2 mul_add(const fp2 &a, const fp2 &b, const fp2 &c, const fp2 &d) {
        return a * b + c * d;
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
