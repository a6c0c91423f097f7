/* The structure digest of a shape, copy by copy; the bytes are those of digest.c. */
#include "r1cs/digest.h"
#include "r1cs/shape_internal.h"

/* What changes from copy to copy: to be added to a variable marked as own. */
typedef struct offsets {
    uint32_t aux, input;
} offsets;

static inline cs_var absolute(uint32_t var, const offsets *o) {
    if ((var & SHAPE_VAR_OWN) == 0) return var;
    uint32_t local = var & (SHAPE_VAR_OWN - 1);
    return (var & SHAPE_VAR_INPUT) != 0 ? CS_INPUT | (o->input + local) : o->aux + local;
}

static void hash_row(const shape *s, digest_stream *d, const shape_segment *g, uint64_t row, const uint8_t *coeffs_be,
                     const offsets *o) {
    for (int m = 0; m < 3; m++) {
        const shape_rows_view *v = &g->matrix[m];
        uint32_t at = row == 0 ? 0 : v->row_end[row - 1], end = v->row_end[row];
        digest_length(d, end - at);
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
        offsets o = {g->first_aux + copy * g->aux, g->first_input + copy * g->inputs};
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
