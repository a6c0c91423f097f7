/* Lazy witnesses: the values of a copy of the block are made when they are read; see r1cs/witness.h.
 *
 * A reader has scratch of one copy's size, and a view: a witness whose bits and fields are those of the copy alone. Its
 * bitmap begins with the word that the copy's first variable is in, so that bits lie as in the whole bitmap. A pass has
 * a reader for each thread, and copies are its tiles.
 */
#include "r1cs/witness_lazy.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "r1cs/writer.h"

#define SCRATCH_BYTES ((size_t)64 << 10) /* without structure gadgets hardly take any */

static const shape_segment *block_of(const shape *s) {
    return &s->segment[SEGMENT_BLOCK];
}

static uint64_t copy_fields(const shape *s) {
    return block_of(s)->bits[SHAPE_IS_FIELD].total;
}

/* Wherever in its first word the copy begins. */
static size_t copy_words(const shape *s) {
    return bits_words(block_of(s)->aux) + 1;
}

static size_t copy_bytes(const shape *s) {
    return copy_fields(s) * sizeof(fr) + copy_words(s) * 8;
}

size_t witness_lazy_bytes(const shape *s) {
    return s->counts.inputs * sizeof(fr);
}

cuzk_status witness_write_lazy(witness *out, const shape *s, cs_circuit f, const void *params, const void *instance,
                               const fr *inputs, size_t n, cuzk_error *err) {
    assert(s->lazy);
    *out = (witness){0};
    if (n + 1 != s->counts.inputs) {
        cuzk_fail(err, CUZK_INTERNAL, "the circuit has not the public inputs that its shape has");
        cuzk_fail_expected(err, "%llu", (unsigned long long)s->counts.inputs - 1);
        return cuzk_fail_found(err, "%zu", n);
    }
    cuzk_status status = buffer_alloc(&out->memory, BUFFER_WITNESS, witness_lazy_bytes(s), err);
    if (status != CUZK_OK) return status;
    out->n_inputs = (uint32_t)s->counts.inputs;
    out->n_aux = s->counts.aux;
    out->n_fields = s->fields;
    out->inputs = out->memory.data;
    out->circuit = f;
    out->params = params;
    out->instance = instance;
    fr_set_one(&out->inputs[0]);
    if (n > 0) memcpy(out->inputs + 1, inputs, n * sizeof *inputs);
    return CUZK_OK;
}

/* ---- one copy ---- */

cuzk_status copy_reader_open(copy_reader *r, const witness *w, const shape *s, cuzk_error *err) {
    assert(witness_is_lazy(w) && s->lazy);
    *r = (copy_reader){.lazy = w, .shape = s};
    cuzk_status status = buffer_alloc(&r->memory, BUFFER_WITNESS, copy_bytes(s), err);
    if (status != CUZK_OK) return status;
    r->scratch = arena_create(BUFFER_WITNESS, SCRATCH_BYTES, err);
    if (r->scratch == NULL) return err->status;
    r->view = *w;
    r->view.memory = (buffer){0};
    r->view.circuit = NULL;
    r->view.fields = r->memory.data;
    r->view.bits = (uint64_t *)(r->view.fields + copy_fields(s));
    return CUZK_OK;
}

cuzk_status copy_reader_read(copy_reader *r, uint32_t copy, cuzk_error *err) {
    const witness *lazy = r->lazy;
    witness *v = &r->view;
    writer w = {.shape = r->shape, .bits = v->bits, .inputs = lazy->inputs, .fields = v->fields};
    assert(copy < block_of(r->shape)->copies);
    memset(v->bits, 0, copy_words(r->shape) * 8);
    v->first_field = copy * copy_fields(r->shape);
    v->first_word = (block_of(r->shape)->first_aux + (uint64_t)copy * block_of(r->shape)->aux) / 64;
    return writer_copy(&w, copy, r->scratch, lazy->circuit, lazy->params, lazy->instance, err);
}

void copy_reader_close(copy_reader *r) {
    arena_destroy(r->scratch);
    buffer_free(&r->memory);
    *r = (copy_reader){0};
}

/* ---- all copies ---- */

typedef struct pass {
    copy_reader *readers; /* one a slot */
    uint32_t first;
    witness_copy_fn fn;
    void *user;
    atomic_bool failed;
    pthread_mutex_t lock;
    cuzk_error fault; /* the lowest copy's of those that were met */
    uint32_t fault_copy;
} pass;

static void read_tile(void *ctx, size_t tile, unsigned slot) {
    pass *r = ctx;
    uint32_t copy = r->first + (uint32_t)tile;
    cuzk_error err;
    if (atomic_load(&r->failed)) return;
    if (copy_reader_read(&r->readers[slot], copy, &err) == CUZK_OK) {
        r->fn(r->user, &r->readers[slot].view, copy, slot);
        return;
    }
    pthread_mutex_lock(&r->lock);
    if (!atomic_load(&r->failed) || copy < r->fault_copy) {
        r->fault = err;
        r->fault_copy = copy;
    }
    atomic_store(&r->failed, true);
    pthread_mutex_unlock(&r->lock);
}

cuzk_status witness_each_copy(const witness *w, const shape *s, uint32_t first, uint32_t n, witness_copy_fn fn,
                              void *user, pool *p, const cuzk_control *control, const char *stage, cuzk_error *err) {
    pass r = {.first = first, .fn = fn, .user = user};
    unsigned slots = p == NULL ? 1 : pool_threads(p);
    assert(first <= s->repeat && n <= s->repeat - first);
    r.readers = calloc(slots, sizeof *r.readers);
    if (r.readers == NULL) return cuzk_fail(err, CUZK_MEMORY, "no memory to read a witness");
    pthread_mutex_init(&r.lock, NULL);
    atomic_init(&r.failed, false);
    cuzk_status status = CUZK_OK;
    for (unsigned i = 0; i < slots && status == CUZK_OK; i++) status = copy_reader_open(&r.readers[i], w, s, err);
    if (status == CUZK_OK) status = pool_run(p, control, stage, n, read_tile, &r, err);
    if (status == CUZK_OK && atomic_load(&r.failed)) {
        *err = r.fault;
        status = err->status;
    }
    for (unsigned i = 0; i < slots; i++) copy_reader_close(&r.readers[i]);
    pthread_mutex_destroy(&r.lock);
    free(r.readers);
    return status;
}

uint64_t witness_each_copy_bytes(const shape *s, unsigned threads) {
    uint64_t one = ((uint64_t)copy_bytes(s) + 4095) & ~(uint64_t)4095;
    return s->lazy ? threads * (one + SCRATCH_BYTES) : 0;
}

/* ---- making it whole ---- */

typedef struct fill_run {
    const shape *s;
    fr *fields;
    uint64_t *bits;
    uint32_t first;
} fill_run;

static void fill_copy(void *user, const witness *view, uint32_t copy, unsigned slot) {
    const fill_run *r = user;
    uint64_t n = copy_fields(r->s);
    (void)slot;
    if (n > 0) memcpy(r->fields + (copy - r->first) * n, view->fields, n * sizeof(fr));
    if (r->bits == NULL) return;
    /* Neighbours share a word. */
    uint64_t end = bits_words(r->s->counts.aux) - view->first_word, words = copy_words(r->s);
    for (uint64_t i = 0; i < words && i < end; i++) {
        if (view->bits[i] != 0) __atomic_fetch_or(&r->bits[view->first_word + i], view->bits[i], __ATOMIC_RELAXED);
    }
}

cuzk_status witness_fill(const witness *w, const shape *s, uint32_t first, uint32_t n, fr *fields, uint64_t *bits,
                         pool *p, const cuzk_control *control, cuzk_error *err) {
    fill_run r = {s, fields, bits, first};
    return witness_each_copy(w, s, first, n, fill_copy, &r, p, control, "witness", err);
}

cuzk_status witness_materialise(witness *w, const shape *s, pool *p, const cuzk_control *control, cuzk_error *err) {
    witness whole = {.n_inputs = w->n_inputs, .n_aux = w->n_aux, .n_fields = w->n_fields};
    cuzk_status status = buffer_alloc(&whole.memory, BUFFER_WITNESS, witness_bytes(s), err);
    if (status != CUZK_OK) return status;
    whole.inputs = whole.memory.data;
    whole.fields = whole.inputs + whole.n_inputs;
    whole.bits = (uint64_t *)(whole.fields + whole.n_fields);
    memcpy(whole.inputs, w->inputs, whole.n_inputs * sizeof(fr));
    status = witness_fill(w, s, 0, s->repeat, whole.fields, whole.bits, p, control, err);
    if (status != CUZK_OK) {
        buffer_free(&whole.memory);
        return status;
    }
    witness_free(w);
    *w = whole;
    return CUZK_OK;
}
