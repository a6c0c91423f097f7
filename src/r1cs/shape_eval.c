/* Sparse evaluation of a shape's matrices, and their transposes.
 *
 * Nearly every term of a hash circuit meets a bit: where it is 0 the term is skipped, where it is 1 the coefficient is
 * added. For field elements coefficients 1 and -1 cost an addition; only the others a product. A field element is found
 * by its rank among the segment's field elements plus the number of those before this copy of the segment.
 *
 * Variables are stored by index; from `own_from` on they are the copy's own. That is a flag bit in the block, the first
 * own variable in the epilogue, and never in the prologue, so that one comparison serves all three. What is not own is
 * a variable of the prologue, or from `param_from` on a parameter, which the copy's table turns into one.
 */
#include "r1cs/interpreter.h"
#include "r1cs/shape_internal.h"
#include "r1cs/witness.h"

/* Where values of a range of aux variables lie. */
typedef struct zone {
    const shape_bits *is_field;
    uint64_t first_aux; /* variable of local index 0 */
    uint64_t first_bit; /* its place in the witness's bits */
    const fr *fields;   /* the zone's first field element */
} zone;

typedef struct place {
    zone prologue, own;
    uint32_t own_from, param_from;
    const uint32_t *params; /* of the copy */
    uint32_t first_input;   /* of the copy */
} place;

/* Everything of a place that does not need a witness. */
static place place_of(const shape *s, int segment, uint32_t copy) {
    const shape_segment *g = &s->segment[segment];
    place p = {.own_from = segment == SEGMENT_BLOCK      ? SHAPE_VAR_OWN
                           : segment == SEGMENT_EPILOGUE ? g->first_aux
                                                         : UINT32_MAX,
               .param_from = UINT32_MAX,
               .first_input = g->first_input + copy * g->inputs};
    if (segment == SEGMENT_BLOCK && s->n_params > 0) {
        p.param_from = SHAPE_VAR_PARAM;
        p.params = s->params + (size_t)copy * s->n_params;
    }
    p.prologue.is_field = &s->segment[SEGMENT_PROLOGUE].bits[SHAPE_IS_FIELD];
    p.own.is_field = &g->bits[SHAPE_IS_FIELD];
    p.own.first_aux = g->first_aux + (uint64_t)copy * g->aux;
    return p;
}

static void place_values(place *p, const shape *s, int segment, uint32_t copy, const witness *w) {
    uint64_t before = 0;
    for (int i = 0; i < segment; i++) before += s->segment[i].copies * s->segment[i].bits[SHAPE_IS_FIELD].total;
    /* Of a lazy witness's copies only one's own values are there, and nobody asks for others. */
    p->prologue.fields = w->fields;
    p->own.fields = w->fields + (before + copy * p->own.is_field->total - w->first_field);
    p->own.first_bit = p->own.first_aux - 64 * w->first_word;
}

static inline uint32_t input_index(const place *p, uint32_t var) {
    return (var & SHAPE_VAR_OWN) != 0 ? p->first_input + (var & (SHAPE_VAR_OWN - 1)) : var & ~SHAPE_VAR_INPUT;
}

/* Index of an auxiliary variable that is not the copy's own. */
static inline uint32_t prologue_index(const place *p, uint32_t var) {
    return __builtin_expect(var >= p->param_from, 0) ? p->params[var - p->param_from] : var;
}

static inline void add_product(fr *sum, const fr *value, const fr *coeff, uint32_t k) {
    fr t;
    if (k == 0) {
        fr_add(sum, sum, value);
    } else if (k == 1) {
        fr_sub(sum, sum, value);
    } else {
        fr_mul(&t, value, coeff);
        fr_add(sum, sum, &t);
    }
}

static inline void add_term(fr *sum, const place *p, const witness *w, uint32_t var, const fr *coeff, uint32_t k) {
    if ((var & SHAPE_VAR_INPUT) != 0) {
        uint32_t i = input_index(p, var);
        if (i == 0)
            fr_add(sum, sum, coeff); /* ONE */
        else
            add_product(sum, &w->inputs[i], coeff, k);
        return;
    }
    bool own = var >= p->own_from;
    const zone *z = own ? &p->own : &p->prologue;
    uint32_t local = own ? var - p->own_from : prologue_index(p, var);
    if (__builtin_expect(bits_get(z->is_field->words, local), 0)) {
        add_product(sum, &z->fields[bits_rank(z->is_field, local)], coeff, k);
        return;
    }
    /* The bits of a hash are coin tosses: adding a masked coefficient is cheaper than branches that are half
     * mispredicted. */
    uint64_t at = z->first_bit + local, mask = 0 - (w->bits[at >> 6] >> (at & 63) & 1);
    fr masked;
    for (int i = 0; i < 4; i++) masked.l[i] = coeff->l[i] & mask;
    fr_add(sum, sum, &masked);
}

/* Always inlined with a constant width, so that the index is one load. */
static inline __attribute__((always_inline)) void eval_rows(const shape *s, const shape_rows_view *v, unsigned width,
                                                            const place *p, const witness *w, uint64_t row, uint64_t n,
                                                            fr *out) {
    uint32_t at = row == 0 ? 0 : v->row_end[row - 1];
    for (uint64_t i = 0; i < n; i++) {
        fr sum;
        fr_set_zero(&sum);
        for (uint32_t end = v->row_end[row + i]; at < end; at++) {
            uint32_t k = shape_coeff_at(v->coeffs, width, at);
            add_term(&sum, p, w, v->vars[at], &s->coeff_table[k], k);
        }
        out[i] = sum;
    }
}

void shape_eval(const shape *s, shape_matrix m, const witness *w, uint64_t row_first, uint64_t n, fr *out) {
    uint64_t done = 0, own_rows = s->counts.constraints;
    while (done < n && row_first + done < own_rows) {
        uint32_t copy;
        uint64_t local;
        int segment = shape_find_row(s, row_first + done, &copy, &local);
        const shape_segment *g = &s->segment[segment];
        uint64_t take = g->rows - local < n - done ? g->rows - local : n - done;
        place p = place_of(s, segment, copy);
        place_values(&p, s, segment, copy, w);
        if (s->coeff_width == 2)
            eval_rows(s, &g->matrix[m], 2, &p, w, local, take, out + done);
        else
            eval_rows(s, &g->matrix[m], 4, &p, w, local, take, out + done);
        done += take;
    }
    for (; done < n; done++) {
        uint64_t row = row_first + done;
        if (m == MATRIX_A && row < shape_rows(s))
            out[done] = w->inputs[row - own_rows];
        else
            fr_set_zero(&out[done]);
    }
}

static void transpose_rows(const shape *s, const shape_rows_view *v, const place *p, const fr *weights, uint64_t row,
                           uint64_t n, shape_sink sink, void *user) {
    uint32_t at = row == 0 ? 0 : v->row_end[row - 1];
    for (uint64_t i = 0; i < n; i++) {
        fr minus;
        fr_neg(&minus, &weights[i]);
        for (uint32_t end = v->row_end[row + i]; at < end; at++) {
            uint32_t k = shape_coeff_at(v->coeffs, s->coeff_width, at), var = v->vars[at];
            cs_var absolute;
            if ((var & SHAPE_VAR_INPUT) != 0)
                absolute = CS_INPUT | input_index(p, var);
            else
                absolute = var >= p->own_from ? (cs_var)p->own.first_aux + (var - p->own_from) : prologue_index(p, var);
            fr t;
            if (k > 1) fr_mul(&t, &s->coeff_table[k], &weights[i]);
            sink(user, absolute, k == 0 ? &weights[i] : k == 1 ? &minus : &t);
        }
    }
}

void shape_transposed(const shape *s, shape_matrix m, const fr *weights, uint64_t row_first, uint64_t n,
                      shape_sink sink, void *user) {
    uint64_t row = row_first, end = row_first + n, own_rows = s->counts.constraints;
    while (row < end && row < own_rows) {
        uint32_t copy;
        uint64_t local;
        int segment = shape_find_row(s, row, &copy, &local);
        const shape_segment *g = &s->segment[segment];
        uint64_t take = g->rows - local < end - row ? g->rows - local : end - row;
        place p = place_of(s, segment, copy);
        transpose_rows(s, &g->matrix[m], &p, weights + row, local, take, sink, user);
        row += take;
    }
    if (m != MATRIX_A) return;
    for (; row < end && row < shape_rows(s); row++) sink(user, CS_INPUT | (cs_var)(row - own_rows), &weights[row]);
}
