/* Every CUDA kernel against the CPU's result, then the benchmarks: `cuda_kernels` runs the tests, `cuda_kernels bench`
 * the table as well. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backend/cuda/msm.cuh"
#include "backend/cuda/ntt.cuh"
#include "backend/cuda/sums.cuh"
#include "twin.h"

static int passed, failed;
static cuzk_error error;

static void check(bool ok, const char *fmt, unsigned long long a = 0, unsigned long long b = 0) {
    char text[160];
    snprintf(text, sizeof text, fmt, a, b);
    (ok ? passed : failed)++;
    if (!ok) printf("FAIL  %s\n", text);
}
static void cuda(cudaError_t e, int line) {
    if (e == cudaSuccess) return;
    printf("CUDA: %s at line %d\n", cudaGetErrorString(e), line);
    exit(5);
}
#define CUDA(call) cuda((call), __LINE__)
static void must(cuzk_status s) {
    if (s == CUZK_OK) return;
    printf("status %d: %s %s\n", s, error.what, error.where);
    exit(5);
}

template <class T> struct device_array {
    T *data = nullptr;
    size_t n;
    explicit device_array(size_t count) : n(count) { CUDA(cudaMalloc(&data, (count ? count : 1) * sizeof(T))); }
    device_array(const T *host, size_t count) : device_array(count) {
        CUDA(cudaMemcpy(data, host, count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~device_array() { cudaFree(data); }
    std::vector<T> get() const {
        std::vector<T> v(n);
        CUDA(cudaMemcpy(v.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
};

template <class F> __global__ void op_kernel(int op, F *r, const F *a, const F *b, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    F x = a[i], y = b[i];
    switch (op) {
    case TWIN_ADD: r[i] = x + y; break;
    case TWIN_SUB: r[i] = x - y; break;
    case TWIN_MUL: r[i] = x * y; break;
    case TWIN_SQR: r[i] = x.sqr(); break;
    case TWIN_INV: r[i] = field_inv(x); break;
    }
}
__global__ void canon_kernel(fr *r, const fr *a, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) r[i] = a[i].canon();
}

template <class F> static void test_field(int field, const char *name) {
    const size_t n = 1 << 15;
    std::vector<F> a(n), b(n), want(n);
    twin_random(field, a.data(), n, 1);
    twin_random(field, b.data(), n, 2);
    for (size_t i = 0; i < 6; i++) /* each edge value with each */
        for (size_t j = 0; j < 6; j++) a[100 + 6 * i + j] = a[i], b[100 + 6 * i + j] = b[j];
    device_array<F> da(a.data(), n), db(b.data(), n), dr(n);
    for (int op = TWIN_ADD; op <= TWIN_INV; op++) {
        op_kernel<F><<<blocks_for(n, 128), 128>>>(op, dr.data, da.data, db.data, n);
        CUDA(cudaDeviceSynchronize());
        twin_op(field, op, want.data(), a.data(), b.data(), n);
        std::vector<F> got = dr.get();
        check(!memcmp(got.data(), want.data(), n * sizeof(F)), "field %llu op %llu", field, op);
    }
    printf("field %s\n", name);
}

static void test_canon() {
    const size_t n = 4096;
    std::vector<fr> a(n), want(n);
    twin_random(TWIN_FR, a.data(), n, 3);
    device_array<fr> da(a.data(), n), dr(n);
    canon_kernel<<<blocks_for(n, 128), 128>>>(dr.data, da.data, n);
    twin_op(TWIN_FR, TWIN_CANON, want.data(), a.data(), a.data(), n);
    check(!memcmp(dr.get().data(), want.data(), n * sizeof(fr)), "canonical form");
}

static uint64_t reversed(uint64_t i, unsigned k) {
    uint64_t r = 0;
    for (unsigned b = 0; b < k; b++) r |= (i >> b & 1) << (k - 1 - b);
    return r;
}

struct domain {
    ntt_tables t;
    device_array<fr> block, made;
    explicit domain(unsigned log2) : block(ntt_table_elements(log2)), made(ntt_made_elements(log2)) {
        std::vector<fr> host(ntt_table_elements(log2));
        twin_ntt_tables(host.data(), log2, POWER_LOW_BITS, &t.n_inverse, &t.z_inverse);
        CUDA(cudaMemcpy(block.data, host.data(), host.size() * sizeof(fr), cudaMemcpyHostToDevice));
        ntt_tables_place(&t, log2, block.data, made.data);
        must(ntt_tables_make(&t, 0, &error));
    }
};

static void test_ntt(unsigned k) {
    size_t n = (size_t)1 << k;
    domain d(k);
    std::vector<fr> a(n), b(n), c(n), x(n), scaled(n), factor(n);
    twin_random(TWIN_FR, a.data(), n, 10 + k);
    twin_random(TWIN_FR, b.data(), n, 50 + k);
    twin_random(TWIN_FR, c.data(), n, 90 + k);
    /* inverse: natural to bit-reversed, without 1/n */
    device_array<fr> da(a.data(), n), db(b.data(), n), dc(c.data(), n);
    must(ntt_inverse_enqueue(&d.t, da.data, 0, &error));
    std::vector<fr> got = da.get();
    for (size_t i = 0; i < n; i++) factor[i] = d.t.n_inverse;
    twin_op(TWIN_FR, TWIN_MUL, scaled.data(), got.data(), factor.data(), n);
    x = a;
    twin_ntt(x.data(), k, true);
    bool ok = true;
    for (size_t i = 0; i < n; i++) ok &= !memcmp(&scaled[reversed(i, k)], &x[i], sizeof(fr));
    check(ok, "inverse transform 2^%llu", k);
    /* forward: bit-reversed to natural */
    std::vector<fr> r(n);
    for (size_t i = 0; i < n; i++) r[reversed(i, k)] = a[i];
    CUDA(cudaMemcpy(da.data, r.data(), n * sizeof(fr), cudaMemcpyHostToDevice));
    must(ntt_forward_enqueue(&d.t, da.data, 0, &error));
    x = a;
    twin_ntt(x.data(), k, false);
    check(!memcmp(da.get().data(), x.data(), n * sizeof(fr)), "forward transform 2^%llu", k);
    /* quotient; c = a b on the domain, as a satisfied witness has it, and once with anything */
    for (int satisfied = 0; satisfied < 2; satisfied++) {
        std::vector<fr> a2 = a, b2 = b, c2 = c;
        if (satisfied) twin_op(TWIN_FR, TWIN_MUL, c2.data(), a2.data(), b2.data(), n);
        CUDA(cudaMemcpy(da.data, a2.data(), n * sizeof(fr), cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(db.data, b2.data(), n * sizeof(fr), cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(dc.data, c2.data(), n * sizeof(fr), cudaMemcpyHostToDevice));
        must(ntt_quotient_enqueue(&d.t, da.data, db.data, dc.data, 0, &error));
        got = db.get();
        twin_quotient(a2.data(), b2.data(), c2.data(), k);
        ok = n == 1 || !memcmp(got.data(), a2.data(), (n - 1) * sizeof(fr)); /* the last is no coefficient */
        check(ok, satisfied ? "quotient 2^%llu" : "quotient of an unsatisfied system 2^%llu", k);
    }
}

template <class F> static void test_msm(int group, size_t n, int pattern, bool indexed, size_t budget) {
    std::vector<affine<F>> points(n + 1);
    std::vector<fr> scalars(n + 1);
    std::vector<uint32_t> index(n + 1);
    if (n) twin_points(group, points.data(), n, 7 + n), twin_scalars(scalars.data(), n, 8 + n);
    affine<F> none;
    memset(&none, 0, sizeof none);
    for (size_t i = 0; i < n; i++) {
        index[i] = (uint32_t)((i * 7 + 3) % n);
        if (pattern == 1) points[i] = points[0];
        if (pattern == 2) {
            points[i] = points[i & ~(size_t)1], scalars[i] = scalars[i & ~(size_t)1];
            if (i & 1) twin_negate(group, &points[i]);
        }
        if (pattern == 3 && i % 3 == 0) points[i] = none;
        if (pattern == 4) memset(&scalars[i], 0, sizeof(fr)), scalars[i].l[0] = (uint32_t)(i % 2);
        if (pattern == 5) scalars[i] = scalars[0], points[i] = points[i % 2];
        if (pattern == 6) points[i] = none;
        if (pattern == 7) memset(&scalars[i], 0, sizeof(fr));
        if (pattern == 8) { /* r - 1 */
            fr m = {{0x00000000, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753}};
            scalars[i] = m;
        }
    }
    device_array<affine<F>> dp(points.data(), n);
    device_array<fr> ds(scalars.data(), n);
    device_array<uint32_t> di(index.data(), n);
    msm_plan plan = msm_plan_for<F>(n, budget);
    device_array<uint8_t> work(plan.bytes);
    device_array<xyzz<F>> sums(plan.windows);
    must(msm_enqueue<F>(plan, sums.data, dp.data, indexed ? di.data : nullptr, ds.data, work.data, 0, &error));
    CUDA(cudaDeviceSynchronize());
    check(twin_msm_equal(group, sums.get().data(), plan.windows, plan.c, points.data(),
                         indexed ? index.data() : nullptr, scalars.data(), n),
          group == 1 ? "G1 MSM n %llu pattern %llu" : "G2 MSM n %llu pattern %llu", n, pattern);
}

/* The sum of the points that a bitmap selects, with and without a mask, in small and in sufficient workspace.
 * every: 0: nothing is selected; 1: all; else about one in `every`. repeat: so many different points. */
template <class F> static void test_bit_sum(int group, uint32_t n, uint32_t every, bool masked, size_t repeat) {
    uint32_t words = (n + 63) / 64, first = 3;
    std::vector<uint64_t> bits(words), mask(words);
    std::vector<uint32_t> before(words), chosen;
    std::vector<affine<F>> points(n + first);
    std::vector<fr> noise(n);
    twin_random(TWIN_FR, noise.data(), n, n + every);
    twin_points(group, points.data(), std::min((size_t)n + first, repeat), 11 + n);
    for (size_t i = repeat; i < n + first; i++) points[i] = points[i % repeat];
    for (uint32_t i = 17; i < n; i += 50) memset(&points[i], 0, sizeof points[i]);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i % 64 == 0) before[i / 64] = rank;
        bool in_mask = !masked || noise[i].l[1] % 3 != 0, bit = every && noise[i].l[0] % every == 0;
        mask[i / 64] |= (uint64_t)in_mask << (i % 64);
        bits[i / 64] |= (uint64_t)bit << (i % 64);
        if (bit && in_mask) chosen.push_back(first + (masked ? rank : i));
        rank += in_mask;
    }
    device_array<affine<F>> dp(points.data(), points.size());
    device_array<uint64_t> db(bits.data(), words), dm(mask.data(), words);
    device_array<uint32_t> dr(before.data(), words);
    device_array<xyzz<F>> sum(1);
    ranked_bits m = {masked ? dm.data : nullptr, dr.data};
    for (int fast = 0; fast < 2; fast++) {
        size_t bytes = fast ? std::max(bit_sum_fast_bytes<F>(words, n), bit_sum_bytes<F>()) : bit_sum_bytes<F>();
        device_array<uint8_t> work(bytes);
        must(bit_sum_enqueue<F>(sum.data, dp.data, first, db.data, m, words, n, work.data, bytes, 0, &error));
        CUDA(cudaDeviceSynchronize());
        check(twin_msm_equal(group, sum.get().data(), 1, 0, points.data(), chosen.data(), nullptr, chosen.size()),
              "bit sum in G%llu n %llu", (unsigned long long)group, n);
    }
}

static float timed(void (*f)(void *), void *ctx) {
    cudaEvent_t e0, e1;
    cudaEventCreate(&e0), cudaEventCreate(&e1);
    std::vector<float> t;
    f(ctx);
    for (int i = 0; i < 3; i++) {
        cudaEventRecord(e0);
        f(ctx);
        cudaEventRecord(e1);
        CUDA(cudaEventSynchronize(e1));
        float ms;
        cudaEventElapsedTime(&ms, e0, e1);
        t.push_back(ms);
    }
    std::sort(t.begin(), t.end());
    return t[1];
}

__global__ void
spread_kernel(fr *x, size_t n,
              size_t have) { /* fills x[have..n) from x[0..have) with other bits mixed in, still below r */
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < have || i >= n) return;
    fr v = x[i % have];
    uint64_t h = (i / have + 1) * 0x9e3779b97f4a7c15ull;
    for (int k = 0; k < 7; k++) v.l[k] ^= (uint32_t)(h >> (k * 5)) * 2654435761u;
    x[i] = v;
}
template <class F> __global__ void spread_points_kernel(affine<F> *p, size_t n, size_t have) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < have || i >= n) return;
    p[i] = p[i % have];
}

struct bench_ntt_ctx {
    domain *d;
    fr *a, *b, *c;
};
static void bench_ntt(unsigned k) {
    size_t n = (size_t)1 << k, have = std::min(n, (size_t)1 << 18);
    domain d(k);
    std::vector<fr> a(have);
    twin_random(TWIN_FR, a.data(), have, 5);
    device_array<fr> x(n), y(n), z(n);
    CUDA(cudaMemcpy(x.data, a.data(), have * sizeof(fr), cudaMemcpyHostToDevice));
    spread_kernel<<<blocks_for(n, 256), 256>>>(x.data, n, have);
    CUDA(cudaMemcpy(y.data, x.data, n * sizeof(fr), cudaMemcpyDeviceToDevice));
    CUDA(cudaMemcpy(z.data, x.data, n * sizeof(fr), cudaMemcpyDeviceToDevice));
    bench_ntt_ctx c = {&d, x.data, y.data, z.data};
    float fwd = timed(
        [](void *p) {
            auto c = (bench_ntt_ctx *)p;
            must(ntt_forward_enqueue(&c->d->t, c->a, 0, &error));
        },
        &c);
    float inv = timed(
        [](void *p) {
            auto c = (bench_ntt_ctx *)p;
            must(ntt_inverse_enqueue(&c->d->t, c->a, 0, &error));
        },
        &c);
    float quo = timed(
        [](void *p) {
            auto c = (bench_ntt_ctx *)p;
            must(ntt_quotient_enqueue(&c->d->t, c->a, c->b, c->c, 0, &error));
        },
        &c);
    printf("NTT 2^%u: forward %.2f ms, inverse %.2f ms, quotient %.2f ms\n", k, fwd, inv, quo);
}

template <class F> struct bench_msm_ctx {
    msm_plan plan;
    xyzz<F> *sums;
    affine<F> *points;
    uint64_t *bits;
    fr *scalars;
    uint8_t *work;
    size_t n;
};
template <class F> static void bench_msm(int group, size_t n, size_t budget = (size_t)8192 << 20) {
    size_t have = std::min(n, (size_t)1 << 17);
    std::vector<affine<F>> points(have);
    std::vector<fr> scalars(have);
    twin_points(group, points.data(), have, 5);
    twin_scalars(scalars.data(), have, 6);
    device_array<affine<F>> dp(n);
    device_array<fr> ds(n);
    CUDA(cudaMemcpy(dp.data, points.data(), have * sizeof points[0], cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(ds.data, scalars.data(), have * sizeof(fr), cudaMemcpyHostToDevice));
    spread_points_kernel<F><<<blocks_for(n, 256), 256>>>(dp.data, n, have);
    spread_kernel<<<blocks_for(n, 256), 256>>>(ds.data, n, have);
    bench_msm_ctx<F> c = {msm_plan_for<F>(n, budget), nullptr, dp.data, nullptr, ds.data, nullptr, n};
    device_array<uint8_t> work(c.plan.bytes);
    device_array<xyzz<F>> sums(c.plan.windows);
    c.sums = sums.data, c.work = work.data;
    float ms = timed(
        [](void *p) {
            auto c = (bench_msm_ctx<F> *)p;
            must(msm_enqueue<F>(c->plan, c->sums, c->points, nullptr, c->scalars, c->work, 0, &error));
        },
        &c);
    std::vector<uint64_t> half((n + 63) / 64, 0x5a5a96963c3ca5a5ull);
    device_array<uint64_t> bits(half.data(), half.size());
    c.bits = bits.data;
    float sum = timed(
        [](void *p) {
            auto c = (bench_msm_ctx<F> *)p;
            must(bit_sum_enqueue<F>(c->sums, c->points, 0, c->bits, {nullptr, nullptr}, (uint32_t)(c->n / 64), c->n,
                                    c->work, c->plan.bytes, 0, &error));
        },
        &c);
    printf("G%d MSM n %zu: %.2f ms (c %u, %u windows, %u at once, %s, %.2f GiB); sum of half of the points %.2f ms\n",
           group, n, ms, c.plan.c, c.plan.windows, c.plan.group, c.plan.reduced ? "affine" : "XYZZ",
           (double)c.plan.bytes / (1 << 30), sum);
}

int main(int argc, char **argv) {
    twin_init();
    cudaDeviceProp prop;
    CUDA(cudaGetDeviceProperties(&prop, 0));
    printf("%s, %d multiprocessors\n", prop.name, prop.multiProcessorCount);
    if (argc > 3) { /* one benchmark alone, as a profiler wants it */
        unsigned log2 = (unsigned)atoi(argv[3]);
        if (!strcmp(argv[2], "ntt")) bench_ntt(log2);
        if (!strcmp(argv[2], "g1")) bench_msm<fp>(1, (size_t)1 << log2);
        if (!strcmp(argv[2], "g2")) bench_msm<fp2>(2, (size_t)1 << log2);
        return 0;
    }
    test_field<fr>(TWIN_FR, "fr");
    test_field<fp>(TWIN_FP, "fp");
    test_field<fp2>(TWIN_FP2, "fp2");
    test_canon();
    for (unsigned k = 0; k <= 13; k++) test_ntt(k);
    test_ntt(18);
    test_ntt(20);
    size_t sizes[] = {0, 1, 2, 3, 31, 33, 256, 257, 5000};
    for (size_t n : sizes)
        for (int pattern = 0; pattern <= 8; pattern++) {
            if (n == 0 && pattern) continue;
            test_msm<fp>(1, n, pattern, pattern & 1, (size_t)1 << 30);
            if (n <= 257) test_msm<fp2>(2, n, pattern, pattern & 1, (size_t)1 << 30);
        }
    test_msm<fp>(1, 65537, 0, true, (size_t)1 << 24); /* a budget of one window */
    for (int pattern = 0; pattern <= 8; pattern++) {
        test_msm<fp>(1, 100003, pattern, pattern & 1, (size_t)1 << 30);
        if (pattern % 3 == 0 || pattern == 5) test_msm<fp2>(2, 40000, pattern, true, (size_t)1 << 30);
    }
    test_msm<fp>(1, 1 << 18, 5, false, (size_t)1 << 30);
    test_msm<fp2>(2, 1 << 14, 0, false, (size_t)1 << 30);
    test_bit_sum<fp>(1, 1, 1, false, 100);
    test_bit_sum<fp>(1, 1000, 2, true, 5000);
    test_bit_sum<fp>(1, 300000, 0, false, 100);
    test_bit_sum<fp>(1, 300001, 2, true, 20000);
    test_bit_sum<fp>(1, 200007, 1, false, 3);
    test_bit_sum<fp>(1, 200000, 1, true, 1);
    test_bit_sum<fp2>(2, 150001, 2, true, 5000);
    test_bit_sum<fp2>(2, 140000, 50, false, 2);
    printf("%d passed, %d failed\n", passed, failed);
    if (argc > 1 && !strcmp(argv[1], "bench") && !failed) {
        for (unsigned k = 17; k <= 27; k += 5) bench_ntt(k);
        bench_msm<fp>(1, 1 << 18);
        bench_msm<fp>(1, 1 << 20);
        bench_msm<fp>(1, 1 << 22);
        bench_msm<fp>(1, 1 << 24);
        bench_msm<fp>(1, 1 << 27);
        bench_msm<fp2>(2, 1 << 18);
        bench_msm<fp2>(2, 1 << 22);
        bench_msm<fp2>(2, 1 << 25);
    }
    return failed != 0;
}
