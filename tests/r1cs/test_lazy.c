/* Lazy witnesses of a circuit whose blocks mix bits and field elements: every reader gives what it gives for the whole
 * witness, whatever the number of threads; and a circuit that is not what its shape or its public inputs say is found
 * by whoever reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "r1cs/witness.h"

static cuzk_error err;
static pool *workers;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

typedef enum {
    FAULT_NONE,
    FAULT_INPUT,         /* a block has another public input */
    FAULT_KIND,          /* a bit where a field element belongs */
    FAULT_FEWER,         /* a block allocates less */
    FAULT_MORE,          /* a block allocates more */
    FAULT_MORE_INPUTS,   /* a block has one more public input */
    FAULT_OUTSIDE,       /* a variable before the blocks */
    FAULT_OUTSIDE_INPUT, /* a public input before the blocks */
    FAULT_COUNT,         /* another number of blocks */
    FAULT_MISSING,       /* a block is not there */
    FAULT_TWICE,         /* a block comes twice */
    FAULTS
} fault_kind;

typedef struct blocks {
    uint32_t copies;
    unsigned bits;     /* of a block, before, between and after its two field elements */
    bool with_outside; /* the structure has a variable before the blocks */
} blocks;

typedef struct values {
    fault_kind fault;
    uint32_t at;      /* copy of the fault */
    bool unsatisfied; /* the block `at` breaks its second constraint */
} values;

static void enforce(cs *c, cs_var a, cs_var b, cs_var result) {
    if (!c->structure) return;
    arena_mark mark = cs_save(c);
    cs_lc x, y, z;
    cs_lc_init(&x);
    cs_lc_init(&y);
    cs_lc_init(&z);
    cs_lc_add_u64(c, &x, 3, a);
    cs_lc_add_one(c, &y, b);
    cs_lc_add_u64(c, &z, 3, result);
    cs_enforce(c, &x, &y, &z);
    cs_release(c, mark);
}

/* x y = z for field elements x, z and the public y; b b = b for each bit. */
static void block(cs *c, const blocks *p, const values *v, uint32_t index) {
    fault_kind fault = v && v->at == index ? v->fault : FAULT_NONE;
    uint64_t bits = 0x9e3779b97f4a7c15ull * (index + 1);
    fr x, y, z;
    if (v) fr_from_u64(&x, 5 + index);
    if (v) fr_from_u64(&y, 1000 + index);
    if (v) fr_mul(&z, &x, &y);
    if (v && v->unsatisfied && v->at == index) fr_add(&z, &z, &x);
    if (fault == FAULT_INPUT) fr_from_u64(&y, 7);
    cs_var first = cs_alloc_bits(c, p->bits, bits);
    cs_var xv = fault == FAULT_KIND ? cs_alloc_bit(c, true) : cs_alloc(c, &x);
    cs_var second = cs_alloc_bits(c, p->bits, bits >> 7);
    cs_var yv = cs_input(c, &y);
    if (fault == FAULT_MORE_INPUTS) cs_input(c, &y);
    cs_var zv = cs_alloc(c, &z);
    if (fault == FAULT_MORE) cs_alloc(c, &z);
    cs_var third = fault == FAULT_FEWER ? 0 : cs_alloc_bits(c, p->bits, bits >> 3);
    for (unsigned i = 0; i < p->bits; i++) {
        enforce(c, first + i, first + i, first + i);
        enforce(c, second + i, second + i, second + i);
        enforce(c, third + i, third + i, third + i);
    }
    enforce(c, xv, yv, zv);
}

static void run(cs *c, const void *params, const void *instance) {
    const blocks *p = params;
    const values *v = instance;
    fr one;
    fr_set_one(&one);
    if (p->with_outside || (v && v->fault == FAULT_OUTSIDE)) cs_alloc(c, &one);
    if (v && v->fault == FAULT_OUTSIDE_INPUT) cs_input(c, &one);
    for (uint32_t i = 0; i < p->copies; i++) {
        if (v && v->fault == FAULT_MISSING && v->at == i) continue;
        for (int times = v && v->fault == FAULT_TWICE && v->at == i ? 2 : 1; times > 0; times--) {
            if (cs_block_begin(c, i, p->copies + (v && v->fault == FAULT_COUNT))) block(c, p, v, i);
            cs_block_end(c);
        }
    }
}

typedef struct both {
    shape *s;
    witness plain, lazy;
} both;

static const values good = {FAULT_NONE, UINT32_MAX, false};

static fr *inputs_of(uint32_t copies) {
    fr *inputs = calloc(copies, sizeof *inputs);
    for (uint32_t i = 0; i < copies; i++) fr_from_u64(&inputs[i], 1000 + i);
    return inputs;
}

static void both_make(both *x, const blocks *p, const values *v, bool with_plain) {
    memset(x, 0, sizeof *x);
    OK(shape_record(&x->s, run, p, NULL, &err));
    assert_false(shape_is_lazy(x->s));
    shape_make_lazy(x->s);
    assert_true(shape_is_lazy(x->s));
    if (with_plain) OK(witness_write(&x->plain, x->s, run, p, v, &err));
    fr *inputs = inputs_of(p->copies);
    OK(witness_write_lazy(&x->lazy, x->s, run, p, v, inputs, p->copies, &err));
    free(inputs);
    assert_true(witness_is_lazy(&x->lazy) && !witness_is_lazy(&x->plain));
    assert_int_equal(x->lazy.memory.bytes, witness_lazy_bytes(x->s));
}

static void both_free(both *x) {
    witness_free(&x->plain);
    witness_free(&x->lazy);
    shape_destroy(x->s);
}

/* What a view says of its copy. */
typedef struct looked {
    const both *x;
    atomic_uint seen, wrong;
} looked;

static void look(void *user, const witness *view, uint32_t copy, unsigned slot) {
    looked *l = user;
    shape_view v;
    (void)slot;
    shape_get_view(l->x->s, &v);
    uint64_t n = v.segment[1].aux, rows = v.segment[1].rows, first = copy * n, row = copy * rows;
    fr_canon *got = calloc(n, sizeof *got), *want = calloc(n, sizeof *want);
    witness_expand(view, l->x->s, first, n, got);
    witness_expand(&l->x->plain, l->x->s, first, n, want);
    atomic_fetch_add(&l->wrong, memcmp(got, want, n * sizeof *got) != 0);
    /* Parts, too. */
    witness_expand(view, l->x->s, first + n / 3, n / 2, got);
    atomic_fetch_add(&l->wrong, memcmp(got, want + n / 3, n / 2 * sizeof *got) != 0);
    fr *a = calloc(rows, sizeof *a), *b = calloc(rows, sizeof *b);
    for (shape_matrix m = MATRIX_A; m <= MATRIX_C; m++) {
        shape_eval(l->x->s, m, view, row, rows, a);
        shape_eval(l->x->s, m, &l->x->plain, row, rows, b);
        atomic_fetch_add(&l->wrong, memcmp(a, b, rows * sizeof *a) != 0);
    }
    free(got);
    free(want);
    free(a);
    free(b);
    atomic_fetch_add(&l->seen, 1);
}

typedef struct runs {
    uint8_t digest[64][32];
    uint64_t n;
} runs;

static void add_run(void *user, uint64_t run_, const uint8_t digest[32]) {
    runs *r = user;
    assert_int_equal(run_, r->n);
    if (r->n < 64) memcpy(r->digest[r->n], digest, 32);
    r->n++;
}

static void same_everywhere(const blocks *p, pool *threads) {
    both x;
    both_make(&x, p, &good, true);
    looked l = {.x = &x};
    OK(witness_each_copy(&x.lazy, x.s, 0, p->copies, look, &l, threads, NULL, NULL, &err));
    assert_int_equal(l.seen, p->copies);
    assert_int_equal(l.wrong, 0);
    uint8_t inputs[2][32], aux[2][32];
    runs *r = calloc(2, sizeof *r);
    OK(witness_digests(&x.plain, x.s, inputs[0], aux[0], add_run, &r[0], &err));
    OK(witness_digests(&x.lazy, x.s, inputs[1], aux[1], add_run, &r[1], &err));
    assert_memory_equal(inputs[0], inputs[1], 32);
    assert_memory_equal(aux[0], aux[1], 32);
    assert_memory_equal(&r[0], &r[1], sizeof r[0]);
    free(r);
    uint64_t bad = 0;
    OK(witness_check(&x.lazy, x.s, &bad, threads, NULL, &err));
    assert_true(bad == UINT64_MAX);
    /* Some copies' fields, then everything. */
    uint32_t from = p->copies / 3, n = p->copies - from;
    fr *fields = calloc(2 * n, sizeof *fields);
    OK(witness_fill(&x.lazy, x.s, from, n, fields, NULL, threads, NULL, &err));
    assert_memory_equal(fields, x.plain.fields + 2 * from, 2 * n * sizeof *fields);
    free(fields);
    OK(witness_materialise(&x.lazy, x.s, threads, NULL, &err));
    assert_false(witness_is_lazy(&x.lazy));
    assert_int_equal(x.lazy.memory.bytes, x.plain.memory.bytes);
    assert_memory_equal(x.lazy.memory.data, x.plain.memory.data, x.plain.memory.bytes);
    both_free(&x);
}

static void readers(void **state) {
    (void)state;
    static const unsigned bits[] = {1, 7, 20, 21, 63, 64};
    uint64_t live = buffer_total_stats().live_bytes;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        blocks p = {1, bits[i], false};
        same_everywhere(&p, NULL);
        p.copies = 29;
        same_everywhere(&p, NULL);
        same_everywhere(&p, workers);
    }
    blocks many = {3000, 22, false}; /* more than one run of the digests */
    same_everywhere(&many, workers);
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

static void first_bad_row(void **state) {
    (void)state;
    blocks p = {40, 11, false};
    values v = {FAULT_NONE, 17, true};
    both x;
    uint64_t want, got;
    both_make(&x, &p, &v, true);
    OK(witness_check(&x.plain, x.s, &want, workers, NULL, &err));
    OK(witness_check(&x.lazy, x.s, &got, workers, NULL, &err));
    assert_int_equal(want, 17u * 34 + 33);
    assert_int_equal(got, want);
    both_free(&x);
}

static void ignore(void *user, const witness *view, uint32_t copy, unsigned slot) {
    (void)user;
    (void)view;
    (void)copy;
    (void)slot;
}

static void faults(void **state) {
    (void)state;
    blocks p = {9, 13, false};
    for (fault_kind f = FAULT_NONE + 1; f < FAULTS; f++) {
        values v = {f, 4, false};
        both x;
        uint8_t digest[2][32];
        uint64_t bad, live = buffer_total_stats().live_bytes;
        both_make(&x, &p, &v, false);
        for (int threads = 0; threads < 2; threads++) {
            pool *w = threads ? workers : NULL;
            memset(&err, 0, sizeof err);
            assert_int_equal(witness_each_copy(&x.lazy, x.s, 0, 9, ignore, NULL, w, NULL, NULL, &err), CUZK_INTERNAL);
            assert_int_equal(err.status, CUZK_INTERNAL);
            assert_true(err.what[0] != '\0');
            assert_int_equal(witness_check(&x.lazy, x.s, &bad, w, NULL, &err), CUZK_INTERNAL);
            assert_int_equal(witness_materialise(&x.lazy, x.s, w, NULL, &err), CUZK_INTERNAL);
            assert_true(witness_is_lazy(&x.lazy));
        }
        assert_int_equal(witness_digests(&x.lazy, x.s, digest[0], digest[1], NULL, NULL, &err), CUZK_INTERNAL);
        both_free(&x);
        assert_int_equal(buffer_total_stats().live_bytes, live);
    }
}

/* The number of public inputs is looked at when the witness is made. */
static void other_count(void **state) {
    (void)state;
    blocks p = {3, 2, false};
    both x;
    fr *inputs = inputs_of(4);
    witness w;
    both_make(&x, &p, &good, false);
    assert_int_equal(witness_write_lazy(&w, x.s, run, &p, &good, inputs, 4, &err), CUZK_INTERNAL);
    assert_null(w.memory.data);
    both_free(&x);
    free(inputs);
}

static void not_blocks_alone(void **state) {
    (void)state;
    blocks p = {3, 2, true};
    shape *s;
    OK(shape_record(&s, run, &p, NULL, &err));
    shape_make_lazy(s);
    assert_false(shape_is_lazy(s));
    assert_int_equal(witness_each_copy_bytes(s, 4), 0);
    shape_destroy(s);
}

static void cancelled(void **state) {
    (void)state;
    blocks p = {9, 13, false};
    both x;
    atomic_int flag = 1;
    cuzk_control control = {.cancel = &flag};
    uint64_t live = buffer_total_stats().live_bytes, bad;
    both_make(&x, &p, &good, false);
    assert_int_equal(witness_check(&x.lazy, x.s, &bad, workers, &control, &err), CUZK_CANCELLED);
    assert_int_equal(witness_materialise(&x.lazy, x.s, workers, &control, &err), CUZK_CANCELLED);
    both_free(&x);
    assert_int_equal(buffer_total_stats().live_bytes, live);
}

static void too_little_memory(void **state) {
    (void)state;
    blocks p = {9, 13, false};
    both x;
    uint64_t bad;
    both_make(&x, &p, &good, false);
    uint64_t live = buffer_total_stats().live_bytes, need = witness_each_copy_bytes(x.s, 3);
    buffer_reset_peaks();
    OK(witness_each_copy(&x.lazy, x.s, 0, 9, ignore, NULL, workers, NULL, NULL, &err));
    assert_int_equal(buffer_total_stats().peak_bytes - live, need);
    for (uint64_t part = 0; part < 6; part++) {
        buffer_set_limit(live + need * part / 6);
        assert_int_equal(witness_check(&x.lazy, x.s, &bad, workers, NULL, &err), CUZK_MEMORY);
        assert_int_equal(witness_materialise(&x.lazy, x.s, workers, NULL, &err), CUZK_MEMORY);
        buffer_set_limit(0);
        assert_int_equal(buffer_total_stats().live_bytes, live);
    }
    both_free(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers),          cmocka_unit_test(first_bad_row), cmocka_unit_test(faults),
        cmocka_unit_test(other_count),      cmocka_unit_test(cancelled),     cmocka_unit_test(too_little_memory),
        cmocka_unit_test(not_blocks_alone),
    };
    workers = pool_create(3, &err);
    if (!workers) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(workers);
    return failed;
}
