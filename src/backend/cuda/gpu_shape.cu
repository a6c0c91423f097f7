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

namespace {
/* One walk gives the places, and with a null base the size. */
size_t place_sections(gpu_key *k, unsigned sections, void *base) {
    workspace w = {static_cast<uint8_t *>(base), 0};
    if (sections & 1u << GPU_H) k->h = w.take<affine<fp>>(k->n_h);
    if (sections & 1u << GPU_L) k->l = w.take<affine<fp>>(k->n_l);
    if (sections & 1u << GPU_A) k->a = w.take<affine<fp>>(k->n_a);
    if (sections & 1u << GPU_B_G1) k->b_g1 = w.take<affine<fp>>(k->n_b);
    if (sections & 1u << GPU_B_G2) k->b_g2 = w.take<affine<fp2>>(k->n_b);
    return w.used;
}
void counts_of(gpu_key *k, const gpu_key_source *src) {
    k->n_h = src->n_h, k->n_l = src->n_l, k->n_a = src->n_a, k->n_b = src->n_b;
}
} // namespace

uint64_t gpu_key_bytes(const gpu_key_source *src, unsigned sections) {
    gpu_key k = {};
    counts_of(&k, src);
    return place_sections(&k, sections, nullptr);
}

cuzk_status gpu_key_reserve(gpu_key **out, unsigned device, const gpu_key_source *src, unsigned sections,
                            cuzk_error *err) {
    gpu_key *k = new (std::nothrow) gpu_key();
    if (!k) return cuzk_fail(err, CUZK_MEMORY, "no memory for a device key");
    k->device = device;
    counts_of(k, src);
    size_t bytes = place_sections(k, sections, nullptr);
    cuzk_status st = bytes ? gpu_block_alloc(&k->memory, device, bytes, "proving key", err) : CUZK_OK;
    if (st != CUZK_OK) {
        delete k;
        return st;
    }
    place_sections(k, sections, k->memory.data);
    *out = k;
    return CUZK_OK;
}

cuzk_status gpu_key_create(gpu_key **out, unsigned device, const gpu_key_source *src, unsigned sections,
                           cuzk_error *err) {
    gpu_key *k;
    cuzk_status st = gpu_key_reserve(&k, device, src, sections, err);
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
        cudaError_t e = cuda_fault_due();
        if (e == cudaSuccess && p.to && p.bytes)
            e = cudaMemcpy(const_cast<void *>(p.to), p.from, p.bytes, cudaMemcpyHostToDevice);
        if (e == cudaSuccess) continue;
        st = cuda_fail(err, e, "cudaMemcpy", __FILE__, __LINE__);
        gpu_key_destroy(k);
        return st;
    }
    *out = k;
    return CUZK_OK;
}

unsigned gpu_key_sections(const gpu_key *k) {
    return (k->h ? 1u << GPU_H : 0) | (k->l ? 1u << GPU_L : 0) | (k->a ? 1u << GPU_A : 0) |
           (k->b_g1 ? 1u << GPU_B_G1 : 0) | (k->b_g2 ? 1u << GPU_B_G2 : 0);
}

void gpu_key_destroy(gpu_key *k) {
    if (!k) return;
    gpu_block_free(&k->memory);
    delete k;
}
