/* The interpreter that writes compact witnesses.
 *
 * This is the hot path of synthesis (130 million bits a 32 GiB PoRep partition): up to 64 bits are put at the position
 * `aux` of the bitmap by two shifts. Kinds are checked without a pass of their own: a field element must be allocated
 * where the shape has one, and the numbers must agree at the end, so every bit is where the shape has a bit, too. The
 * start of every block is compared with the shape's.
 *
 * For one copy of the block all other copies are passed over, and the numbers of variables are set to the copy's first
 * when it begins. Outside of it nothing may be allocated.
 */
#include "r1cs/writer.h"

#include <assert.h>
#include "r1cs/interpreter.h"

static void not_the_shape(cs *c, const char *what) {
    cs_fault(c, CUZK_INTERNAL, what);
    c->values = false; /* nothing is kept any more */
}

static bool is_field(writer *w, uint64_t aux) {
    if (aux < w->kind_first || aux >= w->kind_end) {
        uint32_t copy;
        uint64_t local;
        const shape_segment *g = &w->shape->segment[shape_find_aux(w->shape, aux, &copy, &local)];
        w->kinds = g->bits[SHAPE_IS_FIELD].words;
        w->kind_first = aux - local;
        w->kind_end = w->kind_first + g->aux;
    }
    return bits_get(w->kinds, aux - w->kind_first);
}

static cs_var writer_alloc(cs *c, const fr *value) {
    writer *w = (writer *)c;
    cs_var v = interpreter_next_aux(c, 1);
    if (c->status != CUZK_OK) return v;
    if (v >= w->end_aux || !is_field(w, v))
        not_the_shape(c, "the circuit allocates a field element where its shape has none");
    else
        w->fields[w->n_fields++] = *value;
    return v;
}

static cs_var writer_alloc_bits(cs *c, unsigned n, uint64_t values) {
    writer *w = (writer *)c;
    uint64_t at = c->aux;
    assert(n >= 1 && n <= 64);
    if (at + n > w->end_aux || c->status != CUZK_OK) {
        if (c->status == CUZK_OK) not_the_shape(c, "the circuit allocates more variables than its shape has");
        return interpreter_next_aux(c, n);
    }
    values &= UINT64_MAX >> (64 - n);
    unsigned shift = at & 63;
    uint64_t *to = &w->bits[(at - w->bit_first) >> 6];
    to[0] |= values << shift;
    if (shift + n > 64) to[1] |= values >> (64 - shift);
    c->aux = (uint32_t)(at + n);
    return (cs_var)at;
}

static cs_var writer_input(cs *c, const fr *value) {
    writer *w = (writer *)c;
    cs_var v = interpreter_next_input(c);
    if (c->status != CUZK_OK) return v;
    if ((v & ~CS_INPUT) >= w->end_inputs)
        not_the_shape(c, "the circuit has more public inputs than its shape");
    else
        w->inputs[v & ~CS_INPUT] = *value;
    return v;
}

static cs_var copy_input(cs *c, const fr *value) {
    writer *w = (writer *)c;
    cs_var v = interpreter_next_input(c);
    if (c->status != CUZK_OK) return v;
    if ((v & ~CS_INPUT) >= w->end_inputs)
        not_the_shape(c, "the circuit has more public inputs than its shape");
    else if (!fr_eq(&w->inputs[v & ~CS_INPUT], value))
        not_the_shape(c, "the circuit has other public inputs than the witness");
    return v;
}

static void writer_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    (void)c;
    (void)a;
    (void)b;
    (void)lc_c; /* !structure */
}

static bool whole_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    (void)params;
    (void)n_params;
    const writer *w = (const writer *)c;
    const shape_segment *g = &w->shape->segment[SEGMENT_BLOCK];
    if (c->status == CUZK_OK && w->control && w->control->cancel && atomic_load(w->control->cancel)) {
        cs_fault(c, CUZK_CANCELLED, "cancelled");
        c->values = false;
    }
    if (c->status == CUZK_CANCELLED) return false; /* the rest is passed over */
    if (c->status == CUZK_OK && (count != g->copies || c->aux != g->first_aux + (uint64_t)index * g->aux ||
                                 c->inputs != g->first_input + (uint64_t)index * g->inputs))
        not_the_shape(c, "a block of the circuit does not begin where its shape says");
    return true;
}

cuzk_status writer_whole(writer *w, cs_circuit f, const void *params, const void *instance, cuzk_error *err) {
    static const cs_ops ops = {writer_alloc,   writer_alloc_bits, writer_input,
                               writer_enforce, whole_begin,       interpreter_block_end};
    const shape *s = w->shape;
    cuzk_status status = interpreter_start(&w->base, &ops, true, false, err);
    if (status != CUZK_OK) return status;
    w->end_aux = s->counts.aux;
    w->end_inputs = s->counts.inputs;
    f(&w->base, params, instance);
    if (w->base.status == CUZK_OK &&
        (w->base.aux != w->end_aux || w->base.inputs != w->end_inputs || w->n_fields != s->fields)) {
        cs_fault(&w->base, CUZK_INTERNAL, "the circuit allocates other variables than its shape has");
        cuzk_fail_expected(err, "%llu inputs, %llu variables, %llu of them field elements",
                           (unsigned long long)w->end_inputs, (unsigned long long)w->end_aux,
                           (unsigned long long)s->fields);
        cuzk_fail_found(err, "%u, %u, %llu", w->base.inputs, w->base.aux, (unsigned long long)w->n_fields);
    }
    return interpreter_end(&w->base);
}

/* ---- one copy ---- */

static bool copy_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    (void)params;
    (void)n_params;
    writer *w = (writer *)c;
    const shape_segment *g = &w->shape->segment[SEGMENT_BLOCK];
    if (index != w->copy || c->status != CUZK_OK) return false;
    if (count != g->copies || w->done) {
        not_the_shape(c, "the circuit has not the blocks that its shape has");
        return false;
    }
    w->end_aux = g->first_aux + ((uint64_t)index + 1) * g->aux;
    w->end_inputs = g->first_input + ((uint64_t)index + 1) * g->inputs;
    c->aux = (uint32_t)(w->end_aux - g->aux);
    c->inputs = (uint32_t)(w->end_inputs - g->inputs);
    return true;
}

static void copy_end(cs *c) {
    writer *w = (writer *)c;
    if (w->end_aux == 0 || c->status != CUZK_OK) return; /* another copy */
    if (c->aux != w->end_aux || c->inputs != w->end_inputs ||
        w->n_fields != w->shape->segment[SEGMENT_BLOCK].bits[SHAPE_IS_FIELD].total)
        not_the_shape(c, "a block of the circuit allocates other variables than its shape has");
    w->done = true;
    w->end_aux = w->end_inputs = 0;
}

cuzk_status writer_copy(writer *w, uint32_t copy, arena *scratch, cs_circuit f, const void *params,
                        const void *instance, cuzk_error *err) {
    static const cs_ops ops = {writer_alloc, writer_alloc_bits, copy_input, writer_enforce, copy_begin, copy_end};
    const shape_segment *g = &w->shape->segment[SEGMENT_BLOCK];
    w->base = (cs){.ops = &ops, .values = true, .status = CUZK_OK, .err = err, .inputs = 1, .scratch = scratch};
    w->copy = copy;
    w->bit_first = (g->first_aux + (uint64_t)copy * g->aux) & ~(uint64_t)63;
    arena_mark mark = arena_save(scratch);
    f(&w->base, params, instance);
    arena_release(scratch, mark);
    if (!w->done) cs_fault(&w->base, CUZK_INTERNAL, "the circuit has not the blocks that its shape has");
    return w->base.status;
}
