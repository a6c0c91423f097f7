/* The shape: what follows from its sections, and reading them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "r1cs/shape_internal.h"

#include "base/serial.h"

/* Makes b over `bits` bits, with its directory at *next, which moves on. */
static void rank_bits(shape_bits *b, const uint64_t *words, uint64_t bits, uint32_t **next) {
    uint32_t sum = 0;
    uint64_t n = bits_words(bits);
    b->words = words;
    b->before = *next;
    for (uint64_t i = 0; i < n; i++) {
        (*next)[i] = sum;
        sum += bits_count(words[i]);
    }
    b->total = sum;
    *next += n;
}

static void point_matrices(shape *s, int segment) {
    const shape_section *sec = &s->section[segment * SEGMENT_SECTIONS];
    shape_segment *g = &s->segment[segment];
    for (int m = 0; m < 3; m++) {
        g->matrix[m].row_end = sec[SECTION_ROW_END + m].data;
        g->matrix[m].vars = sec[SECTION_VARS + m].data;
        g->matrix[m].coeffs = sec[SECTION_COEFFS + m].data;
        g->matrix[m].nnz = g->rows == 0 ? 0 : g->matrix[m].row_end[g->rows - 1];
    }
}

static void place_segments(shape *s) {
    uint64_t row = 0, aux = 0, input = 0;
    s->segment[SEGMENT_PROLOGUE].copies = s->segment[SEGMENT_EPILOGUE].copies = 1;
    s->segment[SEGMENT_BLOCK].copies = s->repeat;
    for (int i = 0; i < SEGMENTS; i++) {
        shape_segment *g = &s->segment[i];
        g->first_row = row;
        g->first_aux = (uint32_t)aux;
        g->first_input = (uint32_t)input;
        row += g->copies * g->rows;
        aux += (uint64_t)g->copies * g->aux;
        input += (uint64_t)g->copies * g->inputs;
    }
    s->counts = (cs_counts){.inputs = input, .aux = aux, .constraints = row};
}

static void count_segments(shape *s) {
    for (int i = 0; i < SEGMENTS; i++) {
        shape_segment *g = &s->segment[i];
        uint64_t copies = g->copies;
        for (int m = 0; m < 3; m++) s->counts.nnz[m] += copies * g->matrix[m].nnz;
        s->counts.a_aux_density += copies * g->bits[SHAPE_A_DENSITY].total;
        s->counts.b_aux_density += copies * g->bits[SHAPE_B_DENSITY].total;
        s->counts.b_input_density += copies * g->b_inputs;
        s->fields += copies * g->bits[SHAPE_IS_FIELD].total;
    }
}

uint64_t shape_id(const shape *s) {
    return s->id;
}

cuzk_status shape_complete(shape *s, cuzk_error *err) {
    s->id = serial_next();
    uint64_t words = 0;
    for (int i = 0; i < SEGMENTS; i++) words += SHAPE_BITMAPS * bits_words(s->segment[i].aux);
    cuzk_status status = buffer_alloc_array(&s->ranks, BUFFER_SHAPE, words, sizeof(uint32_t), err);
    if (status != CUZK_OK) return status;
    uint32_t *next = s->ranks.data;
    place_segments(s);
    for (int i = 0; i < SEGMENTS; i++) {
        const shape_section *sec = &s->section[i * SEGMENT_SECTIONS];
        shape_segment *g = &s->segment[i];
        point_matrices(s, i);
        for (int k = 0; k < SHAPE_BITMAPS; k++) rank_bits(&g->bits[k], sec[SECTION_BITMAP + k].data, g->aux, &next);
        g->b_input = sec[SECTION_B_INPUT].data;
        for (uint64_t w = 0; w < bits_words(g->inputs); w++) g->b_inputs += bits_count(g->b_input[w]);
    }
    s->coeff_table = s->section[SECTION_COEFF_TABLE].data;
    s->params = s->section[SECTION_PARAMS].data;
    count_segments(s);
    return CUZK_OK;
}

void shape_destroy(shape *s) {
    if (s == NULL) return;
    for (int i = 0; i < SECTIONS; i++) buffer_free(&s->section[i].memory);
    buffer_free(&s->ranks);
    file_map_close(&s->map);
    free(s);
}

/* ---- finding ---- */

int shape_find_aux(const shape *s, uint64_t aux, uint32_t *copy, uint64_t *local) {
    int i = SEGMENT_PROLOGUE;
    while (i < SEGMENT_EPILOGUE && aux >= s->segment[i + 1].first_aux) i++;
    /* An empty segment shares its first variable with the next: the loop passes over it. */
    uint64_t at = aux - s->segment[i].first_aux;
    *copy = i == SEGMENT_BLOCK ? (uint32_t)(at / s->segment[i].aux) : 0;
    *local = i == SEGMENT_BLOCK ? at % s->segment[i].aux : at;
    return i;
}

int shape_find_row(const shape *s, uint64_t row, uint32_t *copy, uint64_t *local) {
    int i = SEGMENT_PROLOGUE;
    while (i < SEGMENT_EPILOGUE && row >= s->segment[i + 1].first_row) i++;
    uint64_t at = row - s->segment[i].first_row;
    *copy = i == SEGMENT_BLOCK ? (uint32_t)(at / s->segment[i].rows) : 0;
    *local = i == SEGMENT_BLOCK ? at % s->segment[i].rows : at;
    return i;
}

/* ---- queries ---- */

cs_counts shape_counts(const shape *s) {
    return s->counts;
}

uint64_t shape_bytes(const shape *s) {
    uint64_t bytes = s->ranks.bytes;
    for (int i = 0; i < SECTIONS; i++) bytes += s->section[i].bytes;
    return bytes;
}

uint64_t shape_rows(const shape *s) {
    return s->counts.constraints + s->counts.inputs;
}

unsigned shape_domain_log2(const shape *s) {
    unsigned log2 = 0;
    while ((1ull << log2) < shape_rows(s)) log2++;
    return log2;
}

uint64_t shape_fields(const shape *s) {
    return s->fields;
}

void shape_make_lazy(shape *s) {
    const shape_segment *before = &s->segment[SEGMENT_PROLOGUE], *after = &s->segment[SEGMENT_EPILOGUE];
    s->lazy = s->repeat > 0 && before->rows + before->aux == 0 && before->inputs == 1 /* ONE */ &&
              after->rows + after->aux + after->inputs == 0;
}

bool shape_is_lazy(const shape *s) {
    return s->lazy;
}

bool shape_input_in_b(const shape *s, uint32_t input) {
    assert(input < s->counts.inputs);
    int i = SEGMENT_PROLOGUE;
    while (i < SEGMENT_EPILOGUE && input >= s->segment[i + 1].first_input) i++;
    const shape_segment *g = &s->segment[i];
    uint32_t at = input - g->first_input;
    return bits_get(g->b_input, i == SEGMENT_BLOCK ? at % g->inputs : at);
}

/* n ≤ 64 bits of words from bit `at` on; words beyond the last that is asked for are not read. */
static uint64_t bits_read(const uint64_t *words, uint64_t at, unsigned n) {
    uint64_t shift = at & 63, v = words[at >> 6] >> shift;
    if (shift + n > 64) v |= words[(at >> 6) + 1] << (64 - shift);
    return n == 64 ? v : v & ((1ull << n) - 1);
}

void shape_bitmap(const shape *s, shape_bitmap_kind kind, uint64_t first, uint64_t n, uint64_t *out) {
    assert(first % 64 == 0);
    memset(out, 0, bits_words(n) * 8);
    uint64_t total = s->counts.aux, done = 0;
    if (first >= total) return;
    if (n > total - first) n = total - first;
    while (done < n) {
        uint32_t copy;
        uint64_t local;
        const shape_segment *g = &s->segment[shape_find_aux(s, first + done, &copy, &local)];
        uint64_t left = g->aux - local < n - done ? g->aux - local : n - done;
        while (left > 0) {
            uint64_t space = 64 - (done & 63);
            unsigned take = (unsigned)(left < space ? left : space);
            out[done >> 6] |= bits_read(g->bits[kind].words, local, take) << (done & 63);
            done += take;
            local += take;
            left -= take;
        }
    }
}

uint64_t shape_rank(const shape *s, shape_bitmap_kind kind, uint64_t aux) {
    uint64_t rank = 0, local;
    uint32_t copy;
    assert(aux <= s->counts.aux);
    if (aux == s->counts.aux) {
        for (int i = 0; i < SEGMENTS; i++) rank += s->segment[i].copies * s->segment[i].bits[kind].total;
        return rank;
    }
    int at = shape_find_aux(s, aux, &copy, &local);
    for (int i = 0; i < at; i++) rank += s->segment[i].copies * s->segment[i].bits[kind].total;
    const shape_bits *b = &s->segment[at].bits[kind];
    return rank + copy * b->total + bits_rank(b, local);
}

void shape_get_view(const shape *s, shape_view *out) {
    *out = (shape_view){.repeat = s->repeat,
                        .coeff_table = s->coeff_table,
                        .coeff_count = s->coeff_count,
                        .coeff_width = s->coeff_width,
                        .n_params = s->n_params,
                        .params = s->params};
    for (int i = 0; i < SEGMENTS; i++) {
        const shape_segment *g = &s->segment[i];
        out->segment[i] = (shape_segment_view){.first_row = g->first_row,
                                               .rows = g->rows,
                                               .first_aux = g->first_aux,
                                               .aux = g->aux,
                                               .first_input = g->first_input,
                                               .inputs = g->inputs,
                                               .matrix = {g->matrix[0], g->matrix[1], g->matrix[2]}};
    }
}
