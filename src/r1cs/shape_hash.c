/* The structure digest of a shape, copy by copy; the bytes are those of digest.c.
 *
 * A row's terms are stored in the order of the first copy's variables. In another copy its parameters may have another
 * place among the other terms, but both keep their own order, so that merging the two gives the copy's order.
 */
#include "r1cs/digest.h"
#include "r1cs/shape_internal.h"

/* What changes from copy to copy: to be added to a variable marked as own. */
typedef struct offsets {
    uint32_t aux, input;
    const uint32_t *params;
} offsets;

static inline cs_var absolute(uint32_t var, const offsets *o) {
    if ((var & SHAPE_VAR_OWN) == 0) return var;
    uint32_t local = var & (SHAPE_VAR_OWN - 1);
    return (var & SHAPE_VAR_INPUT) != 0 ? CS_INPUT | (o->input + local) : o->aux + local;
}

/* From `at` on the next term of the row that is, or is not, a parameter; row_end when there is none. */
static uint32_t next_term(const shape *s, const uint32_t *vars, uint32_t at, uint32_t end, bool param) {
    while (at < end && shape_is_param(s, SEGMENT_BLOCK, vars[at]) != param) at++;
    return at;
}

static void hash_merged(const shape *s, digest_stream *d, const shape_rows_view *v, uint32_t first, uint32_t end,
                        const uint8_t *coeffs_be, const offsets *o) {
    uint32_t plain = next_term(s, v->vars, first, end, false), param = next_term(s, v->vars, first, end, true);
    for (uint32_t n = end - first; n > 0; n--) {
        cs_var a = plain < end ? absolute(v->vars[plain], o) : 0, b = 0;
        if (param < end) b = o->params[v->vars[param] & (SHAPE_VAR_PARAM - 1)];
        bool take_param = plain == end || (param < end && (b ^ CS_INPUT) < (a ^ CS_INPUT)); /* inputs come first */
        uint32_t *at = take_param ? &param : &plain;
        digest_term(d, take_param ? b : a, coeffs_be + 32 * (size_t)shape_coeff_at(v->coeffs, s->coeff_width, *at));
        *at = next_term(s, v->vars, *at + 1, end, take_param);
    }
}

static void hash_row(const shape *s, digest_stream *d, const shape_segment *g, uint64_t row, const uint8_t *coeffs_be,
                     const offsets *o) {
    bool block = g == &s->segment[SEGMENT_BLOCK];
    for (int m = 0; m < 3; m++) {
        const shape_rows_view *v = &g->matrix[m];
        uint32_t at = row == 0 ? 0 : v->row_end[row - 1], end = v->row_end[row];
        digest_length(d, end - at);
        if (block && next_term(s, v->vars, at, end, true) < end) {
            hash_merged(s, d, v, at, end, coeffs_be, o);
            continue;
        }
        for (; at < end; at++)
            digest_term(d, absolute(v->vars[at], o),
                        coeffs_be + 32 * (size_t)shape_coeff_at(v->coeffs, s->coeff_width, at));
    }
    digest_row_done(d);
}

static cuzk_status hash_segment(const shape *s, digest_stream *d, int segment, const uint8_t *coeffs_be,
                                const cuzk_control *control, cuzk_error *err) {
    const shape_segment *g = &s->segment[segment];
    for (uint32_t copy = 0; copy < g->copies; copy++) {
        /* Only the block marks variables as own. */
        offsets o = {g->first_aux + copy * g->aux, g->first_input + copy * g->inputs, NULL};
        if (segment == SEGMENT_BLOCK && s->n_params > 0) o.params = s->params + (size_t)copy * s->n_params;
        for (uint64_t row = 0; row < g->rows; row++) {
            if (control != NULL && d->rows % DIGEST_RUN == 0) {
                if (control->cancel != NULL && atomic_load(control->cancel) != 0)
                    return cuzk_fail(err, CUZK_CANCELLED, "cancelled while a shape's digest was computed");
                if (control->progress != NULL)
                    control->progress(control->user, "structure digest", d->rows, s->counts.constraints);
            }
            hash_row(s, d, g, row, coeffs_be, &o);
        }
    }
    return CUZK_OK;
}

cuzk_status shape_hash(const shape *s, uint8_t out[32], cs_checkpoint checkpoint, void *user,
                       const cuzk_control *control, cuzk_error *err) {
    digest_stream d;
    buffer coeffs;
    cuzk_status status = buffer_alloc_array(&coeffs, BUFFER_OTHER, s->coeff_count, 32, err);
    if (status != CUZK_OK) return status;
    for (uint32_t i = 0; i < s->coeff_count; i++)
        fr_to_be_bytes((uint8_t *)coeffs.data + 32 * (size_t)i, &s->coeff_table[i]);
    status = digest_start(&d, s->counts.inputs, s->counts.aux, s->counts.constraints, checkpoint, user, err);
    if (status == CUZK_OK) {
        for (int i = 0; i < SEGMENTS && status == CUZK_OK; i++)
            status = hash_segment(s, &d, i, coeffs.data, control, err);
        digest_end(&d, status == CUZK_OK ? out : NULL);
    }
    buffer_free(&coeffs);
    if (status == CUZK_OK && control != NULL && control->progress != NULL)
        control->progress(control->user, "structure digest", s->counts.constraints, s->counts.constraints);
    return status;
}
