/* See reduce.cuh. */
#include "reduce.cuh"

namespace {

constexpr unsigned THREADS = 128, PAIRS = REDUCE_GROUP / 2;

/* Blocks that an H200 holds at once; on other devices they come in turn. */
template <class F> struct shape_of {
    static constexpr unsigned PER_SM = 3, BLOCKS = 132 * PER_SM, GROUPS = 32; /* of a thread in one turn, at most */
};
template <> struct shape_of<fp2> { static constexpr unsigned PER_SM = 2, BLOCKS = 132 * PER_SM, GROUPS = 16; };

/* A point somewhere: its words of 16 bytes are `stride` apart. */
struct operand {
    const uint4 *at;
    unsigned stride;
    bool none, negate;
};

template <class F> __device__ __forceinline__ F load(const uint4 *at, unsigned stride) {
    constexpr int WORDS = sizeof(F) / 16;
    union {
        F value;
        uint4 word[WORDS];
    } v;
#pragma unroll
    for (int i = 0; i < WORDS; i++) v.word[i] = at[(size_t)i * stride];
    return v.value;
}
template <class F> __device__ __forceinline__ void store(uint4 *at, unsigned stride, const F &value) {
    constexpr int WORDS = sizeof(F) / 16;
    union {
        F value;
        uint4 word[WORDS];
    } v;
    v.value = value;
#pragma unroll
    for (int i = 0; i < WORDS; i++) at[(size_t)i * stride] = v.word[i];
}
template <class F> __device__ __forceinline__ F load_x(const operand &p) {
    return load<F>(p.at, p.stride);
}
/* y of a point that is finite: never 0, as no point has order 2. */
template <class F> __device__ __forceinline__ F load_y(const operand &p) {
    F y = load<F>(p.at + (sizeof(F) / 16) * p.stride, p.stride);
    return p.negate ? F::zero() - y : y;
}

enum pair_kind { ADD, DOUBLE, FIRST, SECOND, NOTHING };

/* The divisor where the x are equal, or one is 0 as at infinity, or a point is missing; out of the loops' way. */
template <class F>
__device__ __noinline__ pair_kind rare_divisor(F *d, const F *px, const F *qx, const operand *p, const operand *q) {
    F py = load<F>(p->at + (sizeof(F) / 16) * p->stride, p->stride);
    F qy = load<F>(q->at + (sizeof(F) / 16) * q->stride, q->stride);
    bool p0 = p->none || (px->is_zero() && py.is_zero()), q0 = q->none || (qx->is_zero() && qy.is_zero());
    if (p0 || q0) {
        *d = F::one();
        return !p0 ? FIRST : !q0 ? SECOND : NOTHING;
    }
    if (!d->is_zero()) return ADD;
    if (p->negate) py = py.neg();
    if (q->negate) qy = qy.neg();
    bool same = py == qy;
    *d = same ? py.dbl() : F::one();
    return same ? DOUBLE : NOTHING;
}

/* What to divide by: x2 - x1, or 2 y to double, or 1 where there is nothing to divide. */
template <class F>
__device__ __forceinline__ F divisor(const F &px, const F &qx, const operand &p, const operand &q, pair_kind *kind) {
    F d = qx - px;
    *kind = ADD;
    if (p.none || q.none || d.is_zero() || px.is_zero() || qx.is_zero()) {
        F d2 = d, px2 = px, qx2 = qx;
        operand p2 = p, q2 = q;
        *kind = rare_divisor(&d2, &px2, &qx2, &p2, &q2);
        d = d2;
    }
    return d;
}

template <class F> __device__ __noinline__ F slope_of_doubling(const F &x) {
    F xx = x.sqr();
    return xx.dbl() + xx;
}

/* 1 / value in each thread: products up a tree, one inversion, and down again. */
template <class F> __device__ F block_inverse(const F &value, F *node) {
    unsigned t = threadIdx.x;
    node[THREADS + t] = value;
    __syncthreads();
#pragma unroll 1
    for (unsigned n = THREADS / 2; n > 0; n /= 2) {
        if (t < n) node[n + t] = fetch(node + 2 * (n + t)) * fetch(node + 2 * (n + t) + 1);
        __syncthreads();
    }
    if (t == 0) node[1] = field_inv(node[1]);
    __syncthreads();
#pragma unroll 1
    for (unsigned n = 1; n < THREADS; n *= 2) {
        /* Two threads a node: each child gets the node times the other child. */
        F child;
        if (t < 2 * n) child = fetch(node + n + t / 2) * fetch(node + ((2 * n + t) ^ 1));
        __syncthreads();
        if (t < 2 * n) node[2 * n + t] = child;
        __syncthreads();
    }
    return node[THREADS + t];
}

/* One thread's place: its groups are THREADS apart, the first is `first`. */
struct place {
    const uint4 *points;
    const uint32_t *list;
    uint32_t count, first;
    uint4 *between; /* points between levels: slot s at between[s * words * THREADS] */
    unsigned level;
};

template <class F> __device__ __forceinline__ void operands(operand *p, operand *q, const place &w, unsigned m) {
    constexpr unsigned WORDS = 2 * sizeof(F) / 16;
    unsigned i = m >> (2 - w.level), k = m & ((PAIRS >> w.level) - 1);
    if (w.level == 0) {
        uint32_t at = (w.first + i * THREADS) * REDUCE_GROUP + 2 * k;
        uint2 entry = make_uint2(at < w.count ? at : REDUCE_NONE, at + 1 < w.count ? at + 1 : REDUCE_NONE);
        if (w.list) {
            if (entry.x != REDUCE_NONE) entry.x = w.list[at];
            if (entry.y != REDUCE_NONE) entry.y = w.list[at + 1];
        }
        uint32_t e[2] = {entry.x, entry.y};
        operand *o[2] = {p, q};
#pragma unroll
        for (int s = 0; s < 2; s++) {
            bool none = e[s] == REDUCE_NONE;
            *o[s] = {w.points + (none ? 0 : (size_t)(e[s] & ~REDUCE_SIGN) * WORDS), 1, none,
                     !none && (e[s] & REDUCE_SIGN) != 0};
        }
    } else {
        unsigned a = i * PAIRS + (k << w.level), b = a + w.level;
        *p = {w.between + (size_t)a * WORDS * THREADS, THREADS, false, false};
        *q = {w.between + (size_t)b * WORDS * THREADS, THREADS, false, false};
    }
}

template <class F>
__global__ void __launch_bounds__(THREADS, shape_of<F>::PER_SM)
    reduce_kernel(affine<F> *out, const affine<F> *points, const uint32_t *list, const uint32_t *count, uint4 *scratch,
                  unsigned most) {
    extern __shared__ uint4 reduce_shared[];
    F *node = reinterpret_cast<F *>(reduce_shared);
    constexpr unsigned F_WORDS = sizeof(F) / 16, WORDS = 2 * F_WORDS;
    uint32_t groups = (*count + REDUCE_GROUP - 1) / REDUCE_GROUP, lanes = gridDim.x * THREADS;
    if (groups == 0) return;
    /* Turns of equal length. */
    uint32_t each = (groups + lanes - 1) / lanes, turns = (each + most - 1) / most, u = (each + turns - 1) / turns;
    place w = {reinterpret_cast<const uint4 *>(points), list, *count, 0, nullptr, 0};
    w.between = scratch + (size_t)blockIdx.x * most * PAIRS * (WORDS + F_WORDS) * THREADS + threadIdx.x;
    uint4 *before = w.between + (size_t)most * PAIRS * WORDS * THREADS; /* products before each pair */
    for (uint32_t turn = blockIdx.x; (uint64_t)turn * THREADS * u < groups; turn += gridDim.x) {
        w.first = turn * THREADS * u + threadIdx.x;
        uint32_t mine = w.first >= groups ? 0 : min(u, (groups - w.first + THREADS - 1) / THREADS);
#pragma unroll 1
        for (w.level = 0; w.level < 3; w.level++) {
            unsigned n = mine * (PAIRS >> w.level);
            operand p, q;
            pair_kind kind;
            F product = F::one();
#pragma unroll 1
            for (unsigned m = 0; m < n; m++) {
                operands<F>(&p, &q, w, m);
                F px = load_x<F>(p), qx = load_x<F>(q), d = divisor(px, qx, p, q, &kind);
                store(before + (size_t)m * F_WORDS * THREADS, THREADS, product);
                product = product * d;
            }
            F inverse = block_inverse(product, node);
#pragma unroll 1
            for (unsigned m = n; m-- > 0;) {
                operands<F>(&p, &q, w, m);
                F px = load_x<F>(p), qx = load_x<F>(q), py = load_y<F>(p), qy = load_y<F>(q);
                F d = divisor(px, qx, p, q, &kind);
                F mine_inverse = inverse * load<F>(before + (size_t)m * F_WORDS * THREADS, THREADS);
                inverse = inverse * d;
                F rise = qy - py;
                if (kind == DOUBLE) rise = slope_of_doubling(px);
                F slope = rise * mine_inverse;
                F x = slope.sqr() - px - qx, y = slope * (px - x) - py;
                if (kind > DOUBLE) {
                    x = kind == FIRST ? px : kind == SECOND ? qx : F::zero();
                    y = kind == FIRST ? py : kind == SECOND ? qy : F::zero();
                }
                unsigned i = m >> (2 - w.level), k = m & ((PAIRS >> w.level) - 1);
                uint4 *to = w.between + (size_t)(i * PAIRS + (k << w.level)) * WORDS * THREADS;
                unsigned stride = THREADS;
                if (w.level == 2) to = reinterpret_cast<uint4 *>(out + w.first + i * THREADS), stride = 1;
                store(to, stride, x);
                store(to + F_WORDS * stride, stride, y);
            }
        }
    }
}

/* Groups of a thread in one turn, at most. */
template <class F> unsigned most_for(size_t count) {
    size_t each = (count / REDUCE_GROUP) / (shape_of<F>::BLOCKS * THREADS) + 1;
    return each < shape_of<F>::GROUPS ? (unsigned)each : shape_of<F>::GROUPS;
}

} // namespace

template <class F> size_t reduce_scratch_bytes(size_t count) {
    return (size_t)shape_of<F>::BLOCKS * most_for<F>(count) * PAIRS * THREADS * 3 * sizeof(F);
}

template <class F>
cuzk_status reduce_enqueue(affine<F> *out, const affine<F> *points, const uint32_t *list, const uint32_t *count,
                           size_t count_max, void *scratch, cudaStream_t stream, cuzk_error *err) {
    constexpr size_t shared = 2 * THREADS * sizeof(F);
    reduce_kernel<F><<<shape_of<F>::BLOCKS, THREADS, shared, stream>>>(
        out, points, list, count, static_cast<uint4 *>(scratch), most_for<F>(count_max));
    CUDA_TRY(cudaGetLastError());
    return CUZK_OK;
}

#define INSTANTIATE(F)                                                                                                 \
    template size_t reduce_scratch_bytes<F>(size_t);                                                                   \
    template cuzk_status reduce_enqueue<F>(affine<F> *, const affine<F> *, const uint32_t *, const uint32_t *, size_t, \
                                           void *, cudaStream_t, cuzk_error *);
INSTANTIATE(fp)
INSTANTIATE(fp2)
