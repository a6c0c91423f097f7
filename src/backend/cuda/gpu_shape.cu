/* Shapes and keys in device memory; see gpu.h. */
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "gpu.cuh"

size_t gpu_ntt_elements(unsigned log2) {
    return ntt_table_elements(log2);
}
unsigned gpu_ntt_low_bits(void) {
    return POWER_LOW_BITS;
}

namespace {

/* The same walk twice: counts bytes, then uploads. */
struct uploader {
    workspace space;
    cudaError_t error;
    template <class T> T *put(const T *host, size_t count) {
        T *at = space.take<T>(count);
        if (at && count && error == cudaSuccess)
            error = cudaMemcpy(at, host, count * sizeof(T), cudaMemcpyHostToDevice);
        return at;
    }
};

struct query_lists {
    std::vector<uint32_t> point, field;
};

/* Field elements of the three queries; the inputs of A and B first. */
void list_queries(query_lists q[3], const gpu_shape_source *src) {
    for (uint32_t i = 0; i < src->n_inputs; i++) q[1].point.push_back(i), q[1].field.push_back(FROM_INPUT | i);
    for (uint32_t i = 0; i < src->n_b_inputs; i++)
        q[2].point.push_back(i), q[2].field.push_back(FROM_INPUT | src->b_inputs[i]);
    uint32_t words = (src->n_aux + 63) / 64, field = 0, a = src->n_inputs, b = src->n_b_inputs;
    for (uint32_t w = 0; w < words; w++) {
        uint64_t in_a = src->a_density[w], in_b = src->b_density[w];
        for (uint64_t f = src->is_field[w]; f; f &= f - 1, field++) {
            uint64_t bit = f & -f;
            q[0].point.push_back(w * 64 + (uint32_t)__builtin_ctzll(f)), q[0].field.push_back(field);
            if (in_a & bit)
                q[1].point.push_back(a + (uint32_t)__builtin_popcountll(in_a & (bit - 1))), q[1].field.push_back(field);
            if (in_b & bit)
                q[2].point.push_back(b + (uint32_t)__builtin_popcountll(in_b & (bit - 1))), q[2].field.push_back(field);
        }
        a += (uint32_t)__builtin_popcountll(in_a);
        b += (uint32_t)__builtin_popcountll(in_b);
    }
}

std::vector<uint32_t> long_rows(const gpu_segment_source *g, int m) {
    std::vector<uint32_t> rows;
    uint32_t from = 0;
    for (uint64_t r = 0; r < g->rows; from = g->matrix[m].row_end[r++])
        if (g->matrix[m].row_end[r] - from >= ROW_LONG) rows.push_back((uint32_t)r);
    return rows;
}

std::vector<uint32_t> ranks(const uint64_t *words, uint32_t n) {
    std::vector<uint32_t> before(n);
    uint32_t sum = 0;
    for (uint32_t w = 0; w < n; w++) before[w] = sum, sum += (uint32_t)__builtin_popcountll(words[w]);
    return before;
}

void upload(gpu_shape *s, uploader *u, const gpu_shape_source *src, const query_lists q[3]) {
    uint32_t words = (src->n_aux + 63) / 64;
    for (int k = 0; k < 3; k++) {
        const gpu_segment_source *from = &src->segment[k];
        rows_segment *to = &s->rows.segment[k];
        *to = {};
        to->first_row = from->first_row;
        to->rows = from->rows;
        to->copies = from->copies;
        to->first_aux = from->first_aux;
        to->aux = from->aux;
        to->first_input = from->first_input;
        to->inputs = from->inputs;
        to->n_params = from->n_params;
        to->params = u->put(from->params, (size_t)from->n_params * from->copies);
        for (int m = 0; m < 3; m++) {
            std::vector<uint32_t> rows = long_rows(from, m);
            to->matrix[m].row_end = u->put(from->matrix[m].row_end, from->rows);
            to->matrix[m].vars = u->put(from->matrix[m].vars, from->matrix[m].nnz);
            to->matrix[m].coeffs =
                u->put(static_cast<const uint8_t *>(from->matrix[m].coeffs), from->matrix[m].nnz * src->coeff_width);
            to->matrix[m].long_rows = u->put(rows.data(), rows.size());
            to->matrix[m].n_long = (uint32_t)rows.size();
        }
    }
    s->rows.coeff_table = u->put(static_cast<const fr *>(src->coeff_table), src->coeff_count);
    s->rows.coeff_width = src->coeff_width;
    s->rows.constraints = src->constraints;
    s->rows.n_inputs = s->n_inputs = src->n_inputs;
    s->rows.n_aux = s->n_aux = src->n_aux;
    s->n_b_inputs = src->n_b_inputs;
    s->n_words = words;
    s->n_fields = src->n_fields;
    s->log2 = src->log2;
    struct {
        ranked_bits *to;
        const uint64_t *from;
    } maps[3] = {{&s->rows.is_field, src->is_field}, {&s->a_density, src->a_density}, {&s->b_density, src->b_density}};
    for (auto &m : maps) {
        m.to->words = u->put(m.from, words);
        m.to->before = u->put(ranks(m.from, words).data(), words);
    }
    for (int k = 0; k < 3; k++) {
        s->query[k].point = u->put(q[k].point.data(), q[k].point.size());
        s->query[k].field = u->put(q[k].field.data(), q[k].field.size());
        s->query[k].n = (uint32_t)q[k].point.size();
    }
    const fr *block = u->put(static_cast<const fr *>(src->ntt_block), ntt_table_elements(src->log2));
    ntt_tables_place(&s->ntt, src->log2, block, u->space.take<fr>(ntt_made_elements(src->log2)));
    memcpy(&s->ntt.n_inverse, src->n_inverse, sizeof(fr));
    memcpy(&s->ntt.z_inverse, src->z_inverse, sizeof(fr));
}

} // namespace

uint64_t gpu_shape_bytes(const gpu_shape_source *src) {
    query_lists q[3];
    list_queries(q, src);
    gpu_shape s;
    uploader u = {{nullptr, 0}, cudaSuccess};
    upload(&s, &u, src, q);
    return u.space.used;
}

cuzk_status gpu_shape_create(gpu_shape **out, unsigned device, const gpu_shape_source *src, cuzk_error *err) {
    query_lists q[3];
    list_queries(q, src);
    gpu_shape *s = new (std::nothrow) gpu_shape();
    if (!s) return cuzk_fail(err, CUZK_MEMORY, "no memory for a device shape");
    uploader count = {{nullptr, 0}, cudaSuccess};
    upload(s, &count, src, q);
    cuzk_status st = gpu_block_alloc(&s->memory, device, count.space.used, "circuit's shape", err);
    if (st == CUZK_OK) {
        uploader u = {{static_cast<uint8_t *>(s->memory.data), 0}, cudaSuccess};
        upload(s, &u, src, q);
        if (u.error != cudaSuccess) st = cuda_fail(err, u.error, "cudaMemcpy", __FILE__, __LINE__);
        if (st == CUZK_OK) st = ntt_tables_make(&s->ntt, 0, err);
        if (st == CUZK_OK && (u.error = cudaDeviceSynchronize()) != cudaSuccess)
            st = cuda_fail(err, u.error, "cudaDeviceSynchronize", __FILE__, __LINE__);
    }
    if (st != CUZK_OK) {
        gpu_shape_destroy(s);
        return st;
    }
    *out = s;
    return CUZK_OK;
}

void gpu_shape_destroy(gpu_shape *s) {
    if (!s) return;
    gpu_block_free(&s->memory);
    delete s;
}

uint64_t gpu_key_bytes(const gpu_key_source *src) {
    workspace w = {nullptr, 0};
    w.take<affine<fp>>(src->n_h), w.take<affine<fp>>(src->n_l), w.take<affine<fp>>(src->n_a),
        w.take<affine<fp>>(src->n_b), w.take<affine<fp2>>(src->n_b);
    return w.used;
}

cuzk_status gpu_key_reserve(gpu_key **out, unsigned device, const gpu_key_source *src, cuzk_error *err) {
    gpu_key *k = new (std::nothrow) gpu_key();
    if (!k) return cuzk_fail(err, CUZK_MEMORY, "no memory for a device key");
    cuzk_status st = gpu_block_alloc(&k->memory, device, gpu_key_bytes(src), "proving key", err);
    if (st != CUZK_OK) {
        delete k;
        return st;
    }
    workspace w = {static_cast<uint8_t *>(k->memory.data), 0};
    k->h = w.take<affine<fp>>(src->n_h);
    k->l = w.take<affine<fp>>(src->n_l);
    k->a = w.take<affine<fp>>(src->n_a);
    k->b_g1 = w.take<affine<fp>>(src->n_b);
    k->b_g2 = w.take<affine<fp2>>(src->n_b);
    k->n_h = src->n_h, k->n_l = src->n_l, k->n_a = src->n_a, k->n_b = src->n_b;
    *out = k;
    return CUZK_OK;
}

/* Pages of a mapped file count as this process's memory once they were read. They are read once, so each step's pages
 * go at once: a key of any size passes through a small part of the host's memory. */
static cudaError_t upload(void *to, const void *from, size_t bytes, bool mapped) {
    const size_t step = (size_t)64 << 20;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    for (size_t at = 0; at < bytes; at += step) {
        size_t n = bytes - at < step ? bytes - at : step;
        const char *part = (const char *)from + at;
        cudaError_t e = cudaMemcpy((char *)to + at, part, n, cudaMemcpyHostToDevice);
        if (e != cudaSuccess) return e;
        uintptr_t first = (uintptr_t)part & ~page;
        if (mapped) madvise((void *)first, (uintptr_t)part + n - first, MADV_DONTNEED);
    }
    return cudaSuccess;
}

cuzk_status gpu_key_create(gpu_key **out, unsigned device, const gpu_key_source *src, cuzk_error *err) {
    gpu_key *k;
    cuzk_status st = gpu_key_reserve(&k, device, src, err);
    if (st != CUZK_OK) return st;
    struct {
        const void *to, *from;
        size_t bytes;
    } parts[5] = {{k->h, src->h, k->n_h * sizeof *k->h},
                  {k->l, src->l, k->n_l * sizeof *k->l},
                  {k->a, src->a, k->n_a * sizeof *k->a},
                  {k->b_g1, src->b_g1, k->n_b * sizeof *k->b_g1},
                  {k->b_g2, src->b_g2, k->n_b * sizeof *k->b_g2}};
    for (auto &p : parts) {
        cudaError_t e = upload(const_cast<void *>(p.to), p.from, p.bytes, src->mapped);
        if (e == cudaSuccess) continue;
        st = cuda_fail(err, e, "cudaMemcpy", __FILE__, __LINE__);
        gpu_key_destroy(k);
        return st;
    }
    *out = k;
    return CUZK_OK;
}

void gpu_key_destroy(gpu_key *k) {
    if (!k) return;
    gpu_block_free(&k->memory);
    delete k;
}
