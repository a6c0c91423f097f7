/* The compact witness: writing it, and reading it with the shape.
 *
 * Writing is the hot path of synthesis (130 million bits a 32 GiB PoRep partition): up to 64 bits are put at the
 * position `aux` of the bitmap by two shifts. Kinds are checked without a pass of their own: a field element must be
 * allocated where the shape has one, and the numbers must agree at the end, so every bit is where the shape has a bit,
 * too. The start of every block is compared with the shape's.
 */
#include "r1cs/witness.h"

#include <assert.h>
#include <string.h>
#include "base/hash.h"
#include "base/random.h"
#include "r1cs/interpreter.h"
#include "r1cs/shape_internal.h"

typedef struct writer {
    cs base;
    const shape *shape;
    uint64_t *bits;
    fr *inputs, *fields;
    uint64_t n_aux, n_fields, cap_fields, n_inputs;
    /* Kinds of the variables kind_first .. kind_end. */
    const uint64_t *kinds;
    uint64_t kind_first, kind_end;
} writer;

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
    if (v >= w->n_aux || !is_field(w, v))
        not_the_shape(c, "the circuit allocates a field element where its shape has none");
    else
        w->fields[w->n_fields++] = *value;
    return v;
}

static cs_var writer_alloc_bits(cs *c, unsigned n, uint64_t values) {
    writer *w = (writer *)c;
    uint64_t at = c->aux;
    assert(n >= 1 && n <= 64);
    if (at + n > w->n_aux || c->status != CUZK_OK) {
        if (c->status == CUZK_OK) not_the_shape(c, "the circuit allocates more variables than its shape has");
        return interpreter_next_aux(c, n);
    }
    values &= UINT64_MAX >> (64 - n);
    unsigned shift = at & 63;
    uint64_t *to = &w->bits[at >> 6];
    to[0] |= values << shift;
    if (shift + n > 64) to[1] |= values >> (64 - shift);
    c->aux = (uint32_t)(at + n);
    return (cs_var)at;
}

static cs_var writer_input(cs *c, const fr *value) {
    writer *w = (writer *)c;
    cs_var v = interpreter_next_input(c);
    if (c->status != CUZK_OK) return v;
    if ((v & ~CS_INPUT) >= w->n_inputs)
        not_the_shape(c, "the circuit has more public inputs than its shape");
    else
        w->inputs[v & ~CS_INPUT] = *value;
    return v;
}

static void writer_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    (void)c;
    (void)a;
    (void)b;
    (void)lc_c; /* !structure */
}

static bool writer_block_begin(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    (void)params;
    (void)n_params;
    const shape_segment *g = &((writer *)c)->shape->segment[SEGMENT_BLOCK];
    if (c->status == CUZK_OK && (count != g->copies || c->aux != g->first_aux + (uint64_t)index * g->aux ||
                                 c->inputs != g->first_input + (uint64_t)index * g->inputs))
        not_the_shape(c, "a block of the circuit does not begin where its shape says");
    return true;
}

size_t witness_bytes(const shape *s) {
    return (s->counts.inputs + s->fields) * sizeof(fr) + bits_words(s->counts.aux) * 8;
}

static cuzk_status run_writer(writer *w, cs_circuit f, const void *params, const void *instance, cuzk_error *err) {
    static const cs_ops ops = {writer_alloc,   writer_alloc_bits,  writer_input,
                               writer_enforce, writer_block_begin, interpreter_block_end};
    cuzk_status s = interpreter_start(&w->base, &ops, true, false, err);
    if (s != CUZK_OK) return s;
    f(&w->base, params, instance);
    if (w->base.status == CUZK_OK &&
        (w->base.aux != w->n_aux || w->base.inputs != w->n_inputs || w->n_fields != w->cap_fields)) {
        cs_fault(&w->base, CUZK_INTERNAL, "the circuit allocates other variables than its shape has");
        cuzk_fail_expected(err, "%llu inputs, %llu variables, %llu of them field elements",
                           (unsigned long long)w->n_inputs, (unsigned long long)w->n_aux,
                           (unsigned long long)w->cap_fields);
        cuzk_fail_found(err, "%u, %u, %llu", w->base.inputs, w->base.aux, (unsigned long long)w->n_fields);
    }
    return interpreter_end(&w->base);
}

cuzk_status witness_write(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                          cuzk_error *err) {
    *out = (witness){.n_inputs = (uint32_t)s->counts.inputs, .n_aux = s->counts.aux, .n_fields = s->fields};
    cuzk_status status = buffer_alloc(&out->memory, BUFFER_WITNESS, witness_bytes(s), err);
    if (status != CUZK_OK) return status;
    out->inputs = out->memory.data;
    out->fields = out->inputs + out->n_inputs;
    out->bits = (uint64_t *)(out->fields + out->n_fields);
    fr_set_one(&out->inputs[0]);
    writer w = {.shape = s,
                .bits = out->bits,
                .inputs = out->inputs,
                .fields = out->fields,
                .n_aux = out->n_aux,
                .cap_fields = out->n_fields,
                .n_inputs = out->n_inputs};
    status = run_writer(&w, f, params, instance, err);
    if (status != CUZK_OK) witness_free(out);
    return status;
}

void witness_free(witness *w) {
    buffer_free(&w->memory);
    *w = (witness){0};
}

/* ---- reading ---- */

void witness_expand(const witness *w, const shape *s, uint64_t first, uint64_t n, fr_canon *out) {
    uint64_t done = 0;
    assert(first + n <= w->n_aux);
    if (n == 0) return;
    const fr *field = w->fields + shape_rank(s, SHAPE_IS_FIELD, first);
    while (done < n) {
        uint32_t copy;
        uint64_t local;
        const shape_segment *g = &s->segment[shape_find_aux(s, first + done, &copy, &local)];
        const uint64_t *kinds = g->bits[SHAPE_IS_FIELD].words;
        uint64_t take = g->aux - local < n - done ? g->aux - local : n - done;
        for (uint64_t i = 0; i < take; i++, done++) {
            if (bits_get(kinds, local + i))
                fr_to_canon(&out[done], field++);
            else
                out[done] = (fr_canon){{bits_get(w->bits, first + done)}};
        }
    }
}

#define DIGEST_VALUES 65536u

cuzk_status witness_digests(const witness *w, const shape *s, uint8_t inputs[32], uint8_t aux[32],
                            cs_checkpoint checkpoint, void *user, cuzk_error *err) {
    buffer memory;
    cuzk_status status = buffer_alloc_array(&memory, BUFFER_WITNESS, DIGEST_VALUES, sizeof(fr_canon), err);
    if (status != CUZK_OK) return status;
    fr_canon *values = memory.data;
    hash_ctx *h = hash_create(HASH_SHA256);
    for (uint32_t i = 0; i < w->n_inputs; i++) {
        fr_to_le_bytes((uint8_t *)values, &w->inputs[i]);
        hash_update(h, values, 32);
    }
    hash_final(h, inputs);
    hash_reset(h);
    for (uint64_t at = 0, run = 0; at < w->n_aux; at += DIGEST_VALUES, run++) {
        uint64_t n = w->n_aux - at < DIGEST_VALUES ? w->n_aux - at : DIGEST_VALUES;
        witness_expand(w, s, at, n, values); /* limbs of a little-endian machine are the bytes */
        hash_update(h, values, n * sizeof *values);
        if (checkpoint != NULL) {
            uint8_t digest[32];
            hash_sha256(digest, values, n * sizeof *values);
            checkpoint(user, run, digest);
        }
    }
    hash_final(h, aux);
    hash_destroy(h);
    buffer_free(&memory);
    return CUZK_OK;
}

/* ---- checking ---- */

#define CHECK_ROWS 2048u

typedef struct check_work {
    const witness *w;
    const shape *s;
    fr *scratch; /* 3 CHECK_ROWS for each slot */
    atomic_uint_fast64_t first_bad;
} check_work;

static void check_tile(void *ctx, size_t tile, unsigned slot) {
    check_work *k = ctx;
    uint64_t first = (uint64_t)tile * CHECK_ROWS, rows = k->s->counts.constraints - first;
    if (rows > CHECK_ROWS) rows = CHECK_ROWS;
    if (atomic_load(&k->first_bad) < first) return;
    fr *a = k->scratch + (size_t)slot * 3 * CHECK_ROWS, *b = a + CHECK_ROWS, *c = b + CHECK_ROWS;
    shape_eval(k->s, MATRIX_A, k->w, first, rows, a);
    shape_eval(k->s, MATRIX_B, k->w, first, rows, b);
    shape_eval(k->s, MATRIX_C, k->w, first, rows, c);
    for (uint64_t i = 0; i < rows; i++) {
        fr product;
        fr_mul(&product, &a[i], &b[i]);
        if (fr_eq(&product, &c[i])) continue;
        uint_fast64_t seen = atomic_load(&k->first_bad);
        while (first + i < seen && !atomic_compare_exchange_weak(&k->first_bad, &seen, first + i)) {
        }
        return;
    }
}

cuzk_status witness_check(const witness *w, const shape *s, uint64_t *first_bad, pool *p, const cuzk_control *control,
                          cuzk_error *err) {
    check_work k = {.w = w, .s = s};
    buffer scratch;
    unsigned slots = p == NULL ? 1 : pool_threads(p);
    cuzk_status status = buffer_alloc_array(&scratch, BUFFER_EVAL_ABC, slots, 3 * CHECK_ROWS * sizeof(fr), err);
    if (status != CUZK_OK) return status;
    k.scratch = scratch.data;
    atomic_init(&k.first_bad, UINT64_MAX);
    uint64_t tiles = (s->counts.constraints + CHECK_ROWS - 1) / CHECK_ROWS;
    status = pool_run(p, control, "constraints", tiles, check_tile, &k, err);
    buffer_free(&scratch);
    if (status == CUZK_OK) *first_bad = atomic_load(&k.first_bad);
    return status;
}
