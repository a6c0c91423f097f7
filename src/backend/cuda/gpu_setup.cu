/* A development key in device memory; see gpu.h and setup.cuh. */
#include <cstring>
#include <new>
#include <vector>

#include "setup.cuh"

namespace {

/* L_i(tau) (tau^m - 1)/m * w^i / (tau - w^i), for i < n; a thread inverts a run of differences together. */
constexpr unsigned RUN = 64;
__global__ void lagrange_kernel(fr *out, fr *prefix, power_table omega, fr tau, fr scale, uint64_t n, uint64_t stride) {
    uint64_t t = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (t >= stride) return;
    fr product = fr::one();
    for (uint64_t i = t; i < n; i += stride) {
        prefix[i] = product;
        product = product * (tau - omega.at((uint32_t)i));
    }
    fr inverse = field_inv(product);
    for (uint64_t k = (n - t + stride - 1) / stride; k-- > 0;) {
        uint64_t i = t + k * stride;
        fr w = omega.at((uint32_t)i), d = tau - w;
        out[i] = inverse * prefix[i] * w * scale;
        inverse = inverse * d;
    }
}

/* Counters to a residue: the number is below 2^320. */
__device__ fr residue(const unsigned long long *acc, const fr &r_squared) {
    fr low, high = fr::zero();
    uint64_t carry = 0;
#pragma unroll
    for (int j = 0; j < 8; j++) {
        uint64_t a = acc[j], sum = (a & 0xffffffffu) + (carry & 0xffffffffu);
        low.l[j] = (uint32_t)sum;
        carry = (a >> 32) + (carry >> 32) + (sum >> 32);
    }
    high.l[0] = (uint32_t)carry;
    high.l[1] = (uint32_t)(carry >> 32);
    for (int k = 0; k < 2; k++) low = fr::reduce_once(low.l); /* below 2^256 < 3 r */
    return low + high * r_squared;
}
__global__ void residue_kernel(fr *out, const unsigned long long *acc, uint64_t n, fr r_squared) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = residue(acc + 8 * i, r_squared);
}
__global__ void input_rows_kernel(fr *u, const fr *lagrange, uint64_t constraints, uint32_t n_inputs) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_inputs) u[i] = u[i] + lagrange[constraints + i];
}

/* (beta u + alpha v + w) * scale, canonical. */
__global__ void combine_kernel(fr *out, const fr *u, const fr *v, const fr *w, fr alpha, fr beta, fr scale,
                               uint64_t n) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = ((beta * u[i] + alpha * v[i] + w[i]) * scale).canon();
}
/* Canonical values of the variables that the mask selects, first .. first + n, packed; first is a multiple of 64. */
__global__ void pack_kernel(fr *out, const fr *values, ranked_bits mask, uint32_t first, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && mask.get(first + i)) out[mask.rank(first + i) - mask.before[first / 64]] = values[first + i].canon();
}
__global__ void canon_kernel(fr *out, const fr *values, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = values[i].canon();
}
/* tau^j * scale by the two-level table. */
__global__ void powers_kernel(fr *out, power_table tau, fr scale, uint64_t first, uint64_t n) {
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = (tau.at((uint32_t)(first + i)) * scale).canon();
}

struct setup_run {
    const gpu_shape *s;
    gpu_key *key;
    const gpu_setup_source *src;
    fr *lagrange, *u, *v, *w, *scalars, *tau_block;
    unsigned long long *acc;
    affine<fp> *table1, *base1, *ic;
    affine<fp2> *table2, *base2;
    xyzz<fp> *scratch1;
    xyzz<fp2> *scratch2;
    fp *prefix1;
    fp2 *prefix2;
    fr *prefix_r;
    size_t bytes;
};

size_t lay_out(setup_run *r, uint32_t n_inputs, uint32_t n_aux, uint32_t log2, void *base) {
    workspace space = {static_cast<uint8_t *>(base), 0};
    size_t m = (size_t)1 << log2, variables = (size_t)n_inputs + n_aux;
    size_t chunk = variables > m ? variables : m; /* points made at once */
    if (chunk > FIXED_CHUNK) chunk = FIXED_CHUNK;
    size_t most = chunk > fixed_base_points() ? chunk : fixed_base_points();
    r->lagrange = space.take<fr>(m);
    r->u = space.take<fr>(variables);
    r->v = space.take<fr>(variables);
    r->w = space.take<fr>(variables);
    r->tau_block = space.take<fr>(ntt_table_elements(log2)); /* more than the two tables need */
    r->scalars = space.take<fr>(chunk > n_inputs ? chunk : n_inputs);
    r->table1 = space.take<affine<fp>>(fixed_base_points());
    r->table2 = space.take<affine<fp2>>(fixed_base_points());
    r->base1 = space.take<affine<fp>>(1);
    r->base2 = space.take<affine<fp2>>(1);
    r->ic = space.take<affine<fp>>(n_inputs);
    /* The counters and the Lagrange prefix products are done with before the points are made. */
    size_t at = space.used;
    r->acc = space.take<unsigned long long>(8 * variables);
    size_t end = space.used;
    space.used = at;
    r->prefix_r = space.take<fr>(m);
    if (space.used > end) end = space.used;
    space.used = at;
    r->scratch1 = space.take<xyzz<fp>>(most);
    r->prefix1 = space.take<fp>(most);
    r->scratch2 = reinterpret_cast<xyzz<fp2> *>(r->scratch1);
    space.used = at;
    r->scratch2 = space.take<xyzz<fp2>>(most);
    r->prefix2 = space.take<fp2>(most);
    return space.used > end ? space.used : end;
}

cuzk_status polynomials(setup_run *r, cuzk_error *err) {
    const gpu_shape *s = r->s;
    const gpu_setup_source *src = r->src;
    uint64_t n = 1ull << s->log2, stride = (n + RUN - 1) / RUN, variables = (uint64_t)s->n_inputs + s->n_aux;
    fr tau, scale, r2;
    memcpy(&tau, src->tau, sizeof tau);
    memcpy(&scale, src->lagrange_scale, sizeof scale);
    memcpy(&r2, src->r_squared, sizeof r2);
    lagrange_kernel<<<blocks_for(stride, 128), 128>>>(r->lagrange, r->prefix_r, s->ntt.forward, tau, scale, n, stride);
    fr *x[3] = {r->u, r->v, r->w};
    for (int m = 0; m < 3; m++) {
        CUDA_TRY(cudaMemset(r->acc, 0, variables * 64));
        cuzk_status st = transposed_enqueue(&s->rows, m, r->lagrange, r->acc, 0, err);
        if (st != CUZK_OK) return st;
        residue_kernel<<<blocks_for(variables, 256), 256>>>(x[m], r->acc, variables, r2);
    }
    input_rows_kernel<<<blocks_for(s->n_inputs, 256), 256>>>(r->u, r->lagrange, s->rows.constraints, s->n_inputs);
    CUDA_TRY(cudaDeviceSynchronize());
    return CUZK_OK;
}

cuzk_status points(setup_run *r, cuzk_error *err) {
    const gpu_shape *s = r->s;
    const gpu_setup_source *src = r->src;
    gpu_key *k = r->key;
    cuzk_status st;
    fr alpha, beta, gamma_inverse, delta_inverse, h_scale;
    memcpy(&alpha, src->alpha, sizeof alpha);
    memcpy(&beta, src->beta, sizeof beta);
    memcpy(&gamma_inverse, src->gamma_inverse, sizeof gamma_inverse);
    memcpy(&delta_inverse, src->delta_inverse, sizeof delta_inverse);
    memcpy(&h_scale, src->h_scale, sizeof h_scale);
    CUDA_TRY(cudaMemcpy(r->base1, src->g1, sizeof(affine<fp>), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(r->base2, src->g2, sizeof(affine<fp2>), cudaMemcpyHostToDevice));
    if ((st = fixed_base_table<fp>(r->table1, r->base1, r->scratch1, r->prefix1, 0, err)) != CUZK_OK) return st;
    if ((st = fixed_base_table<fp2>(r->table2, r->base2, r->scratch2, r->prefix2, 0, err)) != CUZK_OK) return st;
#define G1_POINTS(out, n)                                                                                              \
    if ((st = fixed_base_enqueue<fp>(out, r->table1, r->scalars, n, r->scratch1, r->prefix1, 0, err)) != CUZK_OK)      \
    return st
#define G2_POINTS(out, n)                                                                                              \
    if ((st = fixed_base_enqueue<fp2>(out, r->table2, r->scalars, n, r->scratch2, r->prefix2, 0, err)) != CUZK_OK)     \
    return st
    affine<fp> *h = const_cast<affine<fp> *>(k->h), *l = const_cast<affine<fp> *>(k->l),
               *a = const_cast<affine<fp> *>(k->a), *b1 = const_cast<affine<fp> *>(k->b_g1);
    affine<fp2> *b2 = const_cast<affine<fp2> *>(k->b_g2);
    CUDA_TRY(cudaMemcpy(r->tau_block, src->tau_block, src->tau_elements * sizeof(fr), cudaMemcpyHostToDevice));
    power_table tau = {r->tau_block, r->tau_block + ((size_t)1 << POWER_LOW_BITS)};
    for (uint64_t i = 0; i < k->n_h; i += FIXED_CHUNK) {
        uint64_t n = k->n_h - i < FIXED_CHUNK ? k->n_h - i : FIXED_CHUNK;
        powers_kernel<<<blocks_for(n, 256), 256>>>(r->scalars, tau, h_scale, i, n);
        G1_POINTS(h + i, n);
    }
    /* inputs: ic, and those of a and b */
    uint32_t inputs = s->n_inputs;
    combine_kernel<<<blocks_for(inputs, 256), 256>>>(r->scalars, r->u, r->v, r->w, alpha, beta, gamma_inverse, inputs);
    G1_POINTS(r->ic, inputs);
    canon_kernel<<<blocks_for(inputs, 256), 256>>>(r->scalars, r->u, inputs);
    G1_POINTS(a, inputs);
    for (uint32_t i = 0; i < src->n_b_inputs; i++) {
        canon_kernel<<<1, 32>>>(r->scalars, r->v + src->b_inputs[i], 1);
        G1_POINTS(b1 + i, 1);
        G2_POINTS(b2 + i, 1);
    }
    uint32_t at_a = inputs, at_b = src->n_b_inputs;
    const fr *u = r->u + inputs, *v = r->v + inputs, *w = r->w + inputs;
    for (uint32_t first = 0; first < s->n_aux; first += (uint32_t)FIXED_CHUNK) {
        uint32_t n = s->n_aux - first < FIXED_CHUNK ? s->n_aux - first : (uint32_t)FIXED_CHUNK;
        combine_kernel<<<blocks_for(n, 256), 256>>>(r->scalars, u + first, v + first, w + first, alpha, beta,
                                                    delta_inverse, n);
        G1_POINTS(l + first, n);
        uint32_t in_a = 0, in_b = 0, words = (n + 63) / 64;
        for (uint32_t i = 0; i < words; i++)
            in_a += (uint32_t)__builtin_popcountll(src->a_density[first / 64 + i]),
                in_b += (uint32_t)__builtin_popcountll(src->b_density[first / 64 + i]);
        pack_kernel<<<blocks_for(n, 256), 256>>>(r->scalars, u, s->a_density, first, n);
        G1_POINTS(a + at_a, in_a);
        pack_kernel<<<blocks_for(n, 256), 256>>>(r->scalars, v, s->b_density, first, n);
        G1_POINTS(b1 + at_b, in_b);
        G2_POINTS(b2 + at_b, in_b);
        at_a += in_a, at_b += in_b;
    }
    CUDA_TRY(cudaMemcpy(src->ic_out, r->ic, inputs * sizeof(affine<fp>), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaDeviceSynchronize());
    return CUZK_OK;
}
} // namespace

uint64_t gpu_setup_bytes(uint32_t n_inputs, uint32_t n_aux, uint32_t log2) {
    setup_run r = {};
    return lay_out(&r, n_inputs, n_aux, log2, nullptr);
}

cuzk_status gpu_setup(gpu_key **out, const gpu_shape *s, const gpu_setup_source *src, cuzk_error *err) {
    uint32_t in_a = 0, in_b = 0;
    for (uint32_t i = 0; i < s->n_words; i++)
        in_a += (uint32_t)__builtin_popcountll(src->a_density[i]),
            in_b += (uint32_t)__builtin_popcountll(src->b_density[i]);
    gpu_key_source empty = {};
    empty.n_h = (uint32_t)((1ull << s->log2) - 1);
    empty.n_l = s->n_aux;
    empty.n_a = s->n_inputs + in_a;
    empty.n_b = src->n_b_inputs + in_b;
    const gpu_key_layout whole = {GPU_WHOLE_KEY, 1, 0};
    cuzk_status st = gpu_key_reserve(out, s->memory.device, &empty, &whole, err);
    if (st != CUZK_OK) return st;
    setup_run r = {};
    r.s = s;
    r.key = *out;
    r.src = src;
    gpu_block work;
    size_t bytes = lay_out(&r, s->n_inputs, s->n_aux, s->log2, nullptr);
    st = gpu_block_alloc(&work, s->memory.device, bytes, "key making", err);
    if (st == CUZK_OK) {
        lay_out(&r, s->n_inputs, s->n_aux, s->log2, work.data);
        st = polynomials(&r, err);
        if (st == CUZK_OK) st = points(&r, err);
        cudaMemset(work.data, 0, work.bytes);
        gpu_block_free(&work);
    }
    if (st != CUZK_OK) {
        gpu_key_destroy(*out);
        *out = nullptr;
    }
    return st;
}
