/* The shape's file: docs/shape.md describes it byte by byte.
 *
 * Opening maps the file and believes nothing: sizes are computed from the header and compared with the section table,
 * BLAKE2b over the header and over the rest must agree, and every index is checked against what it points into, so that
 * no content can make evaluation read outside. Numbers are little-endian as on every machine this runs on. The file
 * must not be changed while it is mapped; writers replace it by rename.
 */
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "r1cs/interpreter.h"
#include "r1cs/shape_internal.h"

#define FORMAT_VERSION 2u
#define ALIGNMENT 64u
#define MAX_ROWS (1ull << 40)

typedef struct file_segment {
    uint64_t rows;
    uint32_t aux, inputs;
} file_segment;

typedef struct file_section {
    uint64_t offset, bytes;
} file_section;

typedef struct file_header {
    uint8_t magic[8];
    uint32_t format, version;
    char name[SHAPE_NAME_BYTES];
    uint32_t repeat, coeff_count, coeff_width, n_params;
    file_segment segment[SEGMENTS];
    file_section section[SECTIONS];
    uint64_t file_bytes;
    uint8_t body_digest[32];
    uint8_t head_digest[32]; /* of everything above */
    uint8_t pad[24];
} file_header;

static const uint8_t magic[8] = {'c', 'u', 'z', 'k', 's', 'h', 'p', '\n'};

_Static_assert(sizeof(file_header) == 896 && sizeof(file_header) % ALIGNMENT == 0, "the header has no hidden padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sections are read in place");

static void head_digest(uint8_t out[32], const file_header *h) {
    uint8_t full[64];
    hash_blake2b512(full, h, offsetof(file_header, head_digest));
    memcpy(out, full, 32);
}

/* ---- saving ---- */

static void fill_header(file_header *h, const shape *s, const char *name, uint32_t version) {
    uint64_t at = sizeof *h;
    memset(h, 0, sizeof *h);
    memcpy(h->magic, magic, sizeof magic);
    h->format = FORMAT_VERSION;
    h->version = version;
    strncpy(h->name, name, sizeof h->name - 1);
    h->repeat = s->repeat;
    h->coeff_count = s->coeff_count;
    h->coeff_width = s->coeff_width;
    h->n_params = s->n_params;
    for (int i = 0; i < SEGMENTS; i++)
        h->segment[i] = (file_segment){s->segment[i].rows, s->segment[i].aux, s->segment[i].inputs};
    for (int i = 0; i < SECTIONS; i++) {
        h->section[i] = (file_section){at, s->section[i].bytes};
        at += (s->section[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    h->file_bytes = at;
}

static cuzk_status write_body(file_writer *w, const shape *s, file_header *h, hash_ctx *hash, cuzk_error *err) {
    static const uint8_t zeros[ALIGNMENT];
    uint8_t full[64];
    for (int i = 0; i < SECTIONS; i++) {
        uint64_t bytes = s->section[i].bytes, pad = (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
        if (bytes == 0) continue;
        cuzk_status status = file_writer_pwrite(w, s->section[i].data, bytes, h->section[i].offset, err);
        if (status == CUZK_OK && pad > 0) status = file_writer_pwrite(w, zeros, pad, h->section[i].offset + bytes, err);
        if (status != CUZK_OK) return status;
        hash_update(hash, s->section[i].data, bytes);
        hash_update(hash, zeros, pad);
    }
    hash_final(hash, full);
    memcpy(h->body_digest, full, 32);
    return CUZK_OK;
}

cuzk_status shape_save_as(const shape *s, const char *name, uint32_t version, const char *path, cuzk_error *err) {
    file_header h;
    file_writer *w;
    fill_header(&h, s, name, version);
    cuzk_status status = file_writer_open(&w, path, false, err);
    if (status != CUZK_OK) return status;
    status = file_writer_reserve(w, h.file_bytes, err);
    if (status == CUZK_OK) {
        hash_ctx *hash = hash_create(HASH_BLAKE2B512);
        status = write_body(w, s, &h, hash, err);
        hash_destroy(hash);
    }
    if (status == CUZK_OK) {
        head_digest(h.head_digest, &h);
        status = file_writer_pwrite(w, &h, sizeof h, 0, err);
    }
    if (status == CUZK_OK) return file_writer_commit(w, err);
    file_writer_abort(w);
    return status;
}

cuzk_status shape_save(const shape *s, const char *path, cuzk_error *err) {
    return shape_save_as(s, s->name, s->version, path, err);
}

/* ---- opening ---- */

static cuzk_status damaged(cuzk_error *err, const char *path, const char *what) {
    cuzk_fail(err, CUZK_MALFORMED, "the shape file is damaged: %s", what);
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_hint(err, "remove the file; it is made again when it is needed");
}

/* What the header says of the shape, without the sections. NULL when it can be. */
static const char *check_header(const file_header *h, uint64_t file_bytes) {
    uint8_t digest[32];
    head_digest(digest, h);
    if (memcmp(digest, h->head_digest, 32) != 0) return "the header's digest does not fit";
    for (size_t i = 0; i < sizeof h->pad; i++)
        if (h->pad[i] != 0) return "the header's unused bytes";
    if (h->file_bytes != file_bytes) return "its length is not what the header says";
    if (memchr(h->name, '\0', sizeof h->name) == NULL) return "the name has no end";
    if (h->coeff_width != 2 && h->coeff_width != 4) return "the coefficient width is neither 2 nor 4";
    if (h->coeff_count < 2 || (h->coeff_width == 2 && h->coeff_count > 65536)) return "the number of coefficients";
    uint64_t aux = 0, inputs = 0, rows = 0;
    for (int i = 0; i < SEGMENTS; i++) {
        const file_segment *g = &h->segment[i];
        uint64_t copies = i == SEGMENT_BLOCK ? h->repeat : 1;
        if (copies == 0 && (g->rows != 0 || g->aux != 0 || g->inputs != 0)) return "a block that is repeated 0 times";
        if (copies > 0 && g->rows > MAX_ROWS / copies) return "the number of rows";
        aux += copies * g->aux; /* below 2^64 each; sums are compared at once */
        inputs += copies * g->inputs;
        rows += copies * g->rows;
        if (aux > CS_MAX_AUX || inputs > CS_MAX_AUX || rows > MAX_ROWS) return "the sizes of its parts";
    }
    if (h->segment[SEGMENT_PROLOGUE].inputs == 0) return "there is no input ONE";
    if (h->n_params > CS_MAX_BLOCK_PARAMS) return "the number of parameters";
    if (h->n_params > 0 && (h->repeat == 0 || h->segment[SEGMENT_PROLOGUE].aux > SHAPE_VAR_PARAM))
        return "parameters that no variables can be";
    return NULL;
}

/* Data of section i, which must have exactly `bytes`. */
static const char *take_section(shape *s, const file_header *h, int i, uint64_t bytes) {
    const file_section *f = &h->section[i];
    if (f->bytes != bytes) return "a section has a wrong length";
    if (f->offset % ALIGNMENT != 0 || f->offset < sizeof *h || f->offset > h->file_bytes ||
        f->bytes > h->file_bytes - f->offset)
        return "a section lies outside the file";
    s->section[i].data = bytes == 0 ? NULL : s->map.data + f->offset;
    s->section[i].bytes = bytes;
    return NULL;
}

static const char *take_segment(shape *s, const file_header *h, int segment) {
    const file_segment *g = &h->segment[segment];
    int at = segment * SEGMENT_SECTIONS;
    const char *fault;
    s->segment[segment].rows = g->rows;
    s->segment[segment].aux = g->aux;
    s->segment[segment].inputs = g->inputs;
    for (int m = 0; m < 3; m++) {
        if ((fault = take_section(s, h, at + SECTION_ROW_END + m, g->rows * 4)) != NULL) return fault;
        const uint32_t *row_end = s->section[at + SECTION_ROW_END + m].data;
        uint64_t nnz = g->rows == 0 ? 0 : row_end[g->rows - 1];
        if ((fault = take_section(s, h, at + SECTION_VARS + m, nnz * 4)) != NULL) return fault;
        if ((fault = take_section(s, h, at + SECTION_COEFFS + m, nnz * h->coeff_width)) != NULL) return fault;
    }
    for (int k = 0; k < SHAPE_BITMAPS; k++)
        if ((fault = take_section(s, h, at + SECTION_BITMAP + k, bits_words(g->aux) * 8)) != NULL) return fault;
    return take_section(s, h, at + SECTION_B_INPUT, bits_words(g->inputs) * 8);
}

static const char *check_table(const shape *s) {
    const fr *table = s->section[SECTION_COEFF_TABLE].data;
    fr minus_one = fr_minus_one();
    if (!fr_is_one(&table[0]) || !fr_eq(&table[1], &minus_one))
        return "the coefficient table does not begin with 1 and -1";
    for (uint32_t i = 0; i < s->coeff_count; i++)
        if (!fr_limbs_reduced(table[i].l)) return "a coefficient is not reduced";
    return NULL;
}

static const char *check_params(const shape *s) {
    const uint32_t *params = s->section[SECTION_PARAMS].data;
    for (uint64_t i = 0; i < (uint64_t)s->repeat * s->n_params; i++) {
        if (params[i] >= s->segment[SEGMENT_PROLOGUE].aux) return "a parameter is out of range";
        if (i % s->n_params > 0 && params[i] <= params[i - 1]) return "parameters do not ascend";
    }
    return NULL;
}

/* Variables that a segment's rows may name: below `prologue`, own ones from own_first on (flag or index), or
 * parameters. */
typedef struct var_range {
    uint32_t prologue, own_first, own, params;
} var_range;

/* Without branches, since hundreds of millions may be checked. */
static inline uint32_t var_bad(const var_range *r, uint32_t i) {
    /* What lies below a first number wraps around. */
    return (uint32_t)(i >= r->prologue) & (uint32_t)(i - r->own_first >= r->own) &
           (uint32_t)(i - SHAPE_VAR_PARAM >= r->params);
}

static uint32_t largest_coeff(const shape_rows_view *v, unsigned width) {
    uint32_t most = 0;
    if (width == 2) {
        const uint16_t *k = v->coeffs;
        for (uint64_t i = 0; i < v->nnz; i++) most = k[i] > most ? k[i] : most;
    } else {
        const uint32_t *k = v->coeffs;
        for (uint64_t i = 0; i < v->nnz; i++) most = k[i] > most ? k[i] : most;
    }
    return most;
}

static const char *check_matrix(const shape *s, int segment, int m) {
    const shape_segment *g = &s->segment[segment], *first = &s->segment[SEGMENT_PROLOGUE];
    const shape_rows_view *v = &g->matrix[m];
    bool block = segment == SEGMENT_BLOCK;
    var_range aux = {first->aux, block ? SHAPE_VAR_OWN : g->first_aux, g->aux, block ? s->n_params : 0};
    var_range input = {first->inputs, block ? SHAPE_VAR_OWN : g->first_input, g->inputs, 0};
    uint32_t before = 0, bad = 0;
    for (uint64_t i = 0; i < g->rows; i++) {
        bad |= v->row_end[i] < before;
        before = v->row_end[i];
    }
    if (bad != 0) return "row ends do not ascend";
    for (uint64_t i = 0; i < v->nnz; i++) {
        uint32_t var = v->vars[i] & ~SHAPE_VAR_INPUT, is_input = v->vars[i] >> 31;
        bad |= (is_input & var_bad(&input, var)) | ((is_input ^ 1) & var_bad(&aux, var));
    }
    if (bad != 0) return "a variable is out of range";
    return largest_coeff(v, s->coeff_width) >= s->coeff_count && v->nnz > 0 ? "a coefficient index is out of range"
                                                                            : NULL;
}

static const char *check_tail(const uint64_t *words, uint64_t bits) {
    return bits % 64 != 0 && words[bits / 64] >> (bits % 64) != 0 ? "a bitmap has bits past its end" : NULL;
}

static const char *check_segment(const shape *s, int segment) {
    const shape_segment *g = &s->segment[segment];
    const char *fault = check_tail(g->b_input, g->inputs);
    for (int k = 0; k < SHAPE_BITMAPS && fault == NULL; k++) fault = check_tail(g->bits[k].words, g->aux);
    for (int m = 0; m < 3 && fault == NULL; m++) fault = check_matrix(s, segment, m);
    return fault;
}

static const char *take_body(shape *s, const file_header *h) {
    uint8_t full[64];
    const char *fault = NULL;
    hash_blake2b512(full, s->map.data + sizeof *h, s->map.bytes - sizeof *h);
    if (memcmp(full, h->body_digest, 32) != 0) return "its digest does not fit";
    s->repeat = h->repeat;
    s->coeff_count = h->coeff_count;
    s->coeff_width = h->coeff_width;
    s->n_params = h->n_params;
    s->version = h->version;
    memcpy(s->name, h->name, sizeof s->name);
    for (int i = 0; i < SEGMENTS && fault == NULL; i++) fault = take_segment(s, h, i);
    if (fault == NULL) fault = take_section(s, h, SECTION_COEFF_TABLE, h->coeff_count * sizeof(fr));
    if (fault == NULL) fault = take_section(s, h, SECTION_PARAMS, (uint64_t)s->repeat * s->n_params * 4);
    if (fault == NULL) fault = check_table(s);
    if (fault == NULL) fault = check_params(s);
    return fault;
}

cuzk_status shape_open(shape **out, const char *path, cuzk_error *err) {
    shape *s = calloc(1, sizeof *s);
    if (s == NULL) return cuzk_fail(err, CUZK_MEMORY, "no memory for a shape");
    cuzk_status status = file_map_open(&s->map, path, err);
    if (status != CUZK_OK) {
        free(s);
        return status;
    }
    const char *fault = NULL;
    file_header h;
    if (s->map.bytes < sizeof h) {
        fault = "it is shorter than a header";
    } else {
        memcpy(&h, s->map.data, sizeof h);
        if (memcmp(h.magic, magic, sizeof magic) != 0) {
            fault = "it is no shape file";
        } else if (h.format != FORMAT_VERSION) {
            cuzk_fail(err, CUZK_MALFORMED, "the shape file has another version");
            cuzk_fail_where(err, "%s", path);
            cuzk_fail_expected(err, "format %u", FORMAT_VERSION);
            status = cuzk_fail_found(err, "format %u", h.format);
        } else if ((fault = check_header(&h, s->map.bytes)) == NULL && (fault = take_body(s, &h)) == NULL) {
            status = shape_complete(s, err);
            for (int i = 0; i < SEGMENTS && fault == NULL && status == CUZK_OK; i++) fault = check_segment(s, i);
        }
    }
    if (fault != NULL) status = damaged(err, path, fault);
    if (status == CUZK_OK)
        *out = s;
    else
        shape_destroy(s);
    return status;
}
