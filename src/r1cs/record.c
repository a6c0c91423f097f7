/* The recorder: runs a circuit without values and keeps its structure as a shape.
 *
 * Rows go straight into their final encoding, (variable, coefficient index) in lists of chunks; at the end each list
 * becomes one array while its chunks are given back, so that memory never passes the shape plus its largest array.
 * Coefficient indices are 16 bits until a coefficient number 65,536 appears; then all are widened once.
 *
 * Of a run of equal blocks only block 0 is recorded. Its own variables are stored relative to its first ones, those of
 * the prologue as they are. For each block skipped the counters advance by the size of block 0, so that the epilogue's
 * variables get their true indices. That the blocks are equal is the circuit's promise; cs_hash against shape_hash
 * checks it.
 *
 * Parameters of blocks are prologue variables that differ from copy to copy. In block 0 a variable on the copy's list
 * is stored as its number; each copy's list goes into a table. So that the stored rows mean the same for every copy, a
 * list must ascend (a row's order then survives, see shape_hash.c), and no copy's parameter may be a variable that the
 * block names for all.
 *
 * Densities belong to the variable's segment: a prologue variable used in a block is marked in the prologue, a
 * parameter's variables once for each copy.
 */
#include <stdlib.h>
#include <string.h>
#include "r1cs/coeff_table.h"
#include "r1cs/list.h"
#include "r1cs/shape_internal.h"

/* Set bits by number; grows by doubling. */
typedef struct growing_bits {
    buffer memory;
    uint64_t cap;
} growing_bits;

typedef struct recorded_segment {
    uint32_t first_aux, aux, first_input, inputs;
    uint64_t first_row, rows;
    list row_end[3], vars[3], coeffs[3];
    uint64_t nnz[3];
    growing_bits bits[SHAPE_BITMAPS], b_input;
} recorded_segment;

typedef enum { IN_PROLOGUE, IN_BLOCK, BETWEEN_BLOCKS, IN_SKIPPED_BLOCK, IN_EPILOGUE } record_phase;

typedef struct recorder {
    cs base;
    lc_sorter sorter;
    coeff_table table;
    unsigned coeff_width;
    record_phase phase;
    uint32_t repeat, next_block;
    cs_var params[CS_MAX_BLOCK_PARAMS]; /* of the copy that is running */
    unsigned n_params;
    uint64_t param_used[2]; /* parameters that the block has in A, in B */
    list param_table;       /* of all copies so far */
    growing_bits named;     /* prologue variables that the block names for all copies; with parameters only */
    recorded_segment segment[SEGMENTS];
    recorded_segment *now;
    const cuzk_control *control;
} recorder;

#define CANCEL_ROWS 65536u

static bool bits_reserve(cs *c, growing_bits *b, uint64_t bits) {
    if (bits <= b->cap) return true;
    uint64_t cap = b->cap < 32768 ? 32768 : b->cap * 2;
    if (cap < bits) cap = (bits + 63) / 64 * 64;
    buffer grown;
    cuzk_error err;
    if (buffer_alloc(&grown, BUFFER_SHAPE, cap / 8, &err) != CUZK_OK) {
        cs_fault(c, err.status, err.what);
        return false;
    }
    if (b->cap > 0) memcpy(grown.data, b->memory.data, b->cap / 8);
    buffer_free(&b->memory);
    b->memory = grown;
    b->cap = cap;
    return true;
}

static inline void bits_set(growing_bits *b, uint32_t i) {
    ((uint64_t *)b->memory.data)[i >> 6] |= 1ull << (i & 63);
}

/* ---- variables ---- */

static bool record_allowed(recorder *r) {
    if (r->phase != BETWEEN_BLOCKS && r->phase != IN_SKIPPED_BLOCK) return true;
    cs_fault(&r->base, CUZK_INTERNAL, "the circuit works between its blocks, or in a block that was not wanted");
    return false;
}

static cs_var recorder_alloc_n(cs *c, unsigned n, bool field) {
    recorder *r = (recorder *)c;
    cs_var first = interpreter_next_aux(c, n);
    if (c->status != CUZK_OK || !record_allowed(r)) return first;
    recorded_segment *s = r->now;
    uint32_t end = c->aux - s->first_aux;
    for (int k = 0; k < SHAPE_BITMAPS && end > s->bits[k].cap; k++)
        if (!bits_reserve(c, &s->bits[k], end)) return first;
    if (field) bits_set(&s->bits[SHAPE_IS_FIELD], end - 1);
    return first;
}

static cs_var recorder_alloc(cs *c, const fr *value) {
    (void)value;
    return recorder_alloc_n(c, 1, true);
}

static cs_var recorder_alloc_bits(cs *c, unsigned n, uint64_t values) {
    (void)values;
    return recorder_alloc_n(c, n, false);
}

static cs_var recorder_input(cs *c, const fr *value) {
    recorder *r = (recorder *)c;
    (void)value;
    cs_var v = interpreter_next_input(c);
    if (c->status == CUZK_OK && record_allowed(r)) bits_reserve(c, &r->now->b_input, c->inputs - r->now->first_input);
    return v;
}

/* ---- rows ---- */

/* Is the prologue variable a parameter of the running copy? */
static bool find_param(const recorder *r, uint32_t i, unsigned *number) {
    unsigned low = 0, high = r->n_params;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (r->params[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    *number = low;
    return low < r->n_params && r->params[low] == i;
}

/* The variable as it is stored; marks it in the densities of matrix m. False: it may not be used here. */
static inline bool place(recorder *r, int m, cs_var v, uint32_t *stored) {
    recorded_segment *owner = r->now, *prologue = &r->segment[SEGMENT_PROLOGUE];
    bool input = (v & CS_INPUT) != 0;
    uint32_t i = v & ~CS_INPUT;
    uint32_t own_first = input ? owner->first_input : owner->first_aux, end = input ? r->base.inputs : r->base.aux;
    if (i >= own_first) {
        if (i >= end) return false;
        i -= own_first;
        *stored = r->phase == IN_BLOCK ? (v & CS_INPUT) | SHAPE_VAR_OWN | i : v;
    } else {
        owner = prologue;
        if (i >= (input ? prologue->inputs : prologue->aux)) return false;
        if (r->phase == IN_BLOCK && r->n_params > 0 && !input) {
            unsigned number;
            if (find_param(r, i, &number)) {
                *stored = SHAPE_VAR_PARAM | number;
                if (m != MATRIX_C) r->param_used[m] |= 1ull << number;
                return true;
            }
            bits_set(&r->named, i);
        }
        *stored = v;
    }
    if (m == MATRIX_B && input)
        bits_set(&owner->b_input, i);
    else if (m != MATRIX_C && !input)
        bits_set(&owner->bits[m == MATRIX_A ? SHAPE_A_DENSITY : SHAPE_B_DENSITY], i);
    return true;
}

/* Coefficient number 65,536 has come: every list gets 32-bit indices. */
static cuzk_status widen(recorder *r) {
    r->coeff_width = 4;
    for (int s = 0; s < SEGMENTS; s++)
        for (int m = 0; m < 3; m++) {
            cuzk_status status = list_widen(&r->segment[s].coeffs[m], r->base.err);
            if (status != CUZK_OK) return status;
        }
    return CUZK_OK;
}

/* Indices of n coefficients into the matrix's list. */
static cuzk_status store_coeffs(recorder *r, int m, const cs_term *t, uint32_t n) {
    cuzk_error *err = r->base.err;
    list *l = &r->now->coeffs[m];
    /* Looked up first: widening in the middle of a row would leave the row in two lists. */
    if (r->coeff_width == 2 && (uint64_t)r->table.count + n > 65536) {
        for (uint32_t i = 0; i < n; i++)
            if (coeff_table_index(&r->table, &t[i].coeff, err) == UINT32_MAX) return err->status;
        if (r->table.count > 65536 && widen(r) != CUZK_OK) return err->status;
    }
    void *room = list_room(l, (size_t)n * r->coeff_width, err);
    if (room == NULL) return err->status;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = coeff_table_index(&r->table, &t[i].coeff, err);
        if (k == UINT32_MAX) return err->status;
        if (r->coeff_width == 2)
            ((uint16_t *)room)[i] = (uint16_t)k;
        else
            ((uint32_t *)room)[i] = k;
    }
    return CUZK_OK;
}

static cuzk_status store_row(recorder *r, int m, const cs_lc *lc) {
    recorded_segment *s = r->now;
    cuzk_error *err = r->base.err;
    lc_normal n = lc_sorter_run(&r->sorter, &r->base, lc);
    if (r->base.status != CUZK_OK) return r->base.status;
    if (s->nnz[m] + n.len > UINT32_MAX)
        return cuzk_fail(err, CUZK_INTERNAL, "a part of the circuit has more than 2^32 terms in one matrix");
    if (n.len > 0) {
        uint32_t *vars = list_room(&s->vars[m], n.len * sizeof *vars, err);
        if (vars == NULL) return err->status;
        for (uint32_t i = 0; i < n.len; i++)
            if (!place(r, m, n.terms[i].var, &vars[i])) {
                cuzk_fail(err, CUZK_INTERNAL,
                          "a constraint uses a variable of another block, or one that is not there");
                return cuzk_fail_found(err, "%s variable %u", (n.terms[i].var & CS_INPUT) != 0 ? "input" : "auxiliary",
                                       n.terms[i].var & ~CS_INPUT);
            }
        cuzk_status status = store_coeffs(r, m, n.terms, n.len);
        if (status != CUZK_OK) return status;
    }
    s->nnz[m] += n.len;
    uint32_t *end = list_room(&s->row_end[m], sizeof *end, err);
    if (end == NULL) return err->status;
    *end = (uint32_t)s->nnz[m];
    return CUZK_OK;
}

static void recorder_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    recorder *r = (recorder *)c;
    const cs_lc *lcs[3] = {a, b, lc_c};
    if (c->status != CUZK_OK || !record_allowed(r)) return;
    if (c->constraints++ % CANCEL_ROWS == 0 && r->control != NULL && r->control->cancel != NULL &&
        atomic_load(r->control->cancel) != 0) {
        cs_fault(c, CUZK_CANCELLED, "cancelled while the circuit's shape was recorded");
        return;
    }
    for (int m = 0; m < 3; m++) {
        cuzk_status s = store_row(r, m, lcs[m]);
        if (s != CUZK_OK) {
            char path[sizeof c->err->where];
            cs_path_text(c, path, sizeof path);
            c->status = s; /* err is filled */
            if (path[0] != '\0') cuzk_fail_where(c->err, "%s", path);
            return;
        }
    }
    r->now->rows++;
}

/* ---- blocks ---- */

static void segment_begin(recorder *r, int segment) {
    recorded_segment *s = &r->segment[segment];
    s->first_aux = r->base.aux;
    s->first_input = r->base.inputs;
    s->first_row = r->base.constraints;
    r->now = s;
}

static void segment_end(recorder *r) {
    r->now->aux = r->base.aux - r->now->first_aux;
    r->now->inputs = r->base.inputs - r->now->first_input;
}

/* The copy's parameters, checked and kept. */
static bool take_params(recorder *r, const cs_var *params, unsigned n) {
    const recorded_segment *prologue = &r->segment[SEGMENT_PROLOGUE];
    cs *c = &r->base;
    bool good = n == r->n_params && n <= CS_MAX_BLOCK_PARAMS;
    for (unsigned i = 0; i < n && good; i++) {
        good = params[i] < prologue->aux && (i == 0 || params[i] > params[i - 1]) &&
               (r->named.memory.data == NULL || !bits_get(r->named.memory.data, params[i]));
        r->params[i] = params[i];
    }
    if (!good) {
        cs_fault(c, CUZK_INTERNAL, "a block's parameters are not what its shape can hold");
        return false;
    }
    uint32_t *room = n == 0 ? NULL : list_room(&r->param_table, n * sizeof *room, c->err);
    if (n > 0 && room == NULL) {
        c->status = c->err->status;
        return false;
    }
    if (n > 0) memcpy(room, r->params, n * sizeof *room);
    return true;
}

/* The number of parameters is block 0's. */
static bool begin_params(recorder *r, unsigned n) {
    uint32_t aux = r->segment[SEGMENT_PROLOGUE].aux;
    r->n_params = n;
    if (n == 0) return true;
    if (aux > SHAPE_VAR_PARAM) {
        cs_fault(&r->base, CUZK_INTERNAL, "the circuit has too many variables before blocks with parameters");
        return false;
    }
    return bits_reserve(&r->base, &r->named, aux);
}

/* Densities of the copy's parameters. */
static void mark_params(recorder *r) {
    growing_bits *bits = r->segment[SEGMENT_PROLOGUE].bits;
    for (unsigned i = 0; i < r->n_params; i++) {
        if ((r->param_used[MATRIX_A] >> i & 1) != 0) bits_set(&bits[SHAPE_A_DENSITY], r->params[i]);
        if ((r->param_used[MATRIX_B] >> i & 1) != 0) bits_set(&bits[SHAPE_B_DENSITY], r->params[i]);
    }
}

static bool recorder_block_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    recorder *r = (recorder *)c;
    if (c->status != CUZK_OK) return false;
    if (r->phase == IN_PROLOGUE && index == 0 && count > 0) {
        segment_end(r);
        segment_begin(r, SEGMENT_BLOCK);
        if (!begin_params(r, n_params) || !take_params(r, params, n_params)) return false;
        r->repeat = count;
        r->next_block = 0;
        r->phase = IN_BLOCK;
        return true;
    }
    if (r->phase == BETWEEN_BLOCKS && index == r->next_block && count == r->repeat) {
        if (take_params(r, params, n_params)) r->phase = IN_SKIPPED_BLOCK;
    } else
        cs_fault(c, CUZK_INTERNAL, "the circuit's blocks do not follow one another");
    return false;
}

static void recorder_block_end(cs *c) {
    recorder *r = (recorder *)c;
    recorded_segment *block = &r->segment[SEGMENT_BLOCK];
    if (c->status != CUZK_OK) return;
    if (r->phase == IN_BLOCK) {
        segment_end(r);
    } else if (r->phase == IN_SKIPPED_BLOCK) {
        if (block->aux > CS_MAX_AUX - c->aux || block->inputs > CS_MAX_AUX - c->inputs) {
            cs_fault(c, CUZK_INTERNAL, "the circuit has too many variables");
            return;
        }
        c->aux += block->aux;
        c->inputs += block->inputs;
        c->constraints += block->rows;
    } else {
        cs_fault(c, CUZK_INTERNAL, "the circuit ends a block that it did not begin");
        return;
    }
    mark_params(r);
    r->phase = BETWEEN_BLOCKS;
    if (++r->next_block < r->repeat) return;
    segment_begin(r, SEGMENT_EPILOGUE);
    r->phase = IN_EPILOGUE;
}

/* ---- the shape ---- */

static void section_put(shape *s, int section, buffer memory) {
    s->section[section] = (shape_section){.data = memory.data, .bytes = memory.bytes, .memory = memory};
}

static cuzk_status put_list(shape *s, int section, list *l, cuzk_error *err) {
    uint64_t bytes = list_bytes(l);
    buffer memory;
    cuzk_status status = list_flatten(l, &memory, BUFFER_SHAPE, err);
    if (status != CUZK_OK) return status;
    section_put(s, section, memory);
    s->section[section].bytes = bytes; /* a buffer's size may be rounded up */
    return CUZK_OK;
}

static cuzk_status put_bytes(shape *s, int section, const void *data, uint64_t bytes, cuzk_error *err) {
    buffer memory;
    cuzk_status status = buffer_alloc(&memory, BUFFER_SHAPE, bytes, err);
    if (status != CUZK_OK) return status;
    if (bytes > 0) memcpy(memory.data, data, bytes);
    section_put(s, section, memory);
    s->section[section].bytes = bytes;
    return CUZK_OK;
}

static cuzk_status put_segment(shape *s, recorder *r, int segment, cuzk_error *err) {
    recorded_segment *from = &r->segment[segment];
    int at = segment * SEGMENT_SECTIONS;
    cuzk_status status;
    s->segment[segment].rows = from->rows;
    s->segment[segment].aux = from->aux;
    s->segment[segment].inputs = from->inputs;
    for (int m = 0; m < 3; m++) {
        if ((status = put_list(s, at + SECTION_ROW_END + m, &from->row_end[m], err)) != CUZK_OK) return status;
        if ((status = put_list(s, at + SECTION_VARS + m, &from->vars[m], err)) != CUZK_OK) return status;
        if ((status = put_list(s, at + SECTION_COEFFS + m, &from->coeffs[m], err)) != CUZK_OK) return status;
    }
    for (int k = 0; k < SHAPE_BITMAPS; k++) {
        status = put_bytes(s, at + SECTION_BITMAP + k, from->bits[k].memory.data, bits_words(from->aux) * 8, err);
        if (status != CUZK_OK) return status;
        buffer_free(&from->bits[k].memory);
    }
    return put_bytes(s, at + SECTION_B_INPUT, from->b_input.memory.data, bits_words(from->inputs) * 8, err);
}

static cuzk_status build(shape **out, recorder *r, cuzk_error *err) {
    shape *s = calloc(1, sizeof *s);
    if (s == NULL) return cuzk_fail(err, CUZK_MEMORY, "no memory for a shape");
    s->repeat = r->repeat;
    s->n_params = r->n_params;
    s->coeff_count = r->table.count;
    s->coeff_width = r->coeff_width;
    cuzk_status status = CUZK_OK;
    for (int i = 0; i < SEGMENTS && status == CUZK_OK; i++) status = put_segment(s, r, i, err);
    if (status == CUZK_OK)
        status = put_bytes(s, SECTION_COEFF_TABLE, r->table.values, r->table.count * sizeof(fr), err);
    if (status == CUZK_OK) status = put_list(s, SECTION_PARAMS, &r->param_table, err);
    if (status == CUZK_OK) status = shape_complete(s, err);
    if (status != CUZK_OK) {
        shape_destroy(s);
        return status;
    }
    *out = s;
    return CUZK_OK;
}

static void recorder_free(recorder *r) {
    for (int i = 0; i < SEGMENTS; i++) {
        recorded_segment *s = &r->segment[i];
        for (int m = 0; m < 3; m++) {
            list_free(&s->row_end[m]);
            list_free(&s->vars[m]);
            list_free(&s->coeffs[m]);
        }
        for (int k = 0; k < SHAPE_BITMAPS; k++) buffer_free(&s->bits[k].memory);
        buffer_free(&s->b_input.memory);
    }
    list_free(&r->param_table);
    buffer_free(&r->named.memory);
    coeff_table_free(&r->table);
    lc_sorter_free(&r->sorter);
}

cuzk_status shape_record(shape **out, cs_circuit f, const void *params, const cuzk_control *control, cuzk_error *err) {
    static const cs_ops ops = {recorder_alloc,   recorder_alloc_bits,  recorder_input,
                               recorder_enforce, recorder_block_begin, recorder_block_end};
    recorder r = {.coeff_width = 2, .control = control};
    r.now = &r.segment[SEGMENT_PROLOGUE];
    cuzk_status s = interpreter_start(&r.base, &ops, false, true, err);
    if (s != CUZK_OK) return s;
    if (control != NULL && control->progress != NULL) control->progress(control->user, "shape", 0, 1);
    s = coeff_table_init(&r.table, err);
    if (s != CUZK_OK) r.base.status = s;
    if (s == CUZK_OK && bits_reserve(&r.base, &r.now->b_input, 1)) {
        f(&r.base, params, NULL);
        if (r.phase != IN_PROLOGUE && r.phase != IN_EPILOGUE)
            cs_fault(&r.base, CUZK_INTERNAL, "the circuit ends within its blocks");
        segment_end(&r);
    }
    s = interpreter_end(&r.base);
    if (s == CUZK_OK) s = build(out, &r, err);
    recorder_free(&r);
    if (s == CUZK_OK && control != NULL && control->progress != NULL) control->progress(control->user, "shape", 1, 1);
    return s;
}
