/* The compact witness: making it, and reading it with the shape. The interpreter that writes it is r1cs/writer.c.
 *
 * Readers of a lazy witness go copy by copy (r1cs/witness_lazy.h), and do with each copy's view what they do with a
 * whole witness.
 */
#include "r1cs/witness.h"

#include <assert.h>
#include <string.h>
#include "base/hash.h"
#include "r1cs/shape_internal.h"
#include "r1cs/witness_lazy.h"
#include "r1cs/writer.h"

size_t witness_bytes(const shape *s) {
    return (s->counts.inputs + s->fields) * sizeof(fr) + bits_words(s->counts.aux) * 8;
}

cuzk_status witness_write(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                          cuzk_error *err) {
    return witness_write_until(out, s, f, params, instance, NULL, err);
}

cuzk_status witness_write_until(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                                const cuzk_control *control, cuzk_error *err) {
    *out = (witness){.n_inputs = (uint32_t)s->counts.inputs, .n_aux = s->counts.aux, .n_fields = s->fields};
    cuzk_status status = buffer_alloc(&out->memory, BUFFER_WITNESS, witness_bytes(s), err);
    if (status != CUZK_OK) return status;
    out->inputs = out->memory.data;
    out->fields = out->inputs + out->n_inputs;
    out->bits = (uint64_t *)(out->fields + out->n_fields);
    fr_set_one(&out->inputs[0]);
    writer w = {.shape = s, .bits = out->bits, .inputs = out->inputs, .fields = out->fields, .control = control};
    status = writer_whole(&w, f, params, instance, err);
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
    assert(first + n <= w->n_aux && !witness_is_lazy(w));
    if (n == 0) return;
    const fr *field = w->fields + (shape_rank(s, SHAPE_IS_FIELD, first) - w->first_field);
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
                out[done] = (fr_canon){{bits_get(w->bits, first + done - 64 * w->first_word)}};
        }
    }
}

#define DIGEST_VALUES 65536u

typedef struct value_digest {
    const shape *s;
    fr_canon *values; /* DIGEST_VALUES */
    uint64_t n, run;  /* values of this run so far; runs before it */
    hash_ctx *all;
    cs_checkpoint checkpoint;
    void *user;
} value_digest;

static void digest_run(value_digest *d) {
    hash_update(d->all, d->values, d->n * sizeof *d->values); /* limbs of a little-endian machine are the bytes */
    if (d->checkpoint != NULL) {
        uint8_t digest[32];
        hash_sha256(digest, d->values, d->n * sizeof *d->values);
        d->checkpoint(d->user, d->run, digest);
    }
    d->run++;
    d->n = 0;
}

/* The values that follow those already seen. */
static void digest_values(value_digest *d, const witness *w, uint64_t first, uint64_t n) {
    while (n > 0) {
        uint64_t take = DIGEST_VALUES - d->n < n ? DIGEST_VALUES - d->n : n;
        witness_expand(w, d->s, first, take, d->values + d->n);
        d->n += take;
        first += take;
        n -= take;
        if (d->n == DIGEST_VALUES) digest_run(d);
    }
}

static cuzk_status digest_lazy(value_digest *d, const witness *w, cuzk_error *err) {
    const shape_segment *g = &d->s->segment[SEGMENT_BLOCK];
    copy_reader r;
    cuzk_status status = copy_reader_open(&r, w, d->s, err);
    for (uint32_t i = 0; i < g->copies && status == CUZK_OK; i++) {
        status = copy_reader_read(&r, i, err);
        if (status == CUZK_OK) digest_values(d, &r.view, g->first_aux + (uint64_t)i * g->aux, g->aux);
    }
    copy_reader_close(&r);
    return status;
}

cuzk_status witness_digests(const witness *w, const shape *s, uint8_t inputs[32], uint8_t aux[32],
                            cs_checkpoint checkpoint, void *user, cuzk_error *err) {
    value_digest d = {.s = s, .checkpoint = checkpoint, .user = user};
    buffer memory;
    cuzk_status status = buffer_alloc_array(&memory, BUFFER_WITNESS, DIGEST_VALUES, sizeof(fr_canon), err);
    if (status != CUZK_OK) return status;
    d.values = memory.data;
    d.all = hash_create(HASH_SHA256);
    for (uint32_t i = 0; i < w->n_inputs; i++) {
        fr_to_le_bytes((uint8_t *)d.values, &w->inputs[i]);
        hash_update(d.all, d.values, 32);
    }
    hash_final(d.all, inputs);
    hash_reset(d.all);
    if (witness_is_lazy(w))
        status = digest_lazy(&d, w, err);
    else
        digest_values(&d, w, 0, w->n_aux);
    if (d.n > 0) digest_run(&d);
    hash_final(d.all, aux);
    hash_destroy(d.all);
    buffer_free(&memory);
    return status;
}

/* ---- checking ---- */

#define CHECK_ROWS 2048u

typedef struct check_work {
    const witness *w;
    const shape *s;
    fr *scratch; /* 3 CHECK_ROWS for each slot */
    atomic_uint_fast64_t first_bad;
} check_work;

static void check_rows(check_work *k, const witness *w, uint64_t first, uint64_t rows, unsigned slot) {
    if (atomic_load(&k->first_bad) < first) return;
    fr *a = k->scratch + (size_t)slot * 3 * CHECK_ROWS, *b = a + CHECK_ROWS, *c = b + CHECK_ROWS;
    shape_eval(k->s, MATRIX_A, w, first, rows, a);
    shape_eval(k->s, MATRIX_B, w, first, rows, b);
    shape_eval(k->s, MATRIX_C, w, first, rows, c);
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

static void check_tile(void *ctx, size_t tile, unsigned slot) {
    check_work *k = ctx;
    uint64_t first = (uint64_t)tile * CHECK_ROWS, rows = k->s->counts.constraints - first;
    check_rows(k, k->w, first, rows < CHECK_ROWS ? rows : CHECK_ROWS, slot);
}

static void check_copy(void *user, const witness *view, uint32_t copy, unsigned slot) {
    check_work *k = user;
    const shape_segment *g = &k->s->segment[SEGMENT_BLOCK];
    uint64_t at = g->first_row + (uint64_t)copy * g->rows, end = at + g->rows;
    for (; at < end; at += CHECK_ROWS) check_rows(k, view, at, end - at < CHECK_ROWS ? end - at : CHECK_ROWS, slot);
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
    if (witness_is_lazy(w))
        status = witness_each_copy(w, s, 0, s->repeat, check_copy, &k, p, control, "constraints", err);
    else
        status = pool_run(p, control, "constraints", tiles, check_tile, &k, err);
    buffer_free(&scratch);
    if (status == CUZK_OK) *first_bad = atomic_load(&k.first_bad);
    return status;
}
