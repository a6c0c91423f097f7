/* Shapes in device memory; see gpu.h. */
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
